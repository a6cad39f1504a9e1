/** Lists of participants as CSV over HTTP, from the real service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, checked, clientOf } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { postJson } from '../../support/post-json.ts';
import { recordsOf, type ServiceHere, serveInMemory } from '../../support/service-here.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const BEHALF = { 'X-On-Behalf-Of': Buffer.from('Dr. "Müller", ICU').toString('latin1') };
const CSV = 'text/csv';
let service: ServiceHere;
let keys: Record<'edc' | 'manager' | 'blinded' | 'cook' | 'auditor', string>;

beforeAll(async () => {
  ({ service, keys } = await serveInMemory(TRIALS, {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['manager', '--scope', 'correct,read'],
    blinded: ['monitor', '--scope', 'blinded'],
    cook: ['cook', '--scope', 'blinded', '--where', `local_site=${COOK.local_site}`, '--study', 'Sleep'],
    auditor: ['auditor', '--scope', 'read,audit'],
  }));
  const { randomize } = clientOf(service.url, keys.edc);
  await randomize('Sleep', '007', COOK, BEHALF);
  await randomize('Sleep', 'x,1', DUPAGE);
  await randomize('Sleep', '02', KANE);
  const post = (path: string, body: object) =>
    postJson(service.url, path, keys.manager, { study: 'Sleep', ...body });
  const changes = [{ factor: 'sex', from: 'Male', to: 'Female' }];
  await post('/level_corrections', { id: '007', changes, cause: 'entry', note: 'ZZNOTE' });
  await post('/id_corrections', { id: 'x,1', to: '008', cause: 'entry' });
  await post('/voids', { id: '02', cause: 'never-enrolled', analysis: 'exclude', note: 'ZZNOTE' });
});
afterAll(() => service.stop());

async function get(key: string, accept: string | undefined, parameters: Record<string, string> = {}) {
  const query = new URLSearchParams({ study: 'Sleep', ...parameters });
  const headers = { 'X-API-Key': key, ...(accept !== undefined && { Accept: accept }) };
  const response = await fetch(`${service.url}/study_participants?${query}`, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The rows, keyed by column name. */
function rowsOf(text: string): Record<string, string>[] {
  const [head = [], ...lines] = parseCsv(text);
  return lines.map((line) => Object.fromEntries(head.map((name, i) => [name, line[i] ?? ''])));
}
const idsOf = (text: string) => rowsOf(text).map(({ id }) => id);
const arms = async () => {
  const { results } = await clientOf(service.url, keys.edc).list('Sleep');
  return results.map(({ trt }: { trt: string }) => trt);
};

describe('GET /study_participants with Accept: text/csv', () => {
  it('gives one line per participant, with the levels as randomized and as corrected', async () => {
    const { status, headers, text } = await get(keys.edc, CSV);
    const [first, second, third] = await arms();
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'cache-control': 'no-store',
      'urn-revision': '6',
      'urn-mode': 'test',
      vary: 'Accept',
    });
    expect(text.split('\r\n')).toHaveLength(5);
    expect(text).not.toMatch(/[^\r]\n|ZZNOTE/);
    expect(text.split('\r\n')[0]).toBe(
      'sequence,revision,id,id_as_randomized,f_sex,f_local_site,randomized_f_sex,randomized_f_local_site,treatment,randomized_at,occurred_at,user,on_behalf_of,kind,voided_cause,pack_code',
    );
    const common = {
      ...{ user: 'edc', on_behalf_of: '', kind: 'drawn', voided_cause: '', pack_code: '' },
      ...{ randomized_at: at, occurred_at: '' },
    };
    expect(rowsOf(text)).toEqual([
      {
        ...{ ...common, sequence: '1', revision: '1', id: '007', id_as_randomized: '007', treatment: first },
        ...{ f_sex: 'Female', f_local_site: COOK.local_site, on_behalf_of: 'Dr. "Müller", ICU' },
        ...{ randomized_f_sex: 'Male', randomized_f_local_site: COOK.local_site },
      },
      {
        ...{ ...common, sequence: '2', revision: '2', id: '008', id_as_randomized: 'x,1', treatment: second },
        ...{ f_sex: 'Female', f_local_site: DUPAGE.local_site },
        ...{ randomized_f_sex: 'Female', randomized_f_local_site: DUPAGE.local_site },
      },
      {
        ...{ ...common, sequence: '3', revision: '3', id: '02', id_as_randomized: '02', treatment: third },
        ...{ f_sex: 'Male', f_local_site: KANE.local_site, voided_cause: 'never-enrolled' },
        ...{ randomized_f_sex: 'Male', randomized_f_local_site: KANE.local_site },
      },
    ]);
  });

  it('has no treatment column for a key that may not see arms', async () => {
    const { text } = await get(keys.blinded, CSV);
    expect(text).toMatch(/^sequence,/);
    expect(text).not.toMatch(/treatment|ZZTREAT/);
    const withoutTreatment = ({ treatment: _, ...row }: Record<string, string>) => row;
    expect(rowsOf(text)).toEqual(rowsOf((await get(keys.edc, CSV)).text).map(withoutTreatment));
  });

  it('is filtered and paged like JSON, within the limits of the key', async () => {
    expect(idsOf((await get(keys.edc, CSV, { sex: 'Female' })).text)).toEqual(['007', '008']);
    const asRandomized = { sex: 'Male', 'urn.view': 'as_randomized' };
    expect(idsOf((await get(keys.edc, CSV, asRandomized)).text)).toEqual(['007', '02']);
    expect(idsOf((await get(keys.edc, CSV, { id: 'x,1' })).text)).toEqual(['008']);
    expect(idsOf((await get(keys.edc, CSV, { id: 'nobody' })).text)).toEqual([]);
    expect(idsOf((await get(keys.cook, CSV)).text)).toEqual(['007']);
    const page = await get(keys.edc, CSV, { 'urn.limit': '1' });
    expect([idsOf(page.text), page.headers.get('urn-next')]).toEqual([['007'], '2']);
    const past = await get(keys.auditor, CSV, { 'urn.revision': '2' });
    expect([idsOf(past.text), past.headers.get('urn-revision')]).toEqual([['007', 'x,1'], '2']);
  });

  it('contains no generator states, so nothing is recorded', async () => {
    const shown = async () =>
      (await recordsOf(service)).filter(({ record }) => record.type === 'EvidenceDisclosed').length;
    const before = await shown();
    const { text } = await get(keys.auditor, CSV);
    expect(text).not.toMatch(/bg_state|PCG64|\d{20}/);
    expect(await shown()).toBe(before);
    await get(keys.auditor, undefined);
    expect(await shown()).toBe(before + 1);
  });

  it('answers errors in the envelope, and HEAD with headers only', async () => {
    for (const [key, parameters, status] of [
      ['urn_none', {}, 401],
      [keys.edc, { study: 'none' }, 404],
      [keys.edc, { sx: 'Male' }, 400],
      [keys.edc, { 'urn.revision': '1' }, 403],
    ] as const) {
      const answer = await get(key, CSV, parameters);
      expect(answer.status).toBe(status);
      checked(answer.status, answer.headers, answer.text);
    }
    const head = await fetch(`${service.url}/study_participants?study=Sleep`, {
      method: 'HEAD',
      headers: { 'X-API-Key': keys.edc, Accept: CSV },
    });
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
      ...[200, 'text/csv; charset=utf-8; header=present', ''],
    ]);
  });
});

describe('the choice between JSON and CSV', () => {
  it.each([
    'text/csv',
    'TEXT/CSV; charset=utf-8',
    'text/csv;q=0.2, */*;q=0.9',
    'text/csv, application/json',
    'application/json;q=0.5, text/csv;q=0.5',
  ])('%s is CSV', async (accept) => {
    expect((await get(keys.edc, accept)).headers.get('content-type')).toMatch(/^text\/csv;/);
  });

  it.each([
    undefined,
    '*/*',
    'text/*',
    'application/json',
    'text/html,application/xhtml+xml,*/*;q=0.8',
    'text/csv;q=0',
    'text/csv;q=0.5, application/json',
    'text/csv;q=2',
    'text/csv-schema',
    ',;=',
  ])('%s is JSON', async (accept) => {
    const { status, headers, text } = await get(keys.edc, accept);
    expect(checked(status, headers, text).results).toHaveLength(3);
    expect(headers.get('vary')).toBe('Accept');
  });

  it('is in the OpenAPI document', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the document is checked elsewhere.
    const document: any = await (await fetch(`${service.url}/openapi.json`)).json();
    const { content, headers } = document.paths['/study_participants'].get.responses['200'];
    expect(Object.keys(content)).toEqual(['application/json', 'text/csv']);
    expect(headers).toHaveProperty('Vary');
    const { text } = await get(keys.edc, CSV);
    const names = (csv: string) => parseCsv(csv)[0]?.filter((name) => !name.endsWith('local_site'));
    expect(names(content['text/csv'].example)).toEqual(names(text));
  });

  it('does not apply to other routes', async () => {
    const answer = await ask(service.url, '/study_config', {
      key: keys.edc,
      parameters: { study: 'Sleep' },
      headers: { Accept: CSV },
    });
    expect(answer.status).toBe(200);
  });
});
