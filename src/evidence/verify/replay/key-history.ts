/**
 * The API keys at every revision of `access`. Judges whether a key was allowed to do what an event says it did.
 *
 * The only order between streams is this: an event names the revision of `access` at which the deciding process accepted
 * the key. Only clocks can show whether a process could have known of a revocation in time, so that is only a warning.
 */
import type { Scope } from '../../../../events/access.ts';
import type { Actor, Header, LogEvent } from '../../../../events/record.ts';
import { type Access, type ApiKey, access } from '../../../../projections/access.ts';
import type { Design } from '../../../core/model/design.ts';
import { brokenLimit, isPackWithin, type LimitedPack, type Stake } from '../../../core/model/key-limits.ts';
import type { Mismatch, Warnings } from '../report/report.ts';
import { mismatch } from './replay.ts';

/** How long after its revocation a key may be used, in ms, without a warning. */
const REVOKED_TOLERANCE_MS = 1000;
/** How much older an event may be than the record of `access` that it names, in ms, because clocks differ. */
const OLDER_TOLERANCE_MS = 1000;
/** How long a request may take from the acceptance of its key to its event, in ms: the deadline of the write path. */
const REQUEST_MS = 15_000;

type KeyActor = Extract<Actor, { keyId: string }>;

interface Lifetime {
  readonly issuedRevision: number;
  revokedRevision?: number;
}

/** What a key was used for. */
interface KeyUse {
  readonly study: string;
  /** The key must have one of them. */
  readonly scopes: readonly Scope[];
  readonly design: Pick<Design, 'factors'>;
  /** The levels with which the limits of the key are compared. */
  readonly stake: () => Stake;
  /** The packs that nobody has, as far as they are known. The key must be for the levels of each. */
  readonly packs?: readonly LimitedPack[];
}

export class KeyHistory {
  readonly state: Access = access.initial();
  readonly #lifetimes = new Map<string, Lifetime>();
  /** When each record of `access` was written, by revision. For a withheld one, the last known time before it, or ''. */
  readonly #times: string[] = [];
  /** Revision of the first diverging record of `access`. */
  brokenAt: number | undefined;
  /** Number of records in `access`, sound or not. */
  records = 0;
  /** Number of records of which nothing is known. They can be about any key. */
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
    const before = this.#times.at(-1) ?? '';
    while (this.#times.length < revision) this.#times.push(before);
    this.#times.push(at);
  }

  /** @returns why the actor was not allowed to write this event; undefined if allowed */
  judge(event: Header, use: KeyUse, warnings: Warnings): Mismatch | undefined {
    const { actor } = event;
    if ('cli' in actor) return undefined;
    if (this.#isDoubtful(actor, event, warnings)) return undefined;
    const unknown = this.#judgeActor(actor, 'valid');
    if (unknown) return unknown;
    this.#warnOfAge(event, actor, warnings);
    const key = this.state.byId.get(actor.keyId);
    return key && (limitMismatch(key, use) ?? this.#lateness(key, event, warnings));
  }

  /**
   * @param as `any`: every key ever issued is accepted; `valid`: every valid one; otherwise a valid one with any of these scopes
   * @returns why the actor was not allowed to ask; undefined if allowed
   */
  judgeKnown(
    event: Header,
    as: 'any' | 'valid' | readonly Scope[],
    warnings: Warnings,
  ): Mismatch | undefined {
    const { actor } = event;
    if ('cli' in actor || this.#isDoubtful(actor, event, warnings)) return undefined;
    const unknown = this.#judgeActor(actor, as === 'any' ? 'issued' : 'valid');
    if (!unknown) this.#warnOfAge(event, actor, warnings);
    if (unknown || as === 'any' || as === 'valid') return unknown;
    const scopes = this.state.byId.get(actor.keyId)?.scopes ?? [];
    if (as.some((scope) => scopes.includes(scope))) return undefined;
    return mismatch(
      'actor.keyId',
      `a key with the scope ${as.join(' or ')}`,
      scopes,
      'the key may not see this',
    );
  }

  /** Whether the stream `access` diverges at or before the revision that the actor names. */
  #isDoubtful({ accessRevision }: KeyActor, { revision }: Header, warnings: Warnings): boolean {
    if (this.brokenAt === undefined || accessRevision < this.brokenAt) return false;
    warnings.add(
      'keys-not-judged',
      `it is not checked whether the keys were allowed to do this: the stream access diverges at revision ${this.brokenAt}`,
      revision,
    );
    return true;
  }

  /** @param validity required at the revision of `access` that the actor names */
  #judgeActor({ keyId, user, accessRevision }: KeyActor, validity: 'issued' | 'valid'): Mismatch | undefined {
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
        this.withheld > 0 ? 'no record that is included issued such a key' : 'no such key was ever issued',
      );
    const { issuedRevision, revokedRevision } = lifetime;
    if (issuedRevision > accessRevision)
      return mismatch(
        'actor.accessRevision',
        `at least ${issuedRevision}`,
        accessRevision,
        'the key was issued later',
      );
    if (validity === 'valid' && revokedRevision !== undefined && revokedRevision <= accessRevision)
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

  /** A record can seem older than one that it names only because clocks differ. */
  #warnOfAge({ at, revision }: Header, { accessRevision }: KeyActor, warnings: Warnings): void {
    const written = this.#times[accessRevision] ?? this.#times.at(-1);
    // These texts sort like the times, so most events need no parsing.
    if (written === undefined || at >= written || msBetween(at, written) <= OLDER_TOLERANCE_MS) return;
    warnings.add(
      'older-than-access',
      `it is dated ${at}, but names a state of access that began at ${written}, by the clocks of those who wrote the two: was it dated back?`,
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
      `key ${key.keyId} expired at ${expiresAt}, and an event of ${at} names it: its request may have waited that long`,
      revision,
    );
    return undefined;
  }
}

/** The limits of a key never change. */
function limitMismatch(
  { scopes, studies, where }: ApiKey,
  { study, scopes: needed, design, stake, packs = [] }: KeyUse,
): Mismatch | undefined {
  if (!needed.some((scope) => scopes.includes(scope)))
    return mismatch(
      'actor.keyId',
      `a key with the scope ${needed.join(' or ')}`,
      scopes,
      `the key may not ${needed.join(' or ')}`,
    );
  if (studies && !studies.includes(study))
    return mismatch('actor.keyId', `a key for ${study}`, studies, 'the key is limited to other studies');
  if (!where) return undefined;
  const broken = brokenLimit(where, stake(), design);
  const outside = packs.find((pack) => !isPackWithin(where, pack, design))?.where ?? broken;
  const levels = where.find(({ factor }) => factor === outside?.factor)?.levels;
  return (
    outside &&
    mismatch(
      'actor.keyId',
      `a key for ${outside.factor} = ${outside.level}`,
      levels,
      'the key is limited to other levels',
    )
  );
}

function msBetween(earlier: string, later: string): number {
  return Date.parse(later) - Date.parse(earlier);
}
