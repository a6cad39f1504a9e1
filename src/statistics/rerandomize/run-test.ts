/** Runs a planned test: by drawing, to a wanted precision, or exactly. A p-value that was drawn comes with a 95 % interval. */
import { exactP } from './exact.ts';
import { runReplicates, type Sums } from './monte-carlo.ts';
import type { Plan } from './plan.ts';

export const DEFAULT_REPS = 9999;
export const MAX_REPS = 10_000_000;

/** How p is found: exactly, from so many replicates, or from as many as the half-width of its interval takes. */
export type TestMethod =
  | { readonly kind: 'exact' }
  | { readonly kind: 'reps'; readonly reps: number }
  | { readonly kind: 'half-width'; readonly halfWidth: number };

interface Interval {
  readonly low: number;
  readonly high: number;
}

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

export async function runTest(
  plan: Plan,
  method: TestMethod,
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

/** Half the width of a 95 % interval, in standard errors. */
const STANDARD_ERRORS = 1.96;

/** How many replicates give an interval of this half-width. */
export function repsFor(p: number, halfWidth: number): number {
  const reps = Math.ceil((STANDARD_ERRORS ** 2 * p * (1 - p)) / halfWidth ** 2);
  return Math.min(MAX_REPS, Math.max(DEFAULT_REPS, reps));
}

/** @param sums of replicates from `from` on */
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
  const half = (STANDARD_ERRORS * Math.sqrt(Math.max(0, variance))) / weights;
  return {
    ...drawn,
    p: (1 + extremeWeights) / (1 + weights),
    interval: { low: Math.max(0, share - half), high: Math.min(1, share + half) },
    effective: weights ** 2 / squares,
  };
}

const CONFIDENCE = 0.95;

/** The exact 95 % interval of a binomial proportion (Clopper and Pearson 1934). */
export function clopperPearson(found: number, of: number): Interval {
  const tail = (1 - CONFIDENCE) / 2;
  return {
    low: found === 0 ? 0 : betaQuantile(tail, found, of - found + 1),
    high: found === of ? 1 : betaQuantile(1 - tail, found + 1, of - found),
  };
}

/** By bisection, which works everywhere. */
function betaQuantile(probability: number, a: number, b: number): number {
  let [low, high] = [0, 1];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (incompleteBeta(middle, a, b) < probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The regularized incomplete beta function I_x(a, b) by its continued fraction: NIST DLMF 8.17.22, modified Lentz. */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges fast only below the mean.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const tiny = 1e-300;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  let c = 1;
  let d = 1 / notZero(1 - ((a + b) * x) / (a + 1), tiny);
  let fraction = d;
  for (let m = 1; m <= 100_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / notZero(1 + even * d, tiny);
    c = notZero(1 + even / c, tiny);
    fraction *= c * d;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / notZero(1 + odd * d, tiny);
    c = notZero(1 + odd / c, tiny);
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return (front * fraction) / a;
}

function notZero(value: number, tiny: number): number {
  return Math.abs(value) < tiny ? tiny : value;
}

/** ln Γ(x) for x > 0 by Stirling's series, which is exact to doubles from 10 on. */
function logGamma(x: number): number {
  let shift = 0;
  let z = x;
  for (; z < 10; z++) shift += Math.log(z);
  const series = 1 / (12 * z) - 1 / (360 * z ** 3) + 1 / (1260 * z ** 5) - 1 / (1680 * z ** 7);
  return (z - 0.5) * Math.log(z) - z + 0.5 * Math.log(2 * Math.PI) + series - shift;
}
