import { describe, expect, it } from 'vitest';
import { medianInterval } from '../../../bench/figures.ts';

describe('the interval of a median', () => {
  // Ranks as tables of the binomial distribution give them: the number of values that may lie outside on either side.
  it.each([
    [6, 1, 6],
    [8, 1, 8],
    [9, 2, 8],
    [12, 3, 10],
    [20, 6, 15],
    [25, 8, 18],
    [50, 18, 33],
  ])('of %i values lies between the values of ranks %i and %i', (n, low, high) => {
    const values = Array.from({ length: n }, (_, i) => n - i);
    expect(medianInterval(values)).toEqual({ low, high });
  });

  it('is unknown for fewer than 6 values', () => {
    expect(() => medianInterval([1, 2, 3, 4, 5])).toThrow(RangeError);
  });
});
