/**
 * Packs at visits when something fails. Two services on one log are asked for the pack of one visit, and one of them is killed: there
 * is one pack, whoever answers. While the log cannot be written: what was given out is told again, and codes of packs can be broken.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { type Answer, clientOf } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { hold } from '../../support/held-lock.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { served } from '../../support/served.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { type SwallowingProxy, swallowingProxy } from '../../support/swallowing-proxy.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const ARMS = ['Verum', 'Placebo'];
const ENTRIES = Array.from({ length: 80 }, (_, n) => ({ code: `P-${n}`, treatment: ARMS[n % 2] ?? '' }));
const studies = (...visits: string[]) => `
Relief:
  mode: test
  blinding: blinded
  treatments: [${ARMS.join(', ')}]
  factors: {site: [Cook, Kane]}
  visits: [${visits.join(', ')}]
`;

describe('the pack of a visit, asked for at two services', () => {
  const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 2);
  const AT_ONCE = ['A1', 'A2', 'A3'];
  const KILLED = Array.from({ length: ROUNDS }, (_, n) => `K${n + 1}`);
  const STUDIES = studies('Unwritten', 'Unheard', 'Verified', ...AT_ONCE, ...KILLED);
  const data = newFolder();
  let key: string;
  let a: Service;
  let b: ServiceHere;
  let proxy: SwallowingProxy | undefined;
  const choices = seededChoices();

  const start = () => serve({ data, studies: STUDIES });

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
      expect([again.status, isRepeated(again), again.results]).toEqual([
        200,
        true,
        { visit, code: codes[0] },
      ]);
    }
    expect(codesOf(visit)).toEqual(codes);
  }

  beforeAll(async () => {
    key = (await issueKeys(data, { site: ['site', '--scope', 'randomize,blinded'] })).site;
    [a, b] = await Promise.all([start(), serveHere(data, STUDIES)]);
    await registerPacks(data, 'Relief', [{ entries: ENTRIES }]);
    expect((await clientOf(a.url, key).randomize('Relief', 'p1', { site: 'Cook' })).status).toBe(200);
  });
  afterAll(async () => {
    await proxy?.close();
    await a.kill();
    await b.stop();
  });

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

describe.sequential('while the log is locked', () => {
  /** It waits for seconds, and asking takes the processor. */
  const SELDOM = { timeout: 60_000, interval: 500 };
  const data = newFolder();
  const pending = join(data, 'reveals.pending');
  const http = served(
    studies('V2', 'V3', 'V4'),
    {
      site: ['site', '--scope', 'randomize,blinded'],
      desk: ['desk', '--scope', 'correct,blinded'],
      night: ['night', '--scope', 'unblind,blinded'],
    },
    { data },
  );
  let release: () => Promise<void>;
  /** Packs of p1: of V2, what replaced it, and one that was never theirs. */
  let packs: Record<'replaced' | 'present' | 'void', string>;
  let arm: string;

  const post = (name: keyof typeof http.keys, path: string, body: object, by?: string) =>
    http.post(name, path, { study: 'Relief', ...body }, by === undefined ? {} : { 'Idempotency-Key': by });
  const V2 = { id: 'p1', visit: 'V2' };
  const undone = () => ({ id: 'p1', code: packs.void, to: null, cause: 'not-handed-out', note: 'cancelled' });
  const reveal = (whose: { code: string } | { id: string }, category = 'emergency') =>
    post('night', '/code_breaks', { ...whose, category, reason: 'a child swallowed it' });
  const codeBreaks = async () => (await http.get('night', '/code_breaks', { study: 'Relief' })).results;

  beforeAll(async () => {
    await registerPacks(data, 'Relief', [{ entries: ENTRIES }]);
    await http.as('site').randomize('Relief', 'p1', { site: 'Cook' });
    const replaced = (await post('site', '/dispensations', V2, 'k2')).results.code;
    arm = ENTRIES.find(({ code }) => code === replaced)?.treatment ?? '';
    const worn = { id: 'p1', code: replaced, cause: 'damaged' };
    const { by } = (await post('site', '/code_replacements', worn, 'r2')).results;
    const { code } = (await post('site', '/dispensations', { id: 'p1', visit: 'V3' })).results;
    packs = { replaced, present: by, void: code };
    expect((await post('desk', '/dispensation_corrections', undone(), 'c3')).status).toBe(200);
    release = await hold(join(data, 'urn.sqlite'));
  });

  it('a pack is told again to whoever repeats the request, and no other one is given out', async () => {
    expect((await post('site', '/dispensations', { id: 'p1', visit: 'V4' }, 'k4')).status).toBe(503);
    const again = await post('site', '/dispensations', { ...V2, visit: 'v2' }, 'k2');
    expect([again.status, again.headers.get('urn-repeated'), again.results]).toEqual([
      ...[200, 'true', { visit: 'V2', code: packs.replaced }],
    ]);
    const replaced = { id: 'p1', code: packs.replaced, cause: 'damaged' };
    const repeated = await post('site', '/code_replacements', replaced, 'r2');
    expect([repeated.status, repeated.results.by]).toEqual([200, packs.present]);
    const corrected = await post('desk', '/dispensation_corrections', undone(), 'c3');
    expect([corrected.status, corrected.headers.get('urn-repeated'), corrected.results]).toEqual([
      ...[200, 'true', { code: packs.void, from: 'V3', to: null }],
    ]);
    // What only the model says needs no log either.
    expect(await post('site', '/dispensations', V2)).toMatchObject({
      ...{ status: 400, results: { visit: 'V2', code: packs.present } },
    });
    expect((await post('site', '/dispensations', { ...V2, visit: 'V3' }, 'k2')).status).toBe(422);
  });

  it('a code can be broken by the id, and by the pack that somebody has or had; a void one is nobody’s', async () => {
    const asked = performance.now();
    // Each waits for the log for a while.
    const { present, replaced } = packs;
    const whose = [{ id: 'p1' }, { code: present }, { code: replaced }, { code: packs.void }];
    const said = (await Promise.all(whose.map((one) => reveal(one)))).map(({ status, headers, results }) => [
      ...[status, headers.get('urn-recorded'), headers.get('urn-receipt'), results],
    ]);
    const ofSomebody = [expect.objectContaining({ id: 'p1', trt: arm })];
    expect(said).toEqual([
      [200, 'pending', null, ofSomebody],
      [200, 'pending', null, ofSomebody],
      [200, 'pending', null, ofSomebody],
      [200, 'pending', null, [{ code: packs.void, trt: arm }]],
    ]);
    // They wait three seconds for the log. The rest depends on the machine.
    expect(performance.now() - asked).toBeLessThan(20_000);
    const kept = readFileSync(pending, 'utf8');
    expect(kept).toContain('"p1"');
    expect(kept).not.toMatch(/Verum|Placebo/);
    expect(statSync(pending).mode & 0o777).toBe(0o600);
    // Another category can wait.
    for (const one of [{ id: 'p1' }, { code: present }]) {
      const planned = await reveal(one, 'planned');
      expect([planned.status, planned.text.includes(arm)]).toEqual([503, false]);
    }
  });

  it('the code-breaks are in the log once it can be written, and nothing else that was refused', async () => {
    await release();
    const emergencies = async () =>
      (await codeBreaks()).filter(({ category }: { category?: string }) => category === 'emergency');
    await expect.poll(async () => (await emergencies()).length, SELDOM).toBe(4);
    await expect.poll(() => existsSync(pending), SELDOM).toBe(false);
    const logged = storedLog(data).flatMap(({ record: { type, data } }) =>
      type === 'AllocationRevealed' && data.category === 'emergency'
        ? [[data.code, data.participantId] as const]
        : [],
    );
    // Whatever waited longest need not come first.
    expect(new Map(logged)).toEqual(
      new Map([
        [undefined, 'p1'],
        [packs.present, 'p1'],
        [packs.replaced, 'p1'],
        [packs.void, undefined],
      ]),
    );
    expect(logged).toHaveLength(4);
    // The request of V4 may have reached the log: nobody knew whether it would. With its key there is one pack in any case.
    const v4 = await post('site', '/dispensations', { id: 'p1', visit: 'V4' }, 'k4');
    expect(v4.status).toBe(200);
    const dispensed = storedLog(data).filter(({ record }) => record.type === 'PackDispensed');
    expect(dispensed.map(({ record }) => record.data.visit)).toEqual(['V2', 'V3', 'V4']);
    await http.service.stop();
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });
});
