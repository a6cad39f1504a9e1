/** Deciding a stream's events again, one after the other: what every kind of stream needs for it. */
import type { LogEvent, PartialEvent } from '../../../events/record.ts';
import type { Mismatch } from '../report.ts';
import { type FieldDifference, mismatch } from './differences.ts';

export interface Replay<E extends PartialEvent = LogEvent> {
  /**
   * Decides the event again from those before it, and takes it in when it is what was decided.
   * @returns what is wrong with it, the most telling field first; nothing is taken in then
   */
  take(event: E): readonly Mismatch[];
  /** Gets each event in which nothing is wrong, those of a move of the log included, which `take` does not see. */
  passed?(event: E): void;
}

/** Sorted by which beginning in `order` a field's path has; those that have none come last. */
export function mostTelling(
  differences: readonly FieldDifference[],
  order: readonly string[],
): FieldDifference[] {
  const rank = ({ field }: FieldDifference) => {
    const place = order.findIndex((start) => field.startsWith(start));
    return place < 0 ? order.length : place;
  };
  return differences.toSorted((a, b) => rank(a) - rank(b));
}

export function asMismatches(differences: readonly FieldDifference[], why: string): Mismatch[] {
  return differences.map(({ field, expected, found }) => mismatch(field, expected, found, why));
}
