/** Simulations in real threads. */
import { describe, expect, it } from 'vitest';
import { simulateHere } from '../../src/statistics/simulation/blocks.ts';
import type { SimulationPlan } from '../../src/statistics/simulation/plan.ts';
import { simulate } from '../../src/statistics/simulation/simulate.ts';
import { planOf } from '../unit/simulation/exact/support.ts';

/** Its last block is not full. */
const plan: SimulationPlan = {
  ...planOf([1, 1, 1], 30, { reps: 1250, at: [10, 30], siteFactor: 0 }),
  comparators: [
    { name: 'complete', rule: { kind: 'complete' }, within: [] },
    { name: 'minimization:0.7', rule: { kind: 'minimization', p: 0.7 }, within: [] },
  ],
};

describe('a simulation in threads', () => {
  it('gives the same bytes, however many there are', async () => {
    const alone = JSON.stringify(simulateHere(plan));
    for (const threads of [1, 3]) expect(JSON.stringify(await simulate(plan, { threads }))).toBe(alone);
  });

  it('says how many replicates are done, in order', async () => {
    const done: number[] = [];
    await simulate(plan, { threads: 3, onProgress: (replicates) => done.push(replicates) });
    expect(done).toEqual([...Array.from({ length: 12 }, (_, i) => (i + 1) * 100), 1250]);
  });

  it('passes on what a thread throws', async () => {
    const nobody: SimulationPlan = { ...plan, arrivals: { kind: 'rows', rows: [[0]], weights: [0] } };
    await expect(simulate(nobody, { threads: 2 })).rejects.toThrow('one must be above 0');
  });

  it('passes on what the listener throws', async () => {
    const onProgress = () => {
      throw new Error('no terminal');
    };
    await expect(simulate(plan, { threads: 2, onProgress })).rejects.toThrow('no terminal');
  });
});
