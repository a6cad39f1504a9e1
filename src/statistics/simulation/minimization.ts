/**
 * Minimization: the arm with the least imbalance, if the participant were assigned to it, is the likeliest.
 *
 * Source: S. J. Pocock and R. Simon, "Sequential Treatment Assignment with Balancing for Prognostic Factors in the
 * Controlled Clinical Trial", Biometrics 31(1), 1975; imbalance is the sum, over the factors, of the range.
 */
import type { Pcg64 } from '../../core/random/pcg64.ts';
import { ArmDraw, type Participants, type Rule } from './rule.ts';

export class Minimization implements Rule {
  readonly drawnFactor = -1;
  readonly chances: Float64Array;
  readonly #p: number;
  readonly #participants: Participants;
  readonly #within: Int32Array;
  /** Where the counts of each factor begin. */
  readonly #starts: Int32Array;
  /** n_k of each level of these factors. */
  readonly #counts: Int32Array;
  /** For each arm: the imbalance if the participant were assigned to it. */
  readonly #imbalances: Int32Array;
  readonly #arm: ArmDraw;

  /** @param within indexes of the factors; none: all factors */
  constructor(p: number, arms: number, participants: Participants, within: readonly number[]) {
    const { factors } = participants;
    this.#p = p;
    this.#participants = participants;
    this.#within = Int32Array.from(within.length > 0 ? within : factors.keys());
    this.#starts = new Int32Array(this.#within.length);
    let length = 0;
    this.#within.forEach((factor, i) => {
      this.#starts[i] = length;
      length += (factors[factor]?.levels.length ?? 0) * arms;
    });
    this.#counts = new Int32Array(length);
    this.#imbalances = new Int32Array(arms);
    this.chances = new Float64Array(arms);
    this.#arm = new ArmDraw(arms);
  }

  restart(): void {
    this.#counts.fill(0);
  }

  allocate(participant: number, generator: Pcg64): number {
    const { levels, factors } = this.#participants;
    const arms = this.chances.length;
    const first = participant * factors.length;
    this.#imbalances.fill(0);
    for (let i = 0; i < this.#within.length; i++) this.#addRanges(this.#row(i, first, levels, arms));
    this.#fillChances();
    const arm = this.#arm.draw(this.chances, generator);
    for (let i = 0; i < this.#within.length; i++) {
      const at = this.#row(i, first, levels, arms) + arm;
      this.#counts[at] = (this.#counts[at] as number) + 1;
    }
    return arm;
  }

  /** Where the counts of the participant's level begin. */
  #row(i: number, first: number, levels: Int32Array, arms: number): number {
    return (this.#starts[i] as number) + (levels[first + (this.#within[i] as number)] as number) * arms;
  }

  /** Adds, for each arm, the range of a level's counts if the participant were assigned to it. */
  #addRanges(row: number): void {
    const arms = this.chances.length;
    for (let arm = 0; arm < arms; arm++) {
      let most = 0;
      let least = Number.POSITIVE_INFINITY;
      for (let other = 0; other < arms; other++) {
        const count = (this.#counts[row + other] as number) + (other === arm ? 1 : 0);
        if (count > most) most = count;
        if (count < least) least = count;
      }
      this.#imbalances[arm] = (this.#imbalances[arm] as number) + most - least;
    }
  }

  /** One of the F best arms, at random, has p, and all others share the rest equally. These are the means over that choice. */
  #fillChances(): void {
    const K = this.chances.length;
    const p = this.#p;
    let least = Number.POSITIVE_INFINITY;
    let F = 0;
    for (let arm = 0; arm < K; arm++) {
      const imbalance = this.#imbalances[arm] as number;
      if (imbalance < least) F = 0;
      if (imbalance <= least) F++;
      least = Math.min(least, imbalance);
    }
    const best = (p * (K - 1) + (F - 1) * (1 - p)) / (F * (K - 1));
    const other = (1 - p) / (K - 1);
    for (let arm = 0; arm < K; arm++) this.chances[arm] = this.#imbalances[arm] === least ? best : other;
  }
}
