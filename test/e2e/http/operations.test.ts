/** Events other than allocations, as the real program records them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf, rawRequest, talk, within } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { issueKey, issueKeys, type Service, serve } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const VERSION = /^\d+\.\d+\.\d+/;

interface Operation {
  readonly type: string;
  readonly actor: { readonly user: string; readonly keyId?: string; readonly cli?: true };
  // biome-ignore lint/suspicious/noExplicitAny: the tests check what is in it.
  readonly data: any;
}

/** Read from the store, bypassing the program. */
const operations = (data: string): Operation[] =>
  storedLog(data).flatMap(({ stream, record }) => (stream === 'operations' ? [record] : []));
const refusals = (data: string, user: string) =>
  operations(data).flatMap((one) =>
    one.type === 'RequestRefused' && one.actor.user === user ? [one.data] : [],
  );
const disclosures = (data: string, user: string) =>
  operations(data).flatMap((one) =>
    one.type === 'EvidenceDisclosed' && one.actor.user === user ? [one.data] : [],
  );
/** The distinct events, without their counts: sums may be recorded at any time. */
const kinds = (data: string) =>
  new Set(
    operations(data).map(({ type, actor, data: details }) =>
      JSON.stringify([type, actor.user, about(details)]),
    ),
  );
const sum = (all: readonly { readonly count: number }[]) =>
  all.reduce((total, { count }) => total + count, 0);
const about = ({ count: _, firstAt: _f, lastAt: _l, ...details }: Record<string, unknown>) => details;

describe('a flood of refused requests', () => {
  it('makes a few events, whose counts are exact once the service has stopped', async () => {
    const data = newFolder();
    const key = await issueKey(data, 'site');
    const service = await serveHere(data, TRIALS);
    const parameters = new URLSearchParams({ study: 'Sleep', id: 'taken', ...COOK });
    const post = async () => {
      const answer = await fetch(`${service.url}/study_participants?${parameters}`, {
        method: 'POST',
        headers: { 'X-API-Key': key },
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    expect(await post()).toBe(200);
    let sent = 0;
    const client = async () => {
      for (; sent < 2000; sent++) if ((await post()) !== 400) throw new Error('it was not refused');
    };
    await Promise.all(Array.from({ length: 8 }, client));
    // The first is recorded at once, not when the service stops.
    expect(refusals(data, 'site').length).toBeGreaterThan(0);
    await service.stop();
    const found = refusals(data, 'site');
    expect(found.length).toBeLessThan(10);
    expect(sum(found)).toBe(sent);
    for (const one of found)
      expect(about(one)).toEqual({
        operation: 'POST /study_participants',
        study: 'Sleep',
        reason: 'duplicate',
      });
    expect((await command(['verify', '--data', data])).code).toBe(0);
  }, 180_000);
});

describe('in one run', () => {
  const data = newFolder();
  let service: Service;
  let keys: Record<'edc' | 'auditor' | 'ward' | 'reader' | 'leaver', string>;
  const get = (path: string, key: string, parameters: Readonly<Record<string, string>> = {}) =>
    ask(service.url, path, { key, parameters: { study: 'Sleep', ...parameters } });
  const listed = async (key: string, parameters: Readonly<Record<string, string>> = {}) =>
    (await ask(service.url, '/operations', { key, parameters })).results as Operation[];

  beforeAll(async () => {
    keys = await issueKeys(data, {
      edc: ['edc'],
      auditor: ['auditor', '--scope', 'read,audit'],
      ward: ['ward', '--scope', 'read,audit', '--study', 'Ward'],
      reader: ['reader', '--scope', 'read'],
      leaver: ['leaver'],
    });
    service = await serve({ data, studies: TRIALS });
    const { randomize } = clientOf(service.url, keys.edc);
    await randomize('Sleep', '001', COOK);
    await randomize('Sleep', '002', DUPAGE);
    await randomize('Ward', 'w', { ward: 'a' });
  });
  afterAll(() => service.kill());

  it('the start is recorded, with the version of the software', async () => {
    const [first] = operations(data);
    expect(first).toMatchObject({ type: 'ServiceStarted', actor: { cli: true } });
    expect(first?.data).toEqual({
      runId: expect.any(String),
      version: expect.stringMatching(VERSION),
      nodeVersion: process.version,
    });
  });

  it('each kind of disclosure is in the log by the time it is answered', async () => {
    const { auditor } = keys;
    const expected: object[] = [];
    const asks = async (path: string, parameters: Record<string, string>, details: object) => {
      expect((await get(path, auditor, parameters)).status).toBe(200);
      expected.push({ study: 'Sleep', ...details });
      expect(disclosures(data, 'auditor').map(about)).toEqual(expected);
    };
    await asks('/study_participants', {}, { what: 'generator-states', toRevision: 2 });
    await asks(
      '/study_participants',
      { id: '002' },
      { what: 'generator-states', toRevision: 2, participant: '002' },
    );
    await asks(
      '/study_participants',
      { 'urn.revision': '1' },
      { what: 'generator-states', toRevision: 1, participant: '001' },
    );
    await asks('/study_config', {}, { what: 'seed' });
    await asks('/balance', {}, { what: 'balance', toRevision: 2 });
    await asks('/balance', { 'urn.revision': '1' }, { what: 'balance', toRevision: 1 });
    await asks('/records', {}, { what: 'records', fromRevision: 0, toRevision: 2 });
    await asks('/records', { from: '2' }, { what: 'records', fromRevision: 2, toRevision: 2 });
    await asks('/explanation', { id: '001' }, { what: 'explanation', participant: '001' });
    await asks('/explanation', { id: '002' }, { what: 'explanation', participant: '002' });
    const before = kinds(data);
    // These show nothing secret, or only what was recorded a moment ago.
    expect((await get('/study_participants', auditor, { id: 'none' })).results).toEqual([]);
    await get('/inclusion_proof', auditor, { revision: '1' });
    await get('/checkpoint', auditor);
    await listed(auditor);
    for (let n = 0; n < 20; n++) await get('/explanation', auditor, { id: '001' });
    await get('/study_participants', keys.reader);
    await get('/study_config', keys.reader);
    expect(kinds(data)).toEqual(before);
  });

  it('refusals of known users are recorded, by operation, study and reason', async () => {
    await commandOk(['keys', 'revoke', await keyIdOf('leaver'), '--data', data]);
    const { randomize } = clientOf(service.url, keys.edc);
    await within(5000, async () => (await get('/study_config', keys.leaver)).status === 401);
    await randomize('Sleep', '001', COOK);
    await randomize('Sleep', '003', { ...COOK, sex: 'none' });
    await randomize('Sleep', '004', COOK, { 'Idempotency-Key': 'visit' });
    await randomize('Sleep', '005', COOK, { 'Idempotency-Key': 'visit' });
    await randomize('Sleep', '006', COOK, { 'Idempotency-Key': 'not visible' });
    await get('/balance', keys.edc);
    await get('/study_config', keys.edc, { study: 'No such study' });
    await get('/nowhere', keys.edc);
    await ask(service.url, '/study_config', { key: keys.edc, method: 'POST' });
    await talk(service.url, rawRequest('GET', '/study_config?study=%zz', [`X-API-Key: ${keys.edc}`]));
    await talk(service.url, rawRequest('GET', `/study_config?study=a&study=b&api_key=${keys.edc}`));
    await get('/study_config', 'urn_unknownunknownunknownunknownunknownunknown1');
    await get('/study_config', keys.ward);
    const sleep = { study: 'Sleep' };
    const post = { operation: 'POST /study_participants' };
    await expect.poll(() => refusals(data, 'ward').length, { timeout: 20_000 }).toBe(1);
    expect(refusals(data, 'edc').map(about)).toEqual([
      { ...post, ...sleep, reason: 'duplicate' },
      { ...post, ...sleep, reason: 'malformed' },
      { ...post, ...sleep, reason: 'idempotency-key-reused' },
      { ...post, reason: 'malformed' },
      { operation: 'GET /balance', ...sleep, reason: 'not-permitted' },
      { operation: 'GET /study_config', reason: 'not-found' },
      { operation: 'GET unknown', reason: 'not-found' },
      { operation: 'POST /study_config', reason: 'malformed' },
      { operation: 'GET /study_config', reason: 'malformed' },
    ]);
    expect(refusals(data, 'ward').map(about)).toEqual([
      { operation: 'GET /study_config', reason: 'not-found' },
    ]);
    expect(refusals(data, 'leaver').map(about)).toEqual([
      { operation: 'GET /study_config', reason: 'revoked-key' },
    ]);
  });

  it('refusals while the study is paused are recorded, too', async () => {
    await commandOk(['studies', 'pause', 'Ward', '--reason', 'a question', '--data', data]);
    const { randomize } = clientOf(service.url, keys.edc);
    await within(
      5000,
      async () => (await randomize('Ward', `x-${Math.random()}`, { ward: 'a' })).status === 409,
    );
    await expect
      .poll(() => refusals(data, 'edc').map(about))
      .toContainEqual({
        operation: 'POST /study_participants',
        study: 'Ward',
        reason: 'paused',
      });
  });

  it('GET /operations shows them to audit keys, a page at a time', async () => {
    const all = await listed(keys.auditor);
    const stored = storedLog(data).flatMap(({ stream, record }) => (stream === 'operations' ? [record] : []));
    // Sums may have been recorded in between.
    expect(all.length).toBeGreaterThan(10);
    expect(all).toEqual(
      stored.slice(0, all.length).map(({ revision, at, type, actor, data: details }) => ({
        revision,
        at,
        type,
        actor,
        data: details,
      })),
    );
    expect(
      (await listed(keys.auditor, { from: '3' })).map((one) => (one as { revision?: number }).revision)[0],
    ).toBe(3);
    const ofWard = await listed(keys.auditor, { study: 'Ward' });
    expect(ofWard.length).toBeGreaterThan(0);
    expect(new Set(ofWard.map((one) => one.data.study))).toEqual(new Set(['Ward']));
    const bad = await ask(service.url, '/operations', { key: keys.auditor, parameters: { form: '1' } });
    expect([bad.status, bad.message]).toEqual([
      400,
      'form is not a parameter of operations (hint: did you mean from?)',
    ]);
    const beyond = await ask(service.url, '/operations', { key: keys.auditor, parameters: { from: '9999' } });
    expect(beyond.status).toBe(400);
  });

  it('GET /operations shows a key of one study only what concerns it, and other keys nothing', async () => {
    const shown = await listed(keys.ward);
    expect(shown.length).toBeGreaterThan(0);
    expect(new Set(shown.map((one) => one.data.study))).toEqual(new Set(['Ward']));
    const other = await ask(service.url, '/operations', { key: keys.ward, parameters: { study: 'Sleep' } });
    expect(other.status).toBe(404);
    for (const key of [keys.reader, keys.edc]) {
      const { status, results } = await ask(service.url, '/operations', { key });
      expect([status, results]).toEqual([403, []]);
    }
    expect((await ask(service.url, '/operations')).status).toBe(401);
  });

  it('the command line records what it shows, even while the service runs', async () => {
    await commandOk(['explain', '--study', 'Sleep', '--id', '001', '--data', data]);
    await commandOk(['studies', 'show', 'Sleep', '--data', data, '--revision', '1']);
    const file = join(newFolder(), 'b.zip');
    const made = JSON.parse(
      await commandOk([
        'bundle',
        '--study',
        'Sleep',
        '--content',
        'blinded',
        '--out',
        file,
        '--data',
        data,
        '--json',
      ]),
    );
    await commandOk(['verify', '--data', data]);
    await commandOk(['operations', '--data', data]);
    const shown = operations(data).flatMap(({ type, actor, data: details }) =>
      type === 'EvidenceDisclosed' && actor.cli ? [about(details)] : [],
    );
    expect(shown).toEqual([
      { what: 'explanation', study: 'Sleep', participant: '001' },
      { what: 'balance', study: 'Sleep', toRevision: 1 },
      { what: 'bundle', study: 'Sleep', content: 'blinded', sha256: made.sha256 },
    ]);
  });

  it('urn operations describes them in words, or as JSON, one per line', async () => {
    const before = operations(data).length;
    const lines = (await commandOk(['operations', '--data', data])).trimEnd().split('\n');
    expect(lines.length).toBeGreaterThanOrEqual(before);
    expect(lines.length).toBeLessThanOrEqual(operations(data).length);
    expect(lines[0]).toMatch(/^20\S+Z {2}.+ \(command line\) {2}started the service version \d/);
    expect(lines).toContainEqual(
      expect.stringMatching(/ {2}auditor \(k\w+\) {2}was shown the seed of Sleep$/),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(
        / {2}edc \(k\w+\) {2}was refused GET \/balance of Sleep: the key does not permit it$/,
      ),
    );
    const json = (await commandOk(['operations', '--data', data, '--json', '--study', 'Ward'])).trimEnd();
    for (const line of json.split('\n')) expect(JSON.parse(line).data.study).toBe('Ward');
    const { at } = storedLog(data).find(({ record }) => record.data.what === 'bundle')?.record ?? {};
    const last = await commandOk(['operations', '--data', data, '--since', at]);
    expect(last.split('\n')[0]).toContain('was shown a bundle (blinded, SHA-256 ');
    expect(last).not.toContain('started the service');
    const none = await command(['operations', '--data', data, '--until', '2020-01-01T00:00Z']);
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'no such events are recorded\n' });
    const user = await commandOk(['operations', '--data', data, '--user', 'leaver']);
    for (const line of user.trimEnd().split('\n'))
      expect(line).toMatch(/^\S+ {2}leaver \(k\w+\) {2}was refused GET \/study_config: the key is revoked/);
    expect((await command(['operations', '--data', data, '--since', 'yesterday'])).code).toBe(2);
  });

  it('nothing in the stream is secret: no key, treatment or level', () => {
    const text = JSON.stringify(operations(data));
    for (const secret of [...Object.values(keys), 'ZZTREAT', 'Cook', 'Dupage', 'Female', 'visit', 'Left'])
      expect(text).not.toContain(secret);
    const sealed = storedLog(data).filter(({ stream }) => stream === 'operations');
    expect(new Set(sealed.map((one) => one.sealed))).toEqual(new Set(['{}']));
  });

  it('the whole stream is verified', async () => {
    const { code, stdout } = await command(['verify', '--data', data]);
    expect(code).toBe(0);
    expect(stdout).toContain('operations: sound');
  });

  it('a killed run has a start but no stop, the next has both, and the disclosures are kept', async () => {
    await service.kill();
    service = await serve({ data });
    await service.stop();
    const runs = operations(data).filter(({ type }) => type.startsWith('Service'));
    expect(runs.map(({ type }) => type)).toEqual(['ServiceStarted', 'ServiceStarted', 'ServiceStopped']);
    expect(runs[2]?.data).toEqual(runs[1]?.data);
    expect(runs[0]?.data.runId).not.toBe(runs[1]?.data.runId);
    expect(new Set(disclosures(data, 'auditor').map((one) => JSON.stringify(about(one)))).size).toBe(10);
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });

  async function keyIdOf(user: string): Promise<string> {
    const all = JSON.parse(await commandOk(['keys', 'list', '--data', data, '--json']));
    return all.find((one: { user: string }) => one.user === user).keyId;
  }
});

it('an expired key belongs to a known user', async () => {
  const data = newFolder();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const key = await issueKey(data, 'late', '--expires', tomorrow);
  const clock = join(data, 'clock');
  writeFileSync(clock, String(2 * 86_400_000));
  const shifted = pathToFileURL(join(import.meta.dirname, '../../support/shifted-clock.mjs'));
  const env = { NODE_OPTIONS: `--import=${shifted}`, SHIFTED_CLOCK: clock };
  const service = await serve({ data, studies: TRIALS, env });
  expect((await clientOf(service.url, key).config('Sleep')).status).toBe(401);
  await service.stop();
  expect(refusals(data, 'late').map(about)).toEqual([
    { operation: 'GET /study_config', reason: 'expired-key' },
  ]);
});
