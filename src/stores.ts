/** Which store a log is in, and what belongs to it outside the store: its key, what it signed last. The only file that knows every adapter. */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { storeSource, type Verify, verifyInStore } from './audit/verifications.ts';
import { DomainError } from './errors.ts';
import { type Keyring, keyringInFile, keyringInMemory } from './ledger/keyring.ts';
import { LAST_CHECKPOINTS } from './ledger/last-checkpoints.ts';
import type { EventStore } from './store/event-store.ts';
import { MemoryStore } from './store/memory.ts';
import { BackwardChecks } from './store/sqlite/checks.ts';
import { type OpenSource, openRecordedSource } from './store/sqlite/recorded-source.ts';
import { isInUse } from './store/sqlite/schema.ts';
import { SqliteStore } from './store/sqlite/store.ts';
import { verifyDatabase } from './store/sqlite/verification.ts';

export interface StoreSettings {
  /** Folder of the embedded store, of the signing key, and of what was signed last. */
  readonly data: string;
  /** `sqlite:<file>`, `esdb://…`, `esdb+discover://…` (also with `kurrentdb` or `kdb`), `memory:`; undefined: SQLite in the data folder. */
  readonly store?: string | undefined;
  /** File of the signing key; undefined: `signing-key` in the data folder. */
  readonly signingKey?: string | undefined;
  /** Of a store that several logs share: what the names of this one's streams begin with. */
  readonly streamPrefix?: string | undefined;
}

export interface OpenStore {
  readonly store: EventStore;
  readonly verify: Verify;
  readonly keyring: Keyring;
  /** Undefined where it is not worth it. */
  readonly startChecks?: () => BackwardChecks | undefined;
  /** Undefined for a log in memory, which has no past. */
  readonly lastCheckpointsFile?: string;
}

const DEFAULT_STREAM_PREFIX = 'urn';

/** From this size of the database on, a second thread is worth its start: about 5,000 participants. */
const LONG_LOG_BYTES = 10 * 1024 * 1024;

/** @throws StoreError; DomainError `identity` for a store that this build does not have, and when the log's database is lost */
export async function openStore(settings: StoreSettings): Promise<OpenStore> {
  const location = locate(settings);
  if (location.kind === 'memory') {
    const store = new MemoryStore();
    return { store, verify: verifyInStore(store), keyring: keyringInMemory() };
  }
  const keyring = keyringInFile(signingKeyFile(settings));
  const lastCheckpointsFile = join(resolve(settings.data), LAST_CHECKPOINTS);
  if (location.kind === 'eventstoredb') {
    const store = await openEventStoreDb(location.url, settings);
    return { store, verify: verifyInStore(store), keyring, lastCheckpointsFile };
  }
  const { file } = location;
  const startChecks = () => (bytesOf(file) < LONG_LOG_BYTES ? undefined : new BackwardChecks(file));
  const store = new SqliteStore(file);
  return { store, verify: verifyDatabase(file), keyring, startChecks, lastCheckpointsFile };
}

/**
 * Whether the settings name a log that exists already.
 * @throws StoreError; DomainError `identity` as `openStore` does
 */
export async function logExists(settings: StoreSettings): Promise<boolean> {
  const location = locate(settings);
  if (location.kind === 'memory') return false;
  if (location.kind === 'sqlite') return existsSync(location.file);
  const store = await openEventStoreDb(location.url, settings);
  try {
    for await (const page of store.readStream('log', 0)) if (page.length > 0) return true;
    return false;
  } finally {
    await store.close();
  }
}

/**
 * Whether another process has the log open; undefined where that cannot be told. To be asked before this one opens it.
 * @throws StoreError, DomainError `identity`
 */
export function isLogInUse(settings: StoreSettings): boolean | undefined {
  const location = locate(settings);
  if (location.kind === 'memory') return false;
  return location.kind === 'sqlite' ? isInUse(location.file) : undefined;
}

/**
 * Opens an existing log for verification alone: nothing is written, and its signing key is not needed.
 * @throws StoreError; DomainError `identity` when there is no such log
 */
export async function openForVerification(settings: StoreSettings): Promise<OpenSource> {
  const location = locate(settings);
  if (location.kind === 'memory')
    throw new DomainError('identity', 'a log in memory is gone when it ends (hint: --store sqlite:<file>)');
  if (location.kind === 'sqlite') {
    const { file } = location;
    if (!existsSync(file))
      throw new DomainError('identity', `there is no log ${file} (hint: name it with --data or --store)`);
    return openRecordedSource(file);
  }
  const store = await openEventStoreDb(location.url, settings);
  try {
    const source = await storeSource(store);
    if ((await source.streams()).length === 0)
      throw new DomainError(
        'identity',
        `there is no log with the stream prefix "${prefixOf(settings)}" in this store (hint: name it with --stream-prefix)`,
      );
    return { ...source, copy: undefined, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** A store by itself, as a log is copied from or to: none is begun there, and no signing key is needed. */
export interface PlainStore {
  /** One text for one store, however it was named. */
  readonly id: string;
  /** For people, in records: no credentials. */
  readonly description: string;
  readonly exists: boolean;
  /** Makes the store where there is none. @throws StoreError */
  open(): Promise<EventStore>;
}

/**
 * @param settings `store` must be given; the data folder and the signing key are not looked at
 * @throws DomainError `identity` for a store that cannot be copied from or to
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
      open: async () => new SqliteStore(path),
    };
  }
  if (!isEventStoreDb(store))
    throw new DomainError(
      'identity',
      `a log cannot be copied from or to "${withoutPassword(store)}" (hint: sqlite:<file>, or esdb://<host>:2113)`,
    );
  // Nothing of who connects, and how: this stands in records.
  const cluster = store.replace(/\/\/.*@/s, '//').replace(/\?.*$/s, '');
  const description = `${cluster}, stream prefix ${prefixOf(settings)}`;
  return { id: description, description, exists: true, open: () => openEventStoreDb(store, settings) };
}

/** In the place of one that is not to be made. */
export function emptyStore(): EventStore {
  return new MemoryStore();
}

/** The store of a log, as `plainStore` takes it. @throws DomainError as `openStore` */
export function storeUrl(settings: StoreSettings): string {
  const location = locate(settings);
  if (location.kind === 'memory') return 'memory:';
  return location.kind === 'sqlite' ? `sqlite:${location.file}` : location.url;
}

/** Whether the key that signs for the log of these settings is here. */
export function hasSigningKey(settings: StoreSettings): boolean {
  return existsSync(signingKeyFile(settings));
}

type Location =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'eventstoredb'; readonly url: string };

/** @throws DomainError `identity` for a store that this build does not have, and when the log's database is lost */
function locate(settings: StoreSettings): Location {
  const { store = 'sqlite:', data } = settings;
  if (store === 'memory:') return { kind: 'memory' };
  if (isEventStoreDb(store)) return { kind: 'eventstoredb', url: store };
  if (!store.startsWith('sqlite:'))
    throw new DomainError(
      'identity',
      `this build has no store for "${withoutPassword(store)}" (hint: --store sqlite:<file>, esdb://<host>:2113 or memory:)`,
    );
  const file =
    store === 'sqlite:' ? join(resolve(data), 'urn.sqlite') : resolve(store.slice('sqlite:'.length));
  const keyFile = signingKeyFile(settings);
  // A key is made after its database: a key alone means that the database is gone, and a new log must not take its place.
  if (settings.signingKey === undefined && !existsSync(file) && existsSync(keyFile))
    throw new DomainError(
      'identity',
      `${keyFile} belongs to a log, but its database ${file} is missing (hint: restore the database; to begin a new log, use another --data folder)`,
    );
  return { kind: 'sqlite', file };
}

function isEventStoreDb(url: string): boolean {
  return /^(?:esdb|kurrentdb|kdb)(?:\+discover)?:\/\//.test(url);
}

async function openEventStoreDb(url: string, settings: StoreSettings): Promise<EventStore> {
  const { EventStoreDbStore } = await import('./store/eventstoredb/store.ts');
  return new EventStoreDbStore(url, prefixOf(settings));
}

function prefixOf({ streamPrefix }: StoreSettings): string {
  return streamPrefix ?? DEFAULT_STREAM_PREFIX;
}

function signingKeyFile({ data, signingKey }: StoreSettings): string {
  return signingKey === undefined ? join(resolve(data), 'signing-key') : resolve(signingKey);
}

/** Of a URL that may hold one, for messages. */
function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//…@');
}

/** Of a database and its write-ahead log. */
function bytesOf(file: string): number {
  return [file, `${file}-wal`].reduce(
    (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
