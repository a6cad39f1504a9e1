/** Allocations made outside the service: entered by data managers over HTTP, and seen by others. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, ask, clientOf } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { postJson } from '../../support/post-json.ts';
import { recordsOf, type ServiceHere, serveInMemory } from '../../support/service-here.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const STUDIES = TRIALS.replace('Ward:\n', 'Ward:\n  policies: {forced_counts: not-counted}\n');
const ARMS = ['ZZTREATA', 'ZZTREATB'];
const NOTE = 'envelope 12 during the power cut';
let service: ServiceHere;
let keys: Record<'edc' | 'manager' | 'blinded' | 'auditor' | 'silent', string>;

const post = (path: string, body: object, headers = {}, key = keys.manager) =>
  postJson(service.url, path, key, { study: 'Sleep', ...body }, headers);
const get = (path: string, key: string, parameters: Record<string, string> = {}) =>
  ask(service.url, path, { key, parameters: { study: 'Sleep', ...parameters } });
/** It occurs now, so after the registration and not before the answer to the last request. */
const force = (id: string, more: object = {}, headers = {}, key = keys.manager) =>
  post(
    '/forced_allocations',
    {
      ...{ id, levels: COOK, treatment: 'ZZTREATB', cause: 'outage' },
      ...{ occurred_at: new Date().toISOString(), note: NOTE, ...more },
    },
    headers,
    key,
  );
const annul = (id: string) =>
  post('/voids', { id, cause: 'entry', analysis: 'exclude', note: 'the wrong arm was entered' });
const state = (action: string, more = {}) => post('/study_state', { action, reason: 'outage', ...more });
const list = async (key: string, filter: Record<string, string> = {}) =>
  (await get('/study_participants', key, filter)).results;
const balance = async (study = 'Sleep') => (await get('/balance', keys.auditor, { study })).results;
/** The records of the studies only: other streams may lag behind. */
const written = async () => (await recordsOf(service)).filter(({ stream }) => stream.startsWith('study-'));
const revisionOf = ({ headers }: Answer) => Number(headers.get('urn-revision'));
let lastId = 0;
const newId = () => `p${++lastId}`;

async function randomized(study = 'Sleep', levels: Record<string, string> = COOK): Promise<string> {
  const id = newId();
  const answer = await clientOf(service.url, keys.edc).randomize(study, id, levels);
  expect(answer.status, answer.message).toBe(200);
  return id;
}

/** Enters a new participant by hand and returns the id. */
async function forced(more: object = {}): Promise<string> {
  const id = newId();
  const answer = await force(id, more);
  expect(answer.status, answer.message).toBe(200);
  return id;
}

async function expectRefused(answer: Promise<Answer>, status: number, words: RegExp): Promise<void> {
  expect(await answer).toMatchObject({ status, results: [], message: expect.stringMatching(words) });
}

beforeAll(async () => {
  ({ service, keys } = await serveInMemory(STUDIES, {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['data-manager', '--scope', 'read,force,correct,manage'],
    blinded: ['monitor', '--scope', 'blinded'],
    auditor: ['auditor', '--scope', 'audit'],
    silent: ['importer', '--scope', 'force'],
  }));
});
afterAll(() => service.stop());

describe('an allocation that is entered', () => {
  it('is answered with the record, with its arm and its time, which are sealed in the log', async () => {
    const id = newId();
    const occurred_at = new Date().toISOString();
    const answer = await force(id, { occurred_at });
    const record = { id, f_sex: COOK.sex, f_local_site: COOK.local_site, trt: 'ZZTREATB' };
    expect(answer.results).toMatchObject([
      { ...record, user: 'data-manager', 'urn.occurred_at': occurred_at },
    ]);
    expect(await list(keys.edc, { id })).toEqual(answer.results);
    const stored = (await written()).at(-1);
    expect(stored?.record.data).toMatchObject({ cause: 'outage', counted: true, occurredAt: occurred_at });
    for (const secret of [...ARMS, NOTE]) expect(JSON.stringify(stored?.record)).not.toContain(secret);
    expect(JSON.parse(stored?.sealed ?? '')).toMatchObject({
      allocation: { treatment: 'ZZTREATB' },
      note: { text: NOTE },
    });
  });

  it('has no arm for a blinded reader, and no record for a key that may only enter', async () => {
    const id = newId();
    expect((await force(id, {}, {}, keys.silent)).results).toEqual([]);
    const [record] = await list(keys.blinded, { id });
    expect(record).toMatchObject({ id, 'urn.occurred_at': expect.any(String) });
    expect(record).not.toHaveProperty('trt');
    const [inOrder] = await list(keys.blinded, { id, 'urn.view': 'current' });
    expect(inOrder).toMatchObject({ 'urn.sequence': lastId, 'urn.revision': expect.any(Number) });
  });

  it('has a history, with the note for those who read or audit', async () => {
    const id = await forced({ cause: 'elsewhere' });
    for (const key of [keys.blinded, keys.edc, keys.auditor]) {
      const { results, text } = await get('/participant_history', key, { id });
      expect(results).toMatchObject([
        { type: 'AllocationForced', user: 'data-manager', data: { cause: 'elsewhere', counted: true } },
      ]);
      expect(text.includes(NOTE)).toBe(key !== keys.blinded);
      for (const arm of ARMS) expect(text).not.toContain(arm);
    }
  });

  it('has its kind and its instant in the CSV', async () => {
    const occurred_at = new Date().toISOString();
    const [drawn, entered] = [await randomized(), await forced({ occurred_at })];
    for (const key of [keys.edc, keys.blinded]) {
      const headers = { 'X-API-Key': key, Accept: 'text/csv' };
      const response = await fetch(`${service.url}/study_participants?study=Sleep`, { headers });
      const [columns = [], ...rows] = parseCsv(await response.text());
      const cell = (id: string, column: string) =>
        rows.find((row) => row[columns.indexOf('id')] === id)?.[columns.indexOf(column)];
      expect([cell(drawn, 'kind'), cell(drawn, 'occurred_at')]).toEqual(['drawn', '']);
      expect([cell(entered, 'kind'), cell(entered, 'occurred_at')]).toEqual(['forced', occurred_at]);
      expect(columns.includes('treatment')).toBe(key === keys.edc);
    }
  });

  it('has no draw to explain: 422', async () => {
    const id = await forced();
    const answer = await get('/explanation', keys.auditor, { id });
    expect([answer.status, answer.results]).toEqual([422, []]);
    expect(answer.message).toMatch(
      /was allocated outside the service at .*, so there is no draw to explain$/,
    );
    for (const arm of ARMS) expect(answer.message).not.toContain(arm);
  });
});

describe('a dry run', () => {
  it('checks everything, and says what the urns would count', async () => {
    const retry = { 'Idempotency-Key': 'tried' };
    expect((await force('tried', { dry_run: true }, retry)).results).toEqual({ effect: { counts: 'moves' } });
    expect(await list(keys.manager, { id: 'tried' })).toEqual([]);
    const ofWard = { study: 'Ward', levels: { ward: 'a' }, treatment: 'Left', dry_run: true };
    expect((await force('tried', ofWard)).results).toEqual({ effect: { counts: 'stays' } });
    await expectRefused(force('tried', { dry_run: true, treatment: 'X' }), 400, /no treatment "X"/);
    expect((await force('tried', {}, retry)).status).toBe(200);
    await expectRefused(force('tried', { dry_run: true }), 422, /^id: a participant has, or had, this id/);
    lastId++;
  });
});

describe('an invalid entry', () => {
  it('is refused with every problem at once: 400', async () => {
    const malformed = { cause: 'whim', note: '', occurred_at: '2999-01-01T00:00:00Z', unknown: 1 };
    const { status, message } = await force(' ', malformed);
    expect(status).toBe(400);
    for (const words of [/id begins or ends/, /occurred_at: is in the future/, /cause/, /note/, /unknown/])
      expect(message).toMatch(words);
    const impossible = await force('a\u200bb', {
      levels: { sex: COOK.local_site, age: '9' },
      treatment: 'Placebo',
      occurred_at: '2020-01-01T00:00:00Z',
    });
    expect(impossible.status).toBe(400);
    for (const words of [
      /sex has no level "11-Cook County – Chicago"/,
      /age/,
      /local_site/,
      /no treatment "Placebo" \(allowed: "ZZTREATA", "ZZTREATB"\)/,
      /occurred_at is before the study was registered \(\d{4}-/,
      /id contains U\+200B/,
    ])
      expect(impossible.message).toMatch(words);
    const patterned = { study: 'Patterned', levels: { ward: 'a' }, treatment: 'Left' };
    await expectRefused(force('1', patterned), 400, /^id does not match .*pattern/);
  });

  it('is refused for a taken id, and for a revision that it cannot replace: 422', async () => {
    const [drawn, entered] = [await randomized(), await forced()];
    const [{ 'urn.revision': revision }] = await list(keys.manager, { id: entered, 'urn.view': 'current' });
    await expectRefused(force(drawn), 422, /^id: a participant has, or had, this id$/);
    await expectRefused(force(entered, { replaces: revision }), 422, /not voided as a wrong entry/);
    await expectRefused(
      force('other', { replaces: revision }),
      ...([422, /^replaces: no participant with this id/] as const),
    );
  });

  it('is refused for a closed level: 422', async () => {
    const amend = async (...changes: object[]) => {
      const { results } = await get('/study_design', keys.manager);
      const body = { amendment: results.design.amendment + 1, changes, reason: 'a site for a day' };
      expect((await post('/amendments', body)).status).toBe(200);
    };
    const site = { factor: 'local_site', level: 'gone' };
    await amend({ kind: 'level-added', ...site }, { kind: 'level-closed', ...site });
    const levels = { sex: 'Male', local_site: 'gone' };
    await expectRefused(force('new', { levels }), 422, /^levels: gone of local_site is closed/);
    await amend({ kind: 'level-reopened', ...site });
    await forced({ levels });
  });
});

describe('a repeated request', () => {
  it('is another one with another arm, other levels, another cause or another note', async () => {
    const id = newId();
    const retry = { 'Idempotency-Key': `entry-${id}` };
    const body = { occurred_at: new Date().toISOString() };
    const first = await force(id, body, retry);
    expect((await force(id, body, retry)).results).toEqual(first.results);
    for (const more of [{ treatment: 'ZZTREATA' }, { levels: DUPAGE }, { cause: 'other' }, { note: 'x' }])
      await expectRefused(force(id, { ...body, ...more }, retry), 422, /Idempotency-Key/);
  });
});

describe('what the urns count', () => {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);

  it('includes the participant, and leaves the generator untouched', async () => {
    await randomized();
    const before = await balance();
    await forced();
    const after = await balance();
    const [a, b] = before.counted.totals;
    expect(after.counted.totals).toEqual([a, b + 1]);
    expect(after.totals).toEqual([before.totals[0], before.totals[1] + 1]);
    const id = await randomized();
    const { results } = await get('/explanation', keys.auditor, { id });
    expect(results.agrees).toBe(true);
    expect(results.earlier_participants).toBe(sum(after.counted.totals));
    const draws = (await written())
      .filter(({ record, sealed }) => record.type === 'ParticipantRandomized' && sealed.includes('ZZTREAT'))
      .map(({ sealed }) => JSON.parse(sealed).draw);
    expect(draws.at(-1).bgStateBefore).toEqual(draws.at(-2).bgStateAfter);
  });

  it('leaves the participant out if the study says so', async () => {
    const ward = { study: 'Ward', levels: { ward: 'a' }, treatment: 'Left' };
    await clientOf(service.url, keys.edc).randomize('Ward', '1', { ward: 'a' });
    const before = await balance('Ward');
    expect((await force('2', ward)).status).toBe(200);
    const after = await balance('Ward');
    expect(after.counted).toEqual(before.counted);
    expect(sum(after.totals)).toBe(2);
    await clientOf(service.url, keys.edc).randomize('Ward', '3', { ward: 'a' });
    const { results } = await get('/explanation', keys.auditor, { study: 'Ward', id: '3' });
    expect(results).toMatchObject({ agrees: true, earlier_participants: 1 });
  });
});

describe('a wrong entry', () => {
  it('is voided, leaves the urns, and is replaced', async () => {
    const before = await balance();
    const id = newId();
    const wrong = revisionOf(await force(id));
    expect((await annul(id)).results).toMatchObject([{ id, 'urn.voided': 'entry' }]);
    expect((await balance()).counted).toEqual(before.counted);
    await expectRefused(force(id), 422, new RegExp(`hint: replaces ${wrong}`));
    const right = await force(id, { treatment: 'ZZTREATA', replaces: wrong });
    expect(right).toMatchObject({ status: 200, results: [{ id, trt: 'ZZTREATA' }] });
    expect(right.results[0]).not.toHaveProperty('urn.voided');
    expect(await list(keys.manager, { id })).toEqual(right.results);
    const after = await balance();
    expect(after.counted.totals).toEqual([before.counted.totals[0] + 1, before.counted.totals[1]]);
    const { results } = await get('/participant_history', keys.manager, { id });
    expect(results.map(({ type }: { type: string }) => type)).toEqual([
      ...['AllocationForced', 'AllocationVoided', 'AllocationForced'],
    ]);
    await expectRefused(force(id, { replaces: wrong }), 422, /^replaces: /);
    await expectRefused(
      post('/voids', { id: await randomized(), cause: 'entry', analysis: 'keep', note: 'x' }),
      422,
      /^cause: the allocation was not entered by hand/,
    );
  });
});

describe('a study that takes no participants', () => {
  it('accepts any allocation while paused; once closed, only those made before it closed', async () => {
    await state('pause');
    await forced();
    // The study may close in this very millisecond, in which an allocation would be too late.
    const before = new Date(Date.now() - 1).toISOString();
    expect((await state('close', { cause: 'target' })).status).toBe(200);
    await forced({ occurred_at: before });
    await expectRefused(force('late'), 422, /^occurred_at: the study was closed at \d{4}-/);
    expect((await state('reopen')).status).toBe(200);
    await forced();
  });
});

describe('the log after all of these', () => {
  it('is sound, and names the entries', async () => {
    const { results } = await get('/verification', keys.auditor);
    const { life } = results.streams.find(({ study }: { study?: string }) => study === 'Sleep');
    const entered = (await written()).filter(({ record }) => record.type === 'AllocationForced');
    // One belongs to the other study.
    expect([results.ok, life.forced]).toEqual([true, { outage: entered.length - 2, elsewhere: 1 }]);
  });
});
