/** Corrections after a randomization, as data managers and sites see them over HTTP. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf } from '../../support/client.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const OF_COOK = ['--where', `local_site=${COOK.local_site}`, '--study', 'Sleep'];
const FOLLOWING = TRIALS.replace(
  'Sleep:\n',
  'Sleep:\n  policies: {level_counts: as-corrected, void_counts: removed}\n',
);
let service: ServiceHere;
let keys: Record<'edc' | 'manager' | 'blinded' | 'cook' | 'auditor' | 'silent', string>;

const post = (key: string, path: string, body: object, headers: Record<string, string> = {}) =>
  postJson(service.url, path, key, { study: 'Sleep', ...body }, headers);
const MALE_TO_FEMALE = {
  changes: [{ factor: 'sex', from: 'Male', to: 'Female' }],
  cause: 'entry',
  note: 'typo',
};
const correct = (id: string, more: object = {}, key = keys.manager) =>
  post(key, '/level_corrections', { id, ...MALE_TO_FEMALE, ...more });
const rename = (id: string, to: string, key = keys.manager) =>
  post(key, '/id_corrections', { id, to, cause: 'entry' });
const annul = (id: string, more: object = {}, key = keys.manager) =>
  post(key, '/voids', { id, cause: 'never-enrolled', analysis: 'exclude', note: 'left', ...more });
const list = async (key: string, filter: Record<string, string> = {}) =>
  (await clientOf(service.url, key).list('Sleep', filter)).results;
const one = async (key: string, id: string) => (await list(key, { id }))[0];
const balance = async () => (await clientOf(service.url, keys.auditor).balance('Sleep')).results;
let lastId = 0;

/** Enrols a new participant and returns the id. */
async function enrolled(levels: Record<string, string>): Promise<string> {
  const id = `p${++lastId}`;
  const answer = await clientOf(service.url, keys.edc).randomize('Sleep', id, levels);
  expect(answer.status, answer.message).toBe(200);
  return id;
}

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['data-manager', '--scope', 'read,correct'],
    blinded: ['monitor', '--scope', 'blinded,correct'],
    cook: ['cook', '--scope', 'blinded,randomize,correct', ...OF_COOK],
    auditor: ['auditor', '--scope', 'read,audit'],
    silent: ['importer', '--scope', 'correct'],
  });
  service = await serveHere(data, FOLLOWING);
});
afterAll(() => service.stop());

describe('a correction of levels', () => {
  it('shows in lists and filters, next to what was randomized, and moves the urns by policy', async () => {
    const id = await enrolled(COOK);
    const before = await balance();
    const answer = await correct(id);
    const { trt } = await one(keys.edc, id);
    const shown = {
      id,
      f_sex: 'Female',
      trt,
      'urn.as_randomized': { f_sex: 'Male', f_local_site: COOK.local_site },
    };
    expect(answer).toMatchObject({ status: 200, results: [shown] });
    expect(await list(keys.manager, { id, sex: 'Male' })).toEqual([]);
    expect(await list(keys.manager, { id, sex: 'Female' })).toMatchObject([shown]);
    const view = { 'urn.view': 'as_randomized' };
    expect(await list(keys.manager, { id, sex: 'Male', ...view })).toMatchObject([
      { f_sex: 'Male', 'urn.sequence': lastId, 'urn.revision': expect.any(Number) },
    ]);
    const after = await balance();
    expect(after.counted).not.toEqual(before.counted);
    expect(after.counted.totals).toEqual(before.counted.totals);
    expect(after.counted).toEqual({ totals: after.totals, factors: after.factors });
  });

  it('is refused with what is allowed, by the design and by the participant as they are', async () => {
    const id = await enrolled(COOK);
    const change = (factor: string, from: string, to: string) => ({ factor, from, to });
    for (const [status, message, ...changes] of [
      [
        400,
        /^changes\[0\].factor: the study has no factor "age" \(it has: sex, local_site\)$/,
        change('age', '1', '2'),
      ],
      [
        400,
        /^changes\[0\]\.to: sex has no level "X" \(allowed: "Male", "Female"\)$/,
        change('sex', 'Male', 'X'),
      ],
      [400, /^changes\[0\]: from and to are the same level$/, change('sex', 'Male', 'Male')],
      [400, /sex is given more than once/, ...MALE_TO_FEMALE.changes, ...MALE_TO_FEMALE.changes],
      [422, /it is a level of local_site/, change('sex', 'Male', COOK.local_site)],
      [409, /sex is "Male" now/, change('sex', 'Female', 'Male')],
    ] as const)
      expect(await correct(id, { changes })).toMatchObject({
        ...{ status, message: expect.stringMatching(message), results: [] },
      });
  });
});

describe('a participant who moves to another site', () => {
  const toDupage = [{ factor: 'local_site', from: COOK.local_site, to: DUPAGE.local_site }];

  it('can be handed over by their current site, which then no longer sees them', async () => {
    const id = await enrolled(COOK);
    const asked = { id, changes: toDupage, note: 'moved house' };
    expect((await post(keys.cook, '/level_corrections', { ...asked, cause: 'entry' })).status).toBe(403);
    const retry = { 'Idempotency-Key': `move-${id}` };
    const moving = () => post(keys.cook, '/level_corrections', { ...asked, cause: 'transfer' }, retry);
    expect(await moving()).toMatchObject({ status: 200, results: [] });
    expect(await moving()).toMatchObject({ status: 200, results: [] });
    expect(await one(keys.cook, id)).toBeUndefined();
    for (const [path, more] of [
      ['/voids', { cause: 'other', analysis: 'keep', note: 'x' }],
      ['/level_corrections', MALE_TO_FEMALE],
    ] as const)
      expect((await post(keys.cook, path, { id, ...more })).status).toBe(404);
    const history = { key: keys.cook, parameters: { study: 'Sleep', id } };
    expect((await ask(service.url, '/participant_history', history)).status).toBe(404);
    expect((await one(keys.manager, id)).f_local_site).toBe(DUPAGE.local_site);
  });

  it('is not in the answer when their old site retries the randomization', async () => {
    const retry = { 'Idempotency-Key': 'visit-1' };
    const site = clientOf(service.url, keys.cook);
    const id = `p${++lastId}`;
    expect((await site.randomize('Sleep', id, COOK, retry)).results).toHaveLength(1);
    await correct(id, { changes: toDupage, cause: 'transfer' });
    expect(await site.randomize('Sleep', id, COOK, retry)).toMatchObject({ status: 200, results: [] });
    const duplicate = await site.randomize('Sleep', id, COOK);
    expect(duplicate).toMatchObject({
      status: 400,
      results: [],
      message: `Participant ${id} is already assigned`,
    });
  });
});

describe('a voided participant', () => {
  it('stays in every list, marked, and leaves the urns by policy, until reinstated', async () => {
    const [id, other] = [await enrolled(COOK), await enrolled(DUPAGE)];
    const before = await balance();
    const answer = await annul(id, { cause: 'duplicate', duplicate_of: other });
    expect(answer).toMatchObject({ status: 200, results: [{ id, 'urn.voided': 'duplicate' }] });
    const voided = await balance();
    const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0);
    expect(voided.totals).toEqual(before.totals);
    expect(sum(voided.counted.totals)).toBe(sum(before.counted.totals) - 1);
    expect(sum(voided.voided)).toBe(sum(before.voided) + 1);
    for (const [more, status, message] of [
      [
        { cause: 'duplicate', duplicate_of: id },
        422,
        'duplicate_of: that participant is voided as a duplicate of this one',
      ],
      [{ duplicate_of: id }, 400, 'duplicate_of: is only for the cause duplicate'],
      [
        { cause: 'entry' },
        422,
        'cause: the allocation was not entered by hand, so it cannot be entered wrongly',
      ],
    ] as const)
      expect(await annul(other, more)).toMatchObject({ status, message });
    await post(keys.manager, '/reinstatements', { id, note: 'was another person' });
    expect(await balance()).toEqual(before);
  });
});

describe('a corrected id', () => {
  it('leads to the participant everywhere, and so does the earlier id', async () => {
    const [id, other] = [await enrolled(COOK), await enrolled(COOK)];
    const to = `${id}-right`;
    expect((await rename(id, to)).results).toMatchObject([{ id: to, 'urn.id_as_randomized': id }]);
    const { randomize, explain } = clientOf(service.url, keys.edc);
    for (const name of [id, to]) {
      expect(await one(keys.manager, name)).toMatchObject({ id: to });
      expect(await randomize('Sleep', name, COOK)).toMatchObject({
        ...{ status: 400, message: `Participant ${to} (randomized as ${id}) is already assigned` },
        results: [{ id: to }],
      });
      expect((await explain('Sleep', name)).status).toBe(403);
      expect((await clientOf(service.url, keys.auditor).explain('Sleep', name)).results.id).toBe(id);
      expect((await rename(other, name)).message).toBe('to: another participant has, or had, this id');
    }
    expect((await rename(to, id)).results).toMatchObject([{ id }]);
    for (const bad of ['', ' x', 'a\u200bb', 'x'.repeat(129)])
      expect(await rename(id, bad)).toMatchObject({ status: 400, message: expect.stringMatching(/^to: /) });
    await clientOf(service.url, keys.edc).randomize('Patterned', '001-0001', { ward: 'a' });
    const off = await post(keys.manager, '/id_corrections', {
      ...{ study: 'Patterned', id: '001-0001', to: '1', cause: 'pattern' },
    });
    expect([off.status, off.message]).toEqual([422, expect.stringMatching(/^to: does not match .*pattern/)]);
  });
});

describe('what a blinded reader and a silent key see', () => {
  it('is everything but the arm and the notes, or nothing', async () => {
    const id = await enrolled(COOK);
    const note = 'unusual words';
    const answer = await correct(id, { note }, keys.blinded);
    expect(answer.results).toEqual([expect.not.objectContaining({ trt: expect.anything() })]);
    expect((await annul(id, {}, keys.silent)).results).toEqual([]);
    const history = (key: string) =>
      ask(service.url, '/participant_history', { key, parameters: { study: 'Sleep', id } });
    const types = ['ParticipantRandomized', 'LevelsCorrected', 'AllocationVoided'];
    for (const key of [keys.blinded, keys.manager]) {
      const { results, text } = await history(key);
      expect(results.map(({ type }: { type: string }) => type)).toEqual(types);
      expect(text.includes(note)).toBe(key === keys.manager);
      expect(text).not.toContain('ZZTREAT');
    }
  });
});

describe('the log after all of these', () => {
  it('explains later allocations with the corrections that moved the urns, and gives the same after a restart', async () => {
    const before = await list(keys.manager, { 'urn.view': 'current' });
    const counts = await balance();
    const id = await enrolled(COOK);
    const { results } = await clientOf(service.url, keys.auditor).explain('Sleep', id);
    expect(results.agrees).toBe(true);
    expect(results.corrections.map(({ type }: { type: string }) => type)).toEqual(
      expect.arrayContaining(['LevelsCorrected', 'AllocationVoided', 'AllocationReinstated']),
    );
    await service.stop();
    service = await serveHere(data, FOLLOWING);
    expect((await list(keys.manager, { 'urn.view': 'current' })).slice(0, -1)).toEqual(before);
    await annul(id);
    expect((await balance()).counted).toEqual(counts.counted);
  });
});
