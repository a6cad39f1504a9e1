/** What every route with a JSON body has in common: the order of its checks, and how little a hostile body costs. */
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/service/http/openapi.ts';
import { send } from '../../support/cookie-client.ts';
import { served } from '../../support/served.ts';

const STUDIES = 'S:\n  mode: test\n  treatments: [A, B]\n  factors: {sex: [Male, Female]}\n';
const SCOPES = 'randomize,unblind,correct,force,supply,manage';
const http = served(STUDIES, {
  all: ['all', '--scope', SCOPES, '--allow-prediction'],
  none: ['none', '--scope', 'blinded'],
  elsewhere: ['elsewhere', '--scope', 'blinded', '--study', 'T', '--force'],
});

interface Described {
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: object } } };
}
const { paths } = openApiDocument('test') as { paths: Record<string, Record<string, Described>> };
const BODIES = Object.entries(paths).flatMap(([path, operations]) => {
  const body = operations['post']?.requestBody;
  return body ? [{ path, schema: body.content['application/json'].schema }] : [];
});
const ROUTES = BODIES.map(({ path }) => path).filter((path) => path !== '/session');

/** What an otherwise empty body needs, so that its problems are those of its members. */
const BEGINNINGS: Record<string, object> = { '/study_state': { action: 'pause' } };

it.each(ROUTES)(
  'POST %s checks type and size, the key, the JSON, the study, the scope and the rest, in this order',
  async (path) => {
    const hint = 'study is missing (hint: Study is given; did you mean study?)';
    const tooLong = `{"study":"${'x'.repeat(20_000)}"}`;
    const twice = '{"study":"S","x":{"a":1,"\\u0061":2}}';
    for (const [name, body, status, message, headers] of [
      [undefined, '{', 415, /^The body must be JSON/, { 'Content-Type': 'text/plain' }],
      [undefined, tooLong, 413, /^The body is longer than 16 KiB$/],
      [undefined, '{', 401, /^API key is missing/],
      ['none', '{', 400, /^The body is not JSON$/],
      ['none', twice, 400, /^The body contains a duplicate member$/],
      ['none', '{"more":1}', 400, /^study is missing$/],
      ['none', '{"study":5}', 400, /^study: must be a string$/],
      ['none', '[]', 400, /^The body: must be an object$/],
      ['none', '{"study":"T"}', 404, /^There is no study/],
      ['elsewhere', '{"study":"S"}', 404, /^There is no study/],
      ['none', '{"study":"S","more":1}', 403, /^This API key lacks the scope/],
    ] as const)
      expect(await http.post(name, path, body, headers), body.slice(0, 40)).toMatchObject({
        ...{ status, message: expect.stringMatching(message) },
      });
    expect((await http.post('none', path, '{"Study":1}')).message).toBe(hint);
    const { status, message } = await http.post('all', path, { study: 'S', ...BEGINNINGS[path], more: 1 });
    expect([status, message]).toEqual([400, expect.stringMatching(/^\w+ is missing/)]);
    expect(message).toContain('more is not a member of this request');
    expect(message).not.toMatch(/Invalid/);
  },
);

describe('a body', () => {
  it.each([
    ...['"\\ud800"', '1,"\\uDFFF x":1', '["\\\\\\udabc"]'].map((half) => [
      ...[half, 'contains a lone surrogate (half a character)'],
    ]),
    [`${'['.repeat(3000)}${']'.repeat(3000)}`, 'is nested more than 20 levels deep'],
  ])('is refused with %.40s in it, as it %s', async (part, why) => {
    const refused = await http.post('all', '/voids', `{"study":"S","more":${part}}`);
    expect(refused).toMatchObject({ status: 400, message: `The body ${why}` });
  });

  it.each(['\\ud83d\\ude00', '\\\\ud800'])(
    'may have whole characters, and text like half of one: %s',
    async (whole) => {
      expect((await http.post('all', '/voids', `{"study":"${whole}"}`)).status).toBe(404);
    },
  );

  it('with many problems has at most 20 of them named, and counted', async () => {
    const many = Object.fromEntries(Array.from({ length: 1200 }, (_, i) => [`m${i}`, 1]));
    const { status, message, text } = await http.post('all', '/voids', { study: 'S', ...many });
    expect([status, message.split('; ').length]).toEqual([400, 21]);
    expect(message).toMatch(/; and so on \(the first 20 of 12\d\d problems\)$/);
    expect(text.length).toBeLessThan(2000);
  });

  it('with too many items, or a problem in each of them, gets a short answer', async () => {
    const amend = (length: number) => {
      const changes = Array.from({ length }, () => ({}));
      return http.post('all', '/amendments', { study: 'S', amendment: 1, reason: 'x', changes });
    };
    expect(await amend(5300)).toMatchObject({ status: 400, message: 'changes: has more than 200 items' });
    const some = await amend(200);
    expect(some.message).toMatch(
      /^changes\[0\]\.kind is missing \(it must be one of level-added, .*of 200 problems\)$/,
    );
    expect(some.text.length).toBeLessThan(10_000);
  });

  it('has a limit for each of its arrays, which the OpenAPI document shows', () => {
    const arrays: [path: string, limit: unknown][] = [];
    const look = (path: string, value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      if ('type' in value && value.type === 'array')
        arrays.push([path, 'maxItems' in value && value.maxItems]);
      for (const held of Object.values(value)) look(path, held);
    };
    for (const { path, schema } of BODIES) look(path, schema);
    expect(arrays.length).toBeGreaterThan(4);
    for (const [path, limit] of arrays) expect(limit, path).toEqual(expect.any(Number));
  });
});

const reveal = { id: '1', category: 'emergency', reason: 'anaphylaxis' };
const forced = {
  ...{ id: '1', levels: { sex: 'Male' }, treatment: 'A', cause: 'outage', note: 'x' },
  ...{ occurred_at: '2026-01-01T00:00:00Z', code: '', replaces: -1 },
};
const close = { action: 'close', cause: 'target', reason: 'x' };
const approvals = [{ name: 'A', role: 'sponsor', on: '2026-01-01', refrence: 'x' }];
const none = { ...reveal, category: undefined, reason: undefined };
const wrong = { ...reveal, id: 5, category: 'urgent', dryRun: true };
it.each<[path: string, body: object, message: RegExp]>([
  ['/code_breaks', none, /^category is missing \(it must be one of emergency, .*\); reason is missing$/],
  ['/code_breaks', wrong, /^id: must be a string; category: must be one of .*did you mean dry_run\?\)$/],
  ['/forced_allocations', forced, /^code: has fewer than 1 character; replaces: must be at least 0$/],
  ['/study_state', { ...close, approvals }, /^approvals\[0\]\.refrence is not .*did you mean reference\?\)$/],
])(
  'a message about a body says what is missing, what is allowed and what was probably meant: %s %j',
  async (path, body, message) => {
    expect((await http.post('all', path, { study: 'S', ...body })).message).toMatch(message);
  },
);

describe('POST /session, which anybody may send,', () => {
  const signIn = (body: unknown) =>
    send(`${http.url}/session`, { method: 'POST', headers: { Origin: http.url }, body });

  it('reads 1 KiB at most', async () => {
    const message = 'The body is longer than 1 KiB';
    expect(await signIn(`{${Array(1800).fill('"a":1').join()}}`)).toMatchObject({ status: 413, message });
    expect((await signIn({ key: http.keys.all, on_behalf_of: 'é'.repeat(128) })).status).toBe(200);
  });

  it('counts as an attempt before it is read, unless its key is good, which is never refused', async () => {
    const deep = `{"key":${'['.repeat(200)}${']'.repeat(200)}}`;
    const hostile = ['{', '{"key":"a","key":"b"}', deep, '{"key":5}', '{}'];
    const statuses: number[] = [];
    for (let i = 0; i < 35; i++) statuses.push((await signIn(hostile[i % hostile.length])).status);
    // Some attempts of other tests in this file have failed.
    expect([...new Set(statuses)]).toEqual([400, 429]);
    expect(statuses.filter((status) => status === 400).length).toBeLessThanOrEqual(30);
    expect((await signIn({ key: http.keys.all })).status).toBe(200);
    expect((await signIn({ key: 'urn_guess' })).status).toBe(429);
  });
});

it('nothing of this failed unexpectedly', () => {
  expect(http.service.output.stderr).not.toContain('"stack"');
});
