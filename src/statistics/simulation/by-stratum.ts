/** Designs that treat each stratum as a trial of its own. */
import type { Pcg64 } from '../../core/random/pcg64.ts';
import { ArmDraw, type Participants, type Rule } from './rule.ts';

/** Two arms: the probability of each depends on their difference in the stratum alone. */
export class TwoArms implements Rule {
  readonly drawnFactor = -1;
  readonly chances = new Float64Array(2);
  /** p of the first arm, given by how many it is ahead of the second. */
  readonly #chance: (ahead: number) => number;
  readonly #strata: Int32Array;
  readonly #ahead: Int32Array;
  readonly #arm = new ArmDraw(2);

  constructor(chance: (ahead: number) => number, participants: Participants, within: readonly number[]) {
    this.#chance = chance;
    this.#strata = participants.strata(within);
    this.#ahead = new Int32Array(this.#strata.length);
  }

  restart(): void {
    this.#ahead.fill(0);
  }

  allocate(participant: number, generator: Pcg64): number {
    const stratum = this.#strata[participant] as number;
    const ahead = this.#ahead[stratum] as number;
    const chance = this.#chance(ahead);
    this.chances[0] = chance;
    this.chances[1] = 1 - chance;
    const arm = this.#arm.draw(this.chances, generator);
    this.#ahead[stratum] = ahead + (arm === 0 ? 1 : -1);
    return arm;
  }
}

/** Efron's biased coin: the arm that is behind has the probability p. */
export function biasedCoin(p: number): (ahead: number) => number {
  return (ahead) => (ahead === 0 ? 0.5 : ahead < 0 ? p : 1 - p);
}

/** The big stick: a fair coin until the difference is at its limit, then the arm that is behind. */
export function bigStick(limit: number): (ahead: number) => number {
  return (ahead) => (ahead >= limit ? 0 : ahead <= -limit ? 1 : 0.5);
}
