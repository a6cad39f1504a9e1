/** Long lists on the real service: how much of it a key can take up, and how to read them in pages. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, ask, clientOf, exactResults } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { makeLongLog } from '../../support/long-log.ts';
import { type Service, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const LONG = CONFIGURATION.name;
const PARTICIPANTS = 20_000;
const [factor, other] = CONFIGURATION.factors.map(({ name }) => name) as [string, string];
const LEVELS = Object.fromEntries(CONFIGURATION.factors.map(({ name, levels }) => [name, levels[0] ?? '']));

type Name = 'edc' | 'reader' | 'idler' | 'leaver' | 'auditor' | 'pager' | 'male';
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

/** A connection that requests the long list and reads only the beginning of the answer. */
function unread(key: string, n: number): { readonly socket: Socket; readonly head: Promise<string> } {
  const { port } = new URL(service.url);
  // From several addresses, since the number of connections per address is limited.
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

  it('do not fill memory or delay another key’s POST, and most are refused', async () => {
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
    // Until most are refused: one is under way, and eight wait for it.
    for (let posted = 0; posted < 20 || heads.length < 250; posted++) {
      const started = performance.now();
      expect((await randomize(LONG, `meanwhile-${posted}`, LEVELS)).status).toBe(200);
      // We promise 2 s on an idle machine; without the limits, it took 50 s.
      expect(performance.now() - started).toBeLessThan(10_000);
      most = Math.max(most, residentMiB());
    }
    expect(most - before).toBeLessThan(400);
    const refused = heads.filter((head) => head.startsWith('HTTP/1.1 429'));
    expect(refused.length).toBeGreaterThan(200);
    for (const head of refused) expect(head).toMatch(/^Retry-After: 1\r$/m);
  }, 120_000);

  it('do not prevent another key from reading its list', async () => {
    expect((await list(keys.reader)).results.length).toBeGreaterThan(PARTICIPANTS);
  });
});

describe('lists of one key', () => {
  it('wait for each other, and those beyond the limit are refused', async () => {
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

  it('free their places when their clients have gone', async () => {
    for (let round = 0; round < 3; round++) {
      const waiting = Array.from({ length: 9 }, (_, n) => unread(keys.leaver, n));
      await waiting[0]?.head;
      for (const { socket } of waiting) socket.destroy();
    }
    expect((await list(keys.leaver)).status).toBe(200);
  });

  it('do not wait for a long one if they are short', async () => {
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
  /** All pages, fetched one after the other. */
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
    ['of everybody', 'reader', '1000', {}],
    ['of some levels', 'reader', '900', { [factor]: 'Male' }],
    ['of two factors, in short pages', 'reader', '200', { [factor]: 'Male', [other]: '30-Dupage County' }],
    ['for a key limited to a level', 'male', '1000', {}],
    ['with generator states, at an earlier revision', 'pager', '1000', { 'urn.revision': '4321' }],
  ] as const)('%s adds up to the whole list', async (_, name, limit, filter) => {
    const whole = await list(keys[name], filter);
    const all = await pages(keys[name], { ...filter, 'urn.limit': limit });
    expect(together(all)).toEqual(exactResults(whole));
    const sizes = all.map(({ results }) => results.length);
    expect(sizes.slice(0, -1)).toEqual(Array(sizes.length - 1).fill(Number(limit)));
    expect(sizes.at(-1)).toBeGreaterThan(0);
  });

  it('is consistent at a revision while the study grows', async () => {
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

  it('ends exactly where the list does, and continues once that has grown', async () => {
    const { randomize, list: listed } = clientOf(service.url, keys.edc);
    const listWard = (parameters: Readonly<Record<string, string>>) => listed('Ward', parameters);
    expect((await listWard({ 'urn.limit': '1' })).results).toEqual([]);
    for (const id of ['a', 'b']) expect((await randomize('Ward', id, { ward: 'a' })).status).toBe(200);
    const last = await listWard({ 'urn.limit': '2' });
    expect([last.results.length, last.headers.get('urn-next')]).toEqual([2, null]);
    const next = String(Number(last.headers.get('urn-revision')) + 1);
    expect((await listWard({ 'urn.from': next })).results).toEqual([]);
    await randomize('Ward', 'c', { ward: 'b' });
    const grown = await listWard({ 'urn.limit': '2' });
    expect(grown.headers.get('urn-next')).toBe(next);
    expect((await listWard({ 'urn.from': next })).results).toMatchObject([{ id: 'c' }]);
    expect((await listWard({ 'urn.from': next, id: 'a' })).results).toEqual([]);
    expect((await listWard({ id: 'c', 'urn.from': next, 'urn.limit': '1' })).results).toHaveLength(1);
  });

  it('has the same participants as CSV', async () => {
    const get = async (name: Name) => {
      const headers = { 'X-API-Key': keys[name], Accept: 'text/csv' };
      return parseCsv(await (await fetch(`${service.url}${path()}`, { headers })).text()).slice(1);
    };
    const whole = await list(keys.reader);
    expect((await get('reader')).map(([, , id]) => id)).toEqual(
      whole.results.map(({ id }: { id: string }) => id),
    );
    expect(await get('male')).toHaveLength((await list(keys.male)).results.length);
  });

  it('goes to the end without urn.limit', async () => {
    const answer = await list(keys.reader, { 'urn.from': '5' });
    expect(answer.headers.get('urn-next')).toBeNull();
    expect(answer.results).toEqual((await list(keys.reader)).results.slice(4));
  });

  it('gives HEAD the start of the next page, and no participants', async () => {
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
      'urn.from is not a whole number from 0 on; urn.bg_state must be omit',
    ],
  ])('is refused with %j, and the message says what is allowed', async (parameters, message) => {
    expect(await list(keys.reader, parameters)).toMatchObject({ status: 400, message, results: [] });
  });

  it('exists for participants only: other routes do not have these parameters', async () => {
    const answer = await ask(service.url, '/study_config', {
      key: keys.reader,
      parameters: { study: LONG, 'urn.limit': '1' },
    });
    expect(answer).toMatchObject({ status: 400, message: 'urn.limit is not a parameter of study_config' });
  });
});
