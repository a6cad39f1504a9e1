/** Two services on one log are asked for the pack of one visit, and one of them is killed: there is one pack, whoever answers. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Choices, seededChoices } from '../../support/choices.ts';
import { type Answer, clientOf } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { hold } from '../../support/held-lock.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { type SwallowingProxy, swallowingProxy } from '../../support/swallowing-proxy.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 2);
const AT_ONCE = ['A1', 'A2', 'A3'];
const KILLED = Array.from({ length: ROUNDS }, (_, n) => `K${n + 1}`);
const STUDIES = `
Relief:
  mode: test
  blinding: blinded
  treatments: [Verum, Placebo]
  factors: {site: [Cook, Kane]}
  visits: [${['Unwritten', 'Unheard', 'Verified', ...AT_ONCE, ...KILLED].join(', ')}]
`;
const data = temporaryFolders()();
const running: Service[] = [];
let key: string;
let a: Service;
let b: ServiceHere;
let proxy: SwallowingProxy | undefined;
let choices: Choices;

async function start(): Promise<Service> {
  const service = await serve({ data, studies: STUDIES });
  running.push(service);
  return service;
}

const dispense = (url: string, visit: string, by?: string): Promise<Answer> => {
  const headers = by === undefined ? undefined : { 'Idempotency-Key': by };
  return postJson(url, '/dispensations', key, { study: 'Relief', id: 'p1', visit }, headers);
};
/** Of a service that may be killed meanwhile. */
const orNone = (answer: Promise<Answer>) => answer.catch(() => undefined);
const isRepeated = ({ headers }: Answer) => headers.get('urn-repeated') === 'true';
const codesOf = (visit: string): string[] =>
  storedLog(data).flatMap(({ record }) =>
    record.type === 'PackDispensed' && record.data.visit === visit ? [record.data.code] : [],
  );

/** The request with this key has been answered; whoever is asked again says the same. */
async function isTheOnlyPack(visit: string, by: string): Promise<void> {
  const codes = codesOf(visit);
  expect(codes, visit).toHaveLength(1);
  for (const { url } of [a, b]) {
    const again = await dispense(url, visit, by);
    expect([again.status, isRepeated(again), again.results]).toEqual([200, true, { visit, code: codes[0] }]);
  }
  expect(codesOf(visit)).toEqual(codes);
}

beforeAll(async () => {
  choices = seededChoices();
  key = (await issueKeys(data, { site: ['site', '--scope', 'randomize,blinded'] })).site;
  [a, b] = await Promise.all([start(), serveHere(data, STUDIES)]);
  const arms = ['Verum', 'Placebo'];
  const entries = Array.from({ length: 80 }, (_, n) => ({ code: `P-${n}`, treatment: arms[n % 2] ?? '' }));
  await registerPacks(data, 'Relief', [{ entries }]);
  expect((await clientOf(a.url, key).randomize('Relief', 'p1', { site: 'Cook' })).status).toBe(200);
});
afterAll(async () => {
  await proxy?.close();
  for (const service of running) await service.kill();
  await b.stop();
});

describe('the pack of a visit, asked for at two services', () => {
  it.each(AT_ONCE)('at once, is one, and all are told its number: %s', async (visit) => {
    const keys = ['tablet', 'desk', undefined].map((name) => name && `${name}-${visit}`);
    const asked = [a, b].flatMap(({ url }) => keys.map((by) => ({ url, by })));
    const answers = await Promise.all(
      asked.map(async ({ url, by }) => ({ by, answer: await dispense(url, visit, by) })),
    );
    const [first, ...others] = answers.filter(({ answer }) => answer.status === 200 && !isRepeated(answer));
    expect(others).toEqual([]);
    const { code } = first?.answer.results ?? {};
    expect(codesOf(visit)).toEqual([code]);
    for (const { by, answer } of answers) {
      const isOfFirst = answer === first?.answer || (by !== undefined && by === first?.by);
      expect([by, answer.status, answer.results]).toEqual([by, isOfFirst ? 200 : 400, { visit, code }]);
    }
  });

  it('is given out by the other one if the first is killed before it is written', async () => {
    const release = await hold(`${data}/urn.sqlite`);
    proxy = await swallowingProxy(a.url);
    const lost = orNone(dispense(proxy.url, 'Unwritten', 'k-unwritten'));
    await expect.poll(() => proxy?.received).toBe(1);
    await a.kill();
    expect(await lost).toBeUndefined();
    expect(codesOf('Unwritten')).toEqual([]);
    await release();
    const answer = await dispense(b.url, 'Unwritten', 'k-unwritten');
    expect([answer.status, isRepeated(answer)]).toEqual([200, false]);
    await proxy.close();
    a = await start();
    await isTheOnlyPack('Unwritten', 'k-unwritten');
  });

  it('is told by the other one if the first is killed when it is written, and its answer lost', async () => {
    proxy = await swallowingProxy(a.url);
    proxy.posts = 'answer-lost';
    expect(await orNone(dispense(proxy.url, 'Unheard', 'k-unheard'))).toBeUndefined();
    await a.kill();
    const codes = codesOf('Unheard');
    expect(codes).toHaveLength(1);
    const other = await dispense(b.url, 'Unheard', 'another');
    expect([other.status, other.results]).toEqual([400, { visit: 'Unheard', code: codes[0] }]);
    const answer = await dispense(b.url, 'Unheard', 'k-unheard');
    expect([answer.status, isRepeated(answer), answer.results.code]).toEqual([200, true, codes[0]]);
    await proxy.close();
    a = await start();
    await isTheOnlyPack('Unheard', 'k-unheard');
  });

  it.each(KILLED)('at once, is one even if one of them is killed at some moment: %s', async (visit) => {
    const answers = Promise.all([a, b, a, b].map(({ url }) => orNone(dispense(url, visit, `k-${visit}`))));
    await delay(choices.between(0, 25));
    await a.kill();
    const heard = (await answers).filter((answer) => answer !== undefined);
    // The one that lives answers both.
    expect(heard.length).toBeGreaterThanOrEqual(2);
    expect(new Set(heard.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(heard[0]?.status).toBe(200);
    a = await start();
    await isTheOnlyPack(visit, `k-${visit}`);
  });

  it('is one for each visit to a verification of the log', async () => {
    expect((await dispense(b.url, 'Verified')).status).toBe(200);
    const visits = storedLog(data).flatMap(({ record: { type, data } }) =>
      type === 'PackDispensed' ? [data.visit] : [],
    );
    expect(new Set(visits).size).toBe(visits.length);
    const { code, stdout } = await command(['verify', '--data', data]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`, ${visits.length} given at visits`)]);
  });
});
