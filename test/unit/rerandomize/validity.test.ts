/**
 * The test keeps its level: shares of p ≤ .05 when there is nothing to find. With FULL set, it runs as the specification
 * requires: 2,000 trials of 999 replicates, which takes a minute.
 */
import { describe, expect, it } from 'vitest';
import type { UrnConfiguration } from '../../../events/study.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { Replicate, Setting } from '../../../src/statistics/replicate/replicate.ts';
import { MonteCarlo } from '../../../src/statistics/rerandomize/monte-carlo.ts';
import { resultOf } from '../../../src/statistics/rerandomize/run-test.ts';
import { configuration, drawn, planOf } from '../../support/rerandomized.ts';

const FULL = process.env['FULL'] !== undefined;
const [TRIALS, REPS] = FULL ? [2000, 999] : [200, 99];
const LEVEL = 0.05;

/** The arms of a trial whose participants have these levels. */
function armsOf(study: UrnConfiguration, levels: readonly (readonly string[])[], seed: bigint): number[] {
  const [design, ...steps] = drawn(study, levels, []);
  if (design?.kind !== 'design') throw new Error('a study begins with its design');
  const replicate = new Replicate(Pcg64.fromSeed(seed), new Setting(design));
  for (const step of steps) if (step.kind !== 'design') replicate.take(step);
  return levels.map((_, person) => replicate.arm(person));
}

/** Standard normal numbers, by Box and Muller. */
function normal(generator: Pcg64): number {
  const uniform = () => (generator.nextUniform53() + 1) / 2 ** 53;
  return Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

/**
 * Of trials in which everybody has the same outcome on any arm. Participants on a third arm are not analysed.
 * @param outcomeOf takes the place in the sequence
 */
function shareRejected(
  study: UrnConfiguration,
  levels: readonly (readonly string[])[],
  outcomeOf: (i: number) => number,
): { share: number; error: number } {
  const hasOthers = study.treatments.length > 2;
  let rejected = 0;
  for (let trial = 0; trial < TRIALS; trial++) {
    const arms = armsOf(study, levels, 2n ** 96n + BigInt(trial));
    const analysed = Int32Array.from([...arms.keys()].filter((person) => (arms[person] as number) < 2));
    const scores = [...analysed].map(outcomeOf);
    const plan = planOf(drawn(study, levels, arms), arms, scores, { analysed, hasOthers });
    const sums = new MonteCarlo(plan, trial).block(0, REPS);
    if (resultOf(plan, sums, 0, REPS).p <= LEVEL) rejected++;
  }
  const share = rejected / TRIALS;
  if (FULL) process.stdout.write(`${study.name}: share ${share} of ${TRIALS} trials, ${REPS} replicates\n`);
  return { share, error: Math.sqrt((LEVEL * (1 - LEVEL)) / TRIALS) };
}

describe('the share of p ≤ .05 when arms are alike', () => {
  it('is .05 under a time trend, with one urn and 50 participants', { timeout: 600_000 }, () => {
    const noise = Pcg64.fromSeed(20_261_123n);
    const levels = Array.from({ length: 50 }, () => ['x']);
    const study = configuration({ name: 'time trend' });
    const { share, error } = shareRejected(study, levels, (i) => (5 * (i + 1)) / 51 + normal(noise));
    expect(Math.abs(share - LEVEL)).toBeLessThan(4 * error);
  });

  it('is .05 for two of three arms under a time trend', {
    timeout: 600_000,
  }, () => {
    const noise = Pcg64.fromSeed(20_261_124n);
    const levels = Array.from({ length: 24 }, (_, i) => [i % 3 === 0 ? 'x' : 'y', `${i % 4}`]);
    const study = configuration({
      ...{ name: 'two of three arms', alpha: 1, beta: 3, treatments: ['A', 'B', 'C'] },
      factors: [
        { name: 'f', levels: ['x', 'y'] },
        { name: 'g', levels: ['0', '1', '2', '3'] },
      ],
    });
    const { share, error } = shareRejected(study, levels, (i) => (5 * i) / 24 + normal(noise));
    expect(Math.abs(share - LEVEL)).toBeLessThan(4 * error);
  });
});
