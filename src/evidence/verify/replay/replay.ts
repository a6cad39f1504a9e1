/** Deciding the events of a stream again, one after another: the parts shared by all kinds of streams. */
import type { LogEvent, PartialEvent } from '../../../../events/record.ts';
import type { Mismatch } from '../report/report.ts';
import { type FieldDifference, mismatch } from './differences.ts';

export interface Replay<E extends PartialEvent = LogEvent> {
  /**
   * Decides the event again from those before it, and adds it to the state if it matches.
   * @param withheldSeals by section; absent if the source withholds none
   * @param version of the record; absent if the source withholds nothing
   * @returns what is wrong with it, the most informative field first. The state is then unchanged.
   */
  take(event: E, withheldSeals?: Readonly<Record<string, string>>, version?: number): readonly Mismatch[];
  /** Called for each correct event, including those of a move of the log, which `take` does not see. */
  passed?(event: E): void;
}

/** Sorts by the prefix in `order` that matches the field's path. Fields without a match come last. */
export function inReportingOrder(
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
