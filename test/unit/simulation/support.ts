import { exactly } from '../../../src/statistics/simulation/exact.ts';
import type { Comparator, ComparatorRule, SimulationPlan } from '../../../src/statistics/simulation/plan.ts';
import type { DesignResult } from '../../../src/statistics/simulation/summary.ts';

/** One factor with one level, and UD(1,0,1). */
export function planOf(ratio: readonly number[], participants: number, more: Partial<SimulationPlan> = {}) {
  return {
    study: 'A trial',
    design: {
      treatments: ratio.map((_, arm) => 'ABCDEF'[arm] as string),
      ratio,
      factors: [{ name: 'all', levels: ['x'] }],
      ...{ w: 1, alpha: 0, beta: 1, D: 'range' },
    },
    arrivals: { kind: 'shares', shares: [[1]], opens: [] },
    arrivalsSource: 'one level',
    comparators: [],
    siteFactor: undefined,
    participants,
    reps: 1,
    seed: 1n,
    at: [participants],
    ...more,
  } satisfies SimulationPlan as SimulationPlan;
}

export const comparator = (rule: ComparatorRule): Comparator => ({
  name: JSON.stringify(rule),
  rule,
  within: [],
});
export const urn = (w: number, alpha: number, beta: number): ComparatorRule => ({
  ...{ kind: 'urn', D: 'range' },
  ...{ w, alpha, beta },
});
export const block = (...sizes: number[]): ComparatorRule => ({ kind: 'block', sizes });
export const efron = (p: number): ComparatorRule => ({ kind: 'efron', p });
export const bigStick = (limit: number): ComparatorRule => ({ kind: 'bigstick', limit });
export const minimization = (p: number): ComparatorRule => ({ kind: 'minimization', p });
export const COMPLETE: ComparatorRule = { kind: 'complete' };
export const TWO = [1, 1];

/** The exact figures of one rule. */
export function exactOf(
  rule: ComparatorRule,
  ratio: readonly number[],
  participants: number,
  more: Partial<SimulationPlan> = {},
): DesignResult {
  const plan = planOf(ratio, participants, more);
  if (rule.kind === 'urn')
    return exactly({ ...plan, design: { ...plan.design, ...rule } })[0] as DesignResult;
  return exactly({ ...plan, comparators: [comparator(rule)] })[1] as DesignResult;
}

export function figureOf({ figures }: DesignResult, name: string): number {
  const figure = figures[name];
  if (!figure) throw new Error(`no figure ${name} among ${Object.keys(figures).join(', ')}`);
  return figure.value;
}
