/** Long lists on the real service: how much of it a key can take up, and how to read them in pages. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, clientOf } from '../../support/client.ts';
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

type Name = 'edc' | 'reader' | 'idler' | 'auditor' | 'pager' | 'male';
type Parameters = Readonly<Record<string, string>>;
let keys: Record<Name, string>;
let service: Service;

beforeAll(async () => {
  const read = { scopes: ['read'] } as const;
  const audit = { scopes: ['read', 'audit'] } as const;
  ({ keys } = await makeLongLog<Name>(
    data,
    {
      edc: { scopes: ['read', 'randomize'] },
      ...{ reader: read, idler: read, auditor: audit, pager: audit },
      male: { ...read, where: [{ factor, levels: ['Male'] }] },
    },
    { participants: PARTICIPANTS, by: 'edc' },
  ));
  service = await serve({ data, studies: TRIALS });
});
afterAll(() => service.kill());

const list = (name: Name, parameters: Parameters = {}) =>
  clientOf(service.url, keys[name]).list(LONG, parameters);
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

const idle: Socket[] = [];
afterAll(() => {
  for (const socket of idle) socket.destroy();
});

/** A connection that requests the long list and reads only the beginning of the answer. */
function unread(name: Name, n: number): { readonly socket: Socket; readonly head: Promise<string> } {
  const { port } = new URL(service.url);
  // From several addresses, since the number of connections per address is limited.
  const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: `127.0.0.${2 + (n % 8)}` });
  idle.push(socket);
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: test\r\nX-API-Key: ${keys[name]}\r\n\r\n`);
  const head = once(socket, 'readable').then(() => String(socket.read() ?? ''));
  return { socket, head };
}

describe('300 lists of 20,000 participants that nobody reads', () => {
  it('do not fill memory or delay another key’s POST, and most are refused', async () => {
    const { randomize } = clientOf(service.url, keys.edc);
    expect((await randomize(LONG, 'before', LEVELS)).status).toBe(200);
    const before = residentMiB();
    const heads: string[] = [];
    for (let n = 0; n < 300; n++) void unread('idler', n).head.then((text) => heads.push(text));
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
  }, 120_000);

  it('do not prevent another key from reading its list', async () => {
    expect((await list('reader')).results.length).toBeGreaterThan(PARTICIPANTS);
  });
});

describe('lists of one key', () => {
  it('wait for each other, and those beyond the limit are refused', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => list('reader')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    for (const { status, headers, results } of answers)
      if (status === 429) expect([headers.get('retry-after'), results]).toEqual(['1', []]);
    const whole = new Set(answers.flatMap(({ status, text }) => (status === 200 ? [text] : [])));
    expect(whole.size).toBe(1);
  });

  it('do not wait for a long one if they are short', async () => {
    const waiting = Array.from({ length: 9 }, (_, n) => unread('auditor', n));
    await waiting[0]?.head;
    const omit = { 'urn.bg_state': 'omit' };
    const short = await Promise.all(
      Array.from({ length: 30 }, (_, n) => list('auditor', { id: `${n}`, ...omit })),
    );
    expect(new Set(short.map(({ status }) => status))).toEqual(new Set([200]));
    for (const { socket } of waiting) socket.destroy();
  });
});

describe('a list in pages', () => {
  /** The records as they came. Large integers would be rounded by JSON.parse. */
  const recordsIn = ({ text }: Answer) => text.slice(text.indexOf('[') + 1, text.lastIndexOf(']'));

  it.each<[string, Name, number, Parameters]>([
    ['of everybody', 'reader', 1000, {}],
    ['of two factors, in short pages', 'reader', 200, { [factor]: 'Male', [other]: '30-Dupage County' }],
    ['for a key limited to a level', 'male', 1000, {}],
    ['with generator states, at an earlier revision', 'pager', 1000, { 'urn.revision': '4321' }],
  ])('%s adds up to the whole list', async (_, name, limit, filter) => {
    const whole = await list(name, filter);
    const pages: Answer[] = [];
    for (let from: string | null = '0'; from !== null; ) {
      const page: Answer = await list(name, { ...filter, 'urn.limit': `${limit}`, 'urn.from': from });
      expect(page.status, page.message).toBe(200);
      pages.push(page);
      from = page.headers.get('urn-next');
    }
    expect(pages.map(recordsIn).join() === recordsIn(whole)).toBe(true);
    const sizes = pages.map(({ results }) => results.length);
    expect(sizes.slice(0, -1)).toEqual(Array(sizes.length - 1).fill(limit));
    expect(sizes.at(-1)).toBeGreaterThan(0);
  });

  it('in another order has every participant on exactly one of its pages', async () => {
    const filter = { [factor]: 'Male', [other]: '30-Dupage County' };
    const idsOf = ({ results }: Answer): string[] => results.map(({ id }: { id: string }) => id);
    const inTime = idsOf(await list('reader', filter));
    const seen: string[] = [];
    for (let offset = 0; offset < inTime.length; offset += 1000) {
      const page = { 'urn.sort': 'id', 'urn.order': 'desc', 'urn.limit': '1000', 'urn.offset': `${offset}` };
      const answer = await list('reader', { ...filter, ...page });
      const total = `${inTime.length}`;
      expect([answer.headers.get('urn-total'), answer.headers.get('urn-next')]).toEqual([total, null]);
      seen.push(...idsOf(answer));
    }
    expect(inTime).toHaveLength(PARTICIPANTS / 4);
    expect(seen).toEqual(inTime.toReversed());
  });

  it('by a factor is sorted as a whole', async () => {
    const { results } = await list('reader', { 'urn.sort': `f_${factor}` });
    const places = results.map((record: Record<string, string>) => record[`f_${factor}`] === 'Male');
    expect(places.length).toBeGreaterThan(PARTICIPANTS);
    expect(places.lastIndexOf(true)).toBe(places.indexOf(false) - 1);
  });

  it('is consistent at a revision while the study grows', async () => {
    const { randomize } = clientOf(service.url, keys.edc);
    const enrol = async (id: string) =>
      expect((await randomize('Patterned', id, { ward: 'a' })).status).toBe(200);
    for (let n = 0; n < 5; n++) await enrol(`000-000${n}`);
    const seen: string[] = [];
    for (let from: string | null = '0'; from !== null; ) {
      const page: Answer = await clientOf(service.url, keys.pager).list('Patterned', {
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
    const ward = (parameters: Parameters) => listed('Ward', parameters);
    expect((await ward({ 'urn.limit': '1' })).results).toEqual([]);
    for (const id of ['a', 'b']) expect((await randomize('Ward', id, { ward: 'a' })).status).toBe(200);
    const last = await ward({ 'urn.limit': '2' });
    expect([last.results.length, last.headers.get('urn-next')]).toEqual([2, null]);
    const next = String(Number(last.headers.get('urn-revision')) + 1);
    expect((await ward({ 'urn.from': next })).results).toEqual([]);
    await randomize('Ward', 'c', { ward: 'b' });
    expect((await ward({ 'urn.limit': '2' })).headers.get('urn-next')).toBe(next);
    expect((await ward({ 'urn.from': next })).results).toMatchObject([{ id: 'c' }]);
    expect((await ward({ 'urn.from': next, id: 'a' })).results).toEqual([]);
    expect((await ward({ id: 'c', 'urn.from': next, 'urn.limit': '1' })).results).toHaveLength(1);
  });

  it('has the same participants as CSV, and to the end without urn.limit', async () => {
    const whole = await list('reader');
    const headers = { 'X-API-Key': keys.reader, Accept: 'text/csv' };
    const csv = await (await fetch(`${service.url}${path}`, { headers })).text();
    // No id or name of this study is quoted.
    const ids = csv
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',')[2]);
    expect(ids).toEqual(whole.results.map(({ id }: { id: string }) => id));
    const fromFifth = await list('reader', { 'urn.from': '5' });
    expect(fromFifth.headers.get('urn-next')).toBeNull();
    expect(fromFifth.results).toEqual(whole.results.slice(4));
  });
});
