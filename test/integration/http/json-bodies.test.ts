/** What every route with a JSON body has in common: the order of its checks, and how little a hostile body costs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/service/http/openapi.ts';
import { send } from '../../support/cookie-client.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDIES = `
S:
  mode: test
  treatments: [A, B]
  factors: {sex: [Male, Female]}
`;
const data = temporaryFolders()();
let service: ServiceHere;
let keys: Record<'all' | 'none' | 'elsewhere', string>;

beforeAll(async () => {
  const scopes = 'randomize,unblind,correct,force,supply,manage';
  keys = await issueKeys(data, {
    all: ['all', '--scope', scopes, '--allow-prediction'],
    none: ['none', '--scope', 'blinded'],
    elsewhere: ['elsewhere', '--scope', 'blinded', '--study', 'T', '--force'],
  });
  service = await serveHere(data, STUDIES);
});
afterAll(() => service.stop());

interface Described {
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: object } } };
}
const { paths } = openApiDocument('test') as { paths: Record<string, Record<string, Described>> };
const BODIES = Object.entries(paths).flatMap(([path, operations]) => {
  const body = operations['post']?.requestBody;
  return body ? [{ path, schema: body.content['application/json'].schema }] : [];
});
const ROUTES = BODIES.map(({ path }) => path).filter((path) => path !== '/session');
const post = (path: string, key: string | undefined, body: object | string, headers = {}) =>
  postJson(service.url, path, key, body, headers);

/** What an otherwise empty body needs, so that its problems are those of its members. */
const BEGINNINGS: Record<string, object> = { '/study_state': { action: 'pause' } };

const DEEP = `{"study":"S","more":${'['.repeat(3000)}${']'.repeat(3000)}}`;

describe.each(ROUTES)('POST %s', (path) => {
  const begun = { study: 'S', ...BEGINNINGS[path] };

  it('checks type and size, the key, the JSON, the study, the scope and the rest, in this order', async () => {
    const ask = async (key: string | undefined, body: string, headers = {}) => {
      const { status, message } = await post(path, key, body, headers);
      return { status, message };
    };
    const tooLong = `{"study":"${'x'.repeat(20_000)}"}`;
    expect(await ask(undefined, '{', { 'Content-Type': 'text/plain' })).toMatchObject({ status: 415 });
    expect(await ask(undefined, tooLong)).toMatchObject({ status: 413 });
    expect(await ask(undefined, '{')).toMatchObject({ status: 401 });
    expect(await ask(keys.none, '{')).toEqual({ status: 400, message: 'The body is not JSON' });
    expect(await ask(keys.none, '{"more":1}')).toEqual({ status: 400, message: 'study is missing' });
    expect(await ask(keys.none, '{"Study":1}')).toEqual({
      status: 400,
      message: 'study is missing (hint: Study is given; did you mean study?)',
    });
    expect(await ask(keys.none, '{"study":5}')).toEqual({ status: 400, message: 'study: must be a string' });
    expect(await ask(keys.none, '[]')).toEqual({ status: 400, message: 'The body: must be an object' });
    expect(await ask(keys.none, '{"study":"T"}')).toMatchObject({ status: 404 });
    expect(await ask(keys.elsewhere, '{"study":"S"}')).toMatchObject({ status: 404 });
    expect(await ask(keys.none, '{"study":"S","more":1}')).toMatchObject({ status: 403 });
    const { status, message } = await ask(keys.all, JSON.stringify({ ...begun, more: 1 }));
    expect(status).toBe(400);
    expect(message).toContain('more is not a member of this request');
    expect(message).toMatch(/^\w+ is missing/);
    expect(message).not.toMatch(/Invalid/);
  });

  it('refuses half a character, wherever it is', async () => {
    const message = 'The body contains a lone surrogate (half a character)';
    for (const half of ['\\ud800', '\\uDFFF x', '\\\\\\udabc'])
      for (const body of [
        `{"study":"${half}"}`,
        `{"study":"S","${half}":1}`,
        `{"study":"S","x":["${half}"]}`,
      ])
        expect(await post(path, keys.all, body)).toMatchObject({ status: 400, message });
    for (const whole of ['\\ud83d\\ude00', '\\\\ud800'])
      expect((await post(path, keys.all, `{"study":"${whole}"}`)).status).toBe(404);
  });

  it('refuses a member given twice, and a body that is nested deeply', async () => {
    expect(await post(path, keys.all, '{"study":"S","x":{"a":1,"\\u0061":2}}')).toMatchObject({
      status: 400,
      message: 'The body contains a duplicate member',
    });
    expect(await post(path, keys.all, DEEP)).toMatchObject({
      status: 400,
      message: 'The body is nested more than 20 levels deep',
    });
  });

  it('names at most 20 of many problems, and says how many there are', async () => {
    const many = Object.fromEntries(Array.from({ length: 1200 }, (_, i) => [`m${i}`, 1]));
    const { status, message, text } = await post(path, keys.all, { ...begun, ...many });
    expect(status).toBe(400);
    expect(message.split('; ')).toHaveLength(21);
    expect(message).toMatch(/; and so on \(the first 20 of 12\d\d problems\)$/);
    expect(text.length).toBeLessThan(2000);
  });
});

it('5,300 empty changes get a short answer', async () => {
  const body = { study: 'S', amendment: 1, reason: 'x', changes: Array.from({ length: 5300 }, () => ({})) };
  const { status, message } = await post('/amendments', keys.all, body);
  expect({ status, message }).toEqual({ status: 400, message: 'changes: has more than 200 items' });
  const some = await post('/amendments', keys.all, { ...body, changes: body.changes.slice(0, 200) });
  expect(some.message).toMatch(
    /^changes\[0\]\.kind is missing \(it must be one of level-added, .*of 200 problems\)$/,
  );
  expect(some.text.length).toBeLessThan(10_000);
});

it('every array of a body has a limit, which the OpenAPI document shows', () => {
  const arrays: [path: string, limit: unknown][] = [];
  const look = (path: string, value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('type' in value && value.type === 'array') arrays.push([path, 'maxItems' in value && value.maxItems]);
    for (const held of Object.values(value)) look(path, held);
  };
  for (const { path, schema } of BODIES) look(path, schema);
  expect(arrays.length).toBeGreaterThan(4);
  for (const [path, limit] of arrays) expect(limit, path).toEqual(expect.any(Number));
});

describe('a message about a body', () => {
  const reveal = { study: 'S', id: '1', category: 'emergency', reason: 'anaphylaxis' };
  const messageFor = async (change: object) =>
    (await post('/code_breaks', keys.all, { ...reveal, ...change })).message;

  it('says that a member is missing, and what it can be', async () => {
    expect(await messageFor({ category: undefined, reason: undefined })).toMatch(
      /^category is missing \(it must be one of emergency, .*\); reason is missing$/,
    );
  });

  it('says what a member must be', async () => {
    expect(await messageFor({ id: 5, category: 'urgent', dry_run: 'yes' })).toMatch(
      /^id: must be a string; category: must be one of emergency, .*; dry_run: must be true or false$/,
    );
  });

  it('says which numbers, lengths and patterns are allowed', async () => {
    const { message } = await post('/forced_allocations', keys.all, {
      ...{ study: 'S', id: '1', levels: { sex: 'Male' }, treatment: 'A', cause: 'outage', note: 'x' },
      ...{ occurred_at: '2026-01-01T00:00:00Z', code: '', replaces: -1 },
    });
    expect(message).toBe('code: has fewer than 1 character; replaces: must be at least 0');
    const pack = { study: 'S', id: '1', code: 'P 1', cause: 'lost' };
    expect((await post('/code_replacements', keys.all, pack)).message).toMatch(
      /^code: must match the pattern \S+$/,
    );
  });

  it('names the member that was probably meant', async () => {
    expect(await messageFor({ dryRun: true })).toBe(
      'dryRun is not a member of this request (hint: did you mean dry_run?)',
    );
    const { message } = await post('/study_state', keys.all, {
      ...{ study: 'S', action: 'close', cause: 'target', reason: 'x' },
      approvals: [{ name: 'A', role: 'sponsor', on: '2026-01-01', refrence: 'x' }],
    });
    expect(message).toBe(
      'approvals[0].refrence is not a member of this request (hint: did you mean reference?)',
    );
  });
});

describe('POST /session, which anybody may send,', () => {
  const signIn = (body: unknown) =>
    send(`${service.url}/session`, { method: 'POST', headers: { Origin: service.url }, body });

  it('reads 1 KiB at most', async () => {
    expect(await signIn(`{${Array(1800).fill('"a":1').join()}}`)).toMatchObject({
      status: 413,
      message: 'The body is longer than 1 KiB',
    });
    expect((await signIn({ key: keys.all, on_behalf_of: 'é'.repeat(128) })).status).toBe(200);
  });

  it('counts as an attempt before it is read, unless its key is good, which is never refused', async () => {
    for (let i = 0; i < 40; i++) expect((await signIn({ key: keys.all })).status).toBe(200);
    const hostile = [
      '{',
      '{"key":"a","key":"b"}',
      `{"key":${'['.repeat(200)}${']'.repeat(200)}}`,
      '{"key":5}',
      '{}',
    ];
    const statuses: number[] = [];
    for (let i = 0; i < 40; i++) statuses.push((await signIn(hostile[i % hostile.length])).status);
    // Some attempts of other tests in this file have failed.
    expect([...new Set(statuses)]).toEqual([400, 429]);
    expect(statuses.filter((status) => status === 400).length).toBeLessThanOrEqual(30);
    expect((await signIn({ key: keys.all })).status).toBe(200);
    expect((await signIn({ key: 'urn_guess' })).status).toBe(429);
  });
});

it('nothing of this failed unexpectedly', () => {
  expect(service.output.stderr).not.toContain('"stack"');
});
