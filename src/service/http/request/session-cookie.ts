/** The cookie of a session: the credential of people in a browser, as an API key is that of programs. */
import type { Request, Response } from 'express';
import type { AcceptedKey, Keys, KnownKey } from '../../../core/access/keys.ts';
import { renewed, type Session } from '../../session/session.ts';
import type { Sessions } from '../../session/sessions.ts';
import { CHALLENGE } from './credentials.ts';
import { ownHeader } from './headers.ts';
import { refuseForeign, type Site, siteOf } from './origin.ts';
import { HttpProblem } from './problem.ts';

export interface SessionCookieParts {
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
    if (!site) throw this.#over(http, ENDED);
    refuseForeign(http, site);
    const { sessions, keys } = this.#parts;
    const session = await sessions.open(value);
    if (!session) throw this.#over(http, ENDED);
    const known = keys.lookUpId(session.keyId);
    if (known?.standing !== 'valid') throw this.#over(http, KEY_OVER);
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
    response.setHeader('Set-Cookie', `${this.#nameAt(site)}=${value}; ${attributes(site)}`);
  }

  /** The header that removes the cookie. */
  cleared(site: Site): Readonly<Record<string, string>> {
    return { 'Set-Cookie': `${this.#nameAt(site)}=; ${attributes(site)}; Max-Age=0` };
  }

  #nameAt({ isSecure }: Site): string {
    return isSecure ? `__Host-${this.#name}` : this.#name;
  }

  #over(http: Request, message: string): HttpProblem {
    const site = this.siteOf(http);
    return new HttpProblem(401, message, { ...CHALLENGE, ...(site && this.cleared(site)) });
  }
}

const ENDED = 'The session has ended; sign in again';
const KEY_OVER = 'The API key of this session is revoked or has expired; sign in with another';

function attributes({ isSecure }: Site): string {
  return `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}
