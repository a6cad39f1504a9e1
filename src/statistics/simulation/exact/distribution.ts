/** The distribution of a range, exactly. */
import type { RangeScale } from '../quantities.ts';

/** Sums of probabilities have rounding errors: a share of exactly one half must count as reached. */
const ROUNDING = 1e-12;

export class Distribution {
  /** Ascending. */
  readonly #values: { readonly steps: number; readonly chance: number }[];
  readonly #scale: RangeScale;

  /**
   * @param chances the probability of each range, in units of the scale
   */
  constructor(chances: ReadonlyMap<number, number>, scale: RangeScale) {
    this.#scale = scale;
    this.#values = [...chances]
      .map(([steps, chance]) => ({ steps, chance }))
      .filter(({ chance }) => chance > 0)
      .sort((a, b) => a.steps - b.steps);
  }

  get shares(): { range: number; share: number }[] {
    return this.#values.map(({ steps, chance }) => ({ range: steps * this.#scale.unit, share: chance }));
  }

  /** The probability of one range, counted in units. */
  at(steps: number): number {
    return this.#values.find((value) => value.steps === steps)?.chance ?? 0;
  }

  mean(): number {
    return this.#values.reduce((total, { steps, chance }) => total + steps * chance, 0) * this.#scale.unit;
  }

  /** The smallest value with a share of at least q at or below it. */
  quantile(q: number): number {
    let below = 0;
    for (const { steps, chance } of this.#values) {
      below += chance;
      if (below >= q - ROUNDING) return steps * this.#scale.unit;
    }
    return (this.#values.at(-1)?.steps ?? 0) * this.#scale.unit;
  }

  /** The probability of a range of at least n / `parts`, for n participants. */
  atLeast(parts: number, n: number): number {
    return this.#values
      .filter(({ steps }) => this.#scale.isAtLeast(steps, parts, n))
      .reduce((total, { chance }) => total + chance, 0);
  }
}
