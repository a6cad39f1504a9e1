/** The envelope of every response: exactly `message`, `results`, `status`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

export interface Reply {
  readonly status: number;
  readonly message: string;
  /** JSON text. */
  readonly results: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const SUCCESS = 'Success';

export function envelope({ status, message, results }: Reply): string {
  return `${beginning(message)}${results}${end(status)}`;
}

function beginning(message: string): string {
  return `{"message":${JSON.stringify(message)},"results":`;
}

function end(status: number): string {
  return `,"status":${status}}`;
}

/**
 * Helmet's headers for responses that no browser renders. They are the same on every response, so they are asked for
 * once and not computed on each request.
 */
const SECURITY_HEADERS = headersOf(
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
  }),
);

/** Headers of every response in the envelope. Study data must stay in no cache. */
export const API_HEADERS: readonly string[] = [
  ...SECURITY_HEADERS,
  ...['Content-Type', 'application/json'],
  ...['Cache-Control', 'no-store'],
];

/** A body of more than this leaves in pieces of this size. */
const PIECE_BYTES = 64 * 1024;

export function send(response: ServerResponse, reply: Reply): void {
  // A string, not a buffer: Node then sends it together with the headers, in one piece.
  const body = envelope(reply);
  const bytes = Buffer.byteLength(body);
  const headers = [...API_HEADERS, 'Content-Length', String(bytes)];
  for (const [name, value] of Object.entries(reply.headers ?? {})) headers.push(name, value);
  response.writeHead(reply.status, headers);
  if (bytes <= PIECE_BYTES) response.end(body);
  else endInPieces(response, Buffer.from(body));
}

/**
 * Each piece is written when those before it have left. Over TLS a body that is written as a whole is encrypted as a whole,
 * in memory, and a client that reads it slowly looks like one that does not read.
 */
export function endInPieces(response: ServerResponse, body: Buffer): void {
  let from = 0;
  const goOn = () => {
    while (from + PIECE_BYTES < body.length) {
      const piece = body.subarray(from, from + PIECE_BYTES);
      from += PIECE_BYTES;
      if (!response.write(piece)) {
        response.once('drain', goOn);
        return;
      }
    }
    response.end(body.subarray(from));
  };
  goOn();
}

/** How long a client may leave a slice untaken, in ms. */
const UNTAKEN_MS = 10_000;

/**
 * Sends results that are too long to be rendered at once, slice by slice, each when the client has taken the one before
 * it: so a client that does not read costs a slice of memory, and not the whole answer. Resolves when the last one has
 * left, or the connection is gone.
 * @param turns in which slices are rendered
 */
export async function sendSlices(
  response: ServerResponse,
  { status, message, headers = {} }: Omit<Reply, 'results'>,
  slices: Iterator<string>,
  turns: { slice<T>(render: () => T): Promise<T> },
): Promise<void> {
  const writeHead = () => {
    response.writeHead(status, [...API_HEADERS, ...Object.entries(headers).flat()]);
    response.write(beginning(message));
  };
  if (response.req.method === 'HEAD') writeHead();
  else
    for (;;) {
      const { value, done } = await turns.slice(() => slices.next());
      if (response.destroyed) return;
      // An error of the first slice can still be answered as one.
      if (!response.headersSent) writeHead();
      if (done) break;
      if (!response.write(value)) await taken(response, 'drain');
    }
  response.end(end(status));
  await taken(response, 'finish');
}

function taken(response: ServerResponse, by: 'drain' | 'finish'): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = () => {
      clearTimeout(timer);
      response.off(by, settle);
      response.off('close', settle);
      resolve();
    };
    const timer = setTimeout(() => response.destroy(), UNTAKEN_MS);
    response.once(by, settle);
    response.once('close', settle);
  });
}

type Middleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** The headers that a middleware sets, as name, value, name, value … */
function headersOf(middleware: Middleware): string[] {
  const headers: string[] = [];
  const recorder = {
    setHeader: (name: string, value: string) => headers.push(name, value),
    removeHeader: () => undefined,
  };
  middleware({} as IncomingMessage, recorder as unknown as ServerResponse, () => undefined);
  return headers;
}
