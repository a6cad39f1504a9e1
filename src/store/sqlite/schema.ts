/**
 * The database file: its schema, its marks, and what must hold each time it is opened.
 *
 * One append-only table. `record`, `sealed` and `leaf` are the facts; `stream` and `revision` repeat what the record
 * says, for the index, and are checked against it at every read. `position` is the order of arrival.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { RecordBytes } from '../../../events/record.ts';
import { createOnce } from '../../base/create-once.ts';
import { StoreError } from '../event-store.ts';
import { Database } from './library.ts';

/** "urn1" in ASCII, in SQLite's application_id: tells our file from another program's. */
const APPLICATION_ID = 0x75726e31;
const SCHEMA_VERSION = 1;
/** Length of an SQLite file's header. */
const HEADER_BYTES = 100;
/**
 * How long a writer waits for another process's transaction, in ms. Less than half of what the write path waits for an
 * append, so that also those behind the first one get a clear answer: busy, and not written.
 */
export const BUSY_TIMEOUT_MS = 2000;

// INSERT OR REPLACE fires no delete trigger by default, so the insert trigger must refuse what it would replace.
export const SCHEMA = `
  CREATE TABLE records (
    position INTEGER PRIMARY KEY,
    stream   TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    record   BLOB    NOT NULL,
    sealed   BLOB    NOT NULL,
    leaf     BLOB    NOT NULL CHECK (length(leaf) = 32),
    UNIQUE (stream, revision)
  ) STRICT;
  CREATE TRIGGER records_are_appended BEFORE INSERT ON records
  WHEN NEW.revision IS NOT (SELECT coalesce(max(revision), -1) + 1 FROM records WHERE stream = NEW.stream)
    OR NEW.position IN (SELECT position FROM records WHERE position = NEW.position)
  BEGIN SELECT RAISE(ABORT, 'the log is append-only: a record goes behind the last of its stream'); END;
  CREATE TRIGGER records_are_not_changed BEFORE UPDATE ON records
  BEGIN SELECT RAISE(ABORT, 'the log is append-only: records are never changed'); END;
  CREATE TRIGGER records_are_not_deleted BEFORE DELETE ON records
  BEGIN SELECT RAISE(ABORT, 'the log is append-only: records are never deleted'); END;
  -- For people with the sqlite3 shell. Unblinding material: see docs/event-log.md.
  CREATE VIEW readable AS
    SELECT position, stream, revision, CAST(record AS TEXT) AS record, CAST(sealed AS TEXT) AS sealed,
           lower(hex(leaf)) AS leaf FROM records;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Makes the file if there is none. */
export function createDatabase(file: string): void {
  try {
    createOnce(file, (draft) => {
      const db = new Database(draft);
      try {
        db.exec(SCHEMA);
        // Already here, while nobody else knows the file: of two processes that switch a new file to WAL at once, one
        // is refused as busy, however long it would wait.
        db.pragma('journal_mode = WAL');
      } finally {
        db.close();
      }
    });
  } catch (error) {
    throw openError(file, error);
  }
}

/** A record as it is read. */
export interface Row extends RecordBytes {
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
}
export const COLUMNS = 'position, stream, revision, record, sealed, leaf';

/** Opens an existing database file; the one place that sets what durability rests on. */
export function openDatabase(file: string, use: 'append' | 'read'): Database {
  return connected(file, { fileMustExist: true }, (db) => {
    setDurability(db);
    if (use === 'read') db.pragma('query_only = ON');
    meetDamage(db);
  });
}

/**
 * A connection for reading alone, which sets nothing up.
 * @param isAlone whether nobody else has the database open, and no write-ahead log lies beside it. Then the connection
 *   removes the files that SQLite makes beside a database when it closes, which one that is opened for reading only
 *   leaves behind. Otherwise it makes, changes and removes nothing.
 * @throws StoreError
 */
export function openForReading(file: string, isAlone: boolean): Database {
  return connected(file, { readonly: !isAlone, fileMustExist: true }, (db) => {
    db.pragma('query_only = ON');
    meetDamage(db);
  });
}

/**
 * A connection that cannot write; undefined where there is nothing to hold. SQLite folds a write-ahead log that a crash
 * left into the database when the last connection closes, but not while this one is open: files that turn out to be
 * damaged, or not to belong together, stay as they were found.
 */
export function holdAsFound(file: string): Database | undefined {
  if (!statSync(`${file}-wal`, { throwIfNoEntry: false })?.size) return undefined;
  // The first read takes the lock, which lasts as long as the connection.
  return connected(file, { readonly: true }, (db) => db.pragma('schema_version'));
}

/**
 * Whether another connection, of whatever process, has the database open. To be asked before this process opens it.
 * @throws StoreError
 */
export function isInUse(file: string): boolean {
  checkDatabase(file, 'append');
  const db = new Database(file, { fileMustExist: true, timeout: 0 });
  try {
    // In this mode the first read wants the file for itself alone.
    db.pragma('locking_mode = EXCLUSIVE');
    meetDamage(db);
    return false;
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY')) return true;
    throw openError(file, error);
  } finally {
    db.close();
  }
}

/** A connection that is set up, or none. */
function connected(
  file: string,
  options: { readonly readonly?: boolean; readonly fileMustExist?: boolean },
  setUp: (db: Database) => void,
): Database {
  try {
    const db = new Database(file, { ...options, timeout: BUSY_TIMEOUT_MS });
    try {
      setUp(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    throw openError(file, error);
  }
}

/** Reads the schema and the table's first page: damage there is met now and not in the middle of the work. */
function meetDamage(db: Database): void {
  db.prepare('SELECT 1 FROM records LIMIT 1').get();
}

/**
 * Refuses what is not our database. It reads the marks from the file's first bytes
 * (https://www.sqlite.org/fileformat.html §1.3), because opening another program's database could already play its
 * journal back, and so change it. Ours are written before the file gets its name.
 *
 * To be called before this process has a connection to the file, and never while it has one: POSIX locks belong to the
 * process, so closing a descriptor here would drop SQLite's (https://www.sqlite.org/howtocorrupt.html §2.2). The next
 * program that only looks into the database would then take itself for the last one, delete the write-ahead log, and
 * what is appended after that would be lost.
 */
export function checkDatabase(file: string, use: 'append' | 'read' = 'append'): void {
  try {
    checkHeader(file, use);
  } catch (error) {
    throw openError(file, error);
  }
}

function checkHeader(file: string, use: 'append' | 'read'): void {
  const header = Buffer.alloc(HEADER_BYTES);
  // For writing too: a file that cannot be written is refused now, not at the first participant.
  const fd = openSync(file, use === 'append' ? 'r+' : 'r');
  try {
    if (readSync(fd, header, 0, HEADER_BYTES, 0) < HEADER_BYTES)
      throw foreign(file, 'it is too short to be a database: it was cut off, or another program made it');
  } finally {
    closeSync(fd);
  }
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0')
    throw foreign(file, 'it is not an SQLite database');
  if (header.readInt32BE(68) !== APPLICATION_ID)
    throw foreign(file, 'it is an SQLite database of another program');
  const version = header.readInt32BE(60);
  if (version !== SCHEMA_VERSION)
    throw foreign(file, `its schema has version ${version}, and this build knows ${SCHEMA_VERSION}`);
}

function setDurability(db: Database): void {
  // WAL with FULL: every commit is flushed. A reopened WAL database of this build of SQLite would otherwise run NORMAL,
  // which loses acknowledged commits with the power.
  if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal')
    throw new StoreError('unavailable', 'not-written', 'the file system does not support SQLite WAL mode');
  db.pragma('synchronous = FULL');
  if (db.pragma('synchronous', { simple: true }) !== 2)
    throw new StoreError('unavailable', 'not-written', 'SQLite refuses synchronous = FULL');
}

function foreign(file: string, why: string): StoreError {
  return new StoreError(
    'foreign',
    'not-written',
    `${file} is not a log of this program: ${why} (hint: nothing was changed; restore the file from a backup, or name another with --store or --data)`,
  );
}

function openError(file: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB')
    return new StoreError(
      'corrupt',
      'not-written',
      `${file} is damaged or was cut off (hint: nothing was changed; keep the file and restore a backup beside it)`,
      error,
    );
  const hint = ['EACCES', 'EROFS', 'EPERM', 'SQLITE_READONLY', 'SQLITE_CANTOPEN'].some((c) =>
    code.startsWith(c),
  )
    ? ' (hint: the service must be able to write to the file and to its folder)'
    : '';
  const why = code === 'ENOSPC' || code === 'SQLITE_FULL' ? 'the disk is full' : (error as Error).message;
  return new StoreError('unavailable', 'not-written', `cannot open ${file}: ${why}${hint}`, error);
}
