/** What one key may take of the service, and how long lists are read in pages: the real service on a long study. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, ask, clientOf, exactResults } from '../../support/client.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { makeLongLog } from '../../support/long-log.ts';
import { type Service, serve, urn } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const LONG = CONFIGURATION.name;
const PARTICIPANTS = 20_000;
const [factor, other] = CONFIGURATION.factors.map(({ name }) => name) as [string, string];
const LEVELS = Object.fromEntries(CONFIGURATION.factors.map(({ name, levels }) => [name, levels[0] ?? '']));

type Name = 'edc' | 'reader' | 'idler' | 'leaver' | 'auditor' | 'pager' | 'spender' | 'seer' | 'male';
let keys: Record<Name, string>;
let service: Service;

beforeAll(async () => {
  const long = await makeLongLog(
    data,
    {
      edc: { scopes: ['read', 'randomize'] },
      reader: { scopes: ['read'] },
      idler: { scopes: ['read'] },
      leaver: { scopes: ['read'] },
      auditor: { scopes: ['read', 'audit'] },
      pager: { scopes: ['read', 'audit'] },
      spender: { scopes: ['read', 'audit'] },
      seer: { scopes: ['read', 'randomize', 'audit'], allowPrediction: true },
      male: { scopes: ['read'], where: [{ factor, levels: ['Male'] }] },
    },
    { participants: PARTICIPANTS, by: 'edc' },
  );
  keys = long.keys;
  service = await serve({ data, studies: TRIALS });
});
afterAll(() => service.kill());

const list = (key: string, parameters: Readonly<Record<string, string>> = {}) =>
  clientOf(service.url, key).list(LONG, parameters);
const path = (study = LONG) => `/study_participants?${new URLSearchParams({ study })}`;
const residentMiB = () =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${service.child.pid}/status`, 'utf8'))?.[1]) / 1024;

/** A connection that asks for the long list and reads no more than how its answer begins. */
function unread(key: string, n: number): { readonly socket: Socket; readonly head: Promise<string> } {
  const { port } = new URL(service.url);
  // From several addresses: how many connections one of them may have is another matter.
  const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: `127.0.0.${2 + (n % 8)}` });
  socket.on('error', () => undefined);
  socket.write(`GET ${path()} HTTP/1.1\r\nHost: test\r\nX-API-Key: ${key}\r\n\r\n`);
  const head = once(socket, 'readable').then(() => String(socket.read() ?? ''));
  return { socket, head };
}

describe('300 lists of 20,000 participants that nobody reads', () => {
  const idle: Socket[] = [];
  afterAll(() => {
    for (const socket of idle) socket.destroy();
  });

  it('fill no memory, hold up no POST of another key, and most are refused', async () => {
    const { randomize } = clientOf(service.url, keys.edc);
    expect((await randomize(LONG, 'before', LEVELS)).status).toBe(200);
    const before = residentMiB();
    const heads: string[] = [];
    for (let n = 0; n < 300; n++) {
      const { socket, head } = unread(keys.idler, n);
      idle.push(socket);
      void head.then((text) => heads.push(text));
    }
    let most = before;
    // Until all are refused that will be: one is under way, and eight wait for it.
    for (let posted = 0; posted < 20 || heads.length < 250; posted++) {
      const started = performance.now();
      expect((await randomize(LONG, `meanwhile-${posted}`, LEVELS)).status).toBe(200);
      // 2 s are promised on an idle machine, and without the limits it was 50 s.
      expect(performance.now() - started).toBeLessThan(10_000);
      most = Math.max(most, residentMiB());
    }
    expect(most - before).toBeLessThan(400);
    const refused = heads.filter((head) => head.startsWith('HTTP/1.1 429'));
    expect(refused.length).toBeGreaterThan(200);
    for (const head of refused) expect(head).toMatch(/^Retry-After: 1\r$/m);
  }, 120_000);

  it('and another key reads its list meanwhile', async () => {
    expect((await list(keys.reader)).results.length).toBeGreaterThan(PARTICIPANTS);
  });
});

describe('lists of one key', () => {
  it('wait for each other, and those beyond that are refused', async () => {
    const agent = new Agent();
    const answers = await Promise.all(Array.from({ length: 60 }, () => get(agent, keys.reader)));
    const statuses = new Set(answers.map(({ status }) => status));
    expect(statuses).toEqual(new Set([200, 429]));
    for (const { status, retryAfter, text } of answers) {
      expect(retryAfter).toBe(status === 429 ? '1' : undefined);
      if (status === 429) expect(JSON.parse(text)).toMatchObject({ results: [], status: 429 });
    }
    const whole = new Set(answers.flatMap(({ status, text }) => (status === 200 ? [text] : [])));
    expect(whole.size).toBe(1);
  });

  it('leave nothing behind when their clients have gone', async () => {
    for (let round = 0; round < 3; round++) {
      const waiting = Array.from({ length: 9 }, (_, n) => unread(keys.leaver, n));
      await waiting[0]?.head;
      for (const { socket } of waiting) socket.destroy();
    }
    expect((await list(keys.leaver)).status).toBe(200);
  });

  it('that are short do not wait for a long one', async () => {
    const idle = Array.from({ length: 9 }, (_, n) => unread(keys.auditor, n));
    await idle[0]?.head;
    const { list: listed } = clientOf(service.url, keys.auditor);
    const short = await Promise.all(
      Array.from({ length: 64 }, (_, n) => listed(LONG, { id: `${n}`, 'urn.bg_state': 'omit' })),
    );
    expect(new Set(short.map(({ status }) => status))).toEqual(new Set([200]));
    for (const { socket } of idle) socket.destroy();
  });
});

function get(agent: Agent, key: string) {
  return new Promise<{ status: number; retryAfter: string | undefined; text: string }>((resolve, reject) => {
    const headers = { 'X-API-Key': key };
    const asked = request(`${service.url}${path()}`, { agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          retryAfter: response.headers['retry-after'],
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    asked.once('error', reject);
    asked.end();
  });
}

describe('a list in pages', () => {
  /** All pages, one after the other. */
  async function pages(key: string, parameters: Readonly<Record<string, string>>): Promise<Answer[]> {
    const all: Answer[] = [];
    for (let from: string | null = '0'; from !== null; ) {
      const page = await list(key, { ...parameters, 'urn.from': from });
      expect(page.status, page.message).toBe(200);
      all.push(page);
      from = page.headers.get('urn-next');
    }
    return all;
  }
  const together = (all: readonly Answer[]) => all.flatMap((page) => exactResults(page));

  it.each([
    ['of all', 'reader', '1000', {}],
    ['of some levels', 'reader', '900', { [factor]: 'Male' }],
    ['of two factors, in short pages', 'reader', '200', { [factor]: 'Male', [other]: '30-Dupage County' }],
    ['of a key that is limited to a level', 'male', '1000', {}],
    ['with generator states, as it stood', 'pager', '1000', { 'urn.revision': '4321' }],
  ] as const)('%s is the list', async (_, name, limit, filter) => {
    const whole = await list(keys[name], filter);
    const all = await pages(keys[name], { ...filter, 'urn.limit': limit });
    expect(together(all)).toEqual(exactResults(whole));
    const sizes = all.map(({ results }) => results.length);
    expect(sizes.slice(0, -1)).toEqual(Array(sizes.length - 1).fill(Number(limit)));
    expect(sizes.at(-1)).toBeGreaterThan(0);
  });

  it('agrees with itself at a revision, while the study grows', async () => {
    const { randomize } = clientOf(service.url, keys.edc);
    const paged = clientOf(service.url, keys.pager);
    const enrol = async (id: string) =>
      expect((await randomize('Patterned', id, { ward: 'a' })).status).toBe(200);
    for (let n = 0; n < 5; n++) await enrol(`000-000${n}`);
    const seen: unknown[] = [];
    for (let from: string | null = '0'; from !== null; ) {
      const page: Answer = await paged.list('Patterned', {
        ...{ 'urn.revision': '5', 'urn.limit': '2', 'urn.from': from },
      });
      expect(page.headers.get('urn-revision')).toBe('5');
      seen.push(...page.results.map(({ id }: { id: string }) => id));
      await enrol(`111-000${seen.length}`);
      from = page.headers.get('urn-next');
    }
    expect(seen).toEqual([0, 1, 2, 3, 4].map((n) => `000-000${n}`));
  });

  it('ends exactly where the list does, and goes on where it grew', async () => {
    const { randomize, list: listed } = clientOf(service.url, keys.edc);
    const of = (parameters: Readonly<Record<string, string>>) => listed('Ward', parameters);
    expect((await of({ 'urn.limit': '1' })).results).toEqual([]);
    for (const id of ['a', 'b']) expect((await randomize('Ward', id, { ward: 'a' })).status).toBe(200);
    const last = await of({ 'urn.limit': '2' });
    expect([last.results.length, last.headers.get('urn-next')]).toEqual([2, null]);
    const next = String(Number(last.headers.get('urn-revision')) + 1);
    expect((await of({ 'urn.from': next })).results).toEqual([]);
    await randomize('Ward', 'c', { ward: 'b' });
    const grown = await of({ 'urn.limit': '2' });
    expect(grown.headers.get('urn-next')).toBe(next);
    expect((await of({ 'urn.from': next })).results).toMatchObject([{ id: 'c' }]);
    expect((await of({ 'urn.from': next, id: 'a' })).results).toEqual([]);
    expect((await of({ id: 'c', 'urn.from': next, 'urn.limit': '1' })).results).toHaveLength(1);
  });

  it('without urn.limit goes to the end', async () => {
    const answer = await list(keys.reader, { 'urn.from': '5' });
    expect(answer.headers.get('urn-next')).toBeNull();
    expect(answer.results).toEqual((await list(keys.reader)).results.slice(4));
  });

  it('HEAD says where the next page begins, and sends nobody', async () => {
    for (const limit of ['1', '1000']) {
      const parameters = new URLSearchParams({ study: LONG, 'urn.limit': limit });
      const response = await fetch(`${service.url}/study_participants?${parameters}`, {
        method: 'HEAD',
        headers: { 'X-API-Key': keys.reader },
      });
      expect([response.status, await response.text()]).toEqual([200, '']);
      expect(response.headers.get('urn-next')).toBe(String(Number(limit) + 1));
    }
  });

  it.each([
    [{ 'urn.limit': '0' }, 'urn.limit is not a whole number from 1 to 1000'],
    [{ 'urn.limit': '1001' }, 'urn.limit is not a whole number from 1 to 1000'],
    [{ 'urn.limit': '' }, 'urn.limit is not a whole number from 1 to 1000'],
    [{ 'urn.limit': '1e2' }, 'urn.limit is not a whole number from 1 to 1000'],
    [{ 'urn.from': '-1' }, 'urn.from is not a whole number from 0 on'],
    [
      { 'urn.from': 'x', 'urn.bg_state': 'show' },
      'urn.from is not a whole number from 0 on; urn.bg_state takes omit, and nothing else',
    ],
  ])('%j is refused, and said what it takes', async (parameters, message) => {
    expect(await list(keys.reader, parameters)).toMatchObject({ status: 400, message, results: [] });
  });

  it('is of participants alone: other routes do not have these parameters', async () => {
    const answer = await ask(service.url, '/study_config', {
      key: keys.reader,
      parameters: { study: LONG, 'urn.limit': '1' },
    });
    expect(answer).toMatchObject({ status: 400, message: 'urn.limit is not a parameter of study_config' });
  });
});

/** Does something so many times, sixteen at a time. */
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

  it('that differ are 600 an hour, however many are asked for, and then refused and not recorded', async () => {
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
    // The refusals are recorded as all others are: the first, and sums.
    await expect.poll(() => operations('spender').length).toBeGreaterThan(600);
    expect(JSON.stringify(operations('spender')).length).toBeLessThan(1_000_000);
  });

  it('beyond that leave what discloses nothing, and refusals', async () => {
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

  it('never keep an allocation from who made it; what is shown of it again is counted', async () => {
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

  it('are described, as are the other limits, in the OpenAPI document', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: what it is, is for the test to say.
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

describe('allocations of a key that the log does not take', () => {
  const holders: ChildProcess[] = [];
  afterAll(() => {
    for (const holder of holders) holder.kill('SIGKILL');
  });

  it('wait up to 512 at a time; those beyond are refused, and of another key are not', async () => {
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
    await expect.poll(() => statuses.get(429), { timeout: 10_000 }).toBe(88);
    const another = post(new Agent(), keys.seer, 'of another key');
    holder.stdin.end();
    // The log may have been kept from them for too long: 503, and not 429.
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

it('the command line stands outside of the budgets, and the log is sound', async () => {
  const before = storedLog(data).length;
  for (const id of ['1', '2'])
    expect((await urn(['explain', '--study', LONG, '--id', id, '--data', data])).code).toBe(0);
  expect(storedLog(data).length).toBeGreaterThanOrEqual(before + 2);
  await service.stop();
  expect((await urn(['verify', '--study', 'Sleep', '--data', data])).code).toBe(0);
});
