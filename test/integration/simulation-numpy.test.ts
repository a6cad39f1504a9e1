/**
 * Whole simulations: against the numpy of this machine, which computes who comes, every arm and every figure with its error by a
 * program that shares nothing with this one; and in real threads.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Comparator, ComparatorRule, SimulationPlan } from '../../src/statistics/simulation/plan.ts';
import { simulate, simulateHere } from '../../src/statistics/simulation/simulate.ts';
import { askPython, requiredPython } from '../support/numpy.ts';
import { planOf } from '../unit/simulation/support.ts';

const python = requiredPython();
const number = z.number();
const FIGURES = z.array(z.record(z.string(), z.strictObject({ value: number, low: number, high: number })));

const factor = (name: string, ...levels: string[]) => ({ name, levels });
const against = (rule: ComparatorRule, ...within: number[]): Comparator => ({
  name: JSON.stringify([rule, within]),
  ...{ rule, within },
});
const common = { study: 'trial', arrivalsSource: '', siteFactor: 0 };

const PLANS: Readonly<Record<string, SimulationPlan>> = {
  'three arms, factors not in the order of their names, unequal shares, a level that opens later': {
    ...common,
    design: {
      treatments: ['A', 'B', 'C'],
      ratio: [1, 1, 1],
      factors: [factor('site', '1', '2', '3', '4'), factor('age', 'old', 'young'), factor('sex', 'F', 'M')],
      ...{ w: 1, alpha: 0, beta: 1, D: 'chisquare' },
    },
    arrivals: {
      kind: 'shares',
      shares: [
        [120, 30, 7, 30],
        [1, 1],
        [0.2, 0.8],
      ],
      opens: [
        { factor: 0, level: 1, from: 9 },
        { factor: 0, level: 3, from: 20 },
      ],
    },
    comparators: [
      against({ kind: 'complete' }),
      against({ kind: 'block', sizes: [3, 6] }, 0),
      against({ kind: 'block', sizes: [3] }),
      against({ kind: 'minimization', p: 0.8 }),
      against({ kind: 'minimization', p: 0.9 }, 2, 1),
      against({ kind: 'urn', w: 3, alpha: 1, beta: 4, D: 'range' }, 1, 0),
    ],
    ...{ participants: 40, reps: 9, seed: 1n, at: [7, 40] },
  },
  'two arms, whole rows by weight, more replicates than a block': {
    ...common,
    design: {
      treatments: ['A', 'B'],
      ratio: [1, 1],
      factors: [factor('site', '1', '2', '3'), factor('sex', 'F', 'M', 'X')],
      ...{ w: 2, alpha: 0, beta: 3, D: 'variance' },
    },
    arrivals: {
      kind: 'rows',
      rows: [
        [0, 1],
        [1, 0],
        [2, 0],
        [2, 1],
      ],
      weights: [3, 1, 1, 0.5],
    },
    comparators: [
      against({ kind: 'efron', p: 0.7 }),
      against({ kind: 'efron', p: 0.65 }, 0),
      against({ kind: 'bigstick', limit: 2 }, 0, 1),
      against({ kind: 'block', sizes: [2, 4, 6] }, 1),
      against({ kind: 'minimization', p: 1 }),
    ],
    ...{ participants: 10, reps: 110, seed: 2n ** 63n - 1n, at: [5, 10] },
  },
  'an unequal ratio of three arms': {
    ...common,
    design: {
      treatments: ['A', 'B', 'C'],
      ratio: [1, 3, 2],
      factors: [factor('site', '1', '2'), factor('sex', 'F', 'M'), factor('age', 'a', 'b', 'c')],
      ...{ w: 1, alpha: 0, beta: 1, D: 'chisquare' },
    },
    arrivals: { kind: 'shares', shares: [2, 2, 3].map((levels) => Array(levels).fill(1)), opens: [] },
    comparators: [
      against({ kind: 'complete' }),
      against({ kind: 'block', sizes: [6, 12] }, 1),
      against({ kind: 'urn', w: 1, alpha: 0, beta: 1, D: 'variance' }, 0),
    ],
    ...{ participants: 30, reps: 12, seed: 77n, at: [30] },
  },
  'two arms of 2:1, one factor, a site of one person': {
    ...common,
    design: {
      treatments: ['A', 'B'],
      ratio: [2, 1],
      factors: [factor('site', '1', '2')],
      ...{ w: 1, alpha: 0, beta: 1, D: 'range' },
    },
    arrivals: { kind: 'shares', shares: [[30, 1]], opens: [] },
    comparators: [against({ kind: 'block', sizes: [3] }, 0)],
    ...{ participants: 20, reps: 30, seed: 5n, at: [2, 20] },
  },
};

it.skipIf(python === undefined).each(Object.entries(PLANS))(
  'a simulation, repeated with numpy: %s',
  (_, plan) => {
    const asked = { ...plan, seed: String(plan.seed) };
    const expected = askPython(python ?? '', ['simulation-oracle.py'], asked, FIGURES);
    const results = simulateHere(plan);
    expect(results.map(({ name }) => name)).toEqual(['study', ...plan.comparators.map(({ name }) => name)]);
    results.forEach(({ name, figures }, i) => {
      const own = expected[i] ?? {};
      expect(Object.keys(figures).sort(), name).toEqual(Object.keys(own).sort());
      for (const [key, figure] of Object.entries(figures)) {
        // Doubles summed in another order, and square roots of what rounding left of 0.
        for (const member of ['value', 'low', 'high'] as const)
          expect(figure[member], `${name}: ${member} of ${key}`).toBeCloseTo(
            own[key]?.[member] ?? Number.NaN,
            7,
          );
      }
    });
  },
);

/** Its last block is not full. */
const plan: SimulationPlan = {
  ...planOf([1, 1, 1], 10, { reps: 1250, at: [5, 10], siteFactor: 0 }),
  comparators: [
    { name: 'complete', rule: { kind: 'complete' }, within: [] },
    { name: 'minimization:0.7', rule: { kind: 'minimization', p: 0.7 }, within: [] },
  ],
};

describe('a simulation in threads', () => {
  it('gives the same bytes, however many there are, and says how many replicates are done, in order', async () => {
    const alone = JSON.stringify(simulateHere(plan));
    for (const threads of [1, 3]) {
      const done: number[] = [];
      const onProgress = (replicates: number) => done.push(replicates);
      expect(JSON.stringify(await simulate(plan, { threads, onProgress }))).toBe(alone);
      expect(done).toEqual([...Array.from({ length: 12 }, (_, i) => (i + 1) * 100), 1250]);
    }
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
