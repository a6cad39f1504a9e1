/** POST /study_participants with names that it does not know: no misspelt dry run randomizes anybody. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, clientOf } from '../../support/client.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDIES = `
Plain:
  mode: live
  treatments: [A, B]
  factors: {sex: [Male, Female]}
Odd:
  mode: test
  treatments: [A, B]
  factors: {dry_run: [yes, "true"], URN.site: [x, y]}
`;
const data = temporaryFolders()();
let service: ServiceHere;
let keys: Record<'edc' | 'manager', string>;

beforeAll(async () => {
  keys = await issueKeys(data, { edc: ['edc'], manager: ['manager', '--scope', 'manage'] });
  service = await serveHere(data, STUDIES);
});
afterAll(() => service.stop());

const randomize = (id: string, more: Record<string, string>, headers = {}, study = 'Plain') =>
  clientOf(service.url, keys.edc).randomize(study, id, { sex: 'Male', ...more }, headers);
const listed = async (study = 'Plain') => (await clientOf(service.url, keys.edc).list(study)).results.length;
const ignored = ({ headers }: Answer) => headers.get('urn-ignored');

it.each([
  'dry_run',
  'dryRun',
  'urn.dryrun',
  'URN.DRY_RUN',
  'urn_dry_run',
  'urn.dry-run',
  'Dry.Run',
  'dryrun',
])('%s randomizes nobody, and the answer says how a dry run is written', async (name) => {
  const { status, message, results } = await randomize('p', { [name]: 'true' });
  expect({ status, results }).toEqual({ status: 400, results: [] });
  expect(message).toBe(`${name} is not a parameter (hint: did you mean urn.dry_run?)`);
  expect(await listed()).toBe(0);
});

it('a misspelt Idempotency-Key among the parameters is refused, too', async () => {
  expect(await randomize('p', { idempotency_key: 'k1' })).toMatchObject({
    status: 400,
    message: 'idempotency_key is not a parameter (hint: send the header Idempotency-Key)',
  });
});

it('every problem is named at once, but only behind the key and the study', async () => {
  const { message } = await randomize('p', { dry_run: 'true', sex: 'male', f_sex: 'Male', 'urn.x': '' });
  expect(message).toMatch(/dry_run is not.*urn\.x is not.*f_sex: the prefix.*sex/);
  const without = clientOf(service.url, 'guess').randomize('Plain', 'p', { dry_run: 'true' });
  expect((await without).status).toBe(401);
  expect((await randomize('p', { dry_run: 'true' }, {}, 'Nowhere')).status).toBe(404);
});

it('a factor may have such a name, also when it is retired', async () => {
  const levels = { dry_run: 'true', 'URN.site': 'x' };
  const { randomize: enrol } = clientOf(service.url, keys.edc);
  expect((await enrol('Odd', '1', levels)).status).toBe(200);
  expect((await enrol('Odd', '2', { ...levels, 'dry-run': 'true' })).message).toBe(
    'dry-run is not a parameter (hint: did you mean urn.dry_run?)',
  );
  const amendment = await postJson(service.url, '/amendments', keys.manager, {
    ...{ study: 'Odd', amendment: 1, reason: 'no longer asked' },
    changes: [{ kind: 'factor-retired', factor: 'dry_run' }],
  });
  expect(amendment.status).toBe(200);
  expect((await enrol('Odd', '3', levels)).message).toBe('dry_run is retired (hint: leave it out)');
  expect((await enrol('Odd', '3', { 'URN.site': 'y' })).status).toBe(200);
});

describe('a parameter that means nothing to the service', () => {
  it('is named in the answer, whether somebody is randomized or not', async () => {
    const more = { phase: '2', 'e mail': 'x', '': '' };
    const dry = await randomize('n1', { ...more, 'urn.dry_run': 'true' });
    const randomized = await randomize('n1', more);
    const again = await randomize('n1', more);
    expect([dry, randomized, again].map(({ status }) => status)).toEqual([200, 200, 400]);
    expect([dry, randomized, again].map(ignored)).toEqual(Array(3).fill('phase, e%20mail'));
    expect(ignored(await randomize('n2', {}))).toBeNull();
  });

  it('with a line break in its name does not fail a recorded allocation', async () => {
    const answer = await randomize('n3', { 'a\r\nSet-Cookie: b': '1', '\u0000': '1', '😀': '1' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(ignored(answer)).toBe('a%0D%0ASet-Cookie%3A%20b, %00, %F0%9F%98%80');
  });

  it('is one of ten that are named, if there are more', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x${i}`, '1']));
    const answer = await randomize('n4', many);
    expect(answer.status).toBe(200);
    expect(ignored(answer)).toBe('x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, %E2%80%A6');
  });
});

it.each(['Urn-Dry-Run', 'urn-dryrun', 'URN-IGNORED', 'Urn-Automatically'])(
  'the request header %s, which the service does not have, is refused everywhere',
  async (name) => {
    const before = await listed();
    const { status, message } = await randomize('h', {}, { [name]: 'true' });
    expect({ status, message }).toEqual({
      status: 400,
      message: expect.stringMatching(new RegExp(`^${name} is not a header of this service`, 'i')),
    });
    expect(await listed()).toBe(before);
    for (const path of ['/healthz', '/study_config?study=Plain', '/pages/studies', '/nowhere'])
      expect((await fetch(`${service.url}${path}`, { headers: { [name]: 'true' } })).status).toBe(400);
  },
);

it('the header of the pages is known', async () => {
  expect((await randomize('h1', {}, { 'Urn-Automatic': 'true' })).status).toBe(200);
});
