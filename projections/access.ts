/** The API keys: who may do what, and until when. */
import type { LevelLimit, Scope } from '../events/access.ts';
import type { Projection } from './runner.ts';

export interface ApiKey {
  readonly keyId: string;
  readonly user: string;
  readonly scopes: readonly Scope[];
  readonly studies?: readonly string[] | undefined;
  readonly where?: readonly LevelLimit[] | undefined;
  /** Refused from this instant on. */
  readonly expiresAt?: string | undefined;
  readonly allowPrediction?: true | undefined;
  readonly issuedAt: string;
  readonly revoked?: { readonly at: string; readonly reason?: string | undefined };
}

export interface Access {
  readonly byId: Map<string, ApiKey>;
  /** Key ids by the SHA-256 of the key, in lower-case hex. */
  readonly bySha256: Map<string, string>;
}

export const access: Projection<Access> = {
  name: 'access',
  stream: 'access',
  initial: () => ({ byId: new Map(), bySha256: new Map() }),
  apply(state, event) {
    if (event.type === 'ApiKeyIssued') {
      state.byId.set(event.data.keyId, { ...event.data, issuedAt: event.at });
      state.bySha256.set(event.sections.credential.sha256, event.data.keyId);
    } else if (event.type === 'ApiKeyRevoked') {
      const key = state.byId.get(event.data.keyId);
      const { reason } = event.data;
      if (key) state.byId.set(key.keyId, { ...key, revoked: { at: event.at, reason } });
    }
    return state;
  },
};
