/** The range of the counts of the arms, (R/K)·(max n_k/r_k - min n_k/r_k), counted in whole units. */
import { type State, sum } from './rules.ts';

export interface Scale {
  /** What n_k is multiplied by, so that arms of different shares can be compared: the least common multiple of all r over r_k. */
  readonly factors: readonly number[];
  /** What a difference of one is then worth as a range. */
  readonly unit: number;
}

export function scaleOf(ratio: readonly number[]): Scale {
  const multiple = ratio.reduce((a, b) => (a * b) / greatestDivisor(a, b), 1);
  return {
    factors: ratio.map((share) => multiple / share),
    unit: sum(ratio) / (ratio.length * multiple),
  };
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

export function rangeOf({ counts }: State, { factors }: Scale): number {
  let [most, least] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const [k, count] of counts.entries()) {
    const scaled = count * (factors[k] as number);
    most = Math.max(most, scaled);
    least = Math.min(least, scaled);
  }
  return most - least;
}
