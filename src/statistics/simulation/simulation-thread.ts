/** A thread of simulate.ts: it receives one block number after the other, and returns the tallies of that block. */
import { parentPort, workerData } from 'node:worker_threads';
import type { SimulationPlan } from './plan.ts';
import { BlockSimulation } from './simulate.ts';

if (!parentPort) throw new Error('this file must run as a worker thread');
const port = parentPort;
const simulation = new BlockSimulation(workerData as SimulationPlan);

port.on('message', (block: number) => port.postMessage(simulation.run(block)));
