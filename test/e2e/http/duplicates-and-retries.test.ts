/** Ids that are assigned already, and requests that are repeated, as each key sees them. The rules: test/unit/study/decide.test.ts. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, clientOf } from '../../support/client.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
let service: ServiceHere;
const OF_COOK = ['--where', `local_site=${COOK.local_site}`];
const GRANTS = {
  edc: ['edc'],
  sameUser: ['edc', '--scope', 'randomize'],
  otherUser: ['site-30'],
  blindWriter: ['blind', '--scope', 'blinded,randomize'],
  predictor: ['predictor', '--scope', 'read,randomize,audit', '--allow-prediction'],
  blindPredictor: ['odd', '--scope', 'randomize,audit', '--allow-prediction'],
  blindCook: ['cook', '--scope', 'blinded,randomize', ...OF_COOK],
} as const;
let keys: Record<keyof typeof GRANTS, string>;
let first: Answer;

beforeAll(async () => {
  keys = await issueKeys(data, GRANTS);
  service = await serveHere(data, TRIALS);
  first = await as('edc').randomize('Sleep', 'taken', COOK);
});
afterAll(() => service.stop());

const as = (key: keyof typeof keys) => clientOf(service.url, keys[key]);
const WITH_ARM = ['id', 'f_sex', 'f_local_site', 'trt', 'datetime', 'user'];
const WITHOUT_ARM = WITH_ARM.filter((name) => name !== 'trt');
const membersOf = ({ results }: Answer) => Object.keys(results[0]);
const refused = (message: string) => ({ status: 400, message, results: [] });
const TAKEN = 'Participant taken is already assigned';
const OTHER = `${TAKEN}, with other levels of: `;

describe('an id that is already assigned is 400', () => {
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
    await as('edc').randomize('Sleep', 'of Dupage', DUPAGE);
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

describe('Idempotency-Key', () => {
  const used = () => ({ 'Idempotency-Key': randomUUID() });

  it('repeats the same request with what the scopes of the key allow, also after a restart', async () => {
    const retry = used();
    const recorded = await as('edc').randomize('Sleep', 'retried', COOK, retry);
    expect(recorded.status).toBe(200);
    const again = await as('edc').randomize('Sleep', 'retried', COOK, retry);
    expect(again.text).toBe(recorded.text);
    expect(again.headers.get('urn-revision')).toBe(recorded.headers.get('urn-revision'));
    expect([recorded, again].map(({ headers }) => headers.get('urn-repeated'))).toEqual([null, 'true']);
    const less = await as('sameUser').randomize('Sleep', 'retried', COOK, retry);
    expect([less.status, membersOf(less)]).toEqual([200, WITHOUT_ARM]);
    await service.stop();
    service = await serveHere(data, TRIALS);
    expect((await as('edc').randomize('Sleep', 'retried', COOK, retry)).text).toBe(recorded.text);
  });

  it('belongs to the user, the study, the id and the levels', async () => {
    const retry = used();
    const asked = async (key: keyof typeof keys, id: string, levels: typeof COOK | typeof DUPAGE) =>
      (await as(key).randomize('Sleep', id, levels, retry)).status;
    expect(await asked('edc', 'mine', COOK)).toBe(200);
    expect(await asked('edc', 'mine', DUPAGE)).toBe(422);
    expect(await asked('edc', 'elsewhere', COOK)).toBe(422);
    expect((await as('edc').list('Sleep', { id: 'elsewhere' })).results).toEqual([]);
    expect(await asked('otherUser', 'theirs', DUPAGE)).toBe(200);
    expect(await asked('otherUser', 'mine', COOK)).toBe(422);
    expect((await as('edc').randomize('Ward', 'mine', { ward: 'a' }, retry)).status).toBe(200);
  });
});
