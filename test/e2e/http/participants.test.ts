/** Participants over HTTP: which ids and levels are taken, what a record shows, and lists, as JSON and as CSV. */
import { describe, expect, it } from 'vitest';
import { checked } from '../../support/client.ts';
import { csvRows } from '../../support/csv.ts';
import { served } from '../../support/served.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const STUDIES = `${TRIALS.replace('Sleep:\n', 'Sleep:\n  target_enrollment: 300\n')}
Full:
  mode: live
  blinding: blinded
  start: paused
  treatments: [A, B]
  factors: {sex: [Male, Female], site: [x, y]}
  limits: {total: 3, levels: {site: {x: 2}}}
  policies: {stop_at_limit: true}
  protocol: {version: "1.0"}
Sign:
  mode: test
  treatments: [A, B]
  factors: {sign: ["+", "-"]}
`;
const BEHALF = { 'X-On-Behalf-Of': Buffer.from('Dr. "Müller", ICU').toString('latin1') };
const http = served(
  STUDIES,
  {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['manager', '--scope', 'correct,manage'],
    blinded: ['monitor', '--scope', 'blinded'],
    both: ['both', '--scope', 'read,blinded'],
    cook: ['cook', '--scope', 'blinded', '--where', `local_site=${COOK.local_site}`, '--study', 'Sleep'],
    x: ['x', '--scope', 'blinded', '--where', 'site=x', '--study', 'Full'],
    auditor: ['auditor', '--scope', 'read,audit'],
  },
  { filled: correctedParticipants },
);

/** Nobody else writes to this study. */
async function correctedParticipants(): Promise<void> {
  for (const [id, levels] of [
    ['K-10', KANE],
    ['c-2', COOK],
    ['C-11', COOK],
    ['x,1', DUPAGE],
    ['c-1', COOK],
    ['moved', COOK],
  ] as const)
    expect((await edc().randomize('Sleep', id, levels, id === 'K-10' ? BEHALF : {})).status).toBe(200);
  const transfer = { factor: 'local_site', from: COOK.local_site, to: DUPAGE.local_site };
  for (const [path, body] of [
    ['/id_corrections', { id: 'x,1', to: 'D-9', cause: 'entry' }],
    ['/level_corrections', { id: 'moved', changes: [transfer], cause: 'transfer', note: 'ZZNOTE' }],
    ['/voids', { id: 'c-2', cause: 'never-enrolled', analysis: 'exclude', note: 'ZZNOTE' }],
  ] as const)
    await http.done('manager', path, { study: 'Sleep', ...body });
}
type Name = keyof typeof http.keys;
type Parameters = Readonly<Record<string, string>>;

const edc = () => http.as('edc');

const listed = (name: Name, parameters: Parameters, accept = '*/*', method = 'GET') =>
  http.text(name, '/study_participants', { study: 'Sleep', ...parameters }, accept, method);
const CSV = 'text/csv';

it('POST answers with only the record: id, levels, treatment, time, and the user that owns the key', async () => {
  const before = Math.floor(Date.now() / 1000) * 1000;
  await edc().randomize('Ward', 'p-0', { ward: 'b' });
  const { status, message, results } = await edc().randomize('Ward', 'p-1', { ward: 'a' });
  expect({ status, message }).toEqual({ status: 200, message: 'Success' });
  const date = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
  const [trt, datetime] = [expect.stringMatching(/^(Left|Right)$/), expect.stringMatching(date)];
  expect(results).toEqual([{ id: 'p-1', f_ward: 'a', trt, datetime, user: 'edc' }]);
  const at = Date.parse(results[0].datetime);
  expect(at).toBeGreaterThanOrEqual(before);
  expect(at).toBeLessThanOrEqual(Date.now());
  expect((await edc().list('Ward', { id: 'p-1' })).results).toEqual(results);
});

/** Which characters: test/unit/model/participants.test.ts and test/unit/base/text.test.ts. */
describe('an id', () => {
  const post = (id: string) => edc().randomize('Ward', id, { ward: 'a' });

  it.each(['😀'.repeat(128), 'a  b c', `'"<b>&amp;--\\/`, '__proto__'])('can be %j', async (id) => {
    expect(await post(id)).toMatchObject({ status: 200, results: [{ id }] });
    expect((await edc().list('Ward', { id })).results).toMatchObject([{ id }]);
  });

  it('is refused in a new record and in a filter; one that looks like another is only not new', async () => {
    for (const answer of [await post(' a\u0000'), await edc().list('Ward', { id: ' a\u0000' })])
      expect(answer).toMatchObject({
        ...{ status: 400, results: [] },
        message: 'id contains a control character; id begins or ends with white space',
      });
    const message = expect.stringContaining('id contains U+200B, which nobody sees');
    expect(await post('001\u200b')).toMatchObject({ status: 400, message, results: [] });
    expect(await edc().list('Ward', { id: '001\u200b' })).toMatchObject({ status: 200, results: [] });
  });
});

it('levels are matched exactly, as code points', async () => {
  for (const answer of ['caf\u00e9', 'cafe\u0301', 'no ']) {
    const id = `exact ${encodeURIComponent(answer)}.`;
    expect((await edc().randomize('Exact', id, { answer })).results[0].f_answer).toBe(answer);
    expect((await edc().list('Exact', { answer })).results).toMatchObject([{ id }]);
  }
  for (const answer of ['YES', 'Yes\u00a0', 'no', 'cafe', '\uff39es', '']) {
    const message = `answer has no level ${JSON.stringify(answer)} (allowed: "Yes", "caf\u00e9", "cafe\u0301", "no ")`;
    expect(await edc().randomize('Exact', 'refused', { answer })).toMatchObject({ status: 400, message });
    expect(await edc().list('Exact', { answer })).toMatchObject({ status: 400, message, results: [] });
  }
});

it('a 400 names every problem at once, with the allowed levels', async () => {
  const bad = { sex: 'male', f_local_site: 'x' };
  const { status, message, results } = await edc().randomize('Sleep', ' 1', bad);
  expect({ status, results }).toEqual({ status: 400, results: [] });
  expect(message.split('; ').toSorted()).toEqual([
    'f_local_site: the prefix f_ belongs to records only',
    'id begins or ends with white space',
    'local_site is missing (allowed: "11-Cook County – Chicago", "30-Dupage County", "45-Kane (3+)")',
    'send local_site',
    'sex has no level "male" (allowed: "Male", "Female")',
  ]);
  const missing = await edc().list('Sleep', { id: ' 1', sex: 'male', sx: '1' });
  expect(missing.message).toMatch(/sx is not .*id begins .*sex has no level/);
});

it('factors, levels and treatments keep the order of the configuration, and can be filtered by', async () => {
  const levels = {
    ...{ '1': 'only', '9': 'z', '10': '1', 'Größe – 尺寸 😀': '≥ 2 (a+b)&c=d' },
    ['__proto__']: 'constructor',
  };
  expect((await edc().config('Ordered')).text).toContain(
    '"factors":{"10":["2","1","10"],"9":["z","a"],"__proto__":["constructor","__proto__"],' +
      '"Größe – 尺寸 😀":["≥ 2 (a+b)&c=d","100 %"],"1":["only"]},"treatments":["10","9","__proto__"]',
  );
  await edc().randomize('Ordered', 'ordered', levels);
  for (const name of ['edc', 'auditor', 'blinded'] as const)
    expect((await http.as(name).list('Ordered')).text).toContain(
      '{"id":"ordered","f_10":"1","f_9":"z","f___proto__":"constructor","f_Größe – 尺寸 😀":"≥ 2 (a+b)&c=d","f_1":"only",',
    );
  for (const [name, level] of Object.entries(levels))
    expect((await edc().list('Ordered', { [name]: level })).results, name).toHaveLength(1);
  expect((await edc().list('Ordered', { ['__proto__']: '__proto__' })).results).toEqual([]);
});

describe('a list of participants, some of them corrected', () => {
  const [site, past] = ['f_local_site', { 'urn.revision': '5', 'urn.bg_state': 'omit' }];
  const IN_TIME = ['K-10', 'c-2', 'C-11', 'D-9', 'c-1', 'moved'];
  const BY_ID = ['c-1', 'c-2', 'C-11', 'D-9', 'K-10', 'moved'];
  const BY_SITE = ['c-2', 'C-11', 'c-1', 'D-9', 'moved', 'K-10'];
  const AT_COOK = ['c-2', 'C-11', 'c-1'];

  /** [who, parameters, the ids, Urn-Total if it is counted, Urn-Next if there is more] */
  const LISTS: readonly [Name, Parameters, readonly string[], total?: string | null, next?: string | null][] =
    [
      ['edc', {}, IN_TIME],
      ['edc', { sex: 'Male', local_site: COOK.local_site }, AT_COOK],
      ['edc', { id: 'x,1' }, ['D-9']],
      ['edc', { local_site: COOK.local_site, 'urn.view': 'as_randomized' }, [...AT_COOK, 'moved']],
      ['cook', {}, AT_COOK],
      ['edc', { 'urn.limit': '2', sex: 'Male' }, ['K-10', 'c-2'], '5', '3'],
      ['edc', { 'urn.limit': '2', 'urn.offset': '5' }, ['moved'], '6'],
      ['edc', { 'urn.limit': '2', 'urn.from': '4' }, ['D-9', 'c-1'], null, '6'],
      ['edc', { 'urn.limit': '2', 'urn.from': '5' }, ['c-1', 'moved'], null],
      ['edc', { 'urn.order': 'desc' }, IN_TIME.toReversed(), '6'],
      ['blinded', { 'urn.sort': 'id' }, BY_ID, '6'],
      ['edc', { 'urn.sort': site, 'urn.order': 'desc' }, BY_SITE.toReversed(), '6'],
      ['edc', { 'urn.sort': site, 'urn.view': 'as_randomized' }, [...AT_COOK, 'moved', 'D-9', 'K-10'], '6'],
      ['cook', { 'urn.sort': 'id', 'urn.limit': '1' }, ['c-1'], '3'],
      ['auditor', { ...past, 'urn.sort': 'id' }, ['c-1', 'c-2', 'C-11', 'K-10', 'x,1'], '5'],
      ['auditor', { ...past, 'urn.search': 'd-9' }, [], '0'],
      ['edc', { 'urn.search': 'X,' }, ['D-9'], '1'],
      ['edc', { 'urn.search': '%' }, [], '0'],
      ['cook', { 'urn.search': 'D-9' }, [], '0'],
      ['edc', { 'urn.search': 'c-', 'urn.limit': '2' }, ['c-2', 'C-11'], '3', '5'],
    ];

  it.each(LISTS)('for %s, %j: %j', async (name, parameters, expected, total = null, next = null) => {
    const { headers, ...json } = await listed(name, parameters);
    const { results } = checked(json.status, headers, json.text);
    expect(results.map(({ id }: { id: string }) => id)).toEqual(expected);
    const csv = await listed(name, parameters, CSV);
    expect(csvRows(csv.text).map(({ id }) => id)).toEqual(expected);
    for (const answer of [{ headers }, csv])
      expect([answer.headers.get('urn-total'), answer.headers.get('urn-next')]).toEqual([total, next]);
    // Only those who may read arms see them.
    const seesArms = name === 'edc' || name === 'auditor';
    expect(json.text.includes('"trt"')).toBe(seesArms && expected.length > 0);
    expect(csv.text.includes('treatment')).toBe(seesArms);
    if (!seesArms) expect(json.text + csv.text).not.toContain('ZZTREAT');
  });

  const LIMIT = 'urn.limit is not a whole number from 1 to 1000';
  const NO_SEX = 'is not a parameter of this study (hint: did you mean sex?)';
  const NO_LEVEL = 'sex has no level "male" (allowed: "Male", "Female")';
  /** What else is wrong with a page: test/unit/http/lists.test.ts. [who, parameters, message] */
  const REFUSED: readonly [Name, Parameters, string][] = [
    ['blinded', { 'urn.sort': 'trt' }, 'urn.sort must be one of time, id, f_sex, f_local_site'],
    ['edc', { 'urn.limit': '1e2', 'urn.bg_state': 'show' }, `${LIMIT}; urn.bg_state must be omit`],
    ['edc', { 'urn.view': 'x', sex: 'male' }, `urn.view must be current or as_randomized; ${NO_LEVEL}`],
    ['edc', { ward: 'a' }, 'ward is not a parameter of this study (there are: id, sex, local_site)'],
    ['edc', { Sex: 'Male', sexx: 'Male' }, `Sex ${NO_SEX}; sexx ${NO_SEX}`],
    ['edc', { f_sex: 'Male' }, 'f_sex: the prefix f_ belongs to records only; send sex'],
  ];
  it.each(REFUSED)('is refused for %s with %j: %s', async (name, parameters, message) => {
    for (const accept of ['*/*', CSV]) {
      const { status, headers, text } = await listed(name, parameters, accept);
      expect(checked(status, headers, text)).toMatchObject({ status: 400, message, results: [] });
    }
  });

  it('as CSV has one line per participant, with the levels as randomized and as corrected', async () => {
    const { headers, text } = await listed('edc', {}, CSV);
    const types = { 'content-type': 'text/csv; charset=utf-8; header=present', vary: 'Accept' };
    const shown = { ...types, 'cache-control': 'no-store', 'urn-revision': '9', 'urn-mode': 'test' };
    expect(Object.fromEntries(headers)).toMatchObject(shown);
    const head = await listed('edc', {}, CSV, 'HEAD');
    expect([head.status, head.text]).toEqual([200, '']);
    expect(Object.fromEntries(head.headers)).toMatchObject(shown);
    expect(text.split('\r\n')).toHaveLength(8);
    expect(text).not.toMatch(/[^\r]\n|ZZNOTE/);
    expect(text.split('\r\n')[0]).toBe(
      'sequence,revision,id,id_as_randomized,f_sex,f_local_site,randomized_f_sex,randomized_f_local_site,treatment,randomized_at,occurred_at,user,on_behalf_of,kind,voided_cause,pack_code',
    );
    const { results } = await edc().list('Sleep');
    const row = (i: number, id: string, { sex, local_site }: Parameters, more: object = {}) => ({
      ...{ sequence: `${i}`, revision: `${i}`, id, id_as_randomized: id, treatment: results[i - 1].trt },
      ...{ f_sex: sex, f_local_site: local_site, randomized_f_sex: sex, randomized_f_local_site: local_site },
      randomized_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      ...{ occurred_at: '', user: 'edc', on_behalf_of: '', kind: 'drawn', voided_cause: '', pack_code: '' },
      ...more,
    });
    const rows = [
      row(1, 'K-10', KANE, { on_behalf_of: 'Dr. "Müller", ICU' }),
      row(2, 'c-2', COOK, { voided_cause: 'never-enrolled' }),
      row(3, 'C-11', COOK),
      row(4, 'D-9', DUPAGE, { id_as_randomized: 'x,1' }),
      row(5, 'c-1', COOK),
      row(6, 'moved', COOK, { f_local_site: DUPAGE.local_site }),
    ];
    expect(csvRows(text)).toEqual(rows);
    const blinded = csvRows((await listed('blinded', {}, CSV)).text);
    expect(blinded).toEqual(rows.map(({ treatment: _, ...others }) => others));
  });

  it('as CSV is verbatim, and guarded against formulas when it is asked for', async () => {
    await edc().randomize('Sign', '1', { sign: '+' });
    const asked = async (more: Parameters, accept = CSV) =>
      (await listed('edc', { study: 'Sign', ...more }, accept)).text;
    expect(await asked({})).toContain(',+,');
    const guarded = await asked({ 'urn.excel': 'true' });
    expect(guarded).toContain(",'+,");
    expect(guarded).not.toMatch(/(?:^|,)"?[=+\-@]/m);
    const needs = '"urn.excel needs the header Accept: text/csv"';
    expect(await asked({ 'urn.excel': 'true' }, 'application/json')).toContain(needs);
  });

  it('as CSV contains no generator states, so nothing is recorded', async () => {
    const shown = async () =>
      (await http.records()).filter(({ record }) => record.type === 'EvidenceDisclosed').length;
    const before = await shown();
    expect((await listed('auditor', {}, CSV)).text).not.toMatch(/bg_state|PCG64|\d{20}/);
    expect(await shown()).toBe(before);
    const json = await listed('auditor', { 'urn.limit': '1' });
    expect(json.headers.get('vary')).toBe('Accept');
    expect(await shown()).toBe(before + 1);
  });
});

/** What is counted: test/unit/http/lists.test.ts. */
describe('the enrolment of a study over time', () => {
  const enrolment = (name: Name, study = 'Sleep') => http.get(name, '/enrolment', { study });

  it('is of the participants at their current levels, beside the target', async () => {
    const { results, headers } = await enrolment('edc');
    const list: { trt: string; f_local_site: string }[] = (await edc().list('Sleep')).results;
    const on = (among: typeof list) => {
      const ofArm = (arm: string) => among.filter(({ trt }) => trt === arm).length;
      return { treatments: { ZZTREATA: ofArm('ZZTREATA'), ZZTREATB: ofArm('ZZTREATB') } };
    };
    const counts = { enrolled: 6, voided: 1, filled: 5, ...on(list) };
    expect(results).toMatchObject({ target: 300, goal: { kind: 'target', places: 300 }, ...counts });
    expect(results.points.at(-1)).toEqual({ sequence: 6, at: expect.any(String), ...counts });
    expect(results.levels).toContainEqual({
      ...{ factor: 'local_site', level: DUPAGE.local_site, enrolled: 2, voided: 0, filled: 2 },
      ...on(list.filter((one) => one.f_local_site === DUPAGE.local_site)),
    });
    expect(headers.get('urn-revision')).toBe('9');
    // In their order, whatever their names.
    const { text } = await enrolment('edc', 'Ordered');
    expect(text).toMatch(/"treatments":\{"10":\d,"9":\d,"__proto__":\d\}/);
    const levels = [...text.matchAll(/"factor":"([^"]*)","level":"([^"]*)"/g)].map(([, ...names]) => names);
    expect(levels).toContainEqual(['__proto__', '__proto__']);
    expect(levels.slice(0, 3)).toEqual(['2', '1', '10'].map((one) => ['10', one]));
  });

  it.each(['blinded', 'both'] as const)('has no arms for a key with the scope blinded (%s)', async (name) => {
    const unblinded = (await enrolment('edc')).results;
    const { results, text } = await enrolment(name);
    const withoutArms = ({ treatments: _, ...rest }: { treatments?: unknown }) => rest;
    expect(results).toEqual({
      ...withoutArms(unblinded),
      points: unblinded.points.map(withoutArms),
      levels: unblinded.levels.map(withoutArms),
    });
    expect(text).not.toMatch(/ZZTREAT|treat|trt/);
  });

  it('is only of the participants that a limited key can see', async () => {
    const { results } = await enrolment('cook');
    expect(results).toMatchObject({ enrolled: 3, voided: 1, filled: 2 });
    // Nobody has said how many are wanted at this site.
    expect(results).not.toHaveProperty('goal');
    expect(results.points.map(({ sequence }: { sequence: number }) => sequence)).toEqual([2, 3, 5]);
    const ofDupage = { factor: 'local_site', level: DUPAGE.local_site, enrolled: 0 };
    expect(results.levels).toContainEqual(ofDupage);
    expect((await enrolment('manager')).message).toBe('This API key lacks the scope read or blinded');
  });
});

it('a full level takes no more participants, but other levels do until the study is full', async () => {
  const randomize = (id: string, at: string, more = {}) =>
    edc().randomize('Full', id, { sex: 'Male', site: at, ...more });
  const open = { study: 'Full', action: 'resume', reason: 'first site is ready' };
  expect((await randomize('1', 'x')).message).toContain('paused');
  expect((await http.post('manager', '/study_state', open)).results).toEqual({ state: 'open' });
  const dry = { 'urn.dry_run': 'true' };
  for (const id of ['1', '2']) expect((await randomize(id, 'x')).status).toBe(200);
  const message =
    'Nothing was recorded: the study takes no more participants with site = x: the limit of 2 is reached';
  expect(await randomize('3', 'x')).toMatchObject({ status: 409, message, results: [] });
  const tried = await randomize('3', 'x', dry);
  expect([tried.status, tried.headers.get('urn-refused')]).toEqual([409, 'full']);
  // A duplicate is still reported as one, whatever the limits.
  expect((await randomize('1', 'x')).status).toBe(400);
  expect(await randomize('3', 'y', dry)).toMatchObject({
    ...{ results: { effect: { counts: 'moves' } }, message: expect.stringMatching(/ urns would count diff/) },
  });
  expect((await randomize('3', 'y')).status).toBe(200);
  const full = 'Nothing was recorded: the study takes no more participants: the limit of 3 is reached';
  expect((await randomize('4', 'y')).message).toBe(full);

  const show = (name: Name) => http.get(name, '/study_design', { study: 'Full' });
  // The design shows how far the limits are reached, but not to a key of one site.
  const { results } = await show('edc');
  const limits = [
    { max: 3, enrolled: 3 },
    { factor: 'site', level: 'x', max: 2, enrolled: 2 },
  ];
  const policies = { stop_at_limit: true, level_counts: 'as-corrected', void_counts: 'kept' };
  const design = { treatments: ['A', 'B'], blinding: 'blinded', policies, protocol: { version: '1.0' } };
  const counts = { enrolled: 3, voided: 0, filled: 3 };
  expect(results).toMatchObject({ mode: 'live', state: 'open', ...counts, limits, design });
  const { results: atSite } = await show('x');
  expect(atSite.limits).toEqual([{ max: 3 }, { factor: 'site', level: 'x', max: 2 }]);
  for (const name of Object.keys(counts)) expect(atSite).not.toHaveProperty(name);
});
