/**
 * What is noted of each request while it is answered, and who is told: the service log, the metrics, the recorder if it is
 * refused, and the client if its study is a test. The URL is never logged, because it may contain the key and data of a
 * participant. Of refused requests of known users, the operation, study and reason are recorded, but never the content.
 */
import type { NextFunction, Request, Response } from 'express';
import { type RefusalWord, recordedReason } from '../../../base/refusals.ts';
import type { Keys, KnownKey } from '../../../core/access/keys.ts';
import type { Logger } from '../../monitoring/logger.ts';
import type { Metrics } from '../../monitoring/metrics.ts';
import type { KeyActor, Recorder } from '../../operations/recorder.ts';
import { keysIn } from './credentials.ts';

/** What a route passes to the log, the metrics and the error handler. */
export interface Locals {
  route: string;
  /** Whether the route handles such a request at all. It does not if the method is wrong, for example. */
  isServed: boolean;
  emptyResults: '{}' | '[]';
  keyId?: string;
  user?: string;
  study?: string;
  revision?: number;
  /** The user with the key, once the key is accepted. */
  actor?: KeyActor;
  /** The key of a sign-in, if it was ever issued. */
  presented?: KnownKey | undefined;
  /** The name of the study, once it is clear that the key may know of it. */
  studyName?: string;
  /** When a stream of changes began, by the monotonic clock. */
  answeredAt?: number;
  /** Whether the study is a test. */
  isTest?: boolean;
}

const PROBES = new Set(['/healthz', '/readyz', '/metrics']);

/** Logs and measures each request. */
export function observe(logger: Logger, metrics: Metrics) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const started = performance.now();
    const locals = response.locals as Locals;
    locals.route = 'unknown';
    locals.emptyResults = '[]';
    locals.isServed = false;
    response.once('close', () => {
      const ms = (locals.answeredAt ?? performance.now()) - started;
      const method = knownMethod(request.method);
      const { route, keyId, user, study, revision } = locals;
      const status = response.statusCode;
      metrics.observeRequest(method, locals.isServed ? route : undefined, status, ms / 1000);
      const aborted = response.writableFinished ? undefined : true;
      // Probes ask every second or two, for years.
      logger[PROBES.has(route) && status < 400 ? 'debug' : 'info'](
        { method, route, status, ms: Math.round(ms * 100) / 100, keyId, user, study, revision, aborted },
        'request',
      );
    });
    next();
  };
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);

/** A client may send any text as the method, so only known methods are recorded. */
function knownMethod(method: string): string {
  return KNOWN_METHODS.has(method) ? method : 'other';
}

interface RefusalParts {
  readonly authentication: { readonly lookUp: Keys['lookUp'] };
  readonly sessionCookies: { holderOf(http: Request): Promise<KnownKey | undefined> };
  readonly recorder: Pick<Recorder, 'refused'>;
}

/**
 * Records that a request was refused, if it carries a key that was ever issued, or a session of one. This includes requests
 * that are refused before their key is checked: the key still shows who sent them.
 */
export function noteRefusal(
  { authentication, sessionCookies, recorder }: RefusalParts,
  http: Request,
  { route, actor, presented, studyName }: Locals,
  word: RefusalWord,
): void {
  const operation = `${knownMethod(http.method)} ${route}`;
  const study = studyName === undefined ? {} : { study: studyName };
  if (actor) {
    recorder.refused(actor, { operation, ...study, reason: recordedReason(word) });
    return;
  }
  const refused = ({ key: { keyId, user }, accessRevision, validity }: KnownKey) => {
    const reason = validity === 'valid' ? recordedReason(word) : (`${validity}-key` as const);
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

const TEST_MODE = { 'Urn-Mode': 'test' } as const;

/** Marks every answer about a test study, so that nobody takes it for a live one. */
export function modeHeader({ isTest }: Locals): Readonly<Record<string, string>> | undefined {
  return isTest ? TEST_MODE : undefined;
}
