/**
 * The database file: its schema, the marks by which it is recognized, and the checks each time it is opened.
 *
 * It has one append-only table. `record`, `sealed` and `leaf` are the facts. `stream` and `revision` repeat members of
 * the record for the index, and are checked against it at every read. `position` is the order of arrival.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { RecordBytes } from '../../../events/record.ts';
import { createOnce } from '../../base/files.ts';
import { StoreError } from '../event-store.ts';
import { Database } from './library.ts';
import { isNoRoom, probeRoom, Reserve } from './reserve.ts';

/** "urn1" in ASCII. As SQLite's application_id, it distinguishes our file from another program's. */
const APPLICATION_ID = 0x75726e31;
const SCHEMA_VERSION = 2;
/** Length of the header of an SQLite file. */
const HEADER_BYTES = 100;
/**
 * How long a writer waits for another process's transaction, in ms. It is less than half of the time that the write
 * path waits for an append, so the appends queued after the first also get a clear answer: busy, and not written.
 */
export const BUSY_TIMEOUT_MS = 2000;

// By default, INSERT OR REPLACE fires no delete trigger, so the insert trigger must refuse to replace a record.
// This text is stored in every database and compared when a log is verified.
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

/** Creates the file if it does not exist. */
export function createDatabase(file: string): void {
  try {
    createOnce(file, (draft) => {
      const db = new Database(draft);
      try {
        db.exec(SCHEMA);
        // This is done here, while nobody else knows the file: if two processes switch a new file to WAL at once, one
        // is refused as busy, however long it is willing to wait.
        db.pragma('journal_mode = WAL');
      } finally {
        db.close();
      }
    });
  } catch (error) {
    throw openError(file, error);
  }
}

/** The parts of a record as they are read: in one buffer, because each buffer costs as much as its whole content. */
interface RecordParts {
  /** Leaf, record and sealed part, concatenated. Null if one is NULL, as may be in a table recreated by hand. */
  readonly bytes: Buffer | null;
  readonly leafLength: number;
  readonly recordLength: number;
}
export const PARTS = `CAST(leaf || record || sealed AS BLOB) AS bytes,
  length(CAST(leaf AS BLOB)) AS leafLength, length(CAST(record AS BLOB)) AS recordLength`;

/** The parts share the buffer. */
export function recordBytes({ bytes, leafLength, recordLength }: RecordParts): RecordBytes {
  const all = bytes ?? Buffer.alloc(0);
  const sealedAt = leafLength + recordLength;
  return {
    record: all.subarray(leafLength, sealedAt),
    sealed: all.subarray(sealedAt),
    leaf: all.subarray(0, leafLength),
  };
}

/** A record as it is read. */
export interface RecordRow extends RecordParts {
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
}
export const COLUMNS = `position, stream, revision, ${PARTS}`;
/** The members of a Row in the order of COLUMNS. Creating an object for a row takes a quarter of the time of reading it. */
export type RawRow = [
  position: number,
  stream: string,
  revision: number,
  bytes: Buffer | null,
  leafLength: number,
  recordLength: number,
];

/** Opens an existing database file. Only this function makes the settings that durability depends on. */
export function openDatabase(file: string, use: 'append' | 'read'): Database {
  return connected(file, { fileMustExist: true }, (db) => {
    setDurability(db);
    if (use === 'read') db.pragma('query_only = ON');
    detectDamage(db);
  });
}

/**
 * Opens a connection that is only for reading and changes no settings of the database.
 * @param isAlone whether nobody else has the database open and there is no write-ahead log. If so, the connection is
 *   not opened read-only: when it closes, it removes the files that SQLite made beside the database, which a read-only
 *   one would leave behind. Otherwise it creates, changes and removes nothing.
 * @throws StoreError
 */
export function openForReading(file: string, isAlone: boolean): Database {
  return connected(file, { readonly: !isAlone, fileMustExist: true }, (db) => {
    db.pragma('query_only = ON');
    detectDamage(db);
  });
}

/**
 * Opens a connection that cannot write, to preserve a write-ahead log that a crash left; undefined if there is none.
 * SQLite moves the content of such a log into the database when the last connection closes. While this connection is
 * open, that cannot happen, and files that turn out to be damaged, or not to belong together, stay as they were found. If
 * it is the last one to close, they stay there.
 */
export function holdAsFound(file: string): Database | undefined {
  if (!statSync(`${file}-wal`, { throwIfNoEntry: false })?.size) return undefined;
  // The first read takes the lock. It is held as long as the connection is open.
  return connected(file, { readonly: true }, (db) => db.pragma('schema_version'));
}

/**
 * SQLite needs a little room even to read, if nobody else has the database open. On a full disk, it gets that of the
 * reserve: without the log, nobody's code could be broken.
 * @throws StoreError
 */
export function openWithReserve<T>(file: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!isForWantOfRoom(file, error)) throw error;
    new Reserve(file).giveUp();
  }
  try {
    return open();
  } catch (error) {
    if (!isForWantOfRoom(file, error)) throw error;
    throw new StoreError(
      'full',
      'not-written',
      `cannot open ${file}: the disk is full (hint: make room on it)`,
      error,
    );
  }
}

function isForWantOfRoom(file: string, error: unknown): boolean {
  const { code = '' } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  const kinds = ['SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_CANTOPEN'];
  return kinds.some((kind) => code.startsWith(kind)) && isNoRoom(probeRoom(file));
}

/**
 * Whether any process has the database open. Call this before this process opens it.
 * @throws StoreError
 */
export function isInUse(file: string): boolean {
  checkDatabase(file, 'append');
  const db = new Database(file, { fileMustExist: true, timeout: 0 });
  try {
    // In this mode, the first read needs exclusive access to the file.
    db.pragma('locking_mode = EXCLUSIVE');
    detectDamage(db);
    return false;
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY')) return true;
    throw openError(file, error);
  } finally {
    db.close();
  }
}

/** Opens a connection and sets it up. If the set-up fails, the connection is closed. @throws StoreError */
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

/** Reads the schema and the table's first page, to find damage there now and not in the middle of the work. */
function detectDamage(db: Database): void {
  db.prepare('SELECT 1 FROM records LIMIT 1').get();
}

/**
 * Refuses a file that is not our database. It reads the marks from the file's first bytes
 * (https://www.sqlite.org/fileformat.html §1.3), because just opening another program's database could roll back its
 * journal, and so change it. In our files, the marks are written before the file gets its name.
 *
 * Call this only while this process has no connection to the file. POSIX locks belong to the process, so closing a
 * descriptor here would drop SQLite's locks (https://www.sqlite.org/howtocorrupt.html §2.2). The next program that
 * merely reads the database would then believe that it is the last to close it, and delete the write-ahead log. All
 * records appended after that would be lost.
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
  // Opened for writing too, so that a read-only file is refused now and not at the first participant.
  const fd = openSync(file, use === 'append' ? 'r+' : 'r');
  try {
    if (readSync(fd, header, 0, HEADER_BYTES, 0) < HEADER_BYTES)
      throw foreign(file, 'it is too short to be a database: it was truncated, or another program made it');
  } finally {
    closeSync(fd);
  }
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0')
    throw foreign(file, 'it is not an SQLite database');
  if (header.readInt32BE(68) !== APPLICATION_ID)
    throw foreign(file, 'it is an SQLite database of another program');
  const version = header.readInt32BE(60);
  if (version === 1)
    throw new StoreError(
      'foreign',
      'not-written',
      `${file} was written before 1.0.0; nothing was changed (hint: begin a new log in another --data folder, or name another file with --store)`,
    );
  if (version !== SCHEMA_VERSION)
    throw foreign(file, `its schema has version ${version}, and this build knows ${SCHEMA_VERSION}`);
}

function setDurability(db: Database): void {
  // WAL with FULL flushes every commit. By default, this build of SQLite reopens a WAL database with NORMAL, which
  // loses acknowledged commits in a power failure.
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
