/** Opens the store of a log, and what belongs to the log outside the store: its key, what it signed last. No other file knows every adapter. */
import { existsSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { DomainError } from '../../base/errors.ts';
import { type Keyring, keyringInFile, keyringInMemory, refuseOldLog } from '../../core/log/identity.ts';
import { LAST_CHECKPOINTS } from '../../core/log/last-checkpoints.ts';
import { logRecords } from '../../evidence/move/move-log.ts';
import { type OpenSource, openRecordedSource } from '../../evidence/verify/database/recorded.ts';
import { verifyDatabase } from '../../evidence/verify/database/verify-database.ts';
import { storeSource, type Verify, verifyInStore } from '../../evidence/verify/verifications.ts';
import { type EventStore, isAway } from '../../store/event-store.ts';
import { MemoryStore } from '../../store/memory.ts';
import { isInUse } from '../../store/sqlite/schema.ts';
import { SqliteStore } from '../../store/sqlite/store.ts';
import { PENDING_REVEALS } from '../code-break/pending-reveals.ts';
import {
  describeEventStoreDb,
  isEventStoreDb,
  locate,
  mayHoldLog,
  NoLogError,
  type Patience,
  prefixOf,
  type StoreSettings,
  signingKeyFile,
  withoutPassword,
} from './store-location.ts';

export interface OpenStore {
  readonly store: EventStore;
  readonly verify: Verify;
  readonly keyring: Keyring;
  /** Undefined for a log in memory, which is always new. */
  readonly lastCheckpointsFile?: string;
  /** For code-breaks that could not be recorded at once. Undefined for a log in memory. */
  readonly pendingFile?: string;
}

/**
 * @throws StoreError; DomainError `identity` for a store that this build does not have, or if the log's database is lost;
 *   NoLogError if a log must exist and there is not even a store
 */
export async function openStore(settings: StoreSettings): Promise<OpenStore> {
  const location = locate(settings);
  if (settings.mustExist && !mayHoldLog(location)) throw new NoLogError(settings);
  if (location.kind === 'memory') {
    const store = new MemoryStore();
    return { store, verify: verifyInStore(store), keyring: keyringInMemory() };
  }
  const keyring = keyringInFile(signingKeyFile(settings));
  const data = resolve(settings.data);
  const files = {
    lastCheckpointsFile: join(data, LAST_CHECKPOINTS),
    pendingFile: join(data, PENDING_REVEALS),
  };
  if (location.kind === 'eventstoredb') {
    const store = await openEventStoreDb(location.url, settings);
    return { store, verify: verifyInStore(store), keyring, ...files };
  }
  const { file } = location;
  const store = new SqliteStore(file);
  return { store, verify: verifyDatabase(file), keyring, ...files };
}

/** How long until a store that was out of reach is tried again, and how often somebody hears why it is waited for, in ms. */
const [TRY_AGAIN_MS, TELL_MS] = [500, 10_000];

/** Does what needs the store, again while it is out of reach. @throws what `act` throws otherwise, or once patience ends */
export async function patiently<T>(patience: Patience | undefined, act: () => Promise<T>): Promise<T> {
  const end = performance.now() + (patience?.ms ?? 0);
  let why: Error | undefined;
  let telling: NodeJS.Timeout | undefined;
  try {
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (!patience || !isAway(error) || performance.now() >= end) throw error;
        why = error as Error;
      }
      if (!telling) {
        patience.onWaiting(why);
        telling = setInterval(() => patience.onWaiting(why), TELL_MS);
      }
      await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
    }
  } finally {
    clearInterval(telling);
    if (telling) patience?.onWaiting();
  }
}

/**
 * Whether another process has the log open; undefined if the store cannot tell. Ask before this process opens it.
 * @throws StoreError, DomainError `identity`; NoLogError
 */
export function isLogInUse(settings: StoreSettings): boolean | undefined {
  const location = locate(settings);
  if (!mayHoldLog(location)) throw new NoLogError(settings);
  return location.kind === 'sqlite' ? isInUse(location.file) : undefined;
}

/**
 * Opens an existing log for verification alone: nothing is written, and its signing key is not needed.
 * @throws StoreError; DomainError `identity`; NoLogError
 */
export async function openForVerification(settings: StoreSettings): Promise<OpenSource> {
  const location = locate(settings);
  if (location.kind === 'memory' || !mayHoldLog(location)) throw new NoLogError(settings);
  if (location.kind === 'sqlite') return openRecordedSource(location.file);
  const store = await openEventStoreDb(location.url, settings);
  try {
    for (const stored of await patiently(settings.patience, () => logRecords(store))) refuseOldLog(stored);
    const source = await patiently(settings.patience, () => storeSource(store));
    if ((await source.streams()).length === 0) throw new NoLogError(settings);
    return { ...source, copy: undefined, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** A store that a log is moved from or to. No log is begun there, and no signing key is needed. */
export interface PlainStore {
  /** The same text for the same store, however it was named. */
  readonly id: string;
  /** For people, and recorded: without credentials. */
  readonly description: string;
  readonly exists: boolean;
  /** As `isLogInUse`, for a store that exists. Ask before this process opens it. @throws StoreError */
  isInUse(): boolean | undefined;
  /** Creates the store if there is none. @throws StoreError */
  open(): Promise<EventStore>;
}

/**
 * @param settings `store` must be given; the data folder and the signing key are ignored
 * @throws DomainError `identity` for a store that a log cannot be moved from or to
 */
export function plainStore(settings: StoreSettings): PlainStore {
  const { store = '' } = settings;
  const file = /^sqlite:(.+)$/.exec(store)?.[1];
  if (file !== undefined) {
    const path = resolve(file);
    const exists = existsSync(path);
    return {
      id: `sqlite:${exists ? realpathSync(path) : path}`,
      description: `sqlite:${path} on ${hostname()}`,
      exists,
      isInUse: () => isInUse(path),
      open: async () => new SqliteStore(path),
    };
  }
  if (!isEventStoreDb(store))
    throw new DomainError(
      'identity',
      `a log cannot be moved from or to "${withoutPassword(store)}" (hint: sqlite:<file>, or esdb://<host>:2113)`,
    );
  const description = describeEventStoreDb(store, settings);
  return {
    id: description,
    description,
    exists: true,
    isInUse: () => undefined,
    open: () => openEventStoreDb(store, settings),
  };
}

/** Stands in for a store that must not be created. */
export function emptyStore(): EventStore {
  return new MemoryStore();
}

/** The store of a log, as `plainStore` takes it. @throws DomainError as `openStore` */
export function storeUrl(settings: StoreSettings): string {
  const location = locate(settings);
  if (location.kind === 'memory') return 'memory:';
  return location.kind === 'sqlite' ? `sqlite:${location.file}` : location.url;
}

/** Whether the signing key of this log is here. */
export function hasSigningKey(settings: StoreSettings): boolean {
  return existsSync(signingKeyFile(settings));
}

async function openEventStoreDb(url: string, settings: StoreSettings): Promise<EventStore> {
  const { EventStoreDbStore } = await import('../../store/eventstoredb/store.ts');
  return new EventStoreDbStore(url, prefixOf(settings));
}
