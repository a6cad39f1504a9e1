/**
 * Notes what one design does in a block of replicates: which quantities, and where each is kept. Every figure that is made of
 * them is defined in docs/statistics.md.
 */
import { evenPoints, leastCommonMultiple } from '../../base/whole-numbers.ts';
import type { Covariates } from './covariates.ts';
import type { SimulatedDesign, SimulationPlan } from './plan.ts';
import type { Participants, Rule } from './rules.ts';

/** What is noted of a block of replicates. Can be passed from a thread. */
export interface BlockTally {
  readonly replicates: number;
  /** For each replicate: the ranges in the order of `rangeNames`, then those at the points of the course. */
  readonly ranges: Int32Array;
  /** For each range with a name: the number of replicates in which it is at least 5 %, 10 % of its participants. */
  readonly atLeast5: Int32Array;
  readonly atLeast10: Int32Array;
  /** For each replicate with two arms: by how many the first is ahead, at each n. */
  readonly differences: Int32Array;
  /** For each replicate, in the order of `valueNames`. */
  readonly values: Float64Array;
  /** For each participant and arm: the sums, over replicates, of p_k - r_k/R and of its square. */
  readonly deviations: Float64Array;
  readonly squares: Float64Array;
}

/** Near-certain allocations: the least chance of the likeliest arm. */
const NEAR_CERTAIN = [
  { name: 'certain.80', least: 0.8 },
  { name: 'certain.90', least: 0.9 },
  { name: 'certain.100', least: 1 },
] as const;

/** Chances are sums of rounded doubles. */
const CHANCE_TOLERANCE = 1e-12;

/**
 * For each block: `begin`, then for each replicate `beginReplicate`, `note` for each participant in turn and `endReplicate`, and
 * in the end `finish`.
 */
export class Tally {
  readonly #plan: SimulationPlan;
  readonly #participants: Participants;
  readonly #covariates: Covariates;
  readonly #strata: Int32Array;
  readonly #scale: RangeScale;
  /** What each arm's count is multiplied by, as in `RangeScale`. */
  readonly #factors: Int32Array;
  readonly #ratio: Int32Array;
  readonly #shares: Float64Array;
  /** Where the levels of each factor begin among all levels. */
  readonly #firstLevels: Int32Array;
  readonly #levelCount: number;
  readonly #isPoint: Uint8Array;
  readonly #isAt: Uint8Array;
  readonly #rangeCount: number;
  readonly #namedRanges: number;
  readonly #points: number;
  readonly #valueCount: number;
  readonly #urnFactors: readonly number[];
  readonly #driftUnit: number;

  /** n_k. */
  readonly #counts: Int32Array;
  /** n_k of each level. */
  readonly #levelCounts: Int32Array;
  /** n_k of each stratum. */
  readonly #stratumCounts: Int32Array;
  /** For each arm: the sum of 2i - N - 1 over its participants i = 1 … N. */
  readonly #times: Float64Array;
  readonly #certain = new Int32Array(NEAR_CERTAIN.length);
  readonly #drawn: Int32Array;
  /** At each n. */
  readonly #losses: Float64Array;
  #balanced = 0;
  #naive = 0;
  #site = 0;
  #known = 0;
  #forcing = 0;
  #entropy = 0;
  #largest = 0;

  #block: BlockTally;
  #replicate = 0;
  #nextRange = 0;
  #nextPoint = 0;

  /** @param urnFactors indexes of the factors among whose urns the design draws; none for a design that has no choice */
  constructor(
    plan: SimulationPlan,
    participants: Participants,
    covariates: Covariates,
    urnFactors: readonly number[],
  ) {
    const { design, at, participants: N } = plan;
    const { ratio, factors } = design;
    const arms = ratio.length;
    const sum = ratio.reduce((total, share) => total + share, 0);
    this.#plan = plan;
    this.#participants = participants;
    this.#covariates = covariates;
    this.#strata = participants.strata([...factors.keys()]);
    this.#scale = new RangeScale(ratio);
    this.#factors = Int32Array.from(this.#scale.factors);
    this.#ratio = Int32Array.from(ratio);
    this.#shares = Float64Array.from(ratio, (share) => share / sum);
    this.#firstLevels = new Int32Array(factors.length);
    let levels = 0;
    factors.forEach((factor, i) => {
      this.#firstLevels[i] = levels;
      levels += factor.levels.length;
    });
    this.#levelCount = levels;
    this.#isPoint = marks(coursePoints(N), N);
    this.#isAt = marks(at, N);
    this.#namedRanges = rangeNames(plan).length;
    this.#points = coursePoints(N).length;
    this.#rangeCount = this.#namedRanges + this.#points;
    this.#urnFactors = urnFactors;
    this.#valueCount = valueNames(plan, urnFactors.map(String)).length;
    // (1 - sum of (r_k/R)^2) * sum of (2i - N - 1)^2: both sums are four times those of the definition.
    this.#driftUnit =
      (1 - this.#shares.reduce((total, share) => total + share * share, 0)) * ((N * (N * N - 1)) / 3);
    this.#counts = new Int32Array(arms);
    this.#levelCounts = new Int32Array(levels * arms);
    this.#stratumCounts = new Int32Array(N * arms);
    this.#times = new Float64Array(arms);
    this.#drawn = new Int32Array(factors.length);
    this.#losses = new Float64Array(at.length);
    this.#block = this.#emptyBlock(0);
  }

  #emptyBlock(replicates: number): BlockTally {
    const { at, participants, design } = this.#plan;
    return {
      replicates,
      ranges: new Int32Array(replicates * this.#rangeCount),
      atLeast5: new Int32Array(this.#namedRanges),
      atLeast10: new Int32Array(this.#namedRanges),
      differences: new Int32Array(design.ratio.length === 2 ? replicates * at.length : 0),
      values: new Float64Array(replicates * this.#valueCount),
      deviations: new Float64Array(replicates > 0 ? participants * design.ratio.length : 0),
      squares: new Float64Array(replicates > 0 ? participants * design.ratio.length : 0),
    };
  }

  begin(replicates: number): void {
    this.#block = this.#emptyBlock(replicates);
    this.#replicate = 0;
  }

  /** What was noted since `begin`. */
  finish(): BlockTally {
    return this.#block;
  }

  beginReplicate(): void {
    this.#counts.fill(0);
    this.#levelCounts.fill(0);
    this.#stratumCounts.fill(0);
    this.#times.fill(0);
    this.#certain.fill(0);
    this.#drawn.fill(0);
    this.#balanced = 0;
    this.#naive = 0;
    this.#site = 0;
    this.#known = 0;
    this.#forcing = 0;
    this.#entropy = 0;
    this.#largest = 0;
    this.#nextRange = this.#replicate * this.#rangeCount;
    this.#nextPoint = this.#nextRange + this.#namedRanges;
  }

  /** @param arm that the rule has just allocated */
  note(participant: number, arm: number, { chances, drawnFactor }: Rule): void {
    this.#noteChances(participant, chances);
    if (drawnFactor >= 0) this.#drawn[drawnFactor] = (this.#drawn[drawnFactor] as number) + 1;
    this.#count(participant, arm);
    const range = this.#range(this.#counts, 0);
    if (range === 0) this.#balanced++;
    if (range > this.#largest) this.#largest = range;
    if (this.#isPoint[participant] === 1) this.#block.ranges[this.#nextPoint++] = range;
    if (this.#isAt[participant] === 1) this.#noteRanges(participant + 1, range);
  }

  /** Before the participant is counted. */
  #noteChances(participant: number, chances: Float64Array): void {
    const { deviations, squares } = this.#block;
    const arms = chances.length;
    const start = participant * arms;
    let most = 0;
    let entropy = 0;
    for (let arm = 0; arm < arms; arm++) {
      const chance = chances[arm] as number;
      if (chance > most) most = chance;
      if (chance > 0) entropy -= chance * Math.log(chance);
      const deviation = chance - (this.#shares[arm] as number);
      deviations[start + arm] = (deviations[start + arm] as number) + deviation;
      squares[start + arm] = (squares[start + arm] as number) + deviation * deviation;
    }
    this.#entropy += entropy;
    this.#known += most;
    this.#forcing += Math.abs((chances[0] as number) - 0.5);
    for (let i = 0; i < NEAR_CERTAIN.length; i++)
      if (most >= (NEAR_CERTAIN[i] as { least: number }).least - CHANCE_TOLERANCE)
        this.#certain[i] = (this.#certain[i] as number) + 1;
    this.#naive += this.#guess(chances, this.#counts, 0);
    const { siteFactor } = this.#plan;
    if (siteFactor !== undefined)
      this.#site += this.#guess(chances, this.#levelCounts, this.#level(participant, siteFactor) * arms);
  }

  /** The chance of guessing right by picking at random among the arms with the least n_k/r_k and, of those, the largest r_k. */
  #guess(chances: Float64Array, counts: Int32Array, start: number): number {
    let least = Number.POSITIVE_INFINITY;
    let largestShare = 0;
    let chance = 0;
    let tied = 0;
    for (let arm = 0; arm < chances.length; arm++) {
      const count = (counts[start + arm] as number) * (this.#factors[arm] as number);
      const share = this.#ratio[arm] as number;
      if (count > least || (count === least && share < largestShare)) continue;
      if (count < least || share > largestShare) {
        least = count;
        largestShare = share;
        chance = 0;
        tied = 0;
      }
      chance += chances[arm] as number;
      tied++;
    }
    return chance / tied;
  }

  /** Index, among all levels, of the participant's level of a factor. */
  #level(participant: number, factor: number): number {
    const { levels, factors } = this.#participants;
    return (this.#firstLevels[factor] as number) + (levels[participant * factors.length + factor] as number);
  }

  #count(participant: number, arm: number): void {
    const arms = this.#counts.length;
    const N = this.#plan.participants;
    const counts = this.#levelCounts;
    this.#counts[arm] = (this.#counts[arm] as number) + 1;
    for (let factor = 0; factor < this.#firstLevels.length; factor++) {
      const at = this.#level(participant, factor) * arms + arm;
      counts[at] = (counts[at] as number) + 1;
    }
    const at = (this.#strata[participant] as number) * arms + arm;
    this.#stratumCounts[at] = (this.#stratumCounts[at] as number) + 1;
    this.#times[arm] = (this.#times[arm] as number) + 2 * participant + 1 - N;
  }

  /** The range of the scaled counts of all arms, from `start` on. */
  #range(counts: Int32Array, start: number): number {
    let most = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let arm = 0; arm < this.#factors.length; arm++) {
      const count = (counts[start + arm] as number) * (this.#factors[arm] as number);
      if (count > most) most = count;
      if (count < least) least = count;
    }
    return most - least;
  }

  /** In the order of `rangeNames`. */
  #noteRanges(n: number, overall: number): void {
    const arms = this.#counts.length;
    const first = this.#nextRange;
    let largest = 0;
    this.#nextRange = first + 3;
    for (let level = 0; level < this.#levelCount; level++) {
      const start = level * arms;
      const range = this.#range(this.#levelCounts, start);
      let ofLevel = 0;
      for (let arm = 0; arm < arms; arm++) ofLevel += this.#levelCounts[start + arm] as number;
      if (range > largest) largest = range;
      this.#noteRange(this.#nextRange++, range, ofLevel);
    }
    this.#noteRange(first, overall, n);
    this.#noteRange(first + 1, largest, n);
    this.#noteRange(first + 2, this.#largestInStratum(n), n);
    this.#noteAt(n);
  }

  /** Strata are numbered in the order in which they appear. */
  #largestInStratum(n: number): number {
    const arms = this.#counts.length;
    let last = 0;
    let largest = 0;
    for (let participant = 0; participant < n; participant++)
      last = Math.max(last, this.#strata[participant] as number);
    for (let stratum = 0; stratum <= last; stratum++)
      largest = Math.max(largest, this.#range(this.#stratumCounts, stratum * arms));
    return largest;
  }

  /** @param of the number of participants that the range is compared with */
  #noteRange(index: number, range: number, of: number): void {
    const { ranges, atLeast5, atLeast10 } = this.#block;
    const name = index - this.#replicate * this.#rangeCount;
    ranges[index] = range;
    if (this.#scale.isAtLeast(range, 20, of)) atLeast5[name] = (atLeast5[name] as number) + 1;
    if (this.#scale.isAtLeast(range, 10, of)) atLeast10[name] = (atLeast10[name] as number) + 1;
  }

  #noteAt(n: number): void {
    const { at } = this.#plan;
    const moment = at.indexOf(n);
    this.#losses[moment] = this.#covariates.loss(moment, this.#levelCounts, this.#counts);
    if (this.#counts.length === 2)
      this.#block.differences[this.#replicate * at.length + moment] =
        (this.#counts[0] as number) - (this.#counts[1] as number);
  }

  endReplicate(): void {
    const { participants: N, siteFactor } = this.#plan;
    this.#noteRange((this.#replicate + 1) * this.#rangeCount - this.#points - 1, this.#largest, N);
    let drift = 0;
    for (let arm = 0; arm < this.#times.length; arm++) drift += (this.#times[arm] as number) ** 2;
    // In the order of `valueNames`.
    const { values } = this.#block;
    let next = this.#replicate * this.#valueCount;
    values[next++] = this.#balanced / N;
    values[next++] = this.#naive / N;
    values[next++] = this.#known / N;
    if (siteFactor !== undefined) values[next++] = this.#site / N;
    for (const count of this.#certain) values[next++] = count / N;
    if (this.#counts.length === 2) values[next++] = (4 * this.#forcing) / N;
    values[next++] = this.#entropy / N;
    if (N > 1) values[next++] = drift / this.#driftUnit;
    for (const loss of this.#losses) values[next++] = loss;
    for (const factor of this.#urnFactors) values[next++] = (this.#drawn[factor] as number) / N;
    this.#replicate++;
  }
}

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

/** Points of the course, at most. */
const MAX_COURSE_POINTS = 50;

/** Numbers of participants, ascending, up to all of them. */
export function coursePoints(participants: number): number[] {
  return evenPoints(participants, MAX_COURSE_POINTS);
}

/** @returns for each participant, by index, whether that many are among the numbers */
function marks(numbers: readonly number[], participants: number): Uint8Array {
  const marks = new Uint8Array(participants);
  for (const n of numbers) marks[n - 1] = 1;
  return marks;
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

function levelNames({ factors }: SimulatedDesign): string[] {
  return factors.flatMap(({ name, levels }) => levels.map((level) => `level.${name}.${level}`));
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
    ...NEAR_CERTAIN.map(({ name }) => name),
    ...(design.treatments.length === 2 ? ['forcing'] : []),
    'entropy',
    // One participant cannot drift.
    ...(participants > 1 ? ['drift'] : []),
    ...at.map((n) => `loss@${n}`),
    ...urnFactors.map((factor) => `drawn.${factor}`),
  ];
}
