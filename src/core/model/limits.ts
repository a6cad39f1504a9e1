/**
 * Whom a study takes: how many participants, overall and with each level, and which levels. The limits of a key are another
 * thing (key-limits.ts).
 */
import type { LevelLimit } from '../../../events/access.ts';
import { type Design, type Factor, levelNow } from './design.ts';
import { limitedLevels } from './key-limits.ts';
import type { FullLimit, StudyOutcome } from './outcomes.ts';
import { currentLevels, type Enrolled, fillsPlace, NONE } from './participants.ts';

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

type LimitedDesign = Pick<Design, 'limits' | 'policies' | 'factors'>;

/** How many participants each limit counts, in the order of `limitsOf`. Empty if the limits stop nobody. */
export type FilledPlaces = readonly number[];

/** How many places are taken. @param participants all of them */
export function filledBy(design: LimitedDesign, participants: Iterable<Enrolled> = []): FilledPlaces {
  const none: FilledPlaces = limitsOf(design).map(() => 0);
  if (none.length === 0) return none;
  let filled = none;
  for (const participant of participants) filled = filledAfter(filled, design, undefined, participant);
  return filled;
}

/**
 * How many places are taken after an event about one participant.
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

/** The limits that stop participants, in a fixed order. */
function limitsOf({ limits, policies }: LimitedDesign): readonly FullLimit[] {
  if (!limits || !policies.stopAtLimit) return [];
  const { total, levels = [] } = limits;
  return [
    ...(total === undefined ? [] : [{ max: total }]),
    ...levels.map(({ factor, level, max }) => ({ max, of: { factor, level } })),
  ];
}

function appliesTo({ of }: FullLimit, { factors }: LimitedDesign, levels: readonly string[]): boolean {
  if (!of) return true;
  return levels[factors.findIndex(({ name }) => name === of.factor)] === of.level;
}

/** How many places there are to fill: those that are wanted, or those that there are at most. */
interface Goal {
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

/**
 * The first level that is unknown, or that is closed.
 * @param levels under their current names, without retired factors
 */
export function levelRefusal(
  { factors }: Pick<Design, 'factors'>,
  levels: readonly string[],
  type: 'level-unknown' | 'level-closed',
): StudyOutcome | undefined {
  for (const [i, { name, levels: known, closed, isRetired }] of factors.entries()) {
    const level = levels[i] ?? NONE;
    if (isRetired && level === NONE) continue;
    const isRefused = type === 'level-unknown' ? isRetired || !known.includes(level) : closed.includes(level);
    if (isRefused) return { type, factor: name, level };
  }
  return undefined;
}

/**
 * What to say about a level that a request asks for and that does not exist.
 * @param choices the levels that could be asked for; default: all of the factor
 */
export function noSuchLevel(factor: Factor, asked: string, choices = factor.levels): string {
  const now = levelNow(factor, asked);
  const renamed = now === asked ? '' : `: it is called ${JSON.stringify(now)} now`;
  return `${factor.name} has no level ${JSON.stringify(asked)}${renamed} ${allowed(choices)}`;
}

/** What could be asked for instead, as the end of a sentence. */
export function allowed(levels: readonly string[]): string {
  return `(allowed: ${levels.map((level) => JSON.stringify(level)).join(', ')})`;
}
