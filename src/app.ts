/** The composition root: the only file that knows every adapter and puts the parts together. */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import type { Actor } from '../events/record.ts';
import { access } from '../projections/access.ts';
import { balance } from '../projections/balance.ts';
import { lastRecovery, logHistory } from '../projections/log.ts';
import { participants } from '../projections/participants.ts';
import { Runner, type RunnerHooks } from '../projections/runner.ts';
import { studyConfig } from '../projections/study-config.ts';
import { Keys } from './access/keys.ts';
import { type Verify, verifyInStore } from './audit/verifications.ts';
import { DomainError } from './errors.ts';
import { type LogIdentity, openIdentity, presentKey } from './ledger/identity.ts';
import { type Keyring, keyringInFile, keyringInMemory } from './ledger/keyring.ts';
import { describeRollback, LastCheckpoints, type Rollback } from './ledger/last-checkpoints.ts';
import { Ledger } from './ledger/ledger.ts';
import type { SignedState } from './ledger/loss.ts';
import { LOG_STREAM, logWriter } from './log/log-writer.ts';
import { movedError } from './log/moved.ts';
import { declareLoss, findLoss, type Loss } from './log/recovery.ts';
import { rotateSigningKey } from './log/rotation.ts';
import { Operations } from './operations/operations.ts';
import type { EventStore } from './store/event-store.ts';
import { MemoryStore } from './store/memory.ts';
import { SqliteStore } from './store/sqlite.ts';
import { BackwardChecks } from './store/sqlite-checks.ts';
import { type OpenSource, openRecordedSource } from './store/sqlite-recorded-source.ts';
import { isInUse } from './store/sqlite-schema.ts';
import { verifyDatabase } from './store/sqlite-verification.ts';
import { studyState } from './study/state.ts';
import { Studies } from './study/studies.ts';
import { systemTools } from './write/tools.ts';
import type { WriterHooks } from './write/writer.ts';

/** In the data folder, beside the signing key. */
const LAST_CHECKPOINTS = 'last-checkpoints';

export interface LogSettings {
  /** Folder of the embedded store and of the signing key. */
  readonly data: string;
  /** `sqlite:<file>`, `memory:`; undefined: SQLite in the data folder. */
  readonly store?: string | undefined;
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

/** From this size of the database on, a second thread is worth its start: about 5,000 participants. */
const LONG_LOG_BYTES = 10 * 1024 * 1024;

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
  const { store, verify, keyring, startChecks, lastCheckpointsFile } = openStore(settings);
  try {
    const identity = await openIdentity(store, keyring, settings.logName, actor, tools);
    // The decider first: what it refuses, no read model takes in.
    const projections = [logHistory, studyState, access, studyConfig, participants, balance];
    const history = () => runner.state(logHistory, LOG_STREAM);
    // Signing anything could contradict what the log has signed; and without its key it could give no receipt.
    let rollback: DomainError | undefined;
    let keyLoss: DomainError | undefined;
    const refusal = () => keyLoss ?? rollback;
    const moved = () => movedError(runner.movement(LOG_STREAM));
    // Whoever cannot read on there cannot know whether it was moved.
    const unread = () =>
      runner.halted(LOG_STREAM) &&
      new DomainError('halted', 'the stream log cannot be read completely; see the log of the service');
    const ledger = new Ledger(identity, () => lastRecovery(history()), refusal);
    const runner = new Runner(store, identity.logId, projections, {
      ...hooks,
      onFolded: (stream, leaf) => ledger.append(stream, leaf),
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
        keyLoss = error as DomainError;
        hooks.onKeyLost?.(keyLoss);
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

/**
 * Whether the settings name a log that exists already.
 * @throws DomainError `identity` as `openLog` does when no log of theirs can be opened
 */
export function logExists(settings: LogSettings): boolean {
  return settings.store !== 'memory:' && existsSync(databaseFile(settings));
}

/**
 * Whether another process has the log open. To be asked before this one opens it.
 * @throws StoreError, DomainError `identity`
 */
export function isLogInUse(settings: LogSettings): boolean {
  return settings.store !== 'memory:' && isInUse(databaseFile(settings));
}

/**
 * Opens an existing log for verification alone: nothing is written, and its signing key is not needed.
 * @throws StoreError; DomainError `identity` when there is no such log
 */
export function openForVerification(settings: LogSettings): OpenSource {
  if (settings.store === 'memory:')
    throw new DomainError('identity', 'a log in memory is gone when it ends (hint: --store sqlite:<file>)');
  const file = databaseFile(settings);
  if (!existsSync(file))
    throw new DomainError('identity', `there is no log ${file} (hint: name it with --data or --store)`);
  return openRecordedSource(file);
}

/** A store by itself, as it is copied from or to: no log is begun there, and no signing key is needed. */
export interface PlainStore {
  /** One text for one store, however it was named. */
  readonly id: string;
  /** For people, in records: no credentials. */
  readonly description: string;
  readonly exists: boolean;
  /** Makes the store where there is none. @throws StoreError */
  open(): EventStore;
}

/** @throws DomainError `identity` for a store that cannot be named so */
export function plainStore(url: string): PlainStore {
  const file = /^sqlite:(.+)$/.exec(url)?.[1];
  if (file === undefined)
    throw new DomainError('identity', `a log cannot be copied from or to "${url}" (hint: sqlite:<file>)`);
  const path = resolve(file);
  const exists = existsSync(path);
  return {
    id: `sqlite:${exists ? realpathSync(path) : path}`,
    description: `sqlite:${path} on ${hostname()}`,
    exists,
    open: () => new SqliteStore(path),
  };
}

/** The store of a log, as `plainStore` takes it. @throws DomainError as `logExists` */
export function storeUrl(settings: LogSettings): string {
  return settings.store === 'memory:' ? settings.store : `sqlite:${databaseFile(settings)}`;
}

/** Whether the key that signs for the log of these settings is here. */
export function hasSigningKey(settings: LogSettings): boolean {
  return existsSync(signingKeyFile(settings));
}

function rollbackError(first: Rollback, others: number): DomainError {
  const more = others > 0 ? `, and so with ${others} more` : '';
  return new DomainError(
    'rolled-back',
    `${describeRollback(first)}${more} (hint: restore the newest copy of the database, or declare the loss with urn recover; what the log signed last stands in ${LAST_CHECKPOINTS}, see docs/operations.md)`,
  );
}

interface OpenStore {
  readonly store: EventStore;
  readonly verify: Verify;
  readonly keyring: Keyring;
  /** Undefined where it is not worth it. */
  readonly startChecks?: () => BackwardChecks | undefined;
  readonly lastCheckpointsFile?: string;
}

function openStore(settings: LogSettings): OpenStore {
  if (settings.store === 'memory:') {
    const store = new MemoryStore();
    return { store, verify: verifyInStore(store), keyring: keyringInMemory() };
  }
  const file = databaseFile(settings);
  const keyring = keyringInFile(signingKeyFile(settings));
  const startChecks = () => (bytesOf(file) < LONG_LOG_BYTES ? undefined : new BackwardChecks(file));
  const lastCheckpointsFile = join(resolve(settings.data), LAST_CHECKPOINTS);
  const store = new SqliteStore(file);
  return { store, verify: verifyDatabase(file), keyring, startChecks, lastCheckpointsFile };
}

/** Of a database and its write-ahead log. */
function bytesOf(file: string): number {
  return [file, `${file}-wal`].reduce(
    (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

function signingKeyFile({ data }: LogSettings): string {
  return join(resolve(data), 'signing-key');
}

/** @throws DomainError `identity` for a store that this build does not have, and when the log's database is lost */
function databaseFile(settings: LogSettings): string {
  const { store = 'sqlite:', data } = settings;
  if (!store.startsWith('sqlite:'))
    throw new DomainError(
      'identity',
      `this build has no store for "${store}" (hint: --store sqlite:<file> or memory:)`,
    );
  const file =
    store === 'sqlite:' ? join(resolve(data), 'urn.sqlite') : resolve(store.slice('sqlite:'.length));
  const keyFile = signingKeyFile(settings);
  // A key is made after its database: a key alone means that the database is gone, and a new log must not take its place.
  if (!existsSync(file) && existsSync(keyFile))
    throw new DomainError(
      'identity',
      `${keyFile} belongs to a log, but its database ${file} is missing (hint: restore the database; to begin a new log, use another --data folder)`,
    );
  return file;
}
