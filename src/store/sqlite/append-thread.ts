/**
 * The thread that appends. It owns the writing connection, so neither a flush to disk nor a wait for another process's
 * transaction blocks the event loop.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { RecordBytes } from '../../../events/record.ts';
import type { StoreFailure } from '../event-store.ts';
import { sameRecords } from '../same-records.ts';
import type { Database } from './library.ts';
import { BUSY_TIMEOUT_MS, openDatabase } from './schema.ts';

/** One append. */
export interface AppendRequest {
  readonly stream: string;
  readonly expectedRevision: number;
  readonly records: readonly RecordBytes[];
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

if (!parentPort) throw new Error('this file must run as a worker thread');
const port = parentPort;
const db = openDatabase((workerData as { file: string }).file, 'append');
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

port.postMessage('ready');
port.on('message', (message: readonly AppendRequest[] | 'close') => {
  if (message === 'close') {
    db.close();
    port.close();
    return;
  }
  port.postMessage(appendAll(message));
});

/** Appends that arrived together share one transaction and one flush, even across streams. Each has its own result. */
function appendAll(requests: readonly AppendRequest[]): AppendReply[] {
  let committing = false;
  try {
    begin();
    const replies = requests.map(append);
    committing = true;
    db.exec('COMMIT');
    // The log's first record goes into the database file itself at once. If the write-ahead log is lost, the rest must
    // not look like an empty store, because a new log would be started in it.
    if (replies.some((reply) => reply.type === 'written' && reply.lastPosition === 1))
      db.pragma('wal_checkpoint(PASSIVE)');
    return replies;
  } catch (error) {
    try {
      rollback(db);
    } catch {
      // The connection is unusable. The next request gets the same error and reports it.
    }
    // A failed commit may have reached the disk. A failure before the commit cannot have.
    const failure = failureOf(error);
    const outcome = committing && failure !== 'full' ? 'unclear' : 'not-written';
    const { message } = error as Error;
    return requests.map(() => ({ type: 'failed', failure, outcome, message }));
  }
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
  if (code.startsWith('SQLITE_BUSY')) return 'busy';
  if (code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB')) return 'corrupt';
  return 'unavailable';
}
