/**
 * Runs the study many times, each time with different random numbers and the same outcomes, in threads.
 *
 * Replicates are summed in blocks, and blocks are added in order, so that any number of threads gives the same numbers.
 * `runReplicates` shares the blocks out; `MonteCarlo` works one out, in a thread.
 */
import { runBlocks, threadFile } from '../../base/threads.ts';
import { fillCumulative, indexAt } from '../../core/methods/draw.ts';
import { Pcg64 } from '../../core/random/pcg64.ts';
import { baseSeed, Replicate, Setting } from '../replicate/replicate.ts';
import { type Plan, type PreparedSteps, prepared, Tally } from './plan.ts';
import { extremityOf, thresholdOf } from './statistic.ts';

/** Replicates per block. */
export const BLOCK = 100;

/** Replicates from the first up to, but not including, the last. */
export interface ReplicatesOrder {
  readonly plan: Plan;
  /** An integer from 0 to 2^32 - 1. */
  readonly seed: number;
  readonly first: number;
  readonly last: number;
}

interface ReplicatesOptions {
  /** By default, as many as the machine has. They do not change the result. */
  readonly threads?: number;
  /** Gets the number of replicates that are done. */
  onProgress?(replicates: number): void;
}

/** Sums over some replicates. A weight is the replicate's weight over that of the study itself; without other arms it is 1. */
export interface Sums {
  /** Replicates in which some arm has nobody with an outcome. They count as extreme. */
  readonly empty: number;
  readonly extreme: number;
  readonly weights: number;
  readonly extremeWeights: number;
  readonly squares: number;
  readonly extremeSquares: number;
}

/** The sums over all of them. */
export async function runReplicates(
  order: ReplicatesOrder,
  { threads, onProgress }: ReplicatesOptions = {},
): Promise<Sums> {
  const replicates = order.last - order.first;
  let sums = NO_SUMS;
  let done = 0;
  await runBlocks<Sums>({
    file: threadFile('replicates-thread'),
    workerData: order,
    blocks: Math.ceil(replicates / BLOCK),
    threads,
    onBlock(block) {
      sums = added(sums, block);
      done += BLOCK;
      onProgress?.(Math.min(replicates, done));
    },
  });
  return sums;
}

/** The sums over no replicates. */
export const NO_SUMS: Sums = {
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
  readonly #steps: PreparedSteps;
  readonly #tally: Tally;
  readonly #threshold: number;
  /** Logarithm of the weight of the study itself. */
  readonly #recordedWeight: number;
  #cumulative = new Float64Array(0);

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
    let total = NO_SUMS;
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
    const [first] = this.#steps;
    if (!(first instanceof Setting)) throw new Error('a study begins with its design');
    const replicate = new Replicate(generator, first);
    let setting = first;
    let weight = 0;
    for (const step of this.#steps)
      if (step instanceof Setting) {
        setting = step;
        replicate.amend(setting);
      } else if (hasOthers && step.kind === 'draw') {
        const { slots, chances } = replicate.look(step);
        this.#tally.keepPossible(chances, slots, step, setting);
        weight += Math.log(chances.reduce((sum, chance) => sum + chance, 0));
        // A person on an arm that is not compared keeps the slot, which needs no random number.
        const isKept = isRecorded || !this.#tally.isCompared(step.person);
        replicate.allocate(step, isKept ? step.slot : (slots[this.#drawn(chances, generator)] as number));
      } else if (isRecorded) replicate.repeat(step);
      else replicate.take(step);
    return { replicate, weight };
  }

  #drawn(chances: Float64Array, generator: Pcg64): number {
    if (this.#cumulative.length !== chances.length) this.#cumulative = new Float64Array(chances.length);
    fillCumulative(chances, this.#cumulative);
    return indexAt(this.#cumulative, generator.nextUniform53());
  }
}
