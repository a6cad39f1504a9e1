/** Following a table live. */
import { PAGE_RECORDS, type StoredRecord, StoreError, type Subscriber } from '../event-store.ts';

/** How often a subscription looks for what other processes wrote, in ms. */
const POLL_MS = 100;

/** Follows the table from a position: what this process appends is handed over, the rest is looked for. */
export class Follower {
  #position: number;
  readonly #subscriber: Subscriber;
  readonly #readAfter: (position: number) => StoredRecord[];
  readonly #timer: NodeJS.Timeout;
  readonly #heard: { first: number; records: readonly StoredRecord[] }[] = [];
  #closed = false;

  constructor(position: number, subscriber: Subscriber, readAfter: (position: number) => StoredRecord[]) {
    this.#position = position;
    this.#subscriber = subscriber;
    this.#readAfter = readAfter;
    this.#timer = setInterval(() => this.#poll(), POLL_MS).unref();
  }

  /**
   * Records just written here. They are delivered a turn later, when the writer has folded them without decoding
   * them. Behind a gap (another process wrote in between), the table is read instead.
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
        this.#position += records.length;
        this.#subscriber.onRecords(records);
      }
    }
  }

  #poll(): void {
    if (this.#closed) return;
    try {
      // The subscriber may close the subscription while it is told.
      for (let more = true; more && !this.#closed; ) {
        const records = this.#readAfter(this.#position);
        const last = records.at(-1);
        if (last) {
          this.#position = Number(last.position);
          this.#subscriber.onRecords(records);
        }
        more = records.length === PAGE_RECORDS;
      }
      if (!this.#closed) this.#subscriber.onCaughtUp();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#subscriber.onError(error);
    }
  }
}
