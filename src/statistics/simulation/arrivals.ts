/**
 * Simulated participants: their levels, and their strata. The levels come from a generator of their own, so every design sees
 * the same ones.
 */
import { fillCumulative, fillProbabilities, indexAt } from '../../core/methods/draw.ts';
import type { Pcg64 } from '../../core/random/pcg64.ts';
import type { Arrivals } from './plan.ts';

/** Draws the levels of participants, one after another. */
export interface LevelSource {
  /** @param levels is filled, for each participant, with the index of the level of each factor, in the order of the factors */
  fill(generator: Pcg64, levels: Int32Array): void;
}

/** Shares stay the same until a level opens. */
interface Phase {
  /** The first participant of the phase, counted from 1. */
  readonly from: number;
  /** For each factor. */
  readonly cumulative: readonly Float64Array[];
}

/** @throws RangeError when a participant could have no level of a factor, or no row */
export function levelSource(arrivals: Arrivals, participants: number): LevelSource {
  if (arrivals.kind === 'rows') return rowsSource(arrivals.rows, arrivals.weights);
  const phases = phasesOf(arrivals, participants);
  const factors = arrivals.shares.length;
  return {
    fill(generator, levels) {
      let phase = 0;
      for (let participant = 0; participant < participants; participant++) {
        while ((phases[phase + 1]?.from ?? Number.POSITIVE_INFINITY) <= participant + 1) phase++;
        const { cumulative } = phases[phase] as Phase;
        for (let factor = 0; factor < factors; factor++)
          levels[participant * factors + factor] = indexAt(
            cumulative[factor] as Float64Array,
            generator.nextUniform53(),
          );
      }
    },
  };
}

function phasesOf({ shares, opens }: Arrivals & { kind: 'shares' }, participants: number): Phase[] {
  const starts = new Set([1, ...opens.map(({ from }) => from).filter((from) => from > 1)]);
  return [...starts]
    .filter((from) => from <= participants)
    .sort((a, b) => a - b)
    .map((from) => ({
      from,
      cumulative: shares.map((ofFactor, factor) => {
        const isClosed = (level: number) =>
          opens.some((one) => one.factor === factor && one.level === level && one.from > from);
        return cumulativeOf(ofFactor.map((share, level) => (isClosed(level) ? 0 : share)));
      }),
    }));
}

function rowsSource(rows: readonly (readonly number[])[], weights: readonly number[]): LevelSource {
  const cumulative = cumulativeOf(weights);
  const factors = rows[0]?.length ?? 0;
  return {
    fill(generator, levels) {
      for (let at = 0; at < levels.length; at += factors)
        levels.set(rows[firstAbove(cumulative, generator.nextUniform53())] ?? [], at);
    },
  };
}

/** The same as `indexAt`, for thousands of values. */
function firstAbove(cumulative: Float64Array, uniform53: number): number {
  const u = uniform53 * 2 ** -53;
  let from = 0;
  let to = cumulative.length - 1;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((cumulative[middle] as number) > u) to = middle;
    else from = middle + 1;
  }
  return from;
}

function cumulativeOf(shares: readonly number[]): Float64Array {
  if (
    !shares.some((share) => share > 0) ||
    shares.some((share) => !(share >= 0 && share < Number.POSITIVE_INFINITY))
  )
    throw new RangeError('shares must not be negative, and one must be above 0');
  const probabilities = new Float64Array(shares.length);
  fillProbabilities(shares, 0, probabilities);
  fillCumulative(probabilities, probabilities);
  return probabilities;
}

/** Keys below this, times a stratum's number, are exact in a double. */
const MAX_STRATUM_KEYS = 2 ** 26;

/** The strata of one replicate's participants: those who are alike in some factors. */
export class Strata {
  /** Those factors, in runs whose levels have at most MAX_STRATUM_KEYS combinations. A single factor always fits. */
  readonly #runs: readonly (readonly { readonly factor: number; readonly levels: number }[])[];
  readonly #numbers = new Map<number, number>();
  readonly #factors: number;
  /** For each participant: the number of the stratum. The first participant is in number 0. */
  readonly of: Int32Array;
  /** The number of strata. */
  count = 0;

  /** @param within indexes of the factors. None: all participants are in one stratum */
  constructor(
    factors: readonly { readonly levels: readonly string[] }[],
    within: readonly number[],
    participants: number,
  ) {
    this.#factors = factors.length;
    this.of = new Int32Array(participants);
    this.#runs = runsOf(within.map((factor) => ({ factor, levels: factors[factor]?.levels.length ?? 1 })));
  }

  /** @param levels for each participant: the index of the level of each factor */
  assign(levels: Int32Array): void {
    const { of } = this;
    of.fill(0);
    this.count = 1;
    for (const run of this.#runs) {
      this.#numbers.clear();
      for (let participant = 0; participant < of.length; participant++) {
        let key = of[participant] as number;
        for (const { factor, levels: count } of run)
          key = key * count + (levels[participant * this.#factors + factor] as number);
        const number = this.#numbers.get(key) ?? this.#numbers.size;
        this.#numbers.set(key, number);
        of[participant] = number;
      }
      this.count = this.#numbers.size;
    }
  }
}

function runsOf<T extends { readonly levels: number }>(factors: readonly T[]): T[][] {
  const runs: T[][] = [];
  let keys = Number.POSITIVE_INFINITY;
  for (const factor of factors) {
    keys *= factor.levels;
    if (keys > MAX_STRATUM_KEYS) {
      runs.push([]);
      keys = factor.levels;
    }
    runs.at(-1)?.push(factor);
  }
  return runs;
}
