/**
 * Minimization: the slot that would leave the participant's levels least out of balance is the likeliest.
 *
 * Source: S. J. Pocock and R. Simon, "Sequential Treatment Assignment with Balancing for Prognostic Factors in the
 * Controlled Clinical Trial", Biometrics 31(1), 1975. By `variance`, scores order slots as D. R. Taves' sums of marginal
 * totals do (Clinical Pharmacology and Therapeutics 15(5), 1974).
 */
import type { BgState, MinimizationParameters } from '../../../events/study.ts';
import type { Pcg64 } from '../random/pcg64.ts';
import { listOf, WeightedDraw } from './draw.ts';
import type { Evidence, Memory, Method, OpenSlots } from './method.ts';

export interface MinimizationDesign extends OpenSlots {
  /** Of all factors, or only of those in `places`. */
  readonly factors: { readonly length: number };
  /** `weights`: one per factor of the study, retired ones too. Undefined: it is withheld, and nothing can be drawn. */
  readonly parameters: MinimizationParameters | undefined;
}

/** p of the best slot is recorded in thousandths, so that everything but the last division is in whole numbers. */
const THOUSAND = 1000;

export class Minimization implements Method {
  readonly drawsFromCounts = true;
  readonly chances: Float64Array;
  readonly #design: MinimizationDesign;
  /** Index of each factor that is balanced, in all factors of the study. */
  readonly #factors: Int32Array;
  readonly #slot: WeightedDraw;
  /** n of the participant's level of each factor, by slot. */
  readonly #counts: Int32Array[];
  /** Of each slot; the least is the best. */
  readonly #scores: Float64Array;

  constructor(design: MinimizationDesign) {
    const slots = design.slots.length;
    this.#design = design;
    this.#factors = Int32Array.from(design.places?.factors ?? Array(design.factors.length).keys());
    this.#slot = new WeightedDraw(design);
    this.#counts = Array.from(this.#factors, () => new Int32Array(slots));
    this.#scores = new Float64Array(slots);
    this.chances = new Float64Array(slots);
  }

  get slots(): Int32Array {
    return this.#slot.slots;
  }

  /** @throws RangeError when an index is out of range, or the parameters are withheld */
  look({ counts }: Pick<Memory, 'counts'>, levels: ArrayLike<number>): void {
    const { parameters } = this.#design;
    if (!parameters) throw new RangeError('the parameters of the minimization are withheld');
    const { layout, cells } = counts;
    this.#scores.fill(0);
    for (let i = 0; i < this.#factors.length; i++) {
      const factor = this.#factors[i] as number;
      const row = layout.row(factor, levels[factor] as number) * layout.stride;
      const own = this.#counts[i] as Int32Array;
      for (let k = 0; k < own.length; k++) own[k] = cells[row + (this.slots[k] as number)] as number;
      this.#addScores(own, parameters.weights?.[factor] ?? 1, parameters.measure);
    }
    this.#fillWeights(parameters.pThousandths);
  }

  /** Variances differ between slots as their counts do, up to what is the same for all. */
  #addScores(own: Int32Array, weight: number, measure: MinimizationParameters['measure']): void {
    for (let k = 0; k < own.length; k++) {
      const score = measure === 'range' ? rangeWith(own, k) : (own[k] as number);
      this.#scores[k] = (this.#scores[k] as number) + weight * score;
    }
  }

  /**
   * Of the F best slots one, at random, has p, and all others share the rest equally. These are the means over that choice,
   * times F (K - 1).
   */
  #fillWeights(p: number): void {
    const { weights } = this.#slot;
    const K = weights.length;
    const least = this.#scores.reduce((one, other) => Math.min(one, other));
    const F = this.#scores.reduce((number, score) => number + Number(score === least), 0);
    const best = p * (K - 1) + (F - 1) * (THOUSAND - p);
    const other = F * (THOUSAND - p);
    const total = THOUSAND * F * (K - 1);
    for (let k = 0; k < K; k++) {
      weights[k] = this.#scores[k] === least ? best : other;
      this.chances[k] = (weights[k] as number) / total;
    }
  }

  draw(generator: Pcg64): number {
    return this.#slot.draw(generator);
  }

  evidence(before: BgState, after: BgState): Evidence {
    const [counts, scores] = [this.#counts.map((row) => listOf(row)), listOf(this.#scores)];
    return { pick: this.#slot.evidence(before, after, { counts, scores }) };
  }
}

/** max - min of the counts, if the participant were in slot k. */
function rangeWith(counts: Int32Array, k: number): number {
  let [most, least] = [0, Number.POSITIVE_INFINITY];
  for (let slot = 0; slot < counts.length; slot++) {
    const after = (counts[slot] as number) + (slot === k ? 1 : 0);
    if (after > most) most = after;
    if (after < least) least = after;
  }
  return most - least;
}
