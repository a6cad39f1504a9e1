/**
 * Opens a log: puts its parts together. The service and most commands work on what this returns.
 *
 * The order in which a log comes to life: its store is opened, its identity is read (or a new log begins), the stream `log` is
 * folded, and then, with `rebuild` or `read`, what else is needed. Until that has compared the log with what it signed last,
 * the write gate is closed.
 */
import { existsSync } from 'node:fs';
import type { Actor } from '../../../events/record.ts';
import { access } from '../../../projections/access.ts';
import { lastRecovery, logHistory } from '../../../projections/log.ts';
import { Runner, type RunnerHooks } from '../../../projections/runner.ts';
import { endedSessions } from '../../../projections/sessions.ts';
import { DomainError } from '../../base/errors.ts';
import { systemTools } from '../../base/tools.ts';
import { Keys } from '../../core/access/keys.ts';
import {
  type Beginning,
  followSigningKey,
  type Keyring,
  type LogIdentity,
  openIdentity,
  rotateSigningKey,
} from '../../core/log/identity.ts';
import {
  LastCheckpoints,
  readWitness,
  type SignedState,
  type Uncompared,
} from '../../core/log/last-checkpoints.ts';
import { Ledger } from '../../core/log/ledger.ts';
import { LOG_STREAM, logWriter } from '../../core/log/log-stream.ts';
import { declareLoss, findLoss, type Loss } from '../../core/log/recovery.ts';
import { Comparison, WriteGate } from '../../core/log/write-gate.ts';
import { studyState } from '../../core/study/fold.ts';
import { Studies } from '../../core/study/studies.ts';
import type { WriterHooks } from '../../core/write/writer.ts';
import type { Verify } from '../../evidence/verify/verifications.ts';
import type { EventStore } from '../../store/event-store.ts';
import { type CodeBreakHooks, CodeBreaks } from '../code-break/code-breaks.ts';
import { PendingReveals } from '../code-break/pending-reveals.ts';
import { Operations } from '../operations/operations-stream.ts';
import { type OpenStore, openStore, patiently } from './open-store.ts';
import { NoLogError, type StoreSettings } from './store-location.ts';

export interface LogSettings extends StoreSettings {
  /** Name for a new log. */
  readonly logName?: string | undefined;
  /** Whether the log may be opened without its signing key: then nothing can be written to it. */
  readonly mayLackKey?: boolean | undefined;
  /** The file in which a witness's checkpoints are kept: the log is compared with it, too. */
  readonly witness?: string | undefined;
}

export interface LogHooks extends RunnerHooks, WriterHooks, CodeBreakHooks, Pick<Beginning, 'onBegun'> {
  onKeyLost?(error: Error): void;
  /** The witness's file, or some of it, is not compared with the log. */
  onUncompared?(what: Uncompared): void;
  /** The log continues after a move or a recovery. */
  onReopened?(): void;
}

export interface OpenLog {
  readonly store: EventStore;
  readonly identity: LogIdentity;
  readonly runner: Runner;
  readonly ledger: Ledger;
  /** Says whether a stream may be written or signed, and if not, why. */
  readonly gate: WriteGate;
  readonly keys: Keys;
  readonly studies: Studies;
  readonly codeBreaks: CodeBreaks;
  readonly operations: Operations;
  /**
   * Folds the whole log and compares it with what it signed last, which opens the write gate. `onProgress` gets the
   * number of records folded so far.
   */
  rebuild(onProgress?: (records: number) => void): Promise<void>;
  /**
   * Folds one stream and opens the write gate for it, unless some stream ends before what the log signed of it. Only
   * `rebuild` finds what else may be wrong with the other streams.
   */
  read(stream: string): Promise<void>;
  /**
   * What a folded log lacks of what it signed last.
   * @param kept what else it is known to have signed
   * @throws DomainError as `findLoss` does
   */
  findLoss(kept: readonly SignedState[]): Loss;
  /** Declares the loss, and gives every study a new generator. @returns the names of the studies */
  recover(loss: Loss, reason: string, actor: Actor): Promise<string[]>;
  /** Replaces the signing key. @returns the new verifier key */
  rotateSigningKey(reason: string, actor: Actor): Promise<string>;
  /** Verifies the log as it is now. */
  readonly verify: Verify;
  /** Undefined for a log in memory, which is always new. */
  readonly lastCheckpoints: LastCheckpoints | undefined;
  /** Finishes what was accepted, then closes. */
  close(): Promise<void>;
}

/**
 * Opens the log, or begins one unless the settings say that it must exist. Only the stream `log` is folded, and nothing
 * may be written before `rebuild` or `read`. All of them wait for a store that is out of reach, as the settings say.
 * @throws StoreError, DomainError `identity`, NoLogError, RecordError
 */
export async function openLog(settings: LogSettings, actor: Actor, hooks: LogHooks = {}): Promise<OpenLog> {
  return patiently(settings.patience, async () => {
    const opened = await openStore(settings);
    try {
      return await openIn(opened, settings, actor, hooks);
    } catch (error) {
      await opened.store.close();
      throw error;
    }
  });
}

/** @throws what `openLog` throws */
async function openIn(
  { store, verify, keyring, lastCheckpointsFile, pendingFile }: OpenStore,
  settings: LogSettings,
  actor: Actor,
  hooks: LogHooks,
): Promise<OpenLog> {
  const tools = systemTools();
  const identity = await openIdentity(store, keyring, settings.logName, actor, tools, {
    ...hooks,
    expectNone: () => refuseNewLog(lastCheckpointsFile),
    mayLackKey: settings.mayLackKey,
    refused: settings.mustExist ? new NoLogError(settings) : undefined,
  });
  const lastCheckpoints =
    lastCheckpointsFile === undefined ? undefined : new LastCheckpoints(lastCheckpointsFile, identity);
  const { runner, ledger, gate, key } = await guardedLog(store, identity, keyring, hooks);

  const parts = { store, logId: identity.logId, runner, gate, tools, hooks };
  const keys = new Keys(parts);
  const studies = new Studies(parts);
  const operations = new Operations(parts);
  const pending = pendingFile === undefined ? undefined : new PendingReveals(pendingFile);
  const codeBreaks = new CodeBreaks({ studies, runner, pending }, hooks);
  const { witness } = settings;
  const comparison = new Comparison({ store, runner, ledger, gate, lastCheckpoints });
  const stopFollowing = followReopening(runner, () => hooks.onReopened?.());
  return {
    ...{ store, identity, runner, ledger, gate, verify, lastCheckpoints },
    ...{ keys, studies, codeBreaks, operations },
    async rebuild(onProgress) {
      // Before the log: other instances go on signing.
      const also = witness === undefined ? [] : await readWitness(witness, identity, hooks.onUncompared);
      let read = 0;
      return patiently(settings.patience, () => {
        const before = read;
        return comparison.rebuild(also, (records) => {
          read = before + records;
          onProgress?.(read);
        });
      });
    },
    read: (stream) => patiently(settings.patience, () => comparison.read(stream)),
    findLoss: (kept) => findLoss(runner, ledger, [...(lastCheckpoints?.signedBefore ?? []), ...kept]),
    async recover(loss, reason, recoverer) {
      await declareLoss(logWriter(parts, 'recover'), loss, reason, recoverer);
      const still = gate.refusal(LOG_STREAM, 'write');
      if (still) throw still;
      const renewed = await studies.renewGenerators(recoverer);
      await lastCheckpoints?.keep(ledger.streams().map((name) => ledger.checkpoint(name)));
      return renewed;
    },
    rotateSigningKey: (reason, rotator) =>
      rotateSigningKey(logWriter(parts), identity, keyring, reason, rotator),
    async close() {
      stopFollowing();
      await studies.drain();
      await operations.drain();
      key.stop();
      runner.stop();
      await store.close();
    },
  };
}

/** The data folder still shows that its store was emptied or replaced. */
function refuseNewLog(lastCheckpointsFile: string | undefined): void {
  if (lastCheckpointsFile === undefined || !existsSync(lastCheckpointsFile)) return;
  throw new DomainError(
    'identity',
    `there is no log in this store, but ${lastCheckpointsFile} says what an earlier log here signed, so no new log is begun in its place (hint: restore the store, or name the right one with --store and --stream-prefix; for a new log, use another --data folder)`,
  );
}

/** What folds the log, what signs for it, and the gate that both go through. */
async function guardedLog(store: EventStore, identity: LogIdentity, keyring: Keyring, hooks: LogHooks) {
  const projections = [logHistory, studyState, access, endedSessions];
  const runner = new Runner(store, identity.logId, projections, {
    ...hooks,
    onFolded: (stream, leaf) => {
      ledger.append(stream, leaf);
      hooks.onFolded?.(stream, leaf);
    },
    onDanger: (stream, danger) => {
      gate.endanger(stream, danger);
      hooks.onDanger?.(stream, danger);
    },
    onRolledBack: (why) => {
      gate.storeLost(why);
      hooks.onRolledBack?.(why);
    },
  });
  const gate: WriteGate = new WriteGate({ runner, missingKey: () => key.missing() });
  const ledger = new Ledger(
    identity,
    () => lastRecovery(runner.state(logHistory, LOG_STREAM)),
    (stream) => gate.refusal(stream, 'sign'),
  );
  // Every other stream can only be understood with what the stream `log` says.
  await runner.catchUp(LOG_STREAM);
  const key = followSigningKey(runner, identity, keyring, hooks.onKeyLost);
  return { runner, ledger, gate, key };
}

/**
 * Notices when a log that took no participants may take them again, after a move or a recovery by another process.
 * @returns a function that stops this
 */
function followReopening(runner: Runner, onReopened: () => void): () => void {
  return runner.listen(LOG_STREAM, ({ type }) => {
    if (type === 'LogArrived' || type === 'LogRecovered') setImmediate(onReopened);
  });
}
