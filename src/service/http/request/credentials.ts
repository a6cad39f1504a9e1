/** The API key of a request: `api_key` in the query, `Authorization: Bearer`, or `X-API-Key`. The two headers are safer. */
import type { IncomingMessage } from 'node:http';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import type { AcceptedKey, Keys, KnownKey } from '../../../core/access/keys.ts';
import { API_KEY } from '../../../core/access/keys.ts';
import { headerValues } from './headers.ts';
import { HttpProblem } from './problem.ts';
import type { Query } from './query.ts';

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

/** How many keys of one request are looked up. */
const MAX_KEYS = 4;

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
    return this.#keys.lookUpId(keyId)?.standing === 'valid';
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
      if (!accepted) throw notValid();
      await this.#failures.reward(from.ip ?? '');
      return accepted;
    } catch (error) {
      throw error instanceof HttpProblem ? (tooManyFailures ?? error) : error;
    }
  }

  async #refuse(apiKey: string | undefined, from: Sender): Promise<never> {
    throw (await this.#countFailure(from)) ?? (apiKey === undefined ? missing() : notValid());
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

function missing(): HttpProblem {
  return new HttpProblem(
    401,
    'API key is missing (send it as the parameter api_key, as Authorization: Bearer, or as X-API-Key)',
    CHALLENGE,
  );
}

function notValid(): HttpProblem {
  return new HttpProblem(401, 'API key is not valid: it is unknown, revoked or expired', CHALLENGE);
}
