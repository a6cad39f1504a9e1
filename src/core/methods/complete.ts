/** Complete randomization: each participant independently of all others, every slot equally likely. */
import type { BgState } from '../../../events/study.ts';
import type { Pcg64 } from '../random/pcg64.ts';
import { WeightedDraw } from './draw.ts';
import type { Evidence, Method, OpenSlots } from './method.ts';

export class Complete implements Method {
  readonly drawsFromCounts = false;
  readonly chances: Float64Array;
  readonly #slot: WeightedDraw;

  constructor(design: OpenSlots) {
    this.#slot = new WeightedDraw(design);
    this.#slot.weights.fill(1);
    this.chances = this.#slot.weights.map((_, __, { length }) => 1 / length);
  }

  get slots(): Int32Array {
    return this.#slot.slots;
  }

  /** Nobody is drawn otherwise than anybody else. */
  look(): void {}

  draw(generator: Pcg64): number {
    return this.#slot.draw(generator);
  }

  evidence(before: BgState, after: BgState): Evidence {
    return { pick: this.#slot.evidence(before, after) };
  }
}
