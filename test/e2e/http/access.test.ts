import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, ask, clientOf, within } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { issueKey, issueKeys, type Service, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
let service: ServiceHere;

/** What a key with these scopes may do, and what its records and configuration show. */
const SCOPES = [
  { scope: 'read', reads: true, writes: false, trt: true, seed: false },
  { scope: 'blinded', reads: true, writes: false, trt: false, seed: false },
  { scope: 'randomize', reads: false, writes: true, trt: false, seed: false },
  { scope: 'audit', reads: false, writes: false, trt: false, seed: true },
  { scope: 'read,randomize', reads: true, writes: true, trt: true, seed: false },
  { scope: 'blinded,randomize', reads: true, writes: true, trt: false, seed: false },
  { scope: 'read,audit', reads: true, writes: false, trt: true, seed: true },
  { scope: 'read,blinded', reads: true, writes: false, trt: true, seed: false },
  { scope: 'randomize,audit', reads: false, writes: true, trt: false, seed: true },
  { scope: 'read,randomize,audit', reads: true, writes: true, trt: true, seed: true },
] as const;

const LIMITED = {
  admin: ['admin'],
  wardOnly: ['admin', '--study', 'Ward'],
  twoStudies: ['admin', '--study', 'Ward', '--study', 'Sleep'],
  unregistered: ['admin', '--study', 'Never'],
  cook: ['cook', '--where', `local_site=${COOK.local_site}`],
  cookOrKane: [
    'both',
    '--where',
    `local_site=${COOK.local_site}`,
    '--where',
    `local_site=${KANE.local_site}`,
  ],
  dupageMen: ['men', '--where', `local_site=${DUPAGE.local_site}`, '--where', 'sex=Male'],
  blindCook: ['blind', '--scope', 'blinded', '--where', `local_site=${COOK.local_site}`],
  nobody: ['nobody', '--where', 'local_site=No such site'],
} as const;

let scoped: Record<string, string>;
let limited: Record<keyof typeof LIMITED, string>;

beforeAll(async () => {
  const grants = SCOPES.map(({ scope }) => {
    const args = ['user', '--scope', scope, ...(/randomize,audit/.test(scope) ? ['--allow-prediction'] : [])];
    return [scope, args] as const;
  });
  scoped = await issueKeys(data, Object.fromEntries(grants));
  limited = await issueKeys(data, LIMITED);
  service = await serveHere(data, TRIALS);
  const { randomize } = clientOf(service.url, limited.admin);
  await randomize('Sleep', 'in-cook', COOK);
  await randomize('Sleep', 'in-dupage', DUPAGE);
  await randomize('Sleep', 'man-in-dupage', { ...DUPAGE, sex: 'Male' });
  await randomize('Sleep', 'in-kane', KANE);
  await randomize('Ward', 'in-a', { ward: 'a' });
});
afterAll(() => service.stop());

const as = (key: string) => clientOf(service.url, key);
const idsOf = ({ results }: Answer) => results.map(({ id }: { id: string }) => id);

describe.each(SCOPES)('a key with the scopes $scope', ({ scope, reads, writes, trt, seed }) => {
  const key = () => as(scoped[scope] ?? '');
  const members = ['id', 'f_sex', 'f_local_site', ...(trt ? ['trt'] : []), 'datetime', 'user'];
  const expected = seed ? [...members, 'bg_state'] : members;

  it(`${reads ? 'reads' : 'may not read'} the configuration`, async () => {
    const { status, results } = await key().config('Sleep');
    expect(status).toBe(reads ? 200 : 403);
    expect('starting_seed' in results).toBe(reads && seed);
  });

  it(`${reads ? 'lists' : 'may not list'} participants`, async () => {
    const { status, results } = await key().list('Sleep', { id: 'in-cook' });
    expect(status).toBe(reads ? 200 : 403);
    if (reads) expect(Object.keys(results[0])).toEqual(expected);
  });

  it(`${writes ? 'randomizes' : 'may not randomize'}`, async () => {
    const { status, results } = await key().randomize('Sleep', `by ${scope}`, COOK);
    expect(status).toBe(writes ? 200 : 403);
    if (writes) expect(Object.keys(results[0])).toEqual(expected);
    else expect((await as(limited.admin).list('Sleep', { id: `by ${scope}` })).results).toEqual([]);
  });
});

describe('a key limited to studies', () => {
  it('sees only those studies', async () => {
    expect((await as(limited.wardOnly).config('Ward')).status).toBe(200);
    expect((await as(limited.twoStudies).config('Ward')).status).toBe(200);
    expect((await as(limited.twoStudies).config('Sleep')).status).toBe(200);
  });

  /** An answer, all but the time and the name of the study. */
  const faceOf = (answer: Answer, study: string) => ({
    headers: [...answer.headers].filter(([name]) => name !== 'date' && name !== 'content-length'),
    status: answer.status,
    text: answer.text.replaceAll(study, 'NAME'),
  });

  it.each(['config', 'list', 'randomize'] as const)(
    'cannot tell other studies from ones that do not exist: %s',
    async (what) => {
      const { config, list, randomize } = as(limited.wardOnly);
      const operation = { config, list, randomize: (study: string) => randomize(study, 'x', COOK) }[what];
      const hidden = faceOf(await operation('Sleep'), 'Sleep');
      const absent = faceOf(await operation('Dream'), 'Dream');
      expect(hidden.status).toBe(404);
      expect(hidden).toEqual(absent);
    },
  );

  it('cannot tell a study that lacks the factor it is limited to from one that does not exist', async () => {
    const hidden = await as(limited.cook).list('Ward');
    expect(faceOf(hidden, 'Ward')).toEqual(faceOf(await as(limited.cook).list('Dream'), 'Dream'));
    expect((await as(limited.cook).randomize('Ward', 'x', { ward: 'a' })).status).toBe(404);
    expect((await as(limited.cook).config('Ward')).status).toBe(404);
  });

  it('may name a study that does not exist yet', async () => {
    expect((await as(limited.unregistered).config('Never')).status).toBe(404);
    expect((await as(limited.unregistered).config('Ward')).status).toBe(404);
  });
});

describe('a key limited to levels', () => {
  it.each([
    ['cook', ['in-cook']],
    ['cookOrKane', ['in-cook', 'in-kane']],
    ['dupageMen', ['man-in-dupage']],
    ['blindCook', ['in-cook']],
    ['nobody', []],
  ] as const)('%s lists participants with one of its levels in each factor', async (name, expected) => {
    const ids = idsOf(await as(limited[name]).list('Sleep')).filter((id: string) => !id.startsWith('by '));
    expect(ids).toEqual(expected);
  });

  it('gets 200 with no results for a filter outside its levels', async () => {
    const { list } = as(limited.cook);
    expect(await list('Sleep', { local_site: DUPAGE.local_site })).toMatchObject({
      status: 200,
      results: [],
    });
    expect(await list('Sleep', { id: 'in-dupage' })).toMatchObject({ status: 200, results: [] });
    expect(idsOf(await list('Sleep', { id: 'in-cook', sex: 'Male' }))).toEqual(['in-cook']);
  });

  it('reads the whole configuration', async () => {
    expect((await as(limited.cook).config('Sleep')).results.factors.local_site).toHaveLength(3);
  });

  it('gets 200 for a POST inside its levels, and 403 for one outside, which writes nothing', async () => {
    expect((await as(limited.cook).randomize('Sleep', 'cook-1', COOK)).status).toBe(200);
    expect(await as(limited.cook).randomize('Sleep', 'cook-2', DUPAGE)).toMatchObject({
      status: 403,
      results: [],
    });
    expect((await as(limited.dupageMen).randomize('Sleep', 'cook-2', DUPAGE)).status).toBe(403);
    expect((await as(limited.cookOrKane).randomize('Sleep', 'cook-3', KANE)).status).toBe(200);
    expect((await as(limited.admin).list('Sleep', { id: 'cook-2' })).results).toEqual([]);
  });

  it("does not see another site's participant when it sends the same id", async () => {
    const answer = await as(limited.cook).randomize('Sleep', 'in-dupage', COOK);
    const message = 'Participant in-dupage is already assigned';
    expect(answer).toMatchObject({ status: 400, message, results: [] });
  });
});

describe('a running service notices within a second', () => {
  const status = async (key: string) => (await as(key).config('Sleep')).status;

  it('a new key, and its revocation', async () => {
    const key = await issueKey(data, 'temporary');
    await within(1_000, async () => (await status(key)) === 200);
    const listed = JSON.parse(await commandOk(['keys', 'list', '--json', '--data', data])) as {
      keyId: string;
      user: string;
    }[];
    const { keyId = '' } = listed.find(({ user }) => user === 'temporary') ?? {};
    await commandOk(['keys', 'revoke', keyId, '--reason', 'left the trial', '--data', data]);
    await within(1_000, async () => (await status(key)) === 401);
    expect((await as(key).config('Sleep')).message).toMatch(/unknown, revoked or expired/);
  });

  it('the expiry of a key', async () => {
    // How long a command takes depends on the machine.
    const started = Date.now();
    await issueKey(data, 'colleague');
    const end = Date.now() + 1_000 + 2 * (Date.now() - started);
    const key = await issueKey(data, 'guest', '--expires', new Date(end).toISOString());
    await within(1_000, async () => (await status(key)) === 200);
    await within(end + 1_000 - Date.now(), async () => (await status(key)) === 401);
    expect(Date.now()).toBeGreaterThanOrEqual(end);
  });
});

describe('failed attempts', () => {
  let guarded: Service;
  beforeAll(async () => {
    guarded = await serve({ data, studies: TRIALS, args: ['--trust-proxy'] });
  });
  afterAll(() => guarded.stop());

  it('are limited per address, but a valid key from there is never refused', async () => {
    const from = (address: string, key: string) =>
      ask(guarded.url, '/study_config', {
        parameters: { study: 'Ward' },
        key,
        headers: { 'X-Forwarded-For': address },
      });
    const statuses = [];
    for (let i = 0; i < 40; i++) {
      statuses.push((await from('192.0.2.1', `guess ${i}`)).status);
      expect((await from('192.0.2.1', limited.admin)).status).toBe(200);
    }
    expect(statuses).toEqual([...Array(30).fill(401), ...Array(10).fill(429)]);

    const refused = await from('192.0.2.1', 'guess');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(refused.results).toEqual({});
    expect((await from('192.0.2.2', 'guess')).status).toBe(401);
  });
});
