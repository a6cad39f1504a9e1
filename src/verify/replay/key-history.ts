/**
 * The API keys as they stood at every revision of `access`, and whether one could do what an event says that it did.
 *
 * Streams share no order but this: an event names the revision of `access` at which the deciding process accepted the
 * key. Whether a process had heard of a revocation in time can only be told by clocks, so that is a warning.
 */
import type { Actor, Header, LogEvent } from '../../../events/record.ts';
import { type Access, type ApiKey, access } from '../../../projections/access.ts';
import type { Mismatch } from '../report.ts';
import type { Warnings } from '../warnings.ts';
import { mismatch } from './differences.ts';

/** How much later than its revocation a key may have been used, in ms, before it is remarked upon. */
const REVOKED_TOLERANCE_MS = 1000;
/** How much older than the record of `access` that it names an event may be, in ms: the clocks of instances differ. */
const OLDER_TOLERANCE_MS = 1000;
/** How long a request can wait between the acceptance of its key and its event, in ms: the write path's deadline. */
const REQUEST_MS = 15_000;

type KeyActor = Extract<Actor, { keyId: string }>;

interface Lifetime {
  readonly issuedRevision: number;
  revokedRevision?: number;
}

/** What a key was used for. */
export interface KeyUse {
  readonly study: string;
  /** Levels by factor. */
  readonly levels: readonly { readonly factor: string; readonly level: string }[];
}

export class KeyHistory {
  readonly state: Access = access.initial();
  readonly #lifetimes = new Map<string, Lifetime>();
  /** When each record of `access` was written, in ms, by revision; of one that is withheld, the last known one before it. */
  readonly #times: number[] = [];
  /** Revision of the first record of `access` that is not what it should be. */
  brokenAt: number | undefined;
  /** Records in `access`, sound or not. */
  records = 0;
  /** Those of which nothing is known: they can be of any key. */
  withheld = 0;

  take(event: LogEvent): void {
    access.apply(this.state, event);
    const { revision } = event;
    if (event.type === 'ApiKeyIssued') this.#lifetimes.set(event.data.keyId, { issuedRevision: revision });
    if (event.type === 'ApiKeyRevoked') {
      const lifetime = this.#lifetimes.get(event.data.keyId);
      if (lifetime) lifetime.revokedRevision ??= revision;
    }
  }

  noteTime(revision: number, at: string): void {
    const before = this.#times.at(-1) ?? Number.NEGATIVE_INFINITY;
    while (this.#times.length < revision) this.#times.push(before);
    this.#times.push(Date.parse(at));
  }

  /** @returns why the actor could not randomize this participant, or undefined */
  judge(event: Header, use: KeyUse, warnings: Warnings): Mismatch | undefined {
    const { actor } = event;
    if ('cli' in actor) return undefined;
    if (this.#isDoubtful(actor, event, warnings)) return undefined;
    const unknown = this.#judgeActor(actor, 'valid');
    if (unknown) return unknown;
    this.#remarkOnAge(event, actor, warnings);
    const key = this.state.byId.get(actor.keyId);
    return key && (limitMismatch(key, use) ?? this.#lateness(key, event, warnings));
  }

  /**
   * @param as whether any key that was ever issued will do, or only one that is valid and has the scope `audit`
   * @returns why the actor could not ask, or undefined
   */
  judgeKnown(event: Header, as: 'any' | 'audit', warnings: Warnings): Mismatch | undefined {
    const { actor } = event;
    if ('cli' in actor || this.#isDoubtful(actor, event, warnings)) return undefined;
    const unknown = this.#judgeActor(actor, as === 'any' ? 'issued' : 'valid');
    if (!unknown) this.#remarkOnAge(event, actor, warnings);
    if (unknown || as === 'any') return unknown;
    const scopes = this.state.byId.get(actor.keyId)?.scopes ?? [];
    if (scopes.includes('audit')) return undefined;
    return mismatch('actor.keyId', 'a key with the scope audit', scopes, 'the key may not see this');
  }

  /** Whether the stream `access` diverges before the revision that the actor names. */
  #isDoubtful({ accessRevision }: KeyActor, { revision }: Header, warnings: Warnings): boolean {
    if (this.brokenAt === undefined || accessRevision < this.brokenAt) return false;
    warnings.add(
      'keys-not-judged',
      `whether the acting keys could do it is not judged: the stream access diverges at revision ${this.brokenAt}`,
      revision,
    );
    return true;
  }

  /** @param standing at the revision of `access` that the actor names */
  #judgeActor({ keyId, user, accessRevision }: KeyActor, standing: 'issued' | 'valid'): Mismatch | undefined {
    if (accessRevision >= this.records)
      return mismatch(
        'actor.accessRevision',
        `at most ${this.records - 1}`,
        accessRevision,
        'it names a revision that the stream access does not have',
      );
    const key = this.state.byId.get(keyId);
    const lifetime = this.#lifetimes.get(keyId);
    if (!key || !lifetime)
      return mismatch(
        'actor.keyId',
        'a key of the stream access',
        keyId,
        this.withheld > 0
          ? 'no record that is not withheld issued such a key'
          : 'no such key was ever issued',
      );
    const { issuedRevision, revokedRevision } = lifetime;
    if (issuedRevision > accessRevision)
      return mismatch(
        'actor.accessRevision',
        `at least ${issuedRevision}`,
        accessRevision,
        'the key was issued later',
      );
    if (standing === 'valid' && revokedRevision !== undefined && revokedRevision <= accessRevision)
      return mismatch(
        'actor.accessRevision',
        `below ${revokedRevision}`,
        accessRevision,
        'the key was revoked by then',
      );
    if (key.user !== user)
      return mismatch('actor.user', key.user, user, 'the key was issued to somebody else');
    return undefined;
  }

  /** A record cannot be older than what it names, but by the clocks of those who wrote the two. */
  #remarkOnAge({ at, revision }: Header, { accessRevision }: KeyActor, warnings: Warnings): void {
    const written = this.#times[accessRevision] ?? this.#times.at(-1);
    if (written === undefined || Date.parse(at) >= written - OLDER_TOLERANCE_MS) return;
    warnings.add(
      'older-than-access',
      `it is of ${at}, and names a state of access that began at ${new Date(written).toISOString()}, by the clocks of those who wrote the two: was it dated back?`,
      revision,
    );
  }

  #lateness(key: ApiKey, { at, revision }: Header, warnings: Warnings): Mismatch | undefined {
    const { revoked, expiresAt } = key;
    if (revoked && at > revoked.at && msBetween(revoked.at, at) > REVOKED_TOLERANCE_MS)
      warnings.add(
        'revoked-key-used',
        `key ${key.keyId} was revoked at ${revoked.at} and used at ${at}, by the clocks of those who wrote it`,
        revision,
      );
    if (expiresAt === undefined || at < expiresAt) return undefined;
    if (msBetween(expiresAt, at) > REQUEST_MS)
      return mismatch('at', `before ${expiresAt}`, at, 'the key had expired');
    warnings.add(
      'expired-key-used',
      `key ${key.keyId} expired at ${expiresAt}, and an event of ${at} names it: its request can have waited so long`,
      revision,
    );
    return undefined;
  }
}

/** Limits of a key never change. */
function limitMismatch({ scopes, studies, where }: ApiKey, { study, levels }: KeyUse): Mismatch | undefined {
  if (!scopes.includes('randomize'))
    return mismatch('actor.keyId', 'a key with the scope randomize', scopes, 'the key may not randomize');
  if (studies && !studies.includes(study))
    return mismatch('actor.keyId', `a key for ${study}`, studies, 'the key is limited to other studies');
  for (const limit of where ?? []) {
    const level = levels.find(({ factor }) => factor === limit.factor)?.level;
    if (level === undefined || !limit.levels.includes(level))
      return mismatch(
        'actor.keyId',
        `a key for ${limit.factor} = ${level}`,
        limit.levels,
        'the key is limited to other levels',
      );
  }
  return undefined;
}

function msBetween(earlier: string, later: string): number {
  return Date.parse(later) - Date.parse(earlier);
}
