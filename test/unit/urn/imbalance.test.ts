import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { imbalance } from '../../../src/core/methods/urn/imbalance.ts';
import { urn } from '../../support/arbitrary-study.ts';
import { exactImbalance, toNumber } from '../../support/exact.ts';
import { check } from '../../support/property.ts';

const measures = ['range', 'variance', 'chisquare'] as const;

describe('imbalance', () => {
  it('follows the formulas', () => {
    // f = 1/4, 3/4; m = 1/2: all are exact in binary.
    expect(imbalance('range', [1, 3])).toBe(0.5);
    expect(imbalance('variance', [1, 3])).toBe(0.125);
    expect(imbalance('chisquare', [1, 3])).toBe(0.25);
    expect(imbalance('range', [0, 4, 0, 0])).toBe(1);
    expect(imbalance('variance', [0, 4, 0, 0])).toBe(0.25);
    expect(imbalance('chisquare', [0, 4, 0, 0])).toBe(3);
  });

  it.each(measures)('%s is never negative and at most K', (measure) => {
    check(
      fc.property(urn, (balls) => {
        const d = imbalance(measure, balls);
        expect(d >= 0 && d <= balls.length).toBe(true);
      }),
    );
  });

  it('is zero by range if all treatments have the same number of balls', () => {
    check(
      fc.property(fc.integer({ min: 1, max: 1e9 }), fc.integer({ min: 2, max: 12 }), (held, treatments) => {
        expect(imbalance('range', new Array<number>(treatments).fill(held))).toBe(0);
      }),
    );
  });

  it('depends on the order of the treatments only by rounding', () => {
    check(
      fc.property(urn, (balls) => {
        const reversed = balls.toReversed();
        expect(imbalance('range', reversed)).toBe(imbalance('range', balls));
        expect(imbalance('variance', reversed)).toBeCloseTo(imbalance('variance', balls), 12);
        expect(imbalance('chisquare', reversed)).toBeCloseTo(imbalance('chisquare', balls), 12);
      }),
    );
  });

  it.each(measures)('%s equals the exact value except for the last few bits', (measure) => {
    check(
      fc.property(urn, (balls) => {
        const exact = toNumber(exactImbalance(measure, balls));
        expect(Math.abs(imbalance(measure, balls) - exact)).toBeLessThan(1e-14 * balls.length);
      }),
    );
  });

  it('decides ties by the last bit, so that the order of operations is part of the algorithm: the known hazard', () => {
    // One rounding: 3/6 - 1/6 would be 0.33333333333333337.
    expect(imbalance('range', [1, 2, 3])).toBe(1 / 3);
    expect(imbalance('variance', [2, 2, 1])).toBe(0.013333333333333336);
    expect(imbalance('variance', [1, 2, 2])).toBe(0.013333333333333334);
    expect(imbalance('chisquare', [3, 4, 4, 4])).toBe(0.013333333333333329);
    expect(imbalance('chisquare', [4, 4, 3, 4])).toBe(0.013333333333333327);
    // Eight or more: sums run from left to right, not in numpy's pairwise blocks.
    expect(imbalance('chisquare', [2, 2, 2, 2, 2, 1, 2, 2])).toBe(0.03111111111111111);
    expect(imbalance('chisquare', [2, 2, 1, 2, 2, 2, 2, 2])).toBe(0.031111111111111107);
    expect(imbalance('variance', [2, 3, 3, 3, 3, 3, 3, 2, 3, 3, 3, 3])).toBe(0.0001310684701688162);
    expect(imbalance('variance', [3, 3, 3, 3, 2, 3, 3, 3, 3, 3, 3, 2])).toBe(0.00013106847016881623);
  });

  it('has no such hazard by range: equal rational numbers are equal doubles', () => {
    check(
      fc.property(
        fc.nat(1000),
        fc.integer({ min: 1, max: 1000 }),
        fc.nat(1000),
        fc.nat(1000),
        (low, high, a, b) => {
          const one = [low, low + high, low + (a % (high + 1))];
          const factor = b + 1;
          expect(
            imbalance(
              'range',
              one.map((held) => held * factor),
            ),
          ).toBe(imbalance('range', one));
        },
      ),
    );
  });
});
