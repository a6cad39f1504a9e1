/**
 * What an urn holds after the assignments so far.
 *
 * Source: L. J. Wei, "The Adaptive Biased Coin Design for Sequential Experiments", Annals of Statistics 6(1), 1978;
 * the urn UD(w, alpha, beta) of Wei and Lachin, Controlled Clinical Trials 9(4), 1988, for several treatments.
 */

export interface UrnWeights {
  /** Balls per treatment at the start. */
  readonly w: number;
  /** Balls added for the assigned treatment. */
  readonly alpha: number;
  /** Balls added for every other treatment. */
  readonly beta: number;
}

/**
 * b_k = w + alpha * n_k + beta * (N - n_k), with N = sum of n_k.
 *
 * @param counts n_k, participants of the urn's level on each treatment; `count` of them from `start` on
 * @param balls is filled with b_k, at the same places; their sum is exact and above zero
 * @returns T, the sum
 * @throws RangeError when the urn would be empty, hold a negative number of balls, or more than a double counts exactly
 */
export function fillBalls(
  { w, alpha, beta }: UrnWeights,
  counts: ArrayLike<number>,
  balls: number[] | Float64Array,
  start: number,
  count: number,
): number {
  const end = start + count;
  let participants = 0;
  for (let i = start; i < end; i++) participants += counts[i] as number;

  let total = 0;
  for (let i = start; i < end; i++) {
    const assigned = counts[i] as number;
    const held = w + alpha * assigned + beta * (participants - assigned);
    if (!(held >= 0)) throw new RangeError(`an urn cannot hold ${held} balls for a treatment`);
    total += held;
    balls[i] = held;
  }
  // No term is negative, so if the total is exact, so is every term.
  if (!Number.isSafeInteger(total)) throw new RangeError(`an urn cannot hold ${total} balls: above 2^53 - 1`);
  if (total === 0) throw new RangeError('the urn is empty: w must be at least 1');
  return total;
}

/** The balls of one urn, in the order of the counts. Errors are those of `fillBalls`. */
export function balls(weights: UrnWeights, counts: readonly number[]): number[] {
  const urn: number[] = [];
  fillBalls(weights, counts, urn, 0, counts.length);
  return urn;
}
