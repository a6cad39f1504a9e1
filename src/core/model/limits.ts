/** The limits of a study: how many participants it takes, overall and with each level. */
import type { LevelLimit } from '../../../events/access.ts';
import type { Design } from './design.ts';
import { limitedLevels } from './key-limits.ts';
import type { FullLimit } from './outcomes.ts';
import { currentLevels, type Enrolled, fillsPlace } from './participants.ts';

type LimitedDesign = Pick<Design, 'limits' | 'policies' | 'factors'>;

/** How many participants each limit counts, in the order of `limitsOf`. Empty if the limits stop nobody. */
export type FilledPlaces = readonly number[];

/** The limits that stop participants, in a fixed order. */
function limitsOf({ limits, policies }: LimitedDesign): readonly FullLimit[] {
  if (!limits || !policies.stopAtLimit) return [];
  const { total, levels = [] } = limits;
  return [
    ...(total === undefined ? [] : [{ max: total }]),
    ...levels.map(({ factor, level, max }) => ({ max, of: { factor, level } })),
  ];
}

/** @param participants all of them */
export function filledBy(design: LimitedDesign, participants: Iterable<Enrolled> = []): FilledPlaces {
  const none: FilledPlaces = limitsOf(design).map(() => 0);
  if (none.length === 0) return none;
  let filled = none;
  for (const participant of participants) filled = filledAfter(filled, design, undefined, participant);
  return filled;
}

/**
 * @param before the participant before an event; undefined if it enrols them
 * @param after the same participant after it
 */
export function filledAfter(
  filled: FilledPlaces,
  design: LimitedDesign,
  before: Enrolled | undefined,
  after: Enrolled,
): FilledPlaces {
  if (filled.length === 0) return filled;
  const countedBy = (limit: FullLimit, participant: Enrolled | undefined) =>
    participant && fillsPlace(participant) ? Number(appliesTo(limit, design, currentLevels(participant))) : 0;
  return limitsOf(design).map(
    (limit, i) => (filled[i] ?? 0) + countedBy(limit, after) - countedBy(limit, before),
  );
}

/** The limit that keeps a participant with these levels out; undefined if there is none. */
export function fullLimit(
  filled: FilledPlaces,
  design: LimitedDesign,
  levels: readonly string[],
): FullLimit | undefined {
  if (filled.length === 0) return undefined;
  return limitsOf(design).find(
    (limit, i) => appliesTo(limit, design, levels) && (filled[i] ?? 0) >= limit.max,
  );
}

function appliesTo({ of }: FullLimit, { factors }: LimitedDesign, levels: readonly string[]): boolean {
  if (!of) return true;
  return levels[factors.findIndex(({ name }) => name === of.factor)] === of.level;
}

/** How many places there are to fill: those that are wanted, or those that there are at most. */
export interface Goal {
  readonly kind: 'target' | 'limit';
  readonly places: number;
}

/**
 * What the participants of a key are measured against; undefined if nobody has said. The target is for the whole study, and
 * says nothing about some of its levels; these may have limits of their own.
 * @param where limits of the key
 */
export function goalOf(
  design: Pick<Design, 'target' | 'limits' | 'factors'>,
  where: readonly LevelLimit[] | undefined,
): Goal | undefined {
  const { target, limits: { total, levels = [] } = {} } = design;
  if (!where) {
    if (target !== undefined) return { kind: 'target', places: target };
    return total === undefined ? undefined : { kind: 'limit', places: total };
  }
  const [own, ...others] = where;
  // Of several factors at once, nobody has said how many there may be.
  if (!own || others.length > 0) return undefined;
  const limits = limitedLevels(own, design).map(
    (level) => levels.find((limit) => limit.factor === own.factor && limit.level === level)?.max,
  );
  const known = limits.filter((max) => max !== undefined);
  if (known.length === 0 || known.length < limits.length) return undefined;
  return { kind: 'limit', places: known.reduce((sum, max) => sum + max, 0) };
}
