/** The TLS proxy of deploy/haproxy.cfg, run by HAProxy itself, before two services on one log. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { MemoryStore } from '../../../src/store/memory.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { type Answer, ask, metric, within } from '../../support/client.ts';
import { CookieClient } from '../../support/cookie-client.ts';
import { freePorts } from '../../support/free-ports.ts';
import { openMany, readAll } from '../../support/hostile.ts';
import { STUDIES, STUDY_NAMES } from '../../support/load.ts';
import { closeLog } from '../../support/moving.ts';
import { startNameServer } from '../../support/name-server.ts';
import { hasProxy, startProxy, type TlsProxy } from '../../support/proxy.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const temporaryFolder = temporaryFolders();
const folder = temporaryFolder();
const LEVELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  One: { sex: 'F' },
  Two: { sex: 'F', site: '11' },
  Three: { age: 'old', smoker: 'no', ward: 'a' },
};

describe.skipIf(!hasProxy())('two instances behind the proxy', () => {
  const data = join(folder, 'data');
  let instances: [Service, Service];
  let proxy: TlsProxy;
  let key: string;

  beforeAll(async () => {
    const keys = await issueKeys(data, { edc: ['edc'] });
    key = keys.edc;
    const start = () => serve({ data, studies: STUDIES, args: ['--trust-proxy', '1'] });
    instances = await Promise.all([start(), start()]);
    const [a, b] = instances.map(({ url }) => new URL(url).host) as [string, string];
    proxy = await startProxy(folder, [a, b], keys.edc);
  });
  afterAll(async () => {
    proxy?.child.kill('SIGKILL');
    for (const service of instances ?? []) await service.kill();
  });

  const randomize = (study: string, id: string) =>
    proxy.ask('POST', '/study_participants', { study, id, sex: 'F' });
  const list = (study: string) => proxy.ask('GET', '/study_participants', { study });
  const allocations = (service: Service) => metric(service, 'urn_allocations_total');

  it('answer over TLS, and each study stays with one instance as long as that is ready', async () => {
    for (let id = 1; id <= 10; id++) expect((await randomize('One', String(id))).status).toBe(200);
    expect((await Promise.all(instances.map(allocations))).toSorted((a, b) => a - b)).toEqual([0, 10]);
    expect((await list('One')).results).toHaveLength(10);
  });

  it('are signed in at once, over TLS, whichever answers', async () => {
    const browser = new CookieClient(`https://localhost:${proxy.port}`, join(folder, 'proxy.pem'));
    expect((await browser.signIn(key)).status).toBe(200);
    expect(browser.cookie).toMatch(/^__Host-/);
    for (const study of STUDY_NAMES)
      for (const path of [`/study_config?study=${study}`, '/session'])
        expect((await browser.ask(path)).status, path).toBe(200);
    const foreign = { Origin: 'https://evil.example.org' };
    expect((await browser.ask('/session', { headers: foreign })).status).toBe(403);
    expect((await browser.signOut()).results).toEqual({ recorded: true });
  });

  it('report a change at once, since the proxy holds no part of an answer back', async () => {
    const socket = connect({ host: '127.0.0.1', port: proxy.port, rejectUnauthorized: false });
    let received = '';
    socket.on('data', (piece) => {
      received += piece;
    });
    socket.write(`GET /changes?study=Two HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\n\r\n`);
    await within(5_000, async () => received.includes('text/event-stream'));
    const live = { study: 'Two', id: 'live', ...LEVELS['Two'] };
    const { status, headers } = await proxy.ask('POST', '/study_participants', live);
    expect(status).toBe(200);
    await within(5_000, async () => received.includes(`id: ${headers.get('urn-revision')}\n`));
    socket.destroy();
  });

  it('continue with the other instance if one is killed, and lose nothing', async () => {
    const counts = await Promise.all(instances.map(allocations));
    await instances[counts.indexOf(10)]?.kill();
    for (let id = 11; id <= 20; id++)
      await within(10_000, async () => {
        const { status } = await randomize('One', String(id)).catch(() => ({ status: 0 }));
        return status === 200;
      });
    const { results } = await list('One');
    const ids = Array.from({ length: 20 }, (_, i) => String(i + 1));
    expect(results.map(({ id }: { id: string }) => id)).toEqual(ids);
  });

  it('limit each address to 256 connections, so that others are served', async () => {
    const from = (localAddress: string) => openMany(`http://127.0.0.1:${proxy.port}`, 300, localAddress);
    const sockets = await from('127.0.0.9');
    for (const socket of sockets) socket.resume();
    const refused = () => sockets.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length;
    await within(20_000, async () => refused() >= 44);
    expect(refused()).toBe(44);
    expect((await list('One')).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it('keep the metrics for the operator, give a request ten seconds, and do not answer plain HTTP', async () => {
    const socket = connect({ host: '127.0.0.1', port: proxy.port, rejectUnauthorized: false });
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 408 /);
    const { status, text } = await proxy.get('/metrics');
    expect([status, text.includes('urn_')]).toEqual([404, false]);
    await expect(ask(`http://127.0.0.1:${proxy.port}`, '/healthz')).rejects.toThrow();
  });
});

describe.skipIf(!hasProxy())('the proxy', () => {
  /** With another studies file, which suspends every study. */
  const OTHER_STUDIES = STUDIES.replaceAll('treatments: [A, B', 'treatments: [A, Z, B');
  const start = async (data: string, studies: string, at: { host?: string; port?: number } = {}) => {
    const service = await serveHere(data, studies, { trustProxy: 1, ...at });
    onTestFinished(() => service.stop());
    return service;
  };
  const startBefore = async (hosts: [string, string], key: string, resolver?: string) => {
    const proxy = await startProxy(temporaryFolder(), hosts, key, resolver);
    onTestFinished(() => void proxy.child.kill('SIGKILL'));
    return proxy;
  };
  /** It looks once a second. Each request has a handshake of its own. */
  const until = (isSo: () => Promise<boolean>) =>
    expect.poll(isSo, { timeout: 30_000, interval: 250 }).toBe(true);
  const hostOf = ({ url }: ServiceHere) => new URL(url).host;
  const post = (proxy: TlsProxy, study: string, id: string) =>
    proxy.ask('POST', '/study_participants', { study, id, ...LEVELS[study] });

  it('sends POSTs to an instance that can write, and reads to any', async () => {
    const data = temporaryFolder();
    const { edc } = await issueKeys(data, { edc: ['edc'] });
    const able = await start(data, STUDIES);
    const unable = await start(data, OTHER_STUDIES);
    const proxy = await startBefore([hostOf(unable), hostOf(able)], edc);
    // Until the proxy has asked both.
    await until(async () => (await post(proxy, 'One', 'first')).status !== 503);
    for (const study of STUDY_NAMES)
      for (const id of ['1', '2']) expect(await post(proxy, study, id)).toMatchObject({ status: 200 });
    for (const study of STUDY_NAMES)
      expect((await proxy.ask('GET', '/study_participants', { study })).status).toBe(200);
  });

  it('lets reads through when the log is closed, and the service itself answers a POST', async () => {
    const data = temporaryFolder();
    const { edc } = await issueKeys(data, { edc: ['edc'] });
    const one = await start(data, STUDIES);
    const other = await start(data, STUDIES);
    const proxy = await startBefore([hostOf(one), hostOf(other)], edc);
    await until(async () => (await post(proxy, 'One', '1')).status !== 503);
    // Almost always with a POST under way: none may be cut off when the proxy finds out, after asking twice.
    let ends = Number.POSITIVE_INFINITY;
    const answers: Answer[] = [];
    const postUntilEnd = async (name: string) => {
      for (let id = 1; Date.now() < ends; id++) {
        answers.push(await post(proxy, 'One', `${name}${id}`));
        await delay(5);
      }
    };
    const posting = ['a', 'b', 'c', 'd'].map(postUntilEnd);
    const store = new SqliteStore(join(data, 'urn.sqlite'));
    await closeLog(store, new MemoryStore(), ['here', 'there']);
    await store.close();
    ends = Date.now() + 3_000;
    await Promise.all(posting);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, message } of refused)
      expect([status, message]).toEqual([503, expect.stringContaining('the log is moved to another store')]);
    expect((await post(proxy, 'One', 'last')).status).toBe(503);
    for (const study of STUDY_NAMES)
      expect((await proxy.ask('GET', '/study_participants', { study })).status).toBe(200);
  });

  it('finds a recreated instance at another address, and answers in the envelope while there is none', async () => {
    const data = temporaryFolder();
    const { edc } = await issueKeys(data, { edc: ['edc'] });
    const [port = 0] = await freePorts(1);
    const at = (host: string) => start(data, STUDIES, { host, port });
    const addresses = new Map([['urn-1.test', '127.0.0.2']]);
    const names = await startNameServer(addresses);
    onTestFinished(() => names.close());
    const before = await at('127.0.0.2');
    const proxy = await startBefore([`urn-1.test:${port}`, `urn-2.test:${port}`], edc, names.address);
    await until(async () => (await post(proxy, 'One', '1')).status === 200);
    await before.stop();
    await until(async () => {
      const answer = await proxy.ask('GET', '/study_config', { study: 'One' });
      return answer.message === 'Not done: no instance of the service is ready';
    });
    addresses.set('urn-1.test', '127.0.0.3');
    await at('127.0.0.3');
    await until(async () => (await post(proxy, 'One', '2')).status === 200);
  });
});
