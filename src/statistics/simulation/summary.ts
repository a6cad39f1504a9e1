/** Adds the blocks of one design, and makes figures from them. Memory does not depend on the number of replicates. */

import { around, deviationFigure, Histogram, Moments, percentileFigure, share } from './intervals.ts';
import type { SimulationPlan } from './plan.ts';
import { coursePoints, RangeScale, rangeNames, valueNames } from './quantities.ts';
import type { CoursePoint, DesignResult, Figure } from './result.ts';
import type { BlockTally } from './tally.ts';

/** How much equal sums of doubles may differ, per replicate. */
const ROUNDING = 1e-12;

const PERCENTS = [5, 25, 50, 75, 95] as const;

export class Summary {
  readonly #plan: SimulationPlan;
  readonly #rangeNames: readonly string[];
  readonly #valueNames: readonly string[];
  /** For the ranges with names, then for the points of the course. */
  readonly #ranges: readonly Histogram[];
  readonly #atLeast5: Float64Array;
  readonly #atLeast10: Float64Array;
  /** At each n. */
  readonly #differences: readonly Histogram[];
  readonly #values: readonly Moments[];
  readonly #deviations: Float64Array;
  readonly #squares: Float64Array;
  #replicates = 0;

  /** @param urnFactors names of the factors among whose urns the design draws */
  constructor(plan: SimulationPlan, urnFactors: readonly string[]) {
    const { ratio } = plan.design;
    this.#plan = plan;
    this.#rangeNames = rangeNames(plan);
    this.#valueNames = valueNames(plan, urnFactors);
    const ranges = this.#rangeNames.length + coursePoints(plan.participants).length;
    this.#ranges = Array.from({ length: ranges }, () => new Histogram());
    this.#atLeast5 = new Float64Array(this.#rangeNames.length);
    this.#atLeast10 = new Float64Array(this.#rangeNames.length);
    this.#differences = ratio.length === 2 ? plan.at.map(() => new Histogram()) : [];
    this.#values = this.#valueNames.map(() => new Moments());
    this.#deviations = new Float64Array(plan.participants * ratio.length);
    this.#squares = new Float64Array(plan.participants * ratio.length);
  }

  /** Blocks must come in order: sums of doubles depend on it. */
  add(block: BlockTally): void {
    this.#replicates += block.replicates;
    addRows(block.ranges, this.#ranges);
    addRows(block.differences, this.#differences);
    addRows(block.values, this.#values);
    addTo(this.#atLeast5, block.atLeast5);
    addTo(this.#atLeast10, block.atLeast10);
    addTo(this.#deviations, block.deviations);
    addTo(this.#squares, block.squares);
  }

  result(name: string): DesignResult {
    return { name, figures: this.#figures(), course: this.#course(), distribution: this.#distribution() };
  }

  #figures(): Record<string, Figure> {
    const { ratio } = this.#plan.design;
    const blind = Math.max(...ratio) / ratio.reduce((total, one) => total + one, 0);
    const figures: Record<string, Figure> = {};
    this.#rangeNames.forEach((name, i) => {
      Object.assign(figures, this.#rangeFigures(name, i));
    });
    this.#differences.forEach((histogram, i) => {
      figures[`difference.sd@${this.#plan.at[i]}`] = deviationFigure(histogram);
    });
    this.#valueNames.forEach((name, i) => {
      figures[name] = (this.#values[i] as Moments).figure();
    });
    figures['guess.blind'] = around(blind, 0);
    figures['share'] = this.#share();
    return figures;
  }

  #rangeFigures(name: string, i: number): Record<string, Figure> {
    const { unit } = new RangeScale(this.#plan.design.ratio);
    const histogram = this.#ranges[i] as Histogram;
    return {
      [`${name}.mean`]: histogram.moments(unit).figure(),
      ...Object.fromEntries(
        PERCENTS.map((percent) => [
          `${name}.p${String(percent).padStart(2, '0')}`,
          percentileFigure(histogram, percent, unit),
        ]),
      ),
      [`${name}.ge5`]: share(this.#atLeast5[i] as number, this.#replicates),
      [`${name}.ge10`]: share(this.#atLeast10[i] as number, this.#replicates),
    };
  }

  /** Its error is that of the first step where it was found: among many steps, one is far off by chance. */
  #share(): Figure {
    const R = this.#replicates;
    const largest = this.#deviations.reduce((most, sum) => Math.max(most, Math.abs(sum)), 0);
    const at = this.#deviations.findIndex((sum) => Math.abs(sum) >= largest - ROUNDING * R);
    const mean = largest / R;
    const variance = R > 1 ? Math.max(0, ((this.#squares[at] as number) - largest * mean) / (R - 1)) : 0;
    return around(mean, Math.sqrt(variance / R));
  }

  #course(): CoursePoint[] {
    const { unit } = new RangeScale(this.#plan.design.ratio);
    return coursePoints(this.#plan.participants).map((n, i) => {
      const histogram = this.#ranges[this.#rangeNames.length + i] as Histogram;
      const [p05 = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0] = PERCENTS.map(
        (percent) => histogram.percentile(percent) * unit,
      );
      return { n, p05, p25, p50, p75, p95 };
    });
  }

  /** The last point of the course is after all participants. */
  #distribution(): DesignResult['distribution'] {
    const { unit } = new RangeScale(this.#plan.design.ratio);
    const last = this.#ranges.at(-1) as Histogram;
    return last.entries().map(([range, times]) => ({ range: range * unit, share: times / this.#replicates }));
  }
}

/** Adds each row's values to the totals, one value to each. */
function addRows(values: Int32Array | Float64Array, totals: readonly { add(value: number): void }[]): void {
  for (let i = 0; i < values.length; i++) totals[i % totals.length]?.add(values[i] as number);
}

function addTo(totals: Float64Array, values: Int32Array | Float64Array): void {
  for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] as number) + (values[i] as number);
}
