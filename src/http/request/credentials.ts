/** The API key of a request: query `api_key` as in the contract, `Authorization: Bearer` and `X-API-Key` as safer equals. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { API_KEY } from '../../access/credentials.ts';
import type { Accepted, Keys, KnownKey } from '../../access/keys.ts';
import { HttpProblem } from './problem.ts';
import { type Query, refuseApiKey } from './query.ts';

const BEARER = /^Bearer +(\S+) *$/i;
const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="urn"' };

/**
 * @returns the key, undefined when none is given
 * @throws HttpProblem 400 when two different keys are given
 */
export function apiKeyOf(request: IncomingMessage, query: Query): string | undefined {
  const given = new Set<string>();
  const add = (key: string | undefined) => key && given.add(key);
  add(query.get('api_key'));
  for (const value of valuesOf(request, 'authorization')) add(BEARER.exec(value)?.[1]);
  for (const key of valuesOf(request, 'x-api-key')) add(key);
  if (given.size > 1) throw new HttpProblem(400, 'Two different API keys are given; send one');
  return given.values().next().value;
}

/** Every key that a request presents, however malformed it is besides. Nothing is accepted by this. */
export function keysIn(request: IncomingMessage): string[] {
  const { searchParams } = new URL(request.url?.replace(/^[^?]*/, 'http://urn/') ?? '', 'http://urn/');
  const given = [
    ...searchParams.getAll('api_key'),
    ...valuesOf(request, 'authorization').flatMap((value) => BEARER.exec(value)?.[1] ?? []),
    ...valuesOf(request, 'x-api-key'),
  ];
  return [...new Set(given)].filter((key) => API_KEY.test(key)).slice(0, MOST_KEYS);
}

/** Keys of one request that are looked up. */
const MOST_KEYS = 4;

/** Failed attempts that one address may make in a window, and the window in seconds. */
const FAILED_ATTEMPTS = 30;
const WINDOW_SECONDS = 60;

/** An Express request, as far as it tells where it came from. */
interface Sender {
  readonly ip?: string | undefined;
}

export class Authentication {
  readonly #keys: Keys;
  readonly #failures = new RateLimiterMemory({ points: FAILED_ATTEMPTS, duration: WINDOW_SECONDS });

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  /** The key if it was ever issued, valid or not. Lets nobody in. */
  readonly lookUp = (apiKey: string): KnownKey | undefined => this.#keys.lookUp(apiKey);

  /**
   * A valid key is always let in, however many attempts have failed from its address: a hospital is one address.
   * @throws HttpProblem 401 without a valid key, 429 after too many failures from the address
   */
  accept(apiKey: string | undefined, from: Sender): Accepted | Promise<never> {
    const accepted = apiKey === undefined ? undefined : this.#keys.accept(apiKey);
    return accepted ?? this.#refuse(apiKey, from);
  }

  async #refuse(apiKey: string | undefined, from: Sender): Promise<never> {
    try {
      await this.#failures.consume(from.ip ?? '');
    } catch (limit) {
      const seconds = Math.ceil((limit as RateLimiterRes).msBeforeNext / 1000);
      throw new HttpProblem(429, `Too many failed attempts from this address; wait ${seconds} s`, {
        'Retry-After': String(seconds),
      });
    }
    throw new HttpProblem(
      401,
      apiKey === undefined
        ? 'API key is missing (send it as the parameter api_key, as Authorization: Bearer, or as X-API-Key)'
        : 'API key is not valid: it is unknown, revoked or expired',
      CHALLENGE,
    );
  }
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** @throws HttpProblem 400 when the header is malformed */
export function idempotencyKeyOf(request: IncomingMessage): string | undefined {
  const value = single(request, 'idempotency-key', 'Idempotency-Key');
  if (value !== undefined && !VISIBLE_ASCII.test(value))
    throw new HttpProblem(400, 'The header Idempotency-Key takes 1 to 255 visible ASCII characters');
  refuseApiKey(value ?? '');
  return value;
}

/**
 * Who stood behind a shared key.
 * @throws HttpProblem 400 when the header is malformed
 */
export function onBehalfOf(request: IncomingMessage): string | undefined {
  const value = single(request, 'x-on-behalf-of', 'X-On-Behalf-Of');
  if (value === undefined) return undefined;
  const bytes = Buffer.from(value, 'latin1');
  const text = isUtf8(bytes) ? bytes.toString('utf8').trim() : '';
  const { length } = [...text];
  if (length < 1 || length > 128 || /\p{Cc}/u.test(text))
    throw new HttpProblem(
      400,
      'The header X-On-Behalf-Of takes 1 to 128 characters in UTF-8, none of them a control',
    );
  refuseApiKey(text);
  return text;
}

function single(request: IncomingMessage, name: string, shownName: string): string | undefined {
  const values = valuesOf(request, name);
  if (values.length > 1) throw new HttpProblem(400, `The header ${shownName} is given more than once`);
  return values[0];
}

/**
 * The values of a header, each time that it is given. Node's `headers` drops or joins those after the first, and its
 * `headersDistinct` first makes lists of all headers, which is felt on every request.
 * @param name in lower case
 */
function valuesOf({ headers, rawHeaders }: IncomingMessage, name: string): string[] {
  if (headers[name] === undefined) return [];
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);
}
