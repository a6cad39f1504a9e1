/**
 * Adds the tallies of one design, and makes figures from them, each with the 95 % interval of its Monte Carlo error. Memory does
 * not depend on the number of replicates. Every figure is defined in docs/statistics.md.
 */
import type { SimulationPlan } from './plan.ts';
import { type BlockTally, coursePoints, RangeScale, rangeNames, valueNames } from './tally.ts';

/** The result of a simulation, or of the exact computation. */
export interface DesignResult {
  /** `study` for the study's own design; for a comparator, its name as asked for. */
  readonly name: string;
  /** By name, such as `overall.range@300.mean` or `guess.naive`. Figures that depend on n are given at every n of the plan. */
  readonly figures: Readonly<Record<string, Figure>>;
  /** At most 50 points, the last of them after all participants. */
  readonly course: readonly CoursePoint[];
  /** Share of the replicates with each range of the arms overall after all participants, ascending. */
  readonly distribution: readonly { readonly range: number; readonly share: number }[];
}

/** With the 95 % interval of its Monte Carlo error. An exact figure is its own interval. */
export interface Figure {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The imbalance of the arms overall after some participants: quantiles of its range over the replicates. */
export interface CoursePoint {
  readonly n: number;
  readonly p05: number;
  readonly p25: number;
  readonly p50: number;
  readonly p75: number;
  readonly p95: number;
}

/** How much equal sums of doubles may differ, per replicate. */
const ROUNDING = 1e-12;

/** Standard errors from a value to either end of its interval. */
const Z = 1.96;

const PERCENTILES = [5, 25, 50, 75, 95] as const;

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
    figures['guess.blind'] = figureAround(blind, 0);
    figures['share'] = this.#share();
    return figures;
  }

  #rangeFigures(name: string, i: number): Record<string, Figure> {
    const { unit } = new RangeScale(this.#plan.design.ratio);
    const histogram = this.#ranges[i] as Histogram;
    return {
      [`${name}.mean`]: histogram.moments(unit).figure(),
      ...Object.fromEntries(
        PERCENTILES.map((percent) => [
          `${name}.p${String(percent).padStart(2, '0')}`,
          percentileFigure(histogram, percent, unit),
        ]),
      ),
      [`${name}.ge5`]: shareFigure(this.#atLeast5[i] as number, this.#replicates),
      [`${name}.ge10`]: shareFigure(this.#atLeast10[i] as number, this.#replicates),
    };
  }

  /** Its error is that of the first step where it was found: among many steps, one is far off by chance. */
  #share(): Figure {
    const R = this.#replicates;
    const largest = this.#deviations.reduce((most, sum) => Math.max(most, Math.abs(sum)), 0);
    const at = this.#deviations.findIndex((sum) => Math.abs(sum) >= largest - ROUNDING * R);
    const mean = largest / R;
    const variance = R > 1 ? Math.max(0, ((this.#squares[at] as number) - largest * mean) / (R - 1)) : 0;
    return figureAround(mean, Math.sqrt(variance / R));
  }

  #course(): CoursePoint[] {
    const { unit } = new RangeScale(this.#plan.design.ratio);
    return coursePoints(this.#plan.participants).map((n, i) => {
      const histogram = this.#ranges[this.#rangeNames.length + i] as Histogram;
      const [p05 = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0] = PERCENTILES.map(
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

/** A share of replicates, with Wilson's interval. Source: E. B. Wilson, "Probable Inference …", JASA 22, 1927. */
export function shareFigure(count: number, replicates: number): Figure {
  const value = count / replicates;
  const centre = (value + (Z * Z) / (2 * replicates)) / (1 + (Z * Z) / replicates);
  const half =
    (Z * Math.sqrt((value * (1 - value)) / replicates + (Z * Z) / (4 * replicates * replicates))) /
    (1 + (Z * Z) / replicates);
  // At both ends the limit is the value itself, which rounding may miss.
  return { value, low: count === 0 ? 0 : centre - half, high: count === replicates ? 1 : centre + half };
}

/** How often each whole number was seen. */
class Histogram {
  readonly #counts = new Map<number, number>();
  #sorted: (readonly [number, number])[] | undefined;
  count = 0;

  add(value: number): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
    this.#sorted = undefined;
    this.count++;
  }

  /** Values, ascending, and how often each was seen. */
  entries(): readonly (readonly [number, number])[] {
    this.#sorted ??= [...this.#counts].sort(([a], [b]) => a - b);
    return this.#sorted;
  }

  moments(unit: number): Moments {
    const moments = new Moments();
    for (const [value, times] of this.entries()) moments.add(value * unit, times);
    return moments;
  }

  /** The smallest value with at least `rank` values at or below it. */
  valueAt(rank: number): number {
    let below = 0;
    let last = 0;
    for (const [value, times] of this.entries()) {
      below += times;
      last = value;
      if (below >= rank) return value;
    }
    return last;
  }

  /** The smallest value with at least `percent` per cent of the values at or below it. */
  percentile(percent: number): number {
    return this.valueAt(Math.ceil((percent * this.count) / 100));
  }
}

/** With its interval from order statistics: the number of values at or below a quantile is binomial for any distribution. */
function percentileFigure(histogram: Histogram, percent: number, unit: number): Figure {
  const { low, high } = ranksAround(percent / 100, histogram.count);
  return {
    value: histogram.percentile(percent) * unit,
    low: histogram.valueAt(low) * unit,
    high: histogram.valueAt(high) * unit,
  };
}

/** Ranks, from 1, of two values that enclose a quantile with 95 % confidence, or less if there are too few values. */
export function ranksAround(q: number, count: number): { readonly low: number; readonly high: number } {
  const { first, weights } = binomial(count, q);
  const tail = (1 - 0.95) / 2;
  let total = 0;
  for (const weight of weights) total += weight;
  let low = first;
  let sum = 0;
  for (let i = 0; i < weights.length && sum + (weights[i] as number) <= tail * total; i++) {
    sum += weights[i] as number;
    low++;
  }
  let high = first + weights.length;
  sum = 0;
  for (let i = weights.length - 1; i >= 0 && sum + (weights[i] as number) <= tail * total; i--) {
    sum += weights[i] as number;
    high--;
  }
  return { low: Math.max(1, low), high: Math.min(count, high) };
}

/** The binomial probabilities that matter, times a common factor, so that none is too small for a double. */
function binomial(count: number, q: number): { readonly first: number; readonly weights: number[] } {
  const NEGLIGIBLE = 1e-18;
  const mode = Math.min(count, Math.floor((count + 1) * q));
  const odds = q / (1 - q);
  const above = [1];
  for (let k = mode; k < count && (above.at(-1) as number) > NEGLIGIBLE; k++)
    above.push((((above.at(-1) as number) * (count - k)) / (k + 1)) * odds);
  const below: number[] = [];
  let weight = 1;
  for (let k = mode; k > 0 && weight > NEGLIGIBLE; k--) {
    weight *= k / (count - k + 1) / odds;
    below.push(weight);
  }
  return { first: mode - below.length, weights: [...below.reverse(), ...above] };
}

/**
 * The standard deviation of whole numbers. Its error comes from that of the mean of the squares, by the delta method.
 */
function deviationFigure(histogram: Histogram): Figure {
  const moments = histogram.moments(1);
  const deviation = Math.sqrt(moments.variance);
  const squares = new Moments();
  for (const [value, times] of histogram.entries()) squares.add((value - moments.mean) ** 2, times);
  if (deviation === 0) return figureAround(0, 0);
  return figureAround(deviation, Math.sqrt(squares.variance / histogram.count) / (2 * deviation));
}

/** Running mean and variance (Welford). The variance of equal values is exactly 0. */
export class Moments {
  count = 0;
  mean = 0;
  #squares = 0;

  /** @param times how often the value occurs */
  add(value: number, times = 1): void {
    this.count += times;
    const deviation = value - this.mean;
    this.mean += (deviation * times) / this.count;
    this.#squares += times * deviation * (value - this.mean);
  }

  get variance(): number {
    return this.count > 1 ? this.#squares / (this.count - 1) : 0;
  }

  figure(): Figure {
    return figureAround(this.mean, Math.sqrt(this.variance / this.count));
  }
}

function figureAround(value: number, error: number): Figure {
  return { value, low: value - Z * error, high: value + Z * error };
}
