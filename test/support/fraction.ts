/** Exact arithmetic, to judge rounding by. */
import type { ImbalanceMeasure } from '../../events/study.ts';

/** A rational number in lowest terms. */
export class Fraction {
  readonly #over: bigint;
  readonly #under: bigint;

  constructor(over: bigint | number, under: bigint | number) {
    const [a, b] = [BigInt(over), BigInt(under)];
    const divisor = greatestDivisor(a < 0n ? -a : a, b);
    this.#over = a / divisor;
    this.#under = b / divisor;
  }

  plus(other: Fraction): Fraction {
    return new Fraction(this.#over * other.#under + other.#over * this.#under, this.#under * other.#under);
  }

  times(other: Fraction): Fraction {
    return new Fraction(this.#over * other.#over, this.#under * other.#under);
  }

  /** To about 20 decimals. */
  toNumber(): number {
    return Number((this.#over * 10n ** 20n) / this.#under) / 1e20;
  }

  toString(): string {
    return `${this.#over}/${this.#under}`;
  }
}

const greatestDivisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : greatestDivisor(b, a % b));

export const sum = (terms: readonly Fraction[]) => terms.reduce((a, b) => a.plus(b), new Fraction(0, 1));

/** An urn's imbalance. K is the number of treatments, T the sum of the balls. */
export function exactImbalance(measure: ImbalanceMeasure, balls: readonly number[]): Fraction {
  const exact = balls.map(BigInt);
  const K = BigInt(exact.length);
  const T = exact.reduce((all, b) => all + b, 0n);
  if (measure === 'range') return new Fraction(Math.max(...balls) - Math.min(...balls), T);
  // Sum of (f - 1/K)^2 is (K * sum of b^2 - T^2) / (K * T^2); variance divides it by K - 1, chisquare by 1/K.
  const over = K * exact.reduce((all, b) => all + b * b, 0n) - T * T;
  return new Fraction(over, measure === 'chisquare' ? T * T : K * (K - 1n) * T * T);
}
