/** The orders in which a list of participants can be shown. */
import type { Factor } from '../../../core/model/design.ts';
import type { Participant } from '../../../core/model/participants.ts';
import { currentId } from '../../../core/model/participants.ts';
import type { Lists } from './in-progress.ts';
import { levelsShown, type RecordView } from './study-view.ts';

/** Numbers in ids are compared as numbers. The locale is fixed, so that a list has the same order on every machine. */
const IDS = new Intl.Collator('en', { numeric: true });
/** How many participants are sorted or merged before others get a turn: some 15 ms of comparing ids. */
export const SORTED_AT_ONCE = 5_000;

type Compare = (a: Participant, b: Participant) => number;

/** Ids that compare as equal, such as 1 and 01, stay in the order of randomization. */
export const byId: Compare = (a, b) => IDS.compare(currentId(a), currentId(b));

/**
 * In the order of the configuration. Participants who came after the factor was retired have no level, and come last.
 */
export function byLevel(
  index: number,
  { levels }: Pick<Factor, 'levels'>,
  which: RecordView['levels'],
): Compare {
  const places = new Map(levels.map((level, place) => [level, place]));
  const place = (one: Participant) => places.get(levelsShown(one, which)[index] ?? '') ?? levels.length;
  return (a, b) => place(a) - place(b);
}

/** A sorted copy of the list as it is at the time of the call. Those that compare as equal keep their order. */
export async function sortedInTurns(
  list: readonly Participant[],
  compare: Compare,
  lists: Pick<Lists, 'slice'>,
): Promise<readonly Participant[]> {
  const runs: Participant[][] = [];
  for (let from = 0; from < list.length; from += SORTED_AT_ONCE)
    runs.push(list.slice(from, from + SORTED_AT_ONCE));
  for (const run of runs) await lists.slice(() => run.sort(compare));
  const merging = merged(runs, compare);
  const sorted: Participant[] = [];
  for (const { length } of runs)
    await lists.slice(() => {
      for (let n = 0; n < length; n++) sorted.push(merging.next().value as Participant);
    });
  return sorted;
}

function* merged(runs: readonly Participant[][], compare: Compare): Generator<Participant, undefined> {
  if (runs.length <= 1) {
    yield* runs[0] ?? [];
    return;
  }
  const half = Math.ceil(runs.length / 2);
  const others = merged(runs.slice(half), compare);
  let other = others.next();
  for (const one of merged(runs.slice(0, half), compare)) {
    for (; !other.done && compare(other.value, one) < 0; other = others.next()) yield other.value;
    yield one;
  }
  for (; !other.done; other = others.next()) yield other.value;
}
