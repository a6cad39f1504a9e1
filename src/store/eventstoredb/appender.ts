/**
 * Appends to EventStoreDB, with one call at a time for each stream: the server may process concurrent calls in any order.
 */
import type { RecordBytes } from '../../../events/record.ts';
import { type AppendResult, StoreError } from '../event-store.ts';
import { sameRecords } from '../same-records.ts';
import type { LogClient } from './client.ts';
import { RIGHTS } from './danger.ts';
import { appendFailure, CallError, untilAccepted } from './errors.ts';
import { type LogEventData, toEvent } from './event.ts';
import type { LogReader } from './reader.ts';

interface Pending {
  readonly stream: string;
  readonly expectedRevision: number;
  readonly events: readonly LogEventData[];
  readonly records: readonly RecordBytes[];
  resolve(result: AppendResult): void;
  reject(error: Error): void;
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
  /** Waiting appends, by stream. A stream has an entry while one of its appends is in progress. */
  readonly #queues = new Map<string, Pending[]>();
  #idle: (() => void) | undefined;

  constructor(parts: AppenderParts) {
    this.#parts = parts;
  }

  append(stream: string, expectedRevision: number, records: readonly RecordBytes[]): Promise<AppendResult> {
    const copies = records.map(({ record, sealed, leaf }) => ({
      record: Uint8Array.from(record),
      sealed: Uint8Array.from(sealed),
      leaf: Uint8Array.from(leaf),
    }));
    const events = copies.map((bytes, i) => toEvent(stream, expectedRevision + 1 + i, bytes));
    return new Promise((resolve, reject) => {
      const pending = { stream, expectedRevision, events, records: copies, resolve, reject };
      const queue = this.#queues.get(stream);
      if (queue) queue.push(pending);
      else void this.#work(stream, [pending]);
    });
  }

  /** Resolves when nothing is in progress, at the latest after the time-out. What still waits then is given up. */
  async drain(): Promise<void> {
    if (this.#queues.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
      setTimeout(resolve, 2 * this.#parts.timeoutMs).unref();
    });
    for (const queue of this.#queues.values()) giveUp(queue, 'the store was closed');
  }

  async #work(stream: string, queue: Pending[]): Promise<void> {
    this.#queues.set(stream, queue);
    for (let pending = queue.shift(); pending; pending = queue.shift()) {
      try {
        pending.resolve(await this.#send(pending));
      } catch (error) {
        pending.reject(error as Error);
        // The next ones would only wait as long, one after the other, for a server that does not answer.
        if (error instanceof StoreError && error.failure === 'unavailable')
          giveUp(queue, 'an append of the same stream before it failed');
      }
    }
    this.#queues.delete(stream);
    if (this.#queues.size === 0) this.#idle?.();
  }

  async #send(pending: Pending): Promise<AppendResult> {
    const { client, prefix, server, timeoutMs } = this.#parts;
    const { stream, expectedRevision, events } = pending;
    if (events.length === 0) return { type: 'written' };
    const last = expectedRevision + events.length;
    try {
      const revision = await untilAccepted(timeoutMs, (leftMs) =>
        client.append(prefix + stream, expectedRevision, events, leftMs),
      );
      if (revision === last || (await this.#isStored(pending))) return { type: 'written' };
      // EventStoreDB treats a deleted stream as one that does not exist, and continues its numbers.
      throw new StoreError(
        'corrupt',
        'unclear',
        `EventStoreDB at ${server} wrote records of ${stream} up to revision ${revision} instead of ${last} (hint: the stream was deleted before; restore a backup; ${RIGHTS})`,
      );
    } catch (error) {
      if (!(error instanceof CallError) || error.kind !== 'wrong-revision')
        throw appendFailure(error, server);
      return { type: (await this.#isStored(pending)) ? 'written' : 'conflict' };
    }
  }

  /**
   * Whether exactly these bytes are stored there. The server compares ids and not bytes, and its answer may concern an
   * append whose outcome nobody knows. So the records are looked up, the first one before the others.
   */
  async #isStored({ stream, expectedRevision, records }: Pending): Promise<boolean> {
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

function giveUp(queue: Pending[], why: string): void {
  for (const { reject } of queue.splice(0))
    reject(new StoreError('unavailable', 'not-written', `it was not sent: ${why}`));
}
