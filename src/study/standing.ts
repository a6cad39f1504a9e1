/** Whether a study takes participants in this process, and if not, why: one answer for commands, readiness and metrics. */

import { type RegisteredStudy, studyConfig } from '../../projections/study-config.ts';
import type { DomainError, DomainErrorCode } from '../base/errors.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import type { LogParts } from '../write/folded-stream.ts';

/** Each study is in exactly one of them. */
export const STANDINGS = [
  'open',
  'paused', // by a StudyPaused in the log
  'suspended', // here: its file differs from what was registered, or the service lacks the signing key
  'rolled-back', // the log does not extend what it has signed, or the study still waits for its recovery
  'moved', // the log goes on in another store
  'halted', // the stream cannot be read completely
  'endangered', // the store may remove records of the stream
] as const;

export interface Standing {
  readonly state: (typeof STANDINGS)[number];
  /** Why it takes no participants. */
  readonly reason: string | undefined;
  /** Where the log says so: an instant, as events have it. */
  readonly since: string | undefined;
}

const STATE_OF: Readonly<Record<DomainErrorCode, Standing['state']>> = {
  'rolled-back': 'rolled-back',
  moved: 'moved',
  halted: 'halted',
  endangered: 'endangered',
  // The log was not compared with what it signed last, or cannot be signed.
  identity: 'suspended',
  unavailable: 'suspended',
  overloaded: 'suspended',
};

/**
 * @param refusal why nothing may be written to the stream
 * @param suspension why this process lets nobody enrol, besides
 */
export function standingOf(
  runner: LogParts['runner'],
  stream: string,
  refusal: DomainError | undefined,
  suspension: string | undefined,
): Standing {
  const halted = runner.halted(stream);
  if (refusal?.code === 'halted' && halted)
    return { state: 'halted', reason: halted.message, since: undefined };
  if (refusal) {
    const state = STATE_OF[refusal.code];
    const since = state === 'moved' ? runner.lastAt(LOG_STREAM) : undefined;
    return { state, reason: refusal.message, since };
  }
  const standing = openOrPaused(runner.state(studyConfig, stream)?.paused);
  // A POST is told first that the study is paused.
  if (standing.state === 'paused' || suspension === undefined) return standing;
  return { state: 'suspended', reason: suspension, since: undefined };
}

/** What the log itself says of a study. */
export function openOrPaused(paused: RegisteredStudy['paused']): Standing {
  return paused
    ? { state: 'paused', reason: paused.reason, since: paused.at }
    : { state: 'open', reason: undefined, since: undefined };
}
