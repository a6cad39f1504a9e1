/** What a key may have in flight at a time, and disclose in an hour, from the real service. Its rules: test/unit. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { Database } from '../../../src/store/sqlite/library.ts';
import { type Answer, ask, clientOf } from '../../support/client.ts';
import { sendRaw } from '../../support/cookie-client.ts';
import { open } from '../../support/hostile.ts';
import { LEVELS, LONG, makeLongLog } from '../../support/long-log.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const PARTICIPANTS = 12_000;

type Name = 'edc' | 'reader' | 'idler' | 'auditor' | 'seer';
let keys: Record<Name, string>;
let service: Service;

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc'],
    reader: ['reader', '--scope', 'read'],
    idler: ['idler', '--scope', 'read'],
    auditor: ['auditor', '--scope', 'read,audit'],
    seer: ['seer', '--scope', 'read,randomize,audit', '--allow-prediction'],
  });
  await makeLongLog(data, PARTICIPANTS);
  service = await serve({ data, studies: TRIALS });
});
afterAll(() => service.kill());

const list = (name: Name, parameters = {}) => clientOf(service.url, keys[name]).list(LONG, parameters);
const path = `/study_participants?${new URLSearchParams({ study: LONG })}`;
const residentMiB = () =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${service.child.pid}/status`, 'utf8'))?.[1]) / 1024;
/** Processor time of the service so far: on a busy machine, an answer may take long for other reasons. */
const workedSeconds = () => {
  const [, fields = ''] = readFileSync(`/proc/${service.child.pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13);
  // In ticks of the clock, of which Linux has a hundred a second.
  return (Number(user) + Number(system)) / 100;
};

/** A connection that requests the long list and reads only the beginning of the answer. */
async function unread(name: Name, n: number): Promise<string> {
  // From several addresses, since the number of connections per address is limited.
  const socket = await open(service.url, `127.0.0.${2 + (n % 8)}`);
  onTestFinished(() => void socket.destroy());
  socket.write(`GET ${path} HTTP/1.1\r\nHost: test\r\nX-API-Key: ${keys[name]}\r\n\r\n`);
  await once(socket, 'readable');
  return String(socket.read() ?? '');
}

it('300 lists of 12,000 participants that nobody reads do not fill memory or delay another key’s POST, and most are refused', async () => {
  const { randomize } = clientOf(service.url, keys.edc);
  expect((await randomize(LONG, 'before', LEVELS)).status).toBe(200);
  const before = residentMiB();
  const heads: string[] = [];
  for (let n = 0; n < 300; n++) void unread('idler', n).then((text) => heads.push(text));
  let most = before;
  // Until most are refused: one is under way, and eight wait for it.
  for (let posted = 0; posted < 20 || heads.length < 250; posted++) {
    const started = workedSeconds();
    expect((await randomize(LONG, `meanwhile-${posted}`, LEVELS)).status).toBe(200);
    // We promise 2 s on an idle machine; without the limits, it took 50 s.
    expect(workedSeconds() - started).toBeLessThan(10);
    most = Math.max(most, residentMiB());
  }
  expect(most - before).toBeLessThan(400);
  const refused = heads.filter((head) => head.startsWith('HTTP/1.1 429'));
  expect(refused.length).toBeGreaterThan(200);
  for (const head of refused) expect(head).toMatch(/^Retry-After: 1\r$/m);
  const ids = (await list('reader')).results.map(({ id }: { id: string }) => id);
  expect(ids.slice(0, PARTICIPANTS)).toEqual(Array.from({ length: PARTICIPANTS }, (_, n) => `${n}`));
}, 120_000);

it('short lists of a key do not wait for its long one', async () => {
  const waiting = Array.from({ length: 9 }, (_, n) => unread('auditor', n));
  await waiting[0];
  const omit = { 'urn.bg_state': 'omit' };
  const short = await Promise.all(
    Array.from({ length: 30 }, (_, n) => list('auditor', { id: `${n}`, ...omit })),
  );
  expect(new Set(short.map(({ status }) => status))).toEqual(new Set([200]));
});

/** How disclosures are counted, and what is shown beyond the budget: test/unit/operations/recorder.test.ts. */
const disclosed = () =>
  storedLog(data).filter(({ record }) => record.type === 'EvidenceDisclosed' && record.actor.user === 'seer')
    .length;
/** Asked for again with the same key, it is the same allocation. */
const post = (id: string, parameters = {}) => {
  const visit = { 'Idempotency-Key': id };
  return clientOf(service.url, keys.seer).randomize('Sleep', id, { ...COOK, ...parameters }, visit);
};
const showsStates = ({ status, results }: Answer) => status === 200 && 'bg_state' in results[0];

it('disclosures of a key are limited to 600 different ones an hour, beside requests that disclose nothing', async () => {
  let next = 0;
  const reader = async () => {
    while (next < 598) expect(showsStates(await list('seer', { id: `${next++}` }))).toBe(true);
  };
  await Promise.all(Array.from({ length: 8 }, reader));
  expect(disclosed()).toBe(598);
  // The allocations of a key are always shown to it, and count when they are shown again.
  for (const id of ['a', 'b', 'c', 'a', 'b']) expect(showsStates(await post(id)), id).toBe(true);
  const spent = disclosed();
  for (const refused of [await list('seer', { id: '600' }), await post('c')]) {
    expect(refused).toMatchObject({ status: 429, results: [] });
    expect(refused.message).toMatch(/^This API key has been shown evidence 600 times within an hour/);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  const parameters = { study: LONG, id: '7' };
  expect((await ask(service.url, '/explanation', { key: keys.seer, parameters })).status).toBe(429);
  const omit = { 'urn.bg_state': 'omit' };
  expect((await list('seer', { id: '7', ...omit })).text).toBe((await list('reader', { id: '7' })).text);
  const again = await post('c', omit);
  expect([again.status, again.results[0].id, showsStates(again)]).toEqual([200, 'c', false]);
  expect(disclosed()).toBe(spent);
  expect(showsStates(await post('d'))).toBe(true);
});

it('512 allocations of a key wait for the log; any beyond are refused, but not those of another key', async () => {
  const post = async (agent: Agent, name: Name, id: string) => {
    const target = `${service.url}/study_participants?${new URLSearchParams({ study: 'Sleep', id, ...COOK })}`;
    return (await sendRaw(target, { method: 'POST', agent, headers: { 'X-API-Key': keys[name] } })).status;
  };
  const holder = new Database(join(data, 'urn.sqlite'));
  holder.exec('BEGIN IMMEDIATE');
  const statuses = new Map<number, number>();
  const counted = (status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1);
  // From several addresses, since the number of connections per address is limited.
  const agents = Array.from({ length: 8 }, (_, n) => new Agent({ localAddress: `127.0.0.${2 + n}` }));
  const posts = Array.from({ length: 520 }, (_, n) =>
    post(agents[n % agents.length] as Agent, 'edc', `waits-${n}`).then(counted),
  );
  await expect.poll(() => statuses.get(429), { timeout: 14_000 }).toBeGreaterThan(0);
  const another = post(new Agent(), 'seer', 'of another key');
  holder.close();
  // They may have waited for the log too long, which is 503, not 429.
  expect(await another).not.toBe(429);
  await Promise.all(posts);
  // On a slow machine some have given up waiting before the last ones come.
  expect(statuses.get(429)).toBeLessThanOrEqual(8);
  expect([...statuses.keys()].filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
  expect(await post(new Agent(), 'edc', 'afterwards')).toBe(200);
});
