import { describe, expect, it } from 'vitest';
import { simulateHere } from '../../../src/statistics/simulation/blocks.ts';
import { Covariates } from '../../../src/statistics/simulation/covariates.ts';
import {
  deviationFigure,
  Histogram,
  Moments,
  percentileFigure,
  ranksAround,
  share,
} from '../../../src/statistics/simulation/intervals.ts';
import type { SimulationPlan } from '../../../src/statistics/simulation/plan.ts';
import { RangeScale } from '../../../src/statistics/simulation/quantities.ts';
import { Summary } from '../../../src/statistics/simulation/summary.ts';
import { Tally } from '../../../src/statistics/simulation/tally.ts';

describe('figures of two replicates, worked out by hand', () => {
  const plan: SimulationPlan = {
    study: 'trial',
    design: {
      treatments: ['A', 'B'],
      ratio: [1, 1],
      factors: [{ name: 'site', levels: ['x', 'y', 'nobody'] }],
      ...{ w: 1, alpha: 0, beta: 1, D: 'range' },
    },
    arrivals: { kind: 'shares', shares: [[1, 1, 0]], opens: [] },
    arrivalsSource: '',
    comparators: [],
    siteFactor: 0,
    ...{ participants: 4, reps: 2, seed: 1n, at: [3, 4] },
  };
  const levels = Int32Array.from([0, 0, 1, 0]);
  const chancesOfA = [0.5, 0.2, 0, 0.9];

  const { figures, course, distribution } = resultOf([
    [0, 1, 1, 0],
    [0, 0, 1, 1],
  ]);

  function resultOf(replicates: readonly (readonly number[])[]) {
    const participants = { levels, factors: plan.design.factors, strata: () => levels };
    const covariates = new Covariates(plan.design.factors, plan.design.ratio, plan.at);
    const tally = new Tally(plan, participants, covariates, [0]);
    const summary = new Summary(plan, ['site']);
    covariates.prepare(levels);
    tally.begin(replicates.length);
    for (const arms of replicates) {
      tally.beginReplicate();
      arms.forEach((arm, i) => {
        const chance = chancesOfA[i] ?? 0;
        const rule = { chances: Float64Array.of(chance, 1 - chance), drawnFactor: i === 0 ? 0 : -1 };
        tally.note(i, arm, { ...rule, restart: () => undefined, allocate: () => arm });
      });
      tally.endReplicate();
    }
    summary.add(tally.finish());
    return summary.result('study');
  }

  it.each([
    ['overall.range@3.mean', 1],
    ['overall.range@4.mean', 0],
    ['overall.range@4.ge5', 0],
    ['overall.range@3.ge10', 1],
    ['course.range.mean', (1 + 2) / 2],
    ['course.range.p05', 1],
    ['course.range.p50', 1],
    ['course.range.p75', 2],
    ['level.site.x.range@3.mean', (0 + 2) / 2],
    ['level.site.x.range@4.mean', 1],
    ['level.site.y.range@4.mean', 1],
    ['level.site.y.range@4.ge10', 1],
    ['level.site.nobody.range@4.mean', 0],
    // 0 is at least 5 % of 0.
    ['level.site.nobody.range@4.ge5', 1],
    ['levels.range@3.mean', (1 + 2) / 2],
    ['strata.range@3.mean', (1 + 2) / 2],
    ['difference.sd@3', Math.SQRT2],
    ['difference.sd@4', 0],
    ['balanced', (2 / 4 + 1 / 4) / 2],
    ['guess.naive', ((0.5 + 0.8 + 0.5 + 0.9) / 4 + (0.5 + 0.8 + 1 + 0.1) / 4) / 2],
    ['guess.site', ((0.5 + 0.8 + 0.5 + 0.5) / 4 + (0.5 + 0.8 + 0.5 + 0.1) / 4) / 2],
    ['guess.known', (0.5 + 0.8 + 1 + 0.9) / 4],
    ['guess.blind', 0.5],
    ['certain.80', 3 / 4],
    ['certain.90', 2 / 4],
    ['certain.100', 1 / 4],
    ['forcing', 4 * ((0 + 0.3 + 0.5 + 0.4) / 4)],
    ['entropy', (Math.log(2) + 0.5004024235381879 + 0.3250829733914482) / 4],
    ['share', 0.5],
    // A, B, B, A has no drift; A, A, B, B has 2 * 2^2 of 0.5 * 5.
    ['drift', (0 + 3.2) / 2],
    // In x, two of three are on one arm: 2/3 of the indicator's 4/4 is left.
    ['loss@4', 4 * (1 - 2 / 3)],
    // After three, A, B in x leave 1/2 of 3/4; A, A in x leave nothing.
    ['loss@3', (3 * (1 - 2 / 3) + 3) / 2],
    ['drawn.site', 1 / 4],
  ])('%s is %d', (name, value) => {
    expect(figures[name]?.value).toBeCloseTo(value, 12);
  });

  it('there are no other figures', () => {
    const names = Object.keys(figures).filter((name) => !/range(@\d)?\.(mean|p\d\d|ge5|ge10)$/.test(name));
    expect(names.sort()).toEqual(
      [
        ...['balanced', 'certain.100', 'certain.80', 'certain.90', 'difference.sd@3', 'difference.sd@4'],
        ...['drawn.site', 'drift', 'entropy', 'forcing', 'guess.blind', 'guess.known', 'guess.naive'],
        ...['guess.site', 'loss@3', 'loss@4', 'share'],
      ].sort(),
    );
  });

  it('they come with the course and the distribution of the range', () => {
    expect(course).toEqual([
      { n: 1, p05: 1, p25: 1, p50: 1, p75: 1, p95: 1 },
      { n: 2, p05: 0, p25: 0, p50: 0, p75: 2, p95: 2 },
      { n: 3, p05: 1, p25: 1, p50: 1, p75: 1, p95: 1 },
      { n: 4, p05: 0, p25: 0, p50: 0, p75: 0, p95: 0 },
    ]);
    expect(distribution).toEqual([{ range: 0, share: 1 }]);
  });

  it('a mean has its error', () => {
    const { value = 0, low, high } = figures['drift'] ?? {};
    const error = Math.sqrt(((0 - 1.6) ** 2 + (3.2 - 1.6) ** 2) / 1 / 2);
    expect([low, high]).toEqual([
      expect.closeTo(value - 1.96 * error, 12),
      expect.closeTo(value + 1.96 * error, 12),
    ]);
  });
});

it('one participant has no drift', () => {
  const plan: SimulationPlan = {
    study: 'trial',
    design: {
      treatments: ['A', 'B'],
      ratio: [1, 1],
      factors: [{ name: 'all', levels: ['x'] }],
      ...{ w: 1, alpha: 0, beta: 1, D: 'range' },
    },
    arrivals: { kind: 'shares', shares: [[1]], opens: [] },
    arrivalsSource: '',
    comparators: [],
    siteFactor: undefined,
    ...{ participants: 1, reps: 3, seed: 1n, at: [1] },
  };
  const { figures = {} } = simulateHere(plan)[0] ?? {};
  expect(figures['drift']).toBeUndefined();
  expect(figures['entropy']?.value).toBeCloseTo(Math.log(2), 12);
  expect(figures['loss@1']?.value).toBe(1);
  expect(Object.values(figures).every(({ value, low, high }) => Number.isFinite(value + low + high))).toBe(
    true,
  );
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
  const histogramOf = (values: readonly number[]) => {
    const histogram = new Histogram();
    for (const value of values) histogram.add(value);
    return histogram;
  };

  it('of a share follow Wilson', () => {
    expect(share(0, 10)).toEqual({
      value: 0,
      low: 0,
      high: expect.closeTo(1.96 ** 2 / (10 + 1.96 ** 2), 12),
    });
    expect(share(10, 10)).toEqual({ value: 1, low: expect.closeTo(10 / (10 + 1.96 ** 2), 12), high: 1 });
    expect(share(5, 10)).toEqual({
      value: 0.5,
      low: expect.closeTo(0.2366, 4),
      high: expect.closeTo(0.7634, 4),
    });
  });

  it.each([
    { q: 0.5, count: 10, low: 2, high: 9 },
    { q: 0.5, count: 25, low: 8, high: 18 },
    { q: 0.05, count: 10, low: 1, high: 3 },
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

  it('take a quantile to be the smallest value with that share at or below it', () => {
    const histogram = histogramOf([3, 1, 2, 2]);
    expect([25, 50, 75, 95].map((percent) => histogram.percentile(percent))).toEqual([1, 2, 2, 3]);
    expect(percentileFigure(histogram, 50, 1.5)).toEqual({ value: 3, low: 1.5, high: 4.5 });
  });

  it('of a mean are those of the values, however often each occurs', () => {
    const moments = new Moments();
    for (const value of [1, 4, 4, 7]) moments.add(value);
    expect(histogramOf([4, 7, 1, 4]).moments(1).variance).toBeCloseTo(6, 12);
    expect([moments.mean, moments.variance]).toEqual([4, expect.closeTo(6, 12)]);
    expect(moments.figure()).toEqual({
      value: 4,
      low: expect.closeTo(4 - 1.96 * Math.sqrt(6 / 4), 12),
      high: expect.closeTo(4 + 1.96 * Math.sqrt(6 / 4), 12),
    });
  });

  it('of a mean of equal values are zero', () => {
    const moments = new Moments();
    for (let i = 0; i < 1000; i++) moments.add(1 / 3);
    expect(moments.figure()).toEqual({ value: 1 / 3, low: 1 / 3, high: 1 / 3 });
  });

  it('of a standard deviation are derived from those of the squares', () => {
    // Deviations -2, 0, 0, 2: squares 4, 0, 0, 4.
    const { value, low, high } = deviationFigure(histogramOf([1, 3, 3, 5]));
    expect(value).toBeCloseTo(Math.sqrt(8 / 3), 12);
    const error = Math.sqrt(16 / 3 / 4) / (2 * Math.sqrt(8 / 3));
    expect([low, high]).toEqual([
      expect.closeTo(value - 1.96 * error, 12),
      expect.closeTo(value + 1.96 * error, 12),
    ]);
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
