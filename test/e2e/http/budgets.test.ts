/** What a key may have in flight at a time, and disclose in an hour, from the service. Their rules: test/unit. */
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../../src/store/sqlite/library.ts';
import { type Answer, ask, clientOf } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { makeLongLog } from '../../support/long-log.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const LONG = CONFIGURATION.name;

type Name = 'edc' | 'reader' | 'auditor' | 'seer';
let keys: Record<Name, string>;
let service: ServiceHere;

beforeAll(async () => {
  ({ keys } = await makeLongLog<Name>(
    data,
    {
      edc: { scopes: ['read', 'randomize'] },
      reader: { scopes: ['read'] },
      auditor: { scopes: ['read', 'audit'] },
      seer: { scopes: ['read', 'randomize', 'audit'], allowPrediction: true },
    },
    { participants: 610, by: 'edc' },
  ));
  service = await serveHere(data, TRIALS);
});
afterAll(() => service.stop());

const list = (name: Name, parameters: Readonly<Record<string, string>>) =>
  clientOf(service.url, keys[name]).list(LONG, parameters);

describe('disclosures of a key', () => {
  const disclosed = () =>
    storedLog(data).filter(
      ({ record: { type, actor } }) => type === 'EvidenceDisclosed' && actor.user === 'seer',
    ).length;
  /** Asked for again with the same key, it is the same allocation. */
  const post = (id: string, parameters = {}) => {
    const visit = { 'Idempotency-Key': id };
    return clientOf(service.url, keys.seer).randomize('Sleep', id, { ...COOK, ...parameters }, visit);
  };
  const showsStates = ({ status, results }: Answer) => status === 200 && 'bg_state' in results[0];

  it('are limited to 600 different ones an hour, then refused and not recorded', async () => {
    let next = 0;
    const reader = async () => {
      while (next < 598) expect(showsStates(await list('seer', { id: `${next++}` }))).toBe(true);
    };
    await Promise.all(Array.from({ length: 8 }, reader));
    expect(disclosed()).toBe(598);
    // The allocations of a key are always shown to it, and count when they are shown again.
    for (const id of ['a', 'b', 'c']) expect(showsStates(await post(id)), id).toBe(true);
    for (const id of ['a', 'b']) expect(showsStates(await post(id)), id).toBe(true);
    const spent = disclosed();
    for (const refused of [await list('seer', { id: '600' }), await post('c')]) {
      expect(refused).toMatchObject({ status: 429, results: [] });
      expect(refused.message).toMatch(/^This API key has been shown evidence 600 times within an hour/);
      const seconds = Number(refused.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(3600);
    }
    const parameters = { study: LONG, id: '7' };
    expect((await ask(service.url, '/explanation', { key: keys.seer, parameters })).status).toBe(429);
    expect(disclosed()).toBe(spent);
    expect(showsStates(await post('d'))).toBe(true);
  });

  it('leave room for requests that disclose nothing, and for refusals, once the limit is reached', async () => {
    const omit = { 'urn.bg_state': 'omit' };
    const before = disclosed();
    const omitted = await list('seer', { id: '7', ...omit });
    expect([omitted.status, omitted.results[0].id, omitted.text.includes('bg_state')]).toEqual([
      200,
      '7',
      false,
    ]);
    expect(omitted.text).toBe((await list('reader', { id: '7' })).text);
    expect((await list('seer', { ...omit, 'urn.limit': '600' })).results).toHaveLength(600);
    const again = await post('c', omit);
    expect([again.status, again.results[0].id, showsStates(again)]).toEqual([200, 'c', false]);
    expect((await list('seer', { id: '7', nonsense: '1' })).status).toBe(400);
    expect(disclosed()).toBe(before);
    expect(showsStates(await list('auditor', { id: '7' }))).toBe(true);
  });

  it('are described in the OpenAPI document with the other limits', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the test checks what is in it.
    const document: any = await (await fetch(`${service.url}/openapi.json`)).json();
    const { get: listing, post: posting } = document.paths['/study_participants'];
    const names = (operation: { parameters: { name: string }[] }) =>
      operation.parameters.map(({ name }) => name);
    expect(names(listing)).toEqual(expect.arrayContaining(['urn.limit', 'urn.from', 'urn.bg_state']));
    expect(names(posting)).toContain('urn.bg_state');
    expect(listing.responses[200].headers['Urn-Next'].schema.type).toBe('integer');
    for (const { responses } of [listing, posting])
      expect(responses[429].description).toContain('Retry-After');
  });
});

it('512 allocations of a key wait for the log; any beyond are refused, but not those of another key', async () => {
  const post = (agent: Agent, name: Name, id: string) => {
    const path = `/study_participants?${new URLSearchParams({ study: 'Sleep', id, ...COOK })}`;
    return new Promise<number>((resolve, reject) => {
      const options = { method: 'POST', agent, headers: { 'X-API-Key': keys[name] } };
      request(`${service.url}${path}`, options, (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0));
      })
        .once('error', reject)
        .end();
    });
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

it('the command line is not subject to the budgets, and the log is sound', async () => {
  const before = storedLog(data).length;
  for (const id of ['1', '2'])
    expect((await command(['explain', '--study', LONG, '--id', id, '--data', data])).code).toBe(0);
  expect(storedLog(data).length).toBeGreaterThanOrEqual(before + 2);
  await service.stop();
  expect((await command(['verify', '--study', 'Sleep', '--data', data])).code).toBe(0);
});
