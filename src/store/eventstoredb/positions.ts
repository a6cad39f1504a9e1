/** Positions of EventStoreDB as the port's opaque strings. */
import { type Position, StoreError } from '../event-store.ts';
import type { LogPosition } from './protocol.ts';

export function toPosition({ commit, prepare }: LogPosition): Position {
  return `${commit}/${prepare}`;
}

/** @throws StoreError for a position of another kind of store */
export function fromPosition(position: Position): LogPosition {
  const [, commit, prepare] = /^(\d{1,20})\/(\d{1,20})$/.exec(position) ?? [];
  if (commit === undefined || prepare === undefined)
    throw new StoreError('foreign', 'not-written', 'a position of another kind of store');
  return { commit: BigInt(commit), prepare: BigInt(prepare) };
}

/** Whether `a` comes after `b`. Everything comes after undefined. */
export function isAfter(a: LogPosition, b: LogPosition | undefined): boolean {
  if (b === undefined) return true;
  return a.commit === b.commit ? a.prepare > b.prepare : a.commit > b.commit;
}
