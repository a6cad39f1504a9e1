/** Which participants an API key with limits may act on. */
import type { LevelLimit } from '../../../events/access.ts';
import type { Level } from '../../../events/study.ts';
import { type Design, type Factor, levelNow, openLevels } from './design.ts';
import { currentLevels, type Enrolled } from './participants.ts';

/** Lists of levels with which the limits of a key are compared: they must hold for all of them, or for one. */
export interface Stake {
  readonly need: 'all' | 'any';
  readonly of: readonly (readonly string[])[];
}

/** Where the limits of a key must hold, around a change of a participant. */
export type Stakes = 'before' | 'before-and-after' | 'before-or-after' | 'before-or-as-randomized';

/** @param later the participant after the change */
export function stakeOf(stakes: Stakes = 'before', participant: Enrolled, later: () => Enrolled): Stake {
  const current = currentLevels(participant);
  switch (stakes) {
    case 'before':
      return { need: 'all', of: [current] };
    case 'before-and-after':
      return { need: 'all', of: [current, currentLevels(later())] };
    case 'before-or-after':
      return { need: 'any', of: [current, currentLevels(later())] };
    case 'before-or-as-randomized':
      return { need: 'any', of: [participant.levels, current] };
  }
}

type Factors = Pick<Design, 'factors'>;

/** Something that only participants with some level may get. */
export interface LimitedPack {
  readonly where?: Level | undefined;
}

/** Whether a key with these limits may act on a pack that nobody has. A pack for all levels is within all limits. */
export function isPackWithin(
  where: readonly LevelLimit[] | undefined,
  pack: LimitedPack,
  { factors }: Factors,
): boolean {
  const { where: of } = pack;
  if (!where || !of) return true;
  const factor = factors.find(({ name }) => name === of.factor);
  const now = (level: string) => (factor ? levelNow(factor, level) : level);
  return where.every(
    (limit) => limit.factor !== of.factor || limit.levels.some((level) => now(level) === now(of.level)),
  );
}

/** Whether a key with these limits may break the participant's code. */
export function mayReveal(
  where: readonly LevelLimit[] | undefined,
  participant: Enrolled,
  design: Factors,
): boolean {
  const stake = stakeOf('before-or-as-randomized', participant, () => participant);
  return brokenLimit(where, stake, design) === undefined;
}

/** A limit that is broken, and the level that it forbids. */
interface BrokenLimit extends LevelLimit {
  readonly level: string | undefined;
}

/** The first limit that keeps a key from acting where this is at stake; undefined if none does. */
export function brokenLimit(
  where: readonly LevelLimit[] | undefined,
  { need, of }: Stake,
  design: Factors,
): BrokenLimit | undefined {
  if (!where) return undefined;
  const broken = of.map((levels) => brokenBy(levels, where, design));
  return need === 'any' && broken.includes(undefined) ? undefined : broken.find((limit) => limit);
}

/**
 * Whether a key may act on a participant with these levels (one per factor, in the study's order): each factor that the
 * key limits must have one of the levels it lists.
 */
export function isWithin(
  where: readonly LevelLimit[] | undefined,
  design: Factors,
  levels: readonly string[],
): boolean {
  return !where || brokenBy(levels, where, design) === undefined;
}

/** A limit with the names that its levels have now. */
export function limitNow({ factor: name, levels }: LevelLimit, { factors }: Factors): LevelLimit {
  const factor = factors.find((one) => one.name === name);
  return { factor: name, levels: factor ? levels.map((level) => levelNow(factor, level)) : levels };
}

/** A retired factor that keeps a key from enrolling anybody: new participants have no level of it. */
export function retiredLimit(
  where: readonly LevelLimit[] | undefined,
  { factors }: Factors,
): string | undefined {
  return where?.find(({ factor }) => factors.some(({ name, isRetired }) => isRetired && name === factor))
    ?.factor;
}

/** The levels with which a key with these limits can enrol somebody. */
export function levelsWithin(where: readonly LevelLimit[] | undefined, factor: Factor): string[] {
  const limits = where?.filter((limit) => limit.factor === factor.name) ?? [];
  return openLevels(factor).filter((level) => limits.every((limit) => isListed(limit, factor, level)));
}

/** The levels that a limit of a key lists, by their present names. */
export function limitedLevels({ factor: name, levels }: LevelLimit, { factors }: Factors): string[] {
  const factor = factors.find((one) => one.name === name);
  return [...new Set(levels.map((level) => (factor ? levelNow(factor, level) : level)))];
}

/** Whether a key with these limits may know how many have a level. */
export function isLevelWithin(
  where: readonly LevelLimit[] | undefined,
  { factor, level }: Level,
  design: Factors,
): boolean {
  return (
    !where || where.every((limit) => limit.factor !== factor || limitedLevels(limit, design).includes(level))
  );
}

/** The levels of a key have the names that they had when it was issued. */
function isListed({ levels }: LevelLimit, factor: Factor, level: string | undefined): boolean {
  return levels.some((listed) => levelNow(factor, listed) === level);
}

function brokenBy(
  levels: readonly string[],
  where: readonly LevelLimit[],
  { factors }: Factors,
): BrokenLimit | undefined {
  for (const limit of where) {
    const index = factors.findIndex(({ name }) => name === limit.factor);
    const [factor, level] = [factors[index], levels[index]];
    if (level === undefined || !factor || !isListed(limit, factor, level)) return { ...limit, level };
  }
  return undefined;
}
