/**
 * Which check of a request comes first; and ids that are assigned already, and requests that are repeated, as each key sees
 * them. The rules: test/unit/study/decide.test.ts.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { asCommand } from '../../support/acts.ts';
import { type Answer, ask, type Parameters } from '../../support/client.ts';
import { OPERATOR } from '../../support/facts.ts';
import { served } from '../../support/served.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const OF_COOK = ['--where', `local_site=${COOK.local_site}`];

const IN_SLEEP = { 'Idempotency-Key': 'used-in-sleep' };
const http = served(
  TRIALS,
  {
    full: ['edc', '--scope', 'read,randomize'],
    reader: ['reader', '--scope', 'read'],
    writer: ['writer', '--scope', 'randomize'],
    wardReader: ['reader', '--study', 'Ward', '--scope', 'read'],
    cook: ['edc', '--scope', 'read,randomize', ...OF_COOK],
    revoked: ['leaver', '--scope', 'read,randomize'],
    sameUser: ['edc', '--scope', 'randomize'],
    otherUser: ['site-30'],
    blindWriter: ['blind', '--scope', 'blinded,randomize'],
    predictor: ['predictor', '--scope', 'read,randomize,audit', '--allow-prediction'],
    blindPredictor: ['odd', '--scope', 'randomize,audit', '--allow-prediction'],
    blindCook: ['cook', '--scope', 'blinded,randomize', ...OF_COOK],
  },
  {
    data,
    filled: async (one) => {
      const { randomize } = one.as('full');
      await randomize('Sleep', 'first', COOK, IN_SLEEP);
      await randomize('Sleep', 'second', COOK);
      const { keys, studies } = one.service.log;
      const pause = asCommand({ act: 'StudyPaused', reason: 'a question to the board', user: 'operator' });
      await studies.submit(studies.streamOf('Ward'), pause, OPERATOR);
      const leaver = keys.list().find(({ user }) => user === 'leaver');
      await keys.revoke(leaver?.keyId ?? '', 'left', OPERATOR);
    },
  },
);
type KeyName = keyof typeof http.keys | 'guess' | 'none';

type Case = readonly [
  checks: string,
  key: KeyName,
  parameters: Parameters,
  status: number,
  message: RegExp,
  headers?: Record<string, string>,
];

const TWICE = [
  ['id', '1'],
  ['id', '2'],
] as const;
const SLEEP = { study: 'Sleep', id: 'new', ...COOK };
const OF_DUPAGE = { ...SLEEP, ...DUPAGE };
const WARD = { study: 'Ward', id: 'new', ward: 'a' };
const WARDS = { study: 'Sleep', wards: 'a' };
const UNKNOWN = /unknown, revoked or expired/;
const REUSED = /another request/;
const LIMITED = /^Nothing was recorded: this API key is limited to /;

/** Each fails two checks that are adjacent in the contract's order, and gets the answer of the earlier one. */
const POST: readonly Case[] = [
  ['malformed parameters, before a missing key', 'none', TWICE, 400, /more than once: id/],
  ['malformed parameters, before an unknown key', 'guess', TWICE, 400, /more than once: id/],
  ['two different keys, before either', 'full', SLEEP, 400, /Two different/, { 'X-API-Key': 'guess' }],
  ['a malformed header, before a missing key', 'none', SLEEP, 400, /-Key/, { 'Idempotency-Key': 'a b' }],
  ['a missing key, before a missing study', 'none', {}, 401, /key is missing/],
  ['an unknown key, before a missing study', 'guess', {}, 401, UNKNOWN],
  ['a revoked key, before a missing study', 'revoked', {}, 401, UNKNOWN],
  ['a missing study, before the scope', 'reader', {}, 400, /^study is missing$/],
  ['an empty study, which counts as missing', 'reader', { study: '' }, 400, /^study is missing$/],
  ['an unknown study, before the scope', 'reader', { study: 'Dream' }, 404, /no study named "Dream"/],
  ["a study not among the key's, before the scope", 'wardReader', SLEEP, 404, /no study named "Sleep"/],
  ['the scope, before id and factors', 'reader', { study: 'Sleep' }, 403, /lacks the scope randomize/],
  ['id and factors, before the limits', 'cook', { study: 'Sleep', ...DUPAGE }, 400, /^id is missing$/],
  ['the limits, before the Idempotency-Key', 'cook', OF_DUPAGE, 403, LIMITED, IN_SLEEP],
  ['the limits, before a duplicate', 'cook', { ...OF_DUPAGE, id: 'first' }, 403, LIMITED],
  // What comes between these is in the unit tests of decide.
  ['the Idempotency-Key, before a duplicate', 'full', { ...SLEEP, id: 'second' }, 422, REUSED, IN_SLEEP],
  ['the state of the study last', 'full', WARD, 409, /paused/],
];

/** What comes before is the same for all methods. */
const GET: readonly Case[] = [
  ['the scope, before an unknown parameter', 'writer', WARDS, 403, /lacks the scope read or blinded/],
  ['an unknown parameter last', 'full', WARDS, 400, /^wards is not a parameter/],
];

const keyOf = (name: KeyName) => (name === 'none' ? undefined : name === 'guess' ? name : http.keys[name]);

describe.each([
  ['POST', '/study_participants', POST],
  ['GET', '/study_participants', GET],
  ['GET', '/study_config', GET],
] as const)('%s %s checks', (method, path, cases) => {
  for (const [checks, key, parameters, status, message, headers = {}] of cases)
    it(checks, async () => {
      const answer = await ask(http.url, path, { method, key: keyOf(key), parameters, headers });
      expect(answer).toMatchObject({ status, message: expect.stringMatching(message) });
    });
});

it('an error carries the revision of the study only if the key may know the study', async () => {
  const revision = async (name: KeyName) => {
    const asked = { method: 'POST', key: keyOf(name), parameters: { study: 'Sleep' } };
    return (await ask(http.url, '/study_participants', asked)).headers.get('urn-revision');
  };
  for (const [name, shown] of Object.entries({ wardReader: null, reader: '2', full: '2' }))
    expect(await revision(name as KeyName), name).toBe(shown);
});

const WITH_ARM = ['id', 'f_sex', 'f_local_site', 'trt', 'datetime', 'user'];
const WITHOUT_ARM = WITH_ARM.filter((name) => name !== 'trt');
const membersOf = ({ results }: Answer) => Object.keys(results[0]);
const as = (key: keyof typeof http.keys) => http.as(key);
const refused = (message: string) => ({ status: 400, message, results: [] });
const TAKEN = 'Participant taken is already assigned';
const OTHER = `${TAKEN}, with other levels of: `;

describe('an id that is already assigned is 400', () => {
  let first: Answer;
  beforeAll(async () => {
    first = await as('full').randomize('Sleep', 'taken', COOK);
  });

  it.each([
    ['otherUser', WITH_ARM],
    ['blindWriter', WITHOUT_ARM],
    ['predictor', [...WITH_ARM, 'bg_state']],
  ] as const)(
    'to %s with the record, rendered for its scopes, or the factors that differ',
    async (...row) => {
      const [key, members] = row;
      const { randomize, list } = as(key);
      const before = await list('Sleep');
      const answer = await randomize('Sleep', 'taken', COOK);
      expect(answer).toMatchObject({ status: 400, message: TAKEN });
      expect(membersOf(answer)).toEqual(members);
      for (const [name, value] of Object.entries(first.results[0]))
        if (members.includes(name)) expect(answer.results[0][name]).toBe(value);
      expect(await randomize('Sleep', 'taken', KANE)).toMatchObject(refused(`${OTHER}local_site`));
      expect((await randomize('Sleep', 'taken', DUPAGE)).message).toBe(`${OTHER}sex, local_site`);
      // Nothing is written, and the generator does not move.
      expect((await list('Sleep')).text).toBe(before.text);
    },
  );

  it('to keys that may not read, whether or not the levels agree', async () => {
    for (const key of ['sameUser', 'blindPredictor'] as const) {
      const same = await as(key).randomize('Sleep', 'taken', COOK);
      expect(same).toMatchObject(refused(TAKEN));
      expect((await as(key).randomize('Sleep', 'taken', DUPAGE)).text).toBe(same.text);
    }
  });

  it('to a key of a site, which learns nothing about a participant of another site', async () => {
    await as('full').randomize('Sleep', 'of Dupage', DUPAGE);
    for (const sex of [COOK.sex, DUPAGE.sex])
      expect(await as('blindCook').randomize('Sleep', 'of Dupage', { ...COOK, sex })).toMatchObject(
        refused('Participant of Dupage is already assigned'),
      );
    // It is told about its own site, like any other key.
    const own = await as('blindCook').randomize('Sleep', 'taken', { ...COOK, sex: 'Female' });
    expect(own.message).toBe(`${OTHER}sex`);
    expect(membersOf(await as('blindCook').randomize('Sleep', 'taken', COOK))).toEqual(WITHOUT_ARM);
  });
});

it('an Idempotency-Key repeats the same request with what the scopes of the key allow, also after a restart', async () => {
  const ask = (key: keyof typeof http.keys) =>
    as(key).randomize('Sleep', 'retried', COOK, { 'Idempotency-Key': 'retry' });
  const recorded = await ask('full');
  expect(recorded.status).toBe(200);
  const again = await ask('full');
  expect(again.text).toBe(recorded.text);
  expect(again.headers.get('urn-revision')).toBe(recorded.headers.get('urn-revision'));
  expect([recorded, again].map(({ headers }) => headers.get('urn-repeated'))).toEqual([null, 'true']);
  const less = await ask('sameUser');
  expect([less.status, membersOf(less)]).toEqual([200, WITHOUT_ARM]);
  // The key is of another user, to whom this is another request.
  expect((await ask('otherUser')).status).toBe(400);
  await http.service.stop();
  http.service = await serveHere(data, TRIALS);
  expect((await ask('full')).text).toBe(recorded.text);
});
