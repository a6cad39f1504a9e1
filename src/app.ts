/** The composition root: puts the parts of an open log together. */
import type { Actor } from '../events/record.ts';
import { access } from '../projections/access.ts';
import { balance } from '../projections/balance.ts';
import { lastRecovery, logHistory } from '../projections/log.ts';
import { participants } from '../projections/participants.ts';
import { Runner, type RunnerHooks } from '../projections/runner.ts';
import { studyConfig } from '../projections/study-config.ts';
import { Keys } from './access/keys.ts';
import type { Verify } from './audit/verifications.ts';
import { DomainError } from './errors.ts';
import { type LogIdentity, openIdentity, presentKey } from './ledger/identity.ts';
import { describeRollback, LastCheckpoints, type Rollback } from './ledger/last-checkpoints.ts';
import { Ledger } from './ledger/ledger.ts';
import type { SignedState } from './ledger/loss.ts';
import { LOG_STREAM, logWriter } from './log/log-writer.ts';
import { movedError } from './log/moved.ts';
import { declareLoss, findLoss, type Loss } from './log/recovery.ts';
import { rotateSigningKey } from './log/rotation.ts';
import { Operations } from './operations/operations.ts';
import type { EventStore } from './store/event-store.ts';
import { LAST_CHECKPOINTS, openStore, type StoreSettings } from './stores.ts';
import { studyState } from './study/state.ts';
import { Studies } from './study/studies.ts';
import { systemTools } from './write/tools.ts';
import type { WriterHooks } from './write/writer.ts';

export interface LogSettings extends StoreSettings {
  /** Name for a new log. */
  readonly logName?: string | undefined;
}

export interface OpenLog {
  readonly store: EventStore;
  readonly identity: LogIdentity;
  readonly runner: Runner;
  readonly ledger: Ledger;
  readonly keys: Keys;
  readonly studies: Studies;
  readonly operations: Operations;
  /** Folds all that stands in the log. `onProgress` gets the number of records folded so far. */
  rebuild(onProgress?: (records: number) => void): Promise<void>;
  /**
   * Why the log is not the one that it was: it does not extend what it signed last, and no recovery has declared the
   * loss. To be asked once all of it, or one stream, is folded. When there is a reason, this process writes and signs
   * nothing.
   */
  rolledBack(stream?: string): DomainError | undefined;
  /** Why the log takes nothing in this store, if it was moved to another one. This process signs and reads on. */
  moved(): DomainError | undefined;
  /**
   * What is missing of a log that is folded, by what it signed last.
   * @param kept what is known to have been signed besides
   * @throws DomainError as `findLoss` does
   */
  findLoss(kept: readonly SignedState[]): Loss;
  /** Declares it, and begins the generators of all studies anew. @returns the studies' names */
  recover(loss: Loss, reason: string, actor: Actor): Promise<string[]>;
  /** Has another key sign from now on. @returns its verifier key */
  rotateSigningKey(reason: string, actor: Actor): Promise<string>;
  /** Verifies what stands in the log now. */
  readonly verify: Verify;
  /** Undefined for a log in memory, which has no past. */
  readonly lastCheckpoints: LastCheckpoints | undefined;
  /** Answers what was accepted, then closes. */
  close(): Promise<void>;
}

/**
 * Opens the log, and begins it when there is none. Nothing is folded yet: `rebuild` or `runner.catchUp` do.
 * @throws StoreError, DomainError `identity`, RecordError
 */
export async function openLog(
  settings: LogSettings,
  actor: Actor,
  hooks: RunnerHooks & WriterHooks & { onKeyLost?(error: Error): void } = {},
): Promise<OpenLog> {
  const tools = systemTools();
  const { store, verify, keyring, startChecks, lastCheckpointsFile } = await openStore(settings);
  try {
    const identity = await openIdentity(store, keyring, settings.logName, actor, tools);
    // The decider first: what it refuses, no read model takes in.
    const projections = [logHistory, studyState, access, studyConfig, participants, balance];
    const history = () => runner.state(logHistory, LOG_STREAM);
    // Signing anything could contradict what the log has signed; and without its key it could give no receipt.
    let rollback: DomainError | undefined;
    let keyLoss: DomainError | undefined;
    const refusal = () => {
      // It may have been brought meanwhile, to an instance that keeps it in a file of its own.
      if (keyLoss) followKey();
      return keyLoss ?? rollback;
    };
    const moved = () => movedError(runner.movement(LOG_STREAM));
    // Whoever cannot read on there cannot know whether it was moved.
    const unread = () =>
      runner.halted(LOG_STREAM) &&
      new DomainError('halted', 'the stream log cannot be read completely; see the log of the service');
    // Where the source has LogReopened, a copy that was given up has CopyAborted: signed by one key, that would be a fork.
    const isDead = () => runner.movement(LOG_STREAM).status === 'dead';
    const ledger = new Ledger(
      identity,
      () => lastRecovery(history()),
      (stream) => refusal() ?? (stream === LOG_STREAM && isDead() ? moved() : undefined),
    );
    const runner = new Runner(store, identity.logId, projections, {
      ...hooks,
      onFolded: (stream, leaf) => {
        ledger.append(stream, leaf);
        hooks.onFolded?.(stream, leaf);
      },
    });
    const lastCheckpoints =
      lastCheckpointsFile === undefined ? undefined : new LastCheckpoints(lastCheckpointsFile, identity);
    // What the log says of itself is needed to understand each other stream.
    await runner.catchUp(LOG_STREAM);
    const writerHooks = { ...hooks, refusal: () => refusal() ?? moved() ?? unread() };
    const parts = { store, logId: identity.logId, runner, tools, hooks: writerHooks };
    const keys = new Keys(parts);
    const studies = new Studies(parts);
    const operations = new Operations(parts);
    const rebuild = async (onProgress?: (records: number) => void) => {
      const checks = startChecks?.();
      try {
        await runner.rebuild(onProgress, (position) => checks?.cover(position) ?? false);
      } finally {
        await checks?.stop();
      }
    };
    const rolledBack = (stream?: string) => {
      const isFolded = (name: string) => (stream === undefined || name === stream) && !runner.halted(name);
      const { recoveries } = history();
      const [first, ...others] = lastCheckpoints?.rollbacks(ledger, recoveries, isFolded) ?? [];
      rollback = first && rollbackError(first, others.length);
      return rollback;
    };
    const followKey = () => {
      try {
        const { publicKeys } = history();
        identity.rotateTo(presentKey(keyring, publicKeys), publicKeys);
        // Of two rotations in a row, the key of the first was gone before this process heard of it.
        keyLoss = undefined;
      } catch (error) {
        const loss = error as DomainError;
        if (!keyLoss) hooks.onKeyLost?.(loss);
        keyLoss = loss;
      }
    };
    // Rotated since the identity was read.
    if (history().publicKeys.length > identity.publicKeys.length) followKey();
    runner.listen(LOG_STREAM, ({ type }) => {
      if (type === 'SigningKeyRotated') followKey();
    });
    const writeToLog = () => logWriter({ store, logId: identity.logId, runner, tools });
    const recover = async (loss: Loss, reason: string, recoverer: Actor) => {
      await declareLoss(writeToLog(), loss, reason, recoverer);
      const still = rolledBack();
      if (still) throw still;
      const renewed = await studies.renewGenerators(recoverer);
      await lastCheckpoints?.keep(ledger.streams().map((name) => ledger.checkpoint(name)));
      return renewed;
    };
    const close = async () => {
      await studies.drain();
      await operations.drain();
      runner.stop();
      await store.close();
    };
    return {
      store,
      identity,
      runner,
      ledger,
      keys,
      studies,
      operations,
      rebuild,
      rolledBack,
      moved,
      verify,
      lastCheckpoints,
      recover,
      close,
      findLoss: (kept) => findLoss(runner, ledger, [...(lastCheckpoints?.signedBefore ?? []), ...kept]),
      rotateSigningKey: (reason, rotator) =>
        rotateSigningKey(writeToLog(), identity, keyring, reason, rotator),
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function rollbackError(first: Rollback, others: number): DomainError {
  const more = others > 0 ? `, and so with ${others} more` : '';
  return new DomainError(
    'rolled-back',
    `${describeRollback(first)}${more} (hint: restore the newest copy of the database, or declare the loss with urn recover; what the log signed last stands in ${LAST_CHECKPOINTS}, see docs/operations.md)`,
  );
}
