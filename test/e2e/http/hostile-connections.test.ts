/** What somebody without a key can do to the service with nothing but connections. */
import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate } from '../../support/certificate.ts';
import { ask, clientOf, within } from '../../support/client.ts';
import { sendRaw } from '../../support/cookie-client.ts';
import {
  connectionsFrom,
  descriptors,
  endedAmong,
  open,
  openMany,
  peakMemory,
  readAll,
  unread,
} from '../../support/hostile.ts';
import { issueKey, type Service, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
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
  const data = newFolder();
  let service: Service;
  let key: string;
  beforeAll(async () => {
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
  const statusesIn = (answers: string) =>
    [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  /** The number of fully answered requests for a route, from /metrics. */
  const counted = async (route: string) => {
    const [, address] = /"metricsAddress":"([^"]+)"/.exec(service.output.stderr) ?? [];
    const lines = (await (await fetch(`${address}/metrics`)).text()).split('\n');
    return lines
      .filter((line) => line.startsWith('urn_http_requests_total{') && line.includes(`route="${route}"`))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };

  it('begin only after the previous answer has been sent', async () => {
    const socket = kept(await unread(service.url, [...Array(20).fill(BUNDLE), enrol('behind', LAST)]));
    await turns();
    expect(await enrolled()).not.toContain('behind');
    const answers = await readAll(socket);
    expect(answers).toContain('"id":"behind"');
    expect(statusesIn(answers)).toEqual(Array(21).fill(200));
    expect(await enrolled()).toContain('behind');
  });

  it('never begin after the client has disconnected', async () => {
    const ways = ['destroy', 'resetAndDestroy', 'end'] as const;
    for (const leave of ways) {
      const socket = kept(await unread(service.url, [...Array(20).fill(BUNDLE), enrol(leave)]));
      await turns();
      socket[leave]();
    }
    await turns();
    for (const socket of opened) socket.destroy();
    await within(10_000, async () => descriptors(service.child.pid).sockets < 20);
    const stored = storedLog(data).map(({ record }) => record.data.participantId);
    for (const id of ways) expect(stored).not.toContain(id);
  });

  it('are all answered in order, whatever they are', async () => {
    const kinds = (i: number) =>
      [
        [enrol(`mixed-${i}`), 200],
        [get(`/study_participants?study=Ward&id=mixed-${i}&api_key=${key}`), 200],
        [`HEAD /study_config?study=Ward&api_key=${key} HTTP/1.1\r\nHost: x\r\n\r\n`, 200],
        [get(`/nowhere/${i}`), 404],
        [get('/docs/start.js'), 200],
        [`POST /study_config HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`, 405],
        [`POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`, 405],
        [get('/study_config', 'Expect: 100-continue\r\n'), 401],
      ] as const;
    const sent = Array.from({ length: 10 }, (_, i) => kinds(i)).flat();
    const socket = kept(await open(service.url));
    socket.write(sent.map(([bytes]) => bytes).join(''));
    // Up to the first one that is not HTTP.
    socket.write(['GARBAGE\u0000\r\n\r\n', enrol('after')].join(''));
    const answers = await readAll(socket);
    const statuses = statusesIn(answers).filter((status) => status !== 100);
    const [answered, refused] = [statuses.slice(0, sent.length), statuses.slice(sent.length)];
    expect(answered).toEqual(sent.map(([, status]) => status));
    // Said only if nothing else was left to say.
    expect(refused.filter((status) => status !== 400)).toEqual([]);
    expect(answers.match(/^Connection: .*$/gm)?.at(-1)).toBe('Connection: close');
    expect((await enrolled()).filter((id: string) => /mixed|after/.test(id))).toHaveLength(10);
  });

  it('do not keep other clients waiting, and are processed as the client reads', async () => {
    const before = await counted('/healthz');
    const requests = [...Array(119).fill(get('/openapi.json')), get('/openapi.json', LAST)];
    const socket = kept(await unread(service.url, requests));
    await turns();
    expect(await counted('/healthz')).toBeGreaterThanOrEqual(before + 20);
    expect(await counted('/openapi.json')).toBeLessThan(100);
    expect(statusesIn(await readAll(socket))).toEqual(Array(120).fill(200));
  });

  it('are not all accepted from many connections at once: a process limits how many it keeps waiting', async () => {
    const before = peakMemory(service.child.pid);
    const answered = await counted('unknown');
    const sockets = kept(await openMany(service.url, 30));
    const ended = sockets.map((socket) => {
      socket.write('GET / HTTP/1.1\r\n\r\n'.repeat(3_499) + get('/', LAST));
      return readAll(socket);
    });
    for (const answers of await Promise.all(ended)) expect(answers).toContain('HTTP/1.1 400');
    expect((await counted('unknown')) - answered).toBeLessThan(30_000);
    expect(peakMemory(service.child.pid) - before).toBeLessThan(150);
  });
});

/** Connections that stay open until the tests are over. */
const held: Socket[] = [];

/** Connections from an address, and which of them the service has ended. */
async function connect({ url }: Pick<Service, 'url'>, number: number, address: string) {
  const sockets = await openMany(url, number, address);
  held.push(...sockets);
  return { sockets, ended: endedAmong(sockets) };
}

/** An address may have 256 connections, and others are served meanwhile. */
async function limitsAddresses(service: Pick<ServiceHere, 'url' | 'output'>, ca?: string): Promise<void> {
  const { url, output } = service;
  const address = '127.0.0.9';
  const { sockets, ended } = await connect(service, 300, address);
  // A client may hear of the end before the service has closed its side.
  await within(30_000, async () => ended.size >= 44 && connectionsFrom(address, url) <= 256);
  expect(await statusFrom('127.0.0.10', url, ca)).toBe(200);
  const refusals = () => output.stderr.match(/this address has as many as it may/g) ?? [];
  await within(10_000, async () => refusals().length === 1);
  for (const socket of sockets) socket.destroy();
  await within(30_000, async () => (await statusFrom(address, url, ca).catch(() => 0)) === 200);
}

/** Concurrent, since they wait for the service's limits: each has connections from its own address. */
describe.concurrent('a connection that is held but not used', () => {
  const services: ServiceHere[] = [];
  const start = async (more: Parameters<typeof serveHere>[2]) => {
    const service = await serveHere('', TRIALS, { store: 'memory:', connectionsPerAddress: 256, ...more });
    services.push(service);
    return service;
  };
  const { certFile, keyFile } = makeCertificate(newFolder(), 'IP:127.0.0.1');
  const tls = { certFile, keyFile };
  let plain: ServiceHere;
  let secure: ServiceHere;
  beforeAll(async () => {
    [plain, secure] = [await start({}), await start({ tls })];
  });
  afterAll(async () => {
    for (const socket of held) socket.destroy();
    for (const service of services) await service.stop();
  });
  it.each<[string, '' | 'TLS', string, string]>([
    ['says nothing', '', '127.0.0.2', ''],
    ['says nothing to TLS', 'TLS', '127.0.0.3', ''],
    ['never finishes its handshake', 'TLS', '127.0.0.4', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['never finishes its request', '', '127.0.0.5', 'GET /healthz HTTP/1.1\r\nHost: x\r\n'],
    ['never closes after it was refused', '', '127.0.0.6', 'GARBAGE\r\n\r\n'],
  ])('is freed if its client %s and never closes it', async (_, over, address, bytes) => {
    const service = over === 'TLS' ? secure : plain;
    const { sockets, ended } = await connect(service, 60, address);
    for (const socket of sockets) socket.write(bytes, 'latin1');
    await within(60_000, async () => ended.size === 60);
    await within(5_000, async () => connectionsFrom(address, service.url) === 0);
  });

  it('is freed even if its handshake continues a byte at a time', async () => {
    const address = '127.0.0.7';
    const { sockets, ended } = await connect(secure, 20, address);
    const hello = Buffer.from('16030102000100', 'hex');
    for (let i = 0; i < 40 && ended.size < 20; i++) {
      for (const socket of sockets) socket.write(hello.subarray(i % 7, (i % 7) + 1));
      await delay(1_000);
    }
    expect([ended.size, connectionsFrom(address, secure.url)]).toEqual([20, 0]);
  });

  it('does not delay a shutdown in the middle of its handshake', async () => {
    const service = await start({ tls });
    await connect(service, 5, '127.0.0.8');
    const started = performance.now();
    await service.stop();
    expect(performance.now() - started).toBeLessThan(9_000);
    expect(connectionsFrom('127.0.0.8', service.url)).toBe(0);
  });

  it.each(['over TLS', ''])('is one of at most 256 per address, and others are served %s', (over) =>
    over === '' ? limitsAddresses(plain) : limitsAddresses(secure, certFile),
  );
});

async function statusFrom(localAddress: string, url: string, ca: string | undefined): Promise<number> {
  const agent = ca === undefined ? new Agent({ localAddress }) : new TlsAgent({ localAddress });
  return (await sendRaw(`${url}/healthz`, { agent, ca })).status;
}
