/** Repeatable random choices for a test: it prints the seed, which can be set as FAULT_SEED. */
import { Pcg64 } from '../../src/core/random/pcg64.ts';

export type Choices = ReturnType<typeof choicesOf>;

export function seededChoices() {
  const seed = Number(process.env['FAULT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  // biome-ignore lint/suspicious/noConsole: a random test without a printed seed cannot be repeated
  console.info(`random moments from FAULT_SEED=${seed}`);
  return choicesOf(seed);
}

/** The choices from a seed that is printed elsewhere. */
export function choicesOf(seed: number) {
  const generator = Pcg64.fromSeed(BigInt.asUintN(64, BigInt(seed)));
  const next = () => generator.nextUniform53() / 2 ** 53;
  /** An integer from `low` to `high`, both included. */
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    between,
    chance: (probability: number) => next() < probability,
    pick: <T>(from: readonly T[]) => from[between(0, from.length - 1)] as T,
  };
}
