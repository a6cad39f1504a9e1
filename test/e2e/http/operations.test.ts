/** Events other than allocations, as the service records them. How many, and in which order: test/unit/operations. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commandsOn } from '../../support/cli-log.ts';
import { ask, rawRequest, talk, within } from '../../support/client.ts';
import { served } from '../../support/served.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const { run, ok, json } = commandsOn(data);

/** Read from the store, bypassing the program. */
const operations = () =>
  storedLog(data).flatMap(({ stream, record }) => (stream === 'operations' ? [record] : []));
const eventsOf = (type: string, user: string) =>
  operations().flatMap((one) => (one.type === type && one.actor.user === user ? [one.data] : []));
const refusals = (user: string) => eventsOf('RequestRefused', user);
const about = ({ count: _, firstAt: _f, lastAt: _l, ...details }: Record<string, unknown>) => details;

const http = served(
  TRIALS,
  {
    edc: ['edc'],
    auditor: ['auditor', '--scope', 'read,audit'],
    ward: ['ward', '--scope', 'read,audit', '--study', 'Ward'],
    reader: ['reader', '--scope', 'read'],
    leaver: ['leaver'],
    late: ['late', '--expires', '2026-01-01'],
  },
  {
    data,
    filled: async (one) => {
      const { randomize } = one.as('edc');
      await randomize('Sleep', '001', COOK);
      await randomize('Sleep', '002', DUPAGE);
      await randomize('Ward', 'w', { ward: 'a' });
    },
  },
);
type Name = keyof typeof http.keys;
const get = (path: string, name: Name, parameters = {}) =>
  http.get(name, path, { study: 'Sleep', ...parameters });
const listed = async (name: Name, parameters = {}) =>
  (await http.get(name, '/operations', parameters)).results as ReturnType<typeof operations>;

it('each kind of disclosure is in the log by the time it is answered', async () => {
  const expected: object[] = [];
  for (const [path, parameters, details] of [
    ['/study_participants', {}, { what: 'generator-states', toRevision: 2 }],
    ['/study_participants', { id: '002' }, { what: 'generator-states', toRevision: 2, participant: '002' }],
    [
      '/study_participants',
      { 'urn.revision': '1' },
      { what: 'generator-states', toRevision: 1, participant: '001' },
    ],
    ['/study_config', {}, { what: 'seed' }],
    ['/balance', { 'urn.revision': '1' }, { what: 'balance', toRevision: 1 }],
    ['/records', { from: '2' }, { what: 'records', fromRevision: 2, toRevision: 2 }],
    ['/explanation', { id: '001' }, { what: 'explanation', participant: '001' }],
    ['/explanation', { id: '002' }, { what: 'explanation', participant: '002' }],
  ] as const) {
    expect((await get(path, 'auditor', parameters)).status).toBe(200);
    expected.push({ study: 'Sleep', ...details });
    expect(eventsOf('EvidenceDisclosed', 'auditor').map(about)).toEqual(expected);
  }
  // Without their counts: sums may be recorded at any time.
  const kinds = () => new Set(operations().map((one) => JSON.stringify([one.type, about(one.data)])));
  const before = kinds();
  // These show nothing secret, or only what was recorded a moment ago.
  expect((await get('/study_participants', 'auditor', { id: 'none' })).results).toEqual([]);
  await get('/checkpoint', 'auditor');
  await listed('auditor');
  for (let n = 0; n < 5; n++) await get('/explanation', 'auditor', { id: '001' });
  await get('/study_participants', 'reader');
  expect(kinds()).toEqual(before);
});

it('refusals of known users are recorded, by operation, study and reason', async () => {
  const all = await json`keys list --json`;
  await ok`keys revoke ${all.find(({ user }: { user: string }) => user === 'leaver').keyId}`;
  const { randomize } = http.as('edc');
  await within(5000, async () => (await get('/study_config', 'leaver')).status === 401);
  const visit = { 'Idempotency-Key': 'visit' };
  await randomize('Sleep', '001', COOK);
  await randomize('Sleep', '003', { ...COOK, sex: 'none' });
  await randomize('Sleep', '004', COOK, visit);
  await randomize('Sleep', '005', COOK, visit);
  await randomize('Sleep', '006', COOK, { 'Idempotency-Key': 'not visible' });
  await get('/balance', 'edc');
  await get('/study_config', 'edc', { study: 'No such study' });
  await get('/nowhere', 'edc');
  await ask(http.url, '/study_config', { key: http.keys.edc, method: 'POST' });
  await talk(http.url, rawRequest('GET', '/study_config?study=%zz', [`X-API-Key: ${http.keys.edc}`]));
  await ask(http.url, '/study_config', { key: `urn_${'unknown'.repeat(6)}1` });
  await ok`studies pause Ward --reason 'a question'`;
  const inWard = async () => (await randomize('Ward', `x-${Math.random()}`, { ward: 'a' })).status === 409;
  await within(5000, inWard);
  for (const name of ['ward', 'late'] as const) await get('/study_config', name);
  await expect.poll(() => refusals('late').length).toBe(1);
  const sleep = { study: 'Sleep' };
  const post = { operation: 'POST /study_participants' };
  const config = { operation: 'GET /study_config' };
  expect(refusals('edc').map(about)).toEqual([
    { ...post, ...sleep, reason: 'duplicate' },
    { ...post, ...sleep, reason: 'malformed' },
    { ...post, ...sleep, reason: 'idempotency-key-reused' },
    { ...post, reason: 'malformed' },
    { operation: 'GET /balance', ...sleep, reason: 'not-permitted' },
    { ...config, reason: 'not-found' },
    { operation: 'GET unknown', reason: 'not-found' },
    { operation: 'POST /study_config', reason: 'malformed' },
    { ...config, reason: 'malformed' },
    { ...post, study: 'Ward', reason: 'paused' },
  ]);
  expect(refusals('ward').map(about)).toEqual([{ ...config, reason: 'not-found' }]);
  expect(refusals('leaver').map(about)).toEqual([{ ...config, reason: 'revoked-key' }]);
  expect(refusals('late').map(about)).toEqual([{ ...config, reason: 'expired-key' }]);
});

it('GET /operations shows them to audit keys, a page at a time, of a limited key only its study', async () => {
  const all = await listed('auditor');
  // Sums may have been recorded in between.
  expect(all.length).toBeGreaterThan(10);
  expect(operations().slice(0, all.length)).toMatchObject(all);
  expect(Object.keys(all[0] ?? {})).toEqual(['revision', 'at', 'actor', 'type', 'data']);
  expect((await listed('auditor', { from: '3' }))[0].revision).toBe(3);
  expect((await http.get('auditor', '/operations', { from: '9999' })).status).toBe(400);
  for (const shown of [await listed('ward'), await listed('auditor', { study: 'Ward' })])
    expect(new Set(shown.map((one) => one.data.study))).toEqual(new Set(['Ward']));
  expect((await http.get('ward', '/operations', { study: 'Sleep' })).status).toBe(404);
  expect(await http.get('reader', '/operations')).toMatchObject({ status: 403, results: [] });
});

it('the command line records what it shows, even while the service runs', async () => {
  await ok`explain --study Sleep --id 001`;
  await ok`studies show Sleep --revision 1`;
  const out = join(newFolder(), 'b.zip');
  const { sha256 } = await json`bundle --study Sleep --content blinded --out ${out} --json`;
  expect(await ok`verify`).toContain('operations: sound');
  await ok`operations`;
  const shown = operations().flatMap(({ type, actor, data: details }) =>
    type === 'EvidenceDisclosed' && actor.cli ? [about(details)] : [],
  );
  expect(shown).toEqual([
    { what: 'explanation', study: 'Sleep', participant: '001' },
    { what: 'balance', study: 'Sleep', toRevision: 1 },
    { what: 'bundle', study: 'Sleep', content: 'blinded', sha256 },
  ]);
});

it('urn operations describes them in words, or as JSON, one per line', async () => {
  const text = await ok`operations`;
  const lines = text.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^20\S+Z {2}.+ \(command line\) {2}started the service version \d/);
  expect(text).toMatch(/ {2}auditor \(k\w+\) {2}was shown the seed of Sleep$/m);
  const ofWard = await ok`operations --json --study Ward`;
  for (const line of ofWard.trimEnd().split('\n')) expect(JSON.parse(line).data.study).toBe('Ward');
  const { at } = operations().find((one) => one.data.what === 'bundle');
  expect((await ok`operations --since ${at}`).split('\n')[0]).toContain('was shown a bundle (blinded,');
  const none = { code: 0, stdout: '', stderr: 'no such events are recorded\n' };
  expect(await run`operations --until 2020-01-01T00:00Z`).toEqual(none);
  for (const line of (await ok`operations --user leaver`).trimEnd().split('\n'))
    expect(line).toMatch(/^\S+ {2}leaver \(k\w+\) {2}was refused GET \/study_config: the key is revoked/);
  expect((await run`operations --since yesterday`).code).toBe(2);
});
