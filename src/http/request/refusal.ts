/** Records refused requests of known users: the operation, study and reason, but never the content of the request. */
import type { Request } from 'express';
import type { RefusalReason } from '../../../events/operations.ts';
import type { Keys } from '../../access/keys.ts';
import type { KeyActor, Recorder } from '../../operations/recorder.ts';
import { keysIn } from './credentials.ts';
import type { Locals } from './locals.ts';
import { knownMethod } from './observe.ts';

export interface RefusalParts {
  readonly authentication: { readonly lookUp: Keys['lookUp'] };
  readonly recorder: Pick<Recorder, 'refused'>;
}

/** The reason to record for each status, when the key is valid. */
const REASON_OF_STATUS: Readonly<Record<number, RefusalReason>> = {
  403: 'not-permitted',
  404: 'not-found',
  409: 'paused',
  422: 'idempotency-key-reused',
  429: 'unavailable',
  500: 'failed',
  503: 'unavailable',
};

/**
 * Records that a request was refused, if it carries a key that was ever issued. This includes requests that are refused
 * before their key is checked: the key still shows who sent them.
 */
export function noteRefusal(
  { authentication, recorder }: RefusalParts,
  http: Request,
  { route, actor, studyName }: Locals,
  status: number,
  givenReason?: RefusalReason,
): void {
  const operation = `${knownMethod(http.method)} ${route}`;
  const study = studyName === undefined ? {} : { study: studyName };
  if (actor) {
    recorder.refused(actor, {
      operation,
      ...study,
      reason: givenReason ?? REASON_OF_STATUS[status] ?? 'malformed',
    });
    return;
  }
  const bearer = bearerOf(http, authentication);
  if (!bearer) return;
  const { standing } = bearer;
  const reason =
    standing === 'valid' ? (REASON_OF_STATUS[status] ?? 'malformed') : (`${standing}-key` as const);
  recorder.refused(bearer.actor, { operation, reason });
}

function bearerOf(
  http: Request,
  { lookUp }: RefusalParts['authentication'],
): { actor: KeyActor; standing: 'valid' | 'revoked' | 'expired' } | undefined {
  const known = keysIn(http).flatMap((apiKey) => lookUp(apiKey) ?? []);
  const [one, ...others] = known;
  // With two keys, it is unclear whose request it is.
  if (!one || others.length > 0) return undefined;
  const { keyId, user } = one.key;
  return { actor: { accessRevision: one.accessRevision, keyId, user }, standing: one.standing };
}
