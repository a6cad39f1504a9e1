/** The one draw of every method but the urn: a slot in proportion to its weight, with one double. */
import type { BgState } from '../../../events/study.ts';
import type { Pcg64 } from '../random/pcg64.ts';
import { fillCumulative, fillProbabilities, indexAt, listOf } from './draw.ts';
import type { Evidence, OpenSlots } from './method.ts';

type Picked = NonNullable<Evidence['pick']>;

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
