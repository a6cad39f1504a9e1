/** Whoever floods the service waits for others, and not they for them. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { apiApp, route } from '../../../src/service/http/app.ts';
import { InProgress } from '../../../src/service/http/request/in-progress.ts';
import { HttpServer } from '../../../src/service/http/server.ts';
import { makeLogger } from '../../../src/service/monitoring/logger.ts';
import { makeMetrics } from '../../../src/service/monitoring/metrics.ts';

/** How long the service works for each request of the flood, whatever else the machine does. */
const WORK_MS = 5;
const CONNECTIONS = 60;

let server: HttpServer;
let port: number;
let sockets: Socket[];
/** Requests of the flood that were worked on. */
let worked: number;

beforeEach(async () => {
  const limits = new InProgress();
  const app = apiApp({
    ...{ limits, logger: makeLogger('silent'), trustProxy: undefined },
    metrics: makeMetrics({ lagSeconds: () => 0, studies: () => new Map() }),
  });
  route(app, '/flooded', '[]', {
    GET: (_, response) => {
      const end = performance.now() + WORK_MS;
      while (performance.now() < end);
      worked++;
      response.end('flooded');
    },
  });
  route(app, '/healthz', '[]', { GET: (_, response) => void response.end('well') });
  server = new HttpServer(app, { onConnection: limits.turns.connectionArrived });
  port = Number(new URL(await server.listen('127.0.0.1', 0)).port);
  sockets = [];
  worked = 0;
});

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

function opened(path: string, localAddress = '127.0.0.1'): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  return socket;
}

/** Keeps as many requests before the service as it has connections. */
async function flood(): Promise<void> {
  for (let i = 0; i < CONNECTIONS; i++) {
    const socket = opened('/flooded');
    socket.on('data', () => socket.write('GET /flooded HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'));
  }
  while (worked < 3 * CONNECTIONS) await nextTurn();
}

it.each([
  ['a health check, even from the same address,', '/healthz', '127.0.0.1'],
  ['whatever is asked from another address', '/flooded', '127.0.0.2'],
])('%s waits for a few requests of a flood, not for one of each connection', async (_, path, address) => {
  await flood();
  for (let n = 0; n < 5; n++) {
    const before = worked;
    await once(opened(path, address), 'data');
    expect(worked - before).toBeLessThan(CONNECTIONS / 3);
  }
});
