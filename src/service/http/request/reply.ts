/** The envelope of every response: exactly `message`, `results`, `status`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import helmet from 'helmet';
import type { z } from 'zod';
import type { Turn } from './in-progress.ts';

export interface Reply {
  readonly status: number;
  readonly message: string;
  /** JSON text. */
  readonly results: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const SUCCESS = 'Success';

/** What surrounds the results. */
export interface Frame {
  readonly contentType: string;
  beginning(message: string): string;
  end(status: number): string;
}

const ENVELOPE: Frame = {
  contentType: 'application/json',
  beginning: (message) => `{"message":${JSON.stringify(message)},"results":`,
  end: (status) => `,"status":${status}}`,
};

/** The results alone. */
export function bare(contentType: string): Frame {
  return { contentType, beginning: () => '', end: () => '' };
}

export function envelope({ status, message, results }: Reply): string {
  return `${ENVELOPE.beginning(message)}${results}${ENVELOPE.end(status)}`;
}

/** JSON of a result, checked against its schema. */
export function resultJson<T>(schema: z.ZodType<T>, result: T): string {
  return JSON.stringify(checked(schema, result));
}

/** How many items of a list are checked and rendered at once. */
const ITEMS_AT_ONCE = 50;

/** JSON of a list, whose items are checked against the schema of a list of them: in pieces, unless it is short. */
export function listJson<T>(
  schema: z.ZodType<readonly T[]>,
  items: readonly T[],
): string | Generator<string, void> {
  return items.length <= ITEMS_AT_ONCE ? resultJson(schema, items) : listPieces(schema, items);
}

export function* listPieces<T>(
  schema: z.ZodType<readonly T[]>,
  items: readonly T[],
): Generator<string, void> {
  for (let from = 0; from < items.length; from += ITEMS_AT_ONCE) {
    const piece = resultJson(schema, items.slice(from, from + ITEMS_AT_ONCE));
    yield `${from === 0 ? '[' : ','}${piece.slice(1, -1)}`;
  }
  yield items.length === 0 ? '[]' : ']';
}

/** Throws when a result does not match its schema, so that a bug cannot leak anything. The error does not quote the result. */
export function checked<T>(schema: z.ZodType<T>, result: unknown): T {
  const parsed = schema.safeParse(result);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map(({ path, code }) => `${path.join('.')}: ${code}`);
  throw new Error(`a result does not fit the contract (${paths.join(', ')})`);
}

/**
 * Helmet's headers for responses that no browser renders. They are the same for every response, so they are computed only
 * once.
 */
const SECURITY_HEADERS = headersOf(
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
  }),
);

/** The headers of every response with data. No cache may keep study data. */
const DATA_HEADERS = [...SECURITY_HEADERS, 'Cache-Control', 'no-store'];
/** The headers of every response in the envelope. */
export const API_HEADERS: readonly string[] = [...DATA_HEADERS, 'Content-Type', ENVELOPE.contentType];

/** Writes the head of a stream of events. It ends its connection, and proxies pass each event on immediately. */
export function beginEvents(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  const own = {
    'Content-Type': 'text/event-stream',
    Connection: 'close',
    'X-Accel-Buffering': 'no',
    ...headers,
  };
  response.writeHead(200, [...DATA_HEADERS, ...Object.entries(own).flat()]);
}

/** A larger body is sent in pieces of this size. */
const PIECE_BYTES = 64 * 1024;

export function send(response: ServerResponse, reply: Reply): void {
  // Node sends a string together with the headers in one piece, but not a buffer.
  const body = envelope(reply);
  const bytes = Buffer.byteLength(body);
  const headers = [...API_HEADERS, 'Content-Length', String(bytes)];
  for (const [name, value] of Object.entries(reply.headers ?? {})) headers.push(name, value);
  response.writeHead(reply.status, headers);
  if (bytes <= PIECE_BYTES) response.end(body);
  else endInPieces(response, Buffer.from(body));
}

/**
 * Writes each piece after the previous ones have been sent. Over TLS, a body written as a whole is encrypted as a whole in
 * memory, and a client that reads it slowly looks like one that does not read at all.
 */
export function endInPieces(response: ServerResponse, body: Buffer): void {
  let from = 0;
  const writeNext = () => {
    while (from + PIECE_BYTES < body.length) {
      const piece = body.subarray(from, from + PIECE_BYTES);
      from += PIECE_BYTES;
      if (!response.write(piece)) {
        response.once('drain', writeNext);
        return;
      }
    }
    response.end(body.subarray(from));
  };
  writeNext();
}

/** How long a client may take to read a slice, in ms. */
const SLICE_READ_MS = 10_000;

/**
 * Sends results that are too long to be rendered at once, slice by slice. Each slice is rendered after the client has read
 * the one before it, so a client that does not read costs the memory of one slice, not of the whole answer. Resolves when the
 * last slice has been sent or the connection is closed.
 * @param turn in which each slice is rendered
 */
export async function sendSlices(
  response: ServerResponse,
  { status, message, headers = {} }: Omit<Reply, 'results'>,
  slices: Iterator<string>,
  turn: Pick<Turn, 'slice'>,
  { contentType, beginning, end }: Frame = ENVELOPE,
): Promise<void> {
  const writeHead = () => {
    const own = Object.entries({ 'Content-Type': contentType, ...headers }).flat();
    response.writeHead(status, [...DATA_HEADERS, ...own]);
    response.write(beginning(message));
  };
  if (response.req.method === 'HEAD') writeHead();
  else
    for (;;) {
      const { value, done } = await turn.slice(() => slices.next());
      if (response.destroyed) return;
      // Only now, so that an error in the first slice can still be answered with its own status.
      if (!response.headersSent) writeHead();
      if (done) break;
      if (!response.write(value)) await waitFor(response, 'drain');
    }
  response.end(end(status));
  await waitFor(response, 'finish');
}

/** Sends a file as it is; the headers say what it is. Resolves when it has been sent or the connection is closed. */
export async function sendFile(
  response: ServerResponse,
  { status, headers = {} }: Pick<Reply, 'status' | 'headers'>,
  file: Readable,
): Promise<void> {
  response.writeHead(status, [...DATA_HEADERS, ...Object.entries(headers).flat()]);
  await pipeline(file, response).catch((error) => {
    // Cutting the answer short is the only way to report an error now.
    if (!response.destroyed) throw error;
  });
}

/** Waits for the event, or until the response is closed. A client that takes too long is disconnected. */
function waitFor(response: ServerResponse, event: 'drain' | 'finish'): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = () => {
      clearTimeout(timer);
      response.off(event, settle);
      response.off('close', settle);
      resolve();
    };
    const timer = setTimeout(() => response.destroy(), SLICE_READ_MS);
    response.once(event, settle);
    response.once('close', settle);
  });
}

type Middleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** The headers that a middleware sets, as a list: name, value, name, value … */
function headersOf(middleware: Middleware): string[] {
  const headers: string[] = [];
  const recorder = {
    setHeader: (name: string, value: string) => headers.push(name, value),
    removeHeader: () => undefined,
  };
  middleware({} as IncomingMessage, recorder as unknown as ServerResponse, () => undefined);
  return headers;
}
