/**
 * Who asks. Programs send an API key: `api_key` in the query, `Authorization: Bearer`, or `X-API-Key`. The two headers are
 * safer. People in a browser sign in, and their pages send the cookie of a session, which counts only if no page of another site
 * can have sent it.
 */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { Request, Response } from 'express';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { type AcceptedKey, API_KEY, type Keys, type KnownKey } from '../../../core/access/keys.ts';
import { renewed, type Session, type Sessions } from '../../session/sessions.ts';
import { headerValues, ownHeader, type Query } from './parameters.ts';
import { HttpProblem } from './problem.ts';

const BEARER = /^Bearer +(\S+) *$/i;
export const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="urn"' };

/**
 * @returns the key, or undefined when none is given
 * @throws HttpProblem 400 when two different keys are given
 */
export function apiKeyOf(request: IncomingMessage, query: Query): string | undefined {
  const given = new Set<string>();
  const add = (key: string | undefined) => key && given.add(key);
  add(query.get('api_key'));
  for (const value of headerValues(request, 'authorization')) add(BEARER.exec(value)?.[1]);
  for (const key of headerValues(request, 'x-api-key')) add(key);
  if (given.size > 1) throw new HttpProblem(400, 'Two different API keys are given; send one');
  return given.values().next().value;
}

/** How many keys of one request are looked up. */
const MAX_KEYS = 4;

/** Every key that a request presents, even if the request is otherwise malformed. This does not accept any of them. */
export function keysIn(request: IncomingMessage): string[] {
  const { searchParams } = new URL(request.url?.replace(/^[^?]*/, 'http://urn/') ?? '', 'http://urn/');
  const given = [
    ...searchParams.getAll('api_key'),
    ...headerValues(request, 'authorization').flatMap((value) => BEARER.exec(value)?.[1] ?? []),
    ...headerValues(request, 'x-api-key'),
  ];
  return [...new Set(given)].filter((key) => API_KEY.test(key)).slice(0, MAX_KEYS);
}

/** Failed attempts that one address may make in a window, and the length of the window in seconds. */
const FAILED_ATTEMPTS = 30;
const WINDOW_SECONDS = 60;

/** The part of an Express request that says where it came from. */
interface Sender {
  readonly ip?: string | undefined;
}

export class Authentication {
  readonly #keys: Keys;
  readonly #failures = new RateLimiterMemory({ points: FAILED_ATTEMPTS, duration: WINDOW_SECONDS });

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  /** The key if it was ever issued, even if it is no longer valid. Grants no access. */
  readonly lookUp = (apiKey: string): KnownKey | undefined => this.#keys.lookUp(apiKey);

  /** Whether a key that was accepted before is still valid. */
  isValid(keyId: string): boolean {
    return this.#keys.lookUpId(keyId)?.validity === 'valid';
  }

  /**
   * A valid key is always accepted, however many attempts from its address have failed: a whole hospital may share one
   * address.
   * @throws HttpProblem 401 without a valid key, 429 after too many failures from the address
   */
  accept(apiKey: string | undefined, from: Sender): AcceptedKey | Promise<never> {
    const accepted = apiKey === undefined ? undefined : this.#keys.accept(apiKey);
    return accepted ?? this.#refuse(apiKey, from);
  }

  /**
   * Like `accept`, for a key that has to be read first, which costs more than looking it up. The attempt counts as failed
   * until the key turns out to be valid.
   * @param read the key; it throws HttpProblem if there is none
   */
  async acceptFrom(from: Sender, read: () => Promise<string>): Promise<AcceptedKey> {
    const tooManyFailures = await this.#countFailure(from);
    try {
      const accepted = this.#keys.accept(await read());
      if (!accepted) throw keyNotValid();
      await this.#failures.reward(from.ip ?? '');
      return accepted;
    } catch (error) {
      throw error instanceof HttpProblem ? (tooManyFailures ?? error) : error;
    }
  }

  async #refuse(apiKey: string | undefined, from: Sender): Promise<never> {
    throw (await this.#countFailure(from)) ?? (apiKey === undefined ? keyMissing() : keyNotValid());
  }

  /** The answer if the address has failed too often; undefined if it has not. */
  async #countFailure(from: Sender): Promise<HttpProblem | undefined> {
    try {
      await this.#failures.consume(from.ip ?? '');
      return undefined;
    } catch (limit) {
      const seconds = Math.ceil((limit as RateLimiterRes).msBeforeNext / 1000);
      return new HttpProblem(429, `Too many failed attempts from this address; wait ${seconds} s`, {
        'Retry-After': String(seconds),
      });
    }
  }
}

function keyMissing(): HttpProblem {
  return new HttpProblem(
    401,
    'API key is missing (send it as the parameter api_key, as Authorization: Bearer, or as X-API-Key)',
    CHALLENGE,
  );
}

function keyNotValid(): HttpProblem {
  return new HttpProblem(401, 'API key is not valid: it is unknown, revoked or expired', CHALLENGE);
}

interface SessionCookieParts {
  readonly sessions: Sessions;
  readonly keys: Pick<Keys, 'lookUpId'>;
  readonly logId: string;
  readonly publicUrl: string | undefined;
}

/** A session whose key is valid. */
export interface SignedIn {
  readonly session: Session;
  readonly accepted: AcceptedKey;
}

/** The pages ask for these by themselves: that is not an act of a person. */
const AUTOMATIC_ROUTES = new Set(['/session', '/changes']);

const SESSION_ENDED = 'The session has ended; sign in again';
const KEY_OVER = 'The API key of this session is revoked or has expired; sign in with another';

/** The cookie of a session: the credential of people in a browser, as an API key is that of programs. */
export class SessionCookies {
  readonly #parts: SessionCookieParts;
  /** Each log has its own name, because a browser sends a cookie to every port of a host. */
  readonly #name: string;

  constructor(parts: SessionCookieParts) {
    this.#parts = parts;
    this.#name = `urn-${parts.logId.replaceAll('-', '').slice(-8)}`;
  }

  /** The site that this request was sent to; undefined if no session may be used there. */
  siteOf(http: Request): Site | undefined {
    return siteOf(http, this.#parts.publicUrl);
  }

  /**
   * The value of the cookie, if there is one that counts.
   * @throws HttpProblem 400 when there are two
   */
  valueIn(http: Request): string | undefined {
    const { cookie } = http.headers;
    if (cookie === undefined) return undefined;
    const site = this.siteOf(http);
    if (!site) return undefined;
    const start = `${this.#nameAt(site)}=`;
    const values = cookie.split(';').flatMap((text) => {
      const pair = text.trim();
      return pair.startsWith(start) ? [pair.slice(start.length)] : [];
    });
    if (values.length > 1) throw new HttpProblem(400, 'The cookie of the session is given twice');
    return values[0];
  }

  /**
   * Renews the session if the request is an act of a person.
   * @throws HttpProblem 401, 403
   */
  async accept(http: Request, response: Response, value: string): Promise<SignedIn> {
    const site = this.siteOf(http);
    if (!site) throw this.#over(http, SESSION_ENDED);
    refuseForeign(http, site);
    const { sessions, keys } = this.#parts;
    const session = await sessions.open(value);
    if (!session) throw this.#over(http, SESSION_ENDED);
    const known = keys.lookUpId(session.keyId);
    if (known?.validity !== 'valid') throw this.#over(http, KEY_OVER);
    const isAutomatic =
      ownHeader(http, 'urn-automatic') === 'true' || AUTOMATIC_ROUTES.has(response.locals['route'] as string);
    const next = isAutomatic ? undefined : renewed(session, sessions.now());
    if (next) await this.set(response, site, next);
    return { session: next ?? session, accepted: known };
  }

  /** Whether a session that was accepted before is still open. Its key is not checked. */
  isOpen(session: Session): boolean {
    return this.#parts.sessions.isOpen(session);
  }

  /** The session of a request and whose it is, even if the key is no longer valid. Grants no access. */
  async presentedIn(http: Request): Promise<{ session: Session; holder: KnownKey } | undefined> {
    try {
      const session = await this.#parts.sessions.open(this.valueIn(http) ?? '');
      const holder = session && this.#parts.keys.lookUpId(session.keyId);
      return holder && { session, holder };
    } catch {
      // Two cookies: it is unclear whose request it is.
      return undefined;
    }
  }

  /** Shows who made a refused request. */
  async holderOf(http: Request): Promise<KnownKey | undefined> {
    return (await this.presentedIn(http))?.holder;
  }

  async set(response: Response, site: Site, session: Session): Promise<void> {
    const value = await this.#parts.sessions.seal(session);
    response.setHeader('Set-Cookie', `${this.#nameAt(site)}=${value}; ${cookieAttributes(site)}`);
  }

  /** The header that removes the cookie. */
  cleared(site: Site): Readonly<Record<string, string>> {
    return { 'Set-Cookie': `${this.#nameAt(site)}=; ${cookieAttributes(site)}; Max-Age=0` };
  }

  #nameAt({ isSecure }: Site): string {
    return isSecure ? `__Host-${this.#name}` : this.#name;
  }

  #over(http: Request, message: string): HttpProblem {
    const site = this.siteOf(http);
    return new HttpProblem(401, message, { ...CHALLENGE, ...(site && this.cleared(site)) });
  }
}

function cookieAttributes({ isSecure }: Site): string {
  return `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

/** Which site a request was sent to. */
export interface Site {
  /** As browsers send it in `Origin`. */
  readonly origin: string;
  /** HTTPS, at least between the browser and a proxy. */
  readonly isSecure: boolean;
}

const HOST_FORM = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * @param publicUrl the address of the service for browsers, if it cannot be seen from the request
 * @returns undefined if no session may be used there: plain HTTP that may leave this machine
 */
export function siteOf(request: Request, publicUrl: string | undefined): Site | undefined {
  if (publicUrl !== undefined) return { origin: new URL(publicUrl).origin, isSecure: true };
  const { host = '' } = request.headers;
  const isSecure = request.secure;
  const address = `${isSecure ? 'https' : 'http'}://${host}`;
  if (!HOST_FORM.test(host) || !URL.canParse(address)) return undefined;
  const { origin, hostname } = new URL(address);
  // A page whose own name was pointed at this machine's address has another host.
  const isHere = isLoopbackName(hostname) && isLoopback(request.socket.remoteAddress ?? '');
  return isSecure || isHere ? { origin, isSecure } : undefined;
}

function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'));
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function isLoopback(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && LOOPBACK.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/**
 * Refuses a request that a page of another site may have sent. With every request that may change something, browsers send
 * at least one of the two headers, and no page can forge them.
 * @throws HttpProblem 403
 */
export function refuseForeign({ method, headers }: Request, site: Site): void {
  const { origin, 'sec-fetch-site': fetchSite } = headers;
  if (fetchSite !== undefined && fetchSite !== 'same-origin')
    throw new HttpProblem(403, 'This was not sent by a page of this service');
  if (origin !== undefined && origin !== site.origin)
    throw new HttpProblem(
      403,
      `This was not sent by a page of ${site.origin} (hint for the operator: behind a proxy, --public-url says the address that browsers use)`,
    );
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead && fetchSite === undefined && origin === undefined)
    throw new HttpProblem(
      403,
      'It does not show which page sent this: with a session, send the header Origin or Sec-Fetch-Site',
    );
}
