/** Participants over HTTP: which ids and levels are taken, what a record shows, and lists, as JSON and as CSV. */
import { describe, expect, it } from 'vitest';
import { ask, checked, exactResults } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { served } from '../../support/served.ts';
import { COOK, DUPAGE, KANE, SLEEP_SEED, TRIALS } from '../../support/trials.ts';

const http = served(TRIALS, {
  edc: ['edc', '--scope', 'randomize,read'],
  manager: ['manager', '--scope', 'correct,read'],
  blinded: ['monitor', '--scope', 'blinded'],
  cook: ['cook', '--scope', 'blinded', '--where', `local_site=${COOK.local_site}`, '--study', 'Sleep'],
  auditor: ['auditor', '--scope', 'read,audit'],
});
type Name = keyof typeof http.keys;
type Parameters = Readonly<Record<string, string>>;

const edc = () => http.as('edc');

/** With these parameters and this header, if any. */
async function listed(name: Name, parameters: Parameters, accept?: string, method = 'GET') {
  const query = new URLSearchParams({ study: 'Sleep', ...parameters });
  const headers = { 'X-API-Key': http.keys[name], ...(accept !== undefined && { Accept: accept }) };
  const response = await fetch(`${http.url}/study_participants?${query}`, { method, headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
const CSV = 'text/csv';

/** The rows, keyed by column name. */
function rowsOf(text: string): Record<string, string>[] {
  const [head = [], ...lines] = parseCsv(text);
  return lines.map((line) => Object.fromEntries(head.map((name, i) => [name, line[i] ?? ''])));
}

describe('POST answers with only the record of the new participant', () => {
  const MEMBERS = ['id', 'f_ward', 'trt', 'datetime', 'user'];

  it('with the id, the levels, the treatment, the time and the user that owns the key', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    await edc().randomize('Ward', 'p-0', { ward: 'b' });
    const { status, message, results } = await edc().randomize('Ward', 'p-1', { ward: 'a' });
    expect({ status, message }).toEqual({ status: 200, message: 'Success' });
    const date = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
    const [trt, datetime] = [expect.stringMatching(/^(Left|Right)$/), expect.stringMatching(date)];
    expect(results).toEqual([{ id: 'p-1', f_ward: 'a', trt, datetime, user: 'edc' }]);
    expect(Object.keys(results[0])).toEqual(MEMBERS);
    const at = Date.parse(results[0].datetime);
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());
    expect((await edc().list('Ward', { id: 'p-1' })).results).toEqual(results);
  });
});

describe('an id is 1 to 128 code points:', () => {
  const post = (id: string) => edc().randomize('Ward', id, { ward: 'a' });

  it.each([
    ...['1', 'x'.repeat(128), '😀'.repeat(128), 'a  b c', 'caf\u00e9', 'Caf\u00e9'],
    ...[`'"<b>&amp;--\\/`, '__proto__'],
  ])('%j', async (id) => {
    expect(await post(id)).toMatchObject({ status: 200, results: [{ id }] });
    expect((await edc().list('Ward', { id })).results).toMatchObject([{ id }]);
  });

  const LONG = 'id has more than 128 characters';
  const CONTROL = 'id contains a control character';
  const SPACE = 'id begins or ends with white space';
  it.each([
    { message: 'id is empty', ids: [''] },
    { message: LONG, ids: ['x'.repeat(129), '😀'.repeat(129)] },
    { message: CONTROL, ids: ['a\u0000b', 'a\tb', 'a\nb', 'a\u007f', 'a\u0085b'] },
    { message: SPACE, ids: [' a', 'a ', '\u00a0a', 'a\u3000', '\u2028a', ' '] },
    { message: `${LONG}; ${CONTROL}; ${SPACE}`, ids: [` ${'x'.repeat(128)}\u0000`] },
  ])('$message: $ids', async ({ message, ids }) => {
    for (const id of ids)
      for (const answer of [await post(id), await edc().list('Ward', { id })])
        expect(answer, JSON.stringify(id)).toMatchObject({ status: 400, message, results: [] });
  });

  // The characters that look like others: test/unit/base/text.test.ts.
  it.each([
    ['001\u200b', 'U+200B, which nobody sees'],
    ['cafe\u0301', 'U+0301, which Unicode also writes in another way'],
  ])(
    '%j looks like another, so no one new has it, but an older version may have recorded it',
    async (id, why) => {
      const before = (await edc().list('Ward')).results.length;
      const message = expect.stringContaining(`id contains ${why}`);
      expect(await post(id)).toMatchObject({ status: 400, message, results: [] });
      expect(await edc().list('Ward', { id })).toMatchObject({ status: 200, results: [] });
      expect((await edc().list('Ward')).results).toHaveLength(before);
    },
  );

  it('that match the pattern of the study as a whole', async () => {
    const patterned = (id: string) => edc().randomize('Patterned', id, { ward: 'a' });
    for (const id of ['123-4567', 'X']) expect((await patterned(id)).status, id).toBe(200);
    const message = expect.stringContaining("this study's pattern");
    for (const id of ['123-45678', 'x123-4567', '123-4567X', 'XX', '１２３-4567'])
      expect(await patterned(id), id).toMatchObject({ status: 400, message });
  });
});

describe('levels are matched exactly, as code points', () => {
  it.each(['Yes', 'caf\u00e9', 'cafe\u0301', 'no '])('%j is a level', async (answer) => {
    const id = `exact ${encodeURIComponent(answer)}.`;
    expect((await edc().randomize('Exact', id, { answer })).results[0].f_answer).toBe(answer);
    expect((await edc().list('Exact', { answer })).results).toMatchObject([{ id }]);
  });

  it.each(['yes', 'YES', ' Yes', 'Yes ', 'Yes\u00a0', 'no', 'cafe', 'CAF\u00c9', '\uff39es', ''])(
    '%j is not a level',
    async (answer) => {
      const message = `answer has no level ${JSON.stringify(answer)} (allowed: "Yes", "caf\u00e9", "cafe\u0301", "no ")`;
      expect(await edc().randomize('Exact', 'refused', { answer })).toMatchObject({ status: 400, message });
      expect(await edc().list('Exact', { answer })).toMatchObject({ status: 400, message, results: [] });
    },
  );
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

describe('factors, levels and treatments keep the order of the configuration', () => {
  const levels = {
    ...{ '1': 'only', '9': 'z', '10': '1', 'Größe – 尺寸 😀': '≥ 2 (a+b)&c=d' },
    ['__proto__']: 'constructor',
  };

  it('in the configuration, and in records, whoever reads them', async () => {
    expect((await edc().config('Ordered')).text).toContain(
      '"factors":{"10":["2","1","10"],"9":["z","a"],"__proto__":["constructor","__proto__"],' +
        '"Größe – 尺寸 😀":["≥ 2 (a+b)&c=d","100 %"],"1":["only"]},"treatments":["10","9","__proto__"]',
    );
    await edc().randomize('Ordered', 'ordered', levels);
    for (const name of ['edc', 'auditor', 'blinded'] as const)
      expect((await http.as(name).list('Ordered')).text).toContain(
        '{"id":"ordered","f_10":"1","f_9":"z","f___proto__":"constructor","f_Größe – 尺寸 😀":"≥ 2 (a+b)&c=d","f_1":"only",',
      );
  });

  it('and can be filtered by', async () => {
    for (const [name, level] of Object.entries(levels))
      expect((await edc().list('Ordered', { [name]: level })).results, name).toHaveLength(1);
    expect((await edc().list('Ordered', { ['__proto__']: '__proto__' })).results).toEqual([]);
  });
});

describe('Urn-Revision', () => {
  const fresh = served(TRIALS, { edc: ['edc'] });

  it('is the revision that an answer shows, or that a POST wrote; 0 is the registration', async () => {
    const { config, list, randomize } = fresh.as('edc');
    const yes = { answer: 'Yes' };
    for (const [answer, revision] of [
      [await config('Exact'), '0'],
      [await list('Exact'), '0'],
      [await randomize('Exact', 'r-1', yes), '1'],
      [await randomize('Exact', 'r-2', yes), '2'],
      [await list('Exact', { id: 'r-1' }), '2'],
      // Also on errors about a study, but not on errors about none.
      [await randomize('Exact', 'r-3', {}), '2'],
      [await randomize('Exact', 'r-1', yes), '2'],
      [await config('None'), null],
    ] as const)
      expect(answer.headers.get('urn-revision'), answer.text).toBe(revision);
  });
});

describe('only audit keys see what gives the next assignment away', () => {
  it('the starting seed, as a bare, exact integer', async () => {
    expect((await http.as('auditor').config('Sleep')).text).toContain(`"starting_seed":${SLEEP_SEED},`);
    expect((await http.as('auditor').config('Ward')).text).toMatch(/"starting_seed":\d{1,39},/);
    const sites = [COOK, DUPAGE, KANE].map(({ local_site }) => local_site);
    for (const name of ['edc', 'blinded'] as const)
      expect((await http.as(name).config('Sleep')).results).toEqual({
        factors: { sex: ['Male', 'Female'], local_site: sites },
        treatments: ['ZZTREATA', 'ZZTREATB'],
        ...{ D: 'chisquare', alpha: 0, beta: 1, w: 1, urn_selection: 'method1' },
      });
  });

  it('the state of the generator after the draw, in bare, exact integers', async () => {
    await edc().randomize('Patterned', '000-0000', { ward: 'a' });
    const of = { id: '000-0000' };
    const answer = await http.as('auditor').list('Patterned', of);
    expect(answer.text).toMatch(
      /"bg_state":\{"bit_generator":"PCG64","has_uint32":[01],"state":\{"inc":\d{30,39},"state":\d{1,39}\},"uinteger":\d+\}/,
    );
    const [record] = exactResults(answer) as [{ bg_state: { state: { inc: bigint } } }];
    expect(record.bg_state.state.inc).toBeGreaterThan(2n ** 64n);
    for (const name of ['edc', 'blinded'] as const)
      expect((await http.as(name).list('Patterned', of)).results[0]).not.toHaveProperty('bg_state');
  });
});

describe('a list of participants, some of them corrected', () => {
  const BEHALF = { 'X-On-Behalf-Of': Buffer.from('Dr. "Müller", ICU').toString('latin1') };

  // Nobody else writes to this study from here on.
  it('is of those that are enrolled and corrected', async () => {
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
      expect((await http.post('manager', path, { study: 'Sleep', ...body })).message).toBe('Success');
  });

  const [site, past] = ['f_local_site', { 'urn.revision': '5', 'urn.bg_state': 'omit' }];
  const IN_TIME = ['K-10', 'c-2', 'C-11', 'D-9', 'c-1', 'moved'];
  const BY_ID = ['c-1', 'c-2', 'C-11', 'D-9', 'K-10', 'moved'];
  const BY_SITE = ['c-2', 'C-11', 'c-1', 'D-9', 'moved', 'K-10'];
  const MEN = ['K-10', 'c-2', 'C-11', 'c-1', 'moved'];
  const AT_COOK = ['c-2', 'C-11', 'c-1'];

  /** [who, parameters, the ids, Urn-Total if it is counted, Urn-Next if there is more] */
  const LISTS: readonly [Name, Parameters, readonly string[], total?: string | null, next?: string | null][] =
    [
      ['edc', {}, IN_TIME],
      ['edc', { sex: 'Male' }, MEN],
      ['edc', { sex: 'Male', local_site: COOK.local_site }, AT_COOK],
      ['edc', { sex: 'Male', local_site: COOK.local_site, id: 'c-1' }, ['c-1']],
      ['edc', { sex: 'Female', id: 'c-1' }, []],
      ['edc', { sex: 'Female', local_site: COOK.local_site }, []],
      ['edc', { id: 'x,1' }, ['D-9']],
      ['edc', { id: 'nobody' }, []],
      ['edc', { local_site: COOK.local_site, 'urn.view': 'as_randomized' }, [...AT_COOK, 'moved']],
      ['cook', {}, AT_COOK],
      ['cook', { local_site: DUPAGE.local_site }, []],
      ['edc', { 'urn.from': '3' }, ['C-11', 'D-9', 'c-1', 'moved']],
      ['edc', { 'urn.limit': '2' }, ['K-10', 'c-2'], '6', '3'],
      ['edc', { 'urn.limit': '2', sex: 'Male' }, ['K-10', 'c-2'], '5', '3'],
      ['edc', { 'urn.limit': '2', 'urn.offset': '100' }, [], '6'],
      ['edc', { 'urn.limit': '2', 'urn.from': '4' }, ['D-9', 'c-1'], null, '6'],
      ['edc', { 'urn.order': 'asc' }, IN_TIME, '6'],
      ['edc', { 'urn.order': 'desc' }, IN_TIME.toReversed(), '6'],
      ['edc', { 'urn.sort': 'time' }, IN_TIME, '6'],
      ['edc', { 'urn.sort': 'id' }, BY_ID, '6'],
      ['edc', { 'urn.sort': 'id', 'urn.order': 'desc' }, BY_ID.toReversed(), '6'],
      ['edc', { 'urn.sort': site }, BY_SITE, '6'],
      ['edc', { 'urn.sort': site, 'urn.order': 'desc' }, BY_SITE.toReversed(), '6'],
      ['edc', { 'urn.sort': site, 'urn.view': 'as_randomized' }, [...AT_COOK, 'moved', 'D-9', 'K-10'], '6'],
      ['edc', { 'urn.sort': 'f_sex', sex: 'Female' }, ['D-9'], '1'],
      ['edc', { 'urn.sort': 'id', local_site: DUPAGE.local_site }, ['D-9', 'moved'], '2'],
      ['edc', { 'urn.sort': 'id', id: 'c-1' }, ['c-1'], '1'],
      ['edc', { 'urn.sort': 'id', id: 'nobody' }, [], '0'],
      ['blinded', { 'urn.sort': 'id' }, BY_ID, '6'],
      ['cook', { 'urn.sort': 'id', 'urn.limit': '1' }, ['c-1'], '3'],
      ['auditor', { ...past, 'urn.sort': 'id' }, ['c-1', 'c-2', 'C-11', 'K-10', 'x,1'], '5'],
      ['auditor', { ...past, 'urn.search': 'd-9' }, [], '0'],
      ['edc', { 'urn.search': 'c-1' }, ['C-11', 'c-1'], '2'],
      ['edc', { 'urn.search': 'C-' }, AT_COOK, '3'],
      ['edc', { 'urn.search': 'd-9' }, ['D-9'], '1'],
      ['edc', { 'urn.search': 'X,' }, ['D-9'], '1'],
      ['edc', { 'urn.search': '%' }, [], '0'],
      ['cook', { 'urn.search': 'D-9' }, [], '0'],
      ['edc', { 'urn.search': 'c-', 'urn.limit': '2' }, ['c-2', 'C-11'], '3', '5'],
      ['edc', { 'urn.search': 'c-', 'urn.limit': '2', 'urn.from': '5' }, ['c-1']],
      [
        ...([
          'edc',
          { 'urn.search': '-', 'urn.sort': 'id', 'urn.limit': '1', 'urn.offset': '1', sex: 'Male' },
        ] as const),
        ...([['c-2'], '4'] as const),
      ],
    ];

  it.each(LISTS)('for %s, %j: %j', async (name, parameters, expected, total = null, next = null) => {
    const { headers, ...json } = await listed(name, parameters);
    const { results } = checked(json.status, headers, json.text);
    expect(results.map(({ id }: { id: string }) => id)).toEqual(expected);
    const csv = await listed(name, parameters, CSV);
    expect(rowsOf(csv.text).map(({ id }) => id)).toEqual(expected);
    const head = await listed(name, parameters, CSV, 'HEAD');
    expect([head.status, head.text]).toEqual([200, '']);
    for (const answer of [{ headers }, csv, head])
      expect([answer.headers.get('urn-total'), answer.headers.get('urn-next')]).toEqual([total, next]);
    // Only those who may read arms see them.
    const seesArms = name === 'edc' || name === 'auditor';
    expect(json.text.includes('"trt"')).toBe(seesArms && expected.length > 0);
    expect(csv.text.includes('treatment')).toBe(seesArms);
    if (!seesArms) expect(json.text + csv.text).not.toContain('ZZTREAT');
  });

  const SORT = 'urn.sort must be one of time, id, f_sex, f_local_site';
  const FROM =
    'urn.from is a place in the order of randomization, and cannot be combined with urn.offset or another order (hint: leave urn.from out, and page with urn.offset and urn.limit)';
  const LIMIT = 'urn.limit is not a whole number from 1 to 1000';
  const WHOLE = 'urn.from is not a whole number from 0 on';
  const NO_SEX = 'is not a parameter of this study (hint: did you mean sex?)';
  /** [who, parameters, message, status if it is not 400] */
  const REFUSED: readonly [Name, Parameters, string, number?][] = [
    ['edc', { 'urn.sort': 'trt' }, SORT],
    ['blinded', { 'urn.sort': 'trt' }, SORT],
    ['edc', { 'urn.sort': 'treatment' }, SORT],
    ['edc', { 'urn.sort': 'f_trt' }, SORT],
    ['edc', { 'urn.sort': 'f_none' }, SORT],
    ['edc', { 'urn.sort': '' }, SORT],
    ['edc', { 'urn.limit': '0' }, LIMIT],
    ['edc', { 'urn.limit': '1001' }, LIMIT],
    ['edc', { 'urn.limit': '' }, LIMIT],
    ['edc', { 'urn.limit': '1e2' }, LIMIT],
    ['edc', { 'urn.from': '-1' }, WHOLE],
    ['edc', { 'urn.from': 'x', 'urn.bg_state': 'show' }, `${WHOLE}; urn.bg_state must be omit`],
    ['edc', { 'urn.view': 'x' }, 'urn.view must be current or as_randomized'],
    [
      ...(['edc', { 'urn.from': '1', 'urn.sort': 'arm', 'urn.order': 'up', 'urn.search': '' }] as const),
      `urn.order must be asc or desc; ${FROM}; urn.search is empty (hint: leave it out); ${SORT}`,
    ],
    ['edc', { sex: 'male' }, 'sex has no level "male" (allowed: "Male", "Female")'],
    ['edc', { ward: 'a' }, 'ward is not a parameter of this study (there are: id, sex, local_site)'],
    ['edc', { limit: '5' }, 'limit is not a parameter of this study (hint: did you mean urn.limit?)'],
    ['edc', { Sex: 'Male', sexx: 'Male' }, `Sex ${NO_SEX}; sexx ${NO_SEX}`],
    ['edc', { f_sex: 'Male' }, 'f_sex: the prefix f_ belongs to records only; send sex'],
    ['edc', { study: 'none' }, 'There is no study named "none"', 404],
    [
      'edc',
      { 'urn.revision': '1' },
      'This API key lacks the scope audit, which urn.revision and urn.at need',
      403,
    ],
  ];
  it.each(REFUSED)('is refused for %s with %j: %s', async (name, parameters, message, status = 400) => {
    for (const accept of [undefined, CSV]) {
      const { headers, text, ...answer } = await listed(name, parameters, accept);
      expect(checked(answer.status, headers, text)).toMatchObject({ status, message, results: [] });
    }
  });

  it('as CSV has one line per participant, with the levels as randomized and as corrected', async () => {
    const { headers, text } = await listed('edc', {}, CSV);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      ...{ 'cache-control': 'no-store', 'urn-revision': '9', 'urn-mode': 'test', vary: 'Accept' },
    });
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
    expect(rowsOf(text)).toEqual(rows);
    const blinded = rowsOf((await listed('blinded', {}, CSV)).text);
    expect(blinded).toEqual(rows.map(({ treatment: _, ...others }) => others));
  });

  it('as CSV contains no generator states, so nothing is recorded', async () => {
    const shown = async () =>
      (await http.records()).filter(({ record }) => record.type === 'EvidenceDisclosed').length;
    const before = await shown();
    expect((await listed('auditor', {}, CSV)).text).not.toMatch(/bg_state|PCG64|\d{20}/);
    expect(await shown()).toBe(before);
    await listed('auditor', { 'urn.limit': '1' });
    expect(await shown()).toBe(before + 1);
  });

  const PLAIN = 'application/json';
  it.each(
    [
      ...['text/csv', 'TEXT/CSV; charset=utf-8', 'text/csv;q=0.2, */*;q=0.9', 'text/csv, application/json'],
      'application/json;q=0.5, text/csv;q=0.5',
      ...[undefined, '*/*', 'text/*', PLAIN, 'text/html,application/xhtml+xml,*/*;q=0.8', 'text/csv;q=0'],
      ...['text/csv;q=0.5, application/json', 'text/csv;q=2', 'text/csv-schema', ',;='],
    ].map((accept, i) => [accept, i < 5 ? 'text/csv; charset=utf-8; header=present' : PLAIN] as const),
  )('with Accept: %s is %s', async (accept, type) => {
    const { headers } = await listed('edc', {}, accept);
    expect([headers.get('content-type'), headers.get('vary')]).toEqual([type, 'Accept']);
    // Other routes have no CSV.
    const parameters = { key: http.keys.edc, parameters: { study: 'Sleep' }, headers: { Accept: CSV } };
    expect((await ask(http.url, '/study_config', parameters)).status).toBe(200);
  });

  it('is described as CSV in the OpenAPI document', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the document is checked elsewhere.
    const document: any = await (await fetch(`${http.url}/openapi.json`)).json();
    const { content, headers } = document.paths['/study_participants'].get.responses['200'];
    expect(Object.keys(content)).toEqual([PLAIN, CSV]);
    expect(headers).toHaveProperty('Vary');
    const names = (csv: string) => parseCsv(csv)[0]?.filter((name) => !name.endsWith('local_site'));
    expect(names(content[CSV].example)).toEqual(names((await listed('edc', {}, CSV)).text));
  });

  it('follows the study at once', async () => {
    const sorted = async () =>
      (await edc().list('Ward', { 'urn.sort': 'id', ward: 'b' })).results.map(({ id }: { id: string }) => id);
    expect(await sorted()).toEqual(['p-0']);
    await edc().randomize('Ward', 'P', { ward: 'b' });
    expect(await sorted()).toEqual(['P', 'p-0']);
  });
});
