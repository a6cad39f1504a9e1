/** The generators of replicates. None of them can be that of a study: a study draws a seed below 2^128 once. */
import { hash } from 'node:crypto';

const BASE = 1n << 100n;
const SEED_RANGE = 1n << 32n;

/** A seed for everything that is repeated of a study, the same on every instance, from the study's UUID as text. */
export function defaultSeed(studyId: string): number {
  return Number.parseInt(hash('sha256', studyId).slice(0, 8), 16);
}

/**
 * The seed of replicate 0; replicate r has the next but r - 1.
 * @param seed an integer from 0 to 2^32 - 1
 */
export function baseSeed(seed: number): bigint {
  return BASE + SEED_RANGE * BigInt(seed);
}

/** Whether one of the seeds of this many replicates is the study's own. */
export function holdsSeed(seed: number, replicates: number, own: bigint): boolean {
  const base = baseSeed(seed);
  return base <= own && own < base + BigInt(replicates);
}
