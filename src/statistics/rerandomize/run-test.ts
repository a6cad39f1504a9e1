/** Runs a planned test: by drawing, to a wanted precision, or exactly. */
import { exactP } from './exact.ts';
import { clopperPearson, type Interval } from './interval.ts';
import type { Sums } from './monte-carlo.ts';
import type { Plan } from './plan.ts';
import { runReplicates } from './replicates.ts';

export const DEFAULT_REPS = 9999;
export const MAX_REPS = 10_000_000;

export type Method =
  | { readonly kind: 'exact' }
  | { readonly kind: 'reps'; readonly reps: number }
  | { readonly kind: 'half-width'; readonly halfWidth: number };

export type TestResult =
  | { readonly method: 'exact'; readonly p: number; readonly empty: number; readonly states: number }
  | {
      readonly method: 'monte-carlo';
      readonly p: number;
      /** A 95 % interval for the exact p. */
      readonly interval: Interval;
      /** Replicates at least as extreme as the study. */
      readonly b: number;
      readonly reps: number;
      /** The first of these replicates. */
      readonly from: number;
      /** Replicates in which some arm has nobody with an outcome. They count as extreme. */
      readonly empty: number;
      /** Only if replicates have weights. */
      readonly effective?: number;
    };

const Z = 1.96;

export async function runTest(
  plan: Plan,
  method: Method,
  seed: number,
  progressOf: (what: string, total: number) => { show(count: number): void; end(): void },
): Promise<TestResult> {
  if (method.kind === 'exact') {
    const shown = progressOf('participants', plan.steps.length);
    const result = exactP(plan, shown.show);
    shown.end();
    return { method: 'exact', ...result };
  }
  const sumsOf = async (first: number, last: number): Promise<Sums> => {
    const shown = progressOf('replicates', last - first);
    const sums = await runReplicates({ plan, seed, first, last }, { onProgress: shown.show });
    shown.end();
    return sums;
  };
  if (method.kind === 'reps') return resultOf(plan, await sumsOf(0, method.reps), 0, method.reps);
  const { extreme } = await sumsOf(0, DEFAULT_REPS);
  // New replicates, because those that decided on the number would bias p.
  const reps = repsFor(extreme / DEFAULT_REPS, method.halfWidth);
  const sums = await sumsOf(DEFAULT_REPS, DEFAULT_REPS + reps);
  return resultOf(plan, sums, DEFAULT_REPS, reps);
}

/** How many replicates give an interval of this half-width. */
export function repsFor(p: number, halfWidth: number): number {
  const reps = Math.ceil((Z ** 2 * p * (1 - p)) / halfWidth ** 2);
  return Math.min(MAX_REPS, Math.max(DEFAULT_REPS, reps));
}

export function resultOf(
  { hasOthers }: Pick<Plan, 'hasOthers'>,
  sums: Sums,
  from: number,
  reps: number,
): TestResult {
  const { extreme: b, empty, weights, extremeWeights, squares, extremeSquares } = sums;
  const drawn = { method: 'monte-carlo', b, reps, from, empty } as const;
  if (!hasOthers) return { ...drawn, p: (b + 1) / (reps + 1), interval: clopperPearson(b, reps) };
  const share = extremeWeights / weights;
  // The variance of a ratio of two sums: the mean square of w·(extreme − share).
  const variance = extremeSquares * (1 - 2 * share) + squares * share ** 2;
  const half = (Z * Math.sqrt(Math.max(0, variance))) / weights;
  return {
    ...drawn,
    p: (1 + extremeWeights) / (1 + weights),
    interval: { low: Math.max(0, share - half), high: Math.min(1, share + half) },
    effective: weights ** 2 / squares,
  };
}
