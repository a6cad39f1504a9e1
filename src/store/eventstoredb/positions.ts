/** Positions of EventStoreDB as the port's opaque strings, and the check that no record is missing. */
import { type Position, type StoredRecord, StoreError } from '../event-store.ts';
import type { LogPosition } from './protocol.ts';

export function toPosition({ commit, prepare }: LogPosition): Position {
  return `${commit}/${prepare}`;
}

/** @throws StoreError when it is no position of this kind of store */
export function fromPosition(position: Position): LogPosition {
  const [, commit, prepare] = /^(\d{1,20})\/(\d{1,20})$/.exec(position) ?? [];
  if (commit === undefined || prepare === undefined)
    throw new StoreError('foreign', 'not-written', 'a position of another kind of store');
  return { commit: BigInt(commit), prepare: BigInt(prepare) };
}

/** Whether `a` stands behind `b`; everything stands behind undefined. */
export function isBehind(a: LogPosition, b: LogPosition | undefined): boolean {
  if (b === undefined) return true;
  return a.commit === b.commit ? a.prepare > b.prepare : a.commit > b.commit;
}

/** The last revision seen of each stream. What follows must follow directly. */
export class Continuity {
  readonly #fromTheStart: boolean;
  readonly #last = new Map<string, number>();

  /** @param fromTheStart whether each stream must begin at revision 0 */
  constructor(fromTheStart: boolean) {
    this.#fromTheStart = fromTheStart;
  }

  /** @throws StoreError when a revision is missing before this record */
  check({ stream, revision }: Pick<StoredRecord, 'stream' | 'revision'>): void {
    const last = this.#last.get(stream) ?? (this.#fromTheStart ? -1 : revision - 1);
    if (revision !== last + 1) throw missing(stream, last + 1, revision);
    this.#last.set(stream, revision);
  }
}

/** Records are not where they must be: they were cut off or deleted in the server. */
export function missing(stream: string, from: number, to: number | 'the end'): StoreError {
  return new StoreError(
    'corrupt',
    'not-written',
    `records of ${stream} are missing in EventStoreDB, from revision ${from} to ${to} (hint: a stream of this log must never be deleted, nor have $maxCount, $maxAge or $tb; take that metadata off, or restore a backup if the records were scavenged)`,
  );
}
