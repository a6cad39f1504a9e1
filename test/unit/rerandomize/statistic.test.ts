import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clopperPearson } from '../../../src/statistics/rerandomize/interval.ts';
import { NOTHING } from '../../../src/statistics/rerandomize/monte-carlo.ts';
import { Tally } from '../../../src/statistics/rerandomize/plan.ts';
import { residuals } from '../../../src/statistics/rerandomize/residuals.ts';
import { MAX_REPS, repsFor, resultOf } from '../../../src/statistics/rerandomize/run-test.ts';
import {
  logrankScores,
  midranks,
  type StatisticName,
  thresholdOf,
  tValue,
} from '../../../src/statistics/rerandomize/statistic.ts';
import { resultRows } from '../../../src/statistics/rerandomize/test-text.ts';
import { check } from '../../support/property.ts';

function statisticOf(name: StatisticName, scores: ArrayLike<number>, arms: readonly number[]): number {
  const compared = [...new Set(arms)].sort();
  const statistic = { name, scores: Float64Array.from(scores), alternative: 'two-sided' } as const;
  const recorded = Int8Array.from(arms);
  const analysed = Int32Array.from(arms.keys());
  const tally = new Tally({ analysed, statistic, compared, recorded, hasOthers: false });
  expect(tally.count((person) => arms[person] as number)).toBe(true);
  return tValue(statistic, tally.numbers, tally.sums);
}

describe('statistics', () => {
  // Means, F, H and rank sums: test/integration/rerandomize.test.ts, by another program.
  it('rank ties with the mean of their ranks', () => {
    // Ranks 1, 2.5, 2.5, 4, 5: A has 1 and 2.5. The rank sum is centred at its mean.
    expect([...midranks([3, 7, 7, 9, 12])]).toEqual([1, 2.5, 2.5, 4, 5]);
    expect(statisticOf('ranksum', midranks([3, 7, 7, 9, 12]), [0, 1, 0, 1, 1])).toBe(3.5 - 6);
  });

  it('give log-rank as observed minus expected events of A, time by time', () => {
    const times = [1, 2, 2, 3, 4, 4, 5];
    const events = [1, 1, 0, 1, 1, 1, 0];
    const arms = [0, 0, 1, 1, 0, 1, 0];
    let expected = 0;
    for (const time of new Set(times)) {
      const atRisk = times
        .map((one, i) => (one >= time ? arms[i] : undefined))
        .filter((arm) => arm !== undefined);
      const dead = times.filter((one, i) => one === time && events[i] === 1).length;
      expected += (dead * atRisk.filter((arm) => arm === 0).length) / atRisk.length;
    }
    const observed = events.filter((event, i) => event === 1 && arms[i] === 0).length;
    expect(statisticOf('logrank', logrankScores(times, events), arms)).toBeCloseTo(observed - expected, 12);
  });

  it('are 0 if all outcomes are equal', () => {
    expect(statisticOf('F', [3, 3, 3, 3], [0, 1, 0, 1])).toBe(0);
    expect(statisticOf('F', [0.1, 0.1, 0.1, 0.1, 0.1, 0.1], [0, 1, 0, 1, 0, 1])).toBe(0);
    const explained = residuals([0.1, 0.1, 0.7, 0.7, 0.7], [['a', 'a', 'b', 'b', 'b']]).values;
    expect(statisticOf('F', explained, [0, 1, 0, 1, 0])).toBe(0);
    expect(statisticOf('kruskal', midranks([3, 3, 3, 3]), [0, 1, 0, 1])).toBe(0);
  });

  it('treat an infinite F as being as extreme as itself', () => {
    const infinite = statisticOf('F', [1, 1, 2, 2], [0, 0, 1, 1]);
    expect(infinite).toBe(Number.POSITIVE_INFINITY);
    expect(infinite >= thresholdOf(infinite)).toBe(true);
  });

  it('notice an arm without an outcome', () => {
    const statistic = { name: 'mean', scores: Float64Array.of(1, 2), alternative: 'less' } as const;
    const recorded = Int8Array.of(0, 2);
    const about = { compared: [0, 2], recorded, hasOthers: true };
    const tally = new Tally({ analysed: Int32Array.of(0, 1), statistic, ...about });
    expect(tally.count(() => 2)).toBe(false);
  });
});

describe('residuals', () => {
  it('are orthogonal to every level, even if factors are redundant', () => {
    const level = fc.constantFrom('a', 'b', 'c');
    check(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: -50, max: 50 }), level, level), { minLength: 4 }),
        (rows) => {
          const outcomes = rows.map(([value]) => value);
          const factors = [
            rows.map(([, one]) => one),
            rows.map(([, , two]) => two),
            rows.map(([, one]) => `${one}'`),
          ];
          const { values } = residuals(outcomes, factors);
          for (const levels of factors)
            for (const one of new Set(levels))
              expect(values.reduce((sum, value, i) => sum + (levels[i] === one ? value : 0), 0)).toBeCloseTo(
                0,
                8,
              );
        },
      ),
    );
  });

  it('for one factor are the distances from the means of its levels, and ties if they are equal on paper', () => {
    const { values, tiedWithin } = residuals([0.1, 0.4, 1.1, 1.4], [['a', 'a', 'b', 'b']]);
    expect(values).toEqual([-0.15, 0.15, -0.15, 0.15].map((one) => expect.closeTo(one, 12)));
    expect([...midranks(values, tiedWithin)]).toEqual([1.5, 3.5, 1.5, 3.5]);
  });
});

describe('the interval', () => {
  it.each([
    [0, 10, 0, 0.3084971],
    [10, 10, 0.6915029, 1],
    [3, 10, 0.0667395, 0.6524529],
    [50, 1000, 0.0373354, 0.0653905],
  ])('of %i in %i agrees with tables', (found, of, low, high) => {
    expect(clopperPearson(found, of)).toEqual({ low: expect.closeTo(low, 6), high: expect.closeTo(high, 6) });
  });

  it('is found for ten million replicates', () => {
    const error = 1.96 * Math.sqrt((0.05 * 0.95) / 1e7);
    expect(clopperPearson(500_000, 10_000_000)).toEqual({
      low: expect.closeTo(0.05 - error, 6),
      high: expect.closeTo(0.05 + error, 6),
    });
  });
});

describe('the number of replicates for a half-width, with', () => {
  it.each([
    [0.05, 0.002, 45_619],
    [0.05, 0.1, 9999],
    [0, 0.001, 9999],
    [0.5, 0.0001, 10_000_000],
  ])('p = %d, h = %d: %i', (p, halfWidth, reps) => {
    expect(repsFor(p, halfWidth)).toBe(reps);
  });
});

describe('the result of replicates', () => {
  it('counts the study itself, so p is never 0; with weights, with weight 1', () => {
    const sums = { ...NOTHING, weights: 99 };
    const none = resultOf({ hasOthers: false }, sums, 0, 99);
    expect(none).toMatchObject({ p: 0.01, b: 0, interval: { low: 0 } });
    const some = { empty: 0, extreme: 2, weights: 6, extremeWeights: 2.5, squares: 14, extremeSquares: 4.25 };
    const weighted = resultOf({ hasOthers: true }, some, 0, 4);
    expect(weighted).toMatchObject({ p: 3.5 / 7, effective: 36 / 14, b: 2 });
  });

  it('says in words if a half-width would have needed more replicates than were drawn', () => {
    const words = (reps: number, from: number) =>
      resultRows({
        ...{ method: 'monte-carlo', p: 0.5, interval: { low: 0.4, high: 0.6 } },
        ...{ b: reps / 2, reps, from, empty: 0 },
      }).flat();
    const said = 'the maximum number: the half-width may be larger';
    expect(words(MAX_REPS, 9999)).toContain(said);
    for (const few of [words(20_000, 9999), words(MAX_REPS, 0)]) expect(few).not.toContain(said);
  });
});
