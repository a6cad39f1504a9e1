/**
 * What test/integration/simulation-numpy.test.ts, which computes each arm and each figure with its error by another program,
 * does not see of a simulation.
 */
import { describe, expect, it } from 'vitest';
import { levelSource } from '../../../src/statistics/simulation/arrivals.ts';
import { simulateHere } from '../../../src/statistics/simulation/blocks.ts';
import { Moments, ranksAround, share } from '../../../src/statistics/simulation/intervals.ts';
import type { ComparatorRule } from '../../../src/statistics/simulation/plan.ts';
import { RangeScale } from '../../../src/statistics/simulation/quantities.ts';
import { comparatorProblem } from '../../../src/statistics/simulation/rules.ts';
import { Strata } from '../../../src/statistics/simulation/strata.ts';
import {
  bigStick,
  block,
  COMPLETE,
  comparator,
  efron,
  minimization,
  planOf,
  TWO,
  urn,
} from './exact/support.ts';

it('figures come with the course and the distribution of the range', () => {
  const plan = planOf(TWO, 4, { reps: 400, comparators: [comparator(block(2))] });
  const [study, blocks] = simulateHere(plan);
  const always = (n: number, range: number) => {
    return { n, p05: range, p25: range, p50: range, p75: range, p95: range };
  };
  expect(blocks?.course).toEqual([always(1, 1), always(2, 0), always(3, 1), always(4, 0)]);
  expect(blocks?.distribution).toEqual([{ range: 0, share: 1 }]);
  // The second is on the arm of the first with probability 1/3.
  expect(study?.course[1]).toEqual({ n: 2, p05: 0, p25: 0, p50: 0, p75: 2, p95: 2 });
  expect(study?.distribution.map(({ range }) => range)).toEqual([0, 2, 4]);
});

it('one participant has no drift', () => {
  const { figures = {} } = simulateHere(planOf(TWO, 1, { reps: 3 }))[0] ?? {};
  expect(figures['drift']).toBeUndefined();
  expect(figures['entropy']?.value).toBeCloseTo(Math.log(2), 12);
  expect(figures['loss@1']?.value).toBe(1);
  for (const { value, low, high } of Object.values(figures))
    expect(Number.isFinite(value + low + high)).toBe(true);
});

describe('the range with a ratio', () => {
  it('is a whole number of parts', () => {
    const scale = new RangeScale([1, 3, 2]);
    expect(scale.factors).toEqual([6, 2, 3]);
    // 10, 20, 30 for 1, 3, 2: 10, 6.67, 15 per part. (6/3) * (15 - 6.67)
    expect(scale.unit * (30 * 3 - 20 * 2)).toBeCloseTo((6 / 3) * (15 - 20 / 3), 12);
  });

  it('is compared exactly with a fraction of n', () => {
    const scale = new RangeScale([1, 1, 1]);
    expect([14, 15, 16].map((range) => scale.isAtLeast(range, 20, 300))).toEqual([false, true, true]);
    // (3/2) * range/2 >= 20/10
    const unequal = new RangeScale([2, 1]);
    expect([2, 3].map((range) => unequal.isAtLeast(range, 10, 20))).toEqual([false, true]);
  });
});

describe('Monte Carlo errors', () => {
  it('of shares end at 0 and 1, and those of equal values are none, to the bit', () => {
    expect([share(0, 10).low, share(10, 10).high]).toEqual([0, 1]);
    const moments = new Moments();
    for (let i = 0; i < 1000; i++) moments.add(1 / 3);
    expect(moments.figure()).toEqual({ value: 1 / 3, low: 1 / 3, high: 1 / 3 });
  });

  it.each([
    { q: 0.95, count: 10_000, low: 9457, high: 9543 },
    { q: 0.5, count: 1, low: 1, high: 1 },
  ])('of the quantile $q of $count values are given by ranks', ({ q, count, low, high }) => {
    expect(ranksAround(q, count)).toEqual({ low, high });
  });

  it('of a quantile enclose it in at least 95 % of samples, but not in all', () => {
    for (const [q, count] of [
      [0.05, 200],
      [0.25, 77],
      [0.75, 40],
    ] as const) {
      const { low, high } = ranksAround(q, count);
      expect(binomialSum(count, q, low, high - 1)).toBeGreaterThanOrEqual(0.95);
      expect(binomialSum(count, q, low + 1, high - 1)).toBeLessThan(0.975);
      expect(binomialSum(count, q, low, high - 2)).toBeLessThan(0.975);
    }
  });
});

describe('what fits a study', () => {
  const studies = { two: [1, 1], three: [1, 1, 1], unequal: [2, 1] };
  const factors = ['site', 'age', 'sex'].map((name) => ({ name, levels: ['1', '2'] }));
  const problem = (study: keyof typeof studies, rule: ComparatorRule, within: readonly number[] = []) =>
    comparatorProblem({ rule, within }, { ratio: studies[study], factors });

  it.each<Parameters<typeof problem>>([
    ['two', efron(0.5)],
    ['two', bigStick(1), [0]],
    ['three', block(3, 9), [0, 1]],
    ['unequal', block(3, 6)],
    ['unequal', COMPLETE],
    ['unequal', urn(5, 0, 1), [1]],
    ['three', minimization(0.334)],
    ['unequal', { kind: 'minimization', p: 0.8, measure: 'variance' }],
    ['three', minimization(1)],
  ])('%s: %j', (...asked) => {
    expect(problem(...asked)).toBeUndefined();
  });

  it.each<[string, ...Parameters<typeof problem>]>([
    ['it is for two arms, and the study has 3', 'three', efron(0.7)],
    ['it is for two arms, and the study has 3', 'three', bigStick(3)],
    ['it is not for a study with a ratio', 'unequal', efron(0.7)],
    ['p has at most three decimals', 'three', minimization(1 / 3)],
    ['p must be from 1/3 (the share of a slot) to 1', 'unequal', minimization(0.3)],
    ['p must be from 0.5 to 1', 'two', efron(0.49)],
    ['p must be from 0.5 to 1', 'two', efron(Number.NaN)],
    ['p must be from 1/3 (the share of an arm) to 1', 'three', minimization(0.3)],
    ['p must be from 1/3 (the share of an arm) to 1', 'three', minimization(1.1)],
    ['the largest difference must be a whole number of at least 1', 'two', bigStick(0)],
    ['the size 4 is not a multiple of 3, the number of arms, up to 1000000', 'three', block(3, 4)],
    ['the size 2 is not a multiple of 3, the sum of the ratio, up to 1000000', 'unequal', block(2)],
    ['it has no size', 'two', block()],
    ['w must be a whole number from 1 to 1000000', 'two', urn(0, 0, 1)],
    ['beta must be a whole number from 0 to 1000000', 'two', urn(1, 0, 0.5)],
    ['it has no factors', 'two', COMPLETE, [0]],
    ['a factor is named twice', 'two', urn(1, 0, 1), [0, 0]],
    ['the study has no such factor', 'two', urn(1, 0, 1), [3]],
  ])('not %s: %s, %j', (why, ...asked) => {
    expect(problem(...asked)).toBe(why);
  });
});

describe('levels by shares', () => {
  it.each([
    { why: 'no positive share', shares: [[0, 0]], opens: [] },
    { why: 'a negative share', shares: [[2, -1]], opens: [] },
    { why: 'an infinite share', shares: [[Number.POSITIVE_INFINITY, 1]], opens: [] },
    { why: 'no level open at first', shares: [[1, 0]], opens: [{ factor: 0, level: 0, from: 2 }] },
  ])('are refused with $why', ({ shares, opens }) => {
    expect(() => levelSource({ kind: 'shares', shares, opens }, 10)).toThrow(RangeError);
  });
});

describe('strata', () => {
  const factors = (...sizes: number[]) => sizes.map((size) => ({ levels: Array<string>(size).fill('') }));

  it('group participants alike in some factors, numbered in order of appearance', () => {
    const strata = new Strata(factors(3, 2, 2), [2, 0], 5);
    strata.assign(Int32Array.from([2, 0, 1, 0, 1, 1, 2, 1, 1, 0, 0, 0, 0, 0, 1]));
    expect([...strata.of]).toEqual([0, 1, 0, 2, 1]);
    strata.assign(Int32Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]));
    expect([...strata.of]).toEqual([0, 0, 0, 1, 0]);
  });

  it('are distinguished even among more combinations than a double can count', () => {
    const sizes = Array<number>(25).fill(40);
    const rows = [0, 1, 0, 2, 1].map((kind) =>
      sizes.map((_, i) => (i === 0 && kind === 1 ? 39 : i === 24 ? kind : 39)),
    );
    const strata = new Strata(factors(...sizes), [...sizes.keys()], rows.length);
    strata.assign(Int32Array.from(rows.flat()));
    expect([...strata.of]).toEqual([0, 1, 0, 2, 1]);
  });
});

/** P(from <= B <= to), multiplied factor by factor. */
function binomialSum(count: number, q: number, from: number, to: number): number {
  let sum = 0;
  for (let k = from; k <= to; k++) {
    let one = (1 - q) ** (count - k);
    for (let i = 1; i <= k; i++) one *= (q * (count - k + i)) / i;
    sum += one;
  }
  return sum;
}
