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
import type { RecordBytes } from '../../../events/record.ts';
import {
  type AppendResult,
  type EventStore,
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
import { appendFailure, appendUntilAccepted, CallError, RIGHTS } from './errors.ts';
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

  readStream(stream: string, fromRevision: number): AsyncIterable<readonly StoredRecord[]> {
    return this.#reader.readStream(stream, fromRevision);
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

/** Appends to EventStoreDB. The writer of a stream awaits each append, so two never overtake each other. */
class Appender {
  readonly #parts: AppenderParts;
  readonly #open = new Set<Promise<unknown>>();

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
    const sent = this.#send({ stream, expectedRevision, records: copies }, events);
    const ended = sent.catch(() => undefined).finally(() => this.#open.delete(ended));
    this.#open.add(ended);
    return sent;
  }

  /** Resolves when nothing is in progress. Each append has its time-outs. */
  async drain(): Promise<void> {
    await Promise.all(this.#open);
  }

  async #send(append: PendingAppend, events: readonly LogEventData[]): Promise<AppendResult> {
    const { client, prefix, server, timeoutMs } = this.#parts;
    const { stream, expectedRevision } = append;
    if (events.length === 0) return { type: 'written' };
    const last = expectedRevision + events.length;
    try {
      const revision = await appendUntilAccepted(timeoutMs, (leftMs) =>
        client.append(prefix + stream, expectedRevision, events, leftMs),
      );
      if (revision === last || (await this.#isStored(append))) return { type: 'written' };
      // EventStoreDB treats a deleted stream as one that does not exist, and continues its numbers.
      throw new StoreError(
        'corrupt',
        'unclear',
        `EventStoreDB at ${server} wrote records of ${stream} up to revision ${revision} instead of ${last} (hint: the stream was deleted before; restore a backup; ${RIGHTS})`,
      );
    } catch (error) {
      if (!(error instanceof CallError) || error.kind !== 'wrong-revision')
        throw appendFailure(error, server);
      return { type: (await this.#isStored(append)) ? 'written' : 'conflict' };
    }
  }

  /**
   * Whether exactly these bytes are stored there. The server compares ids and not bytes, and its answer may concern an
   * append whose outcome nobody knows. So the records are looked up, the first one before the others.
   */
  async #isStored({ stream, expectedRevision, records }: PendingAppend): Promise<boolean> {
    const { reader } = this.#parts;
    try {
      const [first] = await reader.some(stream, expectedRevision + 1, 1);
      if (!first || !sameRecords([first], records.slice(0, 1))) return false;
      return sameRecords(await reader.some(stream, expectedRevision + 1, records.length), records);
    } catch (error) {
      const { failure, message } = error as StoreError;
      throw new StoreError(failure, 'unclear', `${message}, after an append`, error);
    }
  }
}
