/** What lists show of packs at visits, and the accountability of packs, over HTTP: to each key, and of a study without visits. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, checked, clientOf } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const data = temporaryFolders()();
const STUDIES = ['Relief', 'Plain']
  .map(
    (name) => `
${name}:
  mode: live
  blinding: blinded
  treatments: [ZZVERUM, ZZPLACEBO]
  factors: {site: [Cook, Kane]}
${name === 'Relief' ? '  visits: [V2, V3]' : ''}`,
  )
  .join('');
const CSV = 'text/csv';
const OF_COOK = ['--study', 'Relief', '--where', 'site=Cook'];
const HEAD = 'code,visit,state,id,dispensed_at,user,on_behalf_of,replaced_by,cause';
const TIME = expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);

let service: ServiceHere;
let keys: Record<
  'edc' | 'cook' | 'blinded' | 'reader' | 'auditor' | 'desk' | 'pharmacy' | 'cookPharmacy',
  string
>;

const get = (path: string, key: string, parameters = {}, study = 'Relief') =>
  ask(service.url, path, { key, parameters: { study, ...parameters } });
const post = (path: string, key: string, body: object, study = 'Relief', headers = {}) =>
  postJson(service.url, path, key, { study, ...body }, headers);
const enrol = (id: string, site: string, study = 'Relief') =>
  clientOf(service.url, keys.edc).randomize(study, id, { site });

async function csv(path: string, key: string, parameters = {}, study = 'Relief') {
  const query = new URLSearchParams({ study, ...parameters });
  const headers = { 'X-API-Key': key, Accept: CSV };
  const response = await fetch(`${service.url}${path}?${query}`, { headers });
  const text = await response.text();
  const rows = response.ok ? parseCsv(text) : [];
  return { status: response.status, headers: response.headers, text, rows };
}

async function dispense(id: string, visit: string, key = keys.cook): Promise<string> {
  const { status, results, message } = await post('/dispensations', key, { id, visit });
  expect([status, message]).toEqual([200, 'Success']);
  return results.code;
}

const recordOf = async (id: string, key = keys.blinded) =>
  (await get('/study_participants', key, { id })).results[0];
const accounts = async (key = keys.pharmacy, study = 'Relief') =>
  (await get('/pack_accountability', key, {}, study)).results as Record<string, string>[];
const accountOf = async (code: string, key = keys.pharmacy) =>
  (await accounts(key)).find((one) => one['code'] === code);

function packs(letter: string) {
  const codes = Array.from({ length: 24 }, (_, n) => `${letter}${String((n * 7) % 24).padStart(2, '0')}`);
  return codes.map((code, n) => ({ code, treatment: n % 2 ? 'ZZVERUM' : 'ZZPLACEBO' }));
}
const at = (level: string) => ({ factor: 'site', level });

let codes: Record<'v2' | 'v3' | 'void' | 'replaced' | 'kane', string>;

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,blinded'],
    cook: ['cook', '--scope', 'randomize,blinded', ...OF_COOK],
    blinded: ['monitor', '--scope', 'blinded'],
    reader: ['reader', '--scope', 'read'],
    auditor: ['auditor', '--scope', 'read,audit'],
    desk: ['desk', '--scope', 'force,correct,read'],
    pharmacy: ['pharmacy', '--scope', 'supply'],
    cookPharmacy: ['cook-pharmacy', '--scope', 'supply', ...OF_COOK],
  });
  service = await serveHere(data, STUDIES);
  for (const study of ['Relief', 'Plain'])
    await registerPacks(data, study, [
      { where: at('Cook'), entries: packs('C') },
      { where: at('Kane'), entries: packs('K') },
    ]);
  await enrol('c1', 'Cook');
  await enrol('k1', 'Kane');
  await enrol('c2', 'Cook');
  await enrol('p1', 'Cook', 'Plain');
});
afterAll(() => service.stop());

describe('a participant’s record', () => {
  it('has no packs of visits before there are any', async () => {
    for (const key of [keys.blinded, keys.reader, keys.auditor])
      expect(await recordOf('c1', key)).not.toHaveProperty(['urn.packs']);
  });

  it('has them in the order in which they were given out, for every key that sees the participant', async () => {
    const [v3, v2] = [await dispense('c1', 'v3'), await dispense('c1', 'V2')];
    const replaced = await post('/code_replacements', keys.cook, { id: 'c1', code: v3, cause: 'lost' });
    const [kane, wrong] = [await dispense('k1', 'V2', keys.edc), await dispense('c2', 'V2')];
    codes = { v2, v3: replaced.results.by, replaced: v3, kane, void: wrong };
    const shown = [
      { visit: 'V3', code: codes.v3, datetime: TIME },
      { visit: 'V2', code: v2, datetime: TIME },
    ];
    for (const key of [keys.blinded, keys.cook, keys.reader, keys.auditor])
      expect((await recordOf('c1', key))['urn.packs']).toEqual(shown);
    expect(JSON.stringify(await recordOf('c1'))).not.toContain('ZZ');
    expect(Object.keys(await recordOf('c1'))).toEqual([
      ...['id', 'f_site', 'datetime', 'user', 'urn.code', 'urn.packs'],
    ]);
    expect(await recordOf('k1', keys.cook)).toBeUndefined();
  });

  it('has them without what the participant never got, and in the answer to a correction', async () => {
    const correction = { id: 'c2', code: codes.void, to: null, cause: 'not-handed-out', note: 'dropped' };
    expect((await post('/dispensation_corrections', keys.desk, correction)).status).toBe(200);
    expect(await recordOf('c2')).not.toHaveProperty(['urn.packs']);
    const renamed = await post('/id_corrections', keys.desk, { id: 'c1', to: 'c01', cause: 'entry' });
    expect(renamed.results[0]['urn.packs']).toHaveLength(2);
  });

  it('has those of a moment', async () => {
    const [first] = storedLog(data).filter(({ record }) => record.type === 'PackDispensed');
    const parameters = { id: 'c1', 'urn.revision': String(first?.record.revision) };
    const [then] = (await get('/study_participants', keys.auditor, parameters)).results;
    expect(then['urn.packs']).toEqual([{ visit: 'V3', code: codes.replaced, datetime: TIME }]);
    const { text } = await csv('/study_participants', keys.auditor, parameters);
    expect(text).toContain(`,V3=${codes.replaced}\r\n`);
  });

  it('and the history of the participant: what happened to the packs', async () => {
    const { results } = await get('/participant_history', keys.cook, { id: 'c01' });
    expect(results.map(({ type }: { type: string }) => type)).toEqual([
      ...[
        'ParticipantRandomized',
        'PackDispensed',
        'PackDispensed',
        'CodeReplaced',
        'ParticipantIdCorrected',
      ],
    ]);
    expect(results[1].data).toMatchObject({ code: codes.replaced, visit: 'V3' });
  });
});

describe('the list as CSV', () => {
  it('has a column after pack_code', async () => {
    for (const [key, guarded] of [
      [keys.blinded, {}],
      [keys.reader, { 'urn.excel': 'true' }],
    ] as const) {
      const { rows } = await csv('/study_participants', key, guarded);
      expect(rows[0]?.slice(-2)).toEqual(['pack_code', 'packs']);
      expect(rows.slice(1).map((row) => row.at(-1))).toEqual([
        ...[`V3=${codes.v3}; V2=${codes.v2}`, `V2=${codes.kane}`, ''],
      ]);
    }
  });
});

describe('a study without visits', () => {
  it('is shown as before', async () => {
    const { text } = await csv('/study_participants', keys.reader, {}, 'Plain');
    const [{ datetime: _, trt, user, 'urn.code': code, ...rest }] = (
      await get('/study_participants', keys.reader, {}, 'Plain')
    ).results;
    expect(rest).toEqual({ id: 'p1', f_site: 'Cook' });
    const [head, row] = text.split('\r\n');
    expect(head).toBe(
      'sequence,revision,id,id_as_randomized,f_site,randomized_f_site,treatment,randomized_at,occurred_at,user,on_behalf_of,kind,voided_cause,pack_code',
    );
    expect(row).toMatch(new RegExp(`^1,3,p1,p1,Cook,Cook,${trt},[^,]+Z,,${user},,drawn,,${code}$`));
    const map = await get('/codes', keys.pharmacy, {}, 'Plain');
    expect(map.text).not.toMatch(/"low"|"visit"/);
    // Of each arm and site there are 12, and one is given.
    expect(map.results.stock).toHaveLength(4);
  });

  it('has its packs accounted for as well', async () => {
    const rows = await accounts(keys.pharmacy, 'Plain');
    expect(rows.map(({ code }) => code)).toEqual([...packs('C'), ...packs('K')].map(({ code }) => code));
    expect(rows.filter(({ state }) => state !== 'free')).toEqual([
      expect.objectContaining({ state: 'held', id: 'p1', user: 'edc' }),
    ]);
  });
});

describe('GET /codes', () => {
  it('says for which visit a participant has a pack, and where the stock is low', async () => {
    const { codes: shown, stock } = (await get('/codes', keys.pharmacy)).results;
    const of = (code: string) => shown.find((one: { code: string }) => one.code === code);
    expect(of(codes.v2)).toMatchObject({ state: 'given', id: 'c01', visit: 'V2' });
    for (const code of [codes.replaced, codes.void]) expect(of(code)).not.toHaveProperty('visit');
    expect(stock.filter(({ low }: { low?: true }) => low)).toEqual([]);
    const free = shown.flatMap((one: Record<string, string>) =>
      one['state'] === 'free' && one['trt'] === 'ZZVERUM' && one['code']?.startsWith('K')
        ? [one['code']]
        : [],
    );
    const withdrawn = { codes: free.slice(2), reason: 'recall' };
    expect((await post('/code_withdrawals', keys.pharmacy, withdrawn)).status).toBe(200);
    const later = (await get('/codes', keys.pharmacy)).results.stock;
    expect(later.filter(({ low }: { low?: true }) => low)).toEqual([
      { trt: 'ZZVERUM', where: at('Kane'), free: 2, low: true },
    ]);
    expect((await get('/codes', keys.cookPharmacy)).text).not.toContain('low');
  });
});

describe('GET /pack_accountability', () => {
  it('says what became of each pack', async () => {
    const second = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const given = { dispensed_at: second, user: 'cook' };
    expect(await accountOf(codes.v2)).toEqual({
      ...{ code: codes.v2, visit: 'V2', state: 'held', id: 'c01', ...given },
    });
    expect(await accountOf(codes.replaced)).toEqual({
      ...{ code: codes.replaced, visit: 'V3', state: 'replaced', id: 'c01', ...given },
      ...{ replaced_by: codes.v3, cause: 'lost' },
    });
    expect(await accountOf(codes.void)).toEqual({
      ...{ code: codes.void, state: 'void', id: 'c2', ...given, cause: 'not-handed-out' },
    });
    const states = new Set((await accounts()).map(({ state }) => state));
    expect(states).toEqual(new Set(['free', 'held', 'replaced', 'void', 'withdrawn']));
  });

  it('names the person who used the key', async () => {
    const headers = { 'X-On-Behalf-Of': 'm.jones' };
    const { results } = await post('/dispensations', keys.edc, { id: 'c2', visit: 'V3' }, 'Relief', headers);
    expect(await accountOf(results.code)).toMatchObject({ user: 'edc', on_behalf_of: 'm.jones' });
  });

  it('is the same as CSV, and names no arm', async () => {
    const json = await get('/pack_accountability', keys.pharmacy);
    const { status, headers, text, rows } = await csv('/pack_accountability', keys.pharmacy);
    expect([status, headers.get('content-type')]).toEqual([200, `${CSV}; charset=utf-8; header=present`]);
    for (const answer of [json.headers, headers]) expect(answer.get('vary')).toBe('Accept');
    expect(headers.get('urn-revision')).toBe(json.headers.get('urn-revision'));
    expect(rows[0]?.join(',')).toBe(HEAD);
    const named = rows.slice(1).map((row) => Object.fromEntries(row.map((cell, i) => [rows[0]?.[i], cell])));
    const empty = Object.fromEntries(HEAD.split(',').map((name) => [name, '']));
    expect(named).toEqual(json.results.map((one: object) => ({ ...empty, ...one })));
    expect(json.text + text).not.toContain('ZZ');
  });

  it('shows a limited key its own packs, without participants of others', async () => {
    const shown = await accounts(keys.cookPharmacy);
    const map = (await get('/codes', keys.cookPharmacy)).results.codes;
    expect(shown.map(({ code }) => code)).toEqual(map.map(({ code }: { code: string }) => code));
    expect(shown.every(({ code }) => code?.startsWith('C'))).toBe(true);
    // c2 moves away, with a void pack and others.
    const changes = [{ factor: 'site', from: 'Cook', to: 'Kane' }];
    const moved = { id: 'c2', changes, cause: 'transfer', note: 'moved' };
    expect((await post('/level_corrections', keys.desk, moved)).status).toBe(200);
    const later = await accounts(keys.cookPharmacy);
    expect(JSON.stringify(later)).not.toContain('c2');
    expect(later.find(({ code }) => code === codes.void)).toEqual({ code: codes.void, state: 'void' });
    expect(await accountOf(codes.void)).toMatchObject({ id: 'c2' });
    const codesNow = (await get('/codes', keys.cookPharmacy)).results.codes;
    expect(later.map(({ code }) => code)).toEqual(codesNow.map(({ code }: { code: string }) => code));
  });

  it('needs the scope supply, and takes no other parameters', async () => {
    for (const name of ['edc', 'blinded', 'reader', 'auditor', 'desk'] as const) {
      const refused = await get('/pack_accountability', keys[name]);
      expect([refused.status, refused.results], name).toEqual([403, []]);
    }
    expect((await get('/pack_accountability', keys.pharmacy, { id: 'c1' })).status).toBe(400);
    const excel = { 'urn.excel': 'true' };
    expect((await get('/pack_accountability', keys.pharmacy, excel)).message).toContain('needs the header');
    expect((await csv('/pack_accountability', keys.pharmacy, excel)).status).toBe(200);
    const { status, headers, text } = await csv('/pack_accountability', keys.blinded);
    expect(checked(status, headers, text).status).toBe(403);
  });

  it('is recorded like the map of the packs', async () => {
    const shown = () =>
      storedLog(data).filter(
        ({ record }) => record.type === 'EvidenceDisclosed' && record.data.what === 'codes',
      );
    // Consecutive requests with one key are counted together.
    await expect.poll(() => new Set(shown().map(({ record }) => record.actor.keyId)).size).toBe(2);
    expect(shown()[0]?.record.data).toMatchObject({ study: expect.stringMatching(/Relief|Plain/) });
  });
});

describe('the document', () => {
  it('describes the route and the members', async () => {
    const { paths, components } = JSON.parse(await (await fetch(`${service.url}/openapi.json`)).text());
    const { get: operation } = paths['/pack_accountability'];
    expect(operation.operationId).toBe('listAccountability');
    expect(operation.description).toContain('`supply`');
    const { content } = operation.responses['200'];
    expect(Object.keys(content)).toEqual(['application/json', CSV]);
    expect(content[CSV].schema.description).toContain(HEAD.replaceAll(',', ', '));
    const membersOf = (rows: readonly object[]) => [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const exampleOf = (path: string) =>
      paths[path].get.responses['200'].content['application/json'].example.results;
    const map = (await get('/codes', keys.pharmacy)).results;
    for (const part of ['codes', 'stock'])
      expect(membersOf(map[part])).toEqual(expect.arrayContaining(membersOf(exampleOf('/codes')[part])));
    expect(membersOf(await accounts())).toEqual(
      expect.arrayContaining(membersOf(exampleOf('/pack_accountability'))),
    );
    const { schemas } = components;
    const { results } = content['application/json'].schema.properties;
    expect(results).toEqual({ $ref: '#/components/schemas/Accountability' });
    expect(Object.keys(schemas.Accountability.items.properties)).toEqual(HEAD.split(','));
    const shown = schemas.ParticipantRecord.properties['urn.packs'];
    expect(shown.items).toEqual({ $ref: '#/components/schemas/PackOfVisit' });
    expect(Object.keys(schemas.PackOfVisit.properties)).toEqual(['visit', 'code', 'datetime']);
    expect(schemas.Codes.properties.codes.items.properties).toHaveProperty('visit');
    expect(schemas.Codes.properties.stock.items.properties).toHaveProperty('low');
    expect(JSON.stringify(paths['/study_participants'])).toContain('V2=104233');
  });
});
