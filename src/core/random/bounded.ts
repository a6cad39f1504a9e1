/**
 * A uniform integer below n, as numpy's `Generator.integers(0, n)` draws it.
 *
 * Sources: D. Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29(1), 2019; numpy
 * `distributions.c`, `random_bounded_uint64_fill` (the bounds 1 and 2^32) and `buffered_bounded_lemire_uint32`.
 */
import type { Pcg64 } from './pcg64.ts';

const TWO_TO_32 = 2 ** 32;

/**
 * Consumes no output for n = 1, one 32-bit output for n = 2^32, and otherwise one or, rarely, more.
 *
 * @param n integer from 1 to 2^32
 * @returns an integer from 0 to n - 1, each equally likely
 * @throws RangeError when n is out of range; then no output is consumed
 */
export function boundedInteger(generator: Pcg64, n: number): number {
  if (!Number.isInteger(n) || n < 1 || n > TWO_TO_32) {
    throw new RangeError(`bound must be an integer from 1 to 2^32, not ${n}`);
  }
  if (n === 1) return 0;

  // numpy treats 2^32 separately because its product would not fit. Here it is an ordinary case that rejects nothing.
  let output = generator.nextUint32();
  let lower = Math.imul(output, n) >>> 0;
  // The remainder costs a division and is needed only when the lower half is below n (Lemire, algorithm 5).
  if (lower < n) {
    const threshold = (TWO_TO_32 - n) % n; // = 2^32 mod n
    while (lower < threshold) {
      output = generator.nextUint32();
      lower = Math.imul(output, n) >>> 0;
    }
  }
  // The upper half. The product as a double may be off by 2^11, far less than the half of 2^32 that would round wrongly.
  return Math.round((output * n - lower) / TWO_TO_32);
}
