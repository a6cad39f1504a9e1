/** Simulates a study's design, and others on the same participants, in threads. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { threadFile } from '../base/thread-file.ts';
import { BLOCK, Summaries } from './blocks.ts';
import type { BlockTally } from './figures/tally.ts';
import type { SimulationPlan } from './plan.ts';
import type { DesignResult } from './result.ts';

export interface SimulationOptions {
  /** By default, as many as the machine has. They do not change the result. */
  readonly threads?: number | undefined;
  /** Gets the number of replicates that are done. */
  readonly onProgress?: ((replicates: number) => void) | undefined;
  readonly stop?: AbortSignal | undefined;
}

/** Blocks, for each thread, that may be under way or done before the one that is next to be added. */
const AHEAD = 4;

/**
 * @returns first the study's own design, then the comparators in their order
 * @throws what a thread throws; the reason of `stop`
 */
export async function simulate(
  plan: SimulationPlan,
  { threads = availableParallelism(), onProgress, stop }: SimulationOptions = {},
): Promise<DesignResult[]> {
  stop?.throwIfAborted();
  const blocks = Math.ceil(plan.reps / BLOCK);
  const workers = Array.from(
    { length: Math.max(1, Math.min(threads, blocks)) },
    () => new Worker(threadFile('simulation-thread'), { workerData: plan }),
  );
  const summaries = new Summaries(plan);
  let onStop: () => void = () => undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      onStop = () => reject(stop?.reason);
      stop?.addEventListener('abort', onStop);
      for (const worker of workers) {
        worker.once('error', reject);
        worker.once('exit', () => reject(new Error('a thread of the simulation ended')));
      }
      let added = 0;
      shareOut(workers, blocks, (tallies) => {
        summaries.add(tallies);
        added++;
        try {
          onProgress?.(Math.min(plan.reps, added * BLOCK));
        } catch (error) {
          reject(error);
        }
        if (added === blocks) resolve();
      });
    });
    return summaries.results();
  } finally {
    stop?.removeEventListener('abort', onStop);
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

/** @param onBlock gets the blocks in order, whichever thread is first */
function shareOut(
  workers: readonly Worker[],
  blocks: number,
  onBlock: (tallies: readonly BlockTally[]) => void,
): void {
  const idle = [...workers];
  const done = new Map<number, readonly BlockTally[]>();
  let given = 0;
  let next = 0;

  const giveOut = () => {
    while (given < Math.min(blocks, next + AHEAD * workers.length)) {
      const worker = idle.pop();
      if (!worker) return;
      const block = given++;
      worker.once('message', (tallies: readonly BlockTally[]) => {
        idle.push(worker);
        done.set(block, tallies);
        takeNext();
        giveOut();
      });
      worker.postMessage(block);
    }
  };
  const takeNext = () => {
    for (let tallies = done.get(next); tallies !== undefined; tallies = done.get(next)) {
      done.delete(next++);
      onBlock(tallies);
    }
  };
  giveOut();
}
