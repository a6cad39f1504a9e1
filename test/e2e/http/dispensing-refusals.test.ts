/** Requests for packs of visits that are refused over HTTP: forms, scopes and states; and what a suspended study still does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf } from '../../support/client.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const data = temporaryFolders()();
const STUDIES = `
Relief:
  mode: test
  blinding: blinded
  treatments: [Verum, Placebo]
  factors: {site: [Cook, Kane]}
  visits: [V2, V3, V4, V5, V6]
`;
const SCOPES = ['randomize', 'read', 'blinded', 'audit', 'correct', 'force', 'unblind', 'supply', 'manage'];
const DISPENSATIONS = '/dispensations';
const CORRECTIONS = '/dispensation_corrections';
let service: ServiceHere;
let keys: Readonly<Record<string, string>>;
let code: string;

const post = (path: string, scope: string, body: object | string, headers = {}) =>
  postJson(service.url, path, keys[scope], body, headers);
const dispense = (scope: string, more: object = {}) =>
  post(DISPENSATIONS, scope, { study: 'Relief', id: 'p1', visit: 'V2', ...more });
const correction = (more: object = {}) => ({
  ...{ study: 'Relief', id: 'p1', code, to: 'V3', cause: 'entry', note: 'a slip', ...more },
});
const ofPacks = () =>
  storedLog(data).filter(({ record }) =>
    ['PackDispensed', 'DispensationCorrected', 'CodeReplaced'].includes(record.type),
  ).length;

beforeAll(async () => {
  const wanted = Object.fromEntries(SCOPES.map((scope) => [scope, [scope, '--scope', scope]]));
  keys = await issueKeys(data, wanted);
  service = await serveHere(data, STUDIES);
  const arms = ['Verum', 'Placebo'];
  const entries = Array.from({ length: 40 }, (_, n) => ({ code: `P-${n}`, treatment: arms[n % 2] ?? '' }));
  await registerPacks(data, 'Relief', [{ entries }]);
  for (const id of ['p1', 'p2'])
    expect(
      (await clientOf(service.url, keys['randomize'] ?? '').randomize('Relief', id, { site: 'Cook' })).status,
    ).toBe(200);
  code = (await dispense('supply')).results.code;
});
afterAll(() => service.stop());

describe('a request for a pack of a visit', () => {
  it('is for the scopes randomize and supply, and its correction for correct and supply', async () => {
    const allowed = async (path: string, body: object) => {
      const statuses = await Promise.all(
        SCOPES.map(async (scope) => (await post(path, scope, { ...body, dry_run: true })).status),
      );
      return SCOPES.filter((_, n) => statuses[n] !== 403);
    };
    expect(await allowed(DISPENSATIONS, { study: 'Relief', id: 'p2', visit: 'V3' })).toEqual([
      'randomize',
      'supply',
    ]);
    expect(await allowed(CORRECTIONS, correction())).toEqual(['correct', 'supply']);
  });

  it('without a key is 401; about somebody or a study that there is not, 404', async () => {
    for (const path of [DISPENSATIONS, CORRECTIONS])
      expect((await postJson(service.url, path, undefined, correction())).status).toBe(401);
    expect((await dispense('randomize', { id: 'p9' })).status).toBe(404);
    expect((await dispense('randomize', { study: 'Sleep' })).status).toBe(404);
    expect((await post(CORRECTIONS, 'correct', correction({ id: 'p9' }))).status).toBe(404);
  });

  it.each<[string, object | string]>([
    ['no JSON', '{"study":"Relief",'],
    ['a list', []],
    ['no participant', { study: 'Relief', visit: 'V3' }],
    ['no visit', { study: 'Relief', id: 'p1' }],
    ['no study', { id: 'p1', visit: 'V3' }],
    ['a number as id', { study: 'Relief', id: 7, visit: 'V3' }],
    ['a list as visit', { study: 'Relief', id: 'p1', visit: ['V3'] }],
    ['an object as visit', { study: 'Relief', id: 'p1', visit: { $ne: 'V3' } }],
    ['true as visit', { study: 'Relief', id: 'p1', visit: true }],
    ['a pack that it wants', { study: 'Relief', id: 'p1', visit: 'V3', code: 'P-1' }],
    ['its supply', { study: 'Relief', id: 'p1', visit: 'V3', isSupply: true }],
    ['a dry run in words', { study: 'Relief', id: 'p1', visit: 'V3', dry_run: 'no' }],
    ['a visit twice', '{"study":"Relief","id":"p1","visit":"V3","visit":"V4","__proto__":{"x":1}}'],
    ['an arm as visit', { study: 'Relief', id: 'p1', visit: 'verum' }],
    ['an arm in a visit', { study: 'Relief', id: 'p1', visit: 'no PLACEBO' }],
  ])('is 400 with %s', async (_, body) => {
    const before = ofPacks();
    const { status, results } = await post(DISPENSATIONS, 'supply', body);
    expect([status, results]).toEqual([400, {}]);
    expect(ofPacks()).toBe(before);
  });

  it.each<[string, () => object]>([
    ['no visit to which', () => ({ ...correction(), to: undefined })],
    ['false for null', () => correction({ to: false })],
    ['an empty visit', () => correction({ to: '' })],
    ['a formula', () => correction({ to: '=V3' })],
    ['an arm', () => correction({ to: 'Verum' })],
    ['21 characters', () => correction({ to: 'V'.repeat(21) })],
    ['a cause of replacements', () => correction({ cause: 'damaged' })],
    ['no cause', () => correction({ cause: undefined })],
    ['no note', () => correction({ note: undefined })],
    ['an empty note', () => correction({ note: '' })],
    ['a pack of two words', () => correction({ code: 'P 1' })],
    ['no pack', () => correction({ code: undefined })],
    ['the visit until here', () => correction({ from: 'V2' })],
  ])('is corrected with 400 for %s', async (_, body) => {
    const before = ofPacks();
    expect((await post(CORRECTIONS, 'supply', body())).status).toBe(400);
    expect(ofPacks()).toBe(before);
  });

  it('is 400 with a header of the service that there is not, which would otherwise be ignored', async () => {
    const before = ofPacks();
    for (const name of ['Urn-Min-Revision', 'Urn-Dry-Run']) {
      const body = { study: 'Relief', id: 'p1', visit: 'V3' };
      const { status, message } = await post(DISPENSATIONS, 'randomize', body, { [name]: '1' });
      expect([status, message.toLowerCase()]).toEqual([400, expect.stringContaining(name.toLowerCase())]);
    }
    expect(ofPacks()).toBe(before);
  });

  it('names a visit of 1 to 20 characters', async () => {
    for (const visit of ['U', 'U'.repeat(20)])
      expect(await dispense('supply', { visit })).toMatchObject({ status: 200, results: { visit } });
  });

  it('for which somebody has a pack keeps the visit in the study, in its spelling', async () => {
    for (const value of [['V3'], ['v2', 'V3']]) {
      const body = {
        study: 'Relief',
        amendment: 1,
        changes: [{ kind: 'visits', value }],
        reason: 'protocol 3',
      };
      const { status, message } = await post('/amendments', 'manage', body);
      expect([status, message]).toEqual([422, expect.stringContaining('somebody has a pack for "V2"')]);
    }
  });

  it('tells the revision from which on lists show the pack', async () => {
    const { headers, results } = await dispense('randomize', { visit: 'V4' });
    const revision = headers.get('urn-revision') ?? '';
    const parameters = { study: 'Relief', id: 'p1', 'urn.min_revision': revision };
    const { results: shown } = await ask(service.url, '/study_participants', {
      ...{ key: keys['blinded'], parameters },
    });
    expect(shown[0]['urn.packs'].at(-1)).toMatchObject({ visit: 'V4', code: results.code });
    const later = { ...parameters, 'urn.min_revision': String(Number(revision) + 1) };
    expect(
      (await ask(service.url, '/study_participants', { key: keys['blinded'], parameters: later })).status,
    ).toBe(503);
  });
});

describe('packs are given out and corrected', () => {
  const both = async (visit: string) => {
    const given = await dispense('randomize', { id: 'p2', visit });
    const body = correction({ id: 'p2', code: given.results.code, to: null });
    return [given.status, (await post(CORRECTIONS, 'correct', body)).status];
  };
  const enrolled = async () =>
    (await clientOf(service.url, keys['randomize'] ?? '').randomize('Relief', 'p3', { site: 'Cook' })).status;
  const becomes = async (action: string, more: object) =>
    expect(
      (await post('/study_state', 'manage', { study: 'Relief', action, reason: 'review', ...more })).status,
    ).toBe(200);

  it('while the study enrols nobody: the studies file differs, it is paused, and closed', async () => {
    await service.stop();
    service = await serveHere(data, STUDIES.replace('[Verum, Placebo]', '[Placebo, Verum]'));
    expect(await enrolled()).toBe(503);
    expect(await both('V2')).toEqual([200, 200]);
    await service.stop();
    service = await serveHere(data, STUDIES);
    await becomes('pause', {});
    expect(await enrolled()).toBe(409);
    expect(await both('V5')).toEqual([200, 200]);
    await becomes('close', { cause: 'target' });
    expect(await enrolled()).toBe(409);
    expect(await both('V6')).toEqual([200, 200]);
  });
});
