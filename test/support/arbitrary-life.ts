/** Any life of a study: participants come, are corrected, voided and entered by hand, and arms, urns and factors change. */
import fc from 'fast-check';
import type { DesignChange, StudyConfiguration } from '../../events/study.ts';
import type { Amend, Force } from '../../src/core/study/commands.ts';
import type { Written } from './acts.ts';
import { LEVELS, randomize } from './facts.ts';
import { A, arm, B, C, COOK, DUPAGE, ratio, retired, urn } from './life.ts';
import { TrialRun } from './trial-run.ts';

export { COOK, DUPAGE, ratio, retired };
export const SITES = [COOK, DUPAGE];
const APPROVED = { approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-03-01' }] };

export { A as MART, B as RMCQ, C as RMCA };

export const { closed, reopened, added } = arm;

export function amend(changes: readonly DesignChange[], amendment = 1, more: Partial<Amend> = {}): Amend {
  return { type: 'amend', user: 'nurse', amendment, changes, reason: 'protocol 3', ...APPROVED, ...more };
}

export function force(participantId: string, more: Partial<Force> = {}): Force {
  return {
    ...{ type: 'force', user: 'nurse', participantId, levels: LEVELS, treatment: B, cause: 'outage' },
    ...{ occurredAt: '2999-01-01T00:00:00.000Z', note: 'envelope 12', ...more },
  };
}

const ids = fc.stringMatching(/^[a-h]$/);
const levels = fc.tuple(fc.constantFrom('Male', 'Female'), fc.constantFrom(COOK, DUPAGE, ''));
const arms = fc.constantFrom(A, B, C, 'D', 'E');
const change: fc.Arbitrary<DesignChange> = fc.oneof(
  arms.map(closed),
  arms.map(reopened),
  fc
    .tuple(arms, fc.option(fc.integer({ min: 2, max: 3 })))
    .map(([treatment, slots]) => added(treatment, slots === null ? {} : { ratio: slots })),
  fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 3, maxLength: 5 }).map((value) => ratio(...value)),
  fc.constantFrom('9', '10').map(retired),
  fc.record({ w: fc.integer({ min: 1, max: 3 }), beta: fc.nat(2) }).map(urn),
);
const HISTORIES = ['keep', 'restart', undefined] as const;
const note = { user: 'nurse', note: 'slip' };
export type LifeStep = (amendment: number) => Written;
/** Given the number of the next amendment. Many are refused. */
export const lifeStep: fc.Arbitrary<LifeStep> = fc.oneof(
  fc.record({ id: ids, levels }).map((one) => (): Written => randomize(one.id, one)),
  fc.record({ id: ids, levels, treatment: arms }).map(
    ({ id, ...one }) =>
      () =>
        force(id, one),
  ),
  fc.tuple(fc.array(change, { minLength: 1, maxLength: 2 }), fc.constantFrom(...HISTORIES)).map(
    ([changes, history]) =>
      (number: number) =>
        amend(changes, number, { history }),
  ),
  ids.map(
    (participantId) => (): Written => ({
      ...{ ...note, act: 'AllocationVoided', cause: 'duplicate', analysis: 'exclude', participantId },
    }),
  ),
  ids.map((participantId) => (): Written => ({ ...note, act: 'AllocationReinstated', participantId })),
  fc.tuple(ids, levels).map(
    ([participantId, [sex]]) =>
      (): Written => ({
        ...{ ...note, act: 'LevelsCorrected', cause: 'entry', participantId },
        changes: [{ factor: '10', from: sex === 'Male' ? 'Female' : 'Male', to: sex }],
      }),
  ),
);

/** A study in which corrections and voidings move the counts, after such a life. Its limit holds if the policies say so. */
export function lived(
  steps: readonly LifeStep[],
  hasSlots: boolean,
  policies: StudyConfiguration['policies'] = {},
): TrialRun {
  const trial = new TrialRun({
    policies: { levelCounts: 'as-corrected', voidCounts: 'removed', ...policies },
    ...(hasSlots && { ratio: [1, 2, 1] }),
    limits: { total: 6 },
  });
  for (const next of steps) trial.ask(next(trial.registered.design.amendment + 1));
  return trial;
}
