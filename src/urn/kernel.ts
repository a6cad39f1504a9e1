/**
 * The method on typed arrays, which are used again for each allocation: the one implementation, under the write path
 * (allocate.ts), which adds the evidence, and under simulations, which allocate millions.
 *
 * Sources: Wei 1978 for the urn; the reference implementation for method 1 (draw from the participant's most imbalanced
 * urn, break ties by lot) and for the order of the two draws (the lot first).
 */
import type { ImbalanceMeasure } from '../../events/study.ts';
import { boundedInteger } from '../random/bounded.ts';
import type { Pcg64 } from '../random/pcg64.ts';
import { fillBalls, type UrnWeights } from './balls.ts';
import { fillCumulative, fillProbabilities, indexAt } from './draw.ts';
import { imbalance } from './imbalance.ts';
import { byCodePoint, largest } from './selection.ts';

/** What of a study's design an allocation sees. */
export interface UrnDesign extends UrnWeights {
  /** The treatment of each slot that can be drawn. Unless the study has a ratio, each treatment has one. */
  readonly slots: readonly string[];
  /** Those whose urns can be drawn from. */
  readonly factors: readonly { readonly name: string }[];
  readonly D: ImbalanceMeasure;
  /** The indexes, in the counts, of the slots and factors above. Absent: they are all that there are. */
  readonly places?: { readonly slots: readonly number[]; readonly factors: readonly number[] } | undefined;
  /** Then the slot is recorded, and the imbalance does not depend on the order of the slots: version 2 of the algorithm. */
  readonly hasRatio: boolean;
}

/**
 * The urns that one participant may be drawn from. For each: `see` with every factor's urn, then `draw`. The arrays hold
 * the numbers on the way until the next participant. Indexes are those of the design's factors and slots; an array over
 * both has the slots of the first factor, then of the second, and so on.
 */
export class Kernel {
  readonly #design: UrnDesign;
  /** Index, in the counts, of each slot. */
  readonly #places: Int32Array;
  /** Indexes of the factors, sorted by name by code point. */
  readonly #byName: Int32Array;
  readonly #ascending: Float64Array;
  /** n_k before this participant. */
  readonly counts: Float64Array;
  /** b_k. */
  readonly balls: Float64Array;
  /** T of each urn. */
  readonly totals: Float64Array;
  /** d of each urn, by the study's measure. */
  readonly imbalances: Float64Array;
  /** Indexes of the factors whose urns are most imbalanced, sorted by name by code point. After `candidateCount`: anything. */
  readonly candidates: Int32Array;
  candidateCount = 0;
  /** Index of the candidate chosen by lot. If there is only one candidate, it is 0 and there is no draw. */
  lot = 0;
  /** Index of the factor whose urn is drawn from. */
  selected = 0;
  /** p_k of the selected urn. */
  readonly probabilities: Float64Array;
  /** cdf_k of the selected urn; the last is 1. */
  readonly cumulative: Float64Array;
  /** The uniform is u = uniform53 * 2^-53. */
  uniform53 = 0;

  constructor(design: UrnDesign) {
    const { slots, factors, places } = design;
    this.#design = design;
    this.#places = Int32Array.from(places?.slots ?? slots.keys());
    this.#byName = Int32Array.from(byCodePoint(factors.map(({ name }) => name)));
    this.#ascending = new Float64Array(slots.length);
    this.counts = new Float64Array(factors.length * slots.length);
    this.balls = new Float64Array(factors.length * slots.length);
    this.totals = new Float64Array(factors.length);
    this.imbalances = new Float64Array(factors.length);
    this.candidates = new Int32Array(factors.length);
    this.probabilities = new Float64Array(slots.length);
    this.cumulative = new Float64Array(slots.length);
  }

  /**
   * 1. and 2. The urn of the participant's level of a factor, and how imbalanced it is.
   *
   * @param factor index in the design
   * @param counts n_k of the level begin at `from`, in the order of all slots of the study
   * @throws RangeError when the urn would be empty, or hold more than 2^53 - 1 balls
   */
  see(factor: number, counts: ArrayLike<number>, from: number): void {
    const slots = this.#places.length;
    const start = factor * slots;
    for (let slot = 0; slot < slots; slot++)
      this.counts[start + slot] = counts[from + (this.#places[slot] as number)] as number;
    this.totals[factor] = fillBalls(this.#design, this.counts, this.balls, start, slots);
    this.imbalances[factor] = this.#design.hasRatio
      ? this.#imbalanceInOrder(start)
      : imbalance(this.#design.D, this.balls, start, slots);
  }

  /** Sums of doubles depend on their order, and an urn must not depend on the order of the slots. */
  #imbalanceInOrder(start: number): number {
    const ascending = this.#ascending;
    for (let slot = 0; slot < ascending.length; slot++) ascending[slot] = this.balls[start + slot] as number;
    ascending.sort();
    return imbalance(this.#design.D, ascending, 0, ascending.length);
  }

  /** 3. The most imbalanced of the urns that were seen. */
  select(): void {
    this.candidateCount = largest(this.imbalances, this.#byName, this.candidates);
  }

  /**
   * 4. and 5. One of the candidates, by lot if there are several, and a ball from its urn.
   * @returns the index of the drawn slot among those that the design sees
   */
  draw(generator: Pcg64): number {
    this.lot = boundedInteger(generator, this.candidateCount);
    this.selected = this.candidates[this.lot] as number;
    this.uniform53 = generator.nextUniform53();
    fillProbabilities(this.balls, this.selected * this.#places.length, this.probabilities);
    fillCumulative(this.probabilities, this.cumulative);
    return indexAt(this.cumulative, this.uniform53);
  }

  /**
   * p_k of each slot before the lot, once the candidates are known: the mean over their urns.
   * @param chances is filled, in the order of the slots that the design sees
   */
  chances(chances: Float64Array): void {
    const slots = this.#places.length;
    chances.fill(0);
    for (let i = 0; i < this.candidateCount; i++) {
      const factor = this.candidates[i] as number;
      const total = this.totals[factor] as number;
      for (let slot = 0; slot < slots; slot++)
        chances[slot] = (chances[slot] as number) + (this.balls[factor * slots + slot] as number) / total;
    }
    for (let slot = 0; slot < slots; slot++) chances[slot] = (chances[slot] as number) / this.candidateCount;
  }
}

const kernels = new WeakMap<UrnDesign, Kernel>();

/** The kernel of a design, always the same one, so that its arrays are used again. */
export function kernelOf(design: UrnDesign): Kernel {
  const known = kernels.get(design);
  if (known) return known;
  const made = new Kernel(design);
  kernels.set(design, made);
  return made;
}
