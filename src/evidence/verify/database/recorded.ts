/**
 * Reads the records of a database file for a verification, without changing the file in any way. A service may be writing to it,
 * it may be at rest, or it may be a copy in a read-only folder.
 *
 * The service verifies its own file in a thread, which loads this module.
 */
import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PAGE_RECORDS, StoreError, type StoreFailure } from '../../../store/event-store.ts';
import { Database, type Statement } from '../../../store/sqlite/library.ts';
import {
  checkDatabase,
  openForReading,
  PARTS,
  type RecordRow,
  recordBytes,
  SCHEMA,
} from '../../../store/sqlite/schema.ts';
import type { StoreFindings } from '../report/report.ts';
import type { RecordSource, SourceRecord } from '../source.ts';

export interface OpenSource extends RecordSource {
  /** The private copy that is read instead of the file. Undefined if the file itself is read. */
  readonly copy: string | undefined;
  close(): Promise<void>;
}

/**
 * Opens the records of a database file. Changes nothing in its folder and needs no signing key. Call this only while this process
 * has no connection to the file: see checkDatabase.
 * @throws StoreError when the file is not a log of this program
 */
export function openRecordedSource(path: string): OpenSource {
  const { file, use, copy, close } = recordedFile(path);
  try {
    const log = new RecordedLog({ file, use });
    return {
      copy,
      ...sourceOf(log, path),
      async close() {
        log.close();
        close();
      },
    };
  } catch (error) {
    close();
    throw readError(path, error as Error);
  }
}

/** How to read a database file, and how to clean up afterwards. */
interface RecordedFile {
  readonly file: string;
  /**
   * `as-it-is`: with a connection that cannot write. Others may be writing at the same time. `at-rest`: with a
   * connection that, when it closes, removes the files that it made beside the database.
   */
  readonly use: 'as-it-is' | 'at-rest';
  /** A private copy that is read instead. `close` removes it. */
  readonly copy?: string;
  close(): void;
}

/**
 * Finds out how to read a database. In WAL mode, SQLite needs two more files beside it and creates them if they are
 * missing. If a crash left a write-ahead log, SQLite moves its content into the database when the last connection that
 * can write closes. So:
 *
 * - Both files exist: somebody is using the database, or was. A connection that cannot write leaves everything alone.
 * - None exists and they can be created: nobody is using the database, and the new files are removed afterwards.
 * - Otherwise a copy is made in the system's folder for temporary files, and removed afterwards.
 *
 * @throws StoreError when it is not a log of this program
 */
function recordedFile(file: string): RecordedFile {
  checkDatabase(file, 'read');
  const beside = ['-wal', '-shm', '-journal'].filter((suffix) => existsSync(`${file}${suffix}`));
  const close = () => undefined;
  if (beside.includes('-wal') && beside.includes('-shm')) return { file, use: 'as-it-is', close };
  if (beside.length === 0 && mayWrite(file) && mayWrite(dirname(file)))
    return { file, use: 'at-rest', close };
  return privateCopy(file, ['', ...beside]);
}

/** Copies the files of a database that nobody has open. */
function privateCopy(file: string, suffixes: readonly string[]): RecordedFile {
  const folder = mkdtempSync(join(tmpdir(), 'urn-verify-'));
  const copy = join(folder, basename(file));
  const close = () => rmSync(folder, { recursive: true, force: true });
  try {
    for (const suffix of suffixes)
      copyFileSync(`${file}${suffix}`, `${copy}${suffix}`, constants.COPYFILE_FICLONE);
    return { file: copy, use: 'at-rest', copy, close };
  } catch (error) {
    close();
    throw error;
  }
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A record as it is read here. */
type RecordedRow = Omit<RecordRow, 'stream'>;

/** The members of a RecordedRow, in order. */
type Columns = [
  position: number,
  revision: number,
  bytes: Buffer | null,
  leafLength: number,
  recordLength: number,
];

/** The records that were in a file when it was opened. */
export class RecordedLog {
  readonly #db: Database;
  /** How the database differs from one that this program made. */
  readonly findings: StoreFindings;
  /** Records appended later are left out, in every stream. */
  readonly #last: number;
  readonly #page: Statement<[string, number, number, number, number, number], Columns>;

  /** @throws StoreError */
  constructor({ file, use }: Pick<RecordedFile, 'file' | 'use'>) {
    this.#db = openForReading(file, use === 'at-rest');
    if (!isTable(this.#db, 'records')) throw changedByHand('"records" is not the table that it should be');
    this.findings = schemaFindings(this.#db);
    const last = this.#db.prepare<[], number>('SELECT coalesce(max(position), 0) FROM records').pluck();
    this.#last = last.get() ?? 0;
    // By position as well: in a table that was tampered with, a revision can occur twice. The plus keeps SQLite from
    // searching by position, which would read the whole table.
    const page = this.#db.prepare<[string, number, number, number, number, number], Columns>(
      `SELECT position, revision, ${PARTS}
       FROM records
       WHERE stream = ? AND revision >= ? AND (revision > ? OR position > ?) AND +position <= ?
       ORDER BY revision, position LIMIT ?`,
    );
    // As arrays: creating an object costs as much as reading the record.
    this.#page = page.raw() as typeof page;
  }

  /** The names of all streams, in the order of their first records. Takes one look-up per stream, however long it is. */
  streams(): string[] {
    const at = '+position <= ? ORDER BY stream, revision LIMIT 1';
    const first = this.#db.prepare<[number], RecordRow>(`SELECT stream, position FROM records WHERE ${at}`);
    const next = this.#db.prepare<[string, number], RecordRow>(
      `SELECT stream, position FROM records WHERE stream > ? AND ${at}`,
    );
    const found: RecordRow[] = [];
    for (let row = first.get(this.#last); row; row = next.get(row.stream, this.#last)) {
      if (typeof row.stream !== 'string') throw changedByHand('the stream of a record is not text');
      found.push(row);
    }
    return found.sort((a, b) => a.position - b.position).map(({ stream }) => stream);
  }

  /**
   * A stream's records in the order of their revisions, in pages.
   * @throws StoreError when it meets a number that cannot be read exactly
   */
  *read(stream: string, pageRecords: number): Iterable<RecordedRow[]> {
    let [revision, position] = [Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
    for (;;) {
      const rows = this.#page.all(stream, revision, revision, position, this.#last, pageRecords);
      const page = rows.map(([position, revision, bytes, leafLength, recordLength]) => {
        return { position, revision, bytes, leafLength, recordLength };
      });
      const last = page.at(-1);
      if (!last) return;
      yield page;
      ({ revision, position } = last);
      // After a rounded number, the next page could be the same page again, and so on for ever.
      if (isRounded(revision) || isRounded(position))
        throw changedByHand(`stream ${stream} has a revision or a position of 2^53 or more`);
    }
  }

  close(): void {
    this.#db.close();
  }
}

/** For content that this program never writes. SQLite accepts it if the table was recreated or its triggers dropped. */
function changedByHand(what: string): StoreError {
  return new StoreError(
    'corrupt',
    'not-written',
    `the database was changed by hand: ${what}, so the log cannot be read to its end (hint: keep the file as evidence, and compare it with a backup)`,
  );
}

function isRounded(value: number): boolean {
  return Math.abs(value) > Number.MAX_SAFE_INTEGER;
}

/** @param path is quoted in messages */
export function sourceOf(log: RecordedLog, path: string): RecordSource {
  return {
    streams: async () => withReadErrors(path, () => log.streams()),
    findings: async () => log.findings,
    async *read(stream) {
      const pages = log.read(stream, PAGE_RECORDS)[Symbol.iterator]();
      for (;;) {
        const page = withReadErrors(path, () => pages.next());
        if (page.done) return;
        yield page.value.map((row) => recordOf(stream, row));
      }
    },
  };
}

/** The record of a row. It shares the row's bytes. */
function recordOf(stream: string, row: RecordedRow): SourceRecord {
  const { record, sealed, leaf } = recordBytes(row);
  return { stream, revision: row.revision, record, sealed, leaf };
}

function withReadErrors<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw readError(path, error as Error);
  }
}

/** @param error may come from another thread, and then has lost its class */
export function readError(
  path: string,
  error: Error & { code?: string; failure?: StoreFailure },
): StoreError {
  const { code = '', failure, message } = error;
  if (failure !== undefined) return new StoreError(failure, 'not-written', message, error);
  const isDamaged = code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB');
  const kind = isDamaged ? 'corrupt' : 'unavailable';
  return new StoreError(kind, 'not-written', `cannot read ${path}: ${message}`, error);
}

/** Anything else under this name, such as a view, can return different rows at each read. */
function isTable(db: Database, name: string): boolean {
  return objectsOf(db).some((one) => one.type === 'table' && one.name === name);
}

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
}

/** Objects that only protect or display the table. Without them, its content reads the same. */
const DISPENSABLE = new Set(['trigger', 'view']);
/** Tables made by SQLite's ANALYZE. Only its query planner reads them. */
const STATISTICS = /^sqlite_stat\d$/;

/**
 * Checks whether the schema of a database is the one that this program makes. A view in place of the table could show
 * something different each time it is read, and without its triggers the table refuses no change.
 */
function schemaFindings(db: Database): StoreFindings {
  const own = ownSchema();
  const problems: string[] = [];
  const warnings: string[] = [];
  const found = new Set<string>();
  for (const object of objectsOf(db)) {
    const { type, name } = object;
    const expected = own.find((one) => one.name === name);
    if (!expected) {
      if (type !== 'table' || !STATISTICS.test(name))
        problems.push(`${objectTitle(object)} was not made by this program`);
    } else if (expected.type !== type) problems.push(`${name} is a ${type} and should be a ${expected.type}`);
    else if (!isSameObject(expected, object)) problems.push(`${objectTitle(object)} was changed`);
    if (expected && found.has(name)) problems.push(`${name} exists twice`);
    found.add(name);
  }
  for (const object of own)
    if (!found.has(object.name))
      (DISPENSABLE.has(object.type) ? warnings : problems).push(`${objectTitle(object)} is missing`);
  return { problems, warnings };
}

function ownSchema(): SchemaObject[] {
  const db = new Database(':memory:');
  try {
    db.exec(SCHEMA);
    return objectsOf(db);
  } finally {
    db.close();
  }
}

function objectsOf(db: Database): SchemaObject[] {
  return db.prepare<[], SchemaObject>('SELECT type, name, tbl_name, sql FROM sqlite_master').all();
}

/** SQLite keeps the text of a statement. From one of our versions to the next, only its white space may differ. */
function isSameObject(one: SchemaObject, other: SchemaObject): boolean {
  const text = ({ tbl_name, sql }: SchemaObject) => `${tbl_name} ${sql}`.replaceAll(/\s+/g, ' ');
  return text(one) === text(other);
}

function objectTitle({ type, name }: SchemaObject): string {
  return `the ${type} ${JSON.stringify(name)}`;
}
