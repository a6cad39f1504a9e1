/** Packs over HTTP, of the enrolment and of visits: what each key is told, the lists, and what became of each pack. */
import { describe, expect, it } from 'vitest';
import { csvRows, parseCsv } from '../../support/csv.ts';
import { registerPacksIn } from '../../support/pack-lists.ts';
import { served } from '../../support/served.ts';

const STUDIES = ['Relief', 'Plain']
  .map(
    (name) => `
${name}:
  mode: live
  blinding: blinded
  treatments: [ZZVERUM, ZZPLACEBO]
  factors: {site: [Cook, Kane, Lake]}
${name === 'Relief' ? '  visits: [V2, V3]' : ''}`,
  )
  .join('');
const ARMS = ['ZZVERUM', 'ZZPLACEBO'];
const HEAD = 'code,visit,state,id,dispensed_at,user,on_behalf_of,replaced_by,cause';
const OF_COOK = ['--study', 'Relief', '--where', 'site=Cook'];
const GRANTS = {
  edc: ['edc', '--scope', 'randomize,blinded'],
  hands: ['hands', '--scope', 'randomize'],
  cook: ['cook', '--scope', 'randomize,blinded', ...OF_COOK],
  blinded: ['monitor', '--scope', 'blinded'],
  reader: ['reader', '--scope', 'read'],
  auditor: ['auditor', '--scope', 'read,audit'],
  desk: ['desk', '--scope', 'force,correct,read'],
  night: ['night', '--scope', 'unblind,blinded'],
  cookNight: ['cook-night', '--scope', 'unblind', ...OF_COOK],
  pharmacy: ['pharmacy', '--scope', 'supply'],
  cookPharmacy: ['cook-pharmacy', '--scope', 'supply', ...OF_COOK],
} as const;
type Name = keyof typeof GRANTS;

let codes: Record<'enrolment' | 'v2' | 'v3' | 'void' | 'replaced' | 'kane' | 'free', string>;

const get = (path: string, name: Name, parameters = {}) =>
  http.get(name, path, { study: 'Relief', ...parameters });
const post = (path: string, name: Name, body: object, headers = {}) =>
  http.post(name, path, { study: 'Relief', ...body }, headers);
const enrol = (id: string, site: string) => http.as('edc').randomize('Relief', id, { site });
const breakCode = (name: Name, more: object, headers = {}) =>
  post('/code_breaks', name, { category: 'emergency', reason: 'a child swallowed it', ...more }, headers);
const recordOf = async (id: string, name: Name = 'blinded', more = {}) =>
  (await get('/study_participants', name, { id, ...more })).results[0];
const eventsOf = async (type: string) => (await http.records()).filter(({ record }) => record.type === type);

/** Of each arm in turn, under codes that have nothing to do with the arms. */
const packs = (letter: string, ...arms: string[]) =>
  Array.from({ length: 24 / arms.length }, (_, n) =>
    arms.map((treatment, arm) => ({ code: `${letter}${((arms.length * n + arm) * 7) % 24}`, treatment })),
  ).flat();
const LISTS = [
  { where: { factor: 'site', level: 'Cook' }, entries: packs('C', ...ARMS) },
  { where: { factor: 'site', level: 'Kane' }, entries: packs('K', ...ARMS) },
];
const OF_ONE_ARM = { entries: packs('S', 'ZZVERUM') };
const armOf = new Map(LISTS.flatMap(({ entries }) => entries.map((one) => [one.code, one.treatment])));
const TIME = expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);

const http = served(STUDIES, GRANTS, {
  filled: async ({ service }) => {
    await registerPacksIn(service.log, 'Relief', LISTS);
    await registerPacksIn(service.log, 'Plain', [OF_ONE_ARM]);
  },
});

describe('a participant', () => {
  it('gets a pack that every key that sees the participant can see; only readers see the arm', async () => {
    const { status, results, text } = await enrol('c1', 'Cook');
    const enrolment = results[0]['urn.code'];
    expect([status, armOf.has(enrolment), text.includes('ZZ')]).toEqual([200, true, false]);
    expect(await recordOf('c1')).toEqual(results[0]);
    expect(await recordOf('c1', 'reader')).toMatchObject({
      'urn.code': enrolment,
      trt: armOf.get(enrolment),
    });
    expect((await get('/explanation', 'auditor', { id: 'c1' })).results.code).toBe(enrolment);
    for (const [id, site] of Object.entries({ k1: 'Kane', c2: 'Cook' })) await enrol(id, site);
  });

  // In the same words for every arm: test/e2e/secrecy.test.ts.
  it('is refused if an arm has no pack left for them', async () => {
    const message = expect.stringMatching(
      /^Nothing was recorded: there are not enough packs left for this participant/,
    );
    for (const dry of [{}, { 'urn.dry_run': 'true' }]) {
      const answer = await http.as('edc').randomize('Plain', 'x1', { site: 'Cook', ...dry });
      expect(answer).toMatchObject({ status: 409, results: [], message });
      expect(answer.headers.get('urn-refused')).toBe('no-code');
    }
    const of = async (type: string) => JSON.stringify(await eventsOf(type));
    // The answer does not wait for the record.
    await expect.poll(() => of('RequestRefused')).toContain('"reason":"no-code"');
    expect(await of('RequestRefused')).not.toContain('ZZ');
  });

  it('has the packs of visits in the order in which they were given out, without those never theirs', async () => {
    expect(await recordOf('c1')).not.toHaveProperty(['urn.packs']);
    const dispense = async (id: string, visit: string, headers = {}) =>
      (await post('/dispensations', 'edc', { id, visit }, headers)).results.code;
    const replaced = await dispense('c1', 'V3', { 'X-On-Behalf-Of': 'm.jones' });
    const v2 = await dispense('c1', 'V2');
    const kane = await dispense('k1', 'V2');
    const wrong = await dispense('c2', 'V2');
    const replacement = { id: 'c1', code: replaced, cause: 'lost' };
    const { by: v3 } = (await post('/code_replacements', 'edc', replacement)).results;
    const correction = { id: 'c2', code: wrong, to: null, cause: 'not-handed-out', note: 'dropped' };
    expect((await post('/dispensation_corrections', 'desk', correction)).results.to).toBeNull();
    const { 'urn.code': enrolment } = await recordOf('c1');
    codes = { ...{ enrolment, v2, v3, kane, replaced }, void: wrong, free: '' };
    const shown = Object.entries({ V3: v3, V2: v2 }).map(([visit, code]) => ({
      visit,
      code,
      datetime: TIME,
    }));
    for (const name of ['blinded', 'cook', 'reader', 'auditor'] as const)
      expect((await recordOf('c1', name))['urn.packs']).toEqual(shown);
    expect(await recordOf('k1', 'cook')).toBeUndefined();
    expect(await recordOf('c2')).not.toHaveProperty(['urn.packs']);
    const [first] = await eventsOf('PackDispensed');
    const then = await recordOf('c1', 'auditor', { 'urn.revision': String(first?.record.revision) });
    expect(then['urn.packs']).toEqual([{ visit: 'V3', code: replaced, datetime: TIME }]);
    const { text } = await http.text('blinded', '/study_participants', { study: 'Relief' });
    expect(parseCsv(text).map((row) => row.at(-1))).toEqual([
      'packs',
      `V3=${v3}; V2=${v2}`,
      `V2=${kane}`,
      '',
    ]);
  });
});

it('GET /codes shows the pharmacy which treatment each pack holds, who has it and how many are left, and a limited key only the packs of its levels', async () => {
  const { text, results } = await get('/codes', 'pharmacy');
  const shown: Record<string, string>[] = results.codes;
  expect(new Map(shown.map(({ code, trt }) => [code, trt]))).toEqual(armOf);
  const [{ where }] = LISTS as [(typeof LISTS)[number]];
  const trt = armOf.get(codes.v2);
  expect(shown.find(({ code }) => code === codes.v2)).toEqual({
    ...{ code: codes.v2, trt, where, state: 'given', id: 'c1', visit: 'V2' },
  });
  const ofCook = shown.filter(({ code, state }) => code?.startsWith('C') && state === 'free');
  const free = ofCook.filter((one) => one['trt'] === trt).length;
  expect(results.stock).toContainEqual({ trt, where, free });
  codes.free = ofCook.find((one) => one['trt'] === 'ZZVERUM')?.['code'] ?? '';
  const [secret] = (await eventsOf('CodesRegistered')).map(
    ({ sealed }) => /"key":"([0-9a-f]{32})"/.exec(sealed)?.[1],
  );
  expect([text.includes(`${secret}`), text.includes('"key"')]).toEqual([false, false]);
  const limited = (await get('/codes', 'cookPharmacy')).results;
  for (const one of [...limited.codes, ...limited.stock]) expect(one.where.level).toBe('Cook');
  expect(limited.codes).toHaveLength(24);
});

describe('GET /pack_accountability', () => {
  const accountOf = async (code: string, name: Name = 'pharmacy') =>
    (await get('/pack_accountability', name)).results.find((one: { code: string }) => one.code === code);

  it('says what became of each pack, and names no arm; as CSV, the same', async () => {
    const given = { dispensed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/), user: 'edc' };
    expect(await accountOf(codes.replaced)).toEqual({
      ...{ code: codes.replaced, visit: 'V3', state: 'replaced', id: 'c1', ...given },
      ...{ on_behalf_of: 'm.jones', replaced_by: codes.v3, cause: 'lost' },
    });
    const json = await get('/pack_accountability', 'pharmacy');
    const asked = { study: 'Relief', 'urn.excel': 'true' };
    const { headers, text } = await http.text('pharmacy', '/pack_accountability', asked);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    for (const answer of [json.headers, headers]) expect(answer.get('vary')).toBe('Accept');
    expect(text.split('\r\n')[0]).toBe(HEAD);
    const empty = Object.fromEntries(HEAD.split(',').map((name) => [name, '']));
    expect(csvRows(text)).toEqual(json.results.map((one: object) => ({ ...empty, ...one })));
    expect(json.text).not.toContain('ZZ');
  });

  it('shows a limited key its own packs, without participants of others', async () => {
    const changes = [{ factor: 'site', from: 'Cook', to: 'Kane' }];
    await post('/level_corrections', 'desk', { id: 'c2', changes, cause: 'transfer', note: 'moved' });
    const { text, results } = await get('/pack_accountability', 'cookPharmacy');
    expect(text).not.toContain('c2');
    expect(await accountOf(codes.void, 'cookPharmacy')).toEqual({ code: codes.void, state: 'void' });
    expect(await accountOf(codes.void)).toMatchObject({ id: 'c2' });
    const map = (await get('/codes', 'cookPharmacy')).results.codes;
    const codesOf = (all: readonly { code: string }[]) => all.map(({ code }) => code);
    expect(codesOf(results)).toEqual(codesOf(map));
  });
});

it.each(['/codes', '/pack_accountability'])(
  'GET %s needs the scope supply, and is recorded',
  async (path) => {
    for (const name of ['edc', 'blinded', 'auditor', 'desk', 'night'] as const)
      expect((await get(path, name)).status, name).toBe(403);
    expect((await get(path, 'pharmacy', { 'urn.excel': 'true' })).status).toBe(400);
    const shown = async () =>
      (await eventsOf('EvidenceDisclosed')).filter(({ record }) => record.data.what === 'codes');
    // Consecutive requests with one key are counted together.
    const users = async () => new Set((await shown()).map(({ record }) => record.actor.user));
    await expect.poll(users).toEqual(new Set(['pharmacy', 'cook-pharmacy']));
  },
);

/** The rules themselves are in test/unit/study. */
it('what is refused says which packs there are only to those who may know', async () => {
  const replacement = { id: 'k1', code: codes.free, cause: 'damaged' };
  const message = 'Nothing was recorded: the participant has another pack now';
  expect(await post('/code_replacements', 'hands', replacement)).toMatchObject({ status: 409, message });
  expect((await post('/code_replacements', 'edc', replacement)).message).toContain(codes.kane);
  const pack = { visit: 'V2', code: codes.kane };
  for (const [name, results] of Object.entries({ edc: pack, pharmacy: pack, hands: {} }))
    for (const dry_run of [true, false])
      expect(await post('/dispensations', name as Name, { id: 'k1', visit: 'v2', dry_run })).toMatchObject({
        ...{ status: 400, message: 'Nothing was recorded: k1 has a pack for V2 already', results },
      });
  const undeclared = { id: 'k1', visit: 'U1' };
  expect((await post('/dispensations', 'pharmacy', undeclared)).results).toMatchObject({ visit: 'U1' });
});

it('an allocation made outside the service names the pack that was given', async () => {
  const entry = {
    ...{ treatment: 'ZZVERUM', levels: { site: 'Cook' }, cause: 'outage', note: 'envelope 12' },
    occurred_at: new Date().toISOString(),
  };
  const { results } = await post('/forced_allocations', 'desk', { ...entry, id: 'f1', code: codes.free });
  expect(results).toMatchObject([{ 'urn.code': codes.free }]);
});

describe('POST /code_breaks by pack code', () => {
  it('is about the participant who has or had the pack', async () => {
    for (const code of [codes.enrolment, codes.replaced]) {
      const { results, headers } = await breakCode('night', { code });
      expect(results).toEqual([expect.objectContaining({ id: 'c1', trt: armOf.get(code) })]);
      expect(headers.get('urn-recorded')).toBe('log');
    }
    const { record } = (await eventsOf('AllocationRevealed')).at(-1) ?? {};
    expect(record.data).toMatchObject({ code: codes.replaced, participantId: 'c1' });
    expect(JSON.stringify(record)).not.toContain('ZZ');
  });

  it('shows only the pack if nobody had it, and the same for a retry', async () => {
    const retry = { 'Idempotency-Key': 'child-1' };
    const { results, headers } = await breakCode('cookNight', { code: codes.void }, retry);
    expect(results).toEqual([{ code: codes.void, trt: armOf.get(codes.void) }]);
    expect(headers.get('urn-receipt')).not.toBeNull();
    const again = await breakCode('cookNight', { code: codes.void }, retry);
    expect([again.results, again.headers.get('urn-repeated')]).toEqual([results, 'true']);
    const { record } = (await eventsOf('AllocationRevealed')).at(-1) ?? {};
    expect(Object.keys(record.data).toSorted()).toEqual(['category', 'code', 'reveal']);
  });

  it('answers 404 in the same words for an unknown pack and one outside the limits of the key', async () => {
    const unknown = await breakCode('cookNight', { code: 'X999' });
    expect(unknown).toMatchObject({ status: 404, results: [] });
    for (const asked of [{ code: codes.kane }, { id: 'nobody' }])
      expect((await breakCode('cookNight', asked)).text).toBe(unknown.text);
    for (const asked of [{}, { id: 'c1', code: codes.v2 }])
      expect(await breakCode('night', asked)).toMatchObject({
        ...{ status: 400, message: 'either id or code must be given' },
      });
  });

  it('is shown in the list of code-breaks and in the history, without arms', async () => {
    const list = await get('/code_breaks', 'blinded');
    const shown = list.results.flatMap(({ id, code }: Record<string, string>) => [id, code]);
    expect(shown).toEqual(['c1', codes.enrolment, 'c1', codes.replaced, undefined, codes.void]);
    const history = await get('/participant_history', 'blinded', { id: 'c1' });
    expect(history.results.map(({ type }: { type: string }) => type)).toEqual([
      ...['ParticipantRandomized', 'PackDispensed', 'PackDispensed', 'CodeReplaced'],
      ...['AllocationRevealed', 'AllocationRevealed'],
    ]);
    expect(history.results[1].data).toMatchObject({ code: codes.replaced, visit: 'V3' });
    expect(list.text + history.text).not.toContain('ZZ');
  });
});
