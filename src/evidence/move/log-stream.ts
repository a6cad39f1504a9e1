/** The stream `log` of both stores, which decides what has become of a move. */
import { decodeRecord } from '../../../events/record.ts';
import { LOG_STREAM } from '../../core/log/log-writer.ts';
import type { EventStore, StoredRecord } from '../../store/event-store.ts';
import { sameRecords } from '../../store/same-records.ts';
import { MoveError } from './move-error.ts';

/** All records of `log`: they are few. */
export async function logRecords(store: EventStore): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for await (const page of store.readStream(LOG_STREAM, 0)) records.push(...page);
  return records;
}

/** How many records the two have in common, counted from the first. */
export function commonLength(a: readonly StoredRecord[], b: readonly StoredRecord[]): number {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i++) if (!sameRecords(a.slice(i, i + 1), b.slice(i, i + 1))) return i;
  return most;
}

/** The move for which a record closes `log`; undefined if the record does not close it. */
export function moveIn(stored: StoredRecord | undefined): { move: string; to: string } | undefined {
  if (!stored) return undefined;
  const event = decodeRecord(stored);
  return event.type === 'LogMoved' ? event.data : undefined;
}

/**
 * While a move is under way, `log` is the same in both stores, so only the names show which is the source.
 * @param from the description of the source
 * @throws MoveError if the move goes to that store
 */
export function expectDirection({ to }: { readonly to: string }, from: string): void {
  if (to === from)
    throw new MoveError(
      'refused',
      `the log is being moved to ${from}, not from there (hint: --from and --to are the other way round)`,
    );
}

/** Whether a record ends a move in this way. */
export function ends(
  stored: StoredRecord | undefined,
  type: 'LogReopened' | 'LogArrived' | 'CopyAborted',
): boolean {
  return stored !== undefined && decodeRecord(stored).type === type;
}

/** The id of the log that a store holds; undefined if the store is empty. */
export async function logIdIn(store: EventStore): Promise<string | undefined> {
  for await (const [first] of store.readAll()) return first && decodeRecord(first).log;
  return undefined;
}
