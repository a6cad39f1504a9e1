/**
 * Figures of simulated trials. Each figure with its error, and each arm: test/integration/simulation-numpy.test.ts, which
 * computes them by another program.
 */
import { describe, expect, it } from 'vitest';
import { simulateHere } from '../../../src/statistics/simulation/blocks.ts';
import { Covariates } from '../../../src/statistics/simulation/covariates.ts';
import { Moments, ranksAround, share } from '../../../src/statistics/simulation/intervals.ts';
import { RangeScale } from '../../../src/statistics/simulation/quantities.ts';
import { block, comparator, planOf, TWO } from './exact/support.ts';

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

describe('the loss of efficiency', () => {
  it('equals the rank of the levels, averaged over all allocations to two arms', () => {
    const factors = [
      ['a', 'b'],
      ['a', 'b', 'c'],
      ['a', 'b', 'never'],
      ['as the first', 'b'],
    ].map((levels, i) => ({ name: String(i), levels }));
    // One row for each participant. The last factor repeats the first.
    const rows = [
      [0, 0, 0, 0],
      [1, 1, 0, 1],
      [0, 1, 1, 0],
      [1, 2, 1, 1],
      [0, 2, 0, 0],
      [1, 0, 0, 1],
      [1, 1, 1, 1],
    ];
    const n = rows.length;
    const covariates = new Covariates(factors, [1, 1], [n]);
    covariates.prepare(Int32Array.from(rows.flat()));
    let sum = 0;
    for (let arms = 0; arms < 2 ** n; arms++) {
      const counts = new Int32Array(2 * 10);
      const inAll = new Int32Array(2);
      rows.forEach((row, i) => {
        const arm = (arms >> i) & 1;
        inAll[arm] = (inAll[arm] ?? 0) + 1;
        [0, 2, 5, 8].forEach((first, factor) => {
          const at = (first + (row[factor] ?? 0)) * 2 + arm;
          counts[at] = (counts[at] ?? 0) + 1;
        });
      });
      sum += covariates.loss(0, counts, inAll);
    }
    // 1 for the intercept, 1 for the first factor, 2 for the second, 1 for the third.
    expect(sum / 2 ** n).toBeCloseTo(5, 9);
  });

  it.each([
    { what: 'an empty arm', arms: [0, 1, 0, 1, 0, 1] },
    { what: 'an arm that is determined by a level', arms: [0, 1, 0, 1, 2, 2] },
  ])('is total with $what', ({ arms }) => {
    const sites = [0, 0, 1, 1, 2, 2];
    const covariates = new Covariates([{ levels: ['a', 'b', 'c'] }], [1, 1, 1], [6]);
    covariates.prepare(Int32Array.from(sites));
    const counts = new Int32Array(9);
    const inAll = new Int32Array(3);
    arms.forEach((arm, i) => {
      const at = (sites[i] ?? 0) * 3 + arm;
      counts[at] = (counts[at] ?? 0) + 1;
      inAll[arm] = (inAll[arm] ?? 0) + 1;
    });
    expect(covariates.loss(0, counts, inAll)).toBe(6);
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
