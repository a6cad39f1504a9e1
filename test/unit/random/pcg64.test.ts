import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { BgState as BgStateSchema } from '../../../events/study.ts';
import { type BgState, Pcg64 } from '../../../src/core/random/pcg64.ts';
import { seed } from '../../support/arbitrary-study.ts';
import { check } from '../../support/property.ts';
import { numpyVectors } from '../../support/vectors.ts';

const operation = fc.constantFrom('nextUint64' as const, 'nextUint32' as const, 'nextUniform53' as const);
const operations = fc.array(operation, { maxLength: 30 });

const run = (generator: Pcg64, names: readonly ('nextUint64' | 'nextUint32' | 'nextUniform53')[]) =>
  names.map((name) => generator[name]());

describe('Pcg64', () => {
  describe.each(numpyVectors.map((vector) => ({ ...vector, bits: vector.seed.toString(2).length })))(
    'from a seed of $bits bits',
    ({ seed, state, inc, next_uint64, random }) => {
      it('starts in the same state as numpy', () => {
        expect(Pcg64.fromSeed(seed).snapshot()).toEqual({
          bit_generator: 'PCG64',
          state: { state, inc },
          has_uint32: 0,
          uinteger: 0,
        });
      });

      it('produces the same 64-bit outputs as numpy', () => {
        const generator = Pcg64.fromSeed(seed);
        expect(next_uint64.map(() => generator.nextUint64())).toEqual(next_uint64);
      });

      it('produces the same doubles as numpy', () => {
        const generator = Pcg64.fromSeed(seed);
        expect(random.map(() => generator.nextUniform53() * 2 ** -53)).toEqual(random);
      });
    },
  );

  it('has the state format that events record', () => {
    expectTypeOf<BgState>().toEqualTypeOf<BgStateSchema>();
    check(
      fc.property(seed(400), operations, (entropy, names) => {
        const generator = Pcg64.fromSeed(entropy);
        run(generator, names);
        expect(BgStateSchema.parse(generator.snapshot())).toEqual(generator.snapshot());
      }),
    );
  });

  it('continues from a snapshot as if nothing had happened, and leaves the snapshot unchanged', () => {
    check(
      fc.property(seed(400), operations, operations, (entropy, before, after) => {
        const generator = Pcg64.fromSeed(entropy);
        run(generator, before);
        const snapshot = generator.snapshot();
        const frozen = structuredClone(snapshot);
        const restored = Pcg64.restore(snapshot);
        expect(run(restored, after)).toEqual(run(generator, after));
        expect(restored.snapshot()).toEqual(generator.snapshot());
        expect(snapshot).toEqual(frozen);
      }),
    );
  });

  it('returns the lower half of an output, then the upper, and keeps the upper half visible in the state', () => {
    check(
      fc.property(seed(400), (entropy) => {
        const output = Pcg64.fromSeed(entropy).nextUint64();
        const generator = Pcg64.fromSeed(entropy);
        const upper = Number(output >> 32n);
        expect(generator.nextUint32()).toBe(Number(output & 0xffffffffn));
        expect(generator.snapshot()).toMatchObject({ has_uint32: 1, uinteger: upper });
        expect(generator.nextUint32()).toBe(upper);
        expect(generator.snapshot()).toMatchObject({ has_uint32: 0, uinteger: upper });
      }),
    );
  });

  it('produces doubles and 64-bit outputs without using the buffered half', () => {
    check(
      fc.property(seed(400), operation, (entropy, name) => {
        const generator = Pcg64.fromSeed(entropy);
        generator.nextUint32();
        const { uinteger } = generator.snapshot();
        fc.pre(name !== 'nextUint32');
        run(generator, [name]);
        expect(generator.snapshot()).toMatchObject({ has_uint32: 1, uinteger });
        expect(generator.nextUint32()).toBe(uinteger);
      }),
    );
  });

  it('produces numbers within their ranges', () => {
    check(
      fc.property(seed(400), (entropy) => {
        const generator = Pcg64.fromSeed(entropy);
        expect(BigInt.asUintN(64, generator.nextUint64())).toBe(Pcg64.fromSeed(entropy).nextUint64());
        const word = generator.nextUint32();
        expect(word).toBe(word >>> 0);
        const uniform = generator.nextUniform53();
        expect(Number.isSafeInteger(uniform) && uniform >= 0 && uniform < 2 ** 53).toBe(true);
      }),
    );
  });

  it('does not rotate if the top six bits of the state are zero', () => {
    // From state 0 a step leads to inc = 1: the folded word is 1, the rotation 0.
    const state = { state: '0', inc: '1' };
    const generator = Pcg64.restore({ bit_generator: 'PCG64', state, has_uint32: 0, uinteger: 0 });
    expect(generator.nextUint64()).toBe(1n);
  });

  describe('refuses', () => {
    const good: BgState = Pcg64.fromSeed(1n).snapshot();
    const above = (2n ** 128n).toString();
    const bad: Record<string, object> = {
      'another generator': { ...good, bit_generator: 'MT19937' },
      'a state of 2^128': { ...good, state: { ...good.state, state: above } },
      'an inc above 2^128': { ...good, state: { ...good.state, inc: (2n ** 128n + 1n).toString() } },
      'an even inc': { ...good, state: { ...good.state, inc: '2' } },
      'a negative state': { ...good, state: { ...good.state, state: '-1' } },
      'an empty state': { ...good, state: { ...good.state, state: '' } },
      'a state in hexadecimal': { ...good, state: { ...good.state, state: '0x10' } },
      'a state with leading zeros': { ...good, state: { ...good.state, state: '01' } },
      'a state that is a number': { ...good, state: { ...good.state, state: 1 } },
      'a flag that is not 0 or 1': { ...good, has_uint32: 2 },
      'a half of 2^32': { ...good, uinteger: 2 ** 32 },
      'a negative half': { ...good, uinteger: -1 },
      'a broken half': { ...good, uinteger: 0.5 },
    };

    it.each(Object.keys(bad))('%s', (what) => {
      expect(() => Pcg64.restore(bad[what] as BgState)).toThrow(RangeError);
    });

    it('a negative seed', () => {
      expect(() => Pcg64.fromSeed(-1n)).toThrow(RangeError);
    });
  });

  it('accepts the largest possible state', () => {
    const largest = (2n ** 128n - 1n).toString();
    const state: BgState = {
      bit_generator: 'PCG64',
      state: { state: largest, inc: largest },
      has_uint32: 1,
      uinteger: 0xffffffff,
    };
    expect(Pcg64.restore(state).snapshot()).toEqual(state);
  });
});
