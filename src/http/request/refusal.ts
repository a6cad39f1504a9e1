/** Refused requests of known users, as they are recorded: by operation, study and reason, never by what was sent. */
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

/** Of a key that is not valid, its standing says why. */
const OF_STATUS: Readonly<Record<number, RefusalReason>> = {
  403: 'not-permitted',
  404: 'not-found',
  409: 'paused',
  422: 'idempotency-key-reused',
  429: 'unavailable',
  500: 'failed',
  503: 'unavailable',
};

/**
 * Records that a request was refused, if it bears a key that was ever issued. Many are refused before their key is
 * looked at; it says who asked all the same.
 */
export function noteRefusal(
  { authentication, recorder }: RefusalParts,
  http: Request,
  { route, actor, studyName }: Locals,
  status: number,
  because?: RefusalReason,
): void {
  const operation = `${knownMethod(http.method)} ${route}`;
  const study = studyName === undefined ? {} : { study: studyName };
  if (actor) {
    recorder.refused(actor, { operation, ...study, reason: because ?? OF_STATUS[status] ?? 'malformed' });
    return;
  }
  const bearer = bearerOf(http, authentication);
  if (!bearer) return;
  const { standing } = bearer;
  const reason = standing === 'valid' ? (OF_STATUS[status] ?? 'malformed') : (`${standing}-key` as const);
  recorder.refused(bearer.actor, { operation, reason });
}

function bearerOf(
  http: Request,
  { lookUp }: RefusalParts['authentication'],
): { actor: KeyActor; standing: 'valid' | 'revoked' | 'expired' } | undefined {
  const known = keysIn(http).flatMap((apiKey) => lookUp(apiKey) ?? []);
  const [one, ...others] = known;
  // Of two keys, nobody knows whose the request is.
  if (!one || others.length > 0) return undefined;
  const { keyId, user } = one.key;
  return { actor: { accessRevision: one.accessRevision, keyId, user }, standing: one.standing };
}
