/**
 * Amendments over HTTP: the form of a request and its answers, and how records, keys and earlier moments are shown under another
 * design. What amendments change and which are refused: test/unit/study/amendments.test.ts.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../support/client.ts';
import { csvRows } from '../../support/csv.ts';
import { served } from '../../support/served.ts';

const [COOK, DUPAGE, KANE] = ['11-Cook County – Chicago', '30-Dupage County', '45-Kane (3+)'] as const;
const WILL = '30-Dupage and Will';
const APPROVALS = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01', reference: 'Amendment 3' }];
const STUDIES = `
Sleep:
  mode: test
  blinding: blinded
  treatments: [A, B, C]
  factors:
    sex: [Male, Female]
    local_site: ["${COOK}", "${DUPAGE}", "${KANE}"]
`;
const limited = (site: string) => ['--scope', 'blinded,randomize', '--where', `local_site=${site}`];
const http = served(STUDIES, {
  edc: ['edc', '--scope', 'randomize,read'],
  manager: ['data-manager', '--scope', 'blinded,manage,correct'],
  auditor: ['auditor', '--scope', 'read,audit'],
  early: ['site-30', ...limited(DUPAGE)],
  // The level does not have this name yet.
  late: ['site-30-new', ...limited(WILL)],
});
type Name = keyof typeof http.keys;
type Texts = Readonly<Record<string, string>>;
interface Listed {
  readonly id: string;
  readonly f_sex: string;
  readonly f_local_site: string;
}

const at = (local_site: string, sex = 'Male') => ({ sex, local_site });
const get = (name: Name, path: string, more: Texts = {}) => http.get(name, path, { study: 'Sleep', ...more });
const designOf = async () => (await get('manager', '/study_design')).results.design;
const level = (kind: string, name: string, more: object = {}) => ({
  ...{ kind, factor: 'local_site', level: name },
  ...more,
});
const rename = (from: string, to: string, more: object = {}) => level('level-renamed', from, { to, ...more });
const arm = (kind: string, treatment: string, more: object = {}) => ({ kind, treatment, ...more });
const visits = (...value: string[]) => ({ kind: 'visits', value });

/** The next amendment of the study. */
async function amend(changes: readonly object[], more: object = {}, headers = {}): Promise<Answer> {
  const { amendment } = await designOf();
  const body = { study: 'Sleep', amendment: amendment + 1, changes, reason: 'protocol 3', ...more };
  return http.post('manager', '/amendments', body, headers);
}
async function amended(...changes: readonly object[]): Promise<void> {
  const { status, message } = await amend(changes);
  expect(status, message).toBe(200);
}
const enrol = (id: string, levels: Texts, name: Name = 'edc', headers = {}) =>
  http.as(name).randomize('Sleep', id, levels, headers);
async function enrolled(id: string, levels: Texts, name: Name = 'edc', headers = {}): Promise<Listed> {
  const { status, message, results } = await enrol(id, levels, name, headers);
  expect(status, message).toBe(200);
  return results[0];
}
const correct = (id: string, from: string, to: string) =>
  http.post('manager', '/level_corrections', {
    ...{ study: 'Sleep', id, cause: 'entry', note: 'typo' },
    changes: [{ factor: 'local_site', from, to }],
  });
const csv = async () => csvRows((await http.text('manager', '/study_participants', { study: 'Sleep' })).text);
const idsOf = ({ results }: Answer): string[] => results.map(({ id }: Listed) => id);
const idsWith = async (local_site: string, name: Name = 'edc') =>
  idsOf(await get(name, '/study_participants', { local_site }));

describe('a request that amends a design', () => {
  it('is refused with every mistake in its form: 400', async () => {
    const wrong: readonly (readonly [change: object, ...where: string[]])[] = [
      [{ kind: 'factor-added' }, '[0].kind'],
      [level('level-added', 'x', { to: 'y' }), '[1]'],
      [arm('arm-added', 'D', { ratio: 1 }), '[2].ratio'],
      [{ kind: 'urn', w: 0, D: 'entropy' }, '[3].w', '[3].D'],
      [{ kind: 'ratio', value: [21, 1, 1] }, '[4].value'],
      [{ kind: 'factor-retired', factor: 'sex', level: 'Male' }, '[5]'],
      [visits('V2', 'V3 '), '[6].value[1]: is no name of a visit'],
      [visits(...Array.from({ length: 101 }, (_, i) => `V${i}`)), '[7].value: has more than 100 items'],
      [{ kind: 'visits' }, '[8].value is missing'],
      [{ kind: 'limits', value: { total: 0, levels: [] } }, '[9].value.total', '[9].value.levels'],
      [{ kind: 'policy', name: 'void_counts', value: 'gone' }, '[10].value'],
    ];
    const more = { amendment: 0, reason: '', approvals: [{ ...APPROVALS[0], on: '2026-02-30' }] };
    const changes = wrong.map(([change]) => change);
    const { status, results, message } = await amend(changes, { ...more, history: 'forget' });
    expect([status, results]).toEqual([400, {}]);
    const fields = wrong.flatMap(([, ...where]) => where.map((one) => `changes${one}`));
    for (const field of ['amendment', 'reason', 'approvals[0].on', 'history', ...fields])
      expect(message).toContain(field);
    const { message: why } = await amend([level('level-added', 'a\u200bb')]);
    expect(why).toMatch(/^changes\[0\]\.level: .*U\+200B/);
  });

  it('is refused with everything that the design does not allow: 422', async () => {
    const before = await designOf();
    const policy = { kind: 'policy', name: 'void_counts', value: 'kept' };
    const message = 'changes[0].level: a level has this name; changes[1].kind: it is so already';
    const refused = { status: 422, message, results: {} };
    expect(await amend([level('level-added', COOK), policy])).toMatchObject(refused);
    expect(await designOf()).toEqual(before);
  });

  it('says in a dry run what happens to the counts, and the design that would be in force', async () => {
    const before = await designOf();
    const added = [arm('arm-added', 'D')];
    for (const [changes, history, counts, design] of [
      [added, undefined, 'zero', { treatments: ['A', 'B', 'C', 'D'], epoch: 1 }],
      [added, 'keep', 'stays', { treatments: ['A', 'B', 'C', 'D'], epoch: 0 }],
      [[{ kind: 'ratio', value: [2, 1, 1] }], undefined, 'zero', { ratio: [2, 1, 1] }],
      [[arm('arm-closed', 'C'), arm('arm-stopped', 'C')], undefined, 'stays', { stopped_treatments: ['C'] }],
      [[visits('V2')], undefined, 'stays', { visits: ['V2'] }],
      [[{ kind: 'urn', w: 2, D: 'range' }], undefined, 'stays', { w: 2, D: 'range' }],
      [[{ kind: 'id-pattern', value: '[a-z]+' }], undefined, 'stays', { id_pattern: '[a-z]+' }],
    ] as const) {
      const { results, message } = await amend(changes, { history, dry_run: true });
      expect(results.effect, message).toMatchObject({ counts, design });
    }
    expect(await designOf()).toEqual(before);
    for (const name of ['ratio', 'stopped_treatments', 'visits', 'id_pattern'])
      expect(before).not.toHaveProperty(name);
  });

  it('is answered with the resulting design, and again with that of then, as a dry run, too', async () => {
    const key = { 'Idempotency-Key': 'amend-1' };
    const first = { amendment: 1, protocol: { version: '3.0', date: '2027-02-20' } };
    const target = (value: number) => [{ kind: 'target', value }];
    const { results } = await amend(target(330), first, key);
    expect(results).toEqual({ amendment: 1, design: await designOf() });
    expect(results.design).toMatchObject({ target: 330, protocol: first.protocol });
    const later = await amend(target(340));
    expect((await amend(target(330), first, key)).results).toEqual(later.results);
    const tried = await amend(target(330), { ...first, dry_run: true }, key);
    expect(tried.results.effect.design).toEqual(later.results.design);
  });
});

const RETRY = { 'Idempotency-Key': 'before-the-renaming' };
describe('where one level has another name, one an alias, and one is closed', () => {
  let revision: string;
  /** What auditors see of the study at a revision. */
  const auditorView = async (then: Texts = {}) => {
    const lists = ['current', 'as_randomized'].map((view) =>
      get('auditor', '/study_participants', { ...then, 'urn.view': view, 'urn.bg_state': 'omit' }),
    );
    const all = [...(await Promise.all(lists)), await get('auditor', '/balance', then)];
    return all.map(({ results }) => results);
  };
  const explained = async (id: string) => (await http.as('auditor').explain('Sleep', id)).results;
  let asItWas: [unknown, unknown];

  beforeAll(async () => {
    await enrolled('p1', at(COOK));
    await enrolled('p2', at(DUPAGE), 'edc', RETRY);
    await enrolled('p3', at(KANE));
    revision = (await correct('p1', COOK, DUPAGE)).headers.get('urn-revision') ?? '';
    asItWas = [await auditorView(), await explained('p2')];
    const renamings = [rename(DUPAGE, WILL), rename(COOK, 'Cook', { alias: true })];
    await amended(...renamings, level('level-closed', KANE), arm('arm-closed', 'C'));
  });

  it('the design says so', async () => {
    const { factors, ...design } = await designOf();
    expect(design).toMatchObject({ treatments: ['A', 'B', 'C'], closed_treatments: ['C'], epoch: 0 });
    expect(factors[1].levels).toEqual([
      { name: 'Cook', earlier_names: [COOK], closed: false },
      { name: WILL, earlier_names: [DUPAGE], closed: false },
      { name: KANE, earlier_names: [], closed: true },
    ]);
    const { results } = await http.as('edc').config('Sleep');
    expect(results.factors.local_site).toEqual(['Cook', WILL]);
    expect(results.treatments).toEqual(['A', 'B', 'C']);
  });

  const ofClosed = `the study takes no more participants with local_site = ${KANE}: the level is closed`;
  it.each<[string, () => Promise<Answer>, number, string]>([
    ['a participant of the closed level', () => enrol('new', at(KANE)), 409, ofClosed],
    ['the old name', () => enrol('new', at(DUPAGE)), 400, `it is called "${WILL}" now`],
    ['no level, without the closed ones', () => enrol('new', at('X')), 400, `(allowed: "Cook", "${WILL}")`],
    ['a filter by the old name', () => http.as('edc').list('Sleep', at(DUPAGE)), 400, `"${WILL}" now`],
    ['a correction to the old name', () => correct('p3', KANE, DUPAGE), 400, `it is called "${WILL}" now`],
    ['somebody outside the limits of a key', () => enrol('new', at('Cook'), 'early'), 403, `"${WILL}"`],
  ])('a request is refused for %s', async (_, ask, status, said) => {
    const { message, ...answer } = await ask();
    expect([answer.status, answer.results, message]).toEqual([status, [], expect.stringContaining(said)]);
  });

  it('an earlier request has its answer, and the alias can be sent and filtered by', async () => {
    expect(await enrolled('p2', at(DUPAGE), 'edc', RETRY)).toMatchObject({ id: 'p2', f_local_site: WILL });
    expect((await enrolled('p4', at(COOK))).f_local_site).toBe('Cook');
    expect(await idsWith(COOK)).toEqual(['p4']);
    expect(await idsWith('Cook')).toEqual(['p4']);
    const corrected = await correct('p3', KANE, COOK);
    expect(corrected.results).toMatchObject([
      { f_local_site: 'Cook', 'urn.as_randomized': { f_local_site: KANE } },
    ]);
  });

  it('a key with either name of its level lists, and enrols at, the same site', async () => {
    for (const name of ['early', 'late'] as const) {
      expect((await enrolled(`p-${name}`, at(WILL), name)).f_local_site).toBe(WILL);
      expect(idsOf(await http.as(name).list('Sleep'))).toEqual(await idsWith(WILL));
      expect((await get(name, '/participant_history', { id: 'p2' })).status).toBe(200);
    }
  });

  it('lists, CSV and explanations have the present names, and those of an earlier revision the old ones', async () => {
    const cells = (await csv()).flatMap(Object.values);
    expect(cells).toContain(WILL);
    expect(cells).not.toContain(DUPAGE);
    const then = { 'urn.revision': revision };
    expect([await auditorView(then), await explained('p2')]).toEqual(asItWas);
    const past = (local_site: string) =>
      get('auditor', '/study_participants', { ...then, local_site, 'urn.bg_state': 'omit' });
    expect(idsOf(await past(DUPAGE))).toEqual(['p1', 'p2']);
    expect((await past(WILL)).status).toBe(400);
    const config = await get('auditor', '/study_config', then);
    expect(config.results.factors.local_site).toEqual([COOK, DUPAGE, KANE]);
    const { urns, corrections, ...why } = await explained('p-early');
    expect(why).toMatchObject({ agrees: true, treatments: ['A', 'B'], closed_treatments: ['C'] });
    expect(urns[1]).toMatchObject({ factor: 'local_site', level: WILL });
    // The correction was made under the old names, and moved a participant into this urn.
    expect(corrections[0].levels).toContainEqual({ factor: 'local_site', level: WILL });
  });
});

describe('where a factor is retired', () => {
  beforeAll(() => amended({ kind: 'factor-retired', factor: 'local_site' }));

  it('it is no longer asked for or recorded, and those who have a level of it keep it, also in CSV', async () => {
    expect(Object.keys((await get('edc', '/study_config')).results.factors)).toEqual(['sex']);
    expect((await designOf()).factors.map((one: { retired: boolean }) => one.retired)).toEqual([false, true]);
    expect(await enrolled('p5', { sex: 'Female' })).not.toHaveProperty('f_local_site');
    for (const more of [{}, { 'urn.view': 'as_randomized' }]) {
      const all: Listed[] = (await get('manager', '/study_participants', more)).results;
      const [first, last] = ['p2', 'p5'].map((id) => all.find((one) => one.id === id));
      expect([first, last]).toMatchObject([{ f_local_site: WILL }, { f_sex: 'Female' }]);
      expect(last).not.toHaveProperty('f_local_site');
    }
    const rows = await csv();
    for (const [id, level] of Object.entries({ p2: WILL, p5: '' })) {
      const shown = { f_local_site: level, randomized_f_local_site: level };
      expect(rows.find((row) => row['id'] === id)).toMatchObject(shown);
    }
    expect(await idsWith(WILL)).toContain('p2');
    expect((await get('edc', '/study_participants', { local_site: 'X' })).status).toBe(400);
  });

  // Otherwise it is refused: test/integration/http/unread-parameters.test.ts.
  it('it may still be sent in a request that was answered before', async () => {
    for (const levels of [at(DUPAGE), { sex: 'Male' }])
      expect(await enrolled('p2', levels, 'edc', RETRY)).toMatchObject({ id: 'p2', f_local_site: WILL });
    expect((await enrol('p2', at(DUPAGE, 'Female'), 'edc', RETRY)).status).toBe(422);
  });

  it('a key that it limits keeps its participants, and enrols nobody', async () => {
    expect(idsOf(await http.as('early').list('Sleep'))).toEqual(await idsWith(WILL));
    for (const levels of [at(WILL), { sex: 'Male' }])
      expect(await enrol('late', levels, 'early')).toMatchObject({
        ...{ status: 403, results: [] },
        message: expect.stringMatching(/limited by local_site, which is retired, so it can enrol nobody/),
      });
  });
});

it('a ratio is in design and balance until it is set back to ones, and the log is sound', async () => {
  const shown = async () => [await designOf(), (await get('auditor', '/balance')).results];
  await amended({ kind: 'ratio', value: [2, 1, 1] });
  for (const one of await shown()) expect(one).toMatchObject({ ratio: [2, 1, 1] });
  await amended({ kind: 'ratio', value: [1, 1, 1] });
  for (const one of await shown()) expect(one).not.toHaveProperty('ratio');
  const { results } = await get('auditor', '/verification');
  const { amendment } = await designOf();
  expect([results.ok, results.streams.at(-1).life.amendments]).toEqual([true, amendment]);
});
