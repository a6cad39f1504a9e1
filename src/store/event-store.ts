/**
 * The port to the append-only log, and what all adapters share. Its comments are the contract; test/support/store-contract.ts
 * proves it.
 */
import type { RecordBytes } from '../../events/record.ts';

/** The place of a record among all records of the store. Opaque: it has a meaning only in its own store. */
export type Position = string;

export interface StoredRecord extends RecordBytes {
  readonly stream: string;
  /** 0 for a stream's first record, then without a gap. */
  readonly revision: number;
  readonly position: Position;
}

/** A conflict is a value: another writer was first, and the caller decides again. */
export type AppendResult = { readonly type: 'written' } | { readonly type: 'conflict' };

/** `expectedRevision` of a stream that must not exist yet. */
export const NO_STREAM = -1;

export interface EventStore {
  /**
   * Appends records to one stream, all or none, directly after revision `expectedRevision`.
   *
   * - `written`: they are durable. No crash and no loss of power takes them back.
   * - `conflict`: the stream ends at another revision, and nothing was or will be written. But if exactly these bytes are already at
   *   exactly these revisions, the answer is `written`: an append may safely be sent again.
   * - throws StoreError: `outcome` says whether it may have been written, or may still be.
   *
   * Records come back byte for byte. The store does not interpret them. A caller awaits an append before it makes the next one
   * to the same stream.
   *
   * @param mayUseReserve whether it may use the room that the store keeps in reserve, if it keeps any
   */
  append(
    stream: string,
    expectedRevision: number,
    records: readonly RecordBytes[],
    mayUseReserve?: boolean,
  ): Promise<AppendResult>;

  /** A stream's records from a revision on, in order, in pages; ends at the last record. */
  readStream(stream: string, fromRevision: number, pageSize?: number): AsyncIterable<readonly StoredRecord[]>;

  /**
   * All records after a position (all of them without one), in an order that keeps each stream's.
   * @param watch is told of broken streams, and the others are read; without it, a broken stream is a StoreError
   */
  readAll(after?: Position, watch?: Partial<StreamWatch>): AsyncIterable<readonly StoredRecord[]>;

  /**
   * Delivers every record after a position, once and in order, including those of this process, as long as the
   * subscription lives. It outlives failures of the store: `onError` is told of them, and delivery continues where it
   * stopped.
   */
  subscribe(after: Position | undefined, subscriber: Subscriber): Subscription;

  /**
   * How long a read may miss records that were there, in ms: a new leader of a cluster does not know all of them at once.
   * Undefined for a store where that cannot happen.
   */
  readonly settlesWithinMs?: number;

  /** The number of records, if the store knows it without counting. For display. */
  size?(): number;

  /**
   * Why an append that is not urgent finds no room, as far as the store knows, as the end of a sentence. Undefined when it
   * finds room, or if the store cannot tell.
   */
  noRoom?(): string | undefined;

  /** Waits for what was accepted, then closes. */
  close(): Promise<void>;
}

export interface Subscriber extends Partial<StreamWatch> {
  onRecords(records: readonly StoredRecord[]): void;
  /** All that is in the log now has been delivered. Called at least once a second while that is so. */
  onCaughtUp(): void;
  onError(error: StoreError): void;
  /**
   * The store holds less than was read from it, or something else, and not just for a moment. Nothing more is delivered.
   * @param why a sentence without its full stop
   */
  onRolledBack?(why: string): void;
}

/** What others with access to the store can do to single streams. */
export interface StreamWatch {
  /** Records of the stream are gone, or it was deleted for good: no more of it is delivered. The others go on. */
  onBroken(stream: string, error: BrokenStream): void;
  /** The store has been told to remove records of the stream: why, and how to undo that. Undefined: not, or no longer. */
  onDanger(stream: string, danger: string | undefined): void;
}

export interface Subscription {
  close(): void;
}

export const STORE_FAILURES = [
  'full', // no space left on the device, or none but for what is urgent
  'busy', // another process held the store for too long
  'unavailable', // the store does not answer, or cannot be opened
  'corrupt', // the store's own structure is damaged
  'foreign', // not a store of this program, or of an unknown version
] as const;
export type StoreFailure = (typeof STORE_FAILURES)[number];

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

/** The store is out of reach, and may be back any time: whoever can wait may try again. */
export class StoreAway extends StoreError {}

/** Whether to wait would help. */
export function isAway(error: unknown): boolean {
  return error instanceof StoreAway || (error instanceof Error && isAway(error.cause));
}

/** Whether more room on the disk would have helped. */
export function isForWantOfRoom(error: unknown): boolean {
  if (error instanceof StoreError) return error.failure === 'full';
  return error instanceof Error && isForWantOfRoom(error.cause);
}

/** Most records in a page of a read: while a page is folded no request is answered, and all of it stays in memory. */
export const PAGE_RECORDS = 250;

/** Records in pages that are not too long to be folded in one turn. */
export function* pages(
  records: readonly StoredRecord[],
  size = PAGE_RECORDS,
): Iterable<readonly StoredRecord[]> {
  for (let i = 0; i < records.length; i += size) yield records.slice(i, i + size);
}

/** Whether exactly these bytes are already there, so that a repeated append counts as written. */
export function sameRecords(there: readonly RecordBytes[], sent: readonly RecordBytes[]): boolean {
  return (
    there.length === sent.length &&
    there.every((stored, i) => {
      const record = sent[i];
      return (
        record !== undefined &&
        Buffer.compare(stored.record, record.record) === 0 &&
        Buffer.compare(stored.sealed, record.sealed) === 0
      );
    })
  );
}
