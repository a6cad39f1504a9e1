/**
 * What comes in with a request besides its body: the query string, the parameters in it that are not factors, and the headers
 * that the API defines (those with a credential are read in credentials.ts). Everything is read strictly: a misspelt name would
 * otherwise be ignored without a word, and a replaced character would be another participant.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Runner } from '../../../../projections/runner.ts';
import { formulaProblem, lookAlikeForm } from '../../../base/text.ts';
import { nearestTo } from '../../../base/wording.ts';
import { API_KEY } from '../../../core/access/keys.ts';
import { parseRevision, REVISION_FORM } from '../../../evidence/history/history.ts';
import { StoreError } from '../../../store/event-store.ts';
import { HttpProblem, MAX_NAMED, problemList } from './problem.ts';

export type Query = ReadonlyMap<string, string>;

/**
 * Parses the query string strictly (application/x-www-form-urlencoded, as Python's `requests` writes it). Lenient parsers
 * replace bytes that they cannot decode, which would turn two different byte strings into the same participant.
 * @throws HttpProblem 400 for bad percent-encoding, bad UTF-8, a misplaced API key, or a parameter that is given twice
 */
export function parseQuery(url: string): Query {
  const start = url.indexOf('?');
  const query = new Map<string, string>();
  if (start < 0) return query;
  const text = url.slice(start + 1);
  if (!PRINTABLE_ASCII.test(text)) throw malformedQuery();
  const twice = new Set<string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodePart(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : decodePart(pair.slice(equals + 1));
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

/** Characters that may appear in a URL. Raw bytes above 0x7E have no defined meaning there. */
const PRINTABLE_ASCII = /^[\x21-\x7e]*$/;

const ENCODED = /[%+]/;

function decodePart(text: string): string {
  if (!ENCODED.test(text)) return text;
  try {
    // decodeURIComponent refuses stray percent signs, overlong forms and encoded surrogates.
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw malformedQuery();
  }
}

function malformedQuery(): HttpProblem {
  return new HttpProblem(400, 'The query string is not valid: percent-encode it as UTF-8');
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

// The parameters that are not factors: their names and their checks

/** They select a page of a list, and its order. */
export const PAGE_PARAMETERS: readonly string[] = [
  'urn.limit',
  'urn.from',
  'urn.offset',
  'urn.sort',
  'urn.order',
  'urn.search',
];
/** `omit` leaves the generator states out. */
export const BG_STATE = 'urn.bg_state';
/** Which levels a list shows; with it, each record gives its place. */
export const VIEW = 'urn.view';
/** `true` marks texts of a CSV that a spreadsheet would take for formulas. */
export const EXCEL = 'urn.excel';
/** `true` checks everything and records nothing. */
export const DRY_RUN = 'urn.dry_run';
/** They select a moment in the history of a study. */
export const MOMENT_PARAMETERS: readonly string[] = ['urn.revision', 'urn.at'];

/**
 * The answer must show at least this revision of the study. A client that got a revision from one instance (`Urn-Revision`)
 * sends it to another, and so reads its own writes.
 */
export const MIN_REVISION = 'urn.min_revision';

/** The parameters of the service in the contract have bare names, and so have factors. All others begin with this. */
export const PREFIX = 'urn.';

/** The names of all parameters of all operations, as the OpenAPI document lists them. */
export const SERVICE_PARAMETERS: ReadonlySet<string> = new Set([
  ...['api_key', 'study', 'id', 'from', 'size', 'first', 'second', 'revision', 'checkpoint', 'content'],
  ...[BG_STATE, VIEW, EXCEL, DRY_RUN, MIN_REVISION, 'urn.for'],
  ...MOMENT_PARAMETERS,
  ...PAGE_PARAMETERS,
]);

/** A problem for each parameter that the route does not know. Otherwise a misspelt one would be silently ignored. */
export function unknownParameters(query: Query, known: ReadonlySet<string>, route: string): string[] {
  const hintFor = hintsAmong([...known]);
  return [...query.keys()]
    .filter((name) => !known.has(name))
    .map((name) => {
      const hint = hintFor(name);
      return `${name} is not a parameter of ${route}${hint === undefined ? '' : ` (hint: ${hint})`}`;
    });
}

/** The problem when no study is named. @param given the names of what was given */
export function studyMissing(given: Iterable<string>): HttpProblem {
  const hintFor = hintsAmong(['study']);
  const misspelt = [...given].find((name) => hintFor(name) !== undefined);
  const hint = misspelt === undefined ? '' : ` (hint: ${misspelt} is given; did you mean study?)`;
  return new HttpProblem(400, `study is missing${hint}`);
}

/**
 * Gives a hint, if one of the names was probably meant, for as many unknown names of a request as its answer can show: to
 * look for all of them would keep other requests waiting.
 */
export function hintsAmong(names: readonly string[]): (given: string) => string | undefined {
  let left = MAX_NAMED;
  return (given) => {
    if (left-- <= 0) return undefined;
    const form = bareForm(given);
    const meant = names.find((name) => bareForm(name) === form) ?? nearestTo(given, names);
    return meant === undefined ? undefined : `did you mean ${meant}?`;
  };
}

/**
 * The form that a name shares with its misspellings: people write it in either case, with other marks or spaces, in other
 * forms of the letters, or without `urn.`.
 */
export function bareForm(name: string): string {
  return lookAlikeForm(name)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .replace(/^urn/, '');
}

/** @throws HttpProblem 400 naming every problem at once */
export function refuseProblems(problems: readonly string[]): void {
  if (problems.length > 0) throw new HttpProblem(400, problemList(problems));
}

const Decimal = z.string().regex(/^(?:0|[1-9]\d{0,15})$/);

/**
 * The whole number in the parameter, from `minimum` to `maximum`, or `byDefault` (if any) when the parameter is not given.
 * @throws HttpProblem 400
 */
export function numberOf(
  query: Query,
  name: string,
  minimum: number,
  maximum: number,
  byDefault?: number,
): number {
  const text = query.get(name);
  if (text === undefined && byDefault !== undefined) return byDefault;
  const value = Decimal.safeParse(text).success ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new HttpProblem(
    400,
    `${name} ${text === undefined ? 'is missing' : `is ${JSON.stringify(text)}`} (it must be between ${minimum} and ${maximum})`,
  );
}

/** Projections follow the log within a second, and a waiting client holds a connection. */
const MIN_REVISION_WAIT_MS = 5000;

/**
 * Waits until the projections show the revision that the request asks for.
 * @returns the query without the parameter
 * @throws HttpProblem 400 when it is not a revision, 503 when it is not shown in time
 */
export async function minRevisionShown(
  runner: Pick<Runner, 'reach' | 'revision'>,
  stream: string,
  query: Query,
): Promise<Query> {
  const wanted = parseRevision(query.get(MIN_REVISION) ?? '');
  if (wanted === undefined) throw new HttpProblem(400, `${MIN_REVISION} is not ${REVISION_FORM}`);
  if (!(await orUnavailable(runner.reach(stream, wanted, MIN_REVISION_WAIT_MS))))
    throw new HttpProblem(
      503,
      `This instance shows revision ${runner.revision(stream)} of the study, and ${wanted} did not arrive within ${MIN_REVISION_WAIT_MS / 1000} s (is it an Urn-Revision of this study?)`,
      { 'Retry-After': '1' },
    );
  return new Map([...query].filter(([name]) => name !== MIN_REVISION));
}

/** Waits for a reading of the log. @throws HttpProblem 503 when the log cannot be read */
export async function orUnavailable<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new HttpProblem(503, 'The log cannot be read at the moment', { 'Retry-After': '1' });
  }
}

// Headers

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

const IDEMPOTENCY_KEY_FORM = /^[\x21-\x7e]{1,255}$/;

/** @throws HttpProblem 400 when the header is malformed */
export function idempotencyKeyOf(request: IncomingMessage): string | undefined {
  const value = singleHeader(request, 'idempotency-key', 'Idempotency-Key');
  if (value !== undefined && !IDEMPOTENCY_KEY_FORM.test(value))
    throw new HttpProblem(400, 'The header Idempotency-Key takes 1 to 255 visible ASCII characters');
  refuseApiKey(value ?? '');
  return value;
}

/**
 * The person who used a shared key.
 * @throws HttpProblem 400 when the header is malformed
 */
export function onBehalfOf(request: IncomingMessage): string | undefined {
  const value = singleHeader(request, 'x-on-behalf-of', 'X-On-Behalf-Of');
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

function singleHeader(request: IncomingMessage, name: string, shownName: string): string | undefined {
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
