/** The listening server and its limits: on the URL and headers, on connections, and on time. */
import { readFileSync } from 'node:fs';
import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Express } from 'express';
import { HttpProblem } from './problem.ts';
import { API_HEADERS, envelope } from './reply.ts';

export interface Listening {
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined;
}

export const LIMITS = {
  /** Request line and headers together, in bytes; more is answered with 431. */
  headerBytes: 64 * 1024,
  connections: 2000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** How often the two above are looked after. */
  timeoutCheckMs: 1_000,
  keepAliveTimeoutMs: 65_000,
} as const;

/** How long a shutdown waits for requests under way, in ms. */
const DRAIN_MS = 20_000;
/** How long it goes on listening, and waits for connections on which no whole request has arrived, in ms. */
const QUIET_MS = 500;

export class HttpServer {
  readonly #server: Server;
  readonly #tls: boolean;
  /** Answers that are not complete. */
  readonly #underWay = new Set<ServerResponse>();
  #draining = false;

  constructor(app: Express, tls: Listening['tls']) {
    const listener: RequestListener = (request, response) => {
      this.#underWay.add(response);
      response.once('close', () => this.#underWay.delete(response));
      if (this.#draining) endsConnection(response);
      app(request, response);
    };
    const options = {
      ...messagesOf(app),
      maxHeaderSize: LIMITS.headerBytes,
      headersTimeout: LIMITS.headersTimeoutMs,
      requestTimeout: LIMITS.requestTimeoutMs,
      keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
      connectionsCheckingInterval: LIMITS.timeoutCheckMs,
      // The application says it in the envelope; Node would answer without a body.
      requireHostHeader: false,
    };
    this.#tls = tls !== undefined;
    this.#server = tls
      ? createTlsServer(
          { ...options, cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) },
          listener,
        )
      : createServer(options, listener);
    this.#server.maxConnections = LIMITS.connections;
    this.#server.on('clientError', refuseRaw);
    // Node would answer 417 without a body; RFC 9110 10.1.1 leaves it to the server.
    this.#server.on('checkExpectation', listener);
    // An answer that waits behind another one is not told that its connection is gone.
    this.#server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) =>
      socket.once('close', () => {
        for (const response of this.#underWay)
          if (response.req.socket === socket) this.#underWay.delete(response);
      }),
    );
  }

  /** @returns the base address, with the port that was taken when 0 was asked for. Rejects when it is in use. */
  listen(host: string, port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        const { address, family, port: taken } = this.#server.address() as AddressInfo;
        const shown = family === 'IPv6' ? `[${address}]` : address;
        resolve(`${this.#tls ? 'https' : 'http'}://${shown}:${taken}`);
      });
    });
  }

  /**
   * Answers what was accepted, then closes. For a short while it goes on listening, and every answer ends its
   * connection: a request may be on its way on a connection that seems idle, and closing that at once would leave its
   * sender without an answer.
   */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const response of this.#underWay) endsConnection(response);
    const started = performance.now();
    while (performance.now() - started < QUIET_MS && (await this.#connections()) > 0)
      await new Promise((resolve) => setTimeout(resolve, 20));

    const closed = new Promise((resolve) => this.#server.close(resolve));
    const timers: NodeJS.Timeout[] = [];
    const late = new Promise((resolve) => timers.push(setTimeout(resolve, DRAIN_MS)));
    const sweep = () => {
      // To Node, a connection that has asked nothing yet is not idle.
      if (this.#underWay.size === 0) this.#server.closeAllConnections();
      else this.#server.closeIdleConnections();
    };
    sweep();
    timers.push(setInterval(sweep, 100));
    // A connection in the middle of its TLS handshake cannot be closed from here, and is not waited for.
    await Promise.race([closed, late]);
    for (const timer of timers) clearTimeout(timer);
    this.#server.closeAllConnections();
  }

  #connections(): Promise<number> {
    return new Promise((resolve) => {
      this.#server.getConnections((_, count) => resolve(count ?? 0));
    });
  }
}

/**
 * Requests and responses that are made with the prototypes Express wants of them. Otherwise it changes the prototypes
 * of each pair as it arrives, and V8 then runs all that touches them, Node's own code included, on its slow path: a
 * constant route answers five times as many requests a second this way (Node 20).
 */
function messagesOf(app: Express) {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse extends ServerResponse {}
  Object.setPrototypeOf(ExpressRequest.prototype, app.request);
  Object.setPrototypeOf(ExpressResponse.prototype, app.response);
  app.request = ExpressRequest.prototype as typeof app.request;
  app.response = ExpressResponse.prototype as typeof app.response;
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** Has no effect on an answer that has begun. */
function endsConnection(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

const RAW_PROBLEMS: Readonly<Record<string, HttpProblem>> = {
  HPE_HEADER_OVERFLOW: new HttpProblem(
    431,
    `The request line and headers may have ${LIMITS.headerBytes} bytes together`,
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new HttpProblem(408, 'The request took too long to arrive'),
};

interface ServerSocket extends Socket {
  /** Node's own: the response that is being written to this socket. Its own clientError handler looks here, too. */
  readonly _httpMessage?: ServerResponse | null;
}

/** What Node's parser refuses never reaches Express; it gets the envelope all the same. */
function refuseRaw(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: ServerSocket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  // Behind a request that is still being answered: the client would take the refusal for that request's answer.
  if (socket._httpMessage) {
    socket.pause();
    socket._httpMessage.once('finish', () => socket.end());
    return;
  }
  const { status, message } =
    RAW_PROBLEMS[error.code ?? ''] ?? new HttpProblem(400, 'The request is not valid HTTP');
  const start = error.rawPacket?.toString('latin1', 0, 64) ?? '';
  const body = envelope({
    status,
    message,
    results: /^[A-Z]+ \/(study_config|checkpoint|(inclusion|consistency)_proof)\b/.test(start) ? '{}' : '[]',
  });
  const headers = [...API_HEADERS, 'Content-Length', String(Buffer.byteLength(body)), 'Connection', 'close'];
  let head = `HTTP/1.1 ${status} ${REASONS[status] ?? 'Bad Request'}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.end(`${head}\r\n${body}`);
}

const REASONS: Readonly<Record<number, string>> = {
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};
