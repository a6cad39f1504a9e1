/** The log's id, name and keys, from its stream `log`. The first process to open an empty store begins the log. */
import { LogCreated } from '../../../events/log.ts';
import { type Actor, decodeRecord, encodeRecord } from '../../../events/record.ts';
import { type LogHistory, logHistory } from '../../../projections/log.ts';
import { DomainError } from '../../base/errors.ts';
import type { Tools } from '../../base/tools.ts';
import { type EventStore, NO_STREAM } from '../../store/event-store.ts';
import type { Keyring } from './keyring.ts';
import type { SigningKey } from './signing-key.ts';

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
  const begun = existing ?? (await begin(store, keys, wantedName ?? 'urn', actor, tools, beginning));
  if (wantedName !== undefined && wantedName !== begun.logName)
    throw new DomainError(
      'identity',
      `this log is named "${begun.logName}", not "${wantedName}" (hint: leave out --log-name)`,
    );
  const { logId, logName, publicKeys } = begun;
  const signingKey = beginning.mayLackKey ? keyIfHere(keys, publicKeys) : presentKey(keys, publicKeys);
  return new LogIdentity({ logId, logName, publicKeys, signingKey });
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
export function presentKey(keys: Keyring, publicKeys: readonly string[]): SigningKey {
  const publicKey = publicKeys.at(-1) ?? '';
  const signingKey = keys.load(publicKey);
  if (signingKey.publicKey !== publicKey)
    throw new DomainError(
      'identity',
      "the signing key is not this log's (hint: after a rotation each instance needs the new key file; otherwise database and key file belong together: restore the pair from one backup)",
    );
  return signingKey;
}

type BegunLog = Pick<LogHistory, 'publicKeys'> & { readonly logId: string; readonly logName: string };

async function readIdentity(store: EventStore): Promise<BegunLog | undefined> {
  let history = logHistory.initial();
  let created: { readonly logId: string; readonly logName: string } | undefined;
  for await (const page of store.readStream('log', 0))
    for (const stored of page) {
      const event = decodeRecord(stored);
      if (!created) {
        if (event.type !== 'LogCreated' || event.log !== event.data.logId)
          throw new DomainError('identity', 'the first record of the log is not its LogCreated');
        created = event.data;
      }
      history = logHistory.apply(history, event);
    }
  return created && { logId: created.logId, logName: created.logName, publicKeys: history.publicKeys };
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

async function begin(
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
  const data = { logId, logName, publicKey: key.publicKey };
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
