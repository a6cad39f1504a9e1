/** A study's enrolment over time, as its charts request it from the real service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, ask, clientOf } from '../../support/client.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { makeLongLog } from '../../support/long-log.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const LONG = CONFIGURATION.name;
/** More than there are points. */
const PARTICIPANTS = 450;
let service: ServiceHere;
let keys: Record<'edc' | 'manager' | 'auditor' | 'blinded' | 'both' | 'cook' | 'writer' | 'reader', string>;

const enrolment = (key: string, study = 'Sleep', parameters: Readonly<Record<string, string>> = {}) =>
  ask(service.url, '/enrolment', { key, parameters: { study, ...parameters } });
const level = ({ results }: Answer, of: string) =>
  results.levels.find((one: { level: string }) => one.level === of);

interface Listed {
  readonly trt: string;
  readonly f_sex: string;
}
/** How many participants in the list have each treatment. */
function byTreatment(list: readonly Listed[]): Record<string, number> {
  const count = (trt: string) => list.filter((one) => one.trt === trt).length;
  return { ZZTREATA: count('ZZTREATA'), ZZTREATB: count('ZZTREATB') };
}

beforeAll(async () => {
  const long = await makeLongLog(
    data,
    { reader: { scopes: ['read'] } },
    { participants: PARTICIPANTS, by: 'reader' },
  );
  const issued = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['manager', '--scope', 'correct,read,manage'],
    auditor: ['auditor', '--scope', 'read,audit'],
    blinded: ['monitor', '--scope', 'blinded'],
    both: ['both', '--scope', 'read,blinded'],
    cook: ['cook', '--scope', 'blinded', '--where', `local_site=${COOK.local_site}`, '--force'],
    writer: ['writer', '--scope', 'randomize'],
  });
  keys = { ...issued, reader: long.keys.reader };
  service = await serveHere(data, TRIALS.replace('Sleep:\n', 'Sleep:\n  target_enrollment: 300\n'));
});
afterAll(() => service.stop());

const NOBODY = { enrolled: 0, voided: 0, filled: 0 };

describe('the enrolment of a study', () => {
  it('is empty at first', async () => {
    const { results } = await enrolment(keys.edc, 'Ward');
    expect(results).toEqual({
      ...{ ...NOBODY, treatments: { Left: 0, Right: 0 }, points: [] },
      levels: ['a', 'b'].map((one) => ({
        ...{ factor: 'ward', level: one, ...NOBODY },
        treatments: { Left: 0, Right: 0 },
      })),
    });
  });

  it('counts the participants in the list, over time and at their current levels', async () => {
    const { randomize, list } = clientOf(service.url, keys.edc);
    for (const [id, levels] of [
      ['1', COOK],
      ['2', COOK],
      ['3', DUPAGE],
      ['4', COOK],
    ] as const)
      expect((await randomize('Sleep', id, levels)).status).toBe(200);
    const post = async (path: string, body: object) =>
      expect((await postJson(service.url, path, keys.manager, { study: 'Sleep', ...body })).status).toBe(200);
    await post('/voids', { id: '2', cause: 'never-enrolled', analysis: 'exclude', note: 'left' });
    const changes = [{ factor: 'sex', from: 'Male', to: 'Female' }];
    await post('/level_corrections', { id: '1', changes, cause: 'entry', note: 'typo' });

    const listed: Listed[] = (await list('Sleep')).results;
    const answer = await enrolment(keys.edc);
    const times = storedLog(data).flatMap(({ record }) =>
      record.type === 'ParticipantRandomized' ? [record.at] : [],
    );
    const heads = { enrolled: 4, voided: 1, filled: 3 };
    const goal = { kind: 'target', places: 300 };
    expect(answer.results).toMatchObject({ target: 300, goal, ...heads, treatments: byTreatment(listed) });
    expect(answer.results.points).toEqual(
      listed.map((_, i) => ({
        ...{ sequence: i + 1, at: times.slice(-4)[i], enrolled: i + 1 },
        ...{ voided: i < 1 ? 0 : 1, filled: Math.max(i, 1) },
        treatments: byTreatment(listed.slice(0, i + 1)),
      })),
    );
    const female = listed.filter(({ f_sex }) => f_sex === 'Female');
    expect(level(answer, 'Female')).toEqual({
      ...{ factor: 'sex', level: 'Female', enrolled: 2, voided: 0, filled: 2 },
      treatments: byTreatment(female),
    });
    const revision = (await list('Sleep')).headers.get('urn-revision');
    expect(answer.headers.get('urn-revision')).toBe(revision);
  });

  it.each(['blinded', 'both'] as const)('has no arms for a key with the scope blinded (%s)', async (name) => {
    const unblinded = (await enrolment(keys.edc)).results;
    const answer = await enrolment(keys[name]);
    expect(answer.results).toMatchObject({ target: 300, enrolled: 4 });
    const withoutArms = ({ treatments: _, ...rest }: { treatments?: unknown }) => rest;
    expect(answer.results).toEqual({
      ...withoutArms(unblinded),
      points: unblinded.points.map(withoutArms),
      levels: unblinded.levels.map(withoutArms),
    });
    expect(answer.text).not.toMatch(/ZZTREAT|treat|trt/);
  });

  it('counts only the participants that a limited key can see', async () => {
    const answer = await enrolment(keys.cook);
    expect(answer.results).toMatchObject({ enrolled: 3, voided: 1, filled: 2 });
    // Nobody has said how many are wanted at this site.
    expect(answer.results).not.toHaveProperty('goal');
    expect(answer.results.points.map(({ sequence }: { sequence: number }) => sequence)).toEqual([1, 2, 4]);
    expect(level(answer, DUPAGE.local_site)).toEqual({
      ...{ factor: 'local_site', level: DUPAGE.local_site, enrolled: 0 },
    });
    // A request with another key in between gets different counts.
    expect((await enrolment(keys.blinded)).results.enrolled).toBe(4);
    expect((await enrolment(keys.cook)).results.enrolled).toBe(3);
  });

  it('follows randomizations and amendments at once', async () => {
    const { randomize } = clientOf(service.url, keys.edc);
    await randomize('Sleep', '5', DUPAGE);
    expect((await enrolment(keys.edc)).results.enrolled).toBe(5);
    const rename = { kind: 'level-renamed', factor: 'local_site', level: DUPAGE.local_site, to: 'Dupage' };
    const changes = [
      rename,
      { kind: 'level-closed', factor: 'sex', level: 'Male' },
      { kind: 'target', value: 9 },
    ];
    const body = { study: 'Sleep', amendment: 1, changes, reason: 'protocol 2' };
    expect((await postJson(service.url, '/amendments', keys.manager, body)).status).toBe(200);
    const answer = await enrolment(keys.edc);
    expect(answer.results.target).toBe(9);
    expect(level(answer, 'Dupage')).toMatchObject({ enrolled: 2 });
    expect(level(answer, 'Male')).toMatchObject({ enrolled: 2 });
  });

  it('keeps the names and the order of arms and levels, whatever they are', async () => {
    const { text } = await enrolment(keys.edc, 'Ordered');
    expect(text).toContain('"treatments":{"10":0,"9":0,"__proto__":0}');
    const levels = [...text.matchAll(/"factor":"([^"]*)","level":"([^"]*)"/g)].map(([, name, one]) => [
      name,
      one,
    ]);
    expect(levels).toContainEqual(['__proto__', '__proto__']);
    expect(levels.slice(0, 3)).toEqual(['2', '1', '10'].map((one) => ['10', one]));
  });

  it('has 200 points for a long study', async () => {
    const { results } = await enrolment(keys.reader, LONG);
    expect([results.enrolled, results.points.length]).toEqual([PARTICIPANTS, 200]);
    expect(results.points[0]).toMatchObject({ sequence: 1, enrolled: 1 });
    const { treatments } = results;
    expect(results.points.at(-1)).toMatchObject({ enrolled: PARTICIPANTS, treatments });
    const { results: balance } = await clientOf(service.url, keys.auditor).balance(LONG);
    expect(Object.values(treatments)).toEqual(balance.totals);
  });
});

describe('reading the enrolment', () => {
  const disclosures = () =>
    storedLog(data).filter(({ record }) => record.type === 'EvidenceDisclosed').length;

  it('is not a disclosure, and shows no generator state', async () => {
    const before = disclosures();
    const { text } = await enrolment(keys.auditor);
    expect(text).not.toMatch(/bg_state|counted|balls|seed/);
    await clientOf(service.url, keys.auditor).balance('Ward');
    // Only the balance, requested afterwards.
    expect(disclosures()).toBe(before + 1);
  });

  it('needs the scope read or blinded, and takes no other parameters', async () => {
    expect(await enrolment(keys.writer)).toMatchObject({
      ...{ status: 403, message: 'This API key lacks the scope read or blinded', results: {} },
    });
    expect(await enrolment(keys.edc, 'Sleep', { 'urn.limit': '1' })).toMatchObject({
      ...{ status: 400, message: 'urn.limit is not a parameter of enrolment' },
    });
    expect((await enrolment(keys.cook, 'Ward')).status).toBe(404);
    expect((await enrolment(keys.edc, 'Sleep', { 'urn.min_revision': '2' })).status).toBe(200);
  });

  it('is described in the OpenAPI document', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the document is checked elsewhere.
    const document: any = await (await fetch(`${service.url}/openapi.json`)).json();
    const { properties, required } = document.components.schemas.Enrolment;
    const { results } = await enrolment(keys.edc);
    expect(Object.keys(results).toSorted()).toEqual(Object.keys(properties).toSorted());
    expect(required).toEqual(['enrolled', 'voided', 'filled', 'points', 'levels']);
  });
});
