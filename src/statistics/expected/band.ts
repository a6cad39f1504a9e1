/**
 * The expected band of a study's imbalance: the values between which the range of its counts is in replicates of the study,
 * after each participant. Steps are taken in the order in which they happen. Whether a band takes them one by one or all at
 * once makes no difference, to the bit.
 *
 * The process of the bands loads this (`band-process.ts`), so it does not load the model of a study.
 */
import { z } from 'zod';
import { evenPoints, leastCommonMultiple } from '../../base/whole-numbers.ts';
import { EVERYBODY_ROW } from '../../core/methods/memory.ts';
import { Pcg64 } from '../../core/random/pcg64.ts';
import { baseSeed, Replicate, Setting } from '../replicate/replicate.ts';
import type { DesignStep, Step } from '../replicate/steps.ts';

/** For one row of counts; each list has one element per point. */
const ExpectedRange = z.strictObject({
  expected: z.array(z.array(z.number()).length(5)).meta({
    description: '2.5, 25, 50, 75 and 97.5 % of the range in the replicates, at each of the points',
  }),
  actual: z.array(z.number()).meta({ description: 'The range in the study itself' }),
  percentile: z.array(z.number().min(0).max(1)).meta({
    description: 'The share of the replicates with a smaller range, plus half of those with the same',
  }),
});
export type ExpectedRange = z.infer<typeof ExpectedRange>;

/** What a band shows. */
export const ExpectedBalance = z
  .strictObject({
    reps: z.int().meta({ description: 'How many replicates there are' }),
    seed: z.int().meta({
      description:
        'Replicate r is drawn from PCG64(2^100 + 2^32·seed + r). It is never the seed of the study',
    }),
    points: z.array(z.int()).meta({
      description:
        'Numbers of participants, at most 200 and evenly spaced. Values at a point are those before the next participant came; the last ones are current',
    }),
    overall: ExpectedRange,
    levels: z.map(z.string(), z.map(z.string(), ExpectedRange)).meta({
      description:
        'By factor and level, under their current names; including retired factors and closed levels',
    }),
    course: z
      .strictObject({ actual: z.number(), percentile: z.number() })
      .meta({ description: 'The largest range overall after any participant' }),
  })
  .meta({
    description:
      'The range is (R/K)·(max n_k/r_k − min n_k/r_k) of the K open arms, as the study counts them. The band holds for each point by itself: 1 point in 20 outside is no cause for alarm',
  });
export type ExpectedBalance = z.infer<typeof ExpectedBalance>;

const REPLICATES = 1000;

/** From this many participants on, the usual number of replicates would take minutes. */
const LONG_STUDY = 10_000;
const REPLICATES_OF_LONG_STUDY = 200;

/** How many replicates a band has, unless somebody says how many. */
export function replicatesFor(participants: number): number {
  return participants >= LONG_STUDY ? REPLICATES_OF_LONG_STUDY : REPLICATES;
}

/** A band is shown at no more points than this. */
export const MAX_POINTS = 200;

/** What was found for one row after a participant, and before the next. */
interface RowBand {
  readonly after: number;
  readonly expected: number[];
  readonly actual: number;
  readonly percentile: number;
}

/** Before anybody was counted in a row. */
const NOBODY_YET: RowBand = { after: 0, expected: [0, 0, 0, 0, 0], actual: 0, percentile: 0.5 };

/** Runs the study and its replicates side by side, and after each step looks at the rows of counts that may have changed. */
export class Band {
  readonly #reps: number;
  readonly #seed: number;
  #replicates: readonly Replicate[] = [];
  /** The study itself. */
  #study: Replicate | undefined;
  #setting: Setting | undefined;
  #range: Range | undefined;
  #participants = 0;
  /** By row, in order, with an entry only where the row changed. */
  readonly #found: RowBand[][] = [];
  readonly #sorted: Float64Array;
  /** The overall range of each replicate now, and the largest before the last participant. */
  readonly #overall: Float64Array;
  readonly #largest: Float64Array;
  #studyLargest = 0;

  constructor(reps: number, seed: number) {
    this.#reps = reps;
    this.#seed = seed;
    this.#sorted = new Float64Array(reps);
    this.#overall = new Float64Array(reps);
    this.#largest = new Float64Array(reps);
  }

  /** How many participants have come. */
  get participants(): number {
    return this.#participants;
  }

  take(step: Step): void {
    if (step.kind === 'design') {
      this.#amend(step);
      return;
    }
    if (!this.#study) throw new Error('a step came before the first design');
    const isNew = step.kind === 'draw' || (step.kind === 'fixed' && !step.isAgain);
    if (isNew) this.#endCourse();
    for (const replicate of this.#replicates) replicate.take(step);
    this.#study.repeat(step);
    for (const row of this.#rowsOf(step)) this.#look(row);
  }

  #amend(step: DesignStep): void {
    const setting = new Setting(step, this.#setting);
    this.#setting = setting;
    this.#range = new Range(step);
    if (this.#study) for (const one of [this.#study, ...this.#replicates]) one.amend(setting);
    else this.#begin(setting);
    // The open arms, and the counts of a row, may have changed.
    for (let row = 0; row < setting.layout.rowCount; row++) this.#look(row);
  }

  #begin(setting: Setting): void {
    const base = baseSeed(this.#seed);
    const make = (r: number) => new Replicate(Pcg64.fromSeed(base + BigInt(r)), setting);
    this.#replicates = Array.from({ length: this.#reps }, (_, r) => make(r));
    // The study itself repeats what was recorded, and draws nothing.
    this.#study = make(0);
  }

  /** Another participant comes, so the range so far counts for the course. */
  #endCourse(): void {
    this.#participants++;
    this.#studyLargest = Math.max(this.#studyLargest, this.#latest(EVERYBODY_ROW).actual);
    const [largest, overall] = [this.#largest, this.#overall];
    for (let r = 0; r < this.#reps; r++)
      if ((overall[r] as number) > (largest[r] as number)) largest[r] = overall[r] as number;
  }

  /** The rows that the step may have changed. */
  #rowsOf(step: Exclude<Step, DesignStep>): Set<number> {
    const places = step.kind === 'move' ? [step.from, step.to] : [step.levels];
    const rows = this.#setting?.layout.rows ?? [];
    return new Set([
      EVERYBODY_ROW,
      ...places.flatMap((levels = []) => levels.flatMap((level, factor) => rows[factor]?.[level] ?? [])),
    ]);
  }

  #look(row: number): void {
    const [setting, range, study] = [this.#setting, this.#range, this.#study];
    if (!setting || !range || !study) return;
    const from = row * setting.layout.stride;
    const ranges = this.#sorted;
    for (let r = 0; r < this.#reps; r++)
      ranges[r] = range.of((this.#replicates[r] as Replicate).counts.cells, from);
    if (row === EVERYBODY_ROW)
      for (let r = 0; r < this.#reps; r++) this.#overall[r] = range.value(ranges[r] as number);
    const actual = range.of(study.counts.cells, from);
    const percentile = midPercentile(ranges, actual);
    ranges.sort();
    const expected = quantiles(ranges).map((whole) => range.value(whole));
    const found = { after: this.#participants, expected, actual: range.value(actual), percentile };
    const course = this.#courseOf(row);
    if (course.at(-1)?.after === this.#participants) course.pop();
    course.push(found);
  }

  #courseOf(row: number): RowBand[] {
    const known = this.#found[row];
    if (known) return known;
    const begun: RowBand[] = [];
    this.#found[row] = begun;
    return begun;
  }

  #latest(row: number): RowBand {
    return this.#found[row]?.at(-1) ?? NOBODY_YET;
  }

  result(): ExpectedBalance {
    const setting = this.#setting;
    const points = evenPoints(this.#participants, MAX_POINTS);
    const largest = this.#largest.map((one, r) => Math.max(one, this.#overall[r] as number));
    const actual = Math.max(this.#studyLargest, this.#latest(EVERYBODY_ROW).actual);
    const levels = (setting?.design.factors ?? []).map(({ name, levels: ofFactor }, factor) => {
      const ranges = ofFactor.map((level, i) => {
        const row = setting?.layout.rows[factor]?.[i] ?? -1;
        return [level, this.#at(row, points)] as const;
      });
      return [name, new Map(ranges)] as const;
    });
    return {
      reps: this.#reps,
      seed: this.#seed,
      points,
      overall: this.#at(EVERYBODY_ROW, points),
      levels: new Map(levels),
      course: { actual, percentile: midPercentile(largest, actual) },
    };
  }

  /** @param points ascending */
  #at(row: number, points: readonly number[]): ExpectedRange {
    const course = this.#found[row] ?? [];
    let next = 0;
    const found = points.map((point) => {
      while ((course[next]?.after ?? Number.POSITIVE_INFINITY) <= point) next++;
      return course[next - 1] ?? NOBODY_YET;
    });
    return {
      expected: found.map(({ expected }) => expected),
      actual: found.map((one) => one.actual),
      percentile: found.map(({ percentile }) => percentile),
    };
  }
}

/**
 * How far apart the arms that take participants are in one row of counts: (R/K)·(max n_k/r_k − min n_k/r_k). It is computed
 * in whole numbers, so that equal ranges compare as equal: `of` gives it times a number that depends only on the ratio.
 */
export class Range {
  /** For each open arm: its slots, and the factor for its participants. */
  readonly #arms: readonly { readonly slots: readonly number[]; readonly by: number }[];
  /** R and K·L, where L is the least common multiple of the r_k. */
  readonly #slots: number;
  readonly #divisor: number;

  constructor({ arms, openArms }: Pick<DesignStep, 'arms' | 'openArms'>) {
    const slotsOf = (arm: number) => arms.flatMap((one, slot) => (one === arm ? [slot] : []));
    const open = openArms.map(slotsOf);
    const multiple = open.map(({ length }) => length).reduce(leastCommonMultiple, 1);
    this.#arms = open.map((slots) => ({ slots, by: multiple / slots.length }));
    this.#slots = open.flat().length;
    this.#divisor = open.length * multiple;
  }

  /** @param from where the row begins */
  of(counts: Int32Array, from: number): number {
    let most = 0;
    let least = Number.POSITIVE_INFINITY;
    for (const { slots, by } of this.#arms) {
      let number = 0;
      for (const slot of slots) number += counts[from + slot] as number;
      number *= by;
      if (number > most) most = number;
      if (number < least) least = number;
    }
    return most - least;
  }

  /** The range itself, from the result of `of`. A single division of whole numbers, so that equal ranges stay equal. */
  value(whole: number): number {
    return (whole * this.#slots) / this.#divisor;
  }
}

/** The share of the numbers below this one, plus half of those that are equal to it. */
export function midPercentile(numbers: Iterable<number> & ArrayLike<number>, one: number): number {
  let halves = 0;
  for (const other of numbers)
    if (other < one) halves += 2;
    else if (other === one) halves += 1;
  return halves / (2 * numbers.length);
}

/** In thousandths. */
const QUANTILES = [25, 250, 500, 750, 975] as const;

/** 2.5, 25, 50, 75 and 97.5 % of the replicates: each is the smallest number with at least that share of all at or below it. */
export function quantiles(ascending: ArrayLike<number>): number[] {
  return QUANTILES.map((share) => ascending[Math.ceil((share * ascending.length) / 1000) - 1] as number);
}
