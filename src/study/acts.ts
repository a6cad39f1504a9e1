/**
 * Who may write which event of a study, and in which state of the study. The decider, the verification, the HTTP routes and
 * the documents all follow this table.
 */
import type { Scope } from '../../events/access.ts';
import type { StudyFact } from '../../events/catalogue.ts';

export const STATUSES = ['open', 'paused', 'closed', 'importing'] as const;
/** The states in which no import is under way. */
const SETTLED = ['open', 'paused', 'closed'] as const;
export type Status = (typeof STATUSES)[number];

export interface Act {
  /** Whether somebody at the command line may do it. */
  readonly cli: boolean;
  /** An API key needs one of these scopes. Empty: no key may do it. */
  readonly scopes: readonly Scope[];
  /** The states of the study in which it is possible. */
  readonly in: readonly Status[];
}

export const ACTS: Readonly<Record<StudyFact['type'], Act>> = {
  StudyRegistered: { cli: true, scopes: [], in: [] },
  ParticipantRandomized: { cli: false, scopes: ['randomize'], in: ['open'] },
  StudyPaused: { cli: true, scopes: ['manage'], in: ['open'] },
  StudyResumed: { cli: true, scopes: ['manage'], in: ['paused'] },
  StudyClosed: { cli: true, scopes: ['manage'], in: ['open', 'paused'] },
  StudyReopened: { cli: true, scopes: ['manage'], in: ['closed'] },
  // In a closed study, it has no effect until the study is reopened.
  StudyAmended: { cli: true, scopes: ['manage'], in: SETTLED },
  // Mistakes are found at any time, and most of them late.
  LevelsCorrected: { cli: true, scopes: ['correct'], in: SETTLED },
  AllocationVoided: { cli: true, scopes: ['correct'], in: SETTLED },
  AllocationReinstated: { cli: true, scopes: ['correct'], in: SETTLED },
  ParticipantIdCorrected: { cli: true, scopes: ['correct'], in: SETTLED },
  // An outage is a reason to pause. A closed study takes only what was allocated before it was closed.
  AllocationForced: { cli: true, scopes: ['force'], in: SETTLED },
  // A pack is ordered before the study opens, and treatment outlives enrolment.
  CodesRegistered: { cli: true, scopes: [], in: SETTLED },
  CodeReplaced: { cli: true, scopes: ['randomize', 'supply'], in: SETTLED },
  CodesWithdrawn: { cli: true, scopes: ['supply'], in: SETTLED },
  // An emergency does not wait for a study to open.
  AllocationRevealed: { cli: true, scopes: ['unblind'], in: STATUSES },
  UnblindingReported: { cli: true, scopes: ['unblind', 'correct'], in: STATUSES },
  HistoryImported: { cli: true, scopes: [], in: ['open', 'paused'] },
  ParticipantImported: { cli: true, scopes: [], in: ['importing'] },
  HistoryImportEnded: { cli: true, scopes: [], in: ['importing'] },
  // The log decides when. See src/log/recovery.ts.
  StudyRecovered: { cli: true, scopes: [], in: STATUSES },
};
