/** A thread of `runReplicates`: it receives one block number after the other, and returns the sums of that block. */
import { parentPort, workerData } from 'node:worker_threads';
import { BLOCK, MonteCarlo, type ReplicatesOrder } from './monte-carlo.ts';

if (!parentPort) throw new Error('this file must run as a worker thread');
const port = parentPort;
const { plan, seed, first, last } = workerData as ReplicatesOrder;
const test = new MonteCarlo(plan, seed);

port.on('message', (block: number) => {
  const from = first + block * BLOCK;
  port.postMessage(test.block(from, Math.min(last, from + BLOCK)));
});
