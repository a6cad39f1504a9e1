/** Limits on what a key may have in flight at a time, and disclose in an hour, tested on the real service. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { makeLongLog } from '../../support/long-log.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const LONG = CONFIGURATION.name;

type Name = 'edc' | 'reader' | 'auditor' | 'spender' | 'seer';
let keys: Record<Name, string>;
let service: ServiceHere;

beforeAll(async () => {
  const long = await makeLongLog(
    data,
    {
      edc: { scopes: ['read', 'randomize'] },
      reader: { scopes: ['read'] },
      auditor: { scopes: ['read', 'audit'] },
      spender: { scopes: ['read', 'audit'] },
      seer: { scopes: ['read', 'randomize', 'audit'], allowPrediction: true },
    },
    { participants: 1000, by: 'edc' },
  );
  keys = long.keys;
  service = await serveHere(data, TRIALS);
});
afterAll(() => service.stop());

const list = (key: string, parameters: Readonly<Record<string, string>> = {}) =>
  clientOf(service.url, key).list(LONG, parameters);

/** Does something the given number of times, sixteen at a time. */
async function inParallel<T>(times: number, work: (n: number) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  let next = 0;
  const worker = async () => {
    while (next < times) done.push(await work(next++));
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return done;
}

describe('disclosures of a key', () => {
  const operations = (user: string) =>
    storedLog(data).flatMap(({ stream, record }) =>
      stream === 'operations' && record.actor.user === user ? [record] : [],
    );
  const disclosed = (user: string) => operations(user).filter(({ type }) => type === 'EvidenceDisclosed');

  it('are limited to 600 different ones an hour, then refused and not recorded', async () => {
    const statuses = await inParallel(1000, async (n) => {
      const answer = await list(keys.spender, { id: String(n) });
      if (answer.status === 200) return answer.status;
      expect(answer).toMatchObject({ status: 429, results: [] });
      expect(answer.message).toMatch(/^This API key has been shown evidence 600 times within an hour/);
      const seconds = Number(answer.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(3600);
      return answer.status;
    });
    expect(statuses.filter((status) => status === 200).length).toBe(600);
    expect(disclosed('spender').length).toBe(600);
    // These refusals are recorded like any other: the first, and sums.
    await expect.poll(() => operations('spender').length, { timeout: 20_000 }).toBeGreaterThan(600);
    expect(JSON.stringify(operations('spender')).length).toBeLessThan(1_000_000);
  });

  it('leave room for requests that disclose nothing, and for refusals, once the limit is reached', async () => {
    const before = disclosed('spender').length;
    const omitted = await list(keys.spender, { id: '7', 'urn.bg_state': 'omit' });
    expect(omitted.status).toBe(200);
    expect(Object.keys(omitted.results[0])).toContain('trt');
    expect(omitted.text).not.toContain('bg_state');
    expect(omitted.text).toBe((await list(keys.reader, { id: '7' })).text);
    const all = await list(keys.spender, { 'urn.bg_state': 'omit', 'urn.limit': '1000' });
    expect(all.results.length).toBe(1000);
    expect((await list(keys.spender, { id: '7', nonsense: '1' })).status).toBe(400);
    expect(
      (await ask(service.url, '/explanation', { key: keys.spender, parameters: { study: LONG, id: '7' } }))
        .status,
    ).toBe(429);
    expect(disclosed('spender').length).toBe(before);
    expect((await list(keys.auditor, { id: '7' })).results[0]).toHaveProperty('bg_state');
  });

  it('never withhold an allocation from the key that made it, but count when it is shown again', async () => {
    const { randomize } = clientOf(service.url, keys.seer);
    await inParallel(620, async (n) => {
      const answer = await randomize('Sleep', `seen-${n}`, COOK, { 'Idempotency-Key': `visit-${n}` });
      expect(answer.status, answer.message).toBe(200);
      expect(answer.results[0]).toHaveProperty('bg_state');
    });
    expect(disclosed('seer').length).toBe(620);
    const again = (n: number, parameters = {}) =>
      randomize('Sleep', `seen-${n}`, { ...COOK, ...parameters }, { 'Idempotency-Key': `visit-${n}` });
    await inParallel(600, async (n) => expect((await again(n)).status).toBe(200));
    const spent = await again(600);
    expect(spent).toMatchObject({ status: 429, results: [] });
    const without = await again(600, { 'urn.bg_state': 'omit' });
    expect([without.status, without.results[0].id]).toEqual([200, 'seen-600']);
    expect(without.results[0]).not.toHaveProperty('bg_state');
    expect((await randomize('Sleep', 'seen-620', COOK)).results[0]).toHaveProperty('bg_state');
  }, 120_000);

  it('are described in the OpenAPI document with the other limits', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the test checks what is in it.
    const document: any = await (await fetch(`${service.url}/openapi.json`)).json();
    const { get: listing, post } = document.paths['/study_participants'];
    const names = (operation: { parameters: { name: string }[] }) =>
      operation.parameters.map(({ name }) => name);
    expect(names(listing)).toEqual(expect.arrayContaining(['urn.limit', 'urn.from', 'urn.bg_state']));
    expect(names(post)).toContain('urn.bg_state');
    expect(listing.responses[200].headers['Urn-Next'].schema.type).toBe('integer');
    for (const { responses } of [listing, post]) expect(responses[429].description).toContain('Retry-After');
  });
});

describe('allocations that wait for the log', () => {
  const holders: ChildProcess[] = [];
  afterAll(() => {
    for (const holder of holders) holder.kill('SIGKILL');
  });

  it('are limited to 512 per key; any beyond are refused, but not those of another key', async () => {
    const script = join(import.meta.dirname, '../../support/lock-holder.mjs');
    const holder = spawn(process.execPath, [script, join(data, 'urn.sqlite')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    holders.push(holder);
    await once(holder.stdout, 'data');
    const statuses = new Map<number, number>();
    const counted = (status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const agents = Array.from({ length: 8 }, (_, n) => new Agent({ localAddress: `127.0.0.${2 + n}` }));
    const posts = Array.from({ length: 600 }, (_, n) =>
      post(agents[n % agents.length] as Agent, keys.edc, `waits-${n}`).then(counted),
    );
    await expect.poll(() => statuses.get(429), { timeout: 14_000 }).toBe(88);
    const another = post(new Agent(), keys.seer, 'of another key');
    holder.stdin.end();
    // They may have waited for the log too long, which is 503, not 429.
    expect(await another).not.toBe(429);
    await Promise.all(posts);
    expect(statuses.get(429)).toBe(88);
    expect((statuses.get(200) ?? 0) + (statuses.get(503) ?? 0)).toBe(512);
    expect(await post(new Agent(), keys.edc, 'afterwards')).toBe(200);
  });

  function post(agent: Agent, key: string, id: string): Promise<number> {
    const parameters = new URLSearchParams({ study: 'Sleep', id, ...COOK });
    return new Promise((resolve, reject) => {
      const headers = { 'X-API-Key': key };
      const asked = request(
        `${service.url}/study_participants?${parameters}`,
        { method: 'POST', agent, headers },
        (response) => {
          response.resume().once('end', () => resolve(response.statusCode ?? 0));
        },
      );
      asked.once('error', reject);
      asked.end();
    });
  }
});

it('the command line is not subject to the budgets, and the log is sound', async () => {
  const before = storedLog(data).length;
  for (const id of ['1', '2'])
    expect((await command(['explain', '--study', LONG, '--id', id, '--data', data])).code).toBe(0);
  expect(storedLog(data).length).toBeGreaterThanOrEqual(before + 2);
  await service.stop();
  expect((await command(['verify', '--study', 'Sleep', '--data', data])).code).toBe(0);
});
