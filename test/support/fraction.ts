/** Rational numbers in lowest terms, for probabilities without rounding. */
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

  toString(): string {
    return `${this.#over}/${this.#under}`;
  }
}

const greatestDivisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : greatestDivisor(b, a % b));

export const sum = (terms: readonly Fraction[]) => terms.reduce((a, b) => a.plus(b), new Fraction(0, 1));
