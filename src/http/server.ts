/** The listening server and its limits: on the URL and headers, on connections, and on time. */
import { readFileSync } from 'node:fs';
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Express } from 'express';
import { Admission } from './admission.ts';
import { HEADER_BYTES, refuseRaw } from './raw-refusal.ts';
import { Turns } from './turns.ts';

export interface Listening {
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** How many connections one address may hold; undefined: no limit but that of all. */
  readonly connectionsPerAddress?: number | undefined;
}

export interface HttpServerSettings extends Pick<Listening, 'tls' | 'connectionsPerAddress'> {
  /** A connection was refused; of an address that holds too many, with the address. */
  readonly onConnectionRefused?: (address?: string) => void;
  readonly limits?: Partial<Record<keyof typeof LIMITS, number>>;
}

const LIMITS = {
  connections: 2000,
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** How often the two above are looked after. */
  timeoutCheckMs: 1_000,
  /** A peer that takes nothing of its answer for this long is given up, at the latest after three times as long. */
  stalledMs: 30_000,
  keepAliveTimeoutMs: 65_000,
};

/** How long a shutdown waits for requests under way, in ms. */
const DRAIN_MS = 20_000;
/** How long it goes on listening, and waits for connections on which no whole request has arrived, in ms. */
const QUIET_MS = 500;

export class HttpServer {
  readonly #server: Server;
  readonly #tls: boolean;
  readonly #turns: Turns;
  /** Of every connection, those in the middle of their TLS handshake included. */
  readonly #sockets = new Set<Socket>();

  constructor(
    app: Express,
    { tls, connectionsPerAddress, onConnectionRefused = () => undefined, ...given }: HttpServerSettings = {},
  ) {
    const limits = { ...LIMITS, ...given.limits };
    const options = {
      ...messagesOf(app),
      maxHeaderSize: HEADER_BYTES,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.timeoutCheckMs,
      // The application says it in the envelope; Node would answer without a body.
      requireHostHeader: false,
    };
    const secure = tls && {
      cert: readFileSync(tls.certFile),
      key: readFileSync(tls.keyFile),
      handshakeTimeout: limits.handshakeTimeoutMs,
    };
    const turns = new Turns(app);
    const server = secure ? createTlsServer({ ...options, ...secure }) : createServer(options);
    this.#tls = tls !== undefined;
    this.#turns = turns;
    this.#server = server;

    server.maxConnections = limits.connections;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    if (connectionsPerAddress !== undefined)
      server.on('connection', new Admission(connectionsPerAddress, onConnectionRefused).admit);
    server.on('drop', () => onConnectionRefused());

    server.on(secure ? 'secureConnection' : 'connection', turns.add);
    server.on('request', turns.take);
    // Node would answer 417 without a body; RFC 9110 10.1.1 leaves it to the server.
    server.on('checkExpectation', turns.take);
    refuseErrors(server, turns);
    endStalled(server, turns, limits.stalledMs);
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
    this.#turns.drain();
    const started = performance.now();
    while (performance.now() - started < QUIET_MS && this.#sockets.size > 0)
      await new Promise((resolve) => setTimeout(resolve, 20));

    const closed = new Promise((resolve) => this.#server.close(resolve));
    const timers: NodeJS.Timeout[] = [];
    const late = new Promise((resolve) => timers.push(setTimeout(resolve, DRAIN_MS)));
    const sweep = () => {
      // To Node, a connection that has asked nothing yet is not idle.
      if (this.#turns.underWay === 0) this.#destroyAll();
      else this.#server.closeIdleConnections();
    };
    sweep();
    timers.push(setInterval(sweep, 100));
    await Promise.race([closed, late]);
    for (const timer of timers) clearTimeout(timer);
    this.#destroyAll();
  }

  /** Closes at once. */
  close(): void {
    this.#server.close();
    this.#destroyAll();
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

function refuseErrors(server: Server, turns: Turns): void {
  // Nothing can be said to who has not finished the handshake.
  server.prependListener('tlsClientError', (_error, socket: Socket) => socket.destroy());
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    // Behind requests that are still being answered: the client would take the refusal for the answer to one of them.
    else if (!turns.endAfterLast(socket)) refuseRaw(error, socket);
  });
}

/** Not as Node's own `timeout`, which takes a timer for each request. */
function endStalled(server: Server, turns: Turns, stalledMs: number): void {
  const timer = setInterval(() => turns.watch(stalledMs), stalledMs).unref();
  server.once('close', () => clearInterval(timer));
  server.on('timeout', (socket: Socket) => {
    if (!turns.isWorkedOn(socket)) socket.destroy();
  });
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
