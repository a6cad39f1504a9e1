/** Monte Carlo errors: 95 % intervals. */
import type { Figure } from './result.ts';

const Z = 1.96;

/** A share of replicates. Source: E. B. Wilson, "Probable Inference …", JASA 22, 1927. */
export function share(count: number, replicates: number): Figure {
  const value = count / replicates;
  const centre = (value + (Z * Z) / (2 * replicates)) / (1 + (Z * Z) / replicates);
  const half =
    (Z * Math.sqrt((value * (1 - value)) / replicates + (Z * Z) / (4 * replicates * replicates))) /
    (1 + (Z * Z) / replicates);
  // At both ends the limit is the value itself, which rounding may miss.
  return { value, low: count === 0 ? 0 : centre - half, high: count === replicates ? 1 : centre + half };
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
    return around(this.mean, Math.sqrt(this.variance / this.count));
  }
}

export function around(value: number, error: number): Figure {
  return { value, low: value - Z * error, high: value + Z * error };
}

/** How often each whole number was seen. */
export class Histogram {
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
export function percentileFigure(histogram: Histogram, percent: number, unit: number): Figure {
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
export function deviationFigure(histogram: Histogram): Figure {
  const moments = histogram.moments(1);
  const deviation = Math.sqrt(moments.variance);
  const squares = new Moments();
  for (const [value, times] of histogram.entries()) squares.add((value - moments.mean) ** 2, times);
  if (deviation === 0) return around(0, 0);
  return around(deviation, Math.sqrt(squares.variance / histogram.count) / (2 * deviation));
}
