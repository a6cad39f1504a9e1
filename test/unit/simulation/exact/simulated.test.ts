/** The simulation against the exact figures: every common figure, within 4 of the simulation's own standard errors. */
import { describe, expect, it } from 'vitest';
import { simulateHere } from '../../../../src/statistics/simulation/blocks.ts';
import { exactly } from '../../../../src/statistics/simulation/exact/exactly.ts';
import type { Comparator, SimulationPlan } from '../../../../src/statistics/simulation/plan.ts';
import type { DesignResult } from '../../../../src/statistics/simulation/result.ts';
import {
  bigStick,
  block,
  COMPLETE,
  comparator,
  efron,
  exactOf,
  figureOf,
  minimization,
  planOf,
  TWO,
  urn,
} from './support.ts';

const REPS = 2_000;

/**
 * How far a simulated figure may be from the exact one: 4 of its own standard errors. Quantiles are whole numbers, so they
 * may be off by one. If all replicates are alike, whatever was missed is too rare to be seen in 9,999 of 10,000 simulations:
 * it was expected less than ten times.
 */
function allowed(figure: string, error: number, { design, participants }: SimulationPlan): number {
  if (/\.p\d\d$/.test(figure)) return 4 * error + design.ratio.reduce((a, b) => a + b, 0);
  if (error > 0) return 4 * error;
  return figure.includes('range') ? 10 / REPS : 10 / (REPS * participants);
}

function compare(plan: SimulationPlan): void {
  const simulated = simulateHere(plan);
  for (const [i, exact] of exactly(plan).entries()) {
    const { name, figures } = simulated[i] as DesignResult;
    expect(name).toBe(exact.name);
    for (const [figure, { value }] of Object.entries(exact.figures)) {
      const found = figures[figure];
      if (!found) throw new Error(`the simulation has no ${figure} of ${name}`);
      // The largest of many differences from the share is checked below.
      if (figure === 'share') continue;
      const off = Math.abs(found.value - value);
      expect(off, `${figure} of ${name}: ${found.value}, exactly ${value}`).toBeLessThanOrEqual(
        allowed(figure, (found.high - found.low) / 3.92, plan),
      );
    }
    // Each difference is 0 on average, with a standard error of at most 1/(2·√R).
    expect(figureOf(simulated[i] as DesignResult, 'share')).toBeLessThan(5 / (2 * Math.sqrt(REPS)));
  }
}

const withSite = (plan: SimulationPlan): SimulationPlan => ({ ...plan, reps: REPS, siteFactor: 0 });
const against = (...rules: Comparator['rule'][]): { comparators: Comparator[] } => ({
  comparators: rules.map(comparator),
});

describe('simulated figures agree with the exact ones', () => {
  it('for two arms', () => {
    compare(
      withSite(
        planOf(TWO, 50, {
          at: [20, 50],
          ...against(
            ...[urn(1, 0, 5), urn(10, 0, 1), urn(2, 1, 3), COMPLETE, efron(0.65), bigStick(3)],
            ...[block(4), block(10), block(50), block(4, 6), minimization(0.8)],
          ),
        }),
      ),
    );
  });

  it('for three arms', () => {
    compare(
      withSite(
        planOf([1, 1, 1], 60, {
          at: [30, 60],
          ...against(urn(1, 0, 2), COMPLETE, block(6), block(3, 6), minimization(0.7)),
        }),
      ),
    );
  });

  it('for unequal allocation', () => {
    compare(
      withSite(planOf([2, 1], 60, { at: [60], ...against(urn(3, 1, 2), COMPLETE, block(6), block(3, 9)) })),
    );
    compare(withSite(planOf([3, 2, 1], 36, { at: [36], ...against(COMPLETE, block(12)) })));
  });
});

describe("measured with the service's code", () => {
  it('one urn with two arms, 50 participants', () => {
    const [study] = simulateHere(planOf(TWO, 50, { reps: 8_000 })) as [DesignResult];
    // The standard error of |D| is about .029.
    expect(Math.abs(figureOf(study, 'overall.range@50.mean') - 3.2606)).toBeLessThan(4 * 0.029);
    expect(figureOf(study, 'guess.known')).toBeCloseTo(0.551, 2);
  });

  it('one urn with three arms, 100 participants', () => {
    const [study] = simulateHere(planOf([1, 1, 1], 100, { reps: 3_000 })) as [DesignResult];
    const exact = exactOf(urn(1, 0, 1), [1, 1, 1], 100);
    for (const [name, measured] of [
      ['overall.range@100.mean', 6.972],
      ['overall.range@100.ge10', 0.2333],
    ] as const) {
      const { low, high } = study.figures[name] as { low: number; high: number };
      expect(Math.abs(measured - figureOf(exact, name))).toBeLessThan(2 * (high - low));
    }
  });

  it('13 factors of 3 levels: the arms are balanced, but hardly the levels', () => {
    const levels = ['1', '2', '3'];
    const factors = Array.from({ length: 13 }, (_, factor) => ({ name: `factor ${factor + 10}`, levels }));
    const plan = planOf([1, 1, 1], 300, { reps: 700, ...against(COMPLETE) });
    const shares = factors.map(() => [1, 1, 1]);
    const [study, complete] = simulateHere({
      ...plan,
      design: { ...plan.design, factors, D: 'chisquare' },
      arrivals: { kind: 'shares', shares, opens: [] },
    }) as [DesignResult, DesignResult];
    // As measured before: 8.8 and 17.1 overall, 17.1 and 21.5 for the largest within a level. Standard errors are about 0.3.
    expect(Math.abs(figureOf(study, 'overall.range@300.mean') - 8.8)).toBeLessThan(1);
    expect(figureOf(study, 'overall.range@300.p95')).toBeGreaterThanOrEqual(16);
    expect(figureOf(study, 'overall.range@300.p95')).toBeLessThanOrEqual(20);
    expect(figureOf(study, 'levels.range@300.mean')).toBeCloseTo(17.1, 0);
    expect(Math.abs(figureOf(complete, 'overall.range@300.mean') - 17.1)).toBeLessThan(1.5);
    expect(figureOf(complete, 'levels.range@300.mean')).toBeCloseTo(21.5, 0);
  });
});
