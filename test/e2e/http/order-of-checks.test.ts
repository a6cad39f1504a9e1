/** Each request here fails two checks that are adjacent in the contract's order, and gets the answer of the earlier one. */

import { describe, expect, it } from 'vitest';
import { asCommand } from '../../support/acts.ts';
import { ask, type Parameters } from '../../support/client.ts';
import { OPERATOR } from '../../support/facts.ts';
import { served } from '../../support/served.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const IN_SLEEP = { 'Idempotency-Key': 'used-in-sleep' };
const IN_WARD = { 'Idempotency-Key': 'used-in-ward' };
const http = served(
  TRIALS,
  {
    full: ['edc', '--scope', 'read,randomize'],
    reader: ['reader', '--scope', 'read'],
    writer: ['writer', '--scope', 'randomize'],
    wardReader: ['reader', '--study', 'Ward', '--scope', 'read'],
    cook: ['edc', '--scope', 'read,randomize', '--where', `local_site=${COOK.local_site}`],
    revoked: ['leaver', '--scope', 'read,randomize'],
  },
  {
    filled: async (one) => {
      const { randomize } = one.as('full');
      await randomize('Sleep', 'first', COOK, IN_SLEEP);
      await randomize('Ward', 'first', { ward: 'a' }, IN_WARD);
      await randomize('Ward', 'second', { ward: 'a' });
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
const DREAM = { study: 'Dream' };
const UNKNOWN = /unknown, revoked or expired/;
const REUSED = /another request/;
const LIMITED = /^This API key is limited to /;

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
  ['an unknown study, before the scope', 'reader', DREAM, 404, /no study named "Dream"/],
  ["a study not among the key's, before the scope", 'wardReader', SLEEP, 404, /no study named "Sleep"/],
  ['the scope, before id and factors', 'reader', { study: 'Sleep' }, 403, /lacks the scope randomize/],
  ['id and factors, before the limits', 'cook', { study: 'Sleep', ...DUPAGE }, 400, /^id is missing$/],
  ['the limits, before the Idempotency-Key', 'cook', OF_DUPAGE, 403, LIMITED, IN_SLEEP],
  ['the limits, before a duplicate', 'cook', { ...OF_DUPAGE, id: 'first' }, 403, LIMITED],
  ['the Idempotency-Key, before a duplicate', 'full', { ...WARD, id: 'second' }, 422, REUSED, IN_WARD],
  ['the Idempotency-Key, before a paused study', 'full', WARD, 422, REUSED, IN_WARD],
  ['a duplicate, before a paused study', 'full', { ...WARD, id: 'first' }, 400, /already assigned/],
  ['the state of the study last', 'full', WARD, 409, /paused/],
];

const GET: readonly Case[] = [
  ['malformed parameters, before a missing key', 'none', TWICE, 400, /more than once: id/],
  ['a missing key, before a missing study', 'none', {}, 401, /key is missing/],
  ['an unknown key, before a missing study', 'guess', {}, 401, /not valid/],
  ['a missing study, before the scope', 'writer', {}, 400, /^study is missing$/],
  ['an unknown study, before the scope', 'writer', DREAM, 404, /no study named "Dream"/],
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
  expect(await Promise.all((['wardReader', 'reader', 'full'] as const).map(revision))).toEqual([
    null,
    '1',
    '1',
  ]);
});
