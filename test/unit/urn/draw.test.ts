import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cumulative, indexAt, probabilities } from '../../../src/core/methods/draw.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { urn } from '../../support/arbitrary-study.ts';
import { check } from '../../support/property.ts';
import { numpyVectors } from '../../support/vectors.ts';

const uniform53 = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 2 ** 52, 2 ** 53 - 1));

describe('draw', () => {
  it.each(numpyVectors.map((vector) => ({ ...vector, bits: vector.seed.toString(2).length })))(
    'makes the same choices as numpy from a seed of $bits bits',
    ({ seed, choice_p }) => {
      const generator = Pcg64.fromSeed(seed);
      for (const { p, index } of choice_p)
        expect(indexAt(cumulative(p), generator.nextUniform53())).toBe(index);
    },
  );

  it('has probabilities that sum to one', () => {
    check(
      fc.property(urn, (balls) => {
        const sum = probabilities(balls).reduce((total, p) => total + p, 0);
        expect(Math.abs(sum - 1)).toBeLessThan(1e-14);
      }),
    );
  });

  it('has cumulative probabilities that never decrease and end at exactly one', () => {
    check(
      fc.property(urn, (balls) => {
        const cdf = cumulative(probabilities(balls));
        expect(cdf).toEqual(cdf.toSorted((a, b) => a - b));
        expect(cdf.at(-1)).toBe(1);
      }),
    );
  });

  it('always falls on a treatment that has a ball', () => {
    check(
      fc.property(urn, uniform53, (balls, k) => {
        expect(balls[indexAt(cumulative(probabilities(balls)), k)]).toBeGreaterThan(0);
      }),
    );
  });

  it('gives each treatment the uniforms from the previous bound (inclusive) to its own (exclusive)', () => {
    const cdf = cumulative(probabilities([1, 0, 1, 2]));
    expect(cdf).toEqual([0.25, 0.25, 0.5, 1]);
    const quarter = 2 ** 51;
    const at = [0, quarter - 1, quarter, 2 * quarter - 1, 2 * quarter, 4 * quarter - 1];
    expect(at.map((k) => indexAt(cdf, k))).toEqual([0, 0, 2, 2, 3, 3]);
  });

  it('refuses an invalid uniform', () => {
    for (const k of [-1, 0.5, 2 ** 53, Number.NaN]) expect(() => indexAt([0.5, 1], k)).toThrow(RangeError);
  });

  it('refuses cumulative probabilities that end below the uniform', () => {
    expect(() => indexAt([0.25, 0.5], 2 ** 52)).toThrow(RangeError);
    expect(() => indexAt(cumulative(probabilities([0, 0])), 0)).toThrow(RangeError);
  });
});
