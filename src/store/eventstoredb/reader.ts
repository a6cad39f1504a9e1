/**
 * Reads EventStoreDB page by page, each page with a time-out of its own.
 *
 * `Intake` takes what arrives from `$all`, in its order: the records of each stream, and what else happens to streams. A
 * stream that lacks records, or was deleted for good, is broken: no more of it is handed over, and the others go on. A
 * revision that was already read means that the log is no longer the same.
 */
import {
  BrokenStream,
  PAGE_RECORDS,
  pages,
  type StoredRecord,
  StoreError,
  type StreamWatch,
} from '../event-store.ts';
import type { LogClient } from './client.ts';
import { CallError, dangerIn, deleted, missing, readFailure, readUntilAnswered } from './errors.ts';
import {
  isAfter,
  type LogPosition,
  metadataStream,
  placeOf,
  type ReadEvent,
  type ServerMessage,
  toPosition,
  toRecord,
} from './wire.ts';

/** Most events in one read: fewer would mean more round trips, and a read of the whole log would take longer. */
export const READ_EVENTS = 1000;

interface Page {
  readonly events: readonly ReadEvent[];
  /** Nothing came after them. */
  readonly isEnd: boolean;
}

export class LogReader {
  readonly #client: LogClient;
  /** With the dot, so that no deployment's prefix is the beginning of another's. */
  readonly #prefix: string;
  readonly #server: string;
  readonly #timeoutMs: number;

  constructor(client: LogClient, prefix: string, server: string, timeoutMs: number) {
    this.#client = client;
    this.#prefix = prefix;
    this.#server = server;
    this.#timeoutMs = timeoutMs;
  }

  /** @throws StoreError, also when records of the stream are missing */
  async *readStream(
    stream: string,
    fromRevision: number,
    pageSize = PAGE_RECORDS,
  ): AsyncIterable<readonly StoredRecord[]> {
    // Who wants pages of one record wants one record. Otherwise a few long reads are faster than many short ones.
    const fetched = pageSize === 1 ? 1 : READ_EVENTS;
    for (let next = fromRevision; ; ) {
      const { records, isLast } = await this.#streamPage(stream, next, fetched);
      yield* pages(records, pageSize);
      if (isLast) return;
      next += records.length;
    }
  }

  /** The records of a stream from a revision on, at most `count`. @throws StoreError */
  async some(stream: string, fromRevision: number, count: number): Promise<StoredRecord[]> {
    const records: StoredRecord[] = [];
    for (;;) {
      const wanted = Math.min(count - records.length, READ_EVENTS);
      const page = await this.#streamPage(stream, fromRevision + records.length, wanted);
      records.push(...page.records);
      if (page.isLast || records.length >= count) return records;
    }
  }

  /**
   * Checks that a record which was read is still there. The end of the log does not show this if others have since written
   * more than was lost. A stream that was truncated or deleted is accepted, since that is not a loss of the log.
   * @throws ChangedLog; StoreError
   */
  async expect({ stream, revision, leaf }: StoredRecord): Promise<void> {
    try {
      const [there] = await this.some(stream, revision, 1);
      if (there && Buffer.compare(there.leaf, leaf) === 0) return;
      if (!there && (await this.#isCutOff(stream))) return;
    } catch (error) {
      if (error instanceof BrokenStream) return;
      throw readFailure(error, this.#server);
    }
    throw new ChangedLog(this.#server, `does not have record ${revision} of ${stream} that was read from it`);
  }

  /** All records that were there at the start, and perhaps more. @throws StoreError */
  async *readAll(
    after: LogPosition | undefined,
    watch?: Partial<StreamWatch>,
  ): AsyncIterable<readonly StoredRecord[]> {
    const head = await this.head();
    if (head === undefined) return;
    const intake = this.intake(after, watch);
    for (let next: Promise<Page> | undefined = this.pageAfter(after); next; ) {
      const { events }: Page = await next.catch((error) => {
        // Whoever reads on from here will not see them.
        intake.reportDangers();
        throw error;
      });
      const records = intake.take(events);
      const position: LogPosition | undefined = events.at(-1)?.position;
      next = position && isAfter(head, position) ? this.pageAfter(position) : undefined;
      // It is fetched while this one is folded, and fails when its turn comes.
      next?.catch(() => undefined);
      yield* pages(records);
      intake.reportBreaks();
    }
    // Only at the end: what was set earlier may have been removed since.
    intake.reportDangers();
  }

  /** @param after position after which it takes records; undefined: from the first record of each stream */
  intake(after: LogPosition | undefined, watch?: Partial<StreamWatch>): Intake {
    return new Intake({ prefix: this.#prefix, server: this.#server }, after === undefined, watch);
  }

  /**
   * The first events of this log after a position, records and metadata. It is empty only if there are none.
   * @throws StoreError
   */
  async pageAfter(after: LogPosition | undefined): Promise<Page> {
    for (let from = after; ; ) {
      try {
        // One more, because the read includes the record at the position itself.
        const { messages, isWhole } = await this.#read({
          of: 'all',
          prefix: this.#prefix,
          from,
          count: READ_EVENTS + 1,
        });
        const found = eventsIn(messages);
        const isEnd = isWhole && found.length <= READ_EVENTS;
        const news = found.filter(
          (event) => isAfter(event.position, after) && placeOf(this.#prefix, event) !== undefined,
        );
        if (news.length > 0 || isEnd) return { events: news.slice(0, READ_EVENTS), isEnd };
        const last = found.at(-1)?.position;
        if (!last || !isAfter(last, from)) throw new CallError('timeout', 'nothing arrived in time');
        from = last;
      } catch (error) {
        const isTimeout = error instanceof CallError && error.kind === 'timeout';
        const further = isTimeout ? await this.#furtherOn(from) : undefined;
        if (further === undefined) throw readFailure(error, this.#server);
        from = further;
      }
    }
  }

  /** The last position in the server's log, of any program; undefined if it is empty. @throws StoreError */
  async head(): Promise<LogPosition | undefined> {
    try {
      const { messages } = await this.#read({ of: 'last' });
      return eventsIn(messages)[0]?.position;
    } catch (error) {
      throw readFailure(error, this.#server);
    }
  }

  async #streamPage(
    stream: string,
    from: number,
    count: number,
  ): Promise<{ records: StoredRecord[]; isLast: boolean }> {
    try {
      const { messages, isWhole } = await this.#read({
        of: 'stream',
        stream: this.#prefix + stream,
        from,
        count,
      });
      const records = eventsIn(messages).map((event) => recordOf(stream, event));
      const isUnknown = messages.some(({ type }) => type === 'no-such-stream');
      // A stream that exists without a first record has lost it.
      const isGone = isUnknown ? await this.#isCutOff(stream) : from === 0 && records.length === 0;
      if (isGone) throw missing(this.#prefix, stream, 0, 'the end');
      for (const [i, { revision }] of records.entries())
        if (revision !== from + i) throw missing(this.#prefix, stream, from + i, revision - 1);
      return { records, isLast: isWhole && records.length < count };
    } catch (error) {
      if (error instanceof CallError && error.kind === 'deleted') throw deleted(stream, error);
      throw readFailure(error, this.#server);
    }
  }

  /** A deleted stream reads like one that never existed, and a truncated one like a shorter one; the metadata shows it. */
  async #isCutOff(stream: string): Promise<boolean> {
    const name = this.#prefix + stream;
    const { messages } = await this.#read({ of: 'last', stream: metadataStream(name) });
    const [metadata] = eventsIn(messages);
    return metadata !== undefined && dangerIn(name, metadata.data) !== undefined;
  }

  /**
   * For a read that got nothing of this log in time: the server may be searching a long stretch of other programs' events.
   * A subscription says how far it got. Undefined if it made no progress.
   */
  #furtherOn(from: LogPosition | undefined): Promise<LogPosition | undefined> {
    return new Promise((resolve) => {
      let reached: LogPosition | undefined;
      const done = () => {
        clearTimeout(timer);
        stop();
        resolve(reached);
      };
      const timer = setTimeout(done, this.#timeoutMs);
      const stop = this.#client.follow(from, this.#prefix, {
        onMessage: (message) => {
          if (message.type === 'checkpoint' && isProgress(message.position, from)) reached = message.position;
          // From here on there is something to read.
          if (message.type === 'event') {
            reached = message.event.position;
            done();
          }
        },
        onEnd: done,
      });
    });
  }

  #read(reading: Parameters<LogClient['read']>[0]): ReturnType<LogClient['read']> {
    return readUntilAnswered(this.#timeoutMs, (leftMs) => this.#client.read(reading, leftMs));
  }
}

/** Servers 24.10.0 to 24.10.4 say 2^64 - 1, the end, if they found nothing in less than a window. */
const NO_POSITION = 1n << 63n;

/** The first checkpoint may be where the search began. */
function isProgress(position: LogPosition, from: LogPosition | undefined): boolean {
  return isAfter(position, from) && position.commit < NO_POSITION;
}

function eventsIn(messages: readonly ServerMessage[]): ReadEvent[] {
  return messages.flatMap((message) => (message.type === 'event' ? [message.event] : []));
}

/** @param stream without its prefix */
function recordOf(stream: string, { revision, position, data, metadata }: ReadEvent): StoredRecord {
  return { ...toRecord(data, metadata), stream, revision, position: toPosition(position) };
}

const LEFT_OUT = 'the subscription to EventStoreDB left out a record; reading what it missed';

/** Of one read of the whole log, or of one subscription: it remembers how far each stream was taken. */
export class Intake {
  readonly #prefix: string;
  readonly #server: string;
  readonly #fromTheStart: boolean;
  readonly #watch: Partial<StreamWatch>;
  /** Revision of the last record of each stream. */
  readonly #last = new Map<string, number>();
  readonly #broken = new Set<string>();
  /** Broken streams that have not been reported yet. */
  readonly #breaks = new Map<string, BrokenStream>();
  readonly #dangers = new Map<string, string | undefined>();

  /** @param fromTheStart whether each stream must begin at revision 0 */
  constructor(
    { prefix, server }: { readonly prefix: string; readonly server: string },
    fromTheStart: boolean,
    watch: Partial<StreamWatch> = {},
  ) {
    this.#prefix = prefix;
    this.#server = server;
    this.#fromTheStart = fromTheStart;
    this.#watch = watch;
  }

  /**
   * The records among these events. If it throws, none of them has been taken.
   * @param source a read of the log shows what is there; a subscription may have left something out
   * @throws ChangedLog; StoreError if a subscription left something out, and for a broken stream if nobody watches
   */
  take(events: readonly ReadEvent[], source: 'read' | 'subscription' = 'read'): StoredRecord[] {
    const records: StoredRecord[] = [];
    const last = new Map<string, number>();
    for (const event of events) {
      const place = placeOf(this.#prefix, event);
      if (!place) continue;
      const { stream } = place;
      if (place.of === 'metadata') this.#dangers.set(stream, dangerIn(this.#prefix + stream, event.data));
      else if (event.isTombstone) this.#break(stream, deleted(stream));
      else if (!this.#broken.has(stream)) {
        const { revision } = event;
        const next = (last.get(stream) ?? this.#last.get(stream) ?? this.#before(revision)) + 1;
        if (revision < next)
          throw new ChangedLog(
            this.#server,
            `has another record ${revision} of ${stream} than was read before`,
          );
        if (revision > next) {
          if (source === 'subscription') throw new StoreError('unavailable', 'not-written', LEFT_OUT);
          this.#break(stream, missing(this.#prefix, stream, next, revision - 1));
          continue;
        }
        last.set(stream, revision);
        records.push(recordOf(stream, event));
      }
    }
    for (const [stream, revision] of last) this.#last.set(stream, revision);
    return records;
  }

  /** Reports the broken streams. Call it when the records before the breaks have been handed over. */
  reportBreaks(): void {
    for (const [stream, error] of this.#breaks) this.#watch.onBroken?.(stream, error);
    this.#breaks.clear();
  }

  /** Reports the streams whose records will be removed, according to what has been taken so far. */
  reportDangers(): void {
    for (const [stream, danger] of this.#dangers) this.#watch.onDanger?.(stream, danger);
    this.#dangers.clear();
  }

  /** The revision that must precede the first record seen of a stream. */
  #before(revision: number): number {
    return this.#fromTheStart ? -1 : revision - 1;
  }

  #break(stream: string, error: BrokenStream): void {
    if (this.#broken.has(stream)) return;
    if (!this.#watch.onBroken) throw error;
    this.#broken.add(stream);
    this.#breaks.set(stream, error);
  }
}

/** The log in the server has changed: it was restored from a backup, or a new leader does not know all of it yet. */
export class ChangedLog extends StoreError {
  /** The message without the hint. */
  readonly why: string;
  /** @param what shows it, as the end of a sentence */
  constructor(server: string, what: string) {
    const why = `EventStoreDB at ${server} ${what}: it was restored from a backup, or replaced`;
    super(
      'corrupt',
      'not-written',
      `${why} (hint: stop all instances, see "Restoring a backup" in docs/operations.md)`,
    );
    this.why = why;
  }
}
