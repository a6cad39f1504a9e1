/** Clients that misbehave: many raw connections, and what they cost the process that accepts them. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';

/** Opens a connection that never closes its own side, and resolves when it is established. */
export function open(url: string, localAddress?: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(
      { host: hostname, port: Number(port), allowHalfOpen: true, ...(localAddress ? { localAddress } : {}) },
      () => resolve(socket),
    );
    // A refused connection is destroyed. Whatever else the service does to it is what the test asks about.
    socket.on('error', () => resolve(socket));
  });
}

export const openMany = (url: string, number: number, localAddress?: string): Promise<Socket[]> =>
  Promise.all(Array.from({ length: number }, () => open(url, localAddress)));

/** Sends the requests one after the other on a connection from which nothing is read. */
export async function unread(url: string, requests: readonly string[]): Promise<Socket> {
  const socket = await open(url);
  socket.pause();
  socket.write(Buffer.from(requests.join(''), 'latin1'));
  return socket;
}

/** Which of these connections the service has ended, from now on. */
export function endedAmong(sockets: readonly Socket[]): ReadonlySet<Socket> {
  const ended = new Set<Socket>();
  for (const socket of sockets) {
    const end = () => ended.add(socket);
    socket.resume().once('end', end).once('close', end);
  }
  return ended;
}

/** Everything that arrives until the connection ends. */
export function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    const end = () => resolve(Buffer.concat(chunks).toString('latin1'));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.once('end', end).once('close', end);
    socket.resume();
  });
}

/** Files that a process has open, sockets among them (Linux). */
export function descriptors(pid: number | undefined): { readonly all: number; readonly sockets: number } {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).flatMap((name) => {
    try {
      return readlinkSync(join(folder, name));
    } catch {
      // Closed in the meantime.
      return [];
    }
  });
  return { all: targets.length, sockets: targets.filter((target) => target.startsWith('socket:')).length };
}

/** How many connections from an address a process holds open at the port of the service (Linux). */
export function connectionsFrom(address: string, url: string): number {
  const hex = (byte: string | number, digits: number) =>
    Number(byte).toString(16).toUpperCase().padStart(digits, '0');
  const peer = address
    .split('.')
    .toReversed()
    .map((byte) => hex(byte, 2))
    .join('');
  const port = hex(new URL(url).port, 4);
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  return lines.filter((line) => {
    const [, local = '', remote = '', , , , , , , inode] = line.trim().split(/\s+/);
    // One that the process has closed has no inode.
    return local.endsWith(`:${port}`) && remote.startsWith(`${peer}:`) && inode !== '0';
  }).length;
}

/** The most memory that a process has had so far, in MB (Linux). */
export function peakMemory(pid: number | undefined): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1000;
}
