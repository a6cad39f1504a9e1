/** Repeatable random choices for a test: it prints the seed, which can be set as FAULT_SEED. */

export type Choices = ReturnType<typeof choicesOf>;

export function seededChoices() {
  const seed = Number(process.env['FAULT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  // biome-ignore lint/suspicious/noConsole: a random test without a printed seed cannot be repeated
  console.info(`random moments from FAULT_SEED=${seed}`);
  return choicesOf(seed);
}

/** The choices from a seed that is printed elsewhere. */
export function choicesOf(seed: number) {
  const next = mulberry32(seed);
  /** An integer from `low` to `high`, both included. */
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    between,
    chance: (probability: number) => next() < probability,
    pick: <T>(from: readonly T[]) => from[between(0, from.length - 1)] as T,
  };
}

/** Doubles in [0, 1), from 32 bits of state. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
