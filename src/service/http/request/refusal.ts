/** Records refused requests of known users: the operation, study and reason, but never the content of the request. */
import type { Request } from 'express';
import type { RefusalReason } from '../../../../events/operations.ts';
import type { Keys, KnownKey } from '../../../core/access/keys.ts';
import type { Recorder } from '../../operations/recorder.ts';
import { keysIn } from './credentials.ts';
import type { Locals } from './locals.ts';
import { knownMethod } from './observe.ts';

export interface RefusalParts {
  readonly authentication: { readonly lookUp: Keys['lookUp'] };
  readonly sessionCookies: { holderOf(http: Request): Promise<KnownKey | undefined> };
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
 * Records that a request was refused, if it carries a key that was ever issued, or a session of one. This includes requests
 * that are refused before their key is checked: the key still shows who sent them.
 */
export function noteRefusal(
  { authentication, sessionCookies, recorder }: RefusalParts,
  http: Request,
  { route, actor, presented, studyName }: Locals,
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
  const refused = ({ key: { keyId, user }, accessRevision, standing }: KnownKey) => {
    const reason =
      standing === 'valid' ? (REASON_OF_STATUS[status] ?? 'malformed') : (`${standing}-key` as const);
    recorder.refused({ accessRevision, keyId, user }, { operation, reason });
  };
  const bearer = presented ?? bearerOf(http, authentication);
  if (bearer) refused(bearer);
  else if (http.headers.cookie !== undefined)
    void sessionCookies.holderOf(http).then((holder) => holder && refused(holder));
}

function bearerOf(http: Request, { lookUp }: RefusalParts['authentication']): KnownKey | undefined {
  const known = keysIn(http).flatMap((apiKey) => lookUp(apiKey) ?? []);
  // With two keys, it is unclear whose request it is.
  return known.length === 1 ? known[0] : undefined;
}
