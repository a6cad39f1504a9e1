/**
 * Opens a history file, before anything in it is understood: CSV as the reference exports it or another system writes it, or
 * the reference's SQLite database. Both give a table of texts.
 */
import { statSync } from 'node:fs';
import { quote } from '../../base/text.ts';
import { Database } from '../../store/sqlite/library.ts';
import { bytesOf, csvRows, ImportError } from './csv-file.ts';

export interface SourceFile {
  readonly bytes: Uint8Array;
  /** @throws ImportError when there is no history of the study in it */
  table(study: string): SourceTable;
}

/** A table of texts. An empty cell and a cell without a value are both undefined. */
export interface SourceTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | undefined)[])[];
  /** The settings that the reference keeps beside the history. */
  readonly settings?: ReadonlyMap<string, string | undefined>;
}

/** @throws ImportError when the file cannot be read */
export function openSource(path: string): SourceFile {
  const bytes = bytesOf(path);
  if (!isBeginningOfSqlite(bytes)) return { bytes, table: () => csvTable(bytes) };
  refuseUnfinished(path);
  return { bytes, table: (study) => readDatabase(bytes, study) };
}

/** The first bytes of every SQLite file. */
const SQLITE_MAGIC = 'SQLite format 3\0';

function isBeginningOfSqlite(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, SQLITE_MAGIC.length)).toString('latin1') === SQLITE_MAGIC;
}

/** @throws ImportError when the file is not CSV in UTF-8 */
export function csvTable(bytes: Buffer): SourceTable {
  const [columns = [], ...rows] = csvRows(bytes).map(({ cells }) => cells);
  const problems = columns
    .filter((name, i) => columns.indexOf(name) < i)
    .map((name) => `the file has the column ${quote(name)} twice`);
  if (columns.length === 1)
    problems.push('the first line has no comma (hint: export the file with commas between its fields)');
  if (problems.length > 0) throw new ImportError(problems);
  return { columns, rows: rows.map((row) => row.map((cell) => (cell === '' ? undefined : cell))) };
}

/** What is not yet in the database itself would be missing. */
function refuseUnfinished(path: string): void {
  for (const beside of [`${path}-wal`, `${path}-journal`])
    if ((statSync(beside, { throwIfNoEntry: false })?.size ?? 0) > 0)
      throw new ImportError([
        `${beside} shows that the database is in use or was not closed (hint: stop the other system, and copy the database with sqlite3 ${path} ".backup copy.db")`,
      ]);
}

/** The bytes that say how it is written: 1 without a log beside it, 2 with one. */
const FORMAT_VERSIONS = { from: 18, to: 20 };

/**
 * Reads a study from the reference's database: from its bytes, so that what is imported is what its digest is of.
 * @throws ImportError when it is damaged or has no such study
 */
function readDatabase(bytes: Buffer, study: string): SourceTable {
  // A database in memory can have no log beside it, and the caller has seen to it that nothing is missing.
  const inMemory = Buffer.from(bytes).fill(1, FORMAT_VERSIONS.from, FORMAT_VERSIONS.to);
  let db: Database | undefined;
  try {
    db = new Database(inMemory);
    return historyIn(db, tableName(study));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!code?.startsWith('SQLITE_')) throw error;
    throw new ImportError([
      `the database cannot be read: ${message} (hint: was it copied completely, while nothing wrote to it?)`,
    ]);
  } finally {
    db?.close();
  }
}

/** The name of the reference's tables for a study: anything but a letter, digit or underscore becomes an underscore. */
function tableName(study: string): string {
  return study.replace(/[^\p{L}\p{N}_]|^(?=\d)/gu, '_');
}

function historyIn(db: Database, name: string): SourceTable {
  const texts = <T>(sql: string, ...parameters: string[]) =>
    db
      .prepare(sql)
      .raw()
      .all(...parameters) as T[];
  const tables = texts<[string]>("SELECT name FROM sqlite_master WHERE type = 'table'").flat();
  if (!tables.includes(`${name}_history`)) {
    const others = tables.filter((table) => table.endsWith('_history'));
    throw new ImportError([
      `the database has no table ${name}_history (it has: ${others.join(', ') || 'no history'})`,
    ]);
  }
  const columns = texts<[string]>('SELECT name FROM pragma_table_info(?)', `${name}_history`).flat();
  const cells = columns.map((column) => `CAST(${quotedName(column)} AS TEXT)`).join(', ');
  const rows = texts<(string | null)[]>(
    `SELECT ${cells} FROM ${quotedName(`${name}_history`)} ORDER BY rowid`,
  );
  return {
    columns,
    rows: rows.map((row) => row.map((cell) => (cell === null || cell === '' ? undefined : cell))),
    ...(tables.includes(`${name}_config`) && { settings: settingsIn(db, name) }),
  };
}

function settingsIn(db: Database, name: string): Map<string, string | undefined> {
  const rows = db
    .prepare(`SELECT param, CAST(value AS TEXT) FROM ${quotedName(`${name}_config`)}`)
    .raw()
    .all() as [string, string | null][];
  return new Map(rows.map(([param, value]) => [param, value ?? undefined]));
}

function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
