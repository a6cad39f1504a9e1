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
  return `{"message":${JSON.stringify(message)},"results":${results},"status":${status}}`;
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

export function send(response: ServerResponse, reply: Reply): void {
  // A string, not a buffer: Node then sends it together with the headers, in one piece.
  const body = envelope(reply);
  const headers = [...API_HEADERS, 'Content-Length', String(Buffer.byteLength(body))];
  for (const [name, value] of Object.entries(reply.headers ?? {})) headers.push(name, value);
  response.writeHead(reply.status, headers);
  response.end(body);
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
