/** The simulation against the exact figures: every common figure, within 4 of the simulation's own standard errors. */
import { describe, expect, it } from 'vitest';
import { simulateHere } from '../../../../src/statistics/simulation/blocks.ts';
import { exactly } from '../../../../src/statistics/simulation/exact/exactly.ts';
import type { SimulationPlan } from '../../../../src/statistics/simulation/plan.ts';
import type { DesignResult } from '../../../../src/statistics/simulation/result.ts';
import {
  bigStick,
  block,
  COMPLETE,
  comparator,
  efron,
  figureOf,
  minimization,
  planOf,
  TWO,
  urn,
} from './support.ts';

const REPS = 1_000;

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

describe('simulated figures agree with the exact ones', () => {
  it.each([
    ['two arms', TWO, 20, [COMPLETE, efron(0.65), bigStick(3), block(4, 6), minimization(0.8)]],
    ['three arms', [1, 1, 1], 30, [urn(1, 0, 2), COMPLETE, block(3, 6), minimization(0.7)]],
    ['unequal allocation', [2, 1], 30, [urn(3, 1, 2), COMPLETE, block(6), block(3, 9)]],
  ] as const)('for %s', (_, ratio, n, rules) => {
    compare(
      planOf(ratio, n, { at: [n / 2, n], reps: REPS, siteFactor: 0, comparators: rules.map(comparator) }),
    );
  });
});
