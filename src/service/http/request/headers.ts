/** Reads the headers of a request that the API defines, except those that carry the API key. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { formulaProblem } from '../../../base/text.ts';
import { HttpProblem } from './problem.ts';
import { refuseApiKey } from './query.ts';

/**
 * The request headers that begin with `Urn-`, in lower case. Any other is refused: a misspelt one would be ignored without a
 * word.
 */
const OWN_HEADERS = ['urn-automatic'] as const;
const OWN_PREFIX = /^urn-/i;

/** The value of a header of the service's own. */
export function ownHeader(
  { headers }: IncomingMessage,
  name: (typeof OWN_HEADERS)[number],
): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** @throws HttpProblem 400 for a header that begins with `Urn-` and is not known */
export function refuseUnknownHeaders({ rawHeaders }: IncomingMessage): void {
  const unknown = rawHeaders.find(
    (name, i) =>
      i % 2 === 0 && OWN_PREFIX.test(name) && !OWN_HEADERS.some((own) => own === name.toLowerCase()),
  );
  if (unknown !== undefined)
    throw new HttpProblem(
      400,
      `${unknown} is not a header of this service, whose names begin with Urn- (hint: there is Urn-Automatic)`,
    );
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
 * The person who used a shared key.
 * @throws HttpProblem 400 when the header is malformed
 */
export function onBehalfOf(request: IncomingMessage): string | undefined {
  const value = single(request, 'x-on-behalf-of', 'X-On-Behalf-Of');
  if (value === undefined) return undefined;
  const bytes = Buffer.from(value, 'latin1');
  return personNamed(isUtf8(bytes) ? bytes.toString('utf8') : '', 'The header X-On-Behalf-Of');
}

/**
 * A person who uses a shared key, as a client names them.
 * @param where the text was found
 * @throws HttpProblem 400
 */
export function personNamed(text: string, where: string): string {
  const name = text.trim();
  const { length } = [...name];
  if (length < 1 || length > 128 || /\p{Cc}/u.test(text))
    throw new HttpProblem(400, `${where} takes 1 to 128 characters in UTF-8, and no control characters`);
  const problem = formulaProblem(name);
  if (problem !== undefined) throw new HttpProblem(400, `${where} ${problem}`);
  refuseApiKey(name);
  return name;
}

function single(request: IncomingMessage, name: string, shownName: string): string | undefined {
  const values = headerValues(request, name);
  if (values.length > 1) throw new HttpProblem(400, `The header ${shownName} is given more than once`);
  return values[0];
}

/**
 * The values of a header, one for each time it is given. Node's `headers` drops or joins repeated values. Its
 * `headersDistinct` builds lists of all headers first, which costs noticeable time on every request.
 * @param name in lower case
 */
export function headerValues({ headers, rawHeaders }: IncomingMessage, name: string): string[] {
  if (headers[name] === undefined) return [];
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);
}
