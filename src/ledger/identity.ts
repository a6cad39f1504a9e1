/** Whose log this is: its id, name and key, as LogCreated says. The first process to open an empty store begins the log. */
import { LogCreated } from '../../events/log.ts';
import { type Actor, decodeRecord, encodeRecord } from '../../events/record.ts';
import { DomainError } from '../errors.ts';
import { type EventStore, NO_STREAM } from '../store/event-store.ts';
import type { WriterTools } from '../write/writer.ts';
import type { SigningKey } from './signing-key.ts';

/** Where the signing key of a log is. */
export interface KeySource {
  /** The existing key. @throws DomainError `identity` when there is none */
  load(): SigningKey;
  /** The key for a new log of that name, made unless it exists. */
  loadOrMake(logName: string): SigningKey;
}

export interface LogIdentity {
  readonly logId: string;
  readonly logName: string;
  readonly signingKey: SigningKey;
}

/**
 * Reads who the log is, and begins it when the store is empty.
 *
 * @param wantedName name for a new log; undefined: "urn", and whatever name an existing log has
 * @throws DomainError `identity` when log, name and key do not belong together; RecordError; StoreError
 */
export async function openIdentity(
  store: EventStore,
  keys: KeySource,
  wantedName: string | undefined,
  actor: Actor,
  tools: WriterTools,
): Promise<LogIdentity> {
  const existing = await readIdentity(store);
  const begun = existing ?? (await begin(store, keys, wantedName ?? 'urn', actor, tools));
  if (wantedName !== undefined && wantedName !== begun.logName)
    throw new DomainError(
      'identity',
      `this log is named "${begun.logName}", not "${wantedName}" (hint: leave out --log-name)`,
    );
  const signingKey = keys.load();
  if (signingKey.publicKey !== begun.publicKey)
    throw new DomainError(
      'identity',
      "the signing key is not this log's (hint: the database and the key file belong together; restore the pair from one backup)",
    );
  return { logId: begun.logId, logName: begun.logName, signingKey };
}

type Created = { readonly logId: string; readonly logName: string; readonly publicKey: string };

async function readIdentity(store: EventStore): Promise<Created | undefined> {
  for await (const page of store.readStream('log', 0)) {
    const first = page[0];
    if (!first) break;
    const event = decodeRecord(first);
    if (event.type !== 'LogCreated' || event.log !== event.data.logId)
      throw new DomainError('identity', 'the first record of the log is not its LogCreated');
    return event.data;
  }
  return undefined;
}

async function begin(
  store: EventStore,
  keys: KeySource,
  logName: string,
  actor: Actor,
  { newId, newSalt, now }: WriterTools,
): Promise<Created> {
  if (!LogCreated.data.shape.logName.safeParse(logName).success)
    throw new DomainError(
      'identity',
      `"${logName}" cannot name a log: a name has 1 to 64 characters, no white space, no control characters and no "+"`,
    );
  const key = keys.loadOrMake(logName);
  // A start that broke off, or another process just now, can have made the key under another name.
  if (key.name !== logName)
    throw new DomainError(
      'identity',
      `the signing key is there already, and is that of a log named "${key.name}" (hint: use --log-name ${key.name})`,
    );
  const logId = newId();
  const data = { logId, logName, publicKey: key.publicKey };
  const header = { id: newId(), log: logId, stream: 'log', revision: 0, at: now().toISOString(), actor };
  const record = encodeRecord(header, { type: 'LogCreated', data, sections: {} }, newSalt);
  const { type } = await store.append('log', NO_STREAM, [record]);
  if (type === 'written') return data;
  // Another process began the log at the same moment.
  const first = await readIdentity(store);
  if (!first) throw new DomainError('identity', 'the log was begun elsewhere but cannot be read');
  return first;
}
