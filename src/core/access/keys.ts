/** The API keys of the running service: looks them up, issues and revokes them. */
import type { AccessFact } from '../../../events/access.ts';
import type { Actor } from '../../../events/record.ts';
import { type Access, type ApiKey, access } from '../../../projections/access.ts';
import type { Runner } from '../../../projections/runner.ts';
import type { Tools } from '../../base/tools.ts';
import { foldedStream, type LogParts } from '../write/folded-stream.ts';
import { Writer } from '../write/writer.ts';
import { keySha256, newApiKey, newKeyId } from './credentials.ts';
import { type AccessCommand, type AccessOutcome, accessDecider, type Grant } from './decide.ts';

const STREAM = 'access';

export interface AcceptedKey {
  readonly key: ApiKey;
  /** Revision of `access` at which the key was accepted. */
  readonly accessRevision: number;
}

/** A key that was issued at some time, valid or not. */
export interface KnownKey extends AcceptedKey {
  readonly standing: 'valid' | 'revoked' | 'expired';
}

export class Keys {
  readonly #runner: Runner;
  readonly #tools: Tools;
  readonly #writer: Writer<Access, AccessCommand, AccessFact, AccessOutcome>;

  constructor(parts: LogParts) {
    this.#runner = parts.runner;
    this.#tools = parts.tools;
    this.#writer = new Writer({
      ...parts,
      stream: STREAM,
      decider: accessDecider,
      folded: foldedStream(parts, access, STREAM),
    });
  }

  /** The key, if it is valid now; undefined if it is unknown, revoked or expired. */
  accept(apiKey: string): AcceptedKey | undefined {
    const known = this.lookUp(apiKey);
    return known?.standing === 'valid' ? known : undefined;
  }

  /** The key, if it was ever issued. Shows who made a refused request. */
  lookUp(apiKey: string): KnownKey | undefined {
    return this.lookUpId(this.#runner.state(access, STREAM).bySha256.get(keySha256(apiKey)) ?? '');
  }

  lookUpId(keyId: string): KnownKey | undefined {
    const key = this.#runner.state(access, STREAM).byId.get(keyId);
    if (!key) return undefined;
    return { key, accessRevision: this.#runner.revision(STREAM), standing: this.#standing(key) };
  }

  #standing({ revoked, expiresAt }: ApiKey): KnownKey['standing'] {
    if (revoked) return 'revoked';
    const hasExpired = expiresAt !== undefined && this.#tools.now().toISOString() >= expiresAt;
    return hasExpired ? 'expired' : 'valid';
  }

  list(): ApiKey[] {
    return [...this.#runner.state(access, STREAM).byId.values()];
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
