/** Seeds below 2^96 can be found by search from published allocations (one of 32 bits in minutes). */
const WEAK_BELOW = 2n ** 96n;

export function isWeakSeed(seed: bigint): boolean {
  return seed < WEAK_BELOW;
}
