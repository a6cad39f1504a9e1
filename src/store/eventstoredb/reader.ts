/** Reading from EventStoreDB, page by page, each page with a time-out of its own. */
import { PAGE_RECORDS, type StoredRecord } from '../event-store.ts';
import type { LogClient } from './client.ts';
import { CallError, readFailure, untilTaken } from './errors.ts';
import { toRecord } from './event.ts';
import { Continuity, fromPosition, isBehind, missing, toPosition } from './positions.ts';
import type { LogPosition, Message, ReadEvent } from './protocol.ts';

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

  /** All records that stood there when it began, and perhaps more. @throws StoreError */
  async *readAll(after: LogPosition | undefined): AsyncIterable<readonly StoredRecord[]> {
    const head = await this.head();
    if (head === undefined) return;
    const continuity = new Continuity(after === undefined);
    for (let position = after; ; ) {
      const { records } = await this.pageAfter(position);
      for (const record of records) continuity.check(record);
      const last = records.at(-1);
      if (!last) return;
      yield records;
      position = fromPosition(last.position);
      if (!isBehind(head, position)) return;
    }
  }

  /**
   * The first records behind a position; none only when there are none.
   * @returns `isEnd` when nothing stood behind them
   * @throws StoreError
   */
  async pageAfter(
    after: LogPosition | undefined,
  ): Promise<{ readonly records: StoredRecord[]; readonly isEnd: boolean }> {
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
        const news = found.filter((event) => isBehind(event.position, after) && isOf(this.#prefix, event));
        if (news.length > 0 || isEnd)
          return { records: news.slice(0, PAGE_RECORDS).map((event) => this.#stored(event)), isEnd };
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
      const records = eventsIn(messages).map((event) => this.#stored(event));
      if (messages.some(({ type }) => type === 'no-such-stream')) await this.#checkNeverThere(stream);
      // A stream that exists and has no first record has lost it.
      else if (from === 0 && records.length === 0) throw missing(stream, 0, 'the end');
      for (const [i, { revision }] of records.entries())
        if (revision !== from + i) throw missing(stream, from + i, revision);
      return { records, isLast: isWhole && records.length < count };
    } catch (error) {
      throw readFailure(error, this.#server);
    }
  }

  /** A deleted stream reads like one that never was; its metadata stays, and says from where on it is not deleted. */
  async #checkNeverThere(stream: string): Promise<void> {
    const { messages } = await this.#read({ of: 'last', stream: `$$${this.#prefix}${stream}` });
    const [metadata] = eventsIn(messages);
    if (metadata && Buffer.from(metadata.data).includes('"$tb"')) throw missing(stream, 0, 'the end');
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

  #stored(event: ReadEvent): StoredRecord {
    return storedRecord(event, this.#prefix);
  }
}

/** Server 24.10.0 to 24.10.4 says 2^64 - 1, the end, when it has looked at less than a window and found nothing. */
const NO_POSITION = 1n << 63n;

/** The first checkpoint can be where the search began. */
function isProgress(position: LogPosition, from: LogPosition | undefined): boolean {
  return isBehind(position, from) && position.commit < NO_POSITION;
}

/** The server compares prefixes by the rules of a language, which overlook a soft hyphen for instance. */
export function isOf(prefix: string, { stream }: Pick<ReadEvent, 'stream'>): boolean {
  return stream.startsWith(prefix);
}

export function storedRecord(event: ReadEvent, prefix: string): StoredRecord {
  const { stream, revision, position, data, metadata } = event;
  const place = { stream: stream.slice(prefix.length), revision, position: toPosition(position) };
  return { ...toRecord(data, metadata), ...place };
}

function eventsIn(messages: readonly Message[]): ReadEvent[] {
  return messages.flatMap((message) => (message.type === 'event' ? [message.event] : []));
}
