/** A client of the service that checks the envelope of every answer. */
import { connect } from 'node:net';
import { expect } from 'vitest';
import { REFUSALS } from '../../src/base/refusals.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it came. */
  readonly text: string;
  readonly message: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests know what it is.
  readonly results: any;
}

type Texts = Readonly<Record<string, string>>;
export type Parameters = Texts | readonly (readonly [string, string])[];

export interface Ask {
  readonly method?: string;
  readonly parameters?: Parameters;
  readonly key?: string | undefined;
  readonly headers?: Texts;
}

/** Sends a request with its key as in the contract, and checks the envelope of the answer. */
export async function ask(url: string, path: string, options: Ask = {}): Promise<Answer> {
  const { method = 'GET', parameters = {}, key, headers = {} } = options;
  const query = new URLSearchParams(Array.isArray(parameters) ? parameters : Object.entries(parameters));
  if (key !== undefined) query.append('api_key', key);
  const response = await fetch(`${url}${path}?${query}`, { method, headers });
  const text = await response.text();
  // The only answer of 200 with a different message: it says how many studies take no participants.
  return checked(response.status, response.headers, text, path === '/readyz' ? /./ : undefined);
}

/** A dry run says in words what would happen. */
const successIn = (headers: Headers) =>
  headers.has('urn-dry-run') ? /^Nothing was recorded: this is a dry run\. / : /^Success$/;

/** @throws AssertionError unless the body is an envelope of exactly three members that repeats the status */
export function checked(status: number, headers: Headers, text: string, success = successIn(headers)) {
  expect(headers.get('content-type'), text).toBe('application/json');
  expect(headers.get('cache-control')).toBe('no-store');
  const body = JSON.parse(text);
  expect(Object.keys(body).toSorted()).toEqual(['message', 'results', 'status']);
  expect(body.status).toBe(status);
  expect(typeof body.message).toBe('string');
  expect(body.results).toBeTypeOf('object');
  expect(body.results).not.toBeNull();
  expectWord(status, headers, body.message);
  if (status < 400) expect(body.message).toMatch(success);
  return { status, headers, text, message: body.message, results: body.results } as Answer;
}

/** What the proxy answers by itself. */
const OF_PROXY = 'Not done: no instance of the service is ready';

/** Every answer of 400 or more says why, by a word that has this status. */
function expectWord(status: number, headers: Headers, message: string): void {
  const word = headers.get('urn-refused');
  const row = Object.entries(REFUSALS).find(([one]) => one === word)?.[1];
  expect(row ? [row.status].flat() : ['none'], `${word}: ${message}`).toContain(
    status < 400 || message === OF_PROXY ? 'none' : status,
  );
}

/** The operations about a study, asked with one key. */
export function clientOf(url: string, key: string) {
  const get =
    (path: string) =>
    (study: string, parameters: Texts = {}) =>
      ask(url, path, { key, parameters: { study, ...parameters } });
  return {
    ...{ config: get('/study_config'), list: get('/study_participants'), balance: get('/balance') },
    explain: (study: string, id: string, more: Texts = {}) => get('/explanation')(study, { id, ...more }),
    randomize: (study: string, id: string, levels: Texts, headers: Texts = {}) =>
      ask(url, '/study_participants', { method: 'POST', key, parameters: { study, id, ...levels }, headers }),
  };
}

/** A number of a service, as /metrics has it. */
export async function metric({ url }: { readonly url: string }, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** `results` of the body, as `exactJson` reads it. */
export const exactResults = ({ text }: Answer): unknown => exactJson(text).results;

/** A JSON text with its large integers as bigints, which JSON.parse would round. */
// biome-ignore lint/suspicious/noExplicitAny: the tests know what it is.
export function exactJson(text: string): any {
  const quoted = text.replace(/([:,[])(-?\d{16,})(?=[,}\]])/g, '$1"bigint $2"');
  const revive = (_: string, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith('bigint ')) return value;
    const exact = BigInt(value.slice(7));
    return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
  };
  return JSON.parse(quoted, revive);
}

/** Writes bytes to the service and returns everything it answers until it closes the connection. */
export function talk(url: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      // On a connection that the service refuses, the request may never have left.
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, () => undefined);
    });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (chunks.length === 0) reject(error);
    });
    socket.once('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

/** The one answer to raw bytes, which must ask for the connection to be closed or be refused. */
export async function rawAnswer(url: string, bytes: string | Uint8Array): Promise<Answer> {
  const [head = '', text = ''] = (await talk(url, bytes)).split(/\r\n\r\n(.*)/s);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]));
  return checked(Number(statusLine.split(' ')[1]), headers, text);
}

/** A request as bytes; characters of `target` and `headers` stand for bytes (Latin-1). */
export const rawRequest = (method: string, target: string, headers: readonly string[] = []): string =>
  [`${method} ${target} HTTP/1.1`, 'Host: test', 'Connection: close', ...headers, '', ''].join('\r\n');

const PAUSE_MS = 20;

/**
 * Asks again and again until the answer is as wanted. Only the pauses between questions count against the time allowed: on
 * a machine that is busy with other tests, question and answer may take longer than what they ask about.
 * @returns how long it took, in ms
 */
export async function within(ms: number, isSo: () => Promise<boolean>): Promise<number> {
  const started = performance.now();
  for (let pausedMs = 0; ; pausedMs += PAUSE_MS) {
    if (await isSo()) return performance.now() - started;
    if (pausedMs > ms) throw new Error(`not so within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
