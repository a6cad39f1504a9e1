/**
 * The thread that appends. It owns the writing connection, so neither a flush to disk nor a wait for another process's
 * transaction blocks the event loop.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { RecordBytes } from '../../../events/record.ts';
import { type StoreFailure, sameRecords } from '../event-store.ts';
import type { Database } from './library.ts';
import { isNoRoom, probeRoom, Reserve } from './reserve.ts';
import { BUSY_TIMEOUT_MS, openDatabase } from './schema.ts';

/** One append. */
export interface AppendRequest {
  readonly stream: string;
  readonly expectedRevision: number;
  readonly records: readonly RecordBytes[];
  /** Whether it may use the reserve. */
  readonly mayUseReserve: boolean;
}

/** Why what is not urgent finds no room; undefined when it finds some. Sent when it changes. */
export interface RoomNews {
  readonly noRoom: string | undefined;
}

export type AppendReply =
  /** `lastPosition` is that of the last record, or 0 if the records were already there. */
  | { readonly type: 'written'; readonly lastPosition: number }
  | { readonly type: 'conflict' }
  | {
      readonly type: 'failed';
      readonly failure: StoreFailure;
      readonly outcome: 'not-written' | 'unclear';
      readonly message: string;
    };

/** About as long as another process's transaction takes. */
const MAX_NAP_MS = 1;
/** How often the reserve is looked for, and room after a failure, in ms. */
const LOOK_MS = 1000;

const FULL = 'the disk is full';
const NO_RESERVE = 'the disk is too full for the reserve that emergencies need';

if (!parentPort) throw new Error('this file must run as a worker thread');
const port = parentPort;
const { file } = workerData as { file: string };
const db = openDatabase(file, 'append');
const reserve = new Reserve(file);
// This thread does its own waiting for the lock: see `begin`.
db.pragma('busy_timeout = 0');
const nap = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const lastRevision = db
  .prepare<[string], number>('SELECT coalesce(max(revision), -1) FROM records WHERE stream = ?')
  .pluck();
const insert = db.prepare(
  'INSERT INTO records (stream, revision, record, sealed, leaf) VALUES (?, ?, ?, ?, ?)',
);
const storedFrom = db.prepare<[string, number, number], RecordBytes>(
  'SELECT record, sealed, leaf FROM records WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?',
);

let noRoom: string | undefined;
const looking = setInterval(look, LOOK_MS);
port.postMessage('ready');
port.on('message', (message: readonly AppendRequest[] | 'close') => {
  if (message === 'close') {
    clearInterval(looking);
    db.close();
    port.close();
    return;
  }
  port.postMessage(appendAll(message));
});

/** What cannot wait is tried again with the room that the reserve gives up. */
function appendAll(requests: readonly AppendRequest[]): AppendReply[] {
  const replies = transact(requests);
  const isTriedAgain = (_: unknown, i: number) => requests[i]?.mayUseReserve === true && isFull(replies[i]);
  const urgent = requests.filter(isTriedAgain);
  if (urgent.length === 0) return replies;
  const again = transact(urgent, () => reserve.giveUp());
  return replies.map((reply, i) => (isTriedAgain(reply, i) ? (again.shift() ?? reply) : reply));
}

function isFull(reply: AppendReply | undefined): boolean {
  return reply?.type === 'failed' && reply.failure === 'full';
}

/**
 * Appends that arrived together share one transaction and one flush, even across streams. Each has its own result.
 * @param first is done in the transaction before anything else
 */
function transact(requests: readonly AppendRequest[], first?: () => void): AppendReply[] {
  let committing = false;
  try {
    begin();
    first?.();
    // In the transaction, so that all processes agree whether the reserve is there.
    const missing = first ? undefined : keepReserve();
    const refusal = missing === undefined ? undefined : refused(missing);
    const replies = requests.map((request) =>
      refusal && !request.mayUseReserve ? refusal : append(request),
    );
    committing = true;
    db.exec('COMMIT');
    // The log's first record goes into the database file itself at once. If the write-ahead log is lost, the rest must
    // not look like an empty store, because a new log would be started in it.
    if (replies.some((reply) => reply.type === 'written' && reply.lastPosition === 1))
      db.pragma('wal_checkpoint(PASSIVE)');
    if (first) tell(NO_RESERVE);
    return replies;
  } catch (error) {
    try {
      rollback(db);
    } catch {
      // The connection is unusable. The next request gets the same error and reports it.
    }
    // A failed commit may have reached the disk. A failure before the commit cannot have.
    const failure = failureOf(error);
    const isClear = !committing || (error as { code?: string }).code === 'SQLITE_FULL';
    const { message } = error as Error;
    if (failure === 'full') tell(FULL);
    return requests.map(() => ({
      ...{ type: 'failed', failure, outcome: isClear ? 'not-written' : 'unclear', message },
    }));
  }
}

/** Makes the reserve if it is missing. Hold the lock. @returns why it is still missing; undefined if it is there */
function keepReserve(): string | undefined {
  if (reserve.isKept()) return undefined;
  try {
    reserve.make();
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return isNoRoom(code) ? NO_RESERVE : `the reserve that emergencies need cannot be made: ${message}`;
  }
}

function refused(message: string): AppendReply {
  tell(message);
  return { type: 'failed', failure: 'full', outcome: 'not-written', message };
}

/**
 * Sees whether the reserve is there, which another process may have given up, and makes it again when there is room. After
 * an append that failed for want of room, sees whether a small file can be written again.
 */
function look(): void {
  if (noRoom === undefined && reserve.isKept()) return;
  try {
    // It comes again, so it does not wait for the lock.
    db.exec('BEGIN IMMEDIATE');
    tell(keepReserve() ?? (probeRoom(file) === undefined ? undefined : FULL));
  } catch {
    // Nothing is known.
  } finally {
    rollback(db);
  }
}

function tell(why: string | undefined): void {
  if (why === noRoom) return;
  noRoom = why;
  port.postMessage({ noRoom } satisfies RoomNews);
}

/**
 * Waits for the lock in short naps. SQLite's own waits grow to 100 ms each, and in that time processes that came later
 * take the lock again and again.
 */
function begin(): void {
  const deadline = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      db.exec('BEGIN IMMEDIATE');
      return;
    } catch (error) {
      if (failureOf(error) !== 'busy' || performance.now() >= deadline) throw error;
      Atomics.wait(nap, 0, 0, Math.random() * MAX_NAP_MS);
    }
  }
}

function append({ stream, expectedRevision, records }: AppendRequest): AppendReply {
  if (lastRevision.get(stream) !== expectedRevision) {
    const existing = storedFrom.all(stream, expectedRevision + 1, records.length);
    return sameRecords(existing, records) ? { type: 'written', lastPosition: 0 } : { type: 'conflict' };
  }
  let revision = expectedRevision;
  let lastPosition = 0;
  for (const { record, sealed, leaf } of records)
    lastPosition = Number(insert.run(stream, ++revision, record, sealed, leaf).lastInsertRowid);
  return { type: 'written', lastPosition };
}

function rollback(database: Database): void {
  if (database.inTransaction) database.exec('ROLLBACK');
}

function failureOf(error: unknown): StoreFailure {
  const { code = '' } = error as { code?: string };
  if (code === 'SQLITE_FULL') return 'full';
  // So that a flush or the index of the write-ahead log may fail, too.
  if (code.startsWith('SQLITE_IOERR') && probeRoom(file) !== undefined) return 'full';
  if (code.startsWith('SQLITE_BUSY')) return 'busy';
  if (code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB')) return 'corrupt';
  return 'unavailable';
}
