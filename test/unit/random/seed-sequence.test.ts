import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { generateStateUint32, generateStateUint64 } from '../../../src/core/random/seed-sequence.ts';
import { seed } from '../../support/arbitrary-study.ts';
import { check } from '../../support/property.ts';
import { numpyVectors } from '../../support/vectors.ts';

describe('SeedSequence', () => {
  it.each(numpyVectors.map((vector) => ({ ...vector, bits: vector.seed.toString(2).length })))(
    'produces the same words as numpy from a seed of $bits bits',
    ({ seed, generate_state_u32 }) => {
      expect(generateStateUint32(seed, 8)).toEqual(generate_state_u32);
    },
  );

  it('makes each 64-bit word from two 32-bit words, the lower first', () => {
    check(
      fc.property(seed(500), fc.nat(9), (entropy, count) => {
        const words = generateStateUint32(entropy, 2 * count);
        const halves = generateStateUint64(entropy, count).flatMap((w) => [
          Number(w & 0xffffffffn),
          Number(w >> 32n),
        ]);
        expect(halves).toEqual(words);
      }),
    );
  });

  it('produces longer states that begin with the shorter ones', () => {
    check(
      fc.property(seed(500), fc.nat(9), fc.nat(9), (entropy, count, more) => {
        const longer = generateStateUint32(entropy, count + more);
        expect(longer).toHaveLength(count + more);
        expect(longer.slice(0, count)).toEqual(generateStateUint32(entropy, count));
        for (const word of longer) expect(word === word >>> 0).toBe(true);
      }),
    );
  });

  it('distinguishes seeds that differ in any one bit, even beyond the pool of four words', () => {
    check(
      fc.property(seed(3000), fc.nat(3000), (entropy, bit) => {
        expect(generateStateUint64(entropy ^ (1n << BigInt(bit)), 4)).not.toEqual(
          generateStateUint64(entropy, 4),
        );
      }),
    );
  });

  it('accepts a seed of a million bits in reasonable time', () => {
    expect(generateStateUint64((1n << 1_000_000n) - 1n, 4)).toHaveLength(4);
  });

  it('refuses a negative seed and an invalid count', () => {
    expect(() => generateStateUint32(-1n, 4)).toThrow(RangeError);
    expect(() => generateStateUint64(-1n, 4)).toThrow(RangeError);
    expect(() => generateStateUint32(0n, -1)).toThrow(RangeError);
    expect(() => generateStateUint32(0n, 1.5)).toThrow(RangeError);
  });
});
