/**
 * A log's id, name and signing key. The log itself says them, in its stream `log`; the secret key is kept outside its store. The
 * first process to open an empty store begins the log. When one process rotates the key, the others follow.
 */
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { LogCreated } from '../../../events/log.ts';
import { type Actor, decodeRecord, encodeRecord, type RecordBytes, textOf } from '../../../events/record.ts';
import { historyAfter, type LogHistory, logHistory } from '../../../projections/log.ts';
import type { Runner } from '../../../projections/runner.ts';
import { DomainError } from '../../base/errors.ts';
import { createOnce, flush, type KeyKind, refuseKeyOfOthers } from '../../base/files.ts';
import type { Tools } from '../../base/tools.ts';
import { type EventStore, NO_STREAM } from '../../store/event-store.ts';
import { LOG_STREAM, type LogWriter } from './log-stream.ts';
import { endorse, loadSigningKey, makeSigningKey, type SigningKey } from './signing.ts';

/** What the log says of itself in its stream `log`, and the key that belongs to it. */
export class LogIdentity {
  readonly logId: string;
  readonly logName: string;
  #signingKey: SigningKey | undefined;
  #publicKeys: readonly string[];

  constructor(parts: {
    logId: string;
    logName: string;
    /** Undefined if it is not here: nothing can be written, but what the log holds can be read. */
    signingKey: SigningKey | undefined;
    publicKeys: readonly string[];
  }) {
    this.logId = parts.logId;
    this.logName = parts.logName;
    this.#signingKey = parts.signingKey;
    this.#publicKeys = parts.publicKeys;
  }

  /** The current key. @throws DomainError `identity` when it is not here */
  get signingKey(): SigningKey {
    if (!this.#signingKey) throw new DomainError('identity', 'the signing key is not here');
    return this.#signingKey;
  }

  get hasSigningKey(): boolean {
    return this.#signingKey !== undefined;
  }

  /** The verifier keys of all keys that have signed, the current one last. */
  get publicKeys(): readonly string[] {
    return this.#publicKeys;
  }

  /** @param publicKeys of all keys that have signed, since one may already be gone before this process hears of it */
  rotateTo(signingKey: SigningKey, publicKeys: readonly string[]): void {
    this.#signingKey = signingKey;
    this.#publicKeys = publicKeys;
  }
}

export interface Beginning {
  /** Throws when there is known to have been a log here, so that a new one must not be begun. */
  expectNone?(): void;
  /** Why this command may not begin a log; undefined if it may. */
  readonly refused?: DomainError | undefined;
  /** Whether the log may be opened without its signing key. */
  readonly mayLackKey?: boolean | undefined;
  /** Called when this process has begun the log. */
  onBegun?(logName: string): void;
}

/**
 * Reads the log's identity, and begins the log when the store is empty.
 *
 * @param wantedName the expected name; undefined: "urn" for a new log, any name for an existing one
 * @throws DomainError `identity` when log, name and key do not belong together; RecordError; StoreError
 */
export async function openIdentity(
  store: EventStore,
  keys: Keyring,
  wantedName: string | undefined,
  actor: Actor,
  tools: Tools,
  beginning: Beginning = {},
): Promise<LogIdentity> {
  const existing = await readIdentity(store);
  if (!existing) beginning.expectNone?.();
  const begun = existing ?? (await beginLog(store, keys, wantedName ?? 'urn', actor, tools, beginning));
  if (wantedName !== undefined && wantedName !== begun.logName)
    throw new DomainError(
      'identity',
      `this log is named "${begun.logName}", not "${wantedName}" (hint: leave out --log-name)`,
    );
  const { logId, logName, publicKeys } = begun;
  const signingKey = beginning.mayLackKey ? keyIfHere(keys, publicKeys) : presentKey(keys, publicKeys);
  return new LogIdentity({ logId, logName, publicKeys, signingKey });
}

type BegunLog = Pick<LogHistory, 'publicKeys'> & { readonly logId: string; readonly logName: string };

/** @throws DomainError `identity` for a LogCreated that does not name the log's format */
export function refuseOldLog({ record }: RecordBytes): void {
  if (/"data":\{"logId":.*"type":"LogCreated"/s.test(textOf(record)))
    throw new DomainError(
      'identity',
      'this log was written before 1.0.0; nothing was changed (hint: begin a new log with another --data folder, --store or --stream-prefix)',
    );
}

async function readIdentity(store: EventStore): Promise<BegunLog | undefined> {
  let history = logHistory.initial();
  let created: { readonly logId: string; readonly logName: string } | undefined;
  for await (const page of store.readStream('log', 0))
    for (const stored of page) {
      refuseOldLog(stored);
      const event = decodeRecord(stored);
      if (!created) {
        if (event.type !== 'LogCreated' || event.log !== event.data.logId)
          throw new DomainError('identity', 'the first record of the log is not its LogCreated');
        created = event.data;
      }
      history = historyAfter(history, event);
    }
  return created && { logId: created.logId, logName: created.logName, publicKeys: history.publicKeys };
}

async function beginLog(
  store: EventStore,
  keys: Keyring,
  logName: string,
  actor: Actor,
  { newId, newSalt, now }: Tools,
  { refused, onBegun }: Beginning,
): Promise<BegunLog> {
  await expectEmpty(store);
  if (refused) throw refused;
  if (!LogCreated.data.shape.logName.safeParse(logName).success)
    throw new DomainError(
      'identity',
      `"${logName}" cannot name a log: a name has 1 to 64 characters, no white space, no control characters and no "+"`,
    );
  const key = keys.loadOrMake(logName);
  // An interrupted start, or another process just now, may have made the key under another name.
  if (key.name !== logName)
    throw new DomainError(
      'identity',
      `there is a signing key already, for a log named "${key.name}" (hint: use --log-name ${key.name})`,
    );
  const logId = newId();
  const data = { format: 'urn-log@1' as const, logId, logName, publicKey: key.publicKey };
  const header = { id: newId(), log: logId, stream: 'log', revision: 0, at: now().toISOString(), actor };
  const record = encodeRecord(header, { type: 'LogCreated', data, sections: {} }, newSalt);
  const { type } = await store.append('log', NO_STREAM, [record]);
  if (type === 'written') {
    onBegun?.(logName);
    return { logId, logName, publicKeys: [key.publicKey] };
  }
  // Another process began the log at the same moment.
  const first = await readIdentity(store);
  if (!first) throw new DomainError('identity', 'the log was begun elsewhere but cannot be read');
  return first;
}

/** LogCreated is the first record of every store, except while a log is being moved there: then `log` comes last. */
async function expectEmpty(store: EventStore): Promise<void> {
  for await (const [first] of store.readAll()) {
    if (first && first.stream !== 'log')
      throw new DomainError(
        'identity',
        'this store holds records, but no log yet: a log is being moved here (hint: urn copy has to finish first)',
      );
    return;
  }
}

function keyIfHere(keys: Keyring, publicKeys: readonly string[]): SigningKey | undefined {
  try {
    return presentKey(keys, publicKeys);
  } catch {
    // Whoever follows the key finds out why, and looks for it again.
    return undefined;
  }
}

/** Loads the current key. @throws DomainError `identity` when it is missing */
function presentKey(keys: Keyring, publicKeys: readonly string[]): SigningKey {
  const publicKey = publicKeys.at(-1) ?? '';
  const signingKey = keys.load(publicKey);
  if (signingKey.publicKey !== publicKey)
    throw new DomainError(
      'identity',
      "the signing key is not this log's (hint: after a rotation each instance needs the new key file; otherwise database and key file belong together: restore the pair from one backup)",
    );
  return signingKey;
}

/**
 * Rotates the signing key. The new key is saved beside the old one before the log names it, and replaces it afterwards.
 * Whenever it crashes, the key that the log names exists.
 *
 * @returns the new verifier key
 * @throws DomainError `identity` when somebody else rotated the key in the meantime
 */
export async function rotateSigningKey(
  writer: LogWriter,
  identity: LogIdentity,
  keys: Keyring,
  reason: string,
  actor: Actor,
): Promise<string> {
  const { logId, logName, signingKey } = identity;
  const next = keys.loadOrMakeNext(logName);
  const endorsement = endorse({ logId, logName, publicKey: next.publicKey }, signingKey);
  const { publicKey: from } = signingKey;
  const { outcome } = await writer.submit(
    { type: 'rotate', reason, from, to: next.publicKey, endorsement },
    actor,
  );
  if (outcome.type === 'overtaken')
    throw new DomainError(
      'identity',
      'the signing key was rotated by somebody else just now (hint: urn signing-key show)',
    );
  // Replaces the old key with this one only: another process may have begun the next rotation already.
  keys.load(next.publicKey);
  return next.publicKey;
}

/** How long until a missing key is looked for again, in ms. */
const KEY_RETRY_MS = 500;

interface FollowedKey {
  /** Why this process does not have the current key; undefined when it has. */
  missing(): DomainError | undefined;
  stop(): void;
}

/**
 * Follows rotations of the signing key by other processes.
 * @param runner must have folded `log`
 * @param onLost called once each time the key goes missing
 */
export function followSigningKey(
  runner: Runner,
  identity: LogIdentity,
  keyring: Keyring,
  onLost: (error: DomainError) => void = () => undefined,
): FollowedKey {
  let missing: DomainError | undefined;
  let retry: NodeJS.Timeout | undefined;
  const follow = () => {
    clearTimeout(retry);
    const { publicKeys } = runner.state(logHistory, LOG_STREAM);
    try {
      identity.rotateTo(presentKey(keyring, publicKeys), publicKeys);
      // This also covers two rotations in a row, where the first key was gone before this process heard of it.
      missing = undefined;
    } catch (error) {
      if (!missing) onLost(error as DomainError);
      missing = error as DomainError;
      // An instance with its own key file gets the new key by hand.
      retry = setTimeout(follow, KEY_RETRY_MS).unref();
    }
  };
  // The key may be missing, or have been rotated since the identity was read.
  const { publicKeys } = runner.state(logHistory, LOG_STREAM);
  if (!identity.hasSigningKey || publicKeys.length > identity.publicKeys.length) follow();
  const stopListening = runner.listen(LOG_STREAM, ({ type }) => {
    if (type === 'SigningKeyRotated') follow();
  });
  return {
    missing: () => missing,
    stop: () => {
      stopListening();
      clearTimeout(retry);
    },
  };
}

/** Where a log's signing key is kept. During a rotation, the next key is kept beside the current one. */
export interface Keyring {
  /**
   * The current key. An unfinished rotation leaves two keys. If the log already names the next one, this finishes the
   * rotation and drops the old key.
   * @throws DomainError `identity` when there is no key
   */
  load(publicKey: string): SigningKey;
  /** The key for a new log of that name. It is made if it does not exist. */
  loadOrMake(logName: string): SigningKey;
  /** The next key: the one left by an earlier attempt, or a new one. */
  loadOrMakeNext(logName: string): SigningKey;
}

/** Keeps the key in a file that only its owner, and perhaps its group, may use. The next key is in `<file>.next`. */
export function keyringInFile(file: string): Keyring {
  const nextFile = `${file}.next`;
  const read = (path: string) => {
    const key = loadSigningKey(path);
    refuseKeyOfOthers(path, SIGNING_KEY);
    return key;
  };
  const make = (path: string, name: string) => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    createOnce(path, (draft) => writeFileSync(draft, `${makeSigningKey(name).secret}\n`));
    return read(path);
  };
  const replace = () => {
    try {
      renameSync(nextFile, file);
    } catch (error) {
      // Another process that heard of the rotation was faster.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    flush(dirname(file));
  };
  return {
    load(publicKey) {
      if (existsSync(nextFile) && loadSigningKey(nextFile).publicKey === publicKey) replace();
      return read(file);
    },
    loadOrMake: (name) => make(file, name),
    loadOrMakeNext: (name) => make(nextFile, name),
  };
}

export const SIGNING_KEY: KeyKind = {
  name: 'signing key',
  harm: 'sign for the log',
  remedy: 'urn signing-key rotate',
};

/** For a log that lives only as long as its process. */
export function keyringInMemory(): Keyring {
  let key: SigningKey | undefined;
  let next: SigningKey | undefined;
  const loadOrMake = (name: string) => {
    key ??= makeSigningKey(name);
    return key;
  };
  return {
    load: (publicKey) => {
      if (next?.publicKey === publicKey) {
        key = next;
        next = undefined;
      }
      return loadOrMake('urn');
    },
    loadOrMake,
    loadOrMakeNext: (name) => {
      next ??= makeSigningKey(name);
      return next;
    },
  };
}
