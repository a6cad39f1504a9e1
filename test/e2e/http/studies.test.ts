/** The studies that a key may see, as the first page after sign-in requests them from the real service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf } from '../../support/client.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { recordsOf, type ServiceHere, serveHere, serveInMemory } from '../../support/service-here.ts';
import { damageLastRecord, storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const NAMES = ['Sleep', 'Ward', 'Patterned', 'Ordered', 'Exact'];
const STUDIES = TRIALS.replace(
  'Sleep:\n',
  'Sleep:\n  target_enrollment: 300\n  protocol: {version: "2.0", date: 2027-01-10}\n',
);
const OF_COOK = ['--where', `local_site=${COOK.local_site}`, '--force'];

const NOBODY = { enrolled: 0, voided: 0, filled: 0 };

describe('the studies of a key', () => {
  let service: ServiceHere;
  let keys: Record<'edc' | 'manager' | 'desk' | 'cook' | 'blinded' | 'ward' | 'other', string>;

  const studies = (key: string, parameters = {}) => ask(service.url, '/studies', { key, parameters });
  const sleep = async (key: string) =>
    (await studies(key)).results.find(({ study }: { study: string }) => study === 'Sleep');

  beforeAll(async () => {
    ({ service, keys } = await serveInMemory(STUDIES, {
      edc: ['edc', '--scope', 'randomize,read'],
      manager: ['manager', '--scope', 'correct,read,manage'],
      desk: ['desk', '--scope', 'unblind'],
      cook: ['cook', '--scope', 'blinded,randomize', ...OF_COOK],
      blinded: ['monitor', '--scope', 'blinded'],
      ward: ['ward', '--scope', 'read', '--study', 'Ward', '--study', 'Exact', '--force'],
      other: ['other', '--scope', 'read', '--study', 'Dream', '--force'],
    }));
  });
  afterAll(() => service.stop());

  it('are those in the log, in order of registration, before anybody is randomized', async () => {
    const { results, headers } = await studies(keys.edc);
    expect(results.map(({ study }: { study: string }) => study)).toEqual(NAMES);
    expect(results[0]).toEqual({
      ...{ study: 'Sleep', mode: 'test', state: 'open', ...NOBODY, target: 300 },
      goal: { kind: 'target', places: 300 },
      protocol: { version: '2.0', date: '2027-01-10' },
    });
    expect(results[1]).toEqual({ study: 'Ward', mode: 'test', state: 'open', ...NOBODY });
    // These headers belong to a single study.
    expect([headers.get('urn-revision'), headers.get('urn-mode')]).toEqual([null, null]);
  });

  it('say how many participants there are, voided ones too, and when the last one came', async () => {
    const { randomize } = clientOf(service.url, keys.edc);
    for (const [id, levels] of [
      ['1', COOK],
      ['2', COOK],
      ['3', DUPAGE],
    ] as const)
      expect((await randomize('Sleep', id, levels)).status).toBe(200);
    const voided = { cause: 'never-enrolled', analysis: 'exclude', note: 'left' };
    await postJson(service.url, '/voids', keys.manager, { study: 'Sleep', id: '2', ...voided });
    const [, second, third] = (await recordsOf(service)).flatMap(({ record }) =>
      record.type === 'ParticipantRandomized' ? [record.at] : [],
    );
    const { enrolled } = (
      await ask(service.url, '/study_design', { key: keys.edc, parameters: { study: 'Sleep' } })
    ).results;
    const heads = { enrolled, voided: 1, filled: 2, goal: { kind: 'target', places: 300 } };
    expect(await sleep(keys.edc)).toMatchObject({ ...heads, last_allocation_at: third });
    expect(await sleep(keys.desk)).toMatchObject({ enrolled: 3, last_allocation_at: third });
    // A key for one site does not see the times of other sites.
    const atCook = await sleep(keys.cook);
    expect(atCook).toMatchObject({ enrolled: 2, voided: 1, filled: 1, last_allocation_at: second });
    expect(atCook).not.toHaveProperty('goal');
    expect((await studies(keys.cook)).text).not.toContain(third);
  });

  it('are only those that its limits allow', async () => {
    const named = async (key: string) =>
      (await studies(key)).results.map(({ study }: { study: string }) => study);
    expect(await named(keys.ward)).toEqual(['Ward', 'Exact']);
    expect(await named(keys.cook)).toEqual(['Sleep']);
    expect(await named(keys.other)).toEqual([]);
  });

  it('say why a study is not open, and since when', async () => {
    const pause = { study: 'Ward', action: 'pause', reason: 'DSMB meeting' };
    expect((await postJson(service.url, '/study_state', keys.manager, pause)).status).toBe(200);
    const [at] = (await recordsOf(service)).flatMap(({ record }) =>
      record.type === 'StudyPaused' ? [record.at] : [],
    );
    const [ward] = (await studies(keys.ward)).results;
    expect(ward).toMatchObject({ state: 'paused', reason: 'DSMB meeting', since: at });
  });

  it('answer an act with the state that it leaves, also when it is repeated after another act', async () => {
    const act = (action: string, key: string) =>
      postJson(
        service.url,
        '/study_state',
        keys.manager,
        { study: 'Ward', action, reason: 'DSMB meeting' },
        { 'Idempotency-Key': key },
      );
    expect(await act('resume', 'r-1')).toMatchObject({ status: 200, results: { state: 'open' } });
    expect(await act('pause', 'p-2')).toMatchObject({ status: 200, results: { state: 'paused' } });
    expect(await act('resume', 'r-1')).toMatchObject({ status: 200, results: { state: 'open' } });
    expect(await act('pause', 'p-2')).toMatchObject({ status: 200, results: { state: 'paused' } });
  });

  it('follow an amendment', async () => {
    const changes = [{ kind: 'target', value: 320 }];
    const body = { study: 'Sleep', amendment: 1, changes, reason: 'more', protocol: { version: '3.0' } };
    expect((await postJson(service.url, '/amendments', keys.manager, body)).status).toBe(200);
    expect(await sleep(keys.edc)).toMatchObject({ target: 320, protocol: { version: '3.0' } });
  });

  it('name no arm', async () => {
    for (const key of Object.values(keys))
      expect((await studies(key)).text).not.toMatch(/ZZTREAT|Left|trt|treat/);
  });

  it('are refused without a key, and with a parameter', async () => {
    expect(await ask(service.url, '/studies')).toMatchObject({ status: 401, results: [] });
    expect(await studies(keys.edc, { study: 'Sleep' })).toMatchObject({
      status: 400,
      message: 'study is not a parameter of studies',
    });
  });

  it('are described in the OpenAPI document, with an example that has their members', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the document is checked elsewhere.
    const document: any = await (await fetch(`${service.url}/openapi.json`)).json();
    const { description, responses } = document.paths['/studies'].get;
    expect(description).toBe('Needs a key, with any scope.');
    expect(responses['200'].headers).toEqual({});
    expect(responses['404']).toBeUndefined();
    const [example] = responses['200'].content['application/json'].example.results;
    expect(Object.keys(document.components.schemas.Studies.items.properties)).toEqual(Object.keys(example));
  });
});

describe('a study that cannot be read', () => {
  const data = newFolder();
  let service: ServiceHere;
  let keys: Record<'edc' | 'named' | 'cook' | 'ward', string>;

  beforeAll(async () => {
    keys = await issueKeys(data, {
      edc: ['edc'],
      named: ['named', '--study', 'Exact', '--study', 'Sleep', '--force'],
      cook: ['cook', ...OF_COOK],
      ward: ['ward', '--study', 'Ward', '--force'],
    });
    const first = await serveHere(data, STUDIES);
    await clientOf(first.url, keys.edc).randomize('Sleep', '1', COOK);
    await first.stop();
    for (const name of ['Sleep', 'Exact']) {
      const [record] = storedLog(data).filter(({ record }) => record.data.configuration?.name === name);
      damageLastRecord(data, record?.stream ?? '');
    }
    service = await serveHere(data, STUDIES);
  });
  afterAll(() => service.stop());

  const studies = async (key: string) => (await ask(service.url, '/studies', { key })).results;
  const SLEEP = { study: 'Sleep', mode: 'test', state: 'unreadable' };

  it('is listed in its place, without figures', async () => {
    const [first, second] = await studies(keys.edc);
    expect([first, second.study]).toEqual([SLEEP, 'Ward']);
    expect(await studies(keys.cook)).toEqual([SLEEP]);
  });

  it('is listed for a key that names it, even if its registration cannot be read', async () => {
    expect(await studies(keys.named)).toEqual([SLEEP, { study: 'Exact', state: 'unreadable' }]);
    expect((await studies(keys.edc)).map(({ study }: { study: string }) => study)).not.toContain('Exact');
  });

  it('is not shown to other keys', async () => {
    expect((await studies(keys.ward)).map(({ study }: { study: string }) => study)).toEqual(['Ward']);
  });
});
