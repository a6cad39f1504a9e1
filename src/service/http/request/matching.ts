/** Finds participants in a list that may be long. */
import type { LevelLimit } from '../../../../events/access.ts';
import type { Design } from '../../../../projections/design.ts';
import { currentLevels } from '../../../../projections/enrolled.ts';
import { type HeadCount, HeadCounter } from '../../../../projections/head-count.ts';
import { isWithin } from '../../../core/model/key-limits.ts';
import type { Participant } from '../../../core/model/participants.ts';
import type { Lists } from './in-progress.ts';
import { SLICE } from './study-view.ts';

/** How many participants are examined before other work gets a turn: about as much work as rendering a slice. */
export const EXAMINED_AT_ONCE = 10 * SLICE;

/** The first `most` participants that are wanted. */
export async function matching(
  among: readonly Participant[],
  isWanted: (participant: Participant) => boolean,
  most: number,
  lists: Lists,
): Promise<Participant[]> {
  const found: Participant[] = [];
  for (let from = 0; from < among.length && found.length < most; from += EXAMINED_AT_ONCE) {
    if (from > 0) await lists.slice(() => undefined);
    found.push(...among.slice(from, from + EXAMINED_AT_ONCE).filter(isWanted));
  }
  return found.slice(0, most);
}

/** The participants that a key with these limits may see, by their current levels. A copy, so it does not grow. */
export async function withinLimits(
  inOrder: readonly Participant[],
  where: readonly LevelLimit[] | undefined,
  inForce: Design,
  lists: Lists,
): Promise<readonly Participant[]> {
  const all = inOrder.slice();
  if (!where) return all;
  return matching(all, (one) => isWithin(where, inForce, currentLevels(one)), all.length, lists);
}

/** Who of them counts for what. The list must not grow. */
export async function headCountOf(among: readonly Participant[], lists: Lists): Promise<HeadCount> {
  const counter = new HeadCounter();
  for (let from = 0; from < among.length; from += EXAMINED_AT_ONCE) {
    if (from > 0) await lists.slice(() => undefined);
    for (const participant of among.slice(from, from + EXAMINED_AT_ONCE)) counter.add(participant);
  }
  return counter.now();
}
