/**
 * Draws a ball: finds the treatment that a uniform number falls on.
 *
 * Source: numpy `_generator.pyx`, `Generator.choice(K, p=p)`: cumulative sums from left to right, each divided by the
 * last, and a search to the right of the uniform.
 */

/**
 * @param balls b_k, not negative, with a sum above zero
 * @returns p_k = b_k / T, as doubles
 */
export function probabilities(balls: readonly number[]): number[] {
  let total = 0;
  for (const held of balls) total += held;
  return balls.map((held) => held / total);
}

/**
 * @param weights p_k, not negative, with a sum above zero
 * @returns cdf_k, never decreasing; the last is exactly 1, so every uniform below 1 falls on a treatment
 */
export function cumulative(weights: readonly number[]): number[] {
  let last = 0;
  const sums = weights.map((weight) => {
    last += weight;
    return last;
  });
  return sums.map((sum) => sum / last);
}

/**
 * @param cdf as `cumulative` returns it
 * @param uniform53 integer k below 2^53; the uniform is u = k * 2^-53
 * @returns the first index whose cdf is above u; an index of probability zero is never returned
 * @throws RangeError when the uniform is out of range, or the cdf does not end at 1
 */
export function indexAt(cdf: readonly number[], uniform53: number): number {
  if (!Number.isSafeInteger(uniform53) || uniform53 < 0) {
    throw new RangeError(`uniform must be an integer from 0 to 2^53 - 1, not ${uniform53}`);
  }
  const u = uniform53 * 2 ** -53; // exact
  const index = cdf.findIndex((bound) => bound > u);
  if (index === -1) throw new RangeError('cumulative probabilities must end at 1');
  return index;
}
