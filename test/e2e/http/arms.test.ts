/** Arms, ratios, urn parameters and retired factors: amended over HTTP, and as sites, auditors and others see them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, ask, clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { parseCsv } from '../../support/csv.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const data = temporaryFolders()();
const [COOK, KANE] = ['11-Cook County – Chicago', '45-Kane (3+)'];
const STUDIES = `
Sleep:
  mode: test
  blinding: blinded
  treatments: [A, B, C]
  factors:
    sex: [Male, Female]
    local_site: ["${COOK}", "${KANE}"]
`;
let service: ServiceHere;
let keys: Record<'edc' | 'manager' | 'forcer' | 'blinded' | 'cook' | 'auditor', string>;

const get = (path: string, key = keys.manager, parameters: Record<string, string> = {}) =>
  ask(service.url, path, { key, parameters: { study: 'Sleep', ...parameters } });
const designOf = async () => (await get('/study_design')).results.design;
const balanceOf = async () => (await get('/balance', keys.auditor)).results;
const edc = () => clientOf(service.url, keys.edc);

/** The next amendment of the study. */
async function amend(changes: readonly object[], more: object = {}): Promise<Answer> {
  const { amendment } = await designOf();
  const body = { study: 'Sleep', amendment: amendment + 1, changes, reason: 'protocol 3', ...more };
  return postJson(service.url, '/amendments', keys.manager, body);
}

async function amended(...changes: readonly object[]): Promise<Answer> {
  const answer = await amend(changes);
  expect(answer.status, answer.message).toBe(200);
  return answer;
}

let lastId = 0;
const newId = () => `p${++lastId}`;
/** The levels of new participants, until the factor is retired. */
let levels: Record<string, string> = { sex: 'Male', local_site: COOK };

/** Enrols a participant and returns the record. */
async function enrolled(id = newId(), headers = {}) {
  const answer = await edc().randomize('Sleep', id, levels, headers);
  expect(answer.status, answer.message).toBe(200);
  return answer.results[0];
}

/** The arms of new participants. */
async function armsOf(number: number): Promise<string[]> {
  const arms: string[] = [];
  for (let n = 0; n < number; n++) arms.push((await enrolled()).trt);
  return arms;
}

const force = (treatment: string, occurred_at: string, more: object = {}) =>
  postJson(service.url, '/forced_allocations', keys.forcer, {
    ...{ study: 'Sleep', id: newId(), levels, treatment, occurred_at, cause: 'outage', note: 'envelope 12' },
    ...more,
  });
const correct = (key: string, id: string, factor: string, from: string, to: string) =>
  postJson(service.url, '/level_corrections', key, {
    ...{ study: 'Sleep', id, changes: [{ factor, from, to }], cause: 'entry', note: 'typo' },
  });

const explained = async (id: string) =>
  (await clientOf(service.url, keys.auditor).explain('Sleep', id)).results;
const counts = (tally: { factors: { levels: { counts: number[] }[] }[] }) =>
  tally.factors.flatMap((factor) => factor.levels.map((level) => level.counts));
const none = (rows: readonly number[][]) => rows.flat().every((n) => n === 0);

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['data-manager', '--scope', 'blinded,manage,correct'],
    forcer: ['enterer', '--scope', 'read,force'],
    blinded: ['monitor', '--scope', 'blinded'],
    cook: ['cook', '--scope', 'blinded,randomize,correct', '--where', `local_site=${COOK}`],
    auditor: ['auditor', '--scope', 'read,audit'],
  });
  service = await serveHere(data, STUDIES);
});
afterAll(() => service.stop());

describe('an amendment of arms', () => {
  it('is refused with every problem at once: 422', async () => {
    const before = await designOf();
    const answer = await amend(
      [
        { kind: 'arm-closed', treatment: 'X' },
        { kind: 'arm-reopened', treatment: 'A' },
        { kind: 'arm-added', treatment: 'B' },
        { kind: 'urn', w: 1 },
        { kind: 'urn' },
        { kind: 'ratio', value: [2, 2, 4] },
        { kind: 'ratio', value: [1, 2] },
        { kind: 'factor-retired', factor: 'X' },
      ],
      { history: 'keep' },
    );
    expect([answer.status, answer.results]).toEqual([422, {}]);
    const fields = answer.message.split('; ').map((problem) => problem.split(': ')[0]);
    expect(fields).toEqual([
      ...['changes[0].treatment', 'changes[1].treatment', 'changes[2].treatment', 'changes[3].w'],
      ...['changes[4].kind', 'changes[5].value', 'changes[6].value', 'changes[7].factor', 'history'],
    ]);
    expect(await designOf()).toEqual(before);
  });

  it('is refused with every mistake in its form: 400', async () => {
    const answer = await amend([
      { kind: 'arm-closed', treatment: 1 },
      { kind: 'arm-added', treatment: 'D', ratio: 1 },
      { kind: 'urn', w: 0, D: 'entropy' },
      { kind: 'ratio', value: [21, 1, 1] },
      { kind: 'factor-retired', factor: 'sex', level: 'Male' },
    ]);
    expect([answer.status, answer.results]).toEqual([400, {}]);
    for (const at of ['[0].treatment', '[1].ratio', '[2].w', '[2].D', '[3].value', '[4]'])
      expect(answer.message).toContain(`changes${at}`);
    const invisible = await amend([{ kind: 'arm-added', treatment: 'a\u200bb' }]);
    expect(invisible).toMatchObject({ status: 400, message: expect.stringContaining('U+200B') });
  });
});

describe('a closed arm', () => {
  let id: string;
  let beforeClosing: string;

  it('is no longer drawn, but stays in records, lists and the balance', async () => {
    await armsOf(6);
    const before = await balanceOf();
    const tried = await amend([{ kind: 'arm-closed', treatment: 'C' }], { dry_run: true });
    expect(tried.results.effect).toMatchObject({ counts: 'stays', design: { closed_treatments: ['C'] } });
    expect((await designOf()).closed_treatments).toEqual([]);
    beforeClosing = new Date().toISOString();
    await amended({ kind: 'arm-closed', treatment: 'C' });
    expect(await balanceOf()).toEqual(before);
    expect(await designOf()).toMatchObject({
      ...{ treatments: ['A', 'B', 'C'], closed_treatments: ['C'], epoch: 0 },
    });
    expect((await get('/study_config', keys.blinded)).results.treatments).toEqual(['A', 'B', 'C']);
    expect(new Set(await armsOf(15))).toEqual(new Set(['A', 'B']));
    const { id: last } = await enrolled();
    id = last;
  });

  it('is left out of the explanations of later draws', async () => {
    const why = await explained(id);
    expect(why).toMatchObject({ agrees: true, treatments: ['A', 'B'], closed_treatments: ['C'] });
    for (const { counts: n, balls } of why.urns) expect([n.length, balls.length]).toEqual([2, 2]);
    expect(why.probabilities).toHaveLength(2);
    const text = await commandOk(['explain', '--study', 'Sleep', '--id', id, '--data', data]);
    expect(text).toMatch(/all\n/);
    expect(text).not.toMatch(/^ +C /m);
  });

  it('can be entered for an allocation made before it closed, but not after', async () => {
    expect(await force('C', new Date().toISOString())).toMatchObject({
      ...{ status: 422, results: [], message: expect.stringMatching(/^treatment: /) },
    });
    expect((await force('C', beforeClosing)).results).toMatchObject([{ trt: 'C' }]);
    expect((await force('X', beforeClosing)).message).toContain('no treatment "X"');
  });
});

describe('an added arm', () => {
  it('restarts the urns, unless the history is kept', async () => {
    await amended({ kind: 'arm-reopened', treatment: 'C' });
    const change = { kind: 'arm-added', treatment: 'D' };
    const effects: unknown[] = [];
    for (const history of [undefined, 'restart', 'keep']) {
      const tried = await amend([change], { dry_run: true, history });
      effects.push([tried.results.effect.counts, tried.results.effect.design.epoch]);
    }
    expect(effects).toEqual([
      ['zero', 1],
      ['zero', 1],
      ['stays', 0],
    ]);
    const { totals } = await balanceOf();
    const since = new Date().toISOString();
    const { results } = await amended(change);
    expect(results.design).toMatchObject({ treatments: ['A', 'B', 'C', 'D'], epoch: 1 });
    const after = await balanceOf();
    expect(after.totals).toEqual([...totals, 0]);
    expect(none(counts(after.counted))).toBe(true);
    const { id } = await enrolled();
    const why = await explained(id);
    expect(why).toMatchObject({ agrees: true, earlier_participants: 0, treatments: ['A', 'B', 'C', 'D'] });
    expect(why.epoch_began).toBeLessThan(why.revision);
    expect(why.probabilities).toEqual([0.25, 0.25, 0.25, 0.25]);
    expect((await force('D', since)).status).toBe(422);
    expect((await force('D', new Date().toISOString())).status).toBe(200);
  });

  it('leaves the answers to earlier requests as they were', async () => {
    const retry = { 'Idempotency-Key': 'before-the-arm' };
    const first = await enrolled('kept', retry);
    await amended({ kind: 'arm-added', treatment: 'E' }, { kind: 'arm-closed', treatment: 'E' });
    expect(await enrolled('kept', retry)).toEqual(first);
  });
});

describe('changed numbers of balls', () => {
  it('are in the configuration and in explanations from then on', async () => {
    const urn = { w: 2, alpha: 1, beta: 3, D: 'range' };
    await amended({ kind: 'urn', ...urn });
    expect((await get('/study_config')).results).toMatchObject(urn);
    const { id } = await enrolled();
    const { urns, ...why } = await explained(id);
    expect(why).toMatchObject({ ...urn, agrees: true });
    const { counts: n, balls } = urns[0];
    const all = n.reduce((sum: number, one: number) => sum + one, 0);
    expect(balls).toEqual(n.map((one: number) => 2 + one + 3 * (all - one)));
  });
});

describe('a ratio', () => {
  it('restarts the urns when it is amended, and shows in the design, balance and explanations', async () => {
    const change = { kind: 'ratio', value: [2, 1, 1, 3, 1] };
    const tried = await amend([change], { dry_run: true });
    expect(tried.results.effect).toMatchObject({ counts: 'zero', design: { ratio: change.value } });
    await amended(change);
    const design = await designOf();
    expect(design.ratio).toEqual(change.value);
    const shown = await commandOk(['studies', 'show', 'Sleep', '--json', '--data', data]);
    expect(JSON.parse(shown).design).toEqual(design);
    expect((await get('/balance', keys.auditor)).results).toMatchObject({
      ...{ treatments: ['A', 'B', 'C', 'D', 'E'], ratio: change.value },
    });
    expect(none(counts((await balanceOf()).counted))).toBe(true);
    let last = await enrolled();
    // Until somebody is on an arm with several slots.
    while (!['A', 'D'].includes(last.trt)) last = await enrolled();
    const { id, trt } = last;
    const why = await explained(id);
    // E is closed.
    expect(why).toMatchObject({ agrees: true, treatments: ['A', 'A', 'B', 'C', 'D', 'D', 'D'] });
    expect(why.urns[0].balls).toHaveLength(7);
    const text = await commandOk(['explain', '--study', 'Sleep', '--id', id, '--data', data]);
    expect(text).toContain('The study has a ratio: an arm has as many slots as its number in the ratio');
    expect(text.match(/<- u falls here/g)).toHaveLength(1);
    const stored = storedLog(data).find(({ record }) => record.data.participantId === id);
    expect(stored?.record.version).toBe(2);
    const { slot } = JSON.parse(stored?.sealed ?? '').draw;
    expect(['A', 'A', 'B', 'C', 'D', 'D', 'D', 'E'][slot]).toBe(trt);
    expect(why.slot).toBe(slot);
    expect(JSON.stringify(stored?.record)).not.toContain('slot');
  });

  it('is shown no more once it is set back to ones', async () => {
    await amended({ kind: 'ratio', value: [1, 1, 1, 1, 1] });
    expect(await designOf()).not.toHaveProperty('ratio');
    expect(await balanceOf()).not.toHaveProperty('ratio');
  });
});

describe('a retired factor', () => {
  const RETRY = { 'Idempotency-Key': 'before-the-factor' };
  const before = { sex: 'Male', local_site: COOK };
  let first: { id: string; trt: string };
  let ofCook: string[];
  let id: string;

  const idsOf = (answer: Answer): string[] => answer.results.map((one: { id: string }) => one.id);

  beforeAll(async () => {
    first = await enrolled('early', RETRY);
    ofCook = idsOf(await get('/study_participants', keys.cook));
    await amended({ kind: 'factor-retired', factor: 'local_site' });
    levels = { sex: 'Female' };
    ({ id } = await enrolled());
  });

  it('is no longer asked for, and is not in the records of new participants', async () => {
    const { factors } = (await get('/study_config')).results;
    expect(Object.keys(factors)).toEqual(['sex']);
    expect((await designOf()).factors.map((one: { retired: boolean }) => one.retired)).toEqual([false, true]);
    for (const parameters of [{}, { 'urn.view': 'current' }, { 'urn.view': 'as_randomized' }]) {
      const all = (await get('/study_participants', keys.blinded, parameters)).results;
      const recordOf = (wanted: string) => all.find((one: { id: string }) => one.id === wanted);
      expect(recordOf(id)).toMatchObject({ f_sex: 'Female' });
      expect(recordOf(id)).not.toHaveProperty('f_local_site');
      expect(recordOf('early')).toMatchObject({ f_sex: 'Male', f_local_site: COOK });
    }
    const stored = storedLog(data).find(({ record }) => record.data.participantId === id);
    expect(stored?.record.data.levels).toEqual([{ factor: 'sex', level: 'Female' }]);
    const why = await explained(id);
    expect(why).toMatchObject({ agrees: true, candidates: ['sex'] });
    expect(why.urns).toHaveLength(1);
  });

  it('keeps its columns in CSV, which are empty for new participants', async () => {
    const response = await fetch(`${service.url}/study_participants?study=Sleep`, {
      headers: { 'X-API-Key': keys.blinded, Accept: 'text/csv' },
    });
    const [head = [], ...rows] = parseCsv(await response.text());
    const cells = (wanted: string, name: string) =>
      rows.find((row) => row[head.indexOf('id')] === wanted)?.[head.indexOf(name)];
    for (const name of ['f_local_site', 'randomized_f_local_site']) {
      expect(cells('early', name)).toBe(COOK);
      expect(cells(id, name)).toBe('');
    }
  });

  it('is still a filter', async () => {
    expect(idsOf(await get('/study_participants', keys.blinded, { local_site: COOK }))).toEqual(ofCook);
    expect(ofCook).toContain('early');
    expect((await get('/study_participants', keys.blinded, { local_site: 'X' })).status).toBe(400);
  });

  it('is refused with a hint if it is still sent, unless the request was answered before', async () => {
    const answer = await edc().randomize('Sleep', 'late', before);
    expect([answer.status, answer.results]).toEqual([400, []]);
    expect(answer.message).toBe('local_site is retired (hint: leave it out)');
    expect(await edc().randomize('Sleep', 'early', before, RETRY)).toMatchObject({
      ...{ status: 200, results: [{ id: 'early', trt: first.trt, f_local_site: COOK }] },
    });
    expect(await edc().randomize('Sleep', 'early', { sex: 'Male' }, RETRY)).toMatchObject({ status: 200 });
    expect((await edc().randomize('Sleep', 'early', { ...before, sex: 'Female' }, RETRY)).status).toBe(422);
    expect(await edc().randomize('Sleep', 'early', before)).toMatchObject({
      ...{ status: 400, message: 'Participant early is already assigned', results: [{ id: 'early' }] },
    });
    const forced = await force('A', new Date().toISOString(), { levels: before });
    expect(forced).toMatchObject({ status: 400, message: expect.stringContaining('local_site is retired') });
    expect((await force('A', new Date().toISOString())).status).toBe(200);
    const corrected = await correct(keys.manager, 'early', 'local_site', COOK, KANE);
    expect([corrected.status, corrected.message]).toEqual([422, 'changes[0].factor: the factor is retired']);
  });

  it('leaves a key that it limits with its existing participants, and no new ones', async () => {
    const cook = clientOf(service.url, keys.cook);
    const shown = idsOf(await get('/study_participants', keys.cook));
    expect(shown).toEqual(ofCook);
    for (const asked of [levels, before])
      expect(await cook.randomize('Sleep', 'late', asked)).toMatchObject({
        ...{ status: 403, results: [] },
        message: expect.stringMatching(/limited by local_site, which is retired, so it can enrol nobody/),
      });
    expect(await edc().randomize('Sleep', 'late', { sex: 'none' })).toMatchObject({ status: 400 });
    const ofCookNow = await correct(keys.cook, shown[0] ?? '', 'sex', 'Male', 'Female');
    expect(ofCookNow).toMatchObject({ status: 200, results: [{ f_sex: 'Female' }] });
    const everybody = idsOf(await get('/study_participants', keys.blinded));
    const outside = everybody.find((one) => !shown.includes(one)) ?? '';
    expect((await correct(keys.cook, outside, 'sex', 'Male', 'Female')).status).toBe(404);
  });
});

it('the log after all of these is sound', async () => {
  expect((await get('/verification', keys.auditor)).results.ok).toBe(true);
});
