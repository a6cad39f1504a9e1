import type { RangeScale } from '../quantities.ts';
import type { State } from './rules.ts';

/** The range of the counts of the arms, in units of the scale. */
export function rangeOf({ counts }: State, { factors }: RangeScale): number {
  let [most, least] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const [k, count] of counts.entries()) {
    const scaled = count * (factors[k] as number);
    most = Math.max(most, scaled);
    least = Math.min(least, scaled);
  }
  return most - least;
}
