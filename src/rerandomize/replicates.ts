/** Runs replicates on threads. Their number changes nothing in the sums: blocks are added in order. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { threadFile } from '../base/thread-file.ts';
import { added, BLOCK, NOTHING, type Sums } from './monte-carlo.ts';
import type { Plan } from './plan.ts';
import type { Part, ReplicatesThreadData } from './replicates-thread.ts';

/** Blocks that a thread gets at a time. */
const BLOCKS = 5;

export interface ReplicatesRequest extends Part {
  readonly plan: Plan;
  /** An integer from 0 to 2^32 - 1. */
  readonly seed: number;
  readonly threads?: number;
  /** Gets the number of replicates that are done. */
  onProgress?(replicates: number): void;
}

export async function runReplicates({
  plan,
  seed,
  first,
  last,
  threads = availableParallelism(),
  onProgress,
}: ReplicatesRequest): Promise<Sums> {
  const parts: Part[] = [];
  for (let from = first; from < last; from += BLOCKS * BLOCK)
    parts.push({ first: from, last: Math.min(last, from + BLOCKS * BLOCK) });
  const results: Sums[][] = [];
  let next = 0;
  let done = 0;
  const workerData: ReplicatesThreadData = { plan, seed };
  const workers = Array.from(
    { length: Math.min(threads, parts.length) },
    () => new Worker(threadFile('replicates-thread'), { workerData }),
  );
  const work = (worker: Worker) =>
    new Promise<void>((resolve, reject) => {
      let mine = -1;
      const goOn = () => {
        mine = next++;
        const part = parts[mine];
        if (part) worker.postMessage(part);
        else resolve();
      };
      worker.on('error', reject);
      worker.on('message', (blocks: Sums[]) => {
        results[mine] = blocks;
        const part = parts[mine] as Part;
        done += part.last - part.first;
        onProgress?.(done);
        goOn();
      });
      goOn();
    });
  try {
    await Promise.all(workers.map(work));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return results.flat().reduce(added, NOTHING);
}
