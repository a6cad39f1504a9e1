/** A store in memory, for tests of everything above the port, and for trying things out. Nothing outlives the process. */
import type { RecordBytes } from '../../events/record.ts';
import {
  type AppendResult,
  type EventStore,
  type Position,
  pages,
  type StoredRecord,
  type Subscriber,
  type Subscription,
  sameRecords,
} from './event-store.ts';

/** How often a subscription reports that it has delivered everything, in ms. */
const CAUGHT_UP_MS = 500;

export class MemoryStore implements EventStore {
  readonly #all: StoredRecord[] = [];
  readonly #streams = new Map<string, StoredRecord[]>();
  readonly #subscriptions = new Set<() => void>();

  async append(
    stream: string,
    expectedRevision: number,
    records: readonly RecordBytes[],
  ): Promise<AppendResult> {
    const existing = this.#streams.get(stream) ?? [];
    if (existing.length !== expectedRevision + 1) {
      const there = existing.slice(expectedRevision + 1, expectedRevision + 1 + records.length);
      return { type: sameRecords(there, records) ? 'written' : 'conflict' };
    }
    const stored = records.map(({ record, sealed, leaf }, i) => ({
      record: Uint8Array.from(record),
      sealed: Uint8Array.from(sealed),
      leaf: Uint8Array.from(leaf),
      stream,
      revision: existing.length + i,
      position: String(this.#all.length + i),
    }));
    this.#streams.set(stream, existing.concat(stored));
    this.#all.push(...stored);
    for (const deliver of this.#subscriptions) queueMicrotask(deliver);
    return { type: 'written' };
  }

  async *readStream(
    stream: string,
    fromRevision: number,
    pageSize?: number,
  ): AsyncIterable<readonly StoredRecord[]> {
    yield* pages((this.#streams.get(stream) ?? []).slice(fromRevision), pageSize);
  }

  async *readAll(after?: Position): AsyncIterable<readonly StoredRecord[]> {
    yield* pages(this.#all.slice(after === undefined ? 0 : Number(after) + 1));
  }

  subscribe(after: Position | undefined, subscriber: Subscriber): Subscription {
    let next = after === undefined ? 0 : Number(after) + 1;
    const deliver = () => {
      if (!this.#subscriptions.has(deliver)) return;
      const records = this.#all.slice(next);
      next = this.#all.length;
      if (records.length > 0) subscriber.onRecords(records);
      subscriber.onCaughtUp();
    };
    this.#subscriptions.add(deliver);
    queueMicrotask(deliver);
    const timer = setInterval(deliver, CAUGHT_UP_MS).unref();
    return {
      close: () => {
        clearInterval(timer);
        this.#subscriptions.delete(deliver);
      },
    };
  }

  async close(): Promise<void> {
    this.#subscriptions.clear();
  }
}
