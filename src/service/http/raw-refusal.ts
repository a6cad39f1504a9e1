/** Answers requests that Node's parser refuses. They never reach Express, but get the same envelope. */
import type { Socket } from 'node:net';
import { HttpProblem } from './request/problem.ts';
import { API_HEADERS, envelope } from './request/reply.ts';

/** The most that the request line and headers may have together, in bytes. A longer request gets 431. */
export const HEADER_BYTES = 64 * 1024;
/** How long a refused client has to read the answer, in ms. Without a limit it could hold the connection forever. */
const LINGER_MS = 1_000;

const PROBLEMS: Readonly<Record<string, HttpProblem>> = {
  HPE_HEADER_OVERFLOW: new HttpProblem(
    431,
    `The request line and headers may have at most ${HEADER_BYTES} bytes together`,
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new HttpProblem(408, 'The request took too long to arrive'),
};
const REASONS: Readonly<Record<number, string>> = {
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

/** The problem with a request that the parser refused. */
export function parsingProblem({ code = '' }: NodeJS.ErrnoException): HttpProblem {
  return PROBLEMS[code] ?? new HttpProblem(400, 'The request is not valid HTTP');
}

/** Answers a request that the parser refused, and ends the connection. */
export function refuseRaw(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket): void {
  const { status, message } = parsingProblem(error);
  const start = error.rawPacket?.toString('latin1', 0, 64) ?? '';
  const body = envelope({
    status,
    message,
    results: /^[A-Z]+ \/(study_config|checkpoint|(inclusion|consistency)_proof)\b/.test(start) ? '{}' : '[]',
  });
  const headers = [...API_HEADERS, 'Content-Length', String(Buffer.byteLength(body)), 'Connection', 'close'];
  let head = `HTTP/1.1 ${status} ${REASONS[status] ?? 'Bad Request'}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  endSoon(socket, `${head}\r\n${body}`);
}

/** Ends a connection, and destroys it if the peer does not end it too. */
export function endSoon(socket: Socket, last?: string): void {
  if (last === undefined) socket.end();
  else socket.end(last);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
