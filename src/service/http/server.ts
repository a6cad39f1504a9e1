/** The HTTP server and its limits on headers, connections and time. */
import { readFileSync } from 'node:fs';
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Express } from 'express';
import { Admission } from './admission.ts';
import { HEADER_BYTES, parsingProblem, refuseRaw } from './raw-refusal.ts';
import { Turns } from './turns.ts';

export interface Listening {
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** How many connections one address may hold. Undefined: only the limit for all addresses together applies. */
  readonly connectionsPerAddress?: number | undefined;
}

export interface HttpServerSettings extends Pick<Listening, 'tls' | 'connectionsPerAddress'> {
  /** A connection was refused. The address is given when it holds too many; otherwise all addresses together do. */
  readonly onConnectionRefused?: (address?: string) => void;
  readonly limits?: Partial<Record<keyof typeof LIMITS, number>>;
}

const LIMITS = {
  connections: 2000,
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** How often the two timeouts above are checked. */
  timeoutCheckMs: 1_000,
  /** A peer that reads nothing of its answer for this long is disconnected, after three times as long at the latest. */
  stalledMs: 30_000,
  keepAliveTimeoutMs: 65_000,
};

/** How long a shutdown waits for requests in progress, in ms. */
const DRAIN_MS = 20_000;
/**
 * A shutdown goes on listening until no connection has begun or ended during this many checks in a row. They are counted
 * rather than timed: on a busy machine, half a second may pass without this process getting to read what has arrived.
 */
const QUIET_CHECKS = 25;
const CHECK_MS = 20;
/** The limit if connections keep coming. */
const MAX_CHECKS = 10 * QUIET_CHECKS;

export class HttpServer {
  readonly #server: Server;
  readonly #tls: boolean;
  readonly #turns: Turns;
  /** The sockets of all connections, including those still in their TLS handshake. */
  readonly #sockets = new Set<Socket>();
  /** How many connections have come and ended. */
  #changes = 0;

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
      // The application answers this in the envelope. Node would answer without a body.
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
      this.#changes++;
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#changes++;
      });
    });
    if (connectionsPerAddress !== undefined)
      server.on('connection', new Admission(connectionsPerAddress, onConnectionRefused).admit);
    server.on('drop', () => onConnectionRefused());

    server.on(secure ? 'secureConnection' : 'connection', turns.add);
    server.on('request', turns.take);
    // Node would answer 417 without a body. RFC 9110 10.1.1 lets the server ignore the expectation.
    server.on('checkExpectation', turns.take);
    refuseErrors(server, turns);
    endStalled(server, turns, limits.stalledMs);
  }

  /** @returns the base address, with the actual port when 0 was asked for. Rejects when the port is in use. */
  listen(host: string, port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        const { address, family, port: actualPort } = this.#server.address() as AddressInfo;
        const shown = family === 'IPv6' ? `[${address}]` : address;
        resolve(`${this.#tls ? 'https' : 'http'}://${shown}:${actualPort}`);
      });
    });
  }

  /**
   * Answers the requests that were accepted, then closes. For a short while the server goes on listening, and each answer
   * ends its connection. A request may be on its way on a connection that looks idle. If that connection were closed at
   * once, the client would get no answer.
   */
  async drain(): Promise<void> {
    this.#turns.drain();
    for (let checks = 0, quiet = 0; checks < MAX_CHECKS && quiet < QUIET_CHECKS; checks++) {
      if (this.#sockets.size === 0) break;
      const before = this.#changes;
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
      quiet = this.#changes === before ? quiet + 1 : 0;
    }

    const closed = new Promise((resolve) => this.#server.close(resolve));
    const timers: NodeJS.Timeout[] = [];
    const late = new Promise((resolve) => timers.push(setTimeout(resolve, DRAIN_MS)));
    const sweep = () => {
      // To Node, a connection that has not sent a request yet is not idle.
      if (this.#turns.underWay === 0) this.#destroyAll();
      else this.#server.closeIdleConnections();
    };
    sweep();
    timers.push(setInterval(sweep, 100));
    await Promise.race([closed, late]);
    for (const timer of timers) clearTimeout(timer);
    this.#destroyAll();
  }

  /** Closes immediately. */
  close(): void {
    this.#server.close();
    this.#destroyAll();
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

function refuseErrors(server: Server, turns: Turns): void {
  // A client that has not finished the handshake cannot be answered.
  server.prependListener('tlsClientError', (_error, socket: Socket) => socket.destroy());
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    // While earlier requests are still being answered, the client would take the refusal for the answer to one of them.
    else if (!turns.endAfterLast(socket, parsingProblem(error))) refuseRaw(error, socket);
  });
}

/** Disconnects peers that read nothing. Node's own `timeout` would need a timer for each request. */
function endStalled(server: Server, turns: Turns, stalledMs: number): void {
  const timer = setInterval(() => turns.watch(stalledMs), stalledMs).unref();
  server.once('close', () => clearInterval(timer));
  server.on('timeout', (socket: Socket) => {
    if (!turns.isWorkedOn(socket)) socket.destroy();
  });
}

/**
 * Makes requests and responses with the prototypes that Express wants. Otherwise Express changes the prototype of each one
 * as it arrives, and V8 then runs everything that touches them on its slow path, Node's own code included. A route that
 * answers a constant serves five times as many requests per second this way (Node 20).
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
