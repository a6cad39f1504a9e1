import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { balls } from '../../../src/core/methods/urn/balls.ts';
import { check } from '../../support/property.ts';

const weights = fc.record({ w: fc.integer({ min: 1, max: 1000 }), alpha: fc.nat(1000), beta: fc.nat(1000) });
const counts = fc.array(fc.nat(1e6), { minLength: 2, maxLength: 12 });
const total = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0);

describe('balls', () => {
  it('starts with w balls for every treatment', () => {
    expect(balls({ w: 3, alpha: 1, beta: 2 }, [0, 0, 0])).toEqual([3, 3, 3]);
  });

  it('adds alpha for the assigned treatment and beta for every other', () => {
    expect(balls({ w: 1, alpha: 0, beta: 1 }, [2, 0, 1])).toEqual([2, 4, 3]);
    expect(balls({ w: 2, alpha: 10, beta: 100 }, [2, 0, 1])).toEqual([122, 302, 212]);
  });

  it('never drops below w, so every treatment can always be drawn', () => {
    check(
      fc.property(weights, counts, (given, assigned) => {
        for (const held of balls(given, assigned)) expect(held).toBeGreaterThanOrEqual(given.w);
      }),
    );
  });

  it('adds alpha + (K - 1) beta balls with every participant', () => {
    check(
      fc.property(weights, counts, (given, assigned) => {
        const treatments = assigned.length;
        expect(total(balls(given, assigned))).toBe(
          given.w * treatments + (given.alpha + given.beta * (treatments - 1)) * total(assigned),
        );
      }),
    );
  });

  it('commutes with permutations of the treatments', () => {
    check(
      fc.property(weights, counts, (given, assigned) => {
        expect(balls(given, assigned.toReversed())).toEqual(balls(given, assigned).toReversed());
      }),
    );
  });

  it('refuses an empty urn, a negative number of balls, and more balls than a double can count', () => {
    expect(() => balls({ w: 0, alpha: 0, beta: 1 }, [0, 0])).toThrow(RangeError);
    expect(() => balls({ w: -1, alpha: 0, beta: 1 }, [0, 5])).toThrow(RangeError);
    expect(() => balls({ w: 2 ** 52, alpha: 0, beta: 1 }, [0, 0])).toThrow(RangeError);
    expect(() => balls({ w: 1, alpha: 0, beta: 2 ** 52 }, [2, 1])).toThrow(RangeError);
    expect(() => balls({ w: Number.NaN, alpha: 0, beta: 1 }, [0, 0])).toThrow(RangeError);
  });
});
