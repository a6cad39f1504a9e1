/**
 * Properties with repeatable random data. Each process that runs test files prints its seed before anything is drawn
 * from it, and so does each property that fails: `FC_SEED=<seed> npx vitest run <file>` draws the same data.
 */
import fc from 'fast-check';

/** A 32-bit integer: the environment's FC_SEED, else a fresh one. The same for every property in a process. */
const propertySeed = chooseSeed(process.env['FC_SEED']);

// biome-ignore lint/suspicious/noConsole: a random test without a printed seed cannot be repeated
console.info(`random data from FC_SEED=${propertySeed}`);

type Parameters<T> = Omit<fc.Parameters<T>, 'seed'>;

/** Asserts the property on random data of this run's seed; throws with the smallest counterexample found. */
export function check<T>(property: fc.IAsyncProperty<T>, parameters?: Parameters<T>): Promise<void>;
export function check<T>(property: fc.IProperty<T>, parameters?: Parameters<T>): void;
export function check<T>(property: fc.IRawProperty<T>, parameters?: Parameters<T>): Promise<void> | void {
  return fc.assert(property, { ...parameters, seed: propertySeed });
}

/** `count` random values of this run's seed, for tests that pass them to another program. */
export function sample<T>(arbitrary: fc.Arbitrary<T>, count: number): T[] {
  return fc.sample(arbitrary, { numRuns: count, seed: propertySeed });
}

function chooseSeed(given: string | undefined): number {
  if (given === undefined || given === '') return Math.floor(Math.random() * 2 ** 31);
  const seed = Number(given);
  if (!Number.isInteger(seed) || seed !== (seed | 0)) {
    throw new Error(
      `FC_SEED must be a 32-bit integer, not ${given} (hint: the test run prints the one it used)`,
    );
  }
  return seed;
}
