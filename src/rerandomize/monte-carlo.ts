/**
 * The study is run again and again, each time with other random numbers and the same outcomes.
 *
 * Replicates are summed in blocks, and blocks are added in order, so that any number of threads gives the same numbers.
 */
import { Pcg64 } from '../random/pcg64.ts';
import { Replicate, Setting } from '../replicate/replicate.ts';
import { baseSeed } from '../replicate/seeds.ts';
import type { DrawStep } from '../replicate/steps.ts';
import { cumulative, indexAt } from '../urn/draw.ts';
import { type PeopleStep, type Plan, type Prepared, prepared, Tally } from './plan.ts';
import { extremityOf, thresholdOf } from './statistic.ts';

/** Replicates per block. */
export const BLOCK = 100;

/** Of some replicates. A weight is that of the replicate over that of the study as it was; without other arms it is 1. */
export interface Sums {
  /** Replicates in which an arm has nobody with an outcome. They count as extreme. */
  readonly empty: number;
  readonly extreme: number;
  readonly weights: number;
  readonly extremeWeights: number;
  readonly squares: number;
  readonly extremeSquares: number;
}

export const NOTHING: Sums = {
  ...{ empty: 0, extreme: 0, weights: 0, extremeWeights: 0, squares: 0, extremeSquares: 0 },
};

export function added(a: Sums, b: Sums): Sums {
  return {
    empty: a.empty + b.empty,
    extreme: a.extreme + b.extreme,
    weights: a.weights + b.weights,
    extremeWeights: a.extremeWeights + b.extremeWeights,
    squares: a.squares + b.squares,
    extremeSquares: a.extremeSquares + b.extremeSquares,
  };
}

export class MonteCarlo {
  readonly #plan: Plan;
  readonly #seed: bigint;
  readonly #steps: Prepared;
  readonly #tally: Tally;
  readonly #threshold: number;
  /** Logarithm of the weight of the study as it was. */
  readonly #recordedWeight: number;
  #chances = new Float64Array(0);

  /** @param seed an integer from 0 to 2^32 - 1 */
  constructor(plan: Plan, seed: number) {
    this.#plan = plan;
    this.#seed = baseSeed(seed);
    this.#steps = prepared(plan.steps);
    this.#tally = new Tally(plan);
    this.#tally.count((person) => plan.recorded[person] as number);
    const { numbers, sums } = this.#tally;
    this.#threshold = thresholdOf(extremityOf(plan.statistic, numbers, sums));
    this.#recordedWeight = plan.hasOthers ? this.#run(Pcg64.fromSeed(0n), true).weight : 0;
  }

  /** The replicates from the first up to, but not including, the last. */
  block(first: number, last: number): Sums {
    const { statistic, hasOthers } = this.#plan;
    const { numbers, sums } = this.#tally;
    let total = NOTHING;
    for (let r = first; r < last; r++) {
      const { replicate, weight: logarithm } = this.#run(Pcg64.fromSeed(this.#seed + BigInt(r)), false);
      const isWhole = this.#tally.count((person) => replicate.arm(person));
      const isExtreme = !isWhole || extremityOf(statistic, numbers, sums) >= this.#threshold;
      const weight = hasOthers ? Math.exp(logarithm - this.#recordedWeight) : 1;
      const extreme = isExtreme ? 1 : 0;
      total = added(total, {
        empty: isWhole ? 0 : 1,
        extreme,
        weights: weight,
        extremeWeights: weight * extreme,
        squares: weight ** 2,
        extremeSquares: weight ** 2 * extreme,
      });
    }
    return total;
  }

  /** @param isRecorded everybody gets the slot that is recorded, which needs no random numbers */
  #run(generator: Pcg64, isRecorded: boolean): { replicate: Replicate; weight: number } {
    const { hasOthers } = this.#plan;
    let weight = 0;
    let replicate: Replicate | undefined;
    for (const step of this.#steps)
      if (step instanceof Setting) {
        replicate ??= new Replicate(generator, step);
        replicate.amend(step);
        this.#setting = step;
      } else if (!replicate) throw new Error('a study begins with its design');
      else if (hasOthers && step.kind === 'draw')
        weight += Math.log(this.#drawBetween(replicate, step, isRecorded ? undefined : generator));
      else if (isRecorded) replicate.repeat(step);
      else replicate.take(step as PeopleStep);
    if (!replicate) throw new Error('a study begins with its design');
    return { replicate, weight };
  }

  #setting: Setting | undefined;

  /**
   * Allocates a person to one of the arms compared, or as recorded if the person is on another.
   * @returns the probability of an arm compared, or of what is recorded
   */
  #drawBetween(replicate: Replicate, step: DrawStep, generator: Pcg64 | undefined): number {
    const { recorded } = this.#plan;
    const setting = this.#setting as Setting;
    const { arms, urnDesign } = setting.design;
    const places = urnDesign.places?.slots;
    const count = urnDesign.slots.length;
    if (this.#chances.length !== count) this.#chances = new Float64Array(count);
    const chances = this.#chances;
    replicate.look(step).chances(chances);
    const isCompared = this.#tally.place(recorded[step.person] as number) >= 0;
    const weights: number[] = [];
    for (let i = 0; i < count; i++) {
      const slot = places ? (places[i] as number) : i;
      const isPossible = isCompared ? this.#tally.place(arms[slot] as number) >= 0 : slot === step.slot;
      weights.push(isPossible ? (chances[i] as number) : 0);
    }
    let slot = step.slot;
    if (isCompared && generator) {
      const drawn = indexAt(cumulative(weights), generator.nextUniform53());
      slot = places ? (places[drawn] as number) : drawn;
    }
    replicate.allocate(step, slot);
    return weights.reduce((sum, one) => sum + one, 0);
  }
}
