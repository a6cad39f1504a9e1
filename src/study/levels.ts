import { type Design, type Factor, levelNow } from '../../projections/design.ts';
import type { StudyOutcome } from './commands.ts';

/**
 * The first level that is unknown, or that is closed.
 * @param levels by their names of now
 */
export function levelRefusal(
  { factors }: Pick<Design, 'factors'>,
  levels: readonly string[],
  type: 'level-unknown' | 'level-closed',
): StudyOutcome | undefined {
  for (const [i, { name, levels: known, closed }] of factors.entries()) {
    const level = levels[i] ?? '';
    const isRefused = type === 'level-unknown' ? !known.includes(level) : closed.includes(level);
    if (isRefused) return { type, factor: name, level };
  }
  return undefined;
}

/**
 * What to say of a level that a request asks for and that there is not.
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
