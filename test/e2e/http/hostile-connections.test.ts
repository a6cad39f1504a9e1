/** What somebody without a key can do to the service with nothing but connections. */

import { readFileSync } from 'node:fs';
import { get as getOverTls } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf, within } from '../../support/client.ts';
import {
  certificate,
  descriptors,
  open,
  openMany,
  peakMemory,
  readAll,
  unread,
} from '../../support/hostile.ts';
import { issueKey, type ServeOptions, type Service, serve } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const opened: Socket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});
const kept = <T extends Socket | Socket[]>(sockets: T): T => {
  opened.push(...[sockets].flat());
  return sockets;
};

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const LAST = 'Connection: close\r\n';
const BUNDLE = get('/docs/swagger-ui-bundle.js');

describe('requests sent one after the other on a connection', () => {
  let data: string;
  let service: Service;
  let key: string;
  beforeAll(async () => {
    data = newFolder();
    key = await issueKey(data, 'edc');
    service = await serve({ data, studies: TRIALS, args: ['--metrics-port', '0'] });
  });
  afterAll(() => service.stop());

  const enrol = (id: string, more = '') =>
    `POST /study_participants?study=Ward&ward=a&id=${id}&api_key=${key} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
  const enrolled = async () =>
    (await clientOf(service.url, key).list('Ward')).results.map(({ id }: { id: string }) => id);
  /** Lets the event loop turn until anything that would begin has begun. */
  const turns = async () => {
    for (let i = 0; i < 20; i++) await ask(service.url, '/healthz');
  };

  it('begin only after the previous answer has been sent', async () => {
    const socket = kept(await unread(service.url, [...Array(20).fill(BUNDLE), enrol('behind', LAST)]));
    await turns();
    expect(await enrolled()).not.toContain('behind');
    const answers = await readAll(socket);
    expect(answers).toContain('"id":"behind"');
    expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(21);
    expect(await enrolled()).toContain('behind');
  });

  it('never begin after the client has disconnected', async () => {
    for (const leave of ['destroy', 'resetAndDestroy', 'end'] as const) {
      const socket = kept(await unread(service.url, [...Array(20).fill(BUNDLE), enrol(leave)]));
      await turns();
      if (leave === 'end') socket.end();
      else socket[leave]();
    }
    await turns();
    for (const socket of opened) socket.destroy();
    await within(10_000, async () => descriptors(service.child.pid).sockets < 20);
    const stored = storedLog(data).map(({ record }) => record.data.participantId);
    for (const id of ['destroy', 'resetAndDestroy', 'end']) expect(stored).not.toContain(id);
  });

  it('are all answered in order, whatever they are', async () => {
    const kinds = (i: number) =>
      [
        [get('/healthz'), 200],
        [enrol(`mixed-${i}`), 200],
        [get(`/study_participants?study=Ward&id=mixed-${i}&api_key=${key}`), 200],
        [`HEAD /study_config?study=Ward&api_key=${key} HTTP/1.1\r\nHost: x\r\n\r\n`, 200],
        [`DELETE /healthz HTTP/1.1\r\nHost: x\r\n\r\n`, 405],
        [get(`/nowhere/${i}`), 404],
        [get('/docs/start.js'), 200],
        [`POST /study_config HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`, 405],
        [`POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`, 405],
        [get('/study_config', 'Expect: 100-continue\r\n'), 401],
      ] as const;
    const sent = Array.from({ length: 30 }, (_, i) => kinds(i)).flat();
    const socket = kept(await open(service.url));
    socket.write(sent.map(([request]) => request).join(''));
    socket.write(get('/healthz', LAST));
    const answers = await readAll(socket);
    const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    expect(statuses.filter((status) => status !== 100)).toEqual([...sent.map(([, status]) => status), 200]);
    expect((await enrolled()).filter((id: string) => id.startsWith('mixed'))).toHaveLength(30);
  });

  it('are answered up to the first one that is not HTTP, and then the connection is closed', async () => {
    const socket = kept(await open(service.url));
    socket.write([enrol('sound-1'), enrol('sound-2'), 'GARBAGE\u0000\r\n\r\n', enrol('after')].join(''));
    const answers = await readAll(socket);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
    expect(answers.match(/^Connection: .*$/gm)?.at(-1)).toBe('Connection: close');
    expect(await enrolled()).not.toContain('after');
  });

  it('do not keep other clients waiting, and are processed as the client reads', async () => {
    const before = await counted(service, '/healthz');
    const requests = [...Array(299).fill(get('/openapi.json')), get('/openapi.json', LAST)];
    const socket = kept(await unread(service.url, requests));
    await turns();
    expect(await counted(service, '/healthz')).toBeGreaterThanOrEqual(before + 20);
    expect(await counted(service, '/openapi.json')).toBeLessThan(250);
    expect((await readAll(socket)).match(/HTTP\/1\.1 200/g)).toHaveLength(300);
  });

  it('are not all accepted from many connections at once: a process limits how many it keeps waiting', async () => {
    const smallest = 'GET / HTTP/1.1\r\n\r\n';
    const before = peakMemory(service.child.pid);
    const answered = await counted(service, 'unknown');
    const sockets = kept(await openMany(service.url, 100));
    const ended = sockets.map((socket) => {
      socket.write(smallest.repeat(3_499) + get('/', LAST));
      return readAll(socket);
    });
    const each = (await Promise.all(ended)).map((answers) => answers.match(/HTTP\/1\.1 400/g)?.length ?? 0);
    for (const answers of each) expect(answers).toBeGreaterThan(0);
    expect((await counted(service, 'unknown')) - answered).toBeLessThan(100_000);
    expect(peakMemory(service.child.pid) - before).toBeLessThan(150);
  });

  it('use no file descriptors for the files of /docs', async () => {
    kept(await unread(service.url, Array(800).fill(BUNDLE)));
    await turns();
    expect(descriptors(service.child.pid).all).toBeLessThan(100);
  });
});

/** The number of fully answered requests for a route, from /metrics. */
async function counted({ output }: Service, route: string): Promise<number> {
  const [, address] = /"metricsAddress":"([^"]+)"/.exec(output.stderr) ?? [];
  const metrics = await (await fetch(`${address}/metrics`)).text();
  const lines = metrics.split('\n').filter((line) => line.startsWith('urn_http_requests_total{'));
  const counts = lines
    .filter((line) => line.includes(`route="${route}"`))
    .map((line) => Number(line.split(' ').at(-1)));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Concurrent, since they wait for the service's limits: each has its own service and connections. */
describe.concurrent('a connection that is held but not used', () => {
  const tls = certificate(newFolder());
  const TLS = ['--tls-cert', tls.cert, '--tls-key', tls.key];
  const held = ({ child }: Service) => descriptors(child.pid).sockets;
  type Connect = (number: number) => Promise<Socket[]>;
  const withService = async (
    options: Partial<ServeOptions>,
    use: (service: Service, connect: Connect) => Promise<void>,
  ) => {
    const service = await serve({ data: newFolder(), studies: TRIALS, ...options });
    const own: Socket[] = [];
    try {
      await use(service, async (number) => {
        const sockets = await openMany(service.url, number);
        own.push(...sockets);
        return sockets;
      });
    } finally {
      for (const socket of own) socket.destroy();
      await service.kill();
    }
  };

  it.each([
    ['says nothing', [], ''],
    ['says nothing to TLS', TLS, ''],
    ['never finishes its handshake', TLS, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['never finishes its request', [], 'GET /healthz HTTP/1.1\r\nHost: x\r\n'],
    ['never closes after it was refused', [], 'GARBAGE\r\n\r\n'],
  ])('is freed if its client %s and never closes it', async (_, args, bytes) => {
    await withService({ args }, async (service, connect) => {
      const before = held(service);
      const sockets = await connect(120);
      let answered = 0;
      for (const socket of sockets) {
        socket.write(bytes, 'latin1');
        socket.once('data', () => answered++);
      }
      await within(30_000, async () => held(service) >= before + 100 || answered === sockets.length);
      await within(40_000, async () => held(service) < before + 20);
    });
  });

  it('is freed even if its handshake continues a byte at a time', async () => {
    await withService({ args: TLS }, async (service, connect) => {
      const before = held(service);
      const sockets = await connect(20);
      await within(30_000, async () => held(service) >= before + 20);
      const hello = Buffer.from('16030102000100', 'hex');
      for (let i = 0; i < 40 && held(service) >= before + 20; i++) {
        for (const socket of sockets) socket.write(hello.subarray(i % 7, (i % 7) + 1));
        await delay(1_000);
      }
      expect(held(service)).toBeLessThan(before + 20);
    });
  });

  it('does not delay a shutdown in the middle of its handshake', async () => {
    await withService({ args: TLS }, async (service, connect) => {
      await connect(5);
      await service.stop();
      expect(service.output.stderr).toContain('"stopped"');
    });
  });

  it('is one of at most 256 per address, so that other addresses are served, over TLS too', async () => {
    for (const args of [[], TLS])
      await withService({ args }, async (service, connect) => {
        const before = held(service);
        const sockets = await connect(400);
        for (const socket of sockets) socket.resume();
        await within(30_000, async () => held(service) <= before + 256);
        const elsewhere = await statusFrom('127.0.0.9', service.url, tls.cert);
        expect(elsewhere).toBe(200);
        const refusals = () => service.output.stderr.match(/this address has as many as it may/g) ?? [];
        await within(10_000, async () => refusals().length === 1);
        for (const socket of sockets) socket.destroy();
        await within(
          30_000,
          async () => (await statusFrom(undefined, service.url, tls.cert).catch(() => 0)) === 200,
        );
      });
  });

  it('is subject to --connections-per-address instead if given, but not behind a proxy', async () => {
    await withService({ args: ['--connections-per-address', '3'] }, async (_, connect) => {
      const sockets = await connect(10);
      const gone = sockets.map(
        (socket) => new Promise((resolve) => socket.resume().once('end', resolve).once('close', resolve)),
      );
      let closed = 0;
      for (const one of gone) one.then(() => closed++);
      await within(8_000, async () => closed === 7);
    });
    await withService(
      { args: ['--connections-per-address', '3', '--trust-proxy', '1'] },
      async (service, connect) => {
        await connect(10);
        expect((await ask(service.url, '/healthz')).status).toBe(200);
        expect(service.output.stderr).toContain(
          '--connections-per-address has no effect behind --trust-proxy',
        );
      },
    );
  });
});

async function statusFrom(localAddress: string | undefined, url: string, ca: string): Promise<number> {
  const target = `${url}/healthz`;
  const from = localAddress === undefined ? {} : { localAddress };
  if (url.startsWith('http:')) {
    const socket = await open(url, localAddress);
    socket.write(get('/healthz', LAST));
    const answer = await readAll(socket);
    socket.destroy();
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
  }
  return new Promise((resolve, reject) => {
    getOverTls(target, { ca: readFileSync(ca), agent: false, ...from }, (response) => {
      resolve(response.resume().statusCode ?? 0);
    }).once('error', reject);
  });
}
