import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give to connections and to servers that ask for any (Linux from 32768, others from 49152). */
const FIRST = 10_000;
const LAST = 32_000;

/**
 * Different ports of the loopback address that were free a moment ago, chosen at random. No connection and no other
 * server is given one of them by the system before its owner listens, which a slow one does seconds later.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (isFree) await once(server.close(), 'close');
  return isFree;
}
