import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EVERYBODY_ROW } from '../../../src/core/methods/memory.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import {
  baseSeed,
  defaultSeed,
  holdsSeed,
  Replicate,
  Setting,
} from '../../../src/statistics/replicate/replicate.ts';
import { type Step, StudySteps } from '../../../src/statistics/replicate/steps.ts';
import { lifeStep, lived } from '../../support/arbitrary-life.ts';
import { event, SEED } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import type { TrialRun } from '../../support/trial-run.ts';

type Run = (replicate: Replicate, step: Exclude<Step, { kind: 'design' }>) => void;

/** The trial's study, run again. */
function again({ facts }: TrialRun, generator: Pcg64, run: Run) {
  const steps = new StudySteps();
  let setting: Setting | undefined;
  let replicate: Replicate | undefined;
  for (const [revision, fact] of facts.entries()) {
    const after = steps.after(event(fact, revision));
    if (after === 'emptied') throw new Error('nothing was imported');
    for (const step of after)
      if (step.kind === 'design') {
        setting = new Setting(step, setting);
        replicate ??= new Replicate(generator, setting);
        replicate.amend(setting);
      } else if (replicate) run(replicate, step);
  }
  if (!setting || !replicate) throw new Error('the study was not registered');
  return { steps, setting, replicate };
}

/** n_k for each level of each factor. */
function counts({ setting: { layout, design }, replicate }: ReturnType<typeof again>): number[][][] {
  const row = (index: number) =>
    [...replicate.counts.cells.subarray(index * layout.stride)].slice(0, design.arms.length);
  return layout.rows.map((rows) => rows.map(row));
}

describe('a replicate', () => {
  const counting = fc.constantFrom({}, { forcedCounts: 'not-counted' as const });
  const scene = [fc.array(lifeStep, { maxLength: 40 }), fc.boolean(), counting] as const;

  it('with the study’s random numbers equals the study, whatever happened in its life', () => {
    check(
      fc.property(...scene, (life, hasSlots, policies) => {
        const trial = lived(life, hasSlots, policies);
        const drawn = again(trial, Pcg64.fromSeed(SEED), (replicate, step) => replicate.take(step));
        const recorded = again(trial, Pcg64.fromSeed(1n), (replicate, step) => replicate.repeat(step));
        for (const run of [drawn, recorded]) {
          expect(counts(run)).toEqual(trial.counts());
          const { design, participants } = trial.registered;
          for (const { participantId, slot } of participants.all()) {
            const person = run.steps.person(participantId) ?? -1;
            const arm = run.replicate.arm(person);
            // The ratio may have changed since, and the slots with it.
            if (design.epoch === 0) expect(design.treatments[arm]).toBe(design.slots[slot]);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('with other random numbers has the same people, each counted once in every factor', () => {
    check(
      fc.property(...scene, fc.bigInt({ min: 0n, max: 1n << 64n }), (life, hasSlots, policies, seed) => {
        const trial = lived(life, hasSlots, policies);
        const run = again(trial, Pcg64.fromSeed(seed), (replicate, step) => replicate.take(step));
        const total = (table: readonly number[]) => table.reduce((sum, n) => sum + n, 0);
        const expected = trial.counts().map((levels) => levels.map(total));
        expect(counts(run).map((levels) => levels.map(total))).toEqual(expected);
        const { stride } = run.setting.layout;
        const all = total([
          ...run.replicate.counts.cells.subarray(EVERYBODY_ROW * stride, (EVERYBODY_ROW + 1) * stride),
        ]);
        for (const [i, { isRetired }] of trial.registered.design.factors.entries())
          if (!isRetired) expect(total(expected[i] ?? [])).toBe(all);
      }),
    );
  });
});

describe('the seeds of replicates', () => {
  it('begin at 2^100, with a range of 2^32 for each seed', () => {
    expect(baseSeed(0)).toBe(1n << 100n);
    expect(baseSeed(3)).toBe((1n << 100n) + 3n * (1n << 32n));
  });

  it('are derived from the id of the study by default', () => {
    // The first four bytes of SHA-256, computed by another program.
    expect(defaultSeed('0190163d-8694-739b-aea5-966c26f8ad91')).toBe(0x65efbf38);
  });

  it('may hold that of the study', () => {
    const base = baseSeed(7);
    expect([base - 1n, base, base + 99n, base + 100n].map((own) => holdsSeed(7, 100, own))).toEqual([
      ...[false, true, true, false],
    ]);
  });
});
