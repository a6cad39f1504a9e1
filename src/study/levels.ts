import type { Design } from '../../projections/design.ts';
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
