/** Lists sorted, searched and paged by position, as the web pages request them from the real service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, ask, checked, clientOf } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { makeLongLog } from '../../support/long-log.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const LONG = CONFIGURATION.name;
const PARTICIPANTS = 6000;
let service: ServiceHere;
let keys: Record<'edc' | 'manager' | 'blinded' | 'cook' | 'auditor' | 'reader', string>;

type Parameters = Readonly<Record<string, string>>;
interface Listed {
  readonly id: string;
}

const list = async (parameters: Parameters, key = keys.edc, study = 'Sleep'): Promise<Answer> => {
  const answer = await clientOf(service.url, key).list(study, parameters);
  expect(answer.status, answer.message).toBe(200);
  return answer;
};
const idsOf = ({ results }: Pick<Answer, 'results'>): string[] => results.map(({ id }: Listed) => id);
const ids = async (parameters: Parameters, key = keys.edc, study = 'Sleep') =>
  idsOf(await list(parameters, key, study));
const totalOf = ({ headers }: Answer) => headers.get('urn-total');

beforeAll(async () => {
  const long = await makeLongLog(
    data,
    { reader: { scopes: ['read'] } },
    { participants: PARTICIPANTS, by: 'reader' },
  );
  const issued = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['manager', '--scope', 'correct,read,manage'],
    blinded: ['monitor', '--scope', 'blinded'],
    cook: [
      'cook',
      '--scope',
      'blinded',
      '--where',
      `local_site=${COOK.local_site}`,
      '--study',
      'Sleep',
      '--force',
    ],
    auditor: ['auditor', '--scope', 'read,audit'],
  });
  keys = { ...issued, reader: long.keys.reader };
  service = await serveHere(data, TRIALS);
  const enrolled = [
    ['K-10', KANE],
    ['c-2', COOK],
    ['C-11', COOK],
    ['wrong', DUPAGE],
    ['c-1', COOK],
    ['moved', COOK],
  ] as const;
  const { randomize } = clientOf(service.url, keys.edc);
  for (const [id, levels] of enrolled) expect((await randomize('Sleep', id, levels)).status).toBe(200);
  const post = async (path: string, body: object) => {
    const answer = await postJson(service.url, path, keys.manager, { study: 'Sleep', ...body });
    expect(answer.status, answer.message).toBe(200);
  };
  await post('/id_corrections', { id: 'wrong', to: 'D-9', cause: 'entry' });
  const transfer = { factor: 'local_site', from: COOK.local_site, to: DUPAGE.local_site };
  await post('/level_corrections', { id: 'moved', changes: [transfer], cause: 'transfer', note: 'moved' });
  await post('/voids', { id: 'c-2', cause: 'never-enrolled', analysis: 'exclude', note: 'left' });
});
afterAll(() => service.stop());

const IN_TIME = ['K-10', 'c-2', 'C-11', 'D-9', 'c-1', 'moved'];
const BY_ID = ['c-1', 'c-2', 'C-11', 'D-9', 'K-10', 'moved'];
const BY_SITE = ['c-2', 'C-11', 'c-1', 'D-9', 'moved', 'K-10'];

describe('the order of a list', () => {
  it.each([
    [{ 'urn.sort': 'time' }, IN_TIME],
    [{ 'urn.order': 'desc' }, IN_TIME.toReversed()],
    [{ 'urn.sort': 'id' }, BY_ID],
    [{ 'urn.sort': 'id', 'urn.order': 'desc' }, BY_ID.toReversed()],
    [{ 'urn.sort': 'f_local_site' }, BY_SITE],
    [{ 'urn.sort': 'f_local_site', 'urn.order': 'desc' }, BY_SITE.toReversed()],
    [
      { 'urn.sort': 'f_local_site', 'urn.view': 'as_randomized' },
      ['c-2', 'C-11', 'c-1', 'moved', 'D-9', 'K-10'],
    ],
    [{ 'urn.sort': 'f_sex', sex: 'Female' }, ['D-9']],
    [{ 'urn.sort': 'id', local_site: DUPAGE.local_site }, ['D-9', 'moved']],
    [{ 'urn.sort': 'id', id: 'c-1' }, ['c-1']],
    [{ 'urn.sort': 'id', id: 'nobody' }, []],
  ])('%j', async (parameters, expected) => {
    const answer = await list(parameters);
    expect(idsOf(answer)).toEqual(expected);
    expect(totalOf(answer)).toBe(String(expected.length));
  });

  it('is the same for a blinded reader, whose records have no arm', async () => {
    const answer = await list({ 'urn.sort': 'id' }, keys.blinded);
    expect(idsOf(answer)).toEqual(BY_ID);
    expect(answer.text).not.toMatch(/trt|ZZTREAT/);
  });

  it('has only the participants that a limited key can see, and so does the total', async () => {
    const answer = await list({ 'urn.sort': 'id', 'urn.limit': '1' }, keys.cook);
    expect([idsOf(answer), totalOf(answer)]).toEqual([['c-1'], '3']);
    expect(totalOf(await list({ 'urn.search': 'D-9' }, keys.cook))).toBe('0');
  });

  it.each(['read', 'blinded'] as const)('never uses or names the treatment (%s)', async (name) => {
    const key = name === 'read' ? keys.edc : keys.blinded;
    for (const sort of ['trt', 'treatment', 'f_trt', 'f_none', ''])
      expect(
        await ask(service.url, '/study_participants', {
          key,
          parameters: { study: 'Sleep', 'urn.sort': sort },
        }),
      ).toMatchObject({ status: 400, message: 'urn.sort must be one of time, id, f_sex, f_local_site' });
  });

  it('is that at the requested revision', async () => {
    const past = { 'urn.revision': '5', 'urn.bg_state': 'omit' };
    expect(await ids({ ...past, 'urn.sort': 'id' }, keys.auditor)).toEqual([
      'c-1',
      'c-2',
      'C-11',
      'K-10',
      'wrong',
    ]);
    expect(await ids({ ...past, 'urn.search': 'd-9' }, keys.auditor)).toEqual([]);
  });

  it('is the same in CSV', async () => {
    const query = new URLSearchParams({ study: 'Sleep', 'urn.sort': 'id', 'urn.search': 'C-' });
    const response = await fetch(`${service.url}/study_participants?${query}`, {
      headers: { 'X-API-Key': keys.blinded, Accept: 'text/csv' },
    });
    const [, ...rows] = parseCsv(await response.text());
    expect(rows.map(([, , id]) => id)).toEqual(['c-1', 'c-2', 'C-11']);
    expect(response.headers.get('urn-total')).toBe('3');
  });

  it('follows the study at once', async () => {
    await clientOf(service.url, keys.edc).randomize('Ward', 'b', { ward: 'a' });
    expect(await ids({ 'urn.sort': 'id' }, keys.edc, 'Ward')).toEqual(['b']);
    await clientOf(service.url, keys.edc).randomize('Ward', 'a', { ward: 'b' });
    expect(await ids({ 'urn.sort': 'id' }, keys.edc, 'Ward')).toEqual(['a', 'b']);
  });
});

describe('a search', () => {
  it.each([
    ['c-1', ['C-11', 'c-1']],
    ['C-', ['c-2', 'C-11', 'c-1']],
    ['d-9', ['D-9']],
    ['RON', ['D-9']],
    ['%', []],
  ])('for %s finds ids in use and as randomized', async (text, expected) => {
    const answer = await list({ 'urn.search': text });
    expect([idsOf(answer), totalOf(answer)]).toEqual([expected, String(expected.length)]);
  });

  it('can be combined with filters, an order and a page', async () => {
    const page = { 'urn.search': '-', 'urn.sort': 'id', 'urn.limit': '1', 'urn.offset': '1', sex: 'Male' };
    const answer = await list(page);
    expect([idsOf(answer), totalOf(answer), answer.headers.get('urn-next')]).toEqual([['c-2'], '4', null]);
  });

  it('can be continued by revision', async () => {
    const first = await list({ 'urn.search': 'c-', 'urn.limit': '2' });
    expect([idsOf(first), totalOf(first)]).toEqual([['c-2', 'C-11'], '3']);
    const from = first.headers.get('urn-next') ?? '';
    const next = await list({ 'urn.search': 'c-', 'urn.limit': '2', 'urn.from': from });
    expect([idsOf(next), totalOf(next), next.headers.get('urn-next')]).toEqual([['c-1'], null, null]);
  });
});

describe('the header Urn-Total', () => {
  it.each([
    [{}, null],
    [{ 'urn.from': '3' }, null],
    [{ sex: 'Male' }, null],
    [{ 'urn.limit': '2' }, '6'],
    [{ 'urn.limit': '2', sex: 'Male' }, '5'],
    [{ 'urn.limit': '2', 'urn.offset': '100' }, '6'],
    [{ 'urn.order': 'asc' }, '6'],
  ])('%j: %s', async (parameters, total) => {
    expect(totalOf(await list(parameters))).toBe(total);
  });
});

describe('problems', () => {
  it('are all named at once', async () => {
    const parameters = {
      study: 'Sleep',
      'urn.from': '1',
      'urn.sort': 'arm',
      'urn.order': 'up',
      'urn.search': '',
    };
    const { status, message } = await ask(service.url, '/study_participants', { key: keys.edc, parameters });
    expect(status).toBe(400);
    for (const part of [
      'urn.order must be',
      'urn.from is a place',
      'urn.search is empty',
      'urn.sort must be',
    ])
      expect(message).toContain(part);
  });

  it('include these parameters on other routes', async () => {
    const parameters = { study: 'Sleep', 'urn.sort': 'id' };
    const answer = await ask(service.url, '/study_config', { key: keys.edc, parameters });
    expect(answer).toMatchObject({ status: 400, message: 'urn.sort is not a parameter of study_config' });
  });
});

describe('a long list', () => {
  it('has every participant on exactly one of its pages, in order', async () => {
    const seen: string[] = [];
    for (let offset = 0; offset < PARTICIPANTS; offset += 1000) {
      const page = {
        'urn.sort': 'id',
        'urn.order': 'desc',
        'urn.limit': '1000',
        'urn.offset': String(offset),
      };
      const answer = await list(page, keys.reader, LONG);
      expect([totalOf(answer), answer.headers.get('urn-next')]).toEqual([String(PARTICIPANTS), null]);
      seen.push(...idsOf(answer));
    }
    expect(seen).toEqual(Array.from({ length: PARTICIPANTS }, (_, n) => String(PARTICIPANTS - 1 - n)));
  });

  it('is sorted as a whole', async () => {
    const [factor] = CONFIGURATION.factors;
    const answer = await list({ 'urn.sort': `f_${factor?.name}` }, keys.reader, LONG);
    const { status, headers, text } = answer;
    const { results } = checked(status, headers, text);
    const places = results.map((record: Record<string, string>) =>
      factor?.levels.indexOf(record[`f_${factor.name}`] ?? ''),
    );
    expect(places).toHaveLength(PARTICIPANTS);
    expect(places).toEqual(places.toSorted((a: number, b: number) => a - b));
  });
});
