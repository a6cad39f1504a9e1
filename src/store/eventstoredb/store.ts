/**
 * EventStoreDB as the log: one server or a cluster, any number of processes on any number of machines.
 *
 * A stream is stored as `<prefix>.<stream>`. A prefix contains no dot, so with the dot none is the beginning of another, and
 * deployments that share a cluster never see each other's records. wire.ts describes a record as an event, and
 * docs/adr/0009-eventstoredb-client.md gives the reasons for this client.
 *
 * Every call has its own time-out, every append an exact expected revision, and every call that decides anything requires
 * the leader of the cluster.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { RecordBytes } from '../../../events/record.ts';
import {
  type AppendResult,
  type EventStore,
  NO_STREAM,
  type Position,
  type StoredRecord,
  StoreError,
  type StreamWatch,
  type Subscriber,
  type Subscription,
  sameRecords,
} from '../event-store.ts';
import { parseAddress } from './address.ts';
import { LogClient } from './client.ts';
import type { ConnectionTimes } from './connection.ts';
import { appendFailure, appendUntilAccepted, CallError, RIGHTS, withTimeout } from './errors.ts';
import { Follower, type FollowerTimes } from './follower.ts';
import { LogReader } from './reader.ts';
import { fromPosition, type LogEventData, toEvent } from './wire.ts';

/** The default prefix of streams. */
const DEFAULT_PREFIX = 'urn';

const PREFIX_FORM = /^[A-Za-z0-9_-]{1,100}$/;

/** Times in ms. */
export interface EventStoreDbLimits extends FollowerTimes, ConnectionTimes {
  /** How long one append may take, before it counts as unclear. Less than the writer waits for the store. */
  readonly appendTimeoutMs: number;
  /** How long one page may take. */
  readonly readTimeoutMs: number;
}

const EVENTSTOREDB_LIMITS: EventStoreDbLimits = {
  appendTimeoutMs: 4_000,
  readTimeoutMs: 5_000,
  probeMs: 500,
  graceMs: 250,
  pauseMs: [100, 2_000],
  settleMs: 10_000,
  silentMs: 1_500,
  askMs: 1_000,
};

export class EventStoreDbStore implements EventStore {
  readonly #client: LogClient;
  readonly #reader: LogReader;
  readonly #appender: Appender;
  readonly #parts: { readonly prefix: string; readonly server: string; readonly times: FollowerTimes };
  readonly settlesWithinMs: number;
  readonly #followers = new Set<Follower>();
  /** The last record that a read of the whole log gave. */
  #lastRead: StoredRecord | undefined;
  #closing: Promise<void> | undefined;

  /**
   * Connects when first used.
   * @param connectionString `esdb://…`, see address.ts
   * @param streamPrefix letters, digits, `-` and `_`
   * @throws StoreError `foreign` if one of them is wrong
   */
  constructor(
    connectionString: string,
    streamPrefix: string = DEFAULT_PREFIX,
    limits: Partial<EventStoreDbLimits> = {},
  ) {
    if (!PREFIX_FORM.test(streamPrefix))
      throw new StoreError(
        'foreign',
        'not-written',
        'the stream prefix is wrong (hint: 1 to 100 letters, digits, hyphens and underscores, and no dot)',
      );
    const address = parseAddress(connectionString);
    const times = { ...EVENTSTOREDB_LIMITS, ...limits };
    const prefix = `${streamPrefix}.`;
    const server = address.name;
    this.#parts = { prefix, server, times };
    this.settlesWithinMs = times.settleMs;
    this.#client = new LogClient(address, times);
    this.#reader = new LogReader(this.#client, prefix, server, times.readTimeoutMs);
    this.#appender = new Appender({
      client: this.#client,
      reader: this.#reader,
      prefix,
      server,
      timeoutMs: times.appendTimeoutMs,
    });
  }

  async append(
    stream: string,
    expectedRevision: number,
    records: readonly RecordBytes[],
  ): Promise<AppendResult> {
    if (this.#closing) throw new StoreError('unavailable', 'not-written', 'the store is closed');
    return this.#appender.append(stream, expectedRevision, records);
  }

  readStream(
    stream: string,
    fromRevision: number,
    pageSize?: number,
  ): AsyncIterable<readonly StoredRecord[]> {
    return this.#reader.readStream(stream, fromRevision, pageSize);
  }

  readAll(after?: Position, watch?: Partial<StreamWatch>): AsyncIterable<readonly StoredRecord[]> {
    return this.#noting(this.#reader.readAll(after === undefined ? undefined : fromPosition(after), watch));
  }

  subscribe(after: Position | undefined, subscriber: Subscriber): Subscription {
    const parts = { ...this.#parts, client: this.#client, reader: this.#reader };
    const last = this.#lastRead?.position === after ? this.#lastRead : undefined;
    const position = after === undefined ? undefined : fromPosition(after);
    const follower = new Follower(parts, position, subscriber, last);
    this.#followers.add(follower);
    return {
      close: () => {
        follower.close();
        this.#followers.delete(follower);
      },
    };
  }

  async *#noting(pages: AsyncIterable<readonly StoredRecord[]>): AsyncIterable<readonly StoredRecord[]> {
    for await (const page of pages) {
      this.#lastRead = page.at(-1);
      yield page;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#drainAndClose();
    return this.#closing;
  }

  async #drainAndClose(): Promise<void> {
    for (const follower of this.#followers) follower.close();
    await this.#appender.drain();
    this.#client.close();
  }
}

interface AppenderParts {
  readonly client: LogClient;
  readonly reader: LogReader;
  readonly prefix: string;
  readonly server: string;
  readonly timeoutMs: number;
}

interface PendingAppend {
  readonly stream: string;
  readonly expectedRevision: number;
  readonly records: readonly RecordBytes[];
}

/** How long to wait before looking again for a record that has its place and cannot be read yet, in ms. */
const LOOK_AGAIN_MS = 20;

/**
 * Appends to EventStoreDB, with one call at a time for each stream: a cluster answers wrongly, or not at all, to an append that
 * is sent again while the first one is under way.
 */
class Appender {
  readonly #parts: AppenderParts;
  /** Settles when nothing is in progress on a stream. */
  readonly #open = new Map<string, Promise<unknown>>();

  constructor(parts: AppenderParts) {
    this.#parts = parts;
  }

  append(stream: string, expectedRevision: number, records: readonly RecordBytes[]): Promise<AppendResult> {
    // Copies: the caller may change its bytes while the server is asked.
    const copies = records.map(({ record, sealed, leaf }) => ({
      record: Uint8Array.from(record),
      sealed: Uint8Array.from(sealed),
      leaf: Uint8Array.from(leaf),
    }));
    const events = copies.map((bytes, i) => toEvent(stream, expectedRevision + 1 + i, bytes));
    const before = this.#open.get(stream) ?? Promise.resolve();
    const sent = this.#send({ stream, expectedRevision, records: copies }, events, before);
    // Both: an append whose time is up before its turn comes ends before the one ahead of it.
    const ended = Promise.allSettled([before, sent]).then(() => {
      if (this.#open.get(stream) === ended) this.#open.delete(stream);
    });
    this.#open.set(stream, ended);
    return sent;
  }

  /** Resolves when nothing is in progress. Each append has its time-outs. */
  async drain(): Promise<void> {
    await Promise.all(this.#open.values());
  }

  /** @param before settles when no other append to the stream is in progress; waiting for it takes of the same time */
  async #send(
    append: PendingAppend,
    events: readonly LogEventData[],
    before: Promise<unknown>,
  ): Promise<AppendResult> {
    const { client, prefix, server, timeoutMs } = this.#parts;
    const { stream, expectedRevision } = append;
    if (events.length === 0) return { type: 'written' };
    const due = performance.now() + timeoutMs;
    const leftMs = () => Math.max(due - performance.now(), 1);
    const last = expectedRevision + events.length;
    try {
      await withTimeout(before, leftMs());
      const answer = await appendUntilAccepted(leftMs(), (ms) =>
        client.append(prefix + stream, expectedRevision, events, ms),
      );
      if (answer.type === 'wrong-revision') return await this.#found(append, answer.endsAt, due);
      const { revision } = answer;
      if (revision === last || (await this.#found(append, NO_STREAM, due)).type === 'written')
        return { type: 'written' };
      // EventStoreDB treats a deleted stream as one that does not exist, and continues its numbers.
      throw new StoreError(
        'corrupt',
        'unclear',
        `EventStoreDB at ${server} wrote records of ${stream} up to revision ${revision} instead of ${last} (hint: the stream was deleted before; restore a backup; ${RIGHTS})`,
      );
    } catch (error) {
      throw appendFailure(error, server);
    }
  }

  /**
   * Whether exactly these bytes are stored there. The server compares ids and not bytes, and its answer may concern an append
   * whose outcome nobody knows, this one included: a cluster says that the place is taken before the record that has it can be
   * read. So the records are looked up, the first one before the others, until what is there can be read.
   * @param endsAt the last revision of the stream, according to the server
   */
  async #found(
    { stream, expectedRevision, records }: PendingAppend,
    endsAt: number,
    due: number,
  ): Promise<AppendResult> {
    const { reader } = this.#parts;
    const from = expectedRevision + 1;
    try {
      for (;;) {
        let there = await reader.some(stream, from, 1);
        if (sameRecords(there, records.slice(0, 1))) there = await reader.some(stream, from, records.length);
        if (sameRecords(there, records)) return { type: 'written' };
        const isReadable = endsAt < from + there.length;
        if (isReadable || !sameRecords(there, records.slice(0, there.length))) return { type: 'conflict' };
        if (performance.now() >= due)
          throw new CallError('timeout', `record ${from} of ${stream} is under way, and cannot be read yet`);
        await delay(LOOK_AGAIN_MS);
      }
    } catch (error) {
      if (error instanceof CallError) throw error;
      const { failure, message } = error as StoreError;
      throw new StoreError(failure, 'unclear', `${message}, after an append`, error);
    }
  }
}
