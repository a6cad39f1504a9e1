import { describe, expect, it } from 'vitest';
import type { UrnConfiguration } from '../../../events/study.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { ExactError, exactP } from '../../../src/statistics/rerandomize/exact.ts';
import { added, BLOCK, MonteCarlo, NOTHING } from '../../../src/statistics/rerandomize/monte-carlo.ts';
import type { StatisticName } from '../../../src/statistics/rerandomize/statistic.ts';
import { configuration, drawn, G1, G2, G3, G4, planOf } from '../../support/rerandomized.ts';

/** p from the whole tree, path by path, with nothing merged. One factor with one level. */
function byHand(
  {
    study,
    arms,
    extreme,
  }: { study: UrnConfiguration; arms: number; extreme(allocated: readonly number[]): boolean },
  n: number,
): number {
  const go = (allocated: readonly number[], probability: number): number => {
    if (allocated.length === n) return extreme(allocated) ? probability : 0;
    const counts = Array.from({ length: arms }, (_, arm) => allocated.filter((one) => one === arm).length);
    const balls = counts.map(
      (count) => study.w + study.beta * (allocated.length - count) + study.alpha * count,
    );
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
  const alone = (arms: readonly number[]) => arms.map(() => ['x']);
  const mean = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0) / list.length;
  /** The difference of the means of the first two arms; infinite if one of them has no outcome. */
  const difference = (all: readonly number[], analysed: readonly number[], outcomes: readonly number[]) => {
    const [a = [], b = []] = [0, 1].map((arm) =>
      outcomes.filter((_, i) => all[analysed[i] as number] === arm),
    );
    return a.length === 0 || b.length === 0 ? Number.POSITIVE_INFINITY : mean(a) - mean(b);
  };

  it('agrees with the whole tree, with people without outcomes and an arm that can be empty', () => {
    const study = configuration({ w: 2, alpha: 1, beta: 3 });
    const arms = [0, 1, 1, 0, 0, 1, 0];
    const [analysed, outcomes] = [
      [1, 2, 4, 6],
      [0.1, 0.2, 0.3, 0.7],
    ];
    const t = (all: readonly number[]) => difference(all, analysed, outcomes);
    const expected = byHand({ study, arms: 2, extreme: (all) => t(all) >= t(arms) - 1e-12 }, 7);
    const about = { analysed: Int32Array.from(analysed), alternative: 'greater' } as const;
    const { p, empty } = exactP(planOf(drawn(study, alone(arms), arms), arms, outcomes, about));
    expect(p).toBeCloseTo(expected, 12);
    expect(empty).toBeGreaterThan(0.05);
  });

  it('is conditional on the arms that are kept: paths that change them are left out', () => {
    const study = configuration({ treatments: ['A', 'B', 'C'] });
    const arms = [2, 0, 1, 2, 1, 0];
    const [analysed, outcomes] = [
      [1, 2, 4, 5],
      [4, 1, 3, 2],
    ];
    const t = (all: readonly number[]) => Math.abs(difference(all, analysed, outcomes));
    const isKept = (all: readonly number[]) => all.every((arm, i) => (arm === 2) === (arms[i] === 2));
    const isExtreme = (all: readonly number[]) => isKept(all) && t(all) >= t(arms) - 1e-12;
    const p =
      byHand({ study, arms: 3, extreme: isExtreme }, 6) / byHand({ study, arms: 3, extreme: isKept }, 6);
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
    const { extreme } = new MonteCarlo(plan, 1).block(0, 4000);
    const { p } = exactP(plan);
    expect(Math.abs(extreme / 4000 - p)).toBeLessThan(4 * Math.sqrt((p * (1 - p)) / 4000));
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
    expect(blocks.reduce(added, NOTHING)).toEqual(test.block(0, 3 * BLOCK));
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
