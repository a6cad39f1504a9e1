/** What keys with the scope `audit` get beyond the contract: explanations, balances, and the past of a study. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keySha256, newApiKey } from '../../../src/core/access/credentials.ts';
import { appendFact } from '../../support/altered-log.ts';
import { type Answer, ask, clientOf, exactResults, within } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const LEVELS = [COOK, DUPAGE, KANE, COOK, DUPAGE];
const IDS = LEVELS.map((_, i) => `p${i}`);
/** An audit key for one site: `urn keys add` refuses to issue one, but a log may hold one. */
const cookAudit = newApiKey();
let service: ServiceHere;
let keys: Record<'edc' | 'auditor' | 'auditOnly' | 'blinded' | 'writer' | 'wardAudit', string>;
let auditor: ReturnType<typeof clientOf>;
/** The list of participants, first empty, then after each randomization. */
const lists: unknown[] = [];
let times: string[];

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc'],
    auditor: ['auditor', '--scope', 'read,audit'],
    auditOnly: ['inspector', '--scope', 'audit'],
    blinded: ['monitor', '--scope', 'blinded'],
    writer: ['site', '--scope', 'randomize'],
    wardAudit: ['auditor', '--scope', 'read,audit', '--study', 'Ward'],
  });
  service = await serveHere(data, TRIALS);
  auditor = clientOf(service.url, keys.auditor);
  lists.push(exactResults(await auditor.list('Sleep')));
  for (const [i, id] of IDS.entries()) {
    await clientOf(service.url, keys.edc).randomize('Sleep', id, LEVELS[i] ?? COOK);
    lists.push(exactResults(await auditor.list('Sleep')));
    // An instant cannot distinguish events within one millisecond.
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  await commandOk(['studies', 'pause', 'Sleep', '--reason', 'a question', '--data', data]);
  const ofSleep = storedLog(data).filter(
    ({ record }) => record.data.participantId || record.data.configuration?.name === 'Sleep',
  );
  times = ofSleep.map(({ record }) => record.at);
  appendFact(data, 'access', {
    type: 'ApiKeyIssued',
    data: {
      keyId: 'k00000000cook',
      user: 'site auditor',
      scopes: ['read', 'audit'],
      where: [{ factor: 'local_site', levels: [COOK.local_site] }],
    },
    sections: { credential: { sha256: keySha256(cookAudit) } },
  });
  await within(2_000, async () => (await clientOf(service.url, cookAudit).list('Sleep')).status === 200);
  await within(2_000, async () => revisionOf(await auditor.list('Sleep')) === '6');
});
afterAll(() => service.stop());

const revisionOf = ({ headers }: Answer) => headers.get('urn-revision');

describe('GET /explanation', () => {
  it('explains why a participant got this arm, and shows the revision of its record', async () => {
    for (const [i, id] of IDS.entries()) {
      const answer = await auditor.explain('Sleep', id);
      const [record] = (await auditor.list('Sleep', { id })).results;
      expect(answer).toMatchObject({
        status: 200,
        results: {
          ...{ id, study: 'Sleep', revision: i + 1, trt: record.trt, user: 'edc', agrees: true },
          ...{ differences: [], earlier_participants: i, treatments: ['ZZTREATA', 'ZZTREATB'] },
          ...{ D: 'chisquare', w: 1, alpha: 0, beta: 1 },
        },
      });
      expect(revisionOf(answer)).toBe(String(i + 1));
      const exact = exactResults(answer) as { bg_state_after: unknown };
      const [shown] = exactResults(await auditor.list('Sleep', { id })) as { bg_state: unknown }[];
      expect(exact.bg_state_after).toEqual(shown?.bg_state);
    }
  });

  it('writes 128-bit integers as bare numbers, as the contract does in bg_state', async () => {
    const { text } = await auditor.explain('Sleep', 'p1');
    expect(text).toMatch(/"bg_state_before":\{[^}]*"state":\{"inc":\d{20,39},"state":\d{20,39}\}/);
  });

  it('is for audit keys, with or without read', async () => {
    expect((await clientOf(service.url, keys.auditOnly).explain('Sleep', 'p0')).status).toBe(200);
    for (const key of [keys.edc, keys.blinded, keys.writer])
      expect(await clientOf(service.url, key).explain('Sleep', 'p0')).toMatchObject({
        status: 403,
        message: 'This API key lacks the scope audit',
        results: [],
      });
  });

  it('checks in the order of the contract', async () => {
    const get = (key: string | undefined, parameters: Record<string, string>) =>
      ask(service.url, '/explanation', { key, parameters });
    expect(await get(undefined, {})).toMatchObject({ status: 401 });
    expect(await get(keys.auditor, { id: 'p0' })).toMatchObject({ status: 400, message: 'study is missing' });
    expect(await get(keys.edc, { study: 'Dream' })).toMatchObject({ status: 404 });
    expect(await get(keys.wardAudit, { study: 'Sleep', id: 'p0' })).toMatchObject({ status: 404 });
    expect(await get(keys.edc, { study: 'Sleep', x: 'y' })).toMatchObject({ status: 403 });
    expect(await get(keys.auditor, { study: 'Sleep', x: 'y' })).toMatchObject({
      status: 400,
      message: 'x is not a parameter of explanation; id is missing',
    });
    expect(await get(keys.auditor, { study: 'Sleep', id: 'p9' })).toMatchObject({
      status: 404,
      message: 'This study has no participant "p9"',
    });
  });

  it('reveals nothing about other levels to a key that is limited to levels', async () => {
    const cook = clientOf(service.url, cookAudit);
    expect((await cook.explain('Sleep', 'p0')).status).toBe(200);
    const outside = await cook.explain('Sleep', 'p1');
    const nobody = await cook.explain('Sleep', 'p9');
    expect(outside).toMatchObject({ status: 404, results: [] });
    expect(outside.message).toBe(nobody.message.replace('p9', 'p1'));
    expect(revisionOf(outside)).toBe(revisionOf(nobody));
  });
});

describe('GET /balance', () => {
  it('counts the participants with each level on each treatment', async () => {
    const answer = await auditor.balance('Sleep');
    expect(answer.status).toBe(200);
    expect(revisionOf(answer)).toBe('6');
    const list = (await auditor.list('Sleep')).results as Record<string, string>[];
    const { treatments, totals, factors } = answer.results;
    const count = (of: (one: Record<string, string>) => boolean) =>
      treatments.map((arm: string) => list.filter((one) => one['trt'] === arm && of(one)).length);
    expect(treatments).toEqual(['ZZTREATA', 'ZZTREATB']);
    expect(totals).toEqual(count(() => true));
    expect(factors.map(({ factor }: { factor: string }) => factor)).toEqual(['sex', 'local_site']);
    for (const { factor, levels } of factors)
      for (const { level, counts } of levels)
        expect(counts).toEqual(count((one) => one[`f_${factor}`] === level));
  });

  it('is for audit keys that may see everybody', async () => {
    for (const key of [keys.edc, keys.blinded, keys.writer])
      expect((await clientOf(service.url, key).balance('Sleep')).status).toBe(403);
    expect(await clientOf(service.url, cookAudit).balance('Sleep')).toMatchObject({
      status: 403,
      message: expect.stringContaining('limited to some levels'),
    });
    expect(await auditor.balance('Sleep', { id: 'p0' })).toMatchObject({
      status: 400,
      message: 'id is not a parameter of balance',
    });
  });
});

describe('urn.revision and urn.at', () => {
  it('list the participants as they were listed at the time', async () => {
    for (const [revision, shown] of lists.entries()) {
      const then = await auditor.list('Sleep', { 'urn.revision': String(revision) });
      expect(revisionOf(then)).toBe(String(revision));
      expect(exactResults(then)).toEqual(shown);
      const at = await auditor.list('Sleep', { 'urn.at': times[revision] ?? '' });
      expect(revisionOf(at)).toBe(String(revision));
      expect(exactResults(at)).toEqual(shown);
    }
  });

  it('can be combined with filters, and with the limits of a key', async () => {
    const parameters = { 'urn.revision': '3' };
    const ids = ({ results }: Answer) => results.map(({ id }: { id: string }) => id);
    expect(ids(await auditor.list('Sleep', { ...parameters, sex: 'Male' }))).toEqual(['p0', 'p2']);
    expect(ids(await auditor.list('Sleep', { ...parameters, id: 'p3' }))).toEqual([]);
    expect(ids(await clientOf(service.url, cookAudit).list('Sleep', parameters))).toEqual(['p0']);
  });

  it('apply to the configuration and the balance, too', async () => {
    const { results, ...config } = await auditor.config('Sleep', { 'urn.revision': '0' });
    expect(results).toEqual((await auditor.config('Sleep')).results);
    expect(config.headers.get('urn-revision')).toBe('0');
    const sums = [];
    for (let revision = 0; revision <= 6; revision++) {
      const answer = await auditor.balance('Sleep', { 'urn.revision': String(revision) });
      expect(revisionOf(answer)).toBe(String(revision));
      sums.push(answer.results.totals.reduce((sum: number, n: number) => sum + n, 0));
    }
    expect(sums).toEqual([0, 1, 2, 3, 4, 5, 5]);
  });

  it('show the present for an instant in the future', async () => {
    const answer = await auditor.balance('Sleep', { 'urn.at': '2999-01-01T00:00Z' });
    expect({ status: answer.status, revision: revisionOf(answer) }).toEqual({ status: 200, revision: '6' });
  });

  it.each(['/study_participants', '/study_config', '/balance'])(
    'are refused by %s if it cannot answer them',
    async (path) => {
      const get = (parameters: Record<string, string>, key = keys.auditor) =>
        ask(service.url, path, { key, parameters: { study: 'Sleep', ...parameters } });
      const refused: [Record<string, string>, RegExp][] = [
        [{ 'urn.revision': '7' }, /^urn\.revision is beyond the study, which is at revision 6$/],
        [{ 'urn.revision': '-1' }, /^urn\.revision is not a whole number/],
        [{ 'urn.revision': '' }, /^urn\.revision is not a whole number/],
        [{ 'urn.at': 'yesterday' }, /^urn\.at is not an instant in UTC, such as/],
        [{ 'urn.at': '2001-01-01T00:00Z' }, /^urn\.at is before the study, which was registered at 20/],
        [{ 'urn.at': '2999-01-01T00:00Z', 'urn.revision': '1' }, /cannot be combined/],
        [{ 'urn.min_revision': 'x' }, /^urn\.min_revision is not a whole number/],
        [{ 'urn.revision': 'x', y: 'z' }, /y is not a parameter.*; |; y is not a parameter/],
      ];
      for (const [parameters, expectedMessage] of refused)
        expect(await get(parameters)).toMatchObject({
          status: 400,
          message: expect.stringMatching(expectedMessage),
          results: path === '/study_config' ? {} : [],
        });
    },
  );

  it.each(['/study_participants', '/study_config'])(
    'on %s need audit in addition to what the route needs: 403, whatever else is wrong',
    async (path) => {
      const get = (key: string, parameters: Record<string, string>) =>
        ask(service.url, path, { key, parameters: { study: 'Sleep', ...parameters } });
      for (const key of [keys.edc, keys.blinded])
        for (const parameters of [{ 'urn.revision': '1' }, { 'urn.at': 'x', y: 'z' }])
          expect(await get(key, parameters)).toMatchObject({
            status: 403,
            message: 'This API key lacks the scope audit, which urn.revision and urn.at need',
          });
      expect((await get(keys.auditOnly, { 'urn.revision': '1' })).status).toBe(403);
    },
  );

  it('are ignored by POST, like other unknown parameters', async () => {
    const client = clientOf(service.url, keys.edc);
    const answer = await client.randomize('Ward', 'w', { ward: 'a', 'urn.revision': '0', 'urn.at': 'x' });
    expect(answer.status).toBe(200);
    expect(revisionOf(answer)).toBe('1');
  });
});

describe('urn.min_revision', () => {
  const get = (path: string, revision: string) =>
    ask(service.url, path, {
      key: keys.auditor,
      parameters: {
        study: 'Sleep',
        'urn.min_revision': revision,
        ...(path === '/explanation' && { id: 'p0' }),
      },
    });

  it.each(['/study_participants', '/study_config', '/balance', '/explanation', '/records', '/checkpoint'])(
    'on %s is answered at once if it is already shown',
    async (path) => {
      for (const revision of ['0', '6']) expect((await get(path, revision)).status).toBe(200);
    },
  );

  it('is waited for, but not forever: the 503 says which revision is shown', async () => {
    const answer = await get('/study_participants', '7');
    expect(answer).toMatchObject({
      status: 503,
      message: expect.stringMatching(
        /^This instance shows revision 6 of the study, and 7 did not arrive within 5 s/,
      ),
      results: [],
    });
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  it('is answered as soon as the revision is there', async () => {
    const waiting = ask(service.url, '/study_participants', {
      key: keys.auditor,
      parameters: { study: 'Ward', 'urn.min_revision': '2' },
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const written = await clientOf(service.url, keys.edc).randomize('Ward', 'waited', { ward: 'a' });
    expect(revisionOf(written)).toBe('2');
    const answer = await waiting;
    // After 5 s it would have been 503.
    expect(answer.status).toBe(200);
    expect(answer.results.map(({ id }: { id: string }) => id)).toContain('waited');
  });

  it('is checked after scope and study, and ignored by POST', async () => {
    const parameters = { study: 'Sleep', 'urn.min_revision': '99' };
    expect((await ask(service.url, '/study_participants', { key: keys.writer, parameters })).status).toBe(
      403,
    );
    const elsewhere = { ...parameters, study: 'Nowhere' };
    const list = () => ask(service.url, '/study_participants', { key: keys.auditor, parameters: elsewhere });
    expect((await list()).status).toBe(404);
    const posted = await clientOf(service.url, keys.edc).randomize('Ward', 'posted', {
      ward: 'a',
      'urn.min_revision': '99',
    });
    expect(posted.status).toBe(200);
  });
});

describe('urn studies show', () => {
  const show = async (...args: string[]) =>
    JSON.parse(await commandOk(['studies', 'show', 'Sleep', '--json', '--data', data, ...args]));

  it('shows a study as of a revision or an instant, as HTTP does', async () => {
    const now = await show();
    expect(now).toMatchObject({ state: 'paused', participants: 5, revision: 6 });
    expect(now).not.toHaveProperty('asOf');
    const asOf = { revision: 3, at: times[3], nextAt: times[4], lastRevision: 6 };
    const { results } = await auditor.balance('Sleep', { 'urn.revision': '3' });
    const then = { state: 'open', participants: 3, revision: 3, balance: results, asOf };
    expect(await show('--revision', '3')).toMatchObject(then);
    expect(await show('--at', times[3] ?? '')).toMatchObject(then);
    // A day includes all of it.
    const today = (times.at(-1) ?? '').slice(0, 10);
    expect(await show('--at', today)).toMatchObject({ participants: 5, asOf: { revision: 6 } });
  });

  it('says in words which revision that is, and when the next event was', async () => {
    const text = await commandOk(['studies', 'show', 'Sleep', '--revision', '3', '--data', data]);
    expect(text).toMatch(/^as of +revision 3, of 20\S+Z$/m);
    expect(text).toMatch(/^not shown +3 later events, the first of 20\S+Z$/m);
    expect(text).toMatch(/^participants +3 participants$/m);
  });

  it.each([
    [['--revision', '7'], /is beyond the study, which is at revision 6/],
    [['--revision', 'x'], /is not a whole number/],
    [['--at', '2026-01'], /is not a day, or an instant in UTC/],
    [['--at', '2001-01-01'], /is before the study/],
    [['--at', '2001-01-01T00:00Z'], /is before the study/],
    [['--revision', '1', '--at', '2999-01-01T00:00Z'], /cannot be used with/],
  ])('refuses %j with exit code 2', async (args, expectedMessage) => {
    await expect(commandOk(['studies', 'show', 'Sleep', '--data', data, ...args])).rejects.toThrow(
      expectedMessage,
    );
  });
});

it('/openapi.json describes all parameters for looking back', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: the test checks what is in it.
  const document: any = await (await fetch(`${service.url}/openapi.json`)).json();
  const { paths, components } = document;
  for (const path of ['/study_participants', '/study_config', '/balance'])
    expect(paths[path].get.parameters.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['urn.min_revision', 'urn.revision', 'urn.at']),
    );
  expect(paths['/explanation'].get.description).toContain('`audit`');
  const { Explanation, Balance } = components.schemas;
  const [ofUrns] = Explanation.anyOf;
  expect(Object.keys(ofUrns.properties)).toEqual(
    expect.arrayContaining(Object.keys((await auditor.explain('Sleep', 'p0')).results)),
  );
  expect(ofUrns.properties.bg_state_before.properties.state.properties.inc.type).toBe('integer');
  expect(Object.keys(Balance.properties)).toEqual([
    'treatments',
    'ratio',
    'totals',
    'factors',
    'counted',
    'voided',
  ]);
});
