/**
 * POST, GET and DELETE /session: a person signs in with an API key, sees who is signed in, and signs out. From the sign-in
 * on, the browser holds a cookie in place of the key.
 */
import type { Request, Response } from 'express';
import { z } from 'zod';
import { LevelLimit, Scope } from '../../../../events/access.ts';
import { lookAlikeProblem } from '../../../base/text.ts';
import { endOf, idleEndOf, type Sessions } from '../../session/sessions.ts';
import { apiKeyOf, CHALLENGE, refuseForeign, type SignedIn, type Site } from '../request/credentials.ts';
import { conforming, expectJson, readJson } from '../request/json-body.ts';
import type { Locals } from '../request/observation.ts';
import { BODY_ERRORS, ERRORS, jsonSchema, ref, sessionOperation } from '../request/openapi-operation.ts';
import {
  onBehalfOf,
  parseQuery,
  personNamed,
  type Query,
  refuseProblems,
  unknownParameters,
} from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { resultJson, SUCCESS, send } from '../request/reply.ts';
import { actorFor, actorOf, recognize, requireReady, type Services } from '../request/study-request.ts';

export interface SessionServices extends Services {
  readonly sessions: Sessions;
}

/** Anybody may send one, so it costs little to read. */
const SIGN_IN_KIB = 1;
const KEY = 'key';
const SignIn = z.strictObject({
  [KEY]: z.string().meta({ description: 'The API key', writeOnly: true }),
  on_behalf_of: z.string().optional().meta({
    description:
      'The person who signs in with a shared key, in 1 to 128 characters (NFC, no invisible ones). Recorded with everything that the session does: another person signs in again',
  }),
});

const Instant = z.iso.datetime();

export const SessionResult = z.strictObject({
  user: z.string().meta({ description: 'Whose key it is' }),
  key_id: z.string(),
  on_behalf_of: z.string().optional().meta({
    description:
      'The person who signed in. Absent if nobody was named; then the header X-On-Behalf-Of counts',
  }),
  scopes: z.array(Scope),
  studies: z.array(z.string()).nullable().meta({ description: 'null: all' }),
  limits: z
    .array(LevelLimit)
    .meta({ description: 'Only participants with these levels; all entries must hold' }),
  began_at: Instant,
  ends_at: Instant.meta({ description: '12 hours after the sign-in, or when the key expires' }),
  idle_ends_at: Instant.meta({ description: '30 minutes after a person last did something' }),
  log: z.string().meta({ description: 'Name of the log' }),
});

export const SessionEndResult = z.strictObject({
  recorded: z
    .boolean()
    .meta({ description: 'false: the session has ended in this browser and in one process' }),
});

const EXAMPLE = {
  user: 'site-11',
  key_id: 'k5f1c09ab34d2',
  on_behalf_of: 'M. Okafor',
  scopes: ['read', 'randomize'],
  studies: ['CHS JCOIN'],
  limits: [{ factor: 'site', levels: ['11'] }],
  began_at: '2026-11-04T08:00:00.000Z',
  ends_at: '2026-11-04T20:00:00.000Z',
  idle_ends_at: '2026-11-04T08:30:00.000Z',
  log: 'urn',
};

const FOREIGN =
  'A page of another site sent the request, or it does not show which page did; or sessions cannot be used at this address';
const NO_SESSION = 'There is no session, or it has ended';
const CLEARS = { 'Set-Cookie': { description: 'Removes the cookie', schema: { type: 'string' } } };

export const postSessionOperation = sessionOperation('Sign in with an API key', 'signIn', {
  description:
    'Begins a session. The answer sets a cookie, which later requests of the same site send in place of the key. It lasts for 12 hours at most, and ends 30 minutes after the last request without the header `Urn-Automatic: true`. Needs the header `Origin` or `Sec-Fetch-Site`, and HTTPS or a browser on the same machine. Recorded in `operations`, unless the log takes no records.',
  body: jsonSchema(SignIn),
  result: ref('Session'),
  example: EXAMPLE,
  headers: { 'Set-Cookie': { description: 'The cookie of the session', schema: { type: 'string' } } },
  errors: {
    400: 'The body is not JSON or not as described, two people are named, or there is an API key in another place',
    401: 'The API key is not valid',
    403: FOREIGN,
    413: `The body is longer than ${SIGN_IN_KIB} KiB`,
    415: BODY_ERRORS[415],
    429: 'Too many failed attempts from this address, or sign-ins with this key. Try again after Retry-After',
    503: ERRORS[503],
  },
});

export const getSessionOperation = sessionOperation('Who is signed in', 'session', {
  description: 'Describes the session whose cookie is sent. Does not renew it.',
  result: ref('Session'),
  example: EXAMPLE,
  errors: {
    400: 'The request has an API key, a parameter, or two cookies',
    401: NO_SESSION,
    403: FOREIGN,
    503: ERRORS[503],
  },
});

export const deleteSessionOperation = sessionOperation('Sign out', 'signOut', {
  description:
    'Ends the session whose cookie is sent. Recorded in `operations`; if the log takes no records, the session has ended only in this browser, and the message says so. Needs the header `Origin` or `Sec-Fetch-Site`.',
  result: ref('SessionEnd'),
  example: { recorded: true },
  headers: {
    ...CLEARS,
    'Clear-Site-Data': {
      description: 'Empties the cache and the storage of the site',
      schema: { type: 'string' },
    },
  },
  errors: {
    400: 'The request has an API key, a parameter, or two cookies, or its header X-On-Behalf-Of names somebody else',
    401: NO_SESSION,
    403: FOREIGN,
    503: ERRORS[503],
  },
});

export function postSession(services: SessionServices) {
  const { authentication, sessions, sessionCookies } = services;
  return async (http: Request, response: Response): Promise<void> => {
    const locals = response.locals as Locals;
    const query = parseQuery(http.url);
    refuseKey(http, query);
    expectJson(http, query, SIGN_IN_KIB);
    const inHeader = onBehalfOf(http);
    const site = siteOf(services, http);
    refuseForeign(http, site);
    requireReady(services.notReady);
    let inBody: string | undefined;
    const accepted = await authentication.acceptFrom(http, async () => {
      const json = await readJson(http, { kib: SIGN_IN_KIB, keyMember: KEY });
      const body = conforming(json, SignIn);
      inBody = body.on_behalf_of;
      locals.presented = authentication.lookUp(body.key);
      return body.key;
    });
    recognize(locals, accepted);
    const person = personSigningIn(inBody, inHeader);
    const session = await sessions.begin(actorFor(accepted, person));
    await endEarlier(services, http);
    await sessionCookies.set(response, site, session);
    answer(services, response, { session, accepted });
  };
}

/**
 * New names are judged here as they are at an allocation, which this session could not make otherwise.
 * @throws HttpProblem 400
 */
function personSigningIn(inBody: string | undefined, inHeader: string | undefined): string | undefined {
  const person = inBody === undefined ? inHeader : personNamed(inBody, 'on_behalf_of');
  if (person === undefined) return undefined;
  if (inHeader !== undefined && inHeader !== person)
    throw new HttpProblem(
      400,
      'on_behalf_of and the header X-On-Behalf-Of name two people; send one of them',
    );
  const problem = lookAlikeProblem(person);
  if (problem !== undefined)
    throw new HttpProblem(
      400,
      `${inBody === undefined ? 'The header X-On-Behalf-Of' : 'on_behalf_of'} ${problem}`,
    );
  return person;
}

/**
 * Ends the session that this browser had until now. A late answer could otherwise bring back its cookie, and the page of
 * one person would act as another.
 */
async function endEarlier({ sessions, sessionCookies }: SessionServices, http: Request): Promise<void> {
  const earlier = await sessionCookies.presentedIn(http);
  if (!earlier) return;
  const { key, accessRevision } = earlier.holder;
  // For this process it has already ended; nobody who signs in waits for the record.
  void sessions.end(earlier.session, { accessRevision, keyId: key.keyId, user: key.user });
}

export function getSession(services: SessionServices) {
  return async (http: Request, response: Response): Promise<void> => {
    const signedIn = await requireSession(services, http, response);
    answer(services, response, signedIn);
  };
}

export function deleteSession(services: SessionServices) {
  const { sessions, sessionCookies } = services;
  return async (http: Request, response: Response): Promise<void> => {
    onBehalfOf(http);
    const { session, accepted } = await requireSession(services, http, response);
    const recorded = await sessions.end(session, actorOf({ http, accepted, session }));
    send(response, {
      status: 200,
      message: recorded ? SUCCESS : UNRECORDED,
      results: resultJson(SessionEndResult, { recorded }),
      headers: {
        'Clear-Site-Data': '"cache", "storage"',
        ...sessionCookies.cleared(siteOf(services, http)),
      },
    });
  };
}

const UNRECORDED =
  'You are signed out in this browser only: the log takes no records now. If somebody may have a copy of the cookie, let the key be revoked';

/** @throws HttpProblem 400, 401, 403 */
async function requireSession(
  services: SessionServices,
  http: Request,
  response: Response,
): Promise<SignedIn> {
  const query = parseQuery(http.url);
  refuseKey(http, query);
  refuseProblems(unknownParameters(query, new Set(), 'session'));
  const value = services.sessionCookies.valueIn(http);
  requireReady(services.notReady);
  // The pages ask this before anybody has signed in, so it is no failed attempt.
  if (value === undefined) throw new HttpProblem(401, 'There is no session; sign in', CHALLENGE);
  const signedIn = await services.sessionCookies.accept(http, response, value);
  recognize(response.locals as Locals, signedIn.accepted);
  return signedIn;
}

/** @throws HttpProblem 400 */
function refuseKey(http: Request, query: Query): void {
  if (apiKeyOf(http, query) !== undefined)
    throw new HttpProblem(
      400,
      'A session uses a cookie: send no API key with it (signing in takes the key in the JSON body, as "key")',
    );
}

/** @throws HttpProblem 403 */
function siteOf({ sessionCookies }: SessionServices, http: Request): Site {
  const site = sessionCookies.siteOf(http);
  if (site) return site;
  throw new HttpProblem(
    403,
    'Signing in needs HTTPS, or a browser on the same machine as the service (hint for the operator: --tls-cert and --tls-key; behind a proxy with TLS, --trust-proxy or --public-url)',
  );
}

function answer({ logName }: SessionServices, response: Response, { session, accepted }: SignedIn): void {
  const { key } = accepted;
  const ends = endOf(session);
  const expires = key.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(key.expiresAt);
  const end = Math.min(ends, expires);
  const results = resultJson(SessionResult, {
    user: key.user,
    key_id: key.keyId,
    ...(session.onBehalfOf !== undefined && { on_behalf_of: session.onBehalfOf }),
    scopes: [...key.scopes],
    studies: key.studies ? [...key.studies] : null,
    limits: (key.where ?? []).map(({ factor, levels }) => ({ factor, levels: [...levels] })),
    began_at: instant(session.beganAt),
    ends_at: instant(end),
    idle_ends_at: instant(Math.min(idleEndOf(session), end)),
    log: logName,
  });
  send(response, { status: 200, message: SUCCESS, results });
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
