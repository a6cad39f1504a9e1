/** Where a log is, according to its settings: which store, which files. Nothing is opened here. */
import { accessSync, existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DomainError } from '../../base/errors.ts';
import type { FilesOfLog } from '../../base/files.ts';

export interface StoreSettings {
  /** Folder of the embedded store, the signing key, and what was signed last. */
  readonly data: string;
  /** `sqlite:<file>`, `esdb://…`, `esdb+discover://…` (also with `kurrentdb` or `kdb`), `memory:`; undefined: SQLite in the data folder. */
  readonly store?: string | undefined;
  /** File of the signing key; undefined: `signing-key` in the data folder. */
  readonly signingKey?: string | undefined;
  /** In a store that several logs share: the prefix of this log's stream names. */
  readonly streamPrefix?: string | undefined;
  /** If there is no log, opening it fails and creates nothing. */
  readonly mustExist?: boolean | undefined;
  /** Undefined: nobody waits. */
  readonly patience?: Patience | undefined;
}

/** How to wait for a store that is out of reach while a log is opened and read. */
export interface Patience {
  /** For how long, in ms. */
  readonly ms: number;
  /** Called at once and then every ten seconds with what is wrong; without it when the store answers again. */
  onWaiting(why?: Error): void;
}

const DEFAULT_STREAM_PREFIX = 'urn';

type Location =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'eventstoredb'; readonly url: string };

/** @throws DomainError `identity` for a store that this build does not have, or if the log's database is lost */
export function locate(settings: StoreSettings): Location {
  const { store = 'sqlite:', data } = settings;
  if (isInMemory(settings)) return { kind: 'memory' };
  if (isEventStoreDb(store)) return { kind: 'eventstoredb', url: store };
  if (!store.startsWith('sqlite:'))
    throw new DomainError(
      'identity',
      `this build has no store for "${withoutPassword(store)}" (hint: ${hintFor(store)})`,
    );
  const file = isInData(settings)
    ? join(resolve(data), 'urn.sqlite')
    : resolve(store.slice('sqlite:'.length));
  const keyFile = signingKeyFile(settings);
  // The key is created after the database. A key alone means that the database is gone, and no new log may take its place.
  if (settings.signingKey === undefined && !existsSync(file) && existsSync(keyFile))
    throw new DomainError(
      'identity',
      `${keyFile} belongs to a log, but its database ${file} is missing (hint: restore the database; to begin a new log, use another --data folder)`,
    );
  return { kind: 'sqlite', file };
}

/** The addresses that KurrentDB's own name suggests begin with kurrentdb. */
function hintFor(store: string): string {
  const [kurrent, discover = ''] = /^kurrent(\+discover)?:/.exec(store) ?? [];
  return kurrent
    ? `KurrentDB's addresses begin with kurrentdb${discover}://`
    : '--store sqlite:<file>, esdb://<host>:2113, kurrentdb://<host>:2113 or memory:';
}

/** Without credentials and options of the connection, because this is recorded. */
export function describeEventStoreDb(url: string, settings: StoreSettings): string {
  const cluster = url.replace(/\/\/.*@/s, '//').replace(/\?.*$/s, '');
  return `${cluster}, stream prefix ${prefixOf(settings)}`;
}

export function isInMemory({ store }: StoreSettings): boolean {
  return store === 'memory:';
}

/** Whether the database is the one of the data folder. */
function isInData({ store = 'sqlite:' }: StoreSettings): boolean {
  return store === 'sqlite:';
}

export function isEventStoreDb(url: string): boolean {
  return /^(?:esdb|kurrentdb|kdb)(?:\+discover)?:\/\//.test(url);
}

/** There is no log where one must exist. */
export class NoLogError extends DomainError {
  /** @throws DomainError as `locate` */
  constructor(settings: StoreSettings) {
    const closed = closedFolder(locate(settings));
    super(
      'identity',
      closed !== undefined
        ? `this user may not look into ${closed}, where the log should be (hint: run it as the user of the service, with sudo -u)`
        : `there is no log in ${placeOf(settings)} (hint: name its folder with --data or URN_DATA, or its store with --store and --stream-prefix; urn init begins a new log)`,
    );
  }
}

/** The folder of the database, if this user may not enter it: then every file in it seems to be missing. */
function closedFolder(location: Location): string | undefined {
  if (location.kind !== 'sqlite') return undefined;
  try {
    accessSync(location.file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return dirname(location.file);
  }
  return undefined;
}

/** Where the log of these settings is, for people: no credentials. @throws DomainError as `locate` */
export function placeOf(settings: StoreSettings): string {
  const location = locate(settings);
  if (location.kind === 'memory') return 'memory:';
  if (location.kind === 'eventstoredb') return describeEventStoreDb(location.url, settings);
  return isInData(settings) ? resolve(settings.data) : `sqlite:${location.file}`;
}

/** The message that a log was begun: perhaps the folder is the wrong one. */
export function begunIn(settings: StoreSettings, logName: string): string {
  return `there was no log in ${placeOf(settings)}: a new one named "${logName}" has been begun`;
}

/** False: there is no log. True: there may be one; only opening the store shows it. */
export function mayHoldLog(location: Location): boolean {
  if (location.kind === 'memory') return false;
  return location.kind === 'eventstoredb' || existsSync(location.file);
}

/** @throws DomainError as `locate` */
export function filesOf(settings: StoreSettings): FilesOfLog {
  const location = locate(settings);
  return {
    folder: resolve(settings.data),
    keyFile: signingKeyFile(settings),
    database: location.kind === 'sqlite' ? location.file : undefined,
  };
}

export function signingKeyFile({ data, signingKey }: StoreSettings): string {
  return signingKey === undefined ? join(resolve(data), 'signing-key') : resolve(signingKey);
}

/** @param sessionKey file of the session key; undefined: `session-key` in the data folder */
export function sessionKeyFile(data: string, sessionKey: string | undefined): string {
  return sessionKey === undefined ? join(resolve(data), 'session-key') : resolve(sessionKey);
}

export function prefixOf({ streamPrefix }: StoreSettings): string {
  return streamPrefix ?? DEFAULT_STREAM_PREFIX;
}

/** Hides the password in a URL, for messages. */
export function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//…@');
}
