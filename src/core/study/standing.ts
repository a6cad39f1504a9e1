/**
 * Whether a study takes participants in this process, and why not. Commands, readiness and metrics all use this answer.
 */

import type { DomainError, DomainErrorCode } from '../../base/errors.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import type { RegisteredStudy } from '../model/model.ts';
import type { LogParts } from '../write/folded-stream.ts';
import { studyConfig } from './views.ts';

/** Each study is in exactly one of these states. */
export const STANDINGS = [
  'open',
  'paused', // by a StudyPaused in the log
  'closed', // by a StudyClosed in the log
  'importing', // a history is coming in, by a HistoryImported in the log
  'suspended', // in this process: the studies file differs from the design in force, or the signing key is missing
  'rolled-back', // the log does not extend what it has signed, or the study is waiting for its recovery
  'moved', // the log continues in another store
  'halted', // the stream cannot be read completely
  'endangered', // the store may remove records of the stream
] as const;

export interface Standing {
  readonly state: (typeof STANDINGS)[number];
  /** Why it takes no participants. */
  readonly reason: string | undefined;
  /** Since when, if the log says so. In the format of `at`. */
  readonly since: string | undefined;
}

const STATE_OF: Readonly<Record<DomainErrorCode, Standing['state']>> = {
  'rolled-back': 'rolled-back',
  moved: 'moved',
  halted: 'halted',
  endangered: 'endangered',
  // The log has not been compared with what it signed last, or cannot be signed.
  identity: 'suspended',
  unavailable: 'suspended',
  overloaded: 'suspended',
};

/**
 * @param refusal why nothing may be written to the stream
 * @param suspension why this process has suspended the study
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
  const standing = standingInLog(runner.state(studyConfig, stream)?.halt);
  // As in the decider: a pause or a closing takes precedence over a suspension.
  if (standing.state !== 'open' || suspension === undefined) return standing;
  return { state: 'suspended', reason: suspension, since: undefined };
}

/** A study's state according to the log alone. */
export function standingInLog(halt: RegisteredStudy['halt']): Standing {
  return halt
    ? { state: halt.state, reason: halt.reason, since: halt.at }
    : { state: 'open', reason: undefined, since: undefined };
}
