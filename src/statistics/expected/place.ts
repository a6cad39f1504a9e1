/** Where a number is among those of the replicates. */

/** In thousandths. */
const QUANTILES = [25, 250, 500, 750, 975] as const;

/** 2.5, 25, 50, 75 and 97.5 %: each is the smallest number with at least that share of all at or below it. */
export function quantiles(ascending: ArrayLike<number>): number[] {
  return QUANTILES.map((share) => ascending[Math.ceil((share * ascending.length) / 1000) - 1] as number);
}

/** The share of the numbers below this one, plus half of those that are equal to it. */
export function midPercentile(numbers: Iterable<number> & ArrayLike<number>, one: number): number {
  let halves = 0;
  for (const other of numbers)
    if (other < one) halves += 2;
    else if (other === one) halves += 1;
  return halves / (2 * numbers.length);
}
