/** Follows a table live. */
import { PAGE_RECORDS, type StoredRecord, StoreError, type Subscriber } from '../event-store.ts';

/** How often a subscription looks for records of other processes, in ms. */
const POLL_MS = 100;

/** What a follower needs from the database. */
export interface FollowedTable {
  readAfter(position: number): StoredRecord[];
  /** Why the table is no longer the one that this record was read from, without a final full stop; undefined if it is. */
  loss(last: ReadLast | undefined): string | undefined;
}

/** The last record that was read. */
export type ReadLast = Pick<StoredRecord, 'leaf'> & { readonly position: number };

/** Follows the table from a position. `hear` hands over this process's records; polling finds all others. */
export class Follower {
  #position: number;
  #last: ReadLast | undefined;
  readonly #subscriber: Subscriber;
  readonly #table: FollowedTable;
  readonly #timer: NodeJS.Timeout;
  readonly #heard: { first: number; records: readonly StoredRecord[] }[] = [];
  #closed = false;

  constructor(position: number, subscriber: Subscriber, table: FollowedTable) {
    this.#position = position;
    this.#subscriber = subscriber;
    this.#table = table;
    const [last] = position > 0 ? table.readAfter(position - 1) : [];
    if (last) this.#last = { position, leaf: last.leaf };
    this.#timer = setInterval(() => this.#poll(), POLL_MS).unref();
  }

  /**
   * Takes records that this process has just written. They are delivered one turn of the event loop later: by then, the
   * writer has folded them without having to decode them. After a gap (another process wrote in between), the table is
   * read instead.
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
        this.#deliver(first + records.length - 1, records);
      }
    }
  }

  #deliver(position: number, records: readonly StoredRecord[]): void {
    this.#position = position;
    const last = records.at(-1);
    if (last) this.#last = { position, leaf: last.leaf };
    this.#subscriber.onRecords(records);
  }

  #poll(): void {
    if (this.#closed) return;
    try {
      const why = this.#table.loss(this.#last);
      if (why !== undefined) {
        this.close();
        this.#subscriber.onRolledBack?.(why);
        return;
      }
      // The subscriber may close the subscription while it receives records.
      for (let more = true; more && !this.#closed; ) {
        const records = this.#table.readAfter(this.#position);
        const last = records.at(-1);
        if (last) this.#deliver(Number(last.position), records);
        more = records.length === PAGE_RECORDS;
      }
      if (!this.#closed) this.#subscriber.onCaughtUp();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#subscriber.onError(error);
    }
  }
}
