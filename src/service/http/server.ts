/**
 * The HTTP server: what happens to connections before the application (app.ts) sees a request. There may be only so many, for so
 * long. Each is served one request at a time. What Node's parser refuses is answered here. A server that drains answers what it
 * has accepted, and ends every connection.
 *
 * A server of the same kind gives /metrics a port of its own, for the service and for a relay that runs by itself.
 */
import { readFileSync } from 'node:fs';
import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Express, NextFunction, Request, Response } from 'express';
import express from 'express';
import type { Registry } from 'prom-client';
import type { Logger } from '../monitoring/logger.ts';
import { type Metrics, metricsGatherer } from '../monitoring/metrics.ts';
import { cutShort, HttpProblem, refusedHeader } from './request/problem.ts';
import { API_HEADERS, envelope, send } from './request/reply.ts';

/** Where a server listens, and for whom. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** How many connections one address may hold. Undefined: only the limit for all addresses together applies. */
  readonly connectionsPerAddress?: number | undefined;
}

interface HttpServerSettings extends Pick<Listening, 'tls' | 'connectionsPerAddress'> {
  /** A connection was accepted, even if it is refused afterwards. */
  readonly onConnection?: () => void;
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

/** The most that the request line and headers may have together, in bytes. A longer request gets 431. */
const HEADER_BYTES = 64 * 1024;

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
  readonly #queue: ConnectionQueue;
  /** The sockets of all connections, including those still in their TLS handshake. */
  readonly #sockets = new Set<Socket>();
  /** How many connections have come and ended. */
  #changes = 0;

  constructor(
    app: Express,
    {
      tls,
      connectionsPerAddress,
      onConnection,
      onConnectionRefused = () => undefined,
      ...given
    }: HttpServerSettings = {},
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
    const queue = new ConnectionQueue(app);
    const server = secure ? createTlsServer({ ...options, ...secure }) : createServer(options);
    this.#tls = tls !== undefined;
    this.#queue = queue;
    this.#server = server;

    server.maxConnections = limits.connections;
    if (onConnection) server.on('connection', onConnection).on('drop', onConnection);
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

    server.on(secure ? 'secureConnection' : 'connection', queue.add);
    server.on('request', queue.take);
    // Node would answer 417 without a body. RFC 9110 10.1.1 lets the server ignore the expectation.
    server.on('checkExpectation', queue.take);
    refuseErrors(server, queue);
    endStalled(server, queue, limits.stalledMs);
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
    this.#queue.drain();
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
      if (this.#queue.underWay === 0) this.#destroyAll();
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

/** The requests of one connection that have arrived. */
interface Pipeline {
  /** The answer in progress, until it has been sent. */
  serving: ServerResponse | undefined;
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
  /** Nothing more is read, and the connection ends with the last answer. */
  isEnding: boolean;
}

/**
 * How many requests may wait in the whole process: about as many as one connection can bring at once (64 KiB, at 18 bytes
 * each). Each costs 2 kB and 30 µs before it is looked at. A connection that exceeds the limit ends after the requests that
 * it has brought so far.
 */
const MAX_WAITING = 4_000;

/**
 * Serves each connection one request at a time. Node hands over every pipelined request as soon as it is parsed, and holds
 * each answer until those before it are sent. So a client that reads nothing could have thousands of requests processed.
 * Here a request starts only when the answer before it has been sent, and never after the peer has disconnected.
 */
class ConnectionQueue {
  readonly #app: Express;
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  readonly #underWay = new Set<ServerResponse>();
  #waiting = 0;
  #isDraining = false;

  constructor(app: Express) {
    this.#app = app;
  }

  /** The number of answers that are in progress. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /** Call it for each new connection, after Node's own listeners. */
  readonly add = (socket: Socket): void => {
    const pipeline: Pipeline = { serving: undefined, waiting: [], isEnding: false };
    this.#pipelines.set(socket, pipeline);
    // Node resumes reading on its own when its buffer has been sent or a body has ended.
    socket.on('resume', () => {
      if (pipeline.waiting.length > 0 || pipeline.isEnding) socket.pause();
    });
    // Node would destroy each request with an error, and making its stack is most of the work. This comes before Node.
    socket.prependOnceListener('close', () => {
      for (const [request] of pipeline.waiting) request.destroy();
      this.#waiting -= pipeline.waiting.length;
      pipeline.waiting.length = 0;
    });
  };

  readonly take: RequestListener = (request, response) => {
    const { socket } = request;
    const pipeline = this.#pipelines.get(socket);
    if (!pipeline) throw new Error('a request on a connection that was not added');
    if (!pipeline.serving) {
      this.#begin(pipeline, request, response);
      return;
    }
    pipeline.waiting.push([request, response]);
    socket.pause();
    if (++this.#waiting < MAX_WAITING || pipeline.isEnding) return;
    stopParsing(socket);
    this.endAfterLast(socket, new HttpProblem(400, 'Too many requests wait on this connection'));
  };

  /** Makes the sockets of answers in progress emit `timeout` when nothing was received or sent for this long. */
  watch(ms: number): void {
    for (const { socket } of this.#underWay) if (!socket?.timeout) socket?.setTimeout(ms);
  }

  /** Whether an answer is still being produced: one is in progress, and no part of it waits to be sent. */
  isWorkedOn(socket: Socket): boolean {
    return this.#pipelines.get(socket)?.serving !== undefined && socket.writableLength === 0;
  }

  /**
   * Reads nothing more from a connection, answers the requests it has sent so far, and ends it.
   * @param why is answered to the last of them if its body is not complete
   * @returns false when no request is being answered
   */
  endAfterLast(socket: Socket, why: HttpProblem): boolean {
    const pipeline = this.#pipelines.get(socket);
    if (!pipeline?.serving) return false;
    pipeline.isEnding = true;
    socket.pause();
    const [, last] = pipeline.waiting.at(-1) ?? [undefined, pipeline.serving];
    endsConnection(last);
    cutShort(last.req, why);
    // An answer whose headers are already sent does not end the connection.
    last.once('close', () => endSoon(socket));
    return true;
  }

  /** From now on every answer ends its connection, and the requests waiting after it are not started. */
  drain(): void {
    this.#isDraining = true;
    for (const response of this.#underWay) endsConnection(response);
  }

  #begin(pipeline: Pipeline, request: IncomingMessage, response: ServerResponse): void {
    pipeline.serving = response;
    this.#underWay.add(response);
    response.once('close', () => {
      this.#underWay.delete(response);
      if (pipeline.waiting.length === 0) pipeline.serving = undefined;
      // Other work first: a whole pipeline may be answered without ever waiting.
      else setImmediate(() => this.#next(pipeline, request.socket));
    });
    if (this.#isDraining) endsConnection(response);
    // Express gives back only a request whose target it cannot read. It would answer that itself, in HTML.
    this.#app(request as Request, response as Response, () => refuseTarget(response));
  }

  #next(pipeline: Pipeline, socket: Socket): void {
    pipeline.serving = undefined;
    // If it is not writable, the previous answer or the peer has ended the connection.
    const next = socket.writable ? pipeline.waiting.shift() : undefined;
    if (!next) return;
    this.#waiting--;
    if (pipeline.waiting.length === 0 && !pipeline.isEnding) socket.resume();
    this.#begin(pipeline, ...next);
  }
}

/**
 * Pausing a socket does not stop Node's parser in the middle of the bytes it has already read. The parser asks what follows
 * a request, and the answer 2 means that it is not HTTP. This depends on Node's internals. If it stops working, parsing the
 * rest only costs time.
 */
function stopParsing(socket: Socket & { readonly parser?: { onIncoming?: () => number } | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => 2;
}

/** Makes the answer end its connection. Has no effect once its headers are sent. */
function endsConnection(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

/** Limits how many connections one address may hold, so that no client can take all of them. */
class Admission {
  readonly #maximum: number;
  readonly #onRefused: (address: string) => void;
  /** The number of connections by holder. No entry means none. */
  readonly #held = new Map<string, number>();

  constructor(maximum: number, onRefused: (address: string) => void) {
    this.#maximum = maximum;
    this.#onRefused = onRefused;
  }

  /** Destroys a new connection if its holder already has the maximum. */
  readonly admit = (socket: Socket): void => {
    const { remoteAddress } = socket;
    // The connection is already closed.
    if (remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const holder = holderOf(remoteAddress);
    const held = this.#held.get(holder) ?? 0;
    if (held >= this.#maximum) {
      socket.destroy();
      this.#onRefused(holder);
      return;
    }
    this.#held.set(holder, held + 1);
    socket.once('close', () => {
      const left = (this.#held.get(holder) ?? 0) - 1;
      if (left > 0) this.#held.set(holder, left);
      else this.#held.delete(holder);
    });
  };
}

/** Whose connection it is: the IPv4 address, or the IPv6 /64, since one client usually has a whole /64 to itself. */
export function holderOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [left = [], right = []] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - left.length - right.length).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}

const REFUSAL_LOG_INTERVAL_MS = 60_000;

/** Counts every refused connection, and logs at most one a minute. */
export function refusedConnections(metrics: Metrics, logger: Logger) {
  let quietUntil = 0;
  return (address?: string) => {
    metrics.connectionRefused();
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + REFUSAL_LOG_INTERVAL_MS;
    logger.warn(
      { address },
      address === undefined
        ? 'connections are refused: this process has as many as it can take'
        : 'connections are refused: this address has as many as it may (hint: --connections-per-address; if it is a proxy, --trust-proxy)',
    );
  };
}

/** Answers requests that Node's parser refuses. They never reach Express, but get the same envelope. */
function refuseErrors(server: Server, queue: ConnectionQueue): void {
  // A client that has not finished the handshake cannot be answered.
  server.prependListener('tlsClientError', (_error, socket: Socket) => socket.destroy());
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    // While earlier requests are still being answered, the client would take the refusal for the answer to one of them.
    else if (!queue.endAfterLast(socket, parsingProblem(error))) refuseRaw(error, socket);
  });
}

const PARSING_PROBLEMS: Readonly<Record<string, HttpProblem>> = {
  HPE_HEADER_OVERFLOW: new HttpProblem(
    431,
    `The request line and headers may have at most ${HEADER_BYTES} bytes together`,
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new HttpProblem(408, 'The request took too long to arrive'),
};

const INVALID = new HttpProblem(400, 'The request is not valid HTTP');

/** The problem with a request that the parser refused. */
function parsingProblem({ code = '' }: NodeJS.ErrnoException): HttpProblem {
  return PARSING_PROBLEMS[code] ?? INVALID;
}

function refuseTarget(response: ServerResponse): void {
  const { status, message, word } = INVALID;
  send(response, { status, message, results: '[]', headers: refusedHeader(word) });
}

const REASON_PHRASES: Readonly<Record<number, string>> = {
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

/** Answers a request that the parser refused, and ends the connection. */
function refuseRaw(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket): void {
  const { status, message, word } = parsingProblem(error);
  const start = error.rawPacket?.toString('latin1', 0, 64) ?? '';
  const body = envelope({
    status,
    message,
    results: /^[A-Z]+ \/(study_config|checkpoint|(inclusion|consistency)_proof)\b/.test(start) ? '{}' : '[]',
  });
  const own = { ...refusedHeader(word), 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
  const headers = [...API_HEADERS, ...Object.entries(own).flat()];
  let head = `HTTP/1.1 ${status} ${REASON_PHRASES[status] ?? 'Bad Request'}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  endSoon(socket, `${head}\r\n${body}`);
}

/** How long a refused client has to read the answer, in ms. Without a limit it could hold the connection forever. */
const LINGER_MS = 1_000;

/** Ends a connection, and destroys it if the peer does not end it too. */
function endSoon(socket: Socket, last?: string): void {
  if (last === undefined) socket.end();
  else socket.end(last);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** Disconnects peers that read nothing. Node's own `timeout` would need a timer for each request. */
function endStalled(server: Server, queue: ConnectionQueue, stalledMs: number): void {
  const timer = setInterval(() => queue.watch(stalledMs), stalledMs).unref();
  server.once('close', () => clearInterval(timer));
  server.on('timeout', (socket: Socket) => {
    if (!queue.isWorkedOn(socket)) socket.destroy();
  });
}

/** Serves /metrics and /healthz. */
export interface MetricsServer {
  readonly address: string;
  close(): void;
}

/** There are only a few scrapers. */
const SCRAPER_CONNECTIONS = 32;

/** @throws a system error when it cannot listen */
export async function serveMetrics(registry: Registry, host: string, port: number): Promise<MetricsServer> {
  const server = new HttpServer(metricsApp(registry), { connectionsPerAddress: SCRAPER_CONNECTIONS });
  const address = await server.listen(host, port);
  return { address, close: () => server.close() };
}

function metricsApp(registry: Registry): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  const gather = metricsGatherer(registry);
  app.get('/metrics', async (_, response) => {
    response.set('Content-Type', registry.contentType).end(await gather());
  });
  app.get('/healthz', (_, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.use((_, response) => {
    response.status(404).set(refusedHeader('not-found')).type('text/plain').send('/metrics or /healthz\n');
  });
  // Express recognizes an error handler by its four parameters. Its default one would show the stack.
  app.use((_error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    response.status(500).set(refusedHeader('failed')).type('text/plain').send('failed\n');
  });
  return app;
}
