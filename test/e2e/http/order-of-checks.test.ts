/** Each request here fails two checks that are adjacent in the contract's order, and gets the answer of the earlier one. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ask, ask, clientOf, within } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
let service: ServiceHere;
let keys: Record<'full' | 'reader' | 'writer' | 'ward' | 'wardReader' | 'cook' | 'revoked', string>;

const COOK_ONLY = `local_site=${COOK.local_site}`;
const USED = { 'Idempotency-Key': 'used-in-sleep' };

beforeAll(async () => {
  keys = await issueKeys(data, {
    full: ['edc'],
    reader: ['reader', '--scope', 'read'],
    writer: ['writer', '--scope', 'randomize'],
    ward: ['edc', '--study', 'Ward'],
    wardReader: ['reader', '--study', 'Ward', '--scope', 'read'],
    cook: ['edc', '--where', COOK_ONLY],
    revoked: ['leaver'],
  });
  service = await serveHere(data, TRIALS);
  const { randomize } = clientOf(service.url, keys.full);
  await randomize('Sleep', 'first', COOK, USED);
  await randomize('Ward', 'first', { ward: 'a' }, { 'Idempotency-Key': 'used-in-ward' });
  await randomize('Ward', 'second', { ward: 'a' });
  await commandOk(['studies', 'pause', 'Ward', '--reason', 'a question to the board', '--data', data]);
  const list = JSON.parse(await commandOk(['keys', 'list', '--json', '--data', data])) as {
    keyId: string;
    user: string;
  }[];
  const { keyId = '' } = list.find(({ user }) => user === 'leaver') ?? {};
  await commandOk(['keys', 'revoke', keyId, '--data', data]);
  await within(
    2_000,
    async () => (await ask(service.url, '/study_config', { key: keys.revoked })).status === 401,
  );
});
afterAll(() => service.stop());

type Case = readonly [checks: string, request: () => Ask, status: number, message: RegExp];

const TWICE = [
  ['id', '1'],
  ['id', '2'],
] as const;
const sleep = { study: 'Sleep', id: 'new', ...COOK };

const POST: Case[] = [
  ['malformed parameters, before a missing key', () => ({ parameters: TWICE }), 400, /more than once: id/],
  [
    'malformed parameters, before an unknown key',
    () => ({ parameters: TWICE, key: 'guess' }),
    400,
    /more than once: id/,
  ],
  [
    'two different keys, before either is looked at',
    () => ({ parameters: sleep, key: keys.full, headers: { 'X-API-Key': 'guess' } }),
    400,
    /Two different API keys/,
  ],
  [
    'a malformed Idempotency-Key, before a missing key',
    () => ({ parameters: sleep, headers: { 'Idempotency-Key': 'a b' } }),
    400,
    /Idempotency-Key/,
  ],
  [
    'a malformed X-On-Behalf-Of, before a missing key',
    () => ({ parameters: sleep, headers: { 'X-On-Behalf-Of': 'x'.repeat(129) } }),
    400,
    /X-On-Behalf-Of/,
  ],
  ['a missing key, before a missing study', () => ({}), 401, /key is missing/],
  ['an unknown key, before a missing study', () => ({ key: 'guess' }), 401, /unknown, revoked or expired/],
  [
    'a revoked key, before a missing study',
    () => ({ key: keys.revoked }),
    401,
    /unknown, revoked or expired/,
  ],
  ['a missing study, before the scope', () => ({ key: keys.reader }), 400, /^study is missing$/],
  [
    'an empty study, which counts as missing',
    () => ({ key: keys.reader, parameters: { study: '' } }),
    400,
    /^study is missing$/,
  ],
  [
    'an unknown study, before the scope',
    () => ({ key: keys.reader, parameters: { study: 'Dream' } }),
    404,
    /no study named "Dream"/,
  ],
  [
    "a study not among the key's, before the scope",
    () => ({ key: keys.wardReader, parameters: sleep }),
    404,
    /no study named "Sleep"/,
  ],
  [
    'the scope, before id and factors',
    () => ({ key: keys.reader, parameters: { study: 'Sleep' } }),
    403,
    /lacks the scope randomize/,
  ],
  [
    'id and factors, before the restriction to levels',
    () => ({ key: keys.cook, parameters: { study: 'Sleep', ...DUPAGE } }),
    400,
    /^id is missing$/,
  ],
  [
    'the restriction to levels, before the Idempotency-Key',
    () => ({ key: keys.cook, parameters: { ...sleep, ...DUPAGE }, headers: USED }),
    403,
    /^This API key is limited to /,
  ],
  [
    'the restriction to levels, before a duplicate',
    () => ({ key: keys.cook, parameters: { ...sleep, ...DUPAGE, id: 'first' } }),
    403,
    /^This API key is limited to /,
  ],
  [
    'the Idempotency-Key, before a duplicate',
    () => ({
      key: keys.full,
      parameters: { study: 'Ward', id: 'second', ward: 'a' },
      headers: { 'Idempotency-Key': 'used-in-ward' },
    }),
    422,
    /another request/,
  ],
  [
    'the Idempotency-Key, before a paused study',
    () => ({
      key: keys.full,
      parameters: { study: 'Ward', id: 'new', ward: 'a' },
      headers: { 'Idempotency-Key': 'used-in-ward' },
    }),
    422,
    /another request/,
  ],
  [
    'a duplicate, before a paused study',
    () => ({ key: keys.full, parameters: { study: 'Ward', id: 'first', ward: 'a' } }),
    400,
    /already assigned/,
  ],
  [
    'the state of the study last',
    () => ({ key: keys.full, parameters: { study: 'Ward', id: 'new', ward: 'a' } }),
    409,
    /paused/,
  ],
];

const GET: Case[] = [
  ['malformed parameters, before a missing key', () => ({ parameters: TWICE }), 400, /more than once: id/],
  ['a missing key, before a missing study', () => ({}), 401, /key is missing/],
  ['an unknown key, before a missing study', () => ({ key: 'guess' }), 401, /not valid/],
  ['a missing study, before the scope', () => ({ key: keys.writer }), 400, /^study is missing$/],
  [
    'an unknown study, before the scope',
    () => ({ key: keys.writer, parameters: { study: 'Dream' } }),
    404,
    /no study named "Dream"/,
  ],
  [
    'the scope, before an unknown parameter',
    () => ({ key: keys.writer, parameters: { study: 'Sleep', wards: 'a' } }),
    403,
    /lacks the scope read or blinded/,
  ],
  [
    'an unknown parameter last',
    () => ({ key: keys.full, parameters: { study: 'Sleep', wards: 'a' } }),
    400,
    /^wards is not a parameter/,
  ],
];

describe('POST /study_participants checks', () => {
  it.each(POST)('%s', async (_, request, status, message) => {
    const answer = await ask(service.url, '/study_participants', { method: 'POST', ...request() });
    expect(answer).toMatchObject({ status, message: expect.stringMatching(message) });
  });
});

describe.each(['/study_participants', '/study_config'])('GET %s checks', (path) => {
  it.each(GET)('%s', async (_, request, status, message) => {
    expect(await ask(service.url, path, request())).toMatchObject({
      status,
      message: expect.stringMatching(message),
    });
  });
});

it('an error carries the revision of the study only if the key may know the study', async () => {
  const post = (key: string, parameters: Record<string, string>) =>
    ask(service.url, '/study_participants', { method: 'POST', key, parameters });
  expect((await post(keys.wardReader, sleep)).headers.get('urn-revision')).toBeNull();
  expect((await post(keys.reader, sleep)).headers.get('urn-revision')).toBe('1');
  expect((await post(keys.full, { study: 'Sleep' })).headers.get('urn-revision')).toBe('1');
});
