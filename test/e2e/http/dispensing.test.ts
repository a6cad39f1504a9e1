/** Packs at visits over HTTP: the worked sample, in a blinded study. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Members } from '../../../src/core/model/outcomes.ts';
import { ask, clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { LIST_1, LIST_2, VISITS_SEED, ZOE } from '../../support/visits.ts';

const data = temporaryFolders()();
const STUDIES = `
Visits:
  starting_seed: ${VISITS_SEED}
  mode: test
  blinding: blinded
  treatments: [A, B]
  factors:
    site: [N, S]
  visits: [V2, V3, Week 12]
`;

let service: ServiceHere;
let keys: Record<'site' | 'hands' | 'pharmacy' | 'desk' | 'night' | 'north', string>;

const post = (key: string, path: string, body: object, headers = {}) =>
  postJson(service.url, path, key, { study: 'Visits', ...body }, headers);
const dispense = (key: string, id: string, visit: string, more = {}, headers = {}) =>
  post(key, '/dispensations', { id, visit, ...more }, headers);
const correct = (key: string, id: string, code: string, to: string | null, more = {}) =>
  post(key, '/dispensation_corrections', { id, code, to, cause: 'entry', note: 'a slip', ...more });
const dispensed = () => storedLog(data).filter(({ record }) => record.type === 'PackDispensed');

beforeAll(async () => {
  keys = await issueKeys(data, {
    site: ['site', '--scope', 'randomize,blinded'],
    hands: ['hands', '--scope', 'randomize'],
    pharmacy: ['pharmacy', '--scope', 'supply'],
    desk: ['desk', '--scope', 'correct,blinded'],
    night: ['night', '--scope', 'unblind,blinded'],
    north: ['north', '--scope', 'randomize,blinded', '--study', 'Visits', '--where', 'site=N'],
  });
  service = await serveHere(data, STUDIES);
  const enrol = (id: string, site: string) =>
    clientOf(service.url, keys.site).randomize('Visits', id, { site });
  await enrol('001', 'N');
  await registerPacks(data, 'Visits', [LIST_1, LIST_2]);
  expect((await enrol('002', 'S')).results[0]['urn.code']).toBe('P-105');
  expect((await enrol(ZOE, 'N')).results[0]['urn.code']).toBe('P-104');
});
afterAll(() => service.stop());

/** Everything that is the same for all who may ask for it. */
describe('the worked sample', () => {
  it('answers a dry run alike, and records nothing', async () => {
    for (const key of [keys.site, keys.pharmacy]) {
      const { status, results, headers } = await dispense(key, '001', 'V2', { dry_run: true });
      expect([status, results, headers.get('urn-dry-run')]).toEqual([
        200,
        { effect: { counts: 'stays' } },
        'true',
      ]);
    }
    expect(dispensed()).toEqual([]);
  });

  it('gives the packs that were computed without this program', async () => {
    const given = async (id: string, visit: string, key = keys.site) => {
      const { status, results, message } = await dispense(key, id, visit);
      return status === 200 ? results : `${status} ${message}`;
    };
    expect(await given('001', 'V2')).toEqual({ visit: 'V2', code: 'P-107' });
    expect(await given('002', 'v2')).toEqual({ visit: 'V2', code: 'P-108' });
    expect((await correct(keys.desk, '002', 'P-108', null)).results).toEqual({
      ...{ code: 'P-108', from: 'V2', to: null },
    });
    expect(await given('002', 'V2')).toEqual({ visit: 'V2', code: 'P-111' });
    expect(await given(ZOE, 'week 12')).toEqual({ visit: 'Week 12', code: 'P-110' });
    expect(await given(ZOE, 'U1')).toBe(
      '400 visit: one of V2, V3, Week 12 (others need a key with the scope supply)',
    );
    expect((await correct(keys.desk, ZOE, 'P-110', 'V2')).results).toEqual({
      ...{ code: 'P-110', from: 'Week 12', to: 'V2' },
    });
    expect(await given(ZOE, 'Week 12')).toEqual({ visit: 'Week 12', code: 'P-112' });
    const replaced = await post(keys.site, '/code_replacements', { id: '001', code: 'P-107', cause: 'lost' });
    expect(replaced.results).toEqual({ code: 'P-107', by: 'P-202' });
    const changes = [{ factor: 'site', from: 'N', to: 'S' }];
    const moved = { id: '001', cause: 'transfer', note: 'moved', changes };
    expect((await post(keys.desk, '/level_corrections', moved)).status).toBe(200);
    const noCode =
      '409 There are not enough packs left for this participant (hint: ask whoever supplies packs)';
    for (const id of ['001', '002']) expect(await given(id, 'V3')).toBe(noCode);
    expect(await given('002', 'U1', keys.pharmacy)).toEqual({ visit: 'U1', code: 'P-103' });
    expect(await given('001', 'U1', keys.pharmacy)).toEqual({ visit: 'U1', code: 'P-106' });
    expect((await correct(keys.desk, '002', 'P-108', 'V3')).results).toEqual({
      ...{ code: 'P-108', from: null, to: 'V3' },
    });
  });

  it('is sound, and says how many packs were given out', async () => {
    const report = JSON.parse(await commandOk(['verify', '--data', data, '--json'])) as Members;
    const [study] = (report['streams'] as Members[]).filter(({ study }) => study === 'Visits');
    expect(study).toMatchObject({
      ...{ sound: true, warnings: [{ code: 'undeclared-visit', count: 2 }] },
      life: { packs: { registered: 15, replaced: 1, withdrawn: 0, dispensed: 7, corrected: 3 } },
    });
  });
});

describe('a request for a pack at a visit', () => {
  it.each(['', 'V2 ', ' V2', '=V2', 'V'.repeat(21), 'V\n2', 'Vé', 2, null])(
    'is 400 for %j',
    async (visit) => {
      const { status, message } = await dispense(keys.pharmacy, '001', visit as string);
      expect([status, message.startsWith('visit')]).toEqual([400, true]);
    },
  );

  it('tells those who may know which pack there is already', async () => {
    const message = '001 has a pack for V2 already';
    for (const [key, results] of [
      [keys.site, { visit: 'V2', code: 'P-202' }],
      [keys.pharmacy, { visit: 'V2', code: 'P-202' }],
      [keys.hands, {}],
    ] as const)
      for (const dry_run of [true, false])
        expect(await dispense(key, '001', 'v2', { dry_run })).toMatchObject({
          status: 400,
          message,
          results,
        });
    // The participant has left the limits of the key.
    expect((await dispense(keys.north, '001', 'V2')).status).toBe(404);
    expect((await dispense(keys.desk, '001', 'V2')).status).toBe(403);
  });

  it('is answered again with the pack of its own event, even after a replacement', async () => {
    const key = { 'Idempotency-Key': 'tablet-1' };
    const first = await dispense(keys.pharmacy, ZOE, 'U1', {}, key);
    expect(first.results).toEqual({ visit: 'U1', code: expect.stringMatching(/^P-/) });
    await post(keys.pharmacy, '/code_replacements', { id: ZOE, code: first.results.code, cause: 'damaged' });
    const again = await dispense(keys.pharmacy, ZOE, 'u1', {}, key);
    expect([again.status, again.headers.get('urn-repeated')]).toEqual([200, 'true']);
    expect(again.results).toEqual(first.results);
    expect((await dispense(keys.pharmacy, ZOE, 'V3', {}, key)).status).toBe(422);
  });

  it('is not for an entry that is no patient', async () => {
    const body = { id: ZOE, cause: 'never-enrolled', analysis: 'exclude', note: 'never came' };
    await post(keys.desk, '/voids', body);
    const because = async (key: string) => (await dispense(key, ZOE, 'V3')).message;
    expect(await because(keys.site)).toContain('(never-enrolled) and gets no packs');
    expect(await because(keys.hands)).toContain('the participant is voided and gets no packs');
    await post(keys.desk, '/reinstatements', { id: ZOE, note: 'another person' });
  });
});

describe('a correction of a visit', () => {
  it('says what is so, to those who may know', async () => {
    const refused = async (id: string, code: string, to: string | null, key = keys.desk) => {
      const { status, message } = await correct(key, id, code, to);
      return [status, message];
    };
    expect(await refused('002', 'P-1', null)).toEqual([
      409,
      'Nothing was recorded: the participant has no such pack of a visit; for visits, they have P-108 (V3), P-111 (V2), P-103 (U1)',
    ]);
    expect(await refused('002', 'P-108', 'v3')).toEqual([
      409,
      'Nothing was recorded: the pack is for V3 already',
    ]);
    expect(await refused('002', 'P-108', 'V2')).toEqual([
      422,
      'to: the participant has a pack for V2 (P-111): correct that one first',
    ]);
    expect(await refused('002', 'P-108', 'U9')).toEqual([
      400,
      'to: one of V2, V3, Week 12 (others need a key with the scope supply)',
    ]);
    const { to: _, ...without } = { id: '002', code: 'P-108', to: '', cause: 'entry', note: 'a slip' };
    expect((await post(keys.desk, '/dispensation_corrections', without)).status).toBe(400);
  });

  it('moves the pack from a code-break about the participant to one about the pack alone', async () => {
    await correct(keys.desk, '002', 'P-111', null, { cause: 'not-handed-out' });
    const reveal = { code: 'P-111', category: 'planned', reason: 'found in the fridge' };
    expect((await post(keys.night, '/code_breaks', reveal)).results).toEqual([{ code: 'P-111', trt: 'B' }]);
    const held = { code: 'P-108', category: 'planned', reason: 'found in the fridge' };
    expect((await post(keys.night, '/code_breaks', held)).results[0]).toMatchObject({ id: '002', trt: 'B' });
    expect((await ask(service.url, '/readyz')).status).toBe(200);
  });
});
