/**
 * The method on typed arrays, which are used again for each allocation: the one implementation, under the write path
 * (allocate.ts), which adds the evidence, and under simulations, which allocate millions.
 *
 * Sources: Wei 1978 for the urn; the reference implementation for method 1 (draw from the participant's most imbalanced
 * urn, break ties by lot) and for the order of the two draws (the lot first).
 */
import type { BgState, ImbalanceMeasure } from '../../../../events/study.ts';
import { boundedInteger } from '../../random/bounded.ts';
import type { Pcg64 } from '../../random/pcg64.ts';
import { fillCumulative, fillProbabilities, indexAt, listOf } from '../draw.ts';
import type { Evidence, Memory, Method, OpenSlots } from '../method.ts';
import { fillBalls, type UrnWeights } from './balls.ts';
import { imbalance } from './imbalance.ts';
import { byCodePoint, largest } from './selection.ts';

/** What of a study's design an allocation sees. With a ratio, the imbalance does not depend on the order of the slots. */
export interface UrnDesign extends OpenSlots, UrnWeights {
  /** Those whose urns can be drawn from. */
  readonly factors: readonly { readonly name: string }[];
  readonly D: ImbalanceMeasure;
}

/**
 * The urns that one participant may be drawn from. `look` and `draw` leave the numbers on the way in the arrays until the
 * next participant. Indexes are those of the design's factors and slots, unless stated otherwise; an array over both has the
 * slots of the first factor, then of the second, and so on.
 */
export class Kernel implements Method {
  readonly drawsFromCounts = true;
  readonly #design: UrnDesign;
  /** Index, in the counts, of each factor. */
  readonly #factors: Int32Array;
  /** Indexes of the factors, sorted by name by code point. */
  readonly #byName: Int32Array;
  readonly #ascending: Float64Array;
  readonly slots: Int32Array;
  readonly chances: Float64Array;
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
  /** Index of the drawn slot. */
  drawn = 0;

  constructor(design: UrnDesign) {
    const { slots, factors, places } = design;
    this.#design = design;
    this.#factors = Int32Array.from(places?.factors ?? factors.keys());
    this.#byName = Int32Array.from(byCodePoint(factors.map(({ name }) => name)));
    this.#ascending = new Float64Array(slots.length);
    this.slots = Int32Array.from(places?.slots ?? slots.keys());
    this.chances = new Float64Array(slots.length);
    this.counts = new Float64Array(factors.length * slots.length);
    this.balls = new Float64Array(factors.length * slots.length);
    this.totals = new Float64Array(factors.length);
    this.imbalances = new Float64Array(factors.length);
    this.candidates = new Int32Array(factors.length);
    this.probabilities = new Float64Array(slots.length);
    this.cumulative = new Float64Array(slots.length);
  }

  /**
   * 1. to 3. The urns of the participant's levels, how imbalanced they are, and which are so most. The chances are the mean
   * over these.
   * @throws RangeError when an index is out of range, the counts belong to another design, or an urn would be empty, or hold
   *   more than 2^53 - 1 balls
   */
  look({ counts }: Pick<Memory, 'counts'>, levels: ArrayLike<number>): void {
    const { layout } = counts;
    if (levels.length !== layout.rows.length)
      throw new RangeError(`${levels.length} levels given for ${layout.rows.length} factors`);
    if (!this.#design.places && layout.slots !== this.slots.length)
      throw new RangeError('counts of another design');
    for (let i = 0; i < this.#factors.length; i++) {
      const factor = this.#factors[i] as number;
      this.#see(i, counts.cells, layout.row(factor, levels[factor] as number) * layout.stride);
    }
    this.candidateCount = largest(this.imbalances, this.#byName, this.candidates);
    this.#fillChances();
  }

  /** @param from where n_k of the participant's level of the factor begin */
  #see(factor: number, cells: ArrayLike<number>, from: number): void {
    const slots = this.slots.length;
    const start = factor * slots;
    for (let slot = 0; slot < slots; slot++)
      this.counts[start + slot] = cells[from + (this.slots[slot] as number)] as number;
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

  #fillChances(): void {
    const { chances } = this;
    const slots = chances.length;
    chances.fill(0);
    for (let i = 0; i < this.candidateCount; i++) {
      const factor = this.candidates[i] as number;
      const total = this.totals[factor] as number;
      for (let slot = 0; slot < slots; slot++)
        chances[slot] = (chances[slot] as number) + (this.balls[factor * slots + slot] as number) / total;
    }
    for (let slot = 0; slot < slots; slot++) chances[slot] = (chances[slot] as number) / this.candidateCount;
  }

  /** 4. and 5. One of the candidates, by lot if there are several, and a ball from its urn. */
  draw(generator: Pcg64): number {
    this.lot = boundedInteger(generator, this.candidateCount);
    this.selected = this.candidates[this.lot] as number;
    this.uniform53 = generator.nextUniform53();
    fillProbabilities(this.balls, this.selected * this.slots.length, this.probabilities);
    fillCumulative(this.probabilities, this.cumulative);
    this.drawn = indexAt(this.cumulative, this.uniform53);
    return this.slots[this.drawn] as number;
  }

  evidence(bgStateBefore: BgState, bgStateAfter: BgState): { readonly draw: UrnDraw } {
    const { factors, hasRatio } = this.#design;
    const name = (factor: number) => factors[factor]?.name ?? '';
    const [start, end] = [this.selected * this.slots.length, (this.selected + 1) * this.slots.length];
    const draw = {
      balls: listOf(this.balls, start, end),
      bgStateAfter,
      bgStateBefore,
      candidates: listOf(this.candidates, 0, this.candidateCount).map(name),
      counts: listOf(this.counts, start, end),
      selectedFactor: name(this.selected),
      uniform53: this.uniform53,
    };
    return { draw: hasRatio ? { ...draw, slot: this.slots[this.drawn] as number } : draw };
  }
}

/** The evidence, in the order in which its members are recorded. */
export type UrnDraw = NonNullable<Evidence['draw']>;

const kernels = new WeakMap<UrnDesign, Kernel>();

/** The kernel of a design, always the same one, so that its arrays are used again. */
export function kernelOf(design: UrnDesign): Kernel {
  const known = kernels.get(design);
  if (known) return known;
  const made = new Kernel(design);
  kernels.set(design, made);
  return made;
}
