import type { Level } from '../../../events/study.ts';
import { type Design, type Factor, levelNow } from './design.ts';
import type { StudyOutcome } from './outcomes.ts';
import { NONE } from './participants.ts';

/** The levels as a record has them: without retired factors. */
export function namedLevels({ factors }: Pick<Design, 'factors'>, levels: readonly string[]): Level[] {
  const named = factors.map(({ name }, i) => ({ factor: name, level: levels[i] ?? NONE }));
  return factors.some(({ isRetired }) => isRetired) ? named.filter((_, i) => !factors[i]?.isRetired) : named;
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

export function allowed(levels: readonly string[]): string {
  return `(allowed: ${levels.map((level) => JSON.stringify(level)).join(', ')})`;
}
