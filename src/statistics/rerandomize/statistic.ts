/**
 * Statistics of a re-randomization test. Each is a function of two numbers per arm: how many participants it has, and the
 * sum of their scores. The scores do not depend on the arms, so they are worked out once for all replicates.
 *
 * Sources: Hollander & Wolfe for rank sum and Kruskal-Wallis with midranks; the scores of the log-rank test are those of
 * its martingale form, event minus Nelson-Aalen cumulative hazard.
 */

export const STATISTICS = ['mean', 'ranksum', 'proportion', 'logrank', 'F', 'kruskal'] as const;
export type StatisticName = (typeof STATISTICS)[number];

export const ALTERNATIVES = ['two-sided', 'greater', 'less'] as const;
export type Alternative = (typeof ALTERNATIVES)[number];

/** It can be sent to a thread. */
export interface Statistic {
  readonly name: StatisticName;
  /** For each analysed participant. */
  readonly scores: Float64Array;
  readonly alternative: Alternative;
}

/** Statistics that compare any number of arms; the others compare two. They are extreme when they are large. */
export function isOfManyArms(name: StatisticName): boolean {
  return name === 'F' || name === 'kruskal';
}

/**
 * T. For two arms it is that of the first minus the second.
 * @param numbers analysed participants, by arm; none of them 0
 * @param sums their scores, by arm
 */
export function tValue(
  { name, scores }: Pick<Statistic, 'name' | 'scores'>,
  numbers: ArrayLike<number>,
  sums: ArrayLike<number>,
): number {
  const [n0, n1] = [numbers[0] as number, numbers[1] as number];
  const [s0, s1] = [sums[0] as number, sums[1] as number];
  switch (name) {
    case 'mean':
    case 'proportion':
      return s0 / n0 - s1 / n1;
    case 'ranksum':
      return s0 - (n0 * (n0 + n1 + 1)) / 2;
    case 'logrank':
      return s0;
    case 'F':
    case 'kruskal': {
      const n = scores.length;
      const arms = numbers.length;
      let total = 0;
      for (let arm = 0; arm < arms; arm++) total += sums[arm] as number;
      const mean = total / n;
      let between = 0;
      for (let arm = 0; arm < arms; arm++) {
        const number = numbers[arm] as number;
        between += number * ((sums[arm] as number) / number - mean) ** 2;
      }
      const all = variationOf(scores);
      if (all === 0) return 0;
      if (name === 'kruskal') return ((n - 1) * between) / all;
      return between / (arms - 1) / (Math.max(0, all - between) / (n - arms));
    }
  }
}

const variations = new WeakMap<Float64Array, number>();

/** How far equal scores can be from their mean, squared. */
const ROUNDING = 1e-28;

/** The sum of squares about the mean. */
function variationOf(scores: Float64Array): number {
  const known = variations.get(scores);
  if (known !== undefined) return known;
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const squares = scores.reduce((sum, score) => sum + score ** 2, 0);
  const found = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0);
  const variation = found <= ROUNDING * squares ? 0 : found;
  variations.set(scores, variation);
  return variation;
}

/** T, transformed so that large values are extreme. */
export function extremityOf(
  statistic: Statistic,
  numbers: ArrayLike<number>,
  sums: ArrayLike<number>,
): number {
  const value = tValue(statistic, numbers, sums);
  if (isOfManyArms(statistic.name)) return value;
  if (statistic.alternative === 'two-sided') return Math.abs(value);
  return statistic.alternative === 'greater' ? value : -value;
}

/** The least value that counts as at least as extreme as this one, in doubles. */
export function thresholdOf(extremity: number, tolerance = 1e-12): number {
  return Number.isFinite(extremity) ? extremity - tolerance * Math.max(1, Math.abs(extremity)) : extremity;
}

/** Ranks from 1; equal values share the mean of their ranks. */
export function midranks(values: ArrayLike<number>, tiedWithin = 0): Float64Array {
  const order = Array.from({ length: values.length }, (_, i) => i);
  order.sort((a, b) => (values[a] as number) - (values[b] as number));
  const ranks = new Float64Array(values.length);
  for (let from = 0, to = 0; from < order.length; from = to) {
    const valueAt = (place: number) => values[order[place] as number] as number;
    for (to = from + 1; to < order.length && valueAt(to) - valueAt(to - 1) <= tiedWithin; to++);
    for (let place = from; place < to; place++) ranks[order[place] as number] = (from + 1 + to) / 2;
  }
  return ranks;
}

/**
 * Each participant's share of Σ(O − E): the event, minus the hazard that had accumulated at the participant's time.
 * @param events 1 where the time is that of an event, 0 where it is censored
 */
export function logrankScores(times: readonly number[], events: readonly number[]): Float64Array {
  const order = times.map((_, i) => i).sort((a, b) => (times[a] as number) - (times[b] as number));
  const scores = new Float64Array(times.length);
  let hazard = 0;
  for (let from = 0, to = 0; from < order.length; from = to) {
    const time = times[order[from] as number];
    let count = 0;
    for (to = from; to < order.length && times[order[to] as number] === time; to++)
      count += events[order[to] as number] as number;
    hazard += count / (order.length - from);
    for (const i of order.slice(from, to)) scores[i] = (events[i] as number) - hazard;
  }
  return scores;
}
