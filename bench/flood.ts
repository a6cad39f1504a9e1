/**
 * The flood, a separate process: many keep-alive connections that send the same request again and again, each as soon as the
 * answer has come, whatever it says.
 */
import { connect, type Socket } from 'node:net';

export interface Flood {
  readonly port: number;
  readonly connections: number;
  /** A whole request. */
  readonly request: string;
}

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';
const LENGTH = /\r\ncontent-length: (\d+)\r\n/i;

let sockets: Socket[] = [];

function begin({ port, connections, request }: Flood): void {
  sockets = Array.from({ length: connections }, () => flooding(port, request));
}

function flooding(port: number, request: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const send = () => socket.write(request, 'latin1');
  let head = '';
  /** How much of the answer is missing; undefined while its head is read, or if it comes in chunks. */
  let missing: number | undefined;
  let isChunked = false;
  socket.on('connect', send);
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    if (missing === undefined && !isChunked) {
      head += chunk.toString('latin1');
      const end = head.indexOf(HEAD_END);
      if (end < 0) return;
      const length = LENGTH.exec(head.slice(0, end + 2))?.[1];
      isChunked = length === undefined;
      missing = isChunked ? undefined : Number(length) - (head.length - end - HEAD_END.length);
    } else if (missing !== undefined) missing -= chunk.length;
    const isWhole = isChunked
      ? chunk.subarray(-LAST_CHUNK.length).toString('latin1') === LAST_CHUNK
      : (missing ?? 1) <= 0;
    if (!isWhole) return;
    head = '';
    missing = undefined;
    isChunked = false;
    send();
  });
  return socket;
}

process.on('message', (order: Flood | 'end') => {
  if (order !== 'end') begin(order);
  else {
    for (const socket of sockets) socket.destroy();
    process.send?.('ended');
  }
});
