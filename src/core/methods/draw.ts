/**
 * A draw with numpy's arithmetic: finds the slot that a uniform number falls on. Methods draw with `WeightedDraw`; only the urn
 * fills its own arrays, with the functions below it.
 *
 * Source: numpy `_generator.pyx`, `Generator.choice(K, p=p)`: cumulative sums from left to right, each divided by the
 * last, and a search to the right of the uniform.
 */
import type { BgState } from '../../../events/study.ts';
import type { Pcg64 } from '../random/pcg64.ts';
import type { Evidence, OpenSlots } from './method.ts';

type Picked = NonNullable<Evidence['pick']>;

/** A slot in proportion to its weight, with one double. */
export class WeightedDraw {
  readonly slots: Int32Array;
  /** Whole numbers, not negative, with a sum above zero; to be filled before a draw. */
  readonly weights: Float64Array;
  /** Of the last draw: the slot, by its index among those that can be drawn. */
  drawn = 0;
  readonly #hasRatio: boolean;
  readonly #probabilities: Float64Array;
  readonly #cumulative: Float64Array;
  #uniform53 = 0;

  constructor({ slots, places, hasRatio }: OpenSlots) {
    this.slots = Int32Array.from(places?.slots ?? slots.keys());
    this.weights = new Float64Array(slots.length);
    this.#hasRatio = hasRatio;
    this.#probabilities = new Float64Array(slots.length);
    this.#cumulative = new Float64Array(slots.length);
  }

  /** @returns the slot, by its index in all slots of the study */
  draw(generator: Pcg64): number {
    fillProbabilities(this.weights, 0, this.#probabilities);
    fillCumulative(this.#probabilities, this.#cumulative);
    this.#uniform53 = generator.nextUniform53();
    this.drawn = indexAt(this.#cumulative, this.#uniform53);
    return this.slots[this.drawn] as number;
  }

  /**
   * With its members in the order of canonical JSON, in which they are written fastest.
   * @param own of the method, likewise
   */
  evidence(
    bgStateBefore: BgState,
    bgStateAfter: BgState,
    own?: Pick<Picked, 'block' | 'counts' | 'scores'>,
  ): Picked {
    const { drawn, slots, weights } = this;
    return {
      bgStateAfter,
      bgStateBefore,
      ...own,
      ...(this.#hasRatio && { slot: slots[drawn] as number }),
      uniform53: this.#uniform53,
      weights: listOf(weights),
    };
  }
}

/**
 * @param balls b_k, not negative, with a sum above zero; as many as there are slots, from `start` on
 * @param weights is filled with p_k = b_k / T, as doubles
 */
export function fillProbabilities(
  balls: ArrayLike<number>,
  start: number,
  weights: number[] | Float64Array,
): void {
  let total = 0;
  for (let i = 0; i < weights.length; i++) total += balls[start + i] as number;
  for (let i = 0; i < weights.length; i++) weights[i] = (balls[start + i] as number) / total;
}

/**
 * @param weights p_k, not negative, with a sum above zero
 * @param cdf is filled with cdf_k, never decreasing; the last is exactly 1, so every uniform below 1 falls on a treatment
 */
export function fillCumulative(weights: ArrayLike<number>, cdf: number[] | Float64Array): void {
  let last = 0;
  for (let i = 0; i < weights.length; i++) {
    last += weights[i] as number;
    cdf[i] = last;
  }
  for (let i = 0; i < weights.length; i++) cdf[i] = (cdf[i] as number) / last;
}

/**
 * @param cdf as `fillCumulative` fills it
 * @param uniform53 integer k below 2^53; the uniform is u = k * 2^-53
 * @returns the first index whose cdf is above u; an index of probability zero is never returned
 * @throws RangeError when the uniform is out of range, or the cdf does not end at 1
 */
export function indexAt(cdf: ArrayLike<number>, uniform53: number): number {
  if (!Number.isSafeInteger(uniform53) || uniform53 < 0) {
    throw new RangeError(`uniform must be an integer from 0 to 2^53 - 1, not ${uniform53}`);
  }
  const u = uniform53 * 2 ** -53; // exact
  for (let i = 0; i < cdf.length; i++) if ((cdf[i] as number) > u) return i;
  throw new RangeError('cumulative probabilities must end at 1');
}

/** Part of a typed array as a list, faster than by spreading it. */
export function listOf(array: ArrayLike<number>, start = 0, end = array.length): number[] {
  const list: number[] = [];
  for (let i = start; i < end; i++) list.push(array[i] as number);
  return list;
}

/** p_k of one urn, in the order of its balls. */
export function probabilities(balls: readonly number[]): number[] {
  const weights = balls.map(() => 0);
  fillProbabilities(balls, 0, weights);
  return weights;
}

/** cdf_k of the weights, in their order. */
export function cumulative(weights: readonly number[]): number[] {
  const cdf: number[] = [];
  fillCumulative(weights, cdf);
  return cdf;
}
