/** What the service log says about the event log. */
import type { OperationsFact } from '../../events/operations.ts';
import type { Actor } from '../../events/record.ts';
import { DomainError } from '../base/errors.ts';
import type { LogHooks } from '../open/open-log.ts';
import type { Logger } from './logger.ts';

/** @param onSafe is called when the records of a stream are no longer in danger */
export function logHooks(logger: Logger, onSafe: () => void): LogHooks {
  return {
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
    onRolledBack: (why) => logger.error({ why }, 'the log has lost records: nothing is written or signed'),
  };
}

/** Logs an event that could not be recorded in the stream `operations`. */
export function logUnrecorded(logger: Logger): (fact: OperationsFact, actor: Actor, error: Error) => void {
  return ({ type, data }, actor, error) => {
    const what = 'what happened could not be recorded in the stream operations';
    const isMoved = error instanceof DomainError && error.code === 'moved';
    const { user } = actor;
    const keyId = 'keyId' in actor ? actor.keyId : undefined;
    logger.error(
      { type, user, keyId, ...data, why: error.message },
      isMoved ? what : `${what} (hint: make room on the disk, or recover the log)`,
    );
  };
}
