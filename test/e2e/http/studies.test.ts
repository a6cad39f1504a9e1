/** The studies that a key may see, as the first page after sign-in requests them, and what a form asks in one. */
import { beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { served } from '../../support/served.ts';
import { issueKey } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { damageLastRecord, storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const STUDIES = TRIALS.replace(
  'Sleep:\n',
  'Sleep:\n  target_enrollment: 300\n  protocol: {version: "2.0", date: 2027-01-10}\n',
);
const at = ({ local_site }: typeof COOK | typeof DUPAGE) => [
  '--where',
  `local_site=${local_site}`,
  '--force',
];
const NOBODY = { enrolled: 0, voided: 0, filled: 0 };
interface Listed {
  readonly study: string;
}
const namesOf = ({ results }: { readonly results: Listed[] }) => results.map(({ study }) => study);

const http = served(STUDIES, {
  edc: ['edc', '--scope', 'randomize,read'],
  manager: ['manager', '--scope', 'correct,read,manage'],
  desk: ['desk', '--scope', 'unblind'],
  cook: ['cook', '--scope', 'blinded,randomize', ...at(COOK)],
  dupage: ['dupage', '--scope', 'randomize', ...at(DUPAGE)],
  ward: ['ward', '--scope', 'read', '--study', 'Ward', '--study', 'Exact', '--force'],
  other: ['other', '--scope', 'read', '--study', 'Dream', '--force'],
});
type Name = keyof typeof http.keys;
const amended = async (amendment: number, changes: object[], more = {}) => {
  const body = { study: 'Sleep', amendment, reason: 'protocol 2', changes, ...more };
  expect((await http.post('manager', '/amendments', body)).message).toBe('Success');
};

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
    expect((await http.post('manager', '/voids', voided)).status).toBe(200);
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

  it('are described in the OpenAPI document, with an example that has their members', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the document is checked elsewhere.
    const { paths, components }: any = await (await fetch(`${http.url}/openapi.json`)).json();
    const { description, responses } = paths['/studies'].get;
    expect(description).toBe('Needs a key, with any scope.');
    expect([responses['200'].headers, responses['404']]).toEqual([{}, undefined]);
    const [example] = responses['200'].content['application/json'].example.results;
    expect(Object.keys(components.schemas.Studies.items.properties)).toEqual(Object.keys(example));
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

describe('a study that cannot be read', () => {
  const data = temporaryFolders()();
  beforeAll(async () => {
    const key = await issueKey(data, 'edc');
    const first = await serveHere(data, STUDIES);
    expect((await clientOf(first.url, key).randomize('Sleep', '1', COOK)).status).toBe(200);
    await first.stop();
    for (const name of ['Sleep', 'Exact']) {
      const found = storedLog(data).find(({ record }) => record.data.configuration?.name === name);
      damageLastRecord(data, found?.stream ?? '');
    }
  });
  const named = ['named', '--study', 'Exact', '--study', 'Sleep', '--force'];
  const broken = served(STUDIES, { edc: ['edc'], named, cook: ['cook', ...at(COOK)] }, { data });
  const studies = async (name: keyof typeof broken.keys) => (await broken.get(name, '/studies')).results;

  it('is listed in its place, without figures, for keys that may see it, or that name it if only they know it', async () => {
    const SLEEP = { study: 'Sleep', mode: 'test', state: 'unreadable' };
    const [first, ...others] = await studies('edc');
    expect(first).toEqual(SLEEP);
    expect(others.map(({ study }: Listed) => study)).toEqual(['Ward', 'Patterned', 'Ordered']);
    expect(await studies('cook')).toEqual([SLEEP]);
    expect(await studies('named')).toEqual([SLEEP, { study: 'Exact', state: 'unreadable' }]);
  });
});
