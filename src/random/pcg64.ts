/**
 * PCG64, numpy's default generator (PCG XSL-RR 128/64), with numpy's buffering of 32-bit halves.
 *
 * Sources: M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random
 * Number Generation", HMC-CS-2014-0905 (2014), sections 6.3.3 (XSL-RR) and 4.2 (seeding); numpy `_pcg64.pyx` and
 * `pcg64.h` for the seeding from SeedSequence, the buffer and the shape of the state.
 */
import { generateStateUint64 } from './seed-sequence.ts';

/** numpy's `bit_generator.state`, with 128-bit integers as decimal strings without leading zeros. */
export interface BgState {
  bit_generator: 'PCG64';
  state: { state: string; inc: string };
  /** Whether `uinteger` is the unused upper half of an earlier output. */
  has_uint32: 0 | 1;
  uinteger: number;
}

const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const DECIMAL = /^(?:0|[1-9]\d{0,38})$/;
const UINT32_MAX = 0xffffffff;
const UINT128_MAX = (1n << 128n) - 1n;

/** A mutable generator. Do not share it between owners; make a copy with `Pcg64.restore(generator.snapshot())`. */
export class Pcg64 {
  #state: bigint;
  readonly #inc: bigint;
  /** `#inc` in decimal: it never changes, and writing it takes longer than a draw. */
  readonly #incText: string;
  #hasUint32: 0 | 1 = 0;
  #uinteger = 0;

  private constructor(state: bigint, inc: bigint, incText: string) {
    this.#state = state;
    this.#inc = inc;
    this.#incText = incText;
  }

  /**
   * @param seed non-negative, of any size
   * @returns the generator of `numpy.random.default_rng(seed)`
   * @throws RangeError when the seed is negative
   */
  static fromSeed(seed: bigint): Pcg64 {
    const [s0 = 0n, s1 = 0n, s2 = 0n, s3 = 0n] = generateStateUint64(seed, 4);
    const inc = BigInt.asUintN(128, (((s2 << 64n) | s3) << 1n) | 1n);
    const generator = new Pcg64(0n, inc, String(inc));
    generator.#step();
    generator.#state = BigInt.asUintN(128, generator.#state + ((s0 << 64n) | s1));
    generator.#step();
    return generator;
  }

  /**
   * @returns a generator that continues where the snapshot was taken
   * @throws RangeError when a PCG64 cannot have this state, or it is not in the format of `snapshot`
   */
  static restore(state: BgState): Pcg64 {
    if (state.bit_generator !== 'PCG64') {
      throw new RangeError(`state of a PCG64 expected, not of ${JSON.stringify(state.bit_generator)}`);
    }
    const inc = parseUint128('inc', state.state.inc);
    // An LCG modulo a power of two needs an odd increment for its full period (Hull and Dobell 1962).
    if ((inc & 1n) === 0n) throw new RangeError('inc of a PCG64 state must be odd');
    if (state.has_uint32 !== 0 && state.has_uint32 !== 1) {
      throw new RangeError(`has_uint32 of a PCG64 state must be 0 or 1, not ${state.has_uint32}`);
    }
    if (!Number.isInteger(state.uinteger) || state.uinteger < 0 || state.uinteger > UINT32_MAX) {
      throw new RangeError(`uinteger of a PCG64 state must be an integer below 2^32, not ${state.uinteger}`);
    }
    const generator = new Pcg64(parseUint128('state', state.state.state), inc, state.state.inc);
    generator.#hasUint32 = state.has_uint32;
    generator.#uinteger = state.uinteger;
    return generator;
  }

  snapshot(): BgState {
    return {
      bit_generator: 'PCG64',
      has_uint32: this.#hasUint32,
      state: { inc: this.#incText, state: this.#state.toString() },
      uinteger: this.#uinteger,
    };
  }

  /** The next output, uniform below 2^64. Leaves the buffered 32-bit half alone. */
  nextUint64(): bigint {
    this.#step();
    const folded = BigInt.asUintN(64, (this.#state >> 64n) ^ this.#state);
    const rotation = this.#state >> 122n;
    return (folded >> rotation) | BigInt.asUintN(64, folded << (64n - rotation));
  }

  /** Uniform below 2^32: the lower half of a fresh output first, its upper half at the next call. */
  nextUint32(): number {
    if (this.#hasUint32 === 1) {
      // The used value stays in the state, as in numpy's own states.
      this.#hasUint32 = 0;
      return this.#uinteger;
    }
    const output = this.nextUint64();
    this.#hasUint32 = 1;
    this.#uinteger = Number(output >> 32n);
    return Number(BigInt.asUintN(32, output));
  }

  /** An integer k, uniform below 2^53. The double that numpy's `random()` returns is u = k * 2^-53. */
  nextUniform53(): number {
    return Number(this.nextUint64() >> 11n);
  }

  #step(): void {
    this.#state = BigInt.asUintN(128, this.#state * MULTIPLIER + this.#inc);
  }
}

function parseUint128(name: string, decimal: string): bigint {
  if (typeof decimal !== 'string' || !DECIMAL.test(decimal)) {
    throw new RangeError(`${name} of a PCG64 state must be a decimal string without leading zeros`);
  }
  const value = BigInt(decimal);
  if (value > UINT128_MAX) throw new RangeError(`${name} of a PCG64 state must be below 2^128`);
  return value;
}
