/** How far apart the arms that take participants are in one row of counts. */
import { leastCommonMultiple } from '../../base/whole-numbers.ts';
import type { DesignStep } from '../replicate/steps.ts';

/**
 * The range is (R/K)·(max n_k/r_k − min n_k/r_k). It is computed in whole numbers, so that equal ranges compare as equal:
 * `of` gives it times a number that depends only on the ratio.
 */
export class Range {
  /** For each open arm: its slots, and the factor for its participants. */
  readonly #arms: readonly { readonly slots: readonly number[]; readonly by: number }[];
  /** R and K·L, where L is the least common multiple of the r_k. */
  readonly #slots: number;
  readonly #divisor: number;

  constructor({ arms, openArms }: Pick<DesignStep, 'arms' | 'openArms'>) {
    const slotsOf = (arm: number) => arms.flatMap((one, slot) => (one === arm ? [slot] : []));
    const open = openArms.map(slotsOf);
    const multiple = open.map(({ length }) => length).reduce(leastCommonMultiple, 1);
    this.#arms = open.map((slots) => ({ slots, by: multiple / slots.length }));
    this.#slots = open.flat().length;
    this.#divisor = open.length * multiple;
  }

  /** @param from where the row begins */
  of(counts: Int32Array, from: number): number {
    let most = 0;
    let least = Number.POSITIVE_INFINITY;
    for (const { slots, by } of this.#arms) {
      let number = 0;
      for (const slot of slots) number += counts[from + slot] as number;
      number *= by;
      if (number > most) most = number;
      if (number < least) least = number;
    }
    return most - least;
  }

  /** The range itself, from the result of `of`. A single division of whole numbers, so that equal ranges stay equal. */
  value(whole: number): number {
    return (whole * this.#slots) / this.#divisor;
  }
}
