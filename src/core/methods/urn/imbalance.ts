/**
 * How far an urn is from holding equally many balls for every treatment.
 *
 * The order of operations is that of the reference implementation, and it is part of the algorithm: an urn is a candidate
 * when its d exactly equals the largest, so the last bit of a double decides ties. Do not reorder, fuse or factor out
 * operations, or sum in another way, even if the result is equal on paper.
 *
 * Known hazard: two urns whose variance or chisquare is equal as a rational number, say with the balls 2, 2, 1 and
 * 1, 2, 2, may differ in the last bit as doubles. Then the lot that method 1 describes is not cast between them. Instead,
 * the urn that rounded up is drawn from: the same one each time, so that three or more arms do not have exactly equal
 * chances (docs/methods.md). This was seen in about 0.3 % of allocations; 14 are among the 2,100 in
 * test/vectors/reference-histories.json. The reference implementation does the same, and its studies could not be
 * replayed otherwise. The range, a single rounded division, is not affected.
 */
import type { ImbalanceMeasure } from '../../../../events/study.ts';

/**
 * @param measure the study's `D`
 * @param balls b_k of an urn, whole numbers, with a sum T above zero; `count` of them, at least two, from `start` on
 * @returns d, without unit, at least zero; zero for equal b_k (up to rounding for variance and chisquare):
 *   range (max b - min b) / T; variance sum (m - f_k)^2 / (K - 1); chisquare sum of (f_k - m)^2 / m;
 *   with f_k = b_k / T and m = (f_1 + f_2 + ...) / K
 */
export function imbalance(
  measure: ImbalanceMeasure,
  balls: ArrayLike<number>,
  start = 0,
  count = balls.length,
): number {
  const end = start + count;
  let total = 0;
  for (let i = start; i < end; i++) total += balls[i] as number;
  if (measure === 'range') return spread(balls, start, end) / total;

  let mean = 0;
  for (let i = start; i < end; i++) mean += (balls[i] as number) / total;
  mean /= count;
  let distance = 0;
  for (let i = start; i < end; i++) {
    const f = (balls[i] as number) / total;
    distance += measure === 'variance' ? (mean - f) * (mean - f) : ((f - mean) * (f - mean)) / mean;
  }
  return measure === 'variance' ? distance / (count - 1) : distance;
}

function spread(balls: ArrayLike<number>, start: number, end: number): number {
  let most = balls[start] as number;
  let least = most;
  for (let i = start + 1; i < end; i++) {
    const held = balls[i] as number;
    if (held > most) most = held;
    if (held < least) least = held;
  }
  return most - least;
}
