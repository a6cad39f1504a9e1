/** What the service log says about the event log. */
import type { OperationsFact } from '../../events/operations.ts';
import type { Actor } from '../../events/record.ts';
import { DomainError } from '../base/errors.ts';
import { StoreError } from '../store/event-store.ts';
import type { LateRecords, ShownArm } from './code-break/code-breaks.ts';
import { PENDING_REVEALS, type PendingReveal } from './code-break/pending-reveals.ts';
import type { Logger } from './monitoring/logger.ts';
import type { LogHooks } from './open/open-log.ts';

/**
 * @param onSafe is called when the records of a stream are no longer in danger
 * @param onUnrecorded is called when an arm was shown and that could not be recorded anywhere
 */
export function logHooks(logger: Logger, onSafe: () => void, onUnrecorded: () => void): LogHooks {
  return {
    onPending: (error, shown) =>
      logger.error(
        { ...shown, why: error.message },
        error instanceof DomainError && error.code === 'moved'
          ? `a code was broken in an emergency, but the log has moved: it is in ${PENDING_REVEALS} (hint: stop this service, and take the file to the data folder of the new one)`
          : `a code was broken in an emergency while the log could not be written: it is in ${PENDING_REVEALS}, and will go to the log as soon as possible`,
      ),
    onUnrecorded: (error, shown) => {
      logger.error(
        { ...shown, why: error.message },
        `a code was broken in an emergency, and neither the log nor ${PENDING_REVEALS} could be written: this process tries both until one takes it (hint: make room on the disk, and do not stop the service before; if it ends earlier, record the code-break with urn unblindings add)`,
      );
      onUnrecorded();
    },
    onClockSetBack: (stream, before, now) =>
      logger.warn(
        { stream, before, now },
        'the clock was set back to before the last event of this stream; events keep their order, which is that of their revisions (hint: check the time service of this machine)',
      ),
    onHalted: (stream, error) =>
      logger.error({ stream, why: error.message }, 'a stream cannot be read any further'),
    onKeyLost: (error) =>
      logger.error(
        { why: error.message },
        'the signing key was rotated and the new one is not on this machine: no participants are taken until it is (hint: copy the new file here; no restart is needed)',
      ),
    onStoreError: (error) =>
      logger.error({ failure: error.failure, why: error.message }, 'the log cannot be followed'),
    onDanger: (stream, danger) => {
      if (danger !== undefined) {
        logger.error({ stream, why: danger }, 'records of a stream are in danger: nothing is written to it');
        return;
      }
      logger.info({ stream }, 'the records of a stream are no longer in danger');
      onSafe();
    },
    onRolledBack: (why) =>
      logger.error(
        { why },
        'the log has lost records: nothing is written or signed (hint: restore the newest copy, or declare the loss with urn recover; see "Restoring a backup" in docs/operations.md)',
      ),
  };
}

/** The process of the expected bands ended by itself. */
export function logEndOfBands(logger: Logger): (how: string) => void {
  return (how) =>
    logger.warn(
      { how },
      'the process that works out expected bands has ended: the next request begins another',
    );
}

/** Logs an event that could not be recorded in the stream `operations`. */
export function logUnrecorded(logger: Logger): (fact: OperationsFact, actor: Actor, error: Error) => void {
  return ({ type, data }, actor, error) => {
    const what = 'what happened could not be recorded in the stream operations';
    const { user } = actor;
    const keyId = 'keyId' in actor ? actor.keyId : undefined;
    logger.error({ type, user, keyId, ...data, why: error.message }, `${what}${hintFor(error)}`);
  };
}

/** What to do about a log that takes nothing, where the error alone does not say it. */
function hintFor(error: Error): string {
  const { cause } = error;
  if (cause instanceof StoreError && cause.failure === 'full') return ' (hint: make room on the disk)';
  return error instanceof DomainError && error.code === 'unavailable'
    ? ' (hint: see that the store runs)'
    : '';
}

/** Logs each code-break that was recorded late, and each that stays in the file of pending ones, once. */
export function logLateRecords(logger: Logger): (late: LateRecords) => void {
  const logged = new Set<string>();
  let damagedBefore = 0;
  const late = 'a code-break that could not be recorded when the arm was shown is in the log now';
  return ({ recorded, remembered, left, damaged }) => {
    for (const reveal of remembered) logger.warn(logFieldsOf(reveal), late);
    for (const reveal of recorded)
      logger.warn(
        logFieldsOf(reveal),
        `${late} (hint: it was in ${PENDING_REVEALS}, which is not signed: ask the person named whether it is theirs)`,
      );
    for (const { reveal, why } of left) {
      const { study, participantId, shownAt } = reveal;
      const said = `${reveal.reveal} ${why}`;
      if (logged.has(said)) continue;
      logged.add(said);
      logger.error(
        { study, participant: participantId, shownAt, why },
        `a code-break in ${PENDING_REVEALS} is not recorded yet (hint: keep the file; docs/operations.md says what to do)`,
      );
    }
    if (damaged > damagedBefore)
      logger.error(
        { lines: damaged },
        `${PENDING_REVEALS} has lines that are not understood (hint: was the disk full? Keep the file, and record what it says with urn unblindings add)`,
      );
    damagedBefore = damaged;
  };
}

function logFieldsOf({ study, participantId, code, category, shownAt, actor }: PendingReveal) {
  return { study, participant: participantId, code, category, shownAt, user: actor.user };
}

/** Logs what ends with this process. */
export function logForgotten(logger: Logger, forgotten: readonly ShownArm[]): void {
  for (const shown of forgotten)
    logger.error(
      shown,
      `a code was broken in an emergency, and it is recorded nowhere: this process ends, and nothing else knows of it (hint: record it with urn unblindings add)`,
    );
}

/** Logs that the file of pending code-breaks cannot be used, once for each reason. */
export function logPendingFailed(logger: Logger): (error: Error) => void {
  let before: string | undefined;
  return ({ message }) => {
    if (message !== before)
      logger.error({ why: message }, `${PENDING_REVEALS} cannot be read or written; trying again`);
    before = message;
  };
}
