import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UrnConfiguration } from '../../../events/study.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { ExactError, exactP } from '../../../src/statistics/rerandomize/exact.ts';
import { added, BLOCK, MonteCarlo, NO_SUMS } from '../../../src/statistics/rerandomize/monte-carlo.ts';
import { Tally } from '../../../src/statistics/rerandomize/plan.ts';
import { clopperPearson, MAX_REPS, repsFor, resultOf } from '../../../src/statistics/rerandomize/run-test.ts';
import {
  logrankScores,
  midranks,
  type StatisticName,
  thresholdOf,
  tValue,
} from '../../../src/statistics/rerandomize/statistic.ts';
import { residuals } from '../../../src/statistics/rerandomize/test-plan.ts';
import { resultRows } from '../../../src/statistics/rerandomize/test-text.ts';
import { check } from '../../support/property.ts';
import { configuration, drawn, G1, G2, G3, G4, planOf } from '../../support/rerandomized.ts';

type Arms = readonly number[];

/** p from the whole tree, path by path, with nothing merged. One factor with one level. */
function byHand({ treatments, w, alpha, beta }: UrnConfiguration, n: number, isSo: (arms: Arms) => boolean) {
  const go = (allocated: Arms, probability: number): number => {
    if (allocated.length === n) return isSo(allocated) ? probability : 0;
    const counts = treatments.map((_, arm) => allocated.filter((one) => one === arm).length);
    const balls = counts.map((count) => w + beta * (allocated.length - count) + alpha * count);
    const total = balls.reduce((sum, ball) => sum + ball, 0);
    return balls.reduce((sum, ball, arm) => sum + go([...allocated, arm], (probability * ball) / total), 0);
  };
  return go([], 1);
}

describe('p', () => {
  it.each([
    ['G1', G1, 0.232913, 2327],
    ['G2', G2, 0.484078, 4875],
    ['G3', G3, 43 / 75, 5728],
    ['G4', G4, 0.782149, 7720],
  ] as const)(
    '%s, and as many extreme replicates as with numpy',
    (_, { study, levels, arms, outcomes, ...more }, p, b) => {
      const plan = planOf(drawn(study, levels, arms, more), arms, outcomes);
      expect(exactP(plan).p).toBeCloseTo(p, 6);
      expect(new MonteCarlo(plan, 0).block(0, 9999)).toMatchObject({ extreme: b, weights: 9999 });
    },
  );

  /** Everybody has the only level. */
  const alone = (arms: Arms) => arms.map(() => ['x']);
  const mean = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0) / list.length;
  /** The difference of the means of the first two arms; infinite if one of them has no outcome. */
  const difference = (all: Arms, analysed: readonly number[], outcomes: readonly number[]) => {
    const [a = [], b = []] = [0, 1].map((arm) =>
      outcomes.filter((_, i) => all[analysed[i] as number] === arm),
    );
    return a.length === 0 || b.length === 0 ? Number.POSITIVE_INFINITY : mean(a) - mean(b);
  };

  it('agrees with the whole tree, with people without outcomes and an arm that can be empty', () => {
    const study = configuration({ w: 2, alpha: 1, beta: 3 });
    const arms = [0, 1, 1, 0, 0, 1, 0];
    const analysed = [1, 2, 4, 6];
    const outcomes = [0.1, 0.2, 0.3, 0.7];
    const t = (all: Arms) => difference(all, analysed, outcomes);
    const expected = byHand(study, 7, (all) => t(all) >= t(arms) - 1e-12);
    const about = { analysed: Int32Array.from(analysed), alternative: 'greater' } as const;
    const { p, empty } = exactP(planOf(drawn(study, alone(arms), arms), arms, outcomes, about));
    expect(p).toBeCloseTo(expected, 12);
    expect(empty).toBeGreaterThan(0.05);
  });

  it('is conditional on the arms that are kept: paths that change them are left out', () => {
    const study = configuration({ treatments: ['A', 'B', 'C'] });
    const arms = [2, 0, 1, 2, 1, 0];
    const analysed = [1, 2, 4, 5];
    const outcomes = [4, 1, 3, 2];
    const t = (all: Arms) => Math.abs(difference(all, analysed, outcomes));
    const isKept = (all: Arms) => all.every((arm, i) => (arm === 2) === (arms[i] === 2));
    const isExtreme = (all: Arms) => isKept(all) && t(all) >= t(arms) - 1e-12;
    const p = byHand(study, 6, isExtreme) / byHand(study, 6, isKept);
    const about = { analysed: Int32Array.from(analysed), hasOthers: true };
    const plan = planOf(drawn(study, alone(arms), arms), arms, outcomes, about);
    expect(exactP(plan).p).toBeCloseTo(p, 12);
    // The weighted replicates estimate the same p.
    const { extremeWeights, weights } = new MonteCarlo(plan, 7).block(0, 4000);
    expect(Math.abs(extremeWeights / weights - p)).toBeLessThan(0.04);
  });

  it.each<[StatisticName, number]>([
    ['ranksum', 2],
    ['logrank', 2],
    ['F', 3],
    ['kruskal', 3],
  ])('of %s agrees with replicates', (name, count) => {
    const treatments = ['A', 'B', 'C'].slice(0, count);
    const study = configuration({ treatments, factors: [{ name: 'f', levels: ['x', 'y'] }] });
    const generator = Pcg64.fromSeed(9n);
    const arms = Array.from({ length: 12 }, (_, i) => i % count);
    const scores = arms.map(() => generator.nextUniform53() / 2 ** 53);
    const levels = arms.map((_, i) => [i % 3 === 0 ? 'x' : 'y']);
    const outcomes = name === 'logrank' ? scores : scores.map((one) => Math.round(8 * one));
    const about = { name, compared: [...treatments.keys()] };
    const plan = planOf(drawn(study, levels, arms), arms, outcomes, about);
    const { extreme } = new MonteCarlo(plan, 1).block(0, 2000);
    const { p } = exactP(plan);
    expect(Math.abs(extreme / 2000 - p)).toBeLessThan(4 * Math.sqrt((p * (1 - p)) / 2000));
  });

  it('is refused for a study whose counts were corrected', () => {
    const steps = [...drawn(G1.study, G1.levels, G1.arms)];
    steps.push({ kind: 'move', person: 0, from: [0], to: undefined });
    expect(() => exactP(planOf(steps, G1.arms, G1.outcomes))).toThrow(ExactError);
  });

  it('is refused if there are too many states', () => {
    const arms = Array.from({ length: 60 }, (_, i) => i % 2);
    // Powers of two: every path gives a different sum.
    const outcomes = arms.map((_, i) => 2 ** (i % 30));
    const plan = planOf(drawn(G1.study, alone(arms), arms), arms, outcomes);
    expect(() => exactP(plan, () => undefined, 20_000)).toThrow('more than 20000 states');
  });
});

describe('replicates', () => {
  const { study, levels, arms, outcomes } = G2;
  const steps = drawn(study, levels, arms);
  const FEW = 2000;

  it('do not depend on the blocks in which they are run', () => {
    const test = new MonteCarlo(planOf(steps, arms, outcomes), 3);
    const blocks = [0, 1, 2].map((i) => test.block(i * BLOCK, (i + 1) * BLOCK));
    expect(blocks.reduce(added, NO_SUMS)).toEqual(test.block(0, 3 * BLOCK));
  });

  it('are extreme in at least one direction, and in both if equal', () => {
    const extreme = (alternative: 'greater' | 'less' | 'two-sided') =>
      new MonteCarlo(planOf(steps, arms, outcomes, { alternative }), 0).block(0, FEW).extreme;
    const [greater, less] = [extreme('greater'), extreme('less')];
    expect(greater + less).toBeGreaterThan(FEW);
    expect(Math.min(greater, less)).toBeLessThan(extreme('two-sided'));
  });

  it('are as extreme as the study if they differ from it only by rounding', () => {
    const tenths = outcomes.map((one) => one / 10);
    const extreme = (values: readonly number[]) =>
      new MonteCarlo(planOf(steps, arms, values), 0).block(0, FEW).extreme;
    expect(extreme(tenths)).toBe(extreme(outcomes));
  });

  it('are extreme if an arm has no outcome', () => {
    const first = planOf(drawn(study, levels.slice(0, 2), [0, 1]), [0, 1], [5, 5.0001]);
    const { empty, extreme } = new MonteCarlo(first, 0).block(0, 1000);
    expect(empty).toBeGreaterThan(100);
    expect(extreme).toBe(1000);
  });

  it('have the weight of the study if the other arms do not depend on those compared', () => {
    // In one urn without alpha, C has the same number of balls whether the others are on A or on B.
    const three = configuration({ treatments: ['A', 'B', 'C'] });
    const kept = [0, 1, 2, 0, 2];
    const one = kept.map(() => ['x']);
    const compared = { hasOthers: true, analysed: Int32Array.of(0, 1, 3) };
    const { weights, squares } = new MonteCarlo(
      planOf(drawn(three, one, kept), kept, [1, 2, 3], compared),
      0,
    ).block(0, 500);
    expect(weights).toBeCloseTo(500, 9);
    expect(squares).toBeCloseTo(500, 9);
  });
});

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

it.each([
  [0, 10, 0, 0.3084971],
  [10, 10, 0.6915029, 1],
  [3, 10, 0.0667395, 0.6524529],
  [50, 1000, 0.0373354, 0.0653905],
  // 1.96 standard errors on each side.
  [500_000, 10_000_000, 0.0498649, 0.0501351],
])('the interval of %i in %i agrees with tables', (found, of, low, high) => {
  expect(clopperPearson(found, of)).toEqual({ low: expect.closeTo(low, 6), high: expect.closeTo(high, 6) });
});

it.each([
  [0.05, 0.002, 45_619],
  [0.05, 0.1, 9999],
  [0, 0.001, 9999],
  [0.5, 0.0001, 10_000_000],
])('the number of replicates for a half-width, with p = %d, h = %d: %i', (p, halfWidth, reps) => {
  expect(repsFor(p, halfWidth)).toBe(reps);
});

describe('the result of replicates', () => {
  it('counts the study itself, so p is never 0; with weights, with weight 1', () => {
    const sums = { ...NO_SUMS, weights: 99 };
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
