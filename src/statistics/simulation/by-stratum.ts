/** Designs that treat each stratum as a trial of its own. */
import { boundedInteger } from '../../core/random/bounded.ts';
import type { Pcg64 } from '../../core/random/pcg64.ts';
import { ArmDraw, type Participants, type Rule } from './rule.ts';

/** Each participant independently, in the ratio. */
export class Complete implements Rule {
  readonly drawnFactor = -1;
  readonly chances: Float64Array;
  readonly #arm: ArmDraw;

  constructor(ratio: readonly number[]) {
    const sum = ratio.reduce((total, share) => total + share, 0);
    this.chances = Float64Array.from(ratio, (share) => share / sum);
    this.#arm = new ArmDraw(ratio.length);
  }

  restart(): void {}

  allocate(_participant: number, generator: Pcg64): number {
    return this.#arm.draw(this.chances, generator);
  }
}

/** Permuted blocks, each of one of the sizes, by lot. */
export class Blocks implements Rule {
  readonly drawnFactor = -1;
  readonly chances: Float64Array;
  readonly #sizes: readonly number[];
  readonly #ratio: readonly number[];
  readonly #sum: number;
  readonly #strata: Int32Array;
  /** For each stratum: how often each arm is left in the block that is open. */
  readonly #left: Int32Array;
  /** The sum of these in each stratum. */
  readonly #leftInAll: Int32Array;
  readonly #arm: ArmDraw;

  /** @param sizes multiples of the sum of the ratio */
  constructor(
    sizes: readonly number[],
    ratio: readonly number[],
    participants: Participants,
    within: readonly number[],
  ) {
    this.#sizes = sizes;
    this.#ratio = ratio;
    this.#sum = ratio.reduce((total, share) => total + share, 0);
    this.#strata = participants.strata(within);
    this.#leftInAll = new Int32Array(this.#strata.length);
    this.#left = new Int32Array(this.#strata.length * ratio.length);
    this.chances = new Float64Array(ratio.length);
    this.#arm = new ArmDraw(ratio.length);
  }

  restart(): void {
    this.#leftInAll.fill(0);
  }

  allocate(participant: number, generator: Pcg64): number {
    const stratum = this.#strata[participant] as number;
    const arms = this.chances.length;
    const start = stratum * arms;
    if (this.#leftInAll[stratum] === 0) this.#open(stratum, generator);
    const inAll = this.#leftInAll[stratum] as number;
    for (let arm = 0; arm < arms; arm++) this.chances[arm] = (this.#left[start + arm] as number) / inAll;
    const arm = this.#arm.draw(this.chances, generator);
    this.#left[start + arm] = (this.#left[start + arm] as number) - 1;
    this.#leftInAll[stratum] = inAll - 1;
    return arm;
  }

  #open(stratum: number, generator: Pcg64): void {
    const size = this.#sizes[boundedInteger(generator, this.#sizes.length)] as number;
    const arms = this.#ratio.length;
    for (let arm = 0; arm < arms; arm++)
      this.#left[stratum * arms + arm] = (size / this.#sum) * (this.#ratio[arm] as number);
    this.#leftInAll[stratum] = size;
  }
}

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
