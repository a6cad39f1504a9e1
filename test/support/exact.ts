/** Exact arithmetic, to judge rounding by. */
import type { ImbalanceMeasure } from '../../events/study.ts';

type Rational = Readonly<Record<'numerator' | 'denominator', bigint>>;

/** An urn's imbalance as a rational number. K is the number of treatments, T the sum of the balls. */
export function exactImbalance(measure: ImbalanceMeasure, balls: readonly number[]): Rational {
  const exact = balls.map(BigInt);
  const K = BigInt(exact.length);
  const T = exact.reduce((sum, b) => sum + b, 0n);
  if (measure === 'range') {
    return { numerator: BigInt(Math.max(...balls) - Math.min(...balls)), denominator: T };
  }
  // Sum of (f - 1/K)^2 is (K * sum of b^2 - T^2) / (K * T^2); variance divides it by K - 1, chisquare by 1/K.
  const numerator = K * exact.reduce((sum, b) => sum + b * b, 0n) - T * T;
  return { numerator, denominator: measure === 'chisquare' ? T * T : K * (K - 1n) * T * T };
}

/** Below zero when a < b, zero when equal, above zero when a > b. */
export function compareRationals(a: Rational, b: Rational): number {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** To about 20 decimals. */
export const toNumber = ({ numerator, denominator }: Rational): number =>
  Number((numerator * 10n ** 20n) / denominator) / 1e20;
