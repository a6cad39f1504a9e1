import { describe, expect, it } from 'vitest';
import { medianInterval } from '../../../bench/figures.ts';

describe('the interval of a median', () => {
  // Ranks from tables of the binomial distribution, which give the number of values that may be outside on either side.
  it.each([
    [6, 1, 6],
    [9, 2, 8],
    [25, 8, 18],
    [50, 18, 33],
  ])('for %i values is between the values of ranks %i and %i', (n, low, high) => {
    const values = Array.from({ length: n }, (_, i) => n - i);
    expect(medianInterval(values)).toEqual({ low, high });
  });

  it('is unknown for fewer than 6 values', () => {
    expect(() => medianInterval([1, 2, 3, 4, 5])).toThrow(RangeError);
  });
});
