/** A design as a simulation runs it. */

import { fillCumulative, indexAt } from '../../core/methods/draw.ts';
import type { Pcg64 } from '../../core/random/pcg64.ts';

export interface Rule {
  /** p_k of each arm for the last participant, before any lot between urns. */
  readonly chances: Float64Array;
  /** Index of the factor whose urn the last arm was drawn from; -1 if the design has no urns. */
  readonly drawnFactor: number;
  /** Forgets all participants. */
  restart(): void;
  /**
   * Fills `chances`, draws an arm and counts it.
   * @param participant index, from 0 on, in ascending order without gaps
   */
  allocate(participant: number, generator: Pcg64): number;
}

/** The participants of a replicate. The arrays are filled anew for each. */
export interface Participants {
  /** For each participant: the index of the level of each factor, in the order of the factors. */
  readonly levels: Int32Array;
  readonly factors: readonly { readonly name: string; readonly levels: readonly string[] }[];
  /** @returns for each participant, the number of the stratum by these factors, from 0 on without gaps */
  strata(within: readonly number[]): Int32Array;
}

/** Draws an arm with one double, from the cumulative sums of the probabilities. */
export class ArmDraw {
  readonly #cumulative: Float64Array;

  constructor(arms: number) {
    this.#cumulative = new Float64Array(arms);
  }

  draw(chances: Float64Array, generator: Pcg64): number {
    fillCumulative(chances, this.#cumulative);
    return indexAt(this.#cumulative, generator.nextUniform53());
  }
}
