/** Amendments of a design, as data managers, sites, blinded readers and auditors see them over HTTP. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, ask, clientOf, within } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const MCLEAN = '50-Mclean County';
const WILL = '30-Dupage and Will';
const STUDIES = `${TRIALS.replace('Sleep:\n', 'Sleep:\n  policies: {level_counts: as-corrected}\n')}
Trial:
  mode: live
  treatments: [ZZTREATA, ZZTREATB]
  factors:
    ward: [a, b]

Visited:
  mode: test
  treatments: [A, B, Placebo]
  factors: {sex: [Male, Female]}
  visits: [V2, Week 12]
`;
const APPROVALS = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01', reference: 'Amendment 3' }];
let service: ServiceHere;
let keys: Record<'edc' | 'manager' | 'reader' | 'auditor' | 'early' | 'late', string>;

interface Level {
  readonly name: string;
  readonly earlier_names: readonly string[];
  readonly closed: boolean;
}

interface Listed {
  readonly id: string;
  readonly f_local_site: string;
}

const get = (path: string, key = keys.manager, parameters: Record<string, string> = {}) =>
  ask(service.url, path, { key, parameters: { study: 'Sleep', ...parameters } });
const designOf = async (study = 'Sleep') => (await get('/study_design', keys.manager, { study })).results;
/** The current levels of the site factor. */
const sites = async (): Promise<Level[]> => (await designOf()).design.factors[1].levels;

const change = (kind: string, level: string, more: object = {}) => ({
  ...{ kind, factor: 'local_site', level },
  ...more,
});
const rename = (level: string, to: string, more: object = {}) =>
  change('level-renamed', level, { to, ...more });

/** The next amendment of the study. */
async function amend(changes: readonly object[], more: object = {}, headers = {}) {
  const { study = 'Sleep' } = more as { study?: string };
  const { amendment } = (await designOf(study)).design;
  const body = { study, amendment: amendment + 1, changes, reason: 'protocol 3', ...more };
  return postJson(service.url, '/amendments', keys.manager, body, headers);
}

async function amended(...changes: readonly object[]): Promise<Answer> {
  const answer = await amend(changes);
  expect(answer.status, answer.message).toBe(200);
  return answer;
}

const edc = () => clientOf(service.url, keys.edc);
let lastId = 0;

/** Enrols a participant and returns the id. */
async function enrolled(levels: Record<string, string>, headers = {}): Promise<string> {
  const id = `p${++lastId}`;
  const answer = await edc().randomize('Sleep', id, levels, headers);
  expect(answer.status, answer.message).toBe(200);
  return id;
}

const correct = (id: string, from: string, to: string, note = 'typo', headers = {}) =>
  postJson(
    service.url,
    '/level_corrections',
    keys.manager,
    { study: 'Sleep', id, cause: 'entry', note, changes: [{ factor: 'local_site', from, to }] },
    headers,
  );

/** `f_local_site` of one participant. */
async function siteOf(id: string, parameters: Record<string, string> = {}, key = keys.edc) {
  const [one] = (await get('/study_participants', key, { id, ...parameters })).results;
  return one?.f_local_site;
}

async function idsWith(site: string, key = keys.edc): Promise<string[]> {
  const { results } = await get('/study_participants', key, { local_site: site });
  return results.map(({ id }: Listed) => id);
}

/** The logged reasons for refused requests. */
const refusals = (user: string) =>
  storedLog(data).flatMap(({ record }) =>
    record.type === 'RequestRefused' && record.actor.user === user ? [record.data.reason] : [],
  );

beforeAll(async () => {
  service = await serveHere(data, STUDIES);
  const limited = (site: string) => ['--where', `local_site=${site}`, '--study', 'Sleep', '--force'];
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['data-manager', '--scope', 'blinded,manage,correct'],
    reader: ['monitor', '--scope', 'blinded'],
    auditor: ['auditor', '--scope', 'read,audit'],
    early: ['site-30', '--scope', 'blinded,randomize', ...limited(DUPAGE.local_site)],
    // The level does not have this name yet.
    late: ['site-30-new', '--scope', 'blinded,randomize', ...limited(WILL)],
  });
  await within(5_000, async () => (await get('/study_config', keys.late)).status === 200);
  for (const levels of [COOK, DUPAGE, KANE]) await enrolled(levels);
});
afterAll(() => service.stop());

describe('an amendment', () => {
  it('leaves no trace as a dry run, then is recorded with the resulting design', async () => {
    const before = await designOf();
    const changes = [change('level-added', MCLEAN), { kind: 'target', value: 320 }];
    const tried = await amend(changes, { dry_run: true });
    expect(tried.headers.get('urn-dry-run')).toBe('true');
    expect(tried.headers.get('urn-receipt')).toBeNull();
    expect(tried.results.effect.counts).toBe('stays');
    expect(await designOf()).toEqual(before);
    const made = await amend(changes, { protocol: { version: '3.0', date: '2027-02-20' } });
    expect(made.headers.get('urn-receipt')).not.toBeNull();
    const { design } = await designOf();
    expect(made.results).toEqual({ amendment: 1, design });
    expect(design).toEqual({ ...tried.results.effect.design, protocol: made.results.design.protocol });
    expect(design).toMatchObject({ amendment: 1, target: 320, protocol: { version: '3.0' } });
    expect((await sites()).map(({ name }) => name)).toContain(MCLEAN);
    const config = await get('/study_config', keys.reader);
    expect(config.results.factors.local_site).toContain(MCLEAN);
    expect(await siteOf(await enrolled({ sex: 'Male', local_site: MCLEAN }))).toBe(MCLEAN);
  });

  it('is refused with every problem at once: 422', async () => {
    const before = await designOf();
    const answer = await amend([
      change('level-added', COOK.local_site),
      change('level-closed', COOK.local_site),
      change('level-closed', COOK.local_site),
      { kind: 'level-closed', factor: 'site', level: 'x' },
      { kind: 'policy', name: 'void_counts', value: 'kept' },
      { kind: 'limits', value: { levels: [{ factor: 'sex', level: 'X', max: 1 }] } },
      { kind: 'id-pattern', value: '(a' },
    ]);
    expect([answer.status, answer.results]).toEqual([422, {}]);
    expect(answer.message.split('; ')).toEqual([
      'changes[0].level: a level has this name',
      'changes[2].level: it is closed already',
      'changes[3].factor: the study has no such factor',
      'changes[4].kind: it is so already',
      'changes[5].value.levels[0]: the study has no such level',
      expect.stringMatching(/^changes\[6\]\.value: the pattern /),
    ]);
    expect(await designOf()).toEqual(before);
  });

  it('is refused with every mistake in its form: 400', async () => {
    const answer = await amend([{ kind: 'factor-added' }, change('level-added', 'x', { to: 'y' })], {
      amendment: 0,
      reason: '',
      approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-30' }],
      history: 'forget',
    });
    expect([answer.status, answer.results]).toEqual([400, {}]);
    for (const part of ['amendment', 'changes[0].kind', 'changes[1]', 'reason', 'approvals[0].on', 'history'])
      expect(answer.message).toContain(part);
    const invisible = await amend([change('level-added', 'a\u200bb'), rename(KANE.local_site, '\u202ex')]);
    expect(invisible.status).toBe(400);
    expect(invisible.message).toMatch(/^changes\[0\]\.level: .*U\+200B.*; changes\[1\]\.to: .*U\+202E/);
    const twice = '{"study":"Sleep","amendment":2,"amendment":3,"changes":[],"reason":"x"}';
    expect((await postJson(service.url, '/amendments', keys.manager, twice)).status).toBe(400);
  });

  it('needs an approval in a live study, which no approval of the future is: 422', async () => {
    const live = [{ kind: 'level-added', factor: 'ward', level: 'c' }];
    const future = { approvals: [{ ...APPROVALS[0], on: '9999-12-31' }] };
    const lacking = 'approvals: a live study can be amended only with an approval';
    const early = 'approvals[0].on: 9999-12-31 is in the future';
    expect(await amend(live, { study: 'Trial' })).toMatchObject({ status: 422, message: lacking });
    expect(await amend(live, { study: 'Trial', ...future })).toMatchObject({ status: 422, message: early });
    const closing = { study: 'Trial', action: 'close', cause: 'target', reason: 'all are in', ...future };
    expect(await postJson(service.url, '/study_state', keys.manager, closing)).toMatchObject({
      ...{ status: 422, message: early },
    });
    expect((await amend(live, { study: 'Trial', approvals: APPROVALS })).status).toBe(200);
  });

  it('that is repeated is answered with the current design, as a dry run, too', async () => {
    const body = { amendment: (await designOf()).design.amendment + 1 };
    const retry = { 'Idempotency-Key': 'amend-1' };
    const target = [{ kind: 'target', value: 330 }];
    expect((await amend(target, body, retry)).status).toBe(200);
    const later = await amended({ kind: 'target', value: 340 });
    expect((await amend(target, body, retry)).results).toEqual(later.results);
    const tried = await amend(target, { ...body, dry_run: true }, retry);
    expect(tried.results.effect.design).toEqual(later.results.design);
  });
});

describe('a closed level', () => {
  it('refuses new participants, but those who have it can still be listed', async () => {
    const id = await enrolled(KANE);
    const before = await idsWith(KANE.local_site);
    await amended(change('level-closed', KANE.local_site));
    expect(await edc().randomize('Sleep', 'new', KANE)).toMatchObject({
      status: 409,
      results: [],
      message: `The study takes no more participants with local_site = ${KANE.local_site}: the level is closed`,
    });
    await within(5_000, async () => refusals('edc').includes('level-closed'));
    const dry = await edc().randomize('Sleep', 'new', { ...KANE, 'urn.dry_run': 'true' });
    expect([dry.status, dry.headers.get('urn-dry-run')]).toEqual([409, 'true']);
    expect(await idsWith(KANE.local_site)).toEqual(before);
    expect(await siteOf(id)).toBe(KANE.local_site);
    expect((await edc().config('Sleep')).results.factors.local_site).not.toContain(KANE.local_site);
    const unknown = await edc().randomize('Sleep', 'new', { ...KANE, local_site: 'X' });
    expect(unknown.status).toBe(400);
    expect(unknown.message).not.toContain(KANE.local_site);
    expect(await sites()).toContainEqual({ name: KANE.local_site, earlier_names: [], closed: true });
  });

  it('is still accepted in a correction, and takes participants again once it is reopened', async () => {
    const corrected = await correct(await enrolled(COOK), COOK.local_site, KANE.local_site);
    expect(corrected).toMatchObject({ status: 200, results: [{ f_local_site: KANE.local_site }] });
    await amended(change('level-reopened', KANE.local_site));
    expect(await siteOf(await enrolled(KANE))).toBe(KANE.local_site);
  });
});

describe('a renamed level', () => {
  const RETRY = { 'Idempotency-Key': 'before-the-renaming' };
  let before: string;
  let revision: string;
  let asItWas: { lists: Listed[][]; balance: unknown; explained: unknown };

  const listsAt = async (parameters: Record<string, string> = {}): Promise<Listed[][]> =>
    Promise.all(
      (['current', 'as_randomized'] as const).map(
        async (view) =>
          (await get('/study_participants', keys.auditor, { ...parameters, 'urn.view': view })).results,
      ),
    );
  /** What auditors see of the study at a revision. */
  const auditorView = async (at: Record<string, string> = {}) => ({
    lists: await listsAt({ ...at, 'urn.bg_state': 'omit' }),
    balance: (await get('/balance', keys.auditor, at)).results,
    explained: (await clientOf(service.url, keys.auditor).explain('Sleep', before)).results,
  });

  beforeAll(async () => {
    const corrected = await enrolled(COOK);
    before = await enrolled(DUPAGE, RETRY);
    const answer = await correct(corrected, COOK.local_site, DUPAGE.local_site);
    revision = answer.headers.get('urn-revision') ?? '';
    asItWas = await auditorView();
    await amended(rename(DUPAGE.local_site, WILL));
  });

  it('has its new name in every list, in both views, in CSV and in the balance', async () => {
    const underNewName = (shown: unknown) =>
      JSON.parse(JSON.stringify(shown).replaceAll(`"${DUPAGE.local_site}"`, `"${WILL}"`));
    const now = await auditorView();
    expect(now.lists).toEqual(underNewName(asItWas.lists));
    expect(now.balance).toEqual(underNewName(asItWas.balance));
    const { url } = service;
    const response = await fetch(`${url}/study_participants?study=Sleep`, {
      headers: { 'X-API-Key': keys.reader, Accept: 'text/csv' },
    });
    const cells = parseCsv(await response.text()).flat();
    expect(cells).toContain(WILL);
    expect(cells).not.toContain(DUPAGE.local_site);
    expect(await sites()).toContainEqual({
      ...{ name: WILL, earlier_names: [DUPAGE.local_site], closed: false },
    });
  });

  it('is refused under its old name, and the message gives the new one: 400', async () => {
    const words = `local_site has no level "${DUPAGE.local_site}": it is called "${WILL}" now`;
    for (const { status, message } of [
      await edc().randomize('Sleep', 'new', DUPAGE),
      await edc().list('Sleep', { local_site: DUPAGE.local_site }),
    ]) {
      expect(status).toBe(400);
      expect(message).toContain(words);
    }
    expect(await idsWith(WILL)).toContain(before);
  });

  it('leaves the answers to earlier requests as they were', async () => {
    const record = { id: before, f_local_site: WILL };
    expect(await edc().randomize('Sleep', before, DUPAGE, RETRY)).toMatchObject({
      status: 200,
      results: [record],
    });
    for (const local_site of [DUPAGE.local_site, WILL])
      expect(await edc().randomize('Sleep', before, { ...DUPAGE, local_site })).toMatchObject({
        ...{ status: 400, results: [record], message: `Participant ${before} is already assigned` },
      });
    const other = await edc().randomize('Sleep', before, { ...DUPAGE, sex: 'Male' }, RETRY);
    expect(other.status).toBe(422);
  });

  it('can still be sent as an alias, and is recorded under its current name', async () => {
    const answer = await amended(rename(COOK.local_site, 'Cook', { alias: true }));
    const id = await enrolled(COOK);
    expect(await siteOf(id)).toBe('Cook');
    const stored = storedLog(data).find(({ record }) => record.data.participantId === id);
    expect(stored?.record.data.levels[1]).toEqual({ factor: 'local_site', level: 'Cook' });
    expect(await idsWith(COOK.local_site)).toEqual(await idsWith('Cook'));
    expect(await idsWith('Cook')).toContain(id);
    const [cook] = answer.results.design.factors[1].levels;
    expect(cook).toEqual({ name: 'Cook', earlier_names: [COOK.local_site], closed: false });
  });

  it('keeps its alias until it is renamed back and then renamed again without one', async () => {
    await amended(rename(KANE.local_site, 'Kane', { alias: true }));
    expect(await siteOf(await enrolled(KANE))).toBe('Kane');
    await amended(rename('Kane', KANE.local_site), rename(KANE.local_site, 'Kane'));
    expect((await edc().randomize('Sleep', 'new', KANE)).status).toBe(400);
    await amended(rename('Kane', KANE.local_site));
  });

  it('is accepted in a correction by its current name or an alias, and recorded under its current name', async () => {
    const id = await enrolled(KANE);
    expect(await correct(id, KANE.local_site, DUPAGE.local_site)).toMatchObject({
      status: 400,
      message: expect.stringContaining(`it is called "${WILL}" now`),
    });
    expect((await correct(id, KANE.local_site, COOK.local_site)).results).toMatchObject([
      { f_local_site: 'Cook', 'urn.as_randomized': { f_local_site: KANE.local_site } },
    ]);
    const { results } = await get('/participant_history', keys.reader, { id });
    expect(results.at(-1).data.changes).toEqual([
      { factor: 'local_site', from: KANE.local_site, to: 'Cook' },
    ]);
  });

  it('does not break retries of earlier corrections, under its old name or its new one', async () => {
    const [id, other] = [await enrolled(KANE), await enrolled(KANE)];
    const fix = (one: string, to: string, note = 'typo') =>
      correct(one, KANE.local_site, to, note, { 'Idempotency-Key': `fix-${one}` });
    // One by its current name, the other by an alias.
    expect((await fix(id, WILL)).status).toBe(200);
    expect((await fix(other, COOK.local_site)).status).toBe(200);
    await amended(rename(WILL, 'Will'), rename('Cook', 'Crook'));
    for (const [one, to, now] of [
      [id, WILL, 'Will'],
      [id, 'Will', 'Will'],
      [other, COOK.local_site, 'Crook'],
      [other, 'Cook', 'Crook'],
    ] as const)
      expect(await fix(one, to)).toMatchObject({ status: 200, results: [{ f_local_site: now }] });
    expect((await fix(id, WILL, 'another')).status).toBe(422);
    expect((await fix(id, 'Crook')).status).toBe(422);
    await amended(rename('Will', WILL), rename('Crook', 'Cook', { alias: true }));
  });

  it('is within the limits of keys issued with either name', async () => {
    for (const key of [keys.early, keys.late]) {
      const site = clientOf(service.url, key);
      const ids = (await site.list('Sleep')).results.map(({ id }: Listed) => id);
      expect(ids).toEqual(await idsWith(WILL));
      expect(ids).toContain(before);
      const id = `p${++lastId}`;
      const made = await site.randomize('Sleep', id, { ...DUPAGE, local_site: WILL });
      expect(made).toMatchObject({ status: 200, results: [{ f_local_site: WILL }] });
      expect((await site.randomize('Sleep', 'new', KANE)).status).toBe(403);
      expect((await get('/participant_history', key, { id: before })).status).toBe(200);
    }
  });

  it('has its old name when the study is read at an earlier revision', async () => {
    const at = { 'urn.revision': revision };
    expect(await auditorView(at)).toEqual(asItWas);
    const past = (local_site: string) =>
      get('/study_participants', keys.auditor, { ...at, local_site, 'urn.bg_state': 'omit' });
    const [current = []] = asItWas.lists;
    const those = current.filter(({ f_local_site }) => f_local_site === DUPAGE.local_site);
    const found: Listed[] = (await past(DUPAGE.local_site)).results;
    expect(found.map(({ id }) => id)).toEqual(those.map(({ id }) => id));
    expect((await past(WILL)).status).toBe(400);
    const config = await get('/study_config', keys.auditor, at);
    expect(config.results.factors.local_site).toContain(DUPAGE.local_site);
  });

  it('is explained under its old name, and under its new name for later participants', async () => {
    const auditor = clientOf(service.url, keys.auditor);
    expect((await auditor.explain('Sleep', before)).results).toEqual(asItWas.explained);
    const id = await enrolled({ ...DUPAGE, local_site: WILL });
    const { results } = await auditor.explain('Sleep', id);
    expect(results.agrees).toBe(true);
    expect(results.urns[1]).toMatchObject({ factor: 'local_site', level: WILL });
    // The correction was made under the old names, and moved a participant into this urn.
    const moved = results.corrections.find((one: { revision: number }) => String(one.revision) === revision);
    expect(moved.levels).toContainEqual({ factor: 'local_site', level: WILL });
  });
});

describe('a changed limit, pattern and policy', () => {
  it('applies from then on, and not before', async () => {
    const id = await enrolled(KANE);
    const renameTo = (to: string, headers = {}) => {
      const body = { study: 'Sleep', id, to, cause: 'entry' };
      return postJson(service.url, '/id_corrections', keys.manager, body, headers);
    };
    const retry = { 'Idempotency-Key': 'before-the-pattern' };
    expect((await renameTo('free text', retry)).status).toBe(200);
    const { results } = await edc().list('Sleep');
    const value = { total: results.length + 1 };
    const stop = { kind: 'policy', name: 'stop_at_limit', value: true };
    await amended({ kind: 'limits', value }, stop, { kind: 'id-pattern', value: 'p[0-9]+' });
    const { limits, design } = await designOf();
    expect(limits).toEqual([{ max: value.total, enrolled: results.length }]);
    expect(design).toMatchObject({ id_pattern: 'p[0-9]+', policies: { stop_at_limit: true } });
    const refused = async (one: string) => (await edc().randomize('Sleep', one, KANE)).message;
    expect(await refused('x')).toMatch(/does not match .*pattern p\[0-9\]\+/);
    expect((await renameTo('other text')).status).toBe(422);
    expect(await renameTo('free text', retry)).toMatchObject({ status: 200, results: [{ id: 'free text' }] });
    await enrolled(KANE);
    expect(await refused('p9999')).toMatch(/limit of \d+ is reached/);
    await amended({ kind: 'limits' }, { kind: 'id-pattern' });
    expect((await designOf()).design).not.toHaveProperty('id_pattern');
    expect((await edc().randomize('Sleep', 'x', KANE)).status).toBe(200);
  });
});

describe('visits and stopped arms', () => {
  const VISITED = { study: 'Visited' };
  const visits = (...value: string[]) => ({ kind: 'visits', value });
  const arm = (kind: string, treatment = 'Placebo') => ({ kind, treatment });
  const visited = async () => (await designOf('Visited')).design;

  it('are shown as registered, and only where there are some', async () => {
    expect(await visited()).toMatchObject({ visits: ['V2', 'Week 12'] });
    for (const name of ['visits', 'stopped_treatments'])
      expect((await designOf('Trial')).design).not.toHaveProperty(name);
  });

  it('are amended', async () => {
    const changes = [visits('V2', 'V3', 'Week 12')];
    const tried = await amend(changes, { ...VISITED, dry_run: true });
    const made = await amend(changes, VISITED);
    expect(tried.results.effect).toMatchObject({ counts: 'stays', design: made.results.design });
    expect(await visited()).toMatchObject({ amendment: 1, visits: ['V2', 'V3', 'Week 12'] });
  });

  const many = Array.from({ length: 101 }, (_, i) => `V${i}`);
  it.each([
    [400, visits('V2', 'V3 '), 'changes[0].value[1]: is no name of a visit'],
    [400, visits(...many), 'changes[0].value: has more than 100 items'],
    [400, { kind: 'visits' }, 'changes[0].value is missing'],
    [422, visits('V2', 'v2'), 'changes[0].value[1]: "v2" is the same as visit 1'],
    [422, visits('V2', 'a'), 'changes[0].value[1]: "a" is, or contains, the name of an arm'],
    [422, arm('arm-added', 'week'), 'changes[0].treatment: the visit "Week 12" is, or contains, this name'],
    [422, visits('V2', 'V3', 'Week 12'), 'changes[0].kind: it is so already'],
    [422, arm('arm-stopped'), 'changes[0].treatment: it is not closed'],
  ])('are refused with %d as %j', async (status, one, message) => {
    const answer = await amend([one], VISITED);
    expect([answer.status, answer.message]).toEqual([status, expect.stringContaining(message)]);
  });

  it('go again', async () => {
    expect((await amend([visits(), arm('arm-closed')], VISITED)).status).toBe(200);
    const { design } = (await amend([arm('arm-stopped')], VISITED)).results;
    expect(design).toMatchObject({ closed_treatments: ['Placebo'], stopped_treatments: ['Placebo'] });
    expect((await amend([arm('arm-reopened')], VISITED)).status).toBe(200);
    for (const name of ['visits', 'stopped_treatments']) expect(await visited()).not.toHaveProperty(name);
  });
});

describe('the log after all of these', () => {
  it('is sound, and shows the same after a restart', async () => {
    const shown = async () => [
      await designOf(),
      (await get('/study_participants', keys.auditor)).results,
      (await get('/study_participants', keys.early, { 'urn.view': 'as_randomized' })).results,
      (await get('/balance', keys.auditor)).results,
    ];
    const { results } = await get('/verification', keys.auditor);
    const { amendment } = (await designOf()).design;
    const { life } = results.streams.at(-1);
    expect([results.ok, life.amendments]).toEqual([true, amendment]);
    const before = await shown();
    await service.stop();
    service = await serveHere(data, STUDIES);
    expect(await shown()).toEqual(before);
    await amended(change('level-added', 'after the restart'));
    await enrolled({ sex: 'Male', local_site: 'after the restart' });
  });
});
