/** The port to the append-only log. Its comments are the contract; test/support/store-contract.ts proves it. */
import type { RecordBytes } from '../../events/record.ts';

/** Where a record stands among all records of the store. Opaque: it means something in its own store only. */
export type Position = string;

export interface StoredRecord extends RecordBytes {
  readonly stream: string;
  /** 0 for a stream's first record, then without a gap. */
  readonly revision: number;
  readonly position: Position;
}

/** A conflict is a value: another writer was first, and the caller decides anew. */
export type AppendResult = { readonly type: 'written' } | { readonly type: 'conflict' };

/** `expectedRevision` of a stream that must not exist yet. */
export const NO_STREAM = -1;

export interface EventStore {
  /**
   * Appends records to one stream, all or none, directly behind revision `expectedRevision`.
   *
   * - `written`: they are durable. No crash and no loss of power takes them back.
   * - `conflict`: the stream ends at another revision, and nothing was written. But where exactly these bytes already
   *   stand at exactly these revisions, the answer is `written`: an append may safely be sent again.
   * - throws StoreError: `outcome` says whether it may have been written, or may still be.
   *
   * Records come back byte for byte. The store reads nothing out of them.
   */
  append(stream: string, expectedRevision: number, records: readonly RecordBytes[]): Promise<AppendResult>;

  /** A stream's records from a revision on, in order, in pages; ends at the last record. */
  readStream(stream: string, fromRevision: number): AsyncIterable<readonly StoredRecord[]>;

  /**
   * All records behind a position (all of them without one), in an order that keeps each stream's.
   * @param watch hears of broken streams, and the others are read; without one, a broken stream is a StoreError
   */
  readAll(after?: Position, watch?: Partial<StreamWatch>): AsyncIterable<readonly StoredRecord[]>;

  /**
   * Delivers every record behind a position, once and in order, those of this process included, as long as the
   * subscription lives. It outlives failures of the store: `onError` hears of them, and delivery goes on where it
   * stopped.
   */
  subscribe(after: Position | undefined, subscriber: Subscriber): Subscription;

  /**
   * For how long what is read may fall short of what was there, in ms: in a cluster, a new leader does not know all of it
   * at once. None of a store of which that cannot be.
   */
  readonly settlesWithinMs?: number;

  /** How many records there are, of a store that can tell at once. For display. */
  size?(): number;

  /** Waits for what was accepted, then closes. */
  close(): Promise<void>;
}

/** What others can do to single streams of a store that they can reach, without this program. */
export interface StreamWatch {
  /** Records of the stream are gone, or it was deleted for good: nothing of it is delivered any more. The others go on. */
  onBroken(stream: string, error: BrokenStream): void;
  /** The store is told to remove records of the stream: why, and what undoes that. Undefined: it is not, or no longer. */
  onDanger(stream: string, danger: string | undefined): void;
}

export interface Subscriber extends Partial<StreamWatch> {
  onRecords(records: readonly StoredRecord[]): void;
  /** All that is in the log now has been delivered. Called at least once a second while that is so. */
  onCaughtUp(): void;
  onError(error: StoreError): void;
  /**
   * The store holds less than was read from it, or something else, and it stays so. Nothing is delivered any more.
   * @param why a sentence without its end
   */
  onRolledBack?(why: string): void;
}

export interface Subscription {
  close(): void;
}

/** Records a page of a read holds at the most: while a page is folded, no request is answered, and it all stays in memory. */
export const PAGE_RECORDS = 250;

export type StoreFailure =
  | 'full' // no room on the device
  | 'busy' // another process held the store for too long
  | 'unavailable' // the store does not answer, or cannot be opened
  | 'corrupt' // the store's own structure is damaged
  | 'foreign'; // not a store of this program, or of a version that it does not know

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly failure: StoreFailure;
  /** `not-written` is certain. After `unclear` the append may have been written, or may still be. */
  readonly outcome: 'not-written' | 'unclear';
  constructor(failure: StoreFailure, outcome: 'not-written' | 'unclear', message: string, cause?: unknown) {
    super(message, { cause });
    this.failure = failure;
    this.outcome = outcome;
  }
}

/** One stream lacks records, or was deleted for good. The others are sound. */
export class BrokenStream extends StoreError {}
