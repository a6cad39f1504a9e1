/** Runs replicates in threads. */
import { runBlocks, threadFile } from '../../base/threads.ts';
import { added, BLOCK, NOTHING, type Sums } from './monte-carlo.ts';
import type { Plan } from './plan.ts';

/** Replicates from the first up to, but not including, the last. */
export interface ReplicatesOrder {
  readonly plan: Plan;
  /** An integer from 0 to 2^32 - 1. */
  readonly seed: number;
  readonly first: number;
  readonly last: number;
}

export interface ReplicatesOptions {
  /** By default, as many as the machine has. They do not change the result. */
  readonly threads?: number;
  /** Gets the number of replicates that are done. */
  onProgress?(replicates: number): void;
}

export async function runReplicates(
  order: ReplicatesOrder,
  { threads, onProgress }: ReplicatesOptions = {},
): Promise<Sums> {
  const replicates = order.last - order.first;
  let sums = NOTHING;
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
