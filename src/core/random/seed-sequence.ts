/**
 * numpy's SeedSequence: spreads a seed of any size over any number of words of generator state.
 *
 * Sources: M. E. O'Neill, "Developing a seed_seq Alternative" (2015), for the hash; numpy `bit_generator.pyx`, which fixes
 * the pool at four words. The output is part of numpy's compatibility promise (NEP 19).
 *
 * Words are uint32, held as non-negative numbers; arithmetic is modulo 2^32.
 */

const POOL_WORDS = 4;
const INIT_A = 0x43b0d7e5;
const MULTIPLY_A = 0x931e8875;
const INIT_B = 0x8b51f9dd;
const MULTIPLY_B = 0x58f38ded;
const MIX_LEFT = 0xca01f9dd;
const MIX_RIGHT = 0x4973f715;
const HEX_DIGITS_PER_WORD = 8;

/**
 * @param seed non-negative, of any size
 * @param count how many words, a non-negative integer
 * @returns `numpy.random.SeedSequence(seed).generate_state(count, uint32)`
 * @throws RangeError when the seed is negative or the count is not a non-negative integer
 */
export function generateStateUint32(seed: bigint, count: number): number[] {
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new RangeError(`count of words must be a non-negative integer, not ${count}`);
  }
  const pool = mixEntropy(toWords(seed));
  const hash = hasher(INIT_B, MULTIPLY_B);
  const state: number[] = [];
  while (state.length < count) {
    for (const word of pool.slice(0, count - state.length)) state.push(hash(word));
  }
  return state;
}

/**
 * @param seed non-negative, of any size
 * @param count how many 64-bit words, a non-negative integer
 * @returns `numpy.random.SeedSequence(seed).generate_state(count, uint64)`
 * @throws RangeError when the seed is negative or the count is not a non-negative integer
 */
export function generateStateUint64(seed: bigint, count: number): bigint[] {
  const halves = generateStateUint32(seed, 2 * count).map(BigInt);
  // The lower half comes first on every platform, as in numpy.
  return Array.from({ length: count }, (_, i) => ((halves[2 * i + 1] ?? 0n) << 32n) | (halves[2 * i] ?? 0n));
}

/** The seed's 32-bit words, least significant first; zero is one word. Uses hex digits, so the time is linear. */
function toWords(seed: bigint): number[] {
  if (seed < 0n) throw new RangeError('seed must not be negative');
  const hex = seed.toString(16);
  const words: number[] = [];
  for (let end = hex.length; end > 0; end -= HEX_DIGITS_PER_WORD) {
    words.push(Number.parseInt(hex.slice(Math.max(0, end - HEX_DIGITS_PER_WORD), end), 16));
  }
  return words;
}

/** Mixes every word of entropy into every word of the pool, even if there are more words than the pool has. */
function mixEntropy(entropy: readonly number[]): number[] {
  const hash = hasher(INIT_A, MULTIPLY_A);
  let pool = Array.from({ length: POOL_WORDS }, (_, i) => hash(entropy[i] ?? 0));
  for (let source = 0; source < POOL_WORDS; source++) {
    // The source itself is skipped, so the three others all see the same value.
    const word = pool[source] ?? 0;
    pool = pool.map((target, i) => (i === source ? target : mix(target, hash(word))));
  }
  for (const word of entropy.slice(POOL_WORDS)) pool = pool.map((target) => mix(target, hash(word)));
  return pool;
}

/** A hash whose multiplier changes with every word. */
function hasher(init: number, multiply: number): (word: number) => number {
  let constant = init;
  return (word) => {
    const mixed = word ^ constant;
    constant = Math.imul(constant, multiply);
    return xorShift16(Math.imul(mixed, constant));
  };
}

function mix(left: number, right: number): number {
  return xorShift16(Math.imul(MIX_LEFT, left) - Math.imul(MIX_RIGHT, right));
}

function xorShift16(word: number): number {
  return (word ^ (word >>> 16)) >>> 0;
}
