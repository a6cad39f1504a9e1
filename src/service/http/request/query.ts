/**
 * Parses the query string strictly (application/x-www-form-urlencoded, as Python's `requests` writes it). Lenient parsers
 * replace bytes that they cannot decode, which would turn two different byte strings into the same participant.
 */
import { API_KEY } from '../../../core/access/keys.ts';
import { HttpProblem } from './problem.ts';

export type Query = ReadonlyMap<string, string>;

/** Characters that may appear in a URL. Raw bytes above 0x7E have no defined meaning there. */
const PRINTABLE_ASCII = /^[\x21-\x7e]*$/;

/** @throws HttpProblem 400 for bad percent-encoding, bad UTF-8, a misplaced API key, or a parameter that is given twice */
export function parseQuery(url: string): Query {
  const start = url.indexOf('?');
  const query = new Map<string, string>();
  if (start < 0) return query;
  const text = url.slice(start + 1);
  if (!PRINTABLE_ASCII.test(text)) throw malformed();
  const twice = new Set<string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1));
    refuseApiKey(name);
    if (name !== 'api_key') refuseApiKey(value);
    if (query.has(name)) twice.add(name);
    query.set(name, value);
  }
  if (twice.size > 0)
    throw new HttpProblem(
      400,
      `Given more than once: ${[...twice].join(', ')} (each parameter may be given once)`,
    );
  return query;
}

/**
 * Refuses an API key in any place meant for something else: other values may be recorded or quoted in an error message, and
 * a key must not be.
 * @throws HttpProblem 400
 */
export function refuseApiKey(text: string): void {
  if (API_KEY.test(text))
    throw new HttpProblem(
      400,
      'An API key was sent where something else belongs (send it as the parameter api_key, as Authorization: Bearer, or as X-API-Key)',
    );
}

const ENCODED = /[%+]/;

function decode(text: string): string {
  if (!ENCODED.test(text)) return text;
  try {
    // decodeURIComponent refuses stray percent signs, overlong forms and encoded surrogates.
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw malformed();
  }
}

function malformed(): HttpProblem {
  return new HttpProblem(400, 'The query string is not valid: percent-encode it as UTF-8');
}
