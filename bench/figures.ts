/** What a benchmark reports: figures, some with a target, and the statistics behind them. */

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What the design and the documentation promise. Undefined: the figure is for information only. */
  readonly target?: Target;
}

interface Target {
  readonly relation: 'at least' | 'below';
  readonly value: number;
}

export function isMet({ value, target }: Figure): boolean | undefined {
  if (!target) return undefined;
  return target.relation === 'at least' ? value >= target.value : value < target.value;
}

/** @throws RangeError for no values */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The smallest value that at least the share `q` of the values does not exceed. @throws RangeError for no values */
export function quantile(values: readonly number[], q: number): number {
  const sorted = Float64Array.from(values).sort();
  const value = sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('no values');
  return value;
}

/** Median of the ratios of values measured side by side: anything that slows down both values of a pair cancels out. */
export function pairedRatio(numerators: readonly number[], denominators: readonly number[]): number {
  return median(pairedRatios(numerators, denominators));
}

export function pairedRatios(numerators: readonly number[], denominators: readonly number[]): number[] {
  return numerators.map((value, i) => value / (denominators[i] ?? Number.NaN));
}

/**
 * Two values that enclose the median of their distribution with a probability of at least 95 %, whatever that distribution
 * is: each value is below the median with probability 1/2, so the number of values below it is binomial. (Conover,
 * Practical Nonparametric Statistics, 3.2.)
 * @throws RangeError for fewer than 6 values
 */
export function medianInterval(values: readonly number[]): { readonly low: number; readonly high: number } {
  const sorted = Float64Array.from(values).sort();
  const n = sorted.length;
  // k values can be dropped from either end as long as P(fewer than k of n are below the median) is at most 2.5 %.
  let outside = 0;
  let probability = 2 ** -n; // that exactly k of n are below
  let rank = 0;
  while (outside + probability <= 0.025) {
    outside += probability;
    probability *= (n - rank) / (rank + 1);
    rank++;
  }
  const [low, high] = [sorted[rank - 1], sorted[n - rank]];
  if (low === undefined || high === undefined) throw new RangeError('at least 6 values are needed');
  return { low, high };
}

export function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { name, value, unit, target } = figure;
    const promised = target ? `${target.relation} ${target.value}` : '';
    return [
      name,
      readable(value),
      unit,
      promised,
      { true: 'met', false: 'MISSED' }[String(isMet(figure))] ?? '',
    ];
  });
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i === 1 ? cell.padStart(widths[1] ?? 0) : cell.padEnd(widths[i] ?? 0))).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

function readable(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toPrecision(3);
}
