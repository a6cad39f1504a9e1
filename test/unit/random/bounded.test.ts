import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundedInteger } from '../../../src/core/random/bounded.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { seed } from '../../support/arbitrary-study.ts';
import { check } from '../../support/property.ts';
import { numpyVectors } from '../../support/vectors.ts';

const bound = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 2 ** 32 }),
  fc.nat(32).map((exponent) => 2 ** exponent),
  fc.constantFrom(2 ** 31 + 1, 2 ** 32 - 1, 3 * 2 ** 30), // rejected in up to half of the cases
);

describe('boundedInteger', () => {
  it.each(numpyVectors.map((vector) => ({ ...vector, bits: vector.seed.toString(2).length })))(
    'draws the same as numpy from a seed of $bits bits, and leaves the same state',
    ({ seed, inc, integers_below }) => {
      const generator = Pcg64.fromSeed(seed);
      for (const { n, value, has_uint32, uinteger, state } of integers_below) {
        expect(boundedInteger(generator, n)).toBe(value);
        expect(generator.snapshot()).toEqual({
          bit_generator: 'PCG64',
          state: { state, inc },
          has_uint32,
          uinteger,
        });
      }
    },
  );

  it('stays below the bound', () => {
    check(
      fc.property(seed(200), fc.array(bound), (entropy, bounds) => {
        const generator = Pcg64.fromSeed(entropy);
        for (const n of bounds) {
          const value = boundedInteger(generator, n);
          expect(Number.isInteger(value) && value >= 0 && value < n).toBe(true);
        }
      }),
    );
  });

  it('maps the same number of 32-bit outputs to each value, as whole intervals, and rejects the rest', () => {
    check(
      fc.property(seed(200), bound, (entropy, n) => {
        fc.pre(n > 1 && n < 2 ** 32);
        const outputs = Pcg64.fromSeed(entropy);
        // Lemire's method by its definition: x is kept when the lower half of x * n is at least 2^32 mod n.
        let product = 0n;
        do product = BigInt(outputs.nextUint32()) * BigInt(n);
        while (product % 2n ** 32n < 2n ** 32n % BigInt(n));

        const generator = Pcg64.fromSeed(entropy);
        expect(boundedInteger(generator, n)).toBe(Number(product / 2n ** 32n));
        expect(generator.snapshot()).toEqual(outputs.snapshot());
      }),
    );
  });

  it('draws nothing for a bound of 1', () => {
    const generator = Pcg64.fromSeed(7n);
    expect(boundedInteger(generator, 1)).toBe(0);
    expect(generator.snapshot()).toEqual(Pcg64.fromSeed(7n).snapshot());
  });

  it('uses one 32-bit output unchanged for a bound of 2^32', () => {
    const generator = Pcg64.fromSeed(7n);
    const outputs = Pcg64.fromSeed(7n);
    for (let i = 0; i < 10; i++) expect(boundedInteger(generator, 2 ** 32)).toBe(outputs.nextUint32());
    expect(generator.snapshot()).toEqual(outputs.snapshot());
  });

  it('rejects outputs correctly for large bounds', () => {
    const generator = Pcg64.fromSeed(7n);
    const outputs = Pcg64.fromSeed(7n);
    for (let i = 0; i < 100; i++) boundedInteger(generator, 2 ** 31 + 1);
    for (let i = 0; i < 100; i++) outputs.nextUint32();
    const ahead = generator.snapshot();
    let rejected = 0;
    while (JSON.stringify(outputs.snapshot()) !== JSON.stringify(ahead)) {
      outputs.nextUint32();
      rejected++;
    }
    // Half of the outputs drawn are rejected: 100 on average, with a standard deviation of 14.
    expect(rejected).toBeGreaterThan(30);
  });

  it.each([0, -1, 1.5, 2 ** 32 + 1, Number.NaN, Number.POSITIVE_INFINITY])('refuses the bound %d', (n) => {
    const generator = Pcg64.fromSeed(7n);
    expect(() => boundedInteger(generator, n)).toThrow(RangeError);
    expect(generator.snapshot()).toEqual(Pcg64.fromSeed(7n).snapshot());
  });
});
