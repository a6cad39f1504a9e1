/** The words of a seed, the generator that begins with them, and integers below a bound: as numpy has them. */
import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { BgState as BgStateSchema } from '../../../events/study.ts';
import { type BgState, boundedInteger, Pcg64 } from '../../../src/core/random/pcg64.ts';
import { generateStateUint32, generateStateUint64 } from '../../../src/core/random/seed-sequence.ts';
import { seed } from '../../support/arbitrary-study.ts';
import { check } from '../../support/property.ts';
import { numpyVectors } from '../../support/vectors.ts';

it.each(numpyVectors.map((vector) => ({ ...vector, bits: vector.seed.toString(2).length })))(
  'numpy has the same words, states, 64-bit outputs, doubles and bounded integers from a seed of $bits bits',
  ({ seed, generate_state_u32, state, inc, next_uint64, random, integers_below }) => {
    expect(generateStateUint32(seed, 8)).toEqual(generate_state_u32);
    const [generator, doubles, integers] = [1, 2, 3].map(() => Pcg64.fromSeed(seed)) as [Pcg64, Pcg64, Pcg64];
    const begun = { bit_generator: 'PCG64', state: { state, inc }, has_uint32: 0, uinteger: 0 };
    expect(generator.snapshot()).toEqual(begun);
    expect(next_uint64.map(() => generator.nextUint64())).toEqual(next_uint64);
    expect(random.map(() => doubles.nextUniform53() * 2 ** -53)).toEqual(random);
    for (const { n, value, state: left, ...halves } of integers_below) {
      expect(boundedInteger(integers, n)).toBe(value);
      expect(integers.snapshot()).toEqual({ ...begun, state: { state: left, inc }, ...halves });
    }
  },
);

describe('SeedSequence', () => {
  it('makes 64-bit words of two 32-bit words, the lower first; longer states begin with shorter ones', () => {
    check(
      fc.property(seed(500), fc.nat(9), fc.nat(9), (entropy, count, more) => {
        const words = generateStateUint32(entropy, 2 * count);
        const halves = generateStateUint64(entropy, count).flatMap((w) => [
          Number(w & 0xffffffffn),
          Number(w >> 32n),
        ]);
        expect(halves).toEqual(words);
        const longer = generateStateUint32(entropy, 2 * count + more);
        expect(longer).toHaveLength(2 * count + more);
        expect(longer.slice(0, 2 * count)).toEqual(words);
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
    expect(() => Pcg64.fromSeed(-1n)).toThrow(RangeError);
    expect(() => generateStateUint32(0n, -1)).toThrow(RangeError);
    expect(() => generateStateUint32(0n, 1.5)).toThrow(RangeError);
  });
});

const operation = fc.constantFrom('nextUint64' as const, 'nextUint32' as const, 'nextUniform53' as const);
const operations = fc.array(operation, { maxLength: 30 });

const run = (generator: Pcg64, names: readonly ('nextUint64' | 'nextUint32' | 'nextUniform53')[]) =>
  names.map((name) => generator[name]());

describe('Pcg64', () => {
  it('continues from a snapshot, as events record it, as if nothing had happened', () => {
    expectTypeOf<BgState>().toEqualTypeOf<BgStateSchema>();
    check(
      fc.property(seed(400), operations, operations, (entropy, before, after) => {
        const generator = Pcg64.fromSeed(entropy);
        run(generator, before);
        const snapshot = generator.snapshot();
        const frozen = structuredClone(snapshot);
        expect(BgStateSchema.parse(snapshot)).toEqual(snapshot);
        const restored = Pcg64.restore(snapshot);
        expect(run(restored, after)).toEqual(run(generator, after));
        expect(restored.snapshot()).toEqual(generator.snapshot());
        expect(snapshot).toEqual(frozen);
      }),
    );
  });

  it('returns the lower half of an output, then the upper, which the state keeps meanwhile', () => {
    check(
      fc.property(seed(400), operations, (entropy, names) => {
        const output = Pcg64.fromSeed(entropy).nextUint64();
        const generator = Pcg64.fromSeed(entropy);
        const upper = Number(output >> 32n);
        expect(generator.nextUint32()).toBe(Number(output & 0xffffffffn));
        run(
          generator,
          names.filter((name) => name !== 'nextUint32'),
        );
        expect(generator.snapshot()).toMatchObject({ has_uint32: 1, uinteger: upper });
        expect(generator.nextUint32()).toBe(upper);
        expect(generator.snapshot()).toMatchObject({ has_uint32: 0, uinteger: upper });
      }),
    );
  });

  it('does not rotate if the top six bits of the state are zero', () => {
    // From state 0 a step leads to inc = 1: the folded word is 1, the rotation 0.
    const state = { state: '0', inc: '1' };
    const generator = Pcg64.restore({ bit_generator: 'PCG64', state, has_uint32: 0, uinteger: 0 });
    expect(generator.nextUint64()).toBe(1n);
  });

  const good: BgState = Pcg64.fromSeed(1n).snapshot();
  const above = (2n ** 128n).toString();
  it.each(
    Object.entries({
      'another generator': { ...good, bit_generator: 'MT19937' },
      'a state of 2^128': { ...good, state: { ...good.state, state: above } },
      'an inc above 2^128': { ...good, state: { ...good.state, inc: (2n ** 128n + 1n).toString() } },
      'an even inc': { ...good, state: { ...good.state, inc: '2' } },
      'an empty state': { ...good, state: { ...good.state, state: '' } },
      'a state with leading zeros': { ...good, state: { ...good.state, state: '01' } },
      'a state that is a number': { ...good, state: { ...good.state, state: 1 } },
      'a flag that is not 0 or 1': { ...good, has_uint32: 2 },
      'a half of 2^32': { ...good, uinteger: 2 ** 32 },
      'a negative half': { ...good, uinteger: -1 },
      'a broken half': { ...good, uinteger: 0.5 },
    }),
  )('refuses %s', (_, bad) => {
    expect(() => Pcg64.restore(bad as BgState)).toThrow(RangeError);
  });

  it('accepts the largest possible state', () => {
    const largest = (2n ** 128n - 1n).toString();
    const last: BgState = { ...good, state: { state: largest, inc: largest }, uinteger: 0xffffffff };
    expect(Pcg64.restore({ ...last, has_uint32: 1 }).snapshot()).toEqual({ ...last, has_uint32: 1 });
  });
});

const bound = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 2 ** 32 }),
  fc.nat(32).map((exponent) => 2 ** exponent),
  fc.constantFrom(2 ** 31 + 1, 2 ** 32 - 1, 3 * 2 ** 30), // rejected in up to half of the cases
);

describe('boundedInteger', () => {
  it('maps the same number of 32-bit outputs to each value, as whole intervals, and rejects the rest', () => {
    check(
      fc.property(seed(200), bound, (entropy, n) => {
        fc.pre(n > 1);
        const outputs = Pcg64.fromSeed(entropy);
        // Lemire's method by its definition: x is kept when the lower half of x * n is at least 2^32 mod n.
        let product = 0n;
        do product = BigInt(outputs.nextUint32()) * BigInt(n);
        while (product % 2n ** 32n < 2n ** 32n % BigInt(n));

        const generator = Pcg64.fromSeed(entropy);
        expect(boundedInteger(generator, n)).toBe(Number(product / 2n ** 32n));
        expect(generator.snapshot()).toEqual(outputs.snapshot());
      }),
      // An output as it is.
      { examples: [[7n, 2 ** 32]] },
    );
  });

  it('draws nothing for a bound of 1, and for one that it refuses', () => {
    const generator = Pcg64.fromSeed(7n);
    expect(boundedInteger(generator, 1)).toBe(0);
    for (const n of [0, -1, 1.5, 2 ** 32 + 1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => boundedInteger(generator, n), `${n}`).toThrow(RangeError);
    expect(generator.snapshot()).toEqual(Pcg64.fromSeed(7n).snapshot());
  });
});
