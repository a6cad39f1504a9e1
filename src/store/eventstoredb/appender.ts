/** Appends to EventStoreDB. The writer of a stream awaits each append, so two never overtake each other. */
import type { RecordBytes } from '../../../events/record.ts';
import { type AppendResult, StoreError } from '../event-store.ts';
import { sameRecords } from '../same-records.ts';
import type { LogClient } from './client.ts';
import { RIGHTS } from './danger.ts';
import { appendFailure, appendUntilAccepted, CallError } from './errors.ts';
import { type LogEventData, toEvent } from './event.ts';
import type { LogReader } from './reader.ts';

interface Append {
  readonly stream: string;
  readonly expectedRevision: number;
  readonly records: readonly RecordBytes[];
}

export interface AppenderParts {
  readonly client: LogClient;
  readonly reader: LogReader;
  readonly prefix: string;
  readonly server: string;
  readonly timeoutMs: number;
}

export class Appender {
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

  async #send(append: Append, events: readonly LogEventData[]): Promise<AppendResult> {
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
  async #isStored({ stream, expectedRevision, records }: Append): Promise<boolean> {
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
