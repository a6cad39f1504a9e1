/** Reading from EventStoreDB, page by page, each page with a time-out of its own. */
import { BrokenStream, PAGE_RECORDS, type StoredRecord, type StreamWatch } from '../event-store.ts';
import type { LogClient } from './client.ts';
import { dangerIn, deleted, missing } from './danger.ts';
import { CallError, readFailure, untilTaken } from './errors.ts';
import { Intake, OtherLog, recordOf } from './intake.ts';
import { isBehind } from './positions.ts';
import { type LogPosition, type Message, metadataStream, placeOf, type ReadEvent } from './protocol.ts';

export class LogReader {
  readonly #client: LogClient;
  /** With the dot: no deployment's prefix is the beginning of another's. */
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
  async *readStream(stream: string, fromRevision: number): AsyncIterable<readonly StoredRecord[]> {
    for (let next = fromRevision; ; ) {
      const { records, isLast } = await this.#streamPage(stream, next, PAGE_RECORDS);
      if (records.length > 0) yield records;
      if (isLast) return;
      next += records.length;
    }
  }

  /** The record of a stream at a revision and those behind it, `count` at the most. @throws StoreError */
  async some(stream: string, fromRevision: number, count: number): Promise<StoredRecord[]> {
    const records: StoredRecord[] = [];
    for (;;) {
      const wanted = Math.min(count - records.length, PAGE_RECORDS);
      const page = await this.#streamPage(stream, fromRevision + records.length, wanted);
      records.push(...page.records);
      if (page.isLast || records.length >= count) return records;
    }
  }

  /**
   * That a record which was read still stands there. The end of the log does not tell it when others have written more since
   * than was lost. Of a stream that was cut off or deleted it says nothing, since that is not the log's loss.
   * @throws OtherLog; StoreError
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
    throw new OtherLog(this.#server, `does not have record ${revision} of ${stream} that was read from it`);
  }

  /** All records that stood there when it began, and perhaps more. @throws StoreError */
  async *readAll(
    after: LogPosition | undefined,
    watch?: Partial<StreamWatch>,
  ): AsyncIterable<readonly StoredRecord[]> {
    const head = await this.head();
    if (head === undefined) return;
    const intake = this.intake(after, watch);
    for (let position = after; ; ) {
      const { events } = await this.pageAfter(position);
      const records = intake.take(events);
      if (records.length > 0) yield records;
      intake.tellBreaks();
      position = events.at(-1)?.position;
      if (!position || !isBehind(head, position)) break;
    }
    // Not before: what was set once may have been taken off since.
    intake.tellDangers();
  }

  /** @param after where what it gets begins; undefined: at the first record of each stream */
  intake(after: LogPosition | undefined, watch?: Partial<StreamWatch>): Intake {
    return new Intake({ prefix: this.#prefix, server: this.#server }, after === undefined, watch);
  }

  /**
   * The first events of ours behind a position, records and metadata; none only when there are none.
   * @returns `isEnd` when nothing stood behind them
   * @throws StoreError
   */
  async pageAfter(
    after: LogPosition | undefined,
  ): Promise<{ readonly events: readonly ReadEvent[]; readonly isEnd: boolean }> {
    for (let from = after; ; ) {
      try {
        // One more, since the read begins with the record at the position itself.
        const { messages, isWhole } = await this.#read({
          of: 'all',
          prefix: this.#prefix,
          from,
          count: PAGE_RECORDS + 1,
        });
        const found = eventsIn(messages);
        const isEnd = isWhole && found.length <= PAGE_RECORDS;
        const news = found.filter(
          (event) => isBehind(event.position, after) && placeOf(this.#prefix, event) !== undefined,
        );
        if (news.length > 0 || isEnd) return { events: news.slice(0, PAGE_RECORDS), isEnd };
        const last = found.at(-1)?.position;
        if (!last || !isBehind(last, from)) throw new CallError('timeout', 'nothing came in time');
        from = last;
      } catch (error) {
        const isTimeout = error instanceof CallError && error.kind === 'timeout';
        const further = isTimeout ? await this.#furtherOn(from) : undefined;
        if (further === undefined) throw readFailure(error, this.#server);
        from = further;
      }
    }
  }

  /** The last position of the server's log, ours or not; undefined when it is empty. @throws StoreError */
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
      // A stream that exists and has no first record has lost it.
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

  /** A deleted stream reads like one that never was, and one that was cut off like a younger one; its metadata says so. */
  async #isCutOff(stream: string): Promise<boolean> {
    const name = this.#prefix + stream;
    const { messages } = await this.#read({ of: 'last', stream: metadataStream(name) });
    const [metadata] = eventsIn(messages);
    return metadata !== undefined && dangerIn(name, metadata.data) !== undefined;
  }

  /**
   * When nothing of ours came in time: the server may be looking through a long stretch of other programs' events. A
   * subscription says how far it got. Undefined when it did not get on.
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
    return untilTaken(this.#timeoutMs, (leftMs) => this.#client.read(reading, leftMs));
  }
}

/** Server 24.10.0 to 24.10.4 says 2^64 - 1, the end, when it has looked at less than a window and found nothing. */
const NO_POSITION = 1n << 63n;

/** The first checkpoint can be where the search began. */
function isProgress(position: LogPosition, from: LogPosition | undefined): boolean {
  return isBehind(position, from) && position.commit < NO_POSITION;
}

function eventsIn(messages: readonly Message[]): ReadEvent[] {
  return messages.flatMap((message) => (message.type === 'event' ? [message.event] : []));
}
