/** Studies that take no participants, and what services, probes and commands say of any study; what its form asks. */
import { describe, expect, it } from 'vitest';
import { commandsOn } from '../../support/cli-log.ts';
import { ask, within } from '../../support/client.ts';
import { served } from '../../support/served.ts';
import { issueKeys } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { damageLastRecord, storedLog } from '../../support/stored-log.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const fileOf = temporaryFiles('studies.yaml');
const data = newFolder();
const { ok } = commandsOn(data);
const RETRY = { 'Idempotency-Key': 'before' };

/** With a participant in each of two studies. */
const one = served(
  TRIALS,
  { edc: ['edc', '--scope', 'read,randomize,correct'] },
  {
    data,
    filled: async () => {
      expect((await client().randomize('Sleep', 'before', COOK, RETRY)).status).toBe(200);
      expect((await client().randomize('Ward', 'before', { ward: 'a' })).status).toBe(200);
    },
  },
);
const serving = async (studies: string, folder = data) => {
  await one.service.stop();
  one.service = await serveHere(folder, studies);
};
const client = () => one.as('edc');
const randomize = (id: string) => client().randomize('Sleep', id, COOK);
const statusOf = async (id: string) => (await randomize(id)).status;

/** What /readyz and /metrics say about the studies; the states are those that any study is in. */
async function states() {
  const { message } = await ask(one.url, '/readyz');
  const writing = await ask(one.url, '/readyz', { parameters: { 'urn.for': 'writing' } });
  const metrics = await (await fetch(`${one.url}/metrics`)).text();
  const counts = [...metrics.matchAll(/^urn_studies\{state="([a-z-]+)"\} ([1-9]\d*)$/gm)];
  return [message, writing.status, Object.fromEntries(counts.map(([, state, n]) => [state, Number(n)]))];
}
const expectStates = async (...expected: readonly unknown[]) => expect(await states()).toEqual(expected);

const expectOthers = async (id: string) =>
  expect((await client().randomize('Ward', id, { ward: 'b' })).status).toBe(200);

it('a study that is paused takes nobody and does everything else, until it is resumed', async () => {
  await ok`studies pause Sleep --reason 'a question – to the board'`;
  await within(1_000, async () => (await randomize('new')).status === 409);
  expect(await randomize('new')).toMatchObject({
    ...{
      status: 409,
      results: [],
      message: expect.stringContaining('recorded: the study is paused (hint: '),
    },
  });
  // What it still does is decided in unit/study/decide.test.ts.
  expect((await client().randomize('Sleep', 'before', COOK, RETRY)).status).toBe(200);
  await expectOthers('meanwhile');
  await expectStates('1 study takes no participants: 1 paused', 200, { open: 4, paused: 1 });
  expect(await ok`studies show Sleep`).toMatch(/^state +paused since \S+Z: a question – to the board$/m);
  await serving(TRIALS);
  expect(await statusOf('new')).toBe(409);
  await ok`studies resume Sleep --reason answered`;
  await within(1_000, async () => (await statusOf('after')) === 200);
});

describe('a study whose file changed', () => {
  // Every difference is in unit/configuration/differences.test.ts.
  const changed = TRIALS.replace('[ZZTREATA, ZZTREATB]', '[ZZTREATB, ZZTREATA]');

  it('takes no new participants: 503, for an operator to look at', async () => {
    await serving(TRIALS.replace('"30-Dupage County", ', ''));
    const { list } = client();
    const enrolled = (await list('Sleep')).results.length;
    const answer = await randomize('new');
    expect(answer).toMatchObject({
      ...{ status: 503, results: [] },
      message: expect.stringMatching(/differs from what was registered \(hint: ask the operator; /),
    });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    // The command is for whoever reads the messages of the service.
    expect(answer.message).not.toMatch(/ZZTREAT|urn /);
    expect(one.service.output.stderr).toMatch(/study suspended.*urn studies check/);
    expect((await list('Sleep')).results).toHaveLength(enrolled);
    await expectOthers('beside');
  });

  it('is shown as suspended by the service, and by commands given the same file; as paused if it is both', async () => {
    await serving(changed);
    await expectStates('1 study takes no participants: 1 suspended', 200, { open: 4, suspended: 1 });
    const file = fileOf(changed);
    const listed = await ok`studies list --studies ${file}`;
    expect(listed).toMatch(
      /^Sleep +test +suspended .*suspended: the studies file differs .*urn studies check/m,
    );
    expect(listed).toMatch(/^Ward +test +open /m);
    expect(await ok`studies show Sleep --studies ${file}`).toMatch(/^state +suspended: the studies file/m);
    // Commands reach it through the store.
    await ok`studies pause Sleep --reason x`;
    await within(1_000, async () => (await statusOf('new')) === 409);
    await ok`studies resume Sleep --reason x`;
    await within(1_000, async () => (await statusOf('new')) === 503);
  });

  it('is not ready for writing when no study of the log takes participants', async () => {
    await serving(TRIALS.replaceAll('mode: test', 'mode: live'));
    await expectStates('5 studies take no participants: 5 suspended', 503, { suspended: 5 });
  });

  it('continues if the file no longer names it', async () => {
    await serving('New:\n  treatments: [a, b]\n  factors: {x: [y]}\n');
    expect(await statusOf('unnamed')).toBe(200);
    expect((await client().config('New')).status).toBe(200);
  });
});

const at = ({ local_site }: typeof COOK | typeof DUPAGE) => ['--where', `local_site=${local_site}`];

it('a study whose stream is damaged answers 503 to everything: nothing may be decided from what cannot be read', async () => {
  await one.service.stop();
  const own = newFolder(data);
  const keys = await issueKeys(own, {
    named: ['named', '--study', 'Exact', '--study', 'Sleep', '--force'],
    cook: ['cook', ...at(COOK)],
  });
  for (const name of ['Sleep', 'Exact']) {
    const found = storedLog(own).find(({ record }) => record.data.configuration?.name === name);
    damageLastRecord(own, found?.stream ?? '');
  }
  await serving(TRIALS, own);
  const { config, list, randomize: post } = client();
  for (const answer of [await config('Sleep'), await list('Sleep'), await post('Sleep', 'new', COOK)]) {
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).not.toBeNull();
  }
  expect((await post('Ward', 'beside the damage', { ward: 'b' })).status).toBe(200);
  expect(await states()).toMatchObject(['2 studies take no participants: 2 halted', 200, { halted: 2 }]);
  const [sleep] = await commandsOn(own).json`studies list --json`;
  expect(sleep).toMatchObject({ name: 'Sleep', state: 'halted', reason: expect.any(String) });
  // It is listed in its place, without figures, for keys that may see it, or that name it if only they know it.
  const listed = async (of: string) => (await ask(one.url, '/studies', { key: of })).results;
  const SLEEP = { study: 'Sleep', mode: 'test', state: 'unreadable' };
  const [first, ...others] = await listed(one.keys.edc);
  expect(first).toEqual(SLEEP);
  expect(others.map(({ study }: Listed) => study)).toEqual(['Ward', 'Patterned', 'Ordered', 'New']);
  expect(await listed(keys.cook)).toEqual([SLEEP]);
  expect(await listed(keys.named)).toEqual([SLEEP, { study: 'Exact', state: 'unreadable' }]);
});

const SHOWN = TRIALS.replace(
  'Sleep:\n',
  'Sleep:\n  target_enrollment: 300\n  protocol: {version: "2.0", date: 2027-01-10}\n',
);
const NOBODY = { enrolled: 0, voided: 0, filled: 0 };
interface Listed {
  readonly study: string;
}
const namesOf = ({ results }: { readonly results: Listed[] }) => results.map(({ study }) => study);

const http = served(SHOWN, {
  edc: ['edc', '--scope', 'randomize,read'],
  manager: ['manager', '--scope', 'correct,read,manage'],
  desk: ['desk', '--scope', 'unblind'],
  cook: ['cook', '--scope', 'blinded,randomize', ...at(COOK)],
  dupage: ['dupage', '--scope', 'randomize', ...at(DUPAGE)],
  ward: ['ward', '--scope', 'read', '--study', 'Ward', '--study', 'Exact', '--force'],
  other: ['other', '--scope', 'read', '--study', 'Dream', '--force'],
});
type Name = keyof typeof http.keys;
const amended = (amendment: number, changes: object[], more = {}) =>
  http.done('manager', '/amendments', { study: 'Sleep', amendment, reason: 'protocol 2', changes, ...more });

describe('the studies of a key', () => {
  const studies = (name: Name) => http.get(name, '/studies');
  const sleep = async (name: Name) =>
    (await studies(name)).results.find(({ study }: Listed) => study === 'Sleep');
  const timesOf = async (type: string): Promise<string[]> =>
    (await http.records()).flatMap(({ record }) => (record.type === type ? [record.at] : []));

  it('are those in the log, in order of registration, before anybody is randomized', async () => {
    const answer = await studies('edc');
    expect(namesOf(answer)).toEqual(['Sleep', 'Ward', 'Patterned', 'Ordered', 'Exact']);
    expect(answer.results[0]).toEqual({
      ...{ study: 'Sleep', mode: 'test', state: 'open', ...NOBODY, target: 300 },
      goal: { kind: 'target', places: 300 },
      protocol: { version: '2.0', date: '2027-01-10' },
    });
    expect(answer.results[1]).toEqual({ study: 'Ward', mode: 'test', state: 'open', ...NOBODY });
    // These headers belong to a single study.
    const { headers } = answer;
    expect([headers.get('urn-revision'), headers.get('urn-mode')]).toEqual([null, null]);
  });

  it('say how many participants there are, voided ones too, and when the last one came', async () => {
    for (const [id, levels] of Object.entries({ 1: COOK, 2: COOK, 3: DUPAGE }))
      expect((await http.as('edc').randomize('Sleep', id, levels)).status).toBe(200);
    const voided = { study: 'Sleep', id: '2', cause: 'never-enrolled', analysis: 'exclude', note: 'left' };
    await http.done('manager', '/voids', voided);
    const [, second, third = ''] = await timesOf('ParticipantRandomized');
    const goal = { kind: 'target', places: 300 };
    const last = { enrolled: 3, last_allocation_at: third };
    expect(await sleep('edc')).toMatchObject({ ...last, voided: 1, filled: 2, goal });
    const design = await http.get('edc', '/study_design', { study: 'Sleep' });
    expect(design.results.enrolled).toBe(3);
    expect(await sleep('desk')).toMatchObject(last);
    // A key for one site does not see the times of other sites.
    const atCook = await sleep('cook');
    expect(atCook).toMatchObject({ enrolled: 2, voided: 1, filled: 1, last_allocation_at: second });
    expect(atCook).not.toHaveProperty('goal');
    expect((await studies('cook')).text).not.toContain(third);
  });

  it('are only those that its limits allow, and name no arm', async () => {
    expect(namesOf(await studies('ward'))).toEqual(['Ward', 'Exact']);
    expect(namesOf(await studies('cook'))).toEqual(['Sleep']);
    expect(namesOf(await studies('other'))).toEqual([]);
    for (const name of Object.keys(http.keys) as Name[])
      expect((await studies(name)).text).not.toMatch(/ZZTREAT|Left|trt|treat/);
  });

  it('say why a study is not open, and since when, and follow an amendment', async () => {
    const body = { study: 'Ward', action: 'pause', reason: 'DSMB meeting' };
    expect((await http.post('manager', '/study_state', body)).results).toEqual({ state: 'paused' });
    const [since] = await timesOf('StudyPaused');
    const paused = { state: 'paused', reason: 'DSMB meeting', since };
    expect((await studies('ward')).results[0]).toMatchObject(paused);
    await amended(1, [{ kind: 'target', value: 320 }], { protocol: { version: '3.0' } });
    expect(await sleep('edc')).toMatchObject({ target: 320, protocol: { version: '3.0' } });
  });
});

describe('the form of a study', () => {
  const form = (name: Name, study = 'Sleep') => http.get(name, '/study_form', { study });

  it('has the factors and the id pattern, but no arm', async () => {
    const { results, text } = await form('edc');
    const sites = [COOK, DUPAGE, KANE].map(({ local_site }) => local_site);
    const [sex, site] = [
      { name: 'sex', levels: ['Male', 'Female'] },
      { name: 'local_site', levels: sites },
    ];
    expect(results).toEqual({ factors: [sex, site] });
    expect(text).not.toContain('ZZTREAT');
    expect((await form('edc', 'Patterned')).results.id_pattern).toBe('[0-9]{3}-[0-9]{4}|X');
    expect((await form('ward', 'Ward')).status).toBe(403);
  });

  it('has only open levels within the limits of the key, no retired factors, and the visits', async () => {
    const ofSite = { factor: 'local_site' };
    const renamed = { kind: 'level-renamed', ...ofSite, level: DUPAGE.local_site, to: 'DuPage' };
    await amended(2, [renamed, { kind: 'level-closed', ...ofSite, level: KANE.local_site }]);
    const sitesFor = async (name: Name) => (await form(name)).results.factors[1].levels;
    expect(await sitesFor('edc')).toEqual([COOK.local_site, 'DuPage']);
    expect(await sitesFor('dupage')).toEqual(['DuPage']);

    await amended(3, [{ kind: 'factor-retired', ...ofSite }]);
    expect((await form('edc')).results).toEqual({ factors: [{ name: 'sex', levels: ['Male', 'Female'] }] });
    expect(await form('dupage')).toMatchObject({ status: 403, message: expect.stringContaining('retired') });

    await amended(4, [{ kind: 'visits', value: ['V2', 'Week 12'] }]);
    expect((await form('edc')).results.visits).toEqual(['V2', 'Week 12']);
  });
});
