/** Simulates a study's design, and others on the same participants, in threads. */
import { runBlocks, threadFile } from '../../base/threads.ts';
import { BLOCK, Summaries } from './blocks.ts';
import type { SimulationPlan } from './plan.ts';
import type { DesignResult } from './result.ts';
import type { BlockTally } from './tally.ts';

export interface SimulationOptions {
  /** By default, as many as the machine has. They do not change the result. */
  readonly threads?: number | undefined;
  /** Gets the number of replicates that are done. */
  readonly onProgress?: ((replicates: number) => void) | undefined;
}

/**
 * @returns first the study's own design, then the comparators in their order
 * @throws what a thread throws
 */
export async function simulate(
  plan: SimulationPlan,
  { threads, onProgress }: SimulationOptions = {},
): Promise<DesignResult[]> {
  const summaries = new Summaries(plan);
  let added = 0;
  await runBlocks<readonly BlockTally[]>({
    file: threadFile('simulation-thread'),
    workerData: plan,
    blocks: Math.ceil(plan.reps / BLOCK),
    threads,
    onBlock(tallies) {
      summaries.add(tallies);
      added++;
      onProgress?.(Math.min(plan.reps, added * BLOCK));
    },
  });
  return summaries.results();
}
