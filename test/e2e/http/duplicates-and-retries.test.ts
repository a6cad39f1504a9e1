import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, clientOf } from '../../support/client.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
let service: ServiceHere;
/** Another instance on the same log. */
let second: ServiceHere;
const OF_COOK = ['--where', `local_site=${COOK.local_site}`];
const GRANTS = {
  edc: ['edc'],
  sameUser: ['edc', '--scope', 'randomize'],
  otherUser: ['site-30'],
  writer: ['writer', '--scope', 'randomize'],
  blindWriter: ['blind', '--scope', 'blinded,randomize'],
  predictor: ['predictor', '--scope', 'read,randomize,audit', '--allow-prediction'],
  blindPredictor: ['odd', '--scope', 'randomize,audit', '--allow-prediction'],
  cook: ['cook', ...OF_COOK],
  blindCook: ['cook', '--scope', 'blinded,randomize', ...OF_COOK],
} as const;
let keys: Record<keyof typeof GRANTS, string>;

beforeAll(async () => {
  keys = await issueKeys(data, GRANTS);
  service = await serveHere(data, TRIALS);
  second = await serveHere(data, TRIALS);
});
afterAll(() => Promise.all([service.stop(), second.stop()]));

const as = (key: keyof typeof keys, at = service) => clientOf(at.url, keys[key]);
const WITH_ARM = ['id', 'f_sex', 'f_local_site', 'trt', 'datetime', 'user'];
const WITHOUT_ARM = WITH_ARM.filter((name) => name !== 'trt');
const membersOf = ({ results }: Answer) => Object.keys(results[0]);

describe('an id that is already assigned is 400, and the study does not change', () => {
  let first: Answer;
  beforeAll(async () => {
    first = await as('edc').randomize('Sleep', 'taken', COOK);
  });

  it.each([
    ['edc', WITH_ARM],
    ['otherUser', WITH_ARM],
    ['blindWriter', WITHOUT_ARM],
    ['predictor', [...WITH_ARM, 'bg_state']],
  ] as const)(
    'equal levels: %s, which may read, gets the record, rendered for its scopes',
    async (key, members) => {
      const answer = await as(key).randomize('Sleep', 'taken', COOK);
      expect(answer).toMatchObject({ status: 400, message: 'Participant taken is already assigned' });
      expect(membersOf(answer)).toEqual(members);
      expect(answer.results[0]).toMatchObject({
        id: 'taken',
        user: 'edc',
        datetime: first.results[0].datetime,
      });
      if (members.includes('trt')) expect(answer.results[0].trt).toBe(first.results[0].trt);
    },
  );

  it.each(['edc', 'blindWriter', 'predictor'] as const)(
    'other levels: %s, which may read, is told which factors differ, and gets no record',
    async (key) => {
      const message = 'Participant taken is already assigned, with other levels of: ';
      expect(await as(key).randomize('Sleep', 'taken', KANE)).toMatchObject({
        status: 400,
        message: `${message}local_site`,
        results: [],
      });
      expect((await as(key).randomize('Sleep', 'taken', DUPAGE)).message).toBe(`${message}sex, local_site`);
    },
  );

  it.each(['writer', 'blindPredictor'] as const)(
    '%s, which may not read, gets the same answer whether or not the levels agree',
    async (key) => {
      const same = await as(key).randomize('Sleep', 'taken', COOK);
      const other = await as(key).randomize('Sleep', 'taken', DUPAGE);
      expect(same).toMatchObject({
        status: 400,
        message: 'Participant taken is already assigned',
        results: [],
      });
      expect(other.text).toBe(same.text);
    },
  );

  it.each(['cook', 'blindCook'] as const)(
    '%s, which is limited to a site, learns nothing about a participant of another site',
    async (key) => {
      const message = 'Participant of Dupage is already assigned';
      await as('edc').randomize('Sleep', 'of Dupage', DUPAGE);
      const answers = [
        await as(key).randomize('Sleep', 'of Dupage', COOK),
        await as(key).randomize('Sleep', 'of Dupage', { ...COOK, sex: DUPAGE.sex }),
      ];
      for (const answer of answers) expect(answer).toMatchObject({ status: 400, message, results: [] });
      expect(answers[0]?.text).toBe(answers[1]?.text);
      // It is told about its own site, like any other key.
      const own = await as(key).randomize('Sleep', 'taken', { ...COOK, sex: 'Female' });
      expect(own.message).toBe('Participant taken is already assigned, with other levels of: sex');
      expect(membersOf(await as(key).randomize('Sleep', 'taken', COOK))).toEqual(
        key === 'cook' ? WITH_ARM : WITHOUT_ARM,
      );
    },
  );

  it('invalid levels for an assigned id get their own 400', async () => {
    const { message } = await as('edc').randomize('Sleep', 'taken', { ...COOK, sex: 'male' });
    expect(message).toMatch(/^sex has no level/);
  });

  it('the generator does not move and nothing is written', async () => {
    const before = await as('predictor').list('Sleep');
    for (const levels of [COOK, DUPAGE]) await as('edc').randomize('Sleep', 'taken', levels);
    const after = await as('predictor').list('Sleep');
    expect(after.text).toBe(before.text);
    expect(after.headers.get('urn-revision')).toBe(before.headers.get('urn-revision'));
  });
});

describe('Idempotency-Key', () => {
  const used = () => ({ 'Idempotency-Key': randomUUID() });

  it('repeats the same request as 200 with the same record, and the study does not change', async () => {
    const retry = used();
    const first = await as('edc').randomize('Sleep', 'retried', COOK, retry);
    const again = await as('edc').randomize('Sleep', 'retried', COOK, retry);
    expect(first.status).toBe(200);
    expect(again.text).toBe(first.text);
    expect(again.headers.get('urn-revision')).toBe(first.headers.get('urn-revision'));
    expect([first, again].map(({ headers }) => headers.get('urn-repeated'))).toEqual([null, 'true']);
  });

  it('repeats the record with the fields that the current key’s scopes allow', async () => {
    const retry = used();
    const first = await as('edc').randomize('Sleep', 'rendered', COOK, retry);
    const again = await as('sameUser').randomize('Sleep', 'rendered', COOK, retry);
    expect(again.status).toBe(200);
    expect(membersOf(first)).toEqual(WITH_ARM);
    expect(membersOf(again)).toEqual(WITHOUT_ARM);
  });

  it.each([
    ['another id', 'elsewhere', COOK],
    ['other levels', 'bound', DUPAGE],
    ['both', 'elsewhere', DUPAGE],
  ])('with %s is 422, and nothing is written', async (_, id, levels) => {
    const retry = used();
    const original = `bound ${id} ${levels.sex}`;
    const { headers } = await as('edc').randomize('Sleep', original, COOK, retry);
    const answer = await as('edc').randomize('Sleep', id === 'bound' ? original : id, levels, retry);
    expect(answer).toMatchObject({ status: 422, results: [] });
    expect(answer.headers.get('urn-revision')).toBe(headers.get('urn-revision'));
    expect((await as('edc').list('Sleep', { id: 'elsewhere' })).results).toEqual([]);
  });

  it('belongs to the user and the study', async () => {
    const retry = used();
    expect((await as('edc').randomize('Sleep', 'mine', COOK, retry)).status).toBe(200);
    expect((await as('otherUser').randomize('Sleep', 'theirs', DUPAGE, retry)).status).toBe(200);
    expect((await as('otherUser').randomize('Sleep', 'mine', COOK, retry)).status).toBe(422);
    expect((await as('edc').randomize('Ward', 'two of two', { ward: 'a' }, retry)).status).toBe(200);
    // One that is missing or different is no retry.
    for (const headers of [{}, used()])
      expect((await as('edc').randomize('Sleep', 'mine', COOK, headers)).status).toBe(400);
  });

  it('is used up only by success', async () => {
    const retry = used();
    expect((await as('edc').randomize('Sleep', 'later', { sex: 'Male' }, retry)).status).toBe(400);
    await as('edc').randomize('Sleep', 'earlier', COOK);
    expect((await as('edc').randomize('Sleep', 'earlier', COOK, retry)).status).toBe(400);
    expect((await as('edc').randomize('Sleep', 'later', KANE, retry)).status).toBe(200);
  });

  it('works across two instances that serve one log at the same time', async () => {
    const retry = used();
    const [one, two] = await Promise.all(
      [service, second].map((at) => as('edc', at).randomize('Sleep', 'across', COOK, retry)),
    );
    expect(one?.status).toBe(200);
    expect(two?.text).toBe(one?.text);
    const other = await as('edc', second).randomize('Sleep', 'across', DUPAGE, retry);
    expect(other.status).toBe(422);
  });

  it('survives a restart', async () => {
    const retry = used();
    const first = await as('edc').randomize('Sleep', 'survivor', COOK, retry);
    await service.stop();
    service = await serveHere(data, TRIALS);
    const again = await as('edc').randomize('Sleep', 'survivor', COOK, retry);
    expect(again.status).toBe(200);
    expect(again.text).toBe(first.text);
  });
});
