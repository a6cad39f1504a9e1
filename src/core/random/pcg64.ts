/**
 * PCG64, numpy's default generator (PCG XSL-RR 128/64), with numpy's buffering of 32-bit halves, its bounded integers, and
 * which seeds are too weak for it. The same seed gives the same draws as in numpy.
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

/**
 * A 128-bit number is held in six limbs of 24 bits, the lowest first. Products of limbs, and the sums of them below, are
 * then exact doubles, and a step takes a quarter of the time that it takes with BigInt. A simulation takes many millions.
 */
const LIMB = 2 ** 24;
const HIGHEST_LIMB = 2 ** 8;

/** 0x2360ed051fc65da44385df649fccf645, the multiplier, in such limbs. */
const [M0, M1, M2, M3, M4, M5] = [0xccf645, 0xdf649f, 0xa44385, 0x1fc65d, 0x60ed05, 0x23];

const UINT32_MAX = 0xffffffff;

/** A mutable generator. Do not share it between owners; make a copy with `Pcg64.restore(generator.snapshot())`. */
export class Pcg64 {
  readonly #state: Limbs;
  readonly #inc: Increment;
  /** The last output, as two signed words of 32 bits. */
  #high = 0;
  #low = 0;
  #hasUint32: 0 | 1 = 0;
  #uinteger = 0;

  private constructor(state: bigint, inc: Increment) {
    this.#state = limbsOf(state);
    this.#inc = inc;
  }

  /**
   * @param seed non-negative, of any size
   * @returns the generator of `numpy.random.default_rng(seed)`
   * @throws RangeError when the seed is negative
   */
  static fromSeed(seed: bigint): Pcg64 {
    const [s0 = 0n, s1 = 0n, s2 = 0n, s3 = 0n] = generateStateUint64(seed, 4);
    const inc = BigInt.asUintN(128, (((s2 << 64n) | s3) << 1n) | 1n);
    // The first step, from the state 0, gives the increment.
    const state = BigInt.asUintN(128, inc + ((s0 << 64n) | s1));
    const generator = new Pcg64(state, { text: String(inc), limbs: limbsOf(inc) });
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
    const inc = incrementOf(state.state.inc);
    if (state.has_uint32 !== 0 && state.has_uint32 !== 1) {
      throw new RangeError(`has_uint32 of a PCG64 state must be 0 or 1, not ${state.has_uint32}`);
    }
    if (!Number.isInteger(state.uinteger) || state.uinteger < 0 || state.uinteger > UINT32_MAX) {
      throw new RangeError(`uinteger of a PCG64 state must be an integer below 2^32, not ${state.uinteger}`);
    }
    const generator = new Pcg64(parseUint128('state', state.state.state), inc);
    generator.#hasUint32 = state.has_uint32;
    generator.#uinteger = state.uinteger;
    return generator;
  }

  snapshot(): BgState {
    return {
      bit_generator: 'PCG64',
      has_uint32: this.#hasUint32,
      state: { inc: this.#inc.text, state: numberOf(this.#state).toString() },
      uinteger: this.#uinteger,
    };
  }

  /** The next output, uniform below 2^64. Leaves the buffered 32-bit half alone. */
  nextUint64(): bigint {
    this.#draw();
    return (BigInt(this.#high >>> 0) << 32n) | BigInt(this.#low >>> 0);
  }

  /** Uniform below 2^32: the lower half of a fresh output first, its upper half at the next call. */
  nextUint32(): number {
    if (this.#hasUint32 === 1) {
      // The used value stays in the state, as in numpy's own states.
      this.#hasUint32 = 0;
      return this.#uinteger;
    }
    this.#draw();
    this.#hasUint32 = 1;
    this.#uinteger = this.#high >>> 0;
    return this.#low >>> 0;
  }

  /** An integer k, uniform below 2^53. The double that numpy's `random()` returns is u = k * 2^-53. */
  nextUniform53(): number {
    this.#draw();
    return (this.#high >>> 0) * 2 ** 21 + (this.#low >>> 11);
  }

  /** A step, and the output of the new state: its halves, one XOR the other, rotated by its highest six bits. */
  #draw(): void {
    this.#step();
    const { 0: s0, 1: s1, 2: s2, 3: s3, 4: s4, 5: s5 } = this.#state;
    let low = (s0 | (s1 << 24)) ^ ((s2 >>> 16) | (s3 << 8));
    let high = ((s1 >>> 8) | (s2 << 16)) ^ (s4 | (s5 << 24));
    const rotation = s5 >>> 2;
    if (rotation >= 32) [low, high] = [high, low];
    const by = rotation & 31;
    if (by === 0) {
      this.#low = low;
      this.#high = high;
    } else {
      this.#low = (low >>> by) | (high << (32 - by));
      this.#high = (high >>> by) | (low << (32 - by));
    }
  }

  /** state = state * multiplier + inc, modulo 2^128. */
  #step(): void {
    const state = this.#state;
    const { 0: s0, 1: s1, 2: s2, 3: s3, 4: s4, 5: s5 } = state;
    const { 0: i0, 1: i1, 2: i2, 3: i3, 4: i4, 5: i5 } = this.#inc.limbs;
    let sum = s0 * M0 + i0;
    let carry = Math.floor(sum / LIMB);
    state[0] = sum - carry * LIMB;
    sum = s0 * M1 + s1 * M0 + i1 + carry;
    carry = Math.floor(sum / LIMB);
    state[1] = sum - carry * LIMB;
    sum = s0 * M2 + s1 * M1 + s2 * M0 + i2 + carry;
    carry = Math.floor(sum / LIMB);
    state[2] = sum - carry * LIMB;
    sum = s0 * M3 + s1 * M2 + s2 * M1 + s3 * M0 + i3 + carry;
    carry = Math.floor(sum / LIMB);
    state[3] = sum - carry * LIMB;
    sum = s0 * M4 + s1 * M3 + s2 * M2 + s3 * M1 + s4 * M0 + i4 + carry;
    carry = Math.floor(sum / LIMB);
    state[4] = sum - carry * LIMB;
    sum = s0 * M5 + s1 * M4 + s2 * M3 + s3 * M2 + s4 * M1 + s5 * M0 + i5 + carry;
    // Not `%`, which takes longer than all that is above.
    state[5] = sum - Math.floor(sum / HIGHEST_LIMB) * HIGHEST_LIMB;
  }
}

interface Increment {
  /** In decimal. To write it takes longer than a draw. */
  readonly text: string;
  readonly limbs: Limbs;
}

/** Not a list: taking a typed array apart as one is slow. */
type Limbs = Float64Array & { 0: number; 1: number; 2: number; 3: number; 4: number; 5: number };

/** That of the generator which was restored last: a study has the same one from its first draw to its last. */
let latestIncrement: Increment | undefined;

function incrementOf(text: string): Increment {
  if (latestIncrement?.text === text) return latestIncrement;
  const inc = parseUint128('inc', text);
  // An LCG modulo a power of two needs an odd increment for its full period (Hull and Dobell 1962).
  if ((inc & 1n) === 0n) throw new RangeError('inc of a PCG64 state must be odd');
  latestIncrement = { text, limbs: limbsOf(inc) };
  return latestIncrement;
}

const DECIMAL = /^(?:0|[1-9]\d{0,38})$/;
const UINT128_MAX = (1n << 128n) - 1n;

function parseUint128(name: string, decimal: string): bigint {
  if (typeof decimal !== 'string' || !DECIMAL.test(decimal)) {
    throw new RangeError(`${name} of a PCG64 state must be a decimal string without leading zeros`);
  }
  const value = BigInt(decimal);
  if (value > UINT128_MAX) throw new RangeError(`${name} of a PCG64 state must be below 2^128`);
  return value;
}

/** Takes a number apart, and puts it together: much faster than to shift a BigInt limb by limb. */
const bits = new DataView(new ArrayBuffer(16));

function limbsOf(value: bigint): Limbs {
  bits.setBigUint64(0, value, true);
  bits.setBigUint64(8, value >> 64n, true);
  const w0 = bits.getUint32(0, true);
  const w1 = bits.getUint32(4, true);
  const w2 = bits.getUint32(8, true);
  const w3 = bits.getUint32(12, true);
  const limbs = new Float64Array(6) as Limbs;
  limbs[0] = w0 & 0xffffff;
  limbs[1] = (w0 >>> 24) | ((w1 & 0xffff) << 8);
  limbs[2] = (w1 >>> 16) | ((w2 & 0xff) << 16);
  limbs[3] = w2 >>> 8;
  limbs[4] = w3 & 0xffffff;
  limbs[5] = w3 >>> 24;
  return limbs;
}

function numberOf({ 0: l0, 1: l1, 2: l2, 3: l3, 4: l4, 5: l5 }: Limbs): bigint {
  bits.setInt32(0, l0 | (l1 << 24), true);
  bits.setInt32(4, (l1 >>> 8) | (l2 << 16), true);
  bits.setInt32(8, (l2 >>> 16) | (l3 << 8), true);
  bits.setInt32(12, l4 | (l5 << 24), true);
  return (bits.getBigUint64(8, true) << 64n) | bits.getBigUint64(0, true);
}

const TWO_TO_32 = 2 ** 32;

/**
 * A uniform integer below n, as numpy's `Generator.integers(0, n)` draws it. Consumes no output for n = 1, one 32-bit output
 * for n = 2^32, and otherwise one or, rarely, more.
 *
 * Sources: D. Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29(1), 2019; numpy
 * `distributions.c`, `random_bounded_uint64_fill` (the bounds 1 and 2^32) and `buffered_bounded_lemire_uint32`.
 *
 * @param n integer from 1 to 2^32
 * @returns an integer from 0 to n - 1, each equally likely
 * @throws RangeError when n is out of range; then no output is consumed
 */
export function boundedInteger(generator: Pcg64, n: number): number {
  if (!Number.isInteger(n) || n < 1 || n > TWO_TO_32) {
    throw new RangeError(`bound must be an integer from 1 to 2^32, not ${n}`);
  }
  if (n === 1) return 0;

  // numpy treats 2^32 separately because its product would not fit. Here it is an ordinary case that rejects nothing.
  let output = generator.nextUint32();
  let lower = Math.imul(output, n) >>> 0;
  // The remainder costs a division and is needed only when the lower half is below n (Lemire, algorithm 5).
  if (lower < n) {
    const threshold = (TWO_TO_32 - n) % n; // = 2^32 mod n
    while (lower < threshold) {
      output = generator.nextUint32();
      lower = Math.imul(output, n) >>> 0;
    }
  }
  // The upper half. The product as a double may be off by 2^11, far less than the half of 2^32 that would round wrongly.
  return Math.round((output * n - lower) / TWO_TO_32);
}

/** Seeds below 2^96 can be found by search from published allocations (one of 32 bits in minutes). */
const WEAK_BELOW = 2n ** 96n;

export function isWeakSeed(seed: bigint): boolean {
  return seed < WEAK_BELOW;
}
