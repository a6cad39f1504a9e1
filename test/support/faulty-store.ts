/**
 * A store that breaks on command: at each I/O step, before it takes effect, or after it did but before it is reported.
 * Everything else goes through to the store inside.
 */
import type { RecordBytes } from '../../events/record.ts';
import {
  type AppendResult,
  type EventStore,
  type StoredRecord,
  StoreError,
} from '../../src/store/event-store.ts';

export type Fault =
  /** The connection breaks before the append takes effect. */
  | 'lost-before'
  /** The append takes effect, and then the connection breaks. */
  | 'lost-after'
  /** There is never an answer. The append takes effect when `land` is called, if its place is still free. */
  | 'lands-late'
  /** The answer is a conflict, and nothing was written. */
  | 'conflict'
  /** No room: certainly not written. */
  | 'full'
  /** No room but for what is urgent. */
  | 'full-but-for-urgent'
  | 'none'
  /** Anything else: `send` lets the append through. */
  | ((send: () => Promise<AppendResult>) => Promise<AppendResult>);

export interface Sent {
  readonly stream: string;
  readonly expectedRevision: number;
  readonly records: readonly RecordBytes[];
  readonly mayUseReserve: boolean;
}

export class FaultyStore implements EventStore {
  /** Every append that was asked for, answered or not. */
  readonly sent: Sent[] = [];
  /** What happens to all other appends. */
  always: Fault = 'none';
  /** How many reads have begun. */
  reads = 0;
  /** While this is set, nothing can be read. */
  unreadable = false;
  readonly #inside: EventStore;
  readonly #faults: Fault[] = [];
  readonly #late: Sent[] = [];

  constructor(inside: EventStore) {
    this.#inside = inside;
  }

  /** What happens to the next appends, one each. */
  next(...faults: readonly Fault[]): void {
    this.#faults.push(...faults);
  }

  /** Lets appends that never got an answer reach the store now. */
  async land(): Promise<void> {
    for (const { stream, expectedRevision, records } of this.#late.splice(0))
      await this.#inside.append(stream, expectedRevision, records);
  }

  readonly append: EventStore['append'] = async (
    stream,
    expectedRevision,
    records,
    mayUseReserve = false,
  ) => {
    const append = { stream, expectedRevision, records, mayUseReserve };
    this.sent.push(append);
    const send = () => this.#inside.append(stream, expectedRevision, records, mayUseReserve);
    const fault = this.#faults.shift() ?? this.always;
    if (typeof fault === 'function') return fault(send);
    switch (fault) {
      case 'none':
        return send();
      case 'lost-before':
        throw lost();
      case 'lost-after':
        await send();
        throw lost();
      case 'lands-late':
        this.#late.push(append);
        return new Promise(() => undefined);
      case 'conflict':
        return { type: 'conflict' };
      case 'full-but-for-urgent':
        if (mayUseReserve) return send();
        throw new StoreError('full', 'not-written', 'no room');
      case 'full':
        throw new StoreError('full', 'not-written', 'no room');
    }
  };

  readonly readStream: EventStore['readStream'] = (...from) => this.#read(this.#inside.readStream(...from));

  readonly readAll: EventStore['readAll'] = (after) => this.#read(this.#inside.readAll(after));

  readonly subscribe: EventStore['subscribe'] = (...asked) => this.#inside.subscribe(...asked);

  readonly close = () => this.#inside.close();

  async *#read(pages: AsyncIterable<readonly StoredRecord[]>): AsyncIterable<readonly StoredRecord[]> {
    this.reads++;
    if (this.unreadable) throw new StoreError('unavailable', 'not-written', 'cannot be read');
    yield* pages;
  }
}

export const lost = (): StoreError => new StoreError('unavailable', 'unclear', 'the connection was lost');
