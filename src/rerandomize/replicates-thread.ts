/** A thread of replicates.ts: it runs the replicates that it is told to, until it is ended. */
import { parentPort, workerData } from 'node:worker_threads';
import { BLOCK, MonteCarlo, type Sums } from './monte-carlo.ts';
import type { Plan } from './plan.ts';

export interface ReplicatesThreadData {
  readonly plan: Plan;
  readonly seed: number;
}

/** Replicates from the first up to, but not including, the last. */
export interface Part {
  readonly first: number;
  readonly last: number;
}

if (!parentPort) throw new Error('this file must run as a worker thread');
const port = parentPort;
const { plan, seed } = workerData as ReplicatesThreadData;
const test = new MonteCarlo(plan, seed);

port.on('message', ({ first, last }: Part) => {
  const blocks: Sums[] = [];
  for (let from = first; from < last; from += BLOCK)
    blocks.push(test.block(from, Math.min(last, from + BLOCK)));
  port.postMessage(blocks);
});
