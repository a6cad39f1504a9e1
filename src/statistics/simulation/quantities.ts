/** What is noted for each replicate, and where. */
import { evenPoints, leastCommonMultiple } from '../../base/whole-numbers.ts';
import type { SimulatedDesign, SimulationPlan } from './plan.ts';

/** Points of the course, at most. */
const MAX_POINTS = 50;

/** Near-certain allocations: the least chance of the likeliest arm. */
export const CERTAIN = [
  { name: 'certain.80', least: 0.8 },
  { name: 'certain.90', least: 0.9 },
  { name: 'certain.100', least: 1 },
] as const;

/**
 * Ranges are noted as whole numbers: each count is multiplied by the least common multiple of the ratio over its own share.
 * So they are compared and counted exactly.
 */
export class RangeScale {
  /** What the count of each arm is multiplied by. */
  readonly factors: readonly number[];
  /** The range of such counts, times this, is (R/K) * (max n_k/r_k - min n_k/r_k). */
  readonly unit: number;
  readonly #sum: number;
  readonly #whole: number;

  constructor(ratio: readonly number[]) {
    const multiple = ratio.reduce(leastCommonMultiple, 1);
    this.#sum = ratio.reduce((total, share) => total + share, 0);
    this.#whole = ratio.length * multiple;
    this.factors = ratio.map((share) => multiple / share);
    this.unit = this.#sum / this.#whole;
  }

  /** Whether a range is at least n / `parts`, for n participants. With nobody it is, since 0 is all of 0. */
  isAtLeast(range: number, parts: number, n: number): boolean {
    return parts * range * this.#sum >= n * this.#whole;
  }
}

/** The values of a replicate that are not ranges, in the order in which they are noted. */
export function valueNames(
  { design, siteFactor, at, participants }: SimulationPlan,
  urnFactors: readonly string[],
): string[] {
  return [
    'balanced',
    'guess.naive',
    'guess.known',
    ...(siteFactor === undefined ? [] : ['guess.site']),
    ...CERTAIN.map(({ name }) => name),
    ...(design.treatments.length === 2 ? ['forcing'] : []),
    'entropy',
    // One participant cannot drift.
    ...(participants > 1 ? ['drift'] : []),
    ...at.map((n) => `loss@${n}`),
    ...urnFactors.map((factor) => `drawn.${factor}`),
  ];
}

/**
 * The ranges of a replicate, in the order in which they are noted: for each n overall, the largest within a level, the
 * largest within a stratum, and each level; the largest over the course. Then the points of the course, which have no name.
 */
export function rangeNames({ design, at }: SimulationPlan): string[] {
  const levels = levelNames(design);
  return [
    ...at.flatMap((n) => ['overall', 'levels', 'strata', ...levels].map((of) => `${of}.range@${n}`)),
    'course.range',
  ];
}

export function levelNames({ factors }: SimulatedDesign): string[] {
  return factors.flatMap(({ name, levels }) => levels.map((level) => `level.${name}.${level}`));
}

/** Numbers of participants, ascending, up to all of them. */
export function coursePoints(participants: number): number[] {
  return evenPoints(participants, MAX_POINTS);
}
