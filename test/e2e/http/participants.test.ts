import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf, exactResults } from '../../support/client.ts';
import { issueKeys, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, SLEEP_SEED, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
let service: ServiceHere;
let edc: ReturnType<typeof clientOf>;
let auditor: ReturnType<typeof clientOf>;
let blinded: ReturnType<typeof clientOf>;
let keys: Record<'edc' | 'auditor' | 'blinded', string>;

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc'],
    auditor: ['auditor', '--scope', 'read,audit'],
    blinded: ['monitor', '--scope', 'blinded'],
  });
  service = await serveHere(data, TRIALS);
  edc = clientOf(service.url, keys.edc);
  auditor = clientOf(service.url, keys.auditor);
  blinded = clientOf(service.url, keys.blinded);
});
afterAll(() => service.stop());

describe('POST answers with only the record of the new participant', () => {
  it('with the id, the levels, the treatment, the time and the user that owns the key', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    await edc.randomize('Sleep', 'p-0', COOK);
    const { status, message, results } = await edc.randomize('Sleep', 'p-1', DUPAGE);
    expect({ status, message }).toEqual({ status: 200, message: 'Success' });
    expect(results).toEqual([
      {
        id: 'p-1',
        f_sex: 'Female',
        f_local_site: '30-Dupage County',
        trt: expect.stringMatching(/^ZZTREAT[AB]$/),
        datetime: expect.stringMatching(
          /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/,
        ),
        user: 'edc',
      },
    ]);
    const at = Date.parse(results[0].datetime);
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());
  });

  it('whatever the order of the factors in the request', async () => {
    const { local_site, sex } = KANE;
    const { results } = await edc.randomize('Sleep', 'p-2', { local_site, sex });
    expect(Object.keys(results[0])).toEqual(['id', 'f_sex', 'f_local_site', 'trt', 'datetime', 'user']);
  });
});

describe('an id is 1 to 128 code points:', () => {
  const post = (id: string) => edc.randomize('Ward', id, { ward: 'a' });

  it.each([
    ['1 character', '1'],
    ['128 characters', 'x'.repeat(128)],
    ['128 characters of four bytes', '😀'.repeat(128)],
    ['white space inside', 'a  b c'],
    ['é as one code point', 'caf\u00e9'],
    ['a capital letter, which makes it a different id', 'Caf\u00e9'],
    ['characters that are special in HTML, SQL and JSON', `'"<b>&amp;--\\/`],
    ['a property name of JavaScript objects', '__proto__'],
  ])('%s', async (_, id) => {
    expect(await post(id)).toMatchObject({ status: 200, results: [{ id }] });
    expect((await edc.list('Ward', { id })).results).toMatchObject([{ id }]);
  });

  it.each([
    ['an empty one', '', 'id is empty'],
    ['129 characters', 'x'.repeat(129), 'id has more than 128 characters'],
    ['129 characters of four bytes', '😀'.repeat(129), 'id has more than 128 characters'],
    ['NUL', 'a\u0000b', 'id contains a control character'],
    ['a tab', 'a\tb', 'id contains a control character'],
    ['a line break', 'a\nb', 'id contains a control character'],
    ['DEL', 'a\u007f', 'id contains a control character'],
    ['a control character beyond ASCII', 'a\u0085b', 'id contains a control character'],
    ['a leading space', ' a', 'id begins or ends with white space'],
    ['a trailing space', 'a ', 'id begins or ends with white space'],
    ['a leading no-break space', '\u00a0a', 'id begins or ends with white space'],
    ['a trailing ideographic space', 'a\u3000', 'id begins or ends with white space'],
    ['a leading line separator', '\u2028a', 'id begins or ends with white space'],
    ['only white space', ' ', 'id begins or ends with white space'],
  ])('and %s is refused', async (_, id, message) => {
    expect(await post(id)).toMatchObject({ status: 400, message, results: [] });
    expect(await edc.list('Ward', { id })).toMatchObject({ status: 400, message, results: [] });
  });

  it.each([
    ['an invisible character', '001\u200b', 'U+200B, which nobody sees'],
    ['a soft hyphen', '0\u00ad01', 'U+00AD, which nobody sees'],
    ['a change of direction', '\u202e100', 'U+202E, which nobody sees'],
    ['a tag', '001\u{e0031}', 'U+E0031, which nobody sees'],
    ['a no-break space', '0\u00a01', 'U+00A0, a space other than the common one (U+0020)'],
    ['an empty Braille pattern', '0\u28001', 'U+2800, a space other than the common one (U+0020)'],
    ['a private-use character', '001\ue000', 'U+E000, which has no meaning that all agree on'],
    ['a character that does not exist', '001\u0378', 'U+0378, which has no meaning that all agree on'],
    ['a replacement character', 'caf\ufffd', 'U+FFFD, which stands for text that was lost on the way'],
    ['é as two code points', 'cafe\u0301', 'U+0301, which Unicode also writes in another way'],
  ])(
    'and one that looks like another is refused: %s; but GET accepts it, since an older version may have recorded it',
    async (_, id, why) => {
      const before = (await edc.list('Ward')).results.length;
      expect(await post(id)).toMatchObject({
        status: 400,
        message: expect.stringContaining(`id contains ${why}`),
        results: [],
      });
      expect(await edc.list('Ward', { id })).toMatchObject({ status: 200, results: [] });
      expect((await edc.list('Ward')).results).toHaveLength(before);
    },
  );

  it('and a refusal names every fault', async () => {
    const { message } = await post(` ${'x'.repeat(128)}\u0000`);
    expect(message).toBe(
      'id has more than 128 characters; id contains a control character; id begins or ends with white space',
    );
  });

  it.each(['123-4567', 'X'])('id_pattern: %s matches as a whole', async (id) => {
    expect((await edc.randomize('Patterned', id, { ward: 'a' })).status).toBe(200);
  });

  it.each(['123-45678', 'x123-4567', '123-4567X', 'XX', '１２３-4567'])(
    'id_pattern: %s does not match as a whole',
    async (id) => {
      const answer = await edc.randomize('Patterned', id, { ward: 'a' });
      expect(answer).toMatchObject({ status: 400, message: expect.stringContaining("this study's pattern") });
    },
  );
});

describe('levels are matched exactly, as code points', () => {
  it.each(['Yes', 'caf\u00e9', 'cafe\u0301', 'no '])('%j is a level', async (answer) => {
    const id = `exact ${encodeURIComponent(answer)}.`;
    expect((await edc.randomize('Exact', id, { answer })).results[0].f_answer).toBe(answer);
    expect((await edc.list('Exact', { answer })).results).toMatchObject([{ id }]);
  });

  it.each(['yes', 'YES', ' Yes', 'Yes ', 'Yes\u00a0', 'no', 'cafe', 'CAF\u00c9', '\uff39es', ''])(
    '%j is not a level',
    async (answer) => {
      const message = `answer has no level ${JSON.stringify(answer)} (allowed: "Yes", "caf\u00e9", "cafe\u0301", "no ")`;
      expect(await edc.randomize('Exact', 'refused', { answer })).toMatchObject({ status: 400, message });
      expect(await edc.list('Exact', { answer })).toMatchObject({ status: 400, message, results: [] });
    },
  );
});

it('a 400 names every problem at once, with the allowed levels', async () => {
  const { status, message, results } = await edc.randomize('Sleep', ' 1', { sex: 'male', f_local_site: 'x' });
  expect({ status, results }).toEqual({ status: 400, results: [] });
  expect(message.split('; ').toSorted()).toEqual([
    'f_local_site: the prefix f_ belongs to records only',
    'id begins or ends with white space',
    'local_site is missing (allowed: "11-Cook County – Chicago", "30-Dupage County", "45-Kane (3+)")',
    'send local_site',
    'sex has no level "male" (allowed: "Male", "Female")',
  ]);
  const missing = await edc.list('Sleep', { id: ' 1', sex: 'male', sx: '1' });
  expect(missing.message).toMatch(/sx is not .*id begins .*sex has no level/);
});

describe('factors, levels and treatments keep the order of the configuration', () => {
  const levels = {
    '1': 'only',
    '9': 'z',
    '10': '1',
    'Größe – 尺寸 😀': '≥ 2 (a+b)&c=d',
    ['__proto__']: 'constructor',
  };

  it('in the configuration', async () => {
    const { text } = await edc.config('Ordered');
    expect(text).toContain(
      '"factors":{"10":["2","1","10"],"9":["z","a"],"__proto__":["constructor","__proto__"],' +
        '"Größe – 尺寸 😀":["≥ 2 (a+b)&c=d","100 %"],"1":["only"]},"treatments":["10","9","__proto__"]',
    );
  });

  it.each(['edc', 'auditor', 'blinded'] as const)('in records, for the key %s', async (name) => {
    const id = 'ordered';
    await edc.randomize('Ordered', id, levels);
    const { text } = await clientOf(service.url, keys[name]).list('Ordered', { id });
    expect(text).toContain(
      '{"id":"ordered","f_10":"1","f_9":"z","f___proto__":"constructor","f_Größe – 尺寸 😀":"≥ 2 (a+b)&c=d","f_1":"only",',
    );
  });

  it('and can be filtered by', async () => {
    for (const [name, level] of Object.entries(levels))
      expect((await edc.list('Ordered', { [name]: level })).results, name).toHaveLength(1);
    expect((await edc.list('Ordered', { ['__proto__']: '__proto__' })).results).toEqual([]);
  });
});

describe('GET /study_participants', () => {
  const ids = async (filter: Record<string, string>) =>
    (await reader.list('Filtered', filter)).results.map(({ id }: { id: string }) => id);
  let filtered: ServiceHere;
  let reader: ReturnType<typeof clientOf>;

  beforeAll(async () => {
    const folder = `${data}/filtered`;
    const { key } = await issueKeys(folder, { key: ['edc'] });
    filtered = await serveHere(folder, TRIALS.replace('Sleep:', 'Filtered:'));
    reader = clientOf(filtered.url, key);
    for (const [id, levels] of [
      ['3', COOK],
      ['1', DUPAGE],
      ['2', COOK],
      ['0', KANE],
    ] as const)
      await reader.randomize('Filtered', id, levels);
  });
  afterAll(() => filtered.stop());

  it('lists all, in the order of randomization', async () => {
    expect(await ids({})).toEqual(['3', '1', '2', '0']);
  });

  it.each([
    [{ id: '1' }, ['1']],
    [{ sex: 'Male' }, ['3', '2', '0']],
    [{ sex: 'Male', local_site: COOK.local_site }, ['3', '2']],
    [{ sex: 'Male', local_site: COOK.local_site, id: '2' }, ['2']],
    [{ sex: 'Female', id: '2' }, []],
    [{ sex: 'Female', local_site: COOK.local_site }, []],
    [{ id: 'nobody' }, []],
  ])('filters by id and any factors, all of which must match: %j', async (filter, expected) => {
    expect(await ids(filter)).toEqual(expected);
  });

  it('no match is 200 with no results; an invalid level is 400', async () => {
    expect(await reader.list('Filtered', { id: 'nobody' })).toMatchObject({ status: 200, results: [] });
    expect((await reader.list('Filtered', { sex: 'male' })).status).toBe(400);
  });

  it('shows the record that POST returned', async () => {
    const { results } = await reader.randomize('Filtered', '9', COOK);
    expect((await reader.list('Filtered', { id: '9' })).results).toEqual(results);
  });
});

describe('Urn-Revision', () => {
  const revision = ({ headers }: { headers: Headers }) => headers.get('urn-revision');

  it('is the revision that an answer shows, or that a POST wrote', async () => {
    const first = Number(revision(await edc.config('Exact')));
    expect(revision(await edc.list('Exact'))).toBe(String(first));
    expect(revision(await edc.randomize('Exact', 'r-1', { answer: 'Yes' }))).toBe(String(first + 1));
    expect(revision(await edc.randomize('Exact', 'r-2', { answer: 'Yes' }))).toBe(String(first + 2));
    expect(revision(await edc.list('Exact', { id: 'r-1' }))).toBe(String(first + 2));
  });

  it('is also on errors about a study, but not on errors about none', async () => {
    const current = revision(await edc.config('Exact'));
    expect(revision(await edc.randomize('Exact', 'r-3', {}))).toBe(current);
    expect(revision(await edc.randomize('Exact', 'r-1', { answer: 'Yes' }))).toBe(current);
    expect(revision(await edc.config('None'))).toBeNull();
  });

  it('starts at 0, the registration', async () => {
    expect(revision(await edc.config('Sleep'))).toMatch(/^\d+$/);
    const folder = `${data}/fresh`;
    const { key } = await issueKeys(folder, { key: ['edc'] });
    const fresh = await serveHere(folder, TRIALS);
    expect(revision(await clientOf(fresh.url, key).config('Sleep'))).toBe('0');
    await fresh.stop();
  });
});

describe('only audit keys see what gives the next assignment away', () => {
  it('starting_seed is a bare, exact integer for audit', async () => {
    const { text } = await auditor.config('Sleep');
    expect(text).toContain(`"starting_seed":${SLEEP_SEED},`);
    expect((await auditor.config('Ward')).text).toMatch(/"starting_seed":\d{1,39},/);
  });

  it('other keys get the configuration without starting_seed', async () => {
    for (const key of [edc, blinded])
      expect((await key.config('Sleep')).results).toEqual({
        factors: {
          sex: ['Male', 'Female'],
          local_site: [COOK.local_site, DUPAGE.local_site, KANE.local_site],
        },
        treatments: ['ZZTREATA', 'ZZTREATB'],
        D: 'chisquare',
        alpha: 0,
        beta: 1,
        w: 1,
        urn_selection: 'method1',
      });
  });

  it('bg_state is the state after the draw, in bare, exact integers, for audit', async () => {
    await edc.randomize('Sleep', 'bg', COOK);
    const answer = await auditor.list('Sleep', { id: 'bg' });
    expect(answer.text).toMatch(
      /"bg_state":\{"bit_generator":"PCG64","has_uint32":[01],"state":\{"inc":\d{30,39},"state":\d{1,39}\},"uinteger":\d+\}/,
    );
    const [record] = exactResults(answer) as [{ bg_state: { state: { inc: bigint } } }];
    expect(record.bg_state.state.inc).toBeGreaterThan(2n ** 64n);
  });

  it('other keys get records without bg_state', async () => {
    for (const key of [edc, blinded])
      for (const record of (await key.list('Sleep')).results) expect(record).not.toHaveProperty('bg_state');
  });
});

describe('datetime', () => {
  it('is an HTTP-date, or if so configured, the same second as YYYY-MM-DD HH:MM:SS in UTC', async () => {
    await edc.randomize('Sleep', 'when', COOK);
    const [{ datetime }] = (await edc.list('Sleep', { id: 'when' })).results;
    const old = await serve({ data, studies: TRIALS, args: ['--datetime-format', 'sql'] });
    const [record] = (await clientOf(old.url, keys.edc).list('Sleep', { id: 'when' })).results;
    await old.stop();
    expect(record.datetime).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect(Date.parse(`${record.datetime}Z`)).toBe(Date.parse(datetime));
  });
});
