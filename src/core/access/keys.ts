/**
 * The API keys of a log, all of them in its stream `access`: looks them up, issues and revokes them. The log holds the SHA-256
 * of a key, never the key itself.
 */
import { hash, randomBytes } from 'node:crypto';
import type { AccessFact, LevelLimit, Scope } from '../../../events/access.ts';
import type { Actor } from '../../../events/record.ts';
import { type Access, type ApiKey, access } from '../../../projections/access.ts';
import type { Runner } from '../../../projections/runner.ts';
import { isSameUser } from '../../base/text.ts';
import type { Tools } from '../../base/tools.ts';
import type { Decider, Decision } from '../write/decider.ts';
import { foldedStream, type LogParts, Writer } from '../write/writer.ts';

const ACCESS_STREAM = 'access';

export class Keys {
  readonly #runner: Runner;
  readonly #tools: Tools;
  readonly #writer: Writer<Access, AccessCommand, AccessFact, AccessOutcome>;

  constructor(parts: LogParts) {
    this.#runner = parts.runner;
    this.#tools = parts.tools;
    this.#writer = new Writer({
      ...parts,
      stream: ACCESS_STREAM,
      decider: accessDecider,
      folded: foldedStream(parts, access, ACCESS_STREAM),
    });
  }

  /** The key, if it is valid now; undefined if it is unknown, revoked or expired. */
  accept(apiKey: string): AcceptedKey | undefined {
    const known = this.lookUp(apiKey);
    return known?.validity === 'valid' ? known : undefined;
  }

  /** The key, if it was ever issued. Shows who made a refused request. */
  lookUp(apiKey: string): KnownKey | undefined {
    return this.lookUpId(this.#runner.state(access, ACCESS_STREAM).bySha256.get(keySha256(apiKey)) ?? '');
  }

  lookUpId(keyId: string): KnownKey | undefined {
    const key = this.#runner.state(access, ACCESS_STREAM).byId.get(keyId);
    if (!key) return undefined;
    return { key, accessRevision: this.#runner.revision(ACCESS_STREAM), validity: this.#validityOf(key) };
  }

  #validityOf({ revoked, expiresAt }: ApiKey): KnownKey['validity'] {
    if (revoked) return 'revoked';
    const hasExpired = expiresAt !== undefined && this.#tools.now().toISOString() >= expiresAt;
    return hasExpired ? 'expired' : 'valid';
  }

  list(): ApiKey[] {
    return [...this.#runner.state(access, ACCESS_STREAM).byId.values()];
  }

  valid(): ApiKey[] {
    return this.list().filter((key) => this.#validityOf(key) === 'valid');
  }

  /** Issues a key. The returned `apiKey` is the only copy: only its SHA-256 is stored. */
  async issue(grant: Grant, actor: Actor): Promise<{ keyId: string; apiKey: string } | { refused: string }> {
    for (;;) {
      const keyId = newKeyId();
      const apiKey = newApiKey();
      const { outcome } = await this.#writer.submit(
        { type: 'issue', keyId, sha256: keySha256(apiKey), grant },
        actor,
      );
      if (outcome.type === 'refused') return { refused: outcome.why };
      if (outcome.type === 'issued') return { keyId, apiKey };
    }
  }

  async revoke(keyId: string, reason: string | undefined, actor: Actor): Promise<AccessOutcome['type']> {
    const { outcome } = await this.#writer.submit({ type: 'revoke', keyId, reason }, actor);
    return outcome.type;
  }
}

export interface AcceptedKey {
  readonly key: ApiKey;
  /** Revision of `access` at which the key was accepted. */
  readonly accessRevision: number;
}

/** A key that was issued at some time, valid or not. */
export interface KnownKey extends AcceptedKey {
  readonly validity: 'valid' | 'revoked' | 'expired';
}

/** A name for a key in lists, events and messages. It reveals nothing about the key itself. */
export function newKeyId(): string {
  return `k${randomBytes(6).toString('hex')}`;
}

/** A new key: 256 random bits after a prefix that secret scanners and people recognize. */
export function newApiKey(): string {
  return `urn_${randomBytes(32).toString('base64url')}`;
}

/** Matches a key anywhere in a text. */
export const API_KEY = /urn_[A-Za-z0-9_-]{43}/;

/** Lower-case hex. A fast hash is enough: the key has 256 random bits and cannot be guessed. */
export function keySha256(apiKey: string): string {
  return hash('sha256', apiKey);
}

/** What a key is allowed to do. */
export interface Grant {
  readonly user: string;
  readonly scopes: readonly Scope[];
  readonly studies?: readonly string[] | undefined;
  readonly where?: readonly LevelLimit[] | undefined;
  /** The key is refused from this instant on. */
  readonly expiresAt?: string | undefined;
  readonly allowPrediction?: boolean | undefined;
}

export type AccessCommand =
  | { readonly type: 'issue'; readonly keyId: string; readonly sha256: string; readonly grant: Grant }
  | { readonly type: 'revoke'; readonly keyId: string; readonly reason?: string | undefined };

type AccessOutcome =
  | { readonly type: 'issued' | 'revoked' | 'already-revoked' | 'unknown-key' | 'key-id-taken' }
  | { readonly type: 'refused'; readonly why: string };

/** Decides which keys are issued and revoked. */
export const accessDecider = {
  decide: decideAccess,
  mayChange: ({ type }) => type === 'unknown-key',
  evolve: access.apply,
  fork: (state) => ({ byId: new Map(state.byId), bySha256: new Map(state.bySha256) }),
} satisfies Decider<Access, AccessCommand, AccessFact, AccessOutcome>;

function decideAccess(state: Access, command: AccessCommand): Decision<AccessFact, AccessOutcome> {
  const { keyId } = command;
  const known = state.byId.get(keyId);
  if (command.type === 'revoke') {
    if (!known) return { outcome: { type: 'unknown-key' } };
    if (known.revoked) return { outcome: { type: 'already-revoked' } };
    const { reason } = command;
    const data = { keyId, ...(reason === undefined ? {} : { reason }) };
    return { fact: { type: 'ApiKeyRevoked', data, sections: {} }, outcome: { type: 'revoked' } };
  }
  const { grant, sha256 } = command;
  const why = grantProblem(grant);
  if (why) return { outcome: { type: 'refused', why } };
  if (known || state.bySha256.has(sha256)) return { outcome: { type: 'key-id-taken' } };
  const { user, scopes, studies, where, expiresAt, allowPrediction } = grant;
  return {
    fact: {
      type: 'ApiKeyIssued',
      data: {
        keyId,
        user,
        scopes: [...scopes],
        ...(studies && { studies: [...studies] }),
        ...(where && { where: where.map(({ factor, levels }) => ({ factor, levels: [...levels] })) }),
        ...(expiresAt !== undefined && { expiresAt }),
        ...(allowPrediction && { allowPrediction }),
      },
      sections: { credential: { sha256 } },
    },
    outcome: { type: 'issued' },
  };
}

/** Two scopes, and what whoever has both can do. With `--allow-prediction`, one key may have them. */
type Pair = readonly [Scope, Scope, string];

const STEERING: readonly Pair[] = [
  ['randomize', 'audit', 'see generator states and randomize can choose the arm'],
  ['correct', 'audit', 'see generator states and move participants in the urns can steer the next arm'],
  ['force', 'audit', 'see generator states and enter allocations can choose who gets the next arm'],
  ['force', 'randomize', 'randomize and enter an allocation by hand can choose the arm'],
  ['manage', 'audit', 'see generator states and close a study can choose who does not get the next arm'],
  ['manage', 'randomize', 'randomize and amend the ratio in between can choose the arm'],
];

const UNBLINDING: readonly Pair[] = [
  ['blinded', 'audit', 'see generator states sees arms'],
  ['blinded', 'force', 'enter allocations knows arms'],
  ['blinded', 'supply', 'see which treatment packs hold sees arms'],
];

/** Why such a key is not issued; undefined if it may be. */
export function grantProblem({ allowPrediction, scopes, where }: Grant): string | undefined {
  const has = (scope: Scope) => scopes.includes(scope);
  if (has('audit') && has('blinded'))
    return 'a key with "audit" reveals arms by its nature, so it cannot be "blinded" (hint: use "read,audit", or "blinded" alone)';
  if (has('force') && has('blinded'))
    return 'a key with "force" enters arms, so it cannot be "blinded" (hint: issue another key for reading)';
  if (has('supply') && has('blinded'))
    return 'a key with "supply" sees which treatment packs hold, so it cannot be "blinded" (hint: issue another key for reading)';
  if (has('audit') && where)
    return 'a key with "audit" sees the whole study, so it cannot be limited with --where (hint: leave out one of the two)';
  if (has('manage') && where)
    return 'a key with "manage" opens and closes whole studies, so it cannot be limited with --where (hint: leave out one of the two; --study limits it to some studies)';
  const found = STEERING.find(([one, other]) => has(one) && has(other));
  if (!found || allowPrediction) return undefined;
  const [one, other, what] = found;
  return `whoever can ${what}, so "${one}" with "${other}" is refused (hint: issue two keys to two people, or insist with --allow-prediction, which is recorded)`;
}

/**
 * What to say of the scopes that a user has with a new key, and over all keys.
 * @param valid all keys that are valid now
 */
export function scopeWarnings({ user, scopes, studies }: Grant, valid: readonly ApiKey[]): string[] {
  const others = valid.filter(
    (key) =>
      isSameUser(key.user, user) && (!studies || (key.studies?.some((one) => studies.includes(one)) ?? true)),
  );
  const hasElsewhere = (scope: Scope) => others.some((key) => key.scopes.includes(scope));
  const isShared = (one: Scope, other: Scope) =>
    !(scopes.includes(one) && scopes.includes(other)) &&
    ((scopes.includes(one) && hasElsewhere(other)) || (scopes.includes(other) && hasElsewhere(one)));
  const ids = others.map(({ keyId }) => keyId).join(', ');
  const shared = [...STEERING, ...UNBLINDING]
    .filter(([one, other]) => isShared(one, other))
    .map(
      ([one, other, what]) =>
        `${user} has "${one}" and "${other}" over several valid keys (${ids}), and whoever can ${what} (hint: give each to another person, under their own name; urn keys revoke)`,
    );
  const redraws = scopes.includes('randomize') && scopes.includes('correct');
  return redraws || isShared('randomize', 'correct') ? [...shared, `${user} ${TWO_USERS}`] : shared;
}

const TWO_USERS =
  'may randomize and correct, but in a live study no key of theirs voids whom they randomized: an integration that corrects needs two users (hint: issue "correct" under another one)';
