/** The listening server and its limits: on the URL and headers, on connections, and on time. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { HttpProblem } from './problem.ts';
import { API_HEADERS, envelope } from './reply.ts';

export interface Listening {
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined;
}

export const LIMITS = {
  /** Request line and headers together, in bytes; more is answered with 431. */
  headerBytes: 16 * 1024,
  connections: 2000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
} as const;

/** How long a shutdown waits for requests under way, in ms. */
const DRAIN_MS = 20_000;

export class HttpServer {
  readonly #server: Server;
  readonly #tls: boolean;

  constructor(listener: RequestListener, tls: Listening['tls']) {
    const options = {
      maxHeaderSize: LIMITS.headerBytes,
      headersTimeout: LIMITS.headersTimeoutMs,
      requestTimeout: LIMITS.requestTimeoutMs,
      keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
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

  /** Takes no new connections, answers what was accepted, then closes. */
  async drain(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    const idle = setInterval(() => this.#server.closeIdleConnections(), 100);
    const force = setTimeout(() => this.#server.closeAllConnections(), DRAIN_MS);
    await closed;
    clearInterval(idle);
    clearTimeout(force);
  }
}

const RAW_PROBLEMS: Readonly<Record<string, HttpProblem>> = {
  HPE_HEADER_OVERFLOW: new HttpProblem(
    431,
    `The request line and headers may have ${LIMITS.headerBytes} bytes together`,
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new HttpProblem(408, 'The request took too long to arrive'),
};

/** What Node's parser refuses never reaches Express; it gets the envelope all the same. */
function refuseRaw(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, message } =
    RAW_PROBLEMS[error.code ?? ''] ?? new HttpProblem(400, 'The request is not valid HTTP');
  const body = envelope({ status, message, results: '[]' });
  const headers = [...API_HEADERS, 'Content-Length', String(Buffer.byteLength(body)), 'Connection', 'close'];
  let head = `HTTP/1.1 ${status} ${REASONS[status] ?? 'Bad Request'}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.end(`${head}\r\n${body}`);
}

const REASONS: Readonly<Record<number, string>> = {
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};
