/** Packs at visits over HTTP: what each key may ask for and is told, lists, and the accountability of packs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, checked, clientOf } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { registerPacksIn } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { recordsOf, type ServiceHere, serveInMemory } from '../../support/service-here.ts';

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
const GRANTS = {
  edc: ['edc', '--scope', 'randomize,blinded'],
  hands: ['hands', '--scope', 'randomize'],
  cook: ['cook', '--scope', 'randomize,blinded', ...OF_COOK],
  blinded: ['monitor', '--scope', 'blinded'],
  reader: ['reader', '--scope', 'read'],
  auditor: ['auditor', '--scope', 'read,audit'],
  desk: ['desk', '--scope', 'force,correct,read'],
  silent: ['silent', '--scope', 'correct'],
  night: ['night', '--scope', 'unblind,blinded'],
  pharmacy: ['pharmacy', '--scope', 'supply'],
  cookPharmacy: ['cook-pharmacy', '--scope', 'supply', ...OF_COOK],
} as const;

let service: ServiceHere;
let keys: Record<keyof typeof GRANTS, string>;

const get = (path: string, key: string, parameters = {}, study = 'Relief') =>
  ask(service.url, path, { key, parameters: { study, ...parameters } });
const post = (path: string, key: string, body: object, headers = {}) =>
  postJson(service.url, path, key, { study: 'Relief', ...body }, headers);
const enrol = (id: string, site: string, study = 'Relief') =>
  clientOf(service.url, keys.edc).randomize(study, id, { site });
const asksFor = (id: string, visit: unknown, key: string, more = {}, headers = {}) =>
  post('/dispensations', key, { id, visit, ...more }, headers);
const correct = (id: string, code: string, to: string | null, more = {}, key = keys.desk) =>
  post('/dispensation_corrections', key, { id, code, to, cause: 'entry', note: 'a slip', ...more });
const replace = (id: string, code: string, key = keys.cook) =>
  post('/code_replacements', key, { id, code, cause: 'lost' });

async function dispense(id: string, visit: string, key = keys.cook): Promise<string> {
  const { status, results, message } = await asksFor(id, visit, key);
  expect([status, message]).toEqual([200, 'Success']);
  return results.code;
}

async function csv(path: string, key: string, parameters = {}, study = 'Relief') {
  const query = new URLSearchParams({ study, ...parameters });
  const headers = { 'X-API-Key': key, Accept: CSV };
  const response = await fetch(`${service.url}${path}?${query}`, { headers });
  const text = await response.text();
  const rows = response.ok ? parseCsv(text) : [];
  return { status: response.status, headers: response.headers, text, rows };
}

const recordOf = async (id: string, key = keys.blinded) =>
  (await get('/study_participants', key, { id })).results[0];
const typesOf = async (id: string) =>
  (await get('/participant_history', keys.cook, { id })).results.map(({ type }: { type: string }) => type);
const accounts = async (key = keys.pharmacy, study = 'Relief') =>
  (await get('/pack_accountability', key, {}, study)).results as Record<string, string>[];
const accountOf = async (code: string, key = keys.pharmacy) =>
  (await accounts(key)).find((one) => one['code'] === code);
const recordsOfType = async (type: string) =>
  (await recordsOf(service)).flatMap(({ record }) => (record.type === type ? [record] : []));

function packs(letter: string) {
  const codes = Array.from({ length: 24 }, (_, n) => `${letter}${String((n * 7) % 24).padStart(2, '0')}`);
  return codes.map((code, n) => ({ code, treatment: n % 2 ? 'ZZVERUM' : 'ZZPLACEBO' }));
}
const at = (level: string) => ({ factor: 'site', level });

let codes: Record<'v2' | 'v3' | 'void' | 'replaced' | 'kane', string>;

beforeAll(async () => {
  ({ service, keys } = await serveInMemory(STUDIES, GRANTS));
  for (const study of ['Relief', 'Plain'])
    await registerPacksIn(service.log, study, [
      { where: at('Cook'), entries: packs('C') },
      { where: at('Kane'), entries: packs('K') },
    ]);
  for (const [id, site] of [
    ['c1', 'Cook'],
    ['k1', 'Kane'],
    ['c2', 'Cook'],
  ] as const)
    await enrol(id, site);
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
    const replaced = await replace('c1', v3);
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
    expect((await correct('c2', codes.void, null, { cause: 'not-handed-out' })).results).toEqual({
      ...{ code: codes.void, from: 'V2', to: null },
    });
    expect(await recordOf('c2')).not.toHaveProperty(['urn.packs']);
    const renamed = await post('/id_corrections', keys.desk, { id: 'c1', to: 'c01', cause: 'entry' });
    expect(renamed.results[0]['urn.packs']).toHaveLength(2);
  });

  it('has those of a moment', async () => {
    const [first] = await recordsOfType('PackDispensed');
    const parameters = { id: 'c1', 'urn.revision': String(first?.revision) };
    const [then] = (await get('/study_participants', keys.auditor, parameters)).results;
    expect(then['urn.packs']).toEqual([{ visit: 'V3', code: codes.replaced, datetime: TIME }]);
    const { text } = await csv('/study_participants', keys.auditor, parameters);
    expect(text).toContain(`,V3=${codes.replaced}\r\n`);
  });

  it('and the history of the participant: what happened to the packs', async () => {
    expect(await typesOf('c01')).toEqual([
      ...[
        'ParticipantRandomized',
        'PackDispensed',
        'PackDispensed',
        'CodeReplaced',
        'ParticipantIdCorrected',
      ],
    ]);
    const { results } = await get('/participant_history', keys.cook, { id: 'c01' });
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
    // Of the arm that k1, who has further visits, does not have.
    const trt = of(codes.kane)?.trt === 'ZZVERUM' ? 'ZZPLACEBO' : 'ZZVERUM';
    const free = shown.flatMap((one: Record<string, string>) =>
      one['state'] === 'free' && one['trt'] === trt && one['code']?.startsWith('K') ? [one['code']] : [],
    );
    const withdrawn = { codes: free.slice(2), reason: 'recall' };
    expect((await post('/code_withdrawals', keys.pharmacy, withdrawn)).status).toBe(200);
    const later = (await get('/codes', keys.pharmacy)).results.stock;
    expect(later.filter(({ low }: { low?: true }) => low)).toEqual([
      { trt, where: at('Kane'), free: 2, low: true },
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
    const { results } = await asksFor('c2', 'V3', keys.edc, {}, { 'X-On-Behalf-Of': 'm.jones' });
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
    const shown = async () =>
      (await recordsOfType('EvidenceDisclosed')).filter(({ data }) => data.what === 'codes');
    // Consecutive requests with one key are counted together.
    await expect.poll(async () => new Set((await shown()).map(({ actor }) => actor.keyId)).size).toBe(2);
    expect((await shown())[0]?.data).toMatchObject({ study: expect.stringMatching(/Relief|Plain/) });
  });
});

describe('a request for a pack at a visit', () => {
  const asked = { study: 'Relief', id: 'k1', visit: 'V3' };

  it.each<[what: string, body: object | string, message: string]>([
    ['an empty visit', { visit: '' }, 'visit: is no name of a visit'],
    ['a visit that ends in a space', { visit: 'V3 ' }, 'visit: is no name of a visit'],
    ['a formula', { visit: '=V3' }, 'visit: is no name of a visit'],
    ['21 characters', { visit: 'V'.repeat(21) }, 'visit: is no name of a visit'],
    ['an object as visit', { visit: { $ne: 'V3' } }, 'visit: must be a string'],
    ['an arm as visit', { visit: 'zzverum' }, 'visit: is, or contains, the name of an arm'],
    ['an arm in a visit', { visit: 'no ZZPLACEBO' }, 'visit: is, or contains, the name of an arm'],
    ['a pack that it wants', { code: 'C01' }, 'code is not a member of this request'],
    ['its supply', { isSupply: true }, 'isSupply is not a member of this request'],
    ['a list', '[]', 'must be an object'],
    ['a visit twice', `${JSON.stringify(asked).slice(0, -1)},"visit":"V4"}`, 'a duplicate member'],
  ])('is 400 with %s', async (_, body, message) => {
    const text = typeof body === 'string' ? body : JSON.stringify({ ...asked, ...body });
    const answer = await postJson(service.url, '/dispensations', keys.pharmacy, text);
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining(message), results: {} });
    expect(await recordOf('k1')).toMatchObject({ 'urn.packs': [{ visit: 'V2' }] });
  });

  it('is 400 with a header of the service that there is not, which would otherwise be ignored', async () => {
    for (const name of ['Urn-Min-Revision', 'Urn-Dry-Run']) {
      const { status, message } = await asksFor('k1', 'V3', keys.edc, {}, { [name]: '1' });
      expect([status, message.toLowerCase()]).toEqual([400, expect.stringContaining(name.toLowerCase())]);
    }
  });

  it('is for declared visits, or for any with the scope supply', async () => {
    const message = 'visit: one of V2, V3 (others need a key with the scope supply)';
    expect(await asksFor('k1', 'U1', keys.edc)).toMatchObject({ status: 400, message });
    for (const visit of ['U', 'U'.repeat(20)])
      expect((await asksFor('k1', visit, keys.pharmacy)).results).toMatchObject({ visit });
  });

  it('tells those who may know which pack there is already', async () => {
    const pack = { visit: 'V2', code: codes.kane };
    for (const [key, results] of [
      [keys.edc, pack],
      [keys.pharmacy, pack],
      [keys.hands, {}],
    ] as const)
      for (const dry_run of [true, false])
        expect(await asksFor('k1', 'v2', key, { dry_run })).toMatchObject({
          ...{ status: 400, message: 'k1 has a pack for V2 already', results },
        });
  });

  it('is answered again with the pack of its own event, even after a replacement', async () => {
    const retry = { 'Idempotency-Key': 'tablet-1' };
    const first = await asksFor('k1', 'U1', keys.pharmacy, {}, retry);
    expect(first).toMatchObject({ status: 200 });
    expect(await replace('k1', first.results.code, keys.pharmacy)).toMatchObject({ status: 200 });
    expect((await asksFor('k1', 'u1', keys.pharmacy, {}, retry)).results).toEqual(first.results);
  });

  it('is not for an entry that is no patient, and says why to those who may know', async () => {
    const voiding = { id: 'k1', cause: 'never-enrolled', analysis: 'exclude', note: 'never came' };
    await post('/voids', keys.desk, voiding);
    const because = async (key: string) => (await asksFor('k1', 'V3', key)).message;
    expect(await because(keys.edc)).toContain('(never-enrolled) and gets no packs');
    expect(await because(keys.hands)).toContain('the participant is voided and gets no packs');
    await post('/reinstatements', keys.desk, { id: 'k1', note: 'another person' });
  });
});

describe('a correction of a visit', () => {
  it('says what is so, to those who may know', async () => {
    const none = 'Nothing was recorded: the participant has no such pack of a visit';
    const takes = 'to: the participant has a pack for V3';
    const first = ': correct that one first';
    const others = 'to: one of V2, V3 (others need a key with the scope supply)';
    for (const [code, to, status, message, silently] of [
      ['P-1', null, 409, `${none}; for visits, they have ${codes.v3} (V3), ${codes.v2} (V2)`, none],
      [codes.v2, 'V3', 422, `${takes} (${codes.v3})${first}`, `${takes}${first}`],
      [codes.v2, 'U9', 400, others, others],
    ] as const) {
      expect(await correct('c01', code, to)).toMatchObject({ status, message });
      expect(await correct('c01', code, to, {}, keys.silent)).toMatchObject({ status, message: silently });
    }
  });

  it.each([false, '', '=V3', 'ZZVERUM'])('is 400 to %j', async (to) => {
    const refused = await correct('c01', codes.v2, to as string, {}, keys.pharmacy);
    expect([refused.status, refused.message.startsWith('to: ')]).toEqual([400, true]);
  });

  it('moves the pack from a code-break about the participant to one about the pack alone', async () => {
    const reveal = { category: 'planned', reason: 'found in the fridge' };
    for (const [code, id] of [
      [codes.void, undefined],
      [codes.v2, 'c01'],
    ] as const) {
      const { results } = await post('/code_breaks', keys.night, { ...reveal, code });
      expect([results[0].id, results[0].trt]).toEqual([
        id,
        packs('C').find((one) => one.code === code)?.treatment,
      ]);
    }
  });
});

it('the document has examples with members that there are, and the columns of the accountability', async () => {
  const { paths, components } = JSON.parse(await (await fetch(`${service.url}/openapi.json`)).text());
  const { content } = paths['/pack_accountability'].get.responses['200'];
  expect(Object.keys(content)).toEqual(['application/json', CSV]);
  expect(content[CSV].schema.description).toContain(HEAD.replaceAll(',', ', '));
  const membersOf = (rows: readonly object[]) => [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const exampleOf = (path: string) =>
    paths[path].get.responses['200'].content['application/json'].example.results;
  const map = (await get('/codes', keys.pharmacy)).results;
  for (const [shown, example] of [
    [map.codes, exampleOf('/codes').codes],
    [map.stock, exampleOf('/codes').stock],
    [await accounts(), exampleOf('/pack_accountability')],
  ])
    expect(membersOf(shown)).toEqual(expect.arrayContaining(membersOf(example)));
  const { Accountability, PackOfVisit } = components.schemas;
  expect(Object.keys(Accountability.items.properties)).toEqual(HEAD.split(','));
  expect(Object.keys(PackOfVisit.properties)).toEqual(['visit', 'code', 'datetime']);
});
