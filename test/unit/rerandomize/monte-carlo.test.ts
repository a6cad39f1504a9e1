import { describe, expect, it } from 'vitest';
import { added, BLOCK, MonteCarlo, NOTHING } from '../../../src/statistics/rerandomize/monte-carlo.ts';
import { configuration, drawn, G1, G2, G3, G4, planOf } from '../../support/rerandomized.ts';

const REPS = 9999;

describe('the golden examples', () => {
  it.each([
    ['G1', G1, 2327],
    ['G2', G2, 4875],
    ['G3', G3, 5728],
    ['G4', G4, 7720],
  ] as const)(
    '%s has as many extreme replicates as numpy',
    (_, { study, levels, arms, outcomes, ...more }, b) => {
      const test = new MonteCarlo(planOf(drawn(study, levels, arms, more), arms, outcomes), 0);
      expect(test.block(0, REPS)).toMatchObject({ extreme: b, weights: REPS });
    },
  );
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
