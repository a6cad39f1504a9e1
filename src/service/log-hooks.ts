/**
 * What the service log says about the event log: what is wrong with it, what could not be recorded in it, how far a start has
 * read it, and which lists run low. Whoever operates the service reads this, so a message ends with a hint what to do, where
 * there is something to do.
 */
import type { OperationsFact } from '../../events/operations.ts';
import type { Actor } from '../../events/record.ts';
import { DomainError } from '../base/errors.ts';
import { plural } from '../base/wording.ts';
import { studyState } from '../core/study/fold.ts';
import { StoreError } from '../store/event-store.ts';
import type { LateRecords, ShownArm } from './code-break/code-breaks.ts';
import { PENDING_REVEALS, type PendingReveal } from './code-break/pending-reveals.ts';
import type { Logger } from './monitoring/logger.ts';
import type { Metrics } from './monitoring/metrics.ts';
import type { LogHooks, OpenLog } from './open/open-log.ts';
import type { Patience } from './open/store-location.ts';

/**
 * Logs faults of the log as it is opened, followed and written, and emergency code-breaks that could not go into it.
 * @param onSafe is called when the records of a stream are no longer in danger
 * @param metrics counts what happens often, and what must not
 */
export function logHooks(
  logger: Logger,
  onSafe: () => void,
  metrics: Pick<Metrics, 'followInterrupted' | 'revealUnrecorded'>,
): LogHooks {
  const logStoreError = storeErrorLog(logger);
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
      metrics.revealUnrecorded();
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
    onUncompared: (what) =>
      logger.warn(
        what,
        "what this log did not sign in the witness's file, or what cannot be read of it, was not compared with the log (hint: somebody else may write to that file, or the disk was full)",
      ),
    onStoreError: (error, cutOffMs) => {
      if (cutOffMs === 0) metrics.followInterrupted();
      logStoreError(error, cutOffMs);
    },
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

/** A store that stays away for longer is worth a look, in ms. EventStoreDB ends subscriptions a few times a minute under load. */
const STAYS_AWAY_MS = 5000;

/** Logs that the log cannot be followed; quietly at first, since it is read again at once. */
export function storeErrorLog(logger: Logger): NonNullable<LogHooks['onStoreError']> {
  return ({ failure, message: why }, cutOffMs) => {
    if (failure === 'unavailable' && cutOffMs < STAYS_AWAY_MS)
      logger.debug({ failure, why }, 'the log could not be followed: it is read again');
    else logger.error({ failure, why }, 'the log cannot be followed');
  };
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

/** Logs that the file of pending code-breaks cannot be used, once for each reason. */
export function logPendingFailed(logger: Logger): (error: Error) => void {
  let before: string | undefined;
  return ({ message }) => {
    if (message !== before)
      logger.error({ why: message }, `${PENDING_REVEALS} cannot be read or written; trying again`);
    before = message;
  };
}

/** Logs the code-breaks that are recorded nowhere when this process ends. */
export function logForgotten(logger: Logger, forgotten: readonly ShownArm[]): void {
  for (const shown of forgotten)
    logger.error(
      shown,
      `a code was broken in an emergency, and it is recorded nowhere: this process ends, and nothing else knows of it (hint: record it with urn unblindings add)`,
    );
}

/** A service that starts waits for its store as long as it takes. @param onWaiting is called with whether it waits */
export function patienceOf(logger: Logger, onWaiting?: (isWaiting: boolean) => void): Patience {
  return {
    ms: Number.POSITIVE_INFINITY,
    onWaiting(why) {
      if (why) logger.warn({ why: why.message }, 'the store is out of reach: waiting for it');
      else logger.info('the store answers');
      onWaiting?.(why !== undefined);
    },
  };
}

type LogToRead = Pick<OpenLog, 'store' | 'lastCheckpoints' | 'rebuild'>;

/** A start that takes less time logs nothing. */
const FIRST_PROGRESS_MS = 2000;
const PROGRESS_EVERY_MS = 5000;

/** Shows how much of a long log has been read, in the service log and at /readyz. */
export class StartProgress {
  readonly #log: LogToRead;
  readonly #logger: Logger;
  #total: number | undefined;
  #records = 0;

  constructor(log: LogToRead, logger: Logger) {
    this.#log = log;
    this.#logger = logger;
  }

  /** Folds the log, and logs the progress if it takes long. @throws what `rebuild` throws */
  async rebuild(): Promise<void> {
    this.#total = totalOf(this.#log);
    const logProgress = () => {
      this.#logger.info({ records: this.#records, of: this.#total }, 'reading the log');
      timer = setTimeout(logProgress, PROGRESS_EVERY_MS);
    };
    let timer = setTimeout(logProgress, FIRST_PROGRESS_MS);
    try {
      await this.#log.rebuild((records) => {
        this.#records = records;
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** "45000 of 220000 records" */
  describe(): string {
    // Others may write meanwhile, and the last checkpoints may be a second old.
    const total = this.#total === undefined ? '' : ` of ${Math.max(this.#total, this.#records)}`;
    return `${this.#records}${total} ${plural(this.#records, 'record')}`;
  }
}

/** The size of the log, according to the store or else to the last checkpoints on this machine. */
function totalOf({ store, lastCheckpoints }: LogToRead): number | undefined {
  if (store.size) return store.size();
  const signed = lastCheckpoints?.signedBefore ?? [];
  return signed.length === 0 ? undefined : signed.reduce((sum, { size }) => sum + size, 0);
}

/** How often the service looks, in ms. A study may be registered by another process, so there is nothing to listen to. */
const LIST_LOOK_MS = 1000;

/**
 * Warns that a list is nearly used up, so that a further one can be registered in time, and that it waits for a skip: once
 * for each stratum with a tenth or less left, and for each skip that is owed, of any study that is not closed. The name of
 * the stratum would tell how the list goes on, so it is not said.
 * @returns to be cleared when the service stops
 */
export function watchLists(
  { studies, runner }: Pick<OpenLog, 'studies' | 'runner'>,
  logger: Logger,
): NodeJS.Timeout {
  const lowBefore = new Map<string, ReadonlySet<string>>();
  const waiting = new Set<string>();
  const look = () => {
    for (const { stream, design } of studies.list()) {
      const state = runner.state(studyState, stream);
      if (state.status === 'unregistered' || state.status === 'closed') continue;
      const low = [...state.entries.strata].flatMap(([stratum, { entries, used }]) =>
        entries.length - used <= entries.length / 10 ? [stratum] : [],
      );
      if (low.some((stratum) => !lowBefore.get(stream)?.has(stratum)))
        logger.warn(
          { study: design.name },
          'a stratum of the list has a tenth of its entries left, or fewer (hint: urn lists status shows which one; register a further list with urn lists add)',
        );
      lowBefore.set(stream, new Set(low));
      const isWaiting = state.methodDesign.method === 'list' && state.entries.isSkipOwed;
      if (isWaiting && !waiting.has(stream))
        logger.warn(
          { study: design.name },
          'nobody is randomized until it is said which entries of the list were used by participants whom the log does not have (hint: urn lists skip)',
        );
      if (isWaiting) waiting.add(stream);
      else waiting.delete(stream);
    }
  };
  look();
  return setInterval(look, LIST_LOOK_MS).unref();
}
