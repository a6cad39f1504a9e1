import { exactly } from '../../../../src/statistics/simulation/exact/exactly.ts';
import { type Layer, layersOf } from '../../../../src/statistics/simulation/exact/layers.ts';
import { ruleOf, type State } from '../../../../src/statistics/simulation/exact/rules.ts';
import type {
  Comparator,
  ComparatorRule,
  SimulationPlan,
} from '../../../../src/statistics/simulation/plan.ts';
import type { DesignResult } from '../../../../src/statistics/simulation/result.ts';

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

export function layersFor(rule: ComparatorRule, ratio: readonly number[], n: number): Layer[] {
  return [...layersOf(ruleOf(ratio, rule), ratio.length, n, rule.kind === 'block' ? rule.sizes.length : 1)];
}

/** What a trial adds up at each allocation: its mean, and its mean square, which matters if a guess is by lot. */
export type Term = (
  chances: readonly number[],
  arm: number,
  after: State,
) => { mean: number; square: number };

/** The standard deviation, over trials of two arms, of the sum of a term over the steps. */
export function deviationOfSum(rule: ComparatorRule, participants: number, term: Term): number {
  const chancesOf = ruleOf(TWO, rule).chances;
  const layers = layersFor(rule, TWO, participants);
  let before = [{ weight: 1, sum: 0, square: 0 }];
  for (const [step, { states, ways }] of layers.entries()) {
    if (!ways) break;
    const next = (layers[step + 1] as Layer).states;
    const after = next.map(() => ({ weight: 0, sum: 0, square: 0 }));
    for (const [way, from] of ways.from.entries()) {
      const [arm, to, chance] = [ways.arm[way], ways.to[way], ways.chance[way]] as [number, number, number];
      const [was, becomes] = [before[from], after[to]] as [Moments, Moments];
      const { mean, square } = term(chancesOf(states[from] as State), arm, next[to] as State);
      becomes.weight += chance * was.weight;
      becomes.sum += chance * (was.sum + mean * was.weight);
      becomes.square += chance * (was.square + 2 * mean * was.sum + square * was.weight);
    }
    before = after;
  }
  const total = (member: keyof Moments): number => before.reduce((all, one) => all + one[member], 0);
  return Math.sqrt(Math.max(0, total('square') - total('sum') ** 2));
}

interface Moments {
  weight: number;
  sum: number;
  square: number;
}

/** Mean of a function of the range after all participants. */
export function meanOfRange({ distribution }: DesignResult, of: (range: number) => number): number {
  return distribution.reduce((total, { range, share }) => total + share * of(range), 0);
}
