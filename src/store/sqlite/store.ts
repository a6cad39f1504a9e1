/**
 * The embedded default store: one SQLite file, used by any number of processes on one machine.
 *
 * Appends run on a thread of their own (append-thread.ts). While one transaction is being flushed, new appends are
 * collected for the next. Reads use a second connection, on this thread. `Follower` follows the table live.
 */
import { mkdirSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { RecordBytes } from '../../../events/record.ts';
import { threadFile } from '../../base/threads.ts';
import {
  type AppendResult,
  type EventStore,
  PAGE_RECORDS,
  type Position,
  type StoredRecord,
  StoreError,
  type Subscriber,
  type Subscription,
} from '../event-store.ts';
import type { AppendReply, AppendRequest, RoomNews } from './append-thread.ts';
import type { Database, Statement } from './library.ts';
import { Reserve } from './reserve.ts';
import {
  COLUMNS,
  checkDatabase,
  createDatabase,
  holdAsFound,
  openDatabase,
  openWithReserve,
  type RawRow,
  recordBytes,
} from './schema.ts';

/** Delay between the loss of the writing thread and the start of a new one, in ms. */
const RESTART_MS = 500;
/** Maximum number of appends in one transaction. */
const GROUP_APPENDS = 256;

interface Pending {
  readonly request: AppendRequest;
  resolve(result: AppendResult): void;
  reject(error: StoreError): void;
}

type FromThread = 'ready' | RoomNews | readonly AppendReply[];

export class SqliteStore implements EventStore {
  readonly #reader: Database;
  readonly #file: string;
  /** Identifies the file that was opened. */
  readonly #opened: Stats;
  /** Held until the first append or subscription: by then, the log has been checked and accepted. */
  readonly #asFound: Database | undefined;
  /** True from the first append on. Most commands only read, and need no thread. */
  #isWriting = false;
  /** Undefined before the first append, and from the loss of a thread until the next is started. */
  #thread: Worker | undefined;
  readonly #waiting: Pending[] = [];
  #inFlight: Pending[] = [];
  #ready = false;
  #closing: Promise<void> | undefined;
  readonly #followers = new Set<Follower>();
  readonly #streamPage: Statement<[string, number, number], RawRow>;
  readonly #allPage: Statement<[number, number], RawRow>;
  readonly #lastPosition: Statement<[], { last: number }>;
  #idle: (() => void) | undefined;
  #noRoom: string | undefined;

  /**
   * Opens the file. If it does not exist, it is created, readable and writable only by its owner.
   * @throws StoreError
   */
  constructor(file: string) {
    const path = resolve(file);
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    } catch (error) {
      const { message } = error as Error;
      throw new StoreError(
        'unavailable',
        'not-written',
        `cannot make the folder of ${path}: ${message} (hint: --data must name a folder that this user may make or write to)`,
        error,
      );
    }
    this.#file = path;
    createDatabase(path);
    checkDatabase(path);
    this.#asFound = openWithReserve(path, () => holdAsFound(path));
    this.#opened = statSync(path);
    this.#reader = openWithReserve(path, () => openDatabase(path, 'read'));
    const streamPage = this.#reader.prepare<[string, number, number], RawRow>(
      `SELECT ${COLUMNS} FROM records WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?`,
    );
    const allPage = this.#reader.prepare<[number, number], RawRow>(
      `SELECT ${COLUMNS} FROM records WHERE position > ? ORDER BY position LIMIT ?`,
    );
    this.#streamPage = streamPage.raw() as typeof streamPage;
    this.#allPage = allPage.raw() as typeof allPage;
    this.#lastPosition = this.#reader.prepare('SELECT coalesce(max(position), 0) AS last FROM records');
  }

  append(
    stream: string,
    expectedRevision: number,
    records: readonly RecordBytes[],
    mayUseReserve = false,
  ): Promise<AppendResult> {
    if (this.#closing)
      return Promise.reject(new StoreError('unavailable', 'not-written', 'the store is closed'));
    if (!this.#isWriting) this.#thread = this.#startThread();
    this.#isWriting = true;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request: { stream, expectedRevision, records, mayUseReserve }, resolve, reject });
      this.#send();
    });
  }

  async *readStream(
    stream: string,
    fromRevision: number,
    pageSize = PAGE_RECORDS,
  ): AsyncIterable<readonly StoredRecord[]> {
    yield* this.#pages(
      (next) => this.#streamPage.all(stream, next, pageSize),
      fromRevision,
      (row) => row.revision + 1,
      pageSize,
    );
  }

  async *readAll(after?: Position): AsyncIterable<readonly StoredRecord[]> {
    yield* this.#pages(
      (next) => this.#allPage.all(next, PAGE_RECORDS),
      after === undefined ? 0 : Number(after),
      (row) => row.position,
    );
  }

  subscribe(after: Position | undefined, subscriber: Subscriber): Subscription {
    this.#asFound?.close();
    const follower = new Follower(after === undefined ? 0 : Number(after), subscriber, {
      readAfter: (position) => this.#read(() => this.#allPage.all(position, PAGE_RECORDS)),
      loss: (last) => this.#loss(last),
    });
    this.#followers.add(follower);
    return {
      close: () => {
        follower.close();
        this.#followers.delete(follower);
      },
    };
  }

  /**
   * Why the database is no longer the one that was opened: somebody replaced its file, or restored a backup into it,
   * while the service was running. Records that are appended to the old file are lost when the process ends.
   */
  #loss(last: ReadLast | undefined): string | undefined {
    const now = statSync(this.#file, { throwIfNoEntry: false });
    if (!now) return `${this.#file} was deleted while it was open`;
    if (now.ino !== this.#opened.ino || now.dev !== this.#opened.dev)
      return `${this.#file} was replaced by another file while it was open`;
    if (!last) return undefined;
    const [found] = this.#read(() => this.#allPage.all(last.position - 1, 1));
    if (found?.position === String(last.position) && Buffer.compare(found.leaf, last.leaf) === 0)
      return undefined;
    return `${this.#file} no longer holds record ${last.position} that was read from it`;
  }

  /** The number of records: positions have no gaps. */
  size(): number {
    return this.#lastPosition.get()?.last ?? 0;
  }

  noRoom(): string | undefined {
    return this.#noRoom;
  }

  close(): Promise<void> {
    this.#closing ??= this.#drainAndClose();
    return this.#closing;
  }

  async #drainAndClose(): Promise<void> {
    for (const follower of this.#followers) follower.close();
    if (this.#inFlight.length > 0 || this.#waiting.length > 0) {
      this.#thread ??= this.#startThread();
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    const held = this.#heldForNextStart();
    const thread = this.#thread;
    if (thread) {
      const exited = new Promise((resolve) => thread.once('exit', resolve));
      thread.postMessage('close');
      await exited;
    }
    this.#reader.close();
    this.#asFound?.close();
    held?.close();
  }

  /**
   * SQLite removes the files beside the database when the last connection closes, and needs room to make them again. If the
   * reserve is missing, the next start may find none, so they stay, as after a crash.
   */
  #heldForNextStart(): Database | undefined {
    if (new Reserve(this.#file).isKept()) return undefined;
    try {
      return holdAsFound(this.#file);
    } catch {
      // The database is damaged or gone: there is nothing to hold.
      return undefined;
    }
  }

  #startThread(): Worker {
    const thread = new Worker(threadFile('append-thread'), { workerData: { file: this.#file } });
    let why = 'it stopped';
    thread.on('message', (message: FromThread) => this.#onMessage(message));
    thread.on('error', (error) => {
      why = error.message;
    });
    thread.on('exit', () => this.#onThreadEnd(why));
    return thread;
  }

  #send(): void {
    if (!this.#ready || this.#inFlight.length > 0 || this.#waiting.length === 0) return;
    this.#inFlight = this.#waiting.splice(0, GROUP_APPENDS);
    this.#thread?.postMessage(this.#inFlight.map(({ request }) => request));
  }

  #onMessage(message: FromThread): void {
    if (message === 'ready') {
      this.#ready = true;
    } else if ('noRoom' in message) {
      this.#noRoom = message.noRoom;
    } else {
      const answered = this.#inFlight;
      this.#inFlight = [];
      message.forEach((reply, i) => {
        const pending = answered[i];
        if (pending) this.#answer(pending, reply);
      });
    }
    this.#send();
    if (this.#inFlight.length === 0) this.#idle?.();
  }

  #answer({ request, resolve, reject }: Pending, reply: AppendReply): void {
    if (reply.type === 'failed') {
      reject(new StoreError(reply.failure, reply.outcome, reply.message));
      return;
    }
    if (reply.type === 'written' && reply.lastPosition > 0) {
      this.#asFound?.close();
      const first = reply.lastPosition - request.records.length + 1;
      const records = request.records.map(({ record, sealed, leaf }, i) => ({
        record,
        sealed,
        leaf,
        stream: request.stream,
        revision: request.expectedRevision + 1 + i,
        position: String(first + i),
      }));
      for (const follower of this.#followers) follower.hear(first, records);
    }
    resolve({ type: reply.type });
  }

  /** Rejects all pending appends. Those in flight may have been written. The callers send them again. */
  #onThreadEnd(why: string): void {
    this.#thread = undefined;
    this.#ready = false;
    // A new one finds out for itself.
    this.#noRoom = undefined;
    const lost = new StoreError('unavailable', 'unclear', `the writing thread ended: ${why}`);
    for (const pending of [...this.#inFlight.splice(0), ...this.#waiting.splice(0)]) pending.reject(lost);
    this.#idle?.();
    if (!this.#closing)
      setTimeout(() => {
        if (!this.#closing) this.#thread = this.#startThread();
      }, RESTART_MS).unref();
  }

  #read(query: () => RawRow[]): StoredRecord[] {
    try {
      return query().map(([position, stream, revision, bytes, leafLength, recordLength]) => {
        const { record, sealed, leaf } = recordBytes({ bytes, leafLength, recordLength });
        return { stream, revision, position: String(position), record, sealed, leaf };
      });
    } catch (error) {
      const { code = '', message } = error as { code?: string; message: string };
      const corrupt = code.startsWith('SQLITE_CORRUPT');
      const hint = corrupt ? ' (hint: keep the file as it is and restore a backup beside it)' : '';
      const failure = corrupt ? 'corrupt' : 'unavailable';
      throw new StoreError(failure, 'not-written', `cannot read ${this.#file}: ${message}${hint}`, error);
    }
  }

  async *#pages(
    query: (from: number) => RawRow[],
    from: number,
    next: (row: StoredRecord & { position: string }) => number | string,
    pageSize = PAGE_RECORDS,
  ): AsyncIterable<readonly StoredRecord[]> {
    for (let at = from; ; ) {
      const page = this.#read(() => query(at));
      const last = page.at(-1);
      if (!last) return;
      yield page;
      if (page.length < pageSize) return;
      at = Number(next(last));
    }
  }
}

/** How often a subscription looks for records of other processes, in ms. */
const POLL_MS = 100;

/** What a follower needs from the database. */
interface FollowedTable {
  readAfter(position: number): StoredRecord[];
  /** Why the table is no longer the one that this record was read from, without a final full stop; undefined if it is. */
  loss(last: ReadLast | undefined): string | undefined;
}

/** The last record that was read. */
type ReadLast = Pick<StoredRecord, 'leaf'> & { readonly position: number };

/** Follows the table from a position. `hear` hands over this process's records; polling finds all others. */
class Follower {
  #position: number;
  #last: ReadLast | undefined;
  readonly #subscriber: Subscriber;
  readonly #table: FollowedTable;
  readonly #timer: NodeJS.Timeout;
  readonly #heard: { first: number; records: readonly StoredRecord[] }[] = [];
  #closed = false;

  constructor(position: number, subscriber: Subscriber, table: FollowedTable) {
    this.#position = position;
    this.#subscriber = subscriber;
    this.#table = table;
    const [last] = position > 0 ? table.readAfter(position - 1) : [];
    if (last) this.#last = { position, leaf: last.leaf };
    this.#timer = setInterval(() => this.#poll(), POLL_MS).unref();
  }

  /**
   * Takes records that this process has just written. They are delivered one turn of the event loop later: by then, the
   * writer has folded them without having to decode them. After a gap (another process wrote in between), the table is
   * read instead.
   */
  hear(first: number, records: readonly StoredRecord[]): void {
    this.#heard.push({ first, records });
    if (this.#heard.length === 1) setImmediate(() => this.#deliverHeard());
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  #deliverHeard(): void {
    for (const { first, records } of this.#heard.splice(0)) {
      if (first !== this.#position + 1) {
        this.#poll();
      } else if (!this.#closed) {
        this.#deliver(first + records.length - 1, records);
      }
    }
  }

  #deliver(position: number, records: readonly StoredRecord[]): void {
    this.#position = position;
    const last = records.at(-1);
    if (last) this.#last = { position, leaf: last.leaf };
    this.#subscriber.onRecords(records);
  }

  #poll(): void {
    if (this.#closed) return;
    try {
      const why = this.#table.loss(this.#last);
      if (why !== undefined) {
        this.close();
        this.#subscriber.onRolledBack?.(why);
        return;
      }
      // The subscriber may close the subscription while it receives records.
      for (let more = true; more && !this.#closed; ) {
        const records = this.#table.readAfter(this.#position);
        const last = records.at(-1);
        if (last) this.#deliver(Number(last.position), records);
        more = records.length === PAGE_RECORDS;
      }
      if (!this.#closed) this.#subscriber.onCaughtUp();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#subscriber.onError(error);
    }
  }
}
