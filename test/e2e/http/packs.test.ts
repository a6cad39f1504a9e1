/** Packs of medication over HTTP, in a live, blinded study whose sites have their own packs. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const data = temporaryFolders()();
const STUDIES = `
Relief:
  mode: live
  blinding: blinded
  treatments: [ZZVERUM, ZZPLACEBO]
  factors:
    sex: [Male, Female]
    site: [Cook, Kane, Lake, Will]
`;
const ARMS = ['ZZVERUM', 'ZZPLACEBO'] as const;
/** By code. The order of the codes has nothing to do with the arms. */
const armOf = new Map<string, string>();

/** Packs with codes like C003, with the given number of each arm. */
function packs(letter: string, verum: number, placebo: number) {
  const left = [verum, placebo];
  const entries: { code: string; treatment: string }[] = [];
  for (let n = 1; left.some((some) => some > 0); n++) {
    const arm = (left[n % 2] ?? 0) > 0 ? n % 2 : (n + 1) % 2;
    left[arm] = (left[arm] ?? 0) - 1;
    entries.push({ code: `${letter}${String(n).padStart(3, '0')}`, treatment: ARMS[arm] ?? '' });
  }
  for (const { code, treatment } of entries) armOf.set(code, treatment);
  return entries;
}
const at = (level: string) => ({ factor: 'site', level });

let service: ServiceHere;
let keys: Record<
  'edc' | 'hands' | 'blinded' | 'reader' | 'auditor' | 'cook' | 'night' | 'cookNight',
  string
> &
  Record<'pharmacy' | 'cookPharmacy' | 'forcer', string>;

const get = (path: string, key: string, parameters: Record<string, string> = {}) =>
  ask(service.url, path, { key, parameters: { study: 'Relief', ...parameters } });
const post = (path: string, key: string, body: object, headers = {}) =>
  postJson(service.url, path, key, { study: 'Relief', ...body }, headers);
const enrol = (id: string, site: string, key = keys.edc, headers = {}) =>
  clientOf(service.url, key).randomize('Relief', id, { sex: 'Male', site }, headers);
const replace = (key: string, id: string, code: string, more = {}, headers = {}) =>
  post('/code_replacements', key, { id, code, cause: 'damaged', ...more }, headers);
const withdraw = (codes: readonly string[]) =>
  post('/code_withdrawals', keys.cookPharmacy, { codes, reason: 'the cold chain broke' });
const breakCode = (key: string, more: object, headers = {}) =>
  post('/code_breaks', key, { category: 'emergency', reason: 'a child swallowed it', ...more }, headers);
const force = (id: string, code: string | null | undefined, more: object = {}) =>
  post('/forced_allocations', keys.forcer, {
    ...{ id, code, treatment: 'ZZVERUM', levels: { sex: 'Male', site: 'Cook' }, cause: 'outage' },
    ...{ occurred_at: new Date().toISOString(), note: 'envelope 12', ...more },
  });
const mapOf = async (key: string) => (await get('/codes', key)).results;
const packOf = async (id: string, key = keys.reader): Promise<string> =>
  (await get('/study_participants', key, { id })).results[0]['urn.code'];
const events = (type: string) => storedLog(data).filter(({ record }) => record.type === type);
/** The code of a pack at this site that nobody has. */
async function freePack(letter: string, treatment?: string): Promise<string> {
  const { codes } = await mapOf(keys.pharmacy);
  const found = codes.find(
    ({ code, state, trt }: Record<string, string>) =>
      code?.startsWith(letter) && state === 'free' && trt === (treatment ?? trt),
  );
  return found.code;
}

const OF_COOK = ['--study', 'Relief', '--where', 'site=Cook'];

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,blinded'],
    hands: ['hands', '--scope', 'randomize'],
    blinded: ['monitor', '--scope', 'blinded'],
    reader: ['reader', '--scope', 'read'],
    auditor: ['auditor', '--scope', 'read,audit'],
    cook: ['cook', '--scope', 'randomize,blinded', ...OF_COOK],
    pharmacy: ['pharmacy', '--scope', 'supply'],
    cookPharmacy: ['cook-pharmacy', '--scope', 'supply', ...OF_COOK],
    night: ['night', '--scope', 'blinded,unblind'],
    cookNight: ['cook-night', '--scope', 'unblind', ...OF_COOK],
    forcer: ['enterer', '--scope', 'force,read'],
  });
  service = await serveHere(data, STUDIES);
  await registerPacks(data, 'Relief', [
    { where: at('Cook'), entries: packs('C', 30, 30) },
    { where: at('Kane'), entries: packs('K', 3, 0) },
    { where: at('Lake'), entries: packs('L', 0, 3) },
    { where: at('Will'), entries: packs('W', 1, 1) },
  ]);
});
afterAll(() => service.stop());

describe('a new participant', () => {
  it('gets a pack that every key that sees the participant can see; only readers see the arm', async () => {
    const { status, results, text, headers } = await enrol('c1', 'Cook');
    const code = results[0]['urn.code'];
    expect([status, armOf.has(code)]).toEqual([200, true]);
    expect(text).not.toContain('ZZ');
    expect(headers.get('urn-receipt')).not.toBeNull();
    expect((await get('/study_participants', keys.blinded)).results).toEqual([
      { ...results[0], 'urn.code': code },
    ]);
    const [read] = (await get('/study_participants', keys.reader)).results;
    expect(read).toMatchObject({ 'urn.code': code, trt: armOf.get(code) });
  });

  it('has the same pack when the request is repeated', async () => {
    const retry = { 'Idempotency-Key': 'visit-2' };
    const first = await enrol('c2', 'Cook', keys.edc, retry);
    expect((await enrol('c2', 'Cook', keys.edc, retry)).results).toEqual(first.results);
    expect(await enrol('c2', 'Cook')).toMatchObject({ status: 400, results: first.results });
    expect(await packOf('c1')).not.toBe(first.results[0]['urn.code']);
  });

  it('is refused before any draw if an arm has no pack left for them, in the same words for every arm', async () => {
    const before = events('ParticipantRandomized').length;
    const answers = [await enrol('x1', 'Kane'), await enrol('x1', 'Lake')];
    for (const answer of answers) expect(answer).toMatchObject({ status: 409, results: [] });
    expect(answers[0]?.text).toBe(answers[1]?.text);
    expect(answers[0]?.message).toMatch(/^There are not enough packs left for this participant/);
    expect(events('ParticipantRandomized')).toHaveLength(before);
    const refused = () => events('RequestRefused').filter(({ record }) => record.data.reason === 'no-code');
    // The answer does not wait for the record.
    await expect.poll(() => refused().length).toBeGreaterThan(0);
    for (const { record, sealed } of refused()) expect(JSON.stringify(record) + sealed).not.toContain('ZZ');
  });

  it('can take the last pack of an arm, and the next one is refused', async () => {
    expect((await enrol('w1', 'Will')).status).toBe(200);
    const { text } = await enrol('w2', 'Will');
    expect(text).toBe((await enrol('x1', 'Kane')).text);
  });

  it('gets no pack or arm in a dry run, which leaves no trace', async () => {
    const dry = (id: string, site: string) =>
      clientOf(service.url, keys.edc).randomize('Relief', id, { sex: 'Male', site, 'urn.dry_run': 'true' });
    const before = storedLog(data).length;
    const { status, results } = await dry('c3', 'Cook');
    expect([status, results]).toEqual([200, { effect: { counts: 'moves' } }]);
    expect((await dry('x1', 'Kane')).status).toBe(409);
    expect(events('ParticipantRandomized').map(({ record }) => record.data.participantId)).not.toContain(
      'c3',
    );
    expect(storedLog(data).length - before).toBeLessThan(2);
  });
});

describe('GET /codes', () => {
  it('shows the pharmacy which treatment each pack holds, who has it and how many are left', async () => {
    const { codes, stock } = await mapOf(keys.pharmacy);
    expect(new Map(codes.map(({ code, trt }: Record<string, string>) => [code, trt]))).toEqual(armOf);
    const code = await packOf('c1');
    expect(codes.find((one: { code: string }) => one.code === code)).toEqual({
      ...{ code, trt: armOf.get(code), where: at('Cook'), state: 'given', id: 'c1' },
    });
    const free = (site: string) =>
      stock
        .filter(({ where }: { where: { level: string } }) => where.level === site)
        .map((one: { free: number }) => one.free);
    expect(free('Kane')).toEqual([3]);
    expect(free('Lake')).toEqual([3]);
    expect(free('Will').toSorted()).toEqual([0, 1]);
    expect(free('Cook').reduce((a: number, b: number) => a + b)).toBe(58);
  });

  it('shows a limited key only the packs of its levels', async () => {
    const { codes, stock } = await mapOf(keys.cookPharmacy);
    expect(codes).toHaveLength(60);
    for (const { where } of [...codes, ...stock]) expect(where).toEqual(at('Cook'));
  });

  it('is recorded, and never shows the key of a list', async () => {
    const { text } = await get('/codes', keys.pharmacy);
    const disclosed = () => {
      const shown = events('EvidenceDisclosed').filter(({ record }) => record.data.what === 'codes');
      return new Set(shown.map(({ record }) => record.data.keyId ?? record.actor.keyId)).size;
    };
    // Consecutive requests with one key are counted together.
    await expect.poll(disclosed).toBe(2);
    const secret = events('CodesRegistered').map(({ sealed }) => /"key":"([0-9a-f]{32})"/.exec(sealed)?.[1]);
    expect(secret).toHaveLength(4);
    for (const one of secret) expect(text).not.toContain(one);
    expect(text).not.toContain('"key"');
  });

  it('needs the scope supply', async () => {
    for (const name of ['edc', 'blinded', 'reader', 'auditor', 'night', 'forcer'] as const)
      expect(await get('/codes', keys[name]), name).toMatchObject({ status: 403 });
    expect((await get('/codes', keys.pharmacy, { id: 'c1' })).status).toBe(400);
  });
});

describe('POST /code_replacements', () => {
  it('answers a repeated request with the pack of its own event, though that was replaced since', async () => {
    await enrol('c5', 'Cook');
    const code = await packOf('c5');
    const retry = { 'Idempotency-Key': 'replace-2' };
    const first = await replace(keys.cook, 'c5', code, {}, retry);
    const second = await replace(keys.cook, 'c5', first.results.by);
    expect((await replace(keys.cook, 'c5', code, {}, retry)).results).toEqual(first.results);
    expect(await packOf('c5', keys.blinded)).toBe(second.results.by);
  });

  it('names no pack to a key that may not read which one a participant has', async () => {
    const [now, other] = [await packOf('c5'), await freePack('C')];
    const refused = await replace(keys.hands, 'c5', other);
    expect(refused).toMatchObject({
      ...{ status: 409, results: {} },
      message: 'Nothing was recorded: the participant has another pack now',
    });
    expect(refused.text).not.toContain(now);
    for (const key of [keys.cook, keys.cookPharmacy])
      expect((await replace(key, 'c5', other)).message).toContain(now);
  });

  it('is refused while any arm has fewer than three packs, in the words of a refused enrolment', async () => {
    const { message } = await enrol('x1', 'Kane');
    expect(message).toContain('ask whoever supplies packs');
    for (const more of [{}, { dry_run: true }]) {
      const refused = await replace(keys.edc, 'w1', await packOf('w1'), more);
      expect(refused).toMatchObject({ status: 409, message, results: {} });
    }
  });
});

it('packs that are withdrawn are shown as such, and only once', async () => {
  const [verum, placebo] = [await freePack('C', 'ZZVERUM'), await freePack('C', 'ZZPLACEBO')];
  expect((await withdraw([verum, placebo])).results).toEqual({ withdrawn: 2 });
  const { codes } = await mapOf(keys.cookPharmacy);
  const states = codes.filter(({ code }: { code: string }) => [verum, placebo].includes(code));
  expect(states.map(({ state }: { state: string }) => state)).toEqual(['withdrawn', 'withdrawn']);
  expect(await withdraw([verum, 'K001', placebo])).toMatchObject({
    ...{ status: 422, message: `codes: no free pack has the code ${verum}, K001, ${placebo}` },
  });
});

describe('an allocation made outside the service', () => {
  it('names the pack that was given, which must be free and of the arm', async () => {
    const [own, other] = [await freePack('C', 'ZZVERUM'), await freePack('C', 'ZZPLACEBO')];
    const refused = await force('f1', other);
    expect([refused.status, refused.message]).toEqual([
      ...[422, 'code: no free pack of this arm has this code'],
    ]);
    // A dry run does not reveal which treatment a pack holds.
    const tries = [await force('f1', own, { dry_run: true }), await force('f1', other, { dry_run: true })];
    expect(tries.map(({ status }) => status)).toEqual([200, 200]);
    expect(tries[0]?.text).toBe(tries[1]?.text);
    const { status, results } = await force('f1', own);
    expect([status, results[0]['urn.code'], results[0].trt]).toEqual([200, own, 'ZZVERUM']);
  });

  it('says that there was no pack, if there was none: silence is refused', async () => {
    const silent = await force('f3', undefined);
    expect([silent.status, silent.message]).toEqual([
      422,
      'code: the study has packs: say which one the participant was given, or that it was none (null, or --no-code)',
    ]);
    const { status, results } = await force('f3', null);
    expect([status, 'urn.code' in results[0]]).toEqual([200, false]);
    expect(events('AllocationForced').at(-1)?.record.data).not.toHaveProperty('code');
  });
});

describe('POST /code_breaks by pack code', () => {
  it('breaks the code of the participant who has the pack', async () => {
    const code = await packOf('c1');
    const { status, results, headers } = await breakCode(keys.night, { code });
    expect(status).toBe(200);
    expect(results).toEqual([expect.objectContaining({ id: 'c1', trt: armOf.get(code), 'urn.code': code })]);
    expect(headers.get('urn-recorded')).toBe('log');
    const { record } = events('AllocationRevealed').at(-1) ?? {};
    expect(record.data).toMatchObject({ code, participantId: 'c1', randomizedAt: expect.any(Number) });
    expect(JSON.stringify(record)).not.toContain('ZZ');
  });

  it('breaks the code of a participant who had the pack before', async () => {
    const code = await packOf('c1');
    const { by } = (await replace(keys.cook, 'c1', code)).results;
    const { results } = await breakCode(keys.night, { code });
    expect(results).toEqual([expect.objectContaining({ id: 'c1', 'urn.code': by })]);
    expect(results[0].trt).toBe(armOf.get(code));
  });

  it('shows only the pack if nobody had it, and the same for a retry', async () => {
    const code = await freePack('C');
    const retry = { 'Idempotency-Key': 'child-1' };
    const { results, headers } = await breakCode(keys.cookNight, { code }, retry);
    expect(results).toEqual([{ code, trt: armOf.get(code) }]);
    expect(headers.get('urn-receipt')).not.toBeNull();
    const before = events('AllocationRevealed').length;
    expect((await breakCode(keys.cookNight, { code }, retry)).results).toEqual(results);
    expect(events('AllocationRevealed')).toHaveLength(before);
    const { record } = events('AllocationRevealed').at(-1) ?? {};
    expect(Object.keys(record.data).toSorted()).toEqual(['category', 'code', 'reveal']);
  });

  it('answers 404 in the same words for an unknown pack and one outside the limits of the key', async () => {
    const unknown = await breakCode(keys.cookNight, { code: 'X999' });
    expect(unknown).toMatchObject({ status: 404, results: [] });
    for (const asked of [{ code: 'K001' }, { code: await packOf('w1') }, { id: 'nobody' }])
      expect((await breakCode(keys.cookNight, asked)).text).toBe(unknown.text);
    expect((await breakCode(keys.night, { code: 'K001' })).results).toEqual([
      { code: 'K001', trt: 'ZZVERUM' },
    ]);
  });

  it('needs either id or code', async () => {
    for (const asked of [{}, { id: 'c1', code: 'C001' }])
      expect(await breakCode(keys.night, asked)).toMatchObject({
        ...{ status: 400, message: 'either id or code must be given' },
      });
  });

  it('is shown in the list of code-breaks and in the history, without arms', async () => {
    const list = await get('/code_breaks', keys.blinded);
    const [first] = list.results;
    expect(first).toMatchObject({ id: 'c1', code: expect.stringMatching(/^C/), user: 'night' });
    expect(list.results.some((one: object) => !('id' in one) && 'code' in one)).toBe(true);
    const history = await get('/participant_history', keys.blinded, { id: 'c1' });
    const types = history.results.map(({ type }: { type: string }) => type);
    expect(types).toEqual([
      ...['ParticipantRandomized', 'AllocationRevealed', 'CodeReplaced', 'AllocationRevealed'],
    ]);
    const { code, by } = history.results[2].data;
    expect([history.results[0].data.code, await packOf('c1')]).toEqual([code, by]);
    expect(list.text + history.text).not.toContain('ZZ');
  });

  it('does not wait for a log that cannot be written', async () => {
    const [code, given] = [await freePack('C'), await packOf('c1')];
    const before = events('AllocationRevealed').length;
    const release = await hold(join(data, 'urn.sqlite'));
    const answers = await Promise.all([code, given].map((one) => breakCode(keys.cookNight, { code: one })));
    expect(answers.map(({ headers }) => headers.get('urn-recorded'))).toEqual(['pending', 'pending']);
    expect(answers[0]?.results).toEqual([{ code, trt: armOf.get(code) }]);
    expect(answers[1]?.results[0]).toMatchObject({ id: 'c1', trt: armOf.get(given) });
    const file = join(data, 'reveals.pending');
    expect(readFileSync(file, 'utf8')).toContain(code);
    expect(readFileSync(file, 'utf8')).not.toContain('ZZ');
    await release();
    await expect.poll(() => existsSync(file)).toBe(false);
    const late = events('AllocationRevealed').slice(before);
    expect(late.map(({ record }) => record.data.code).toSorted()).toEqual([code, given].toSorted());
  });
});

describe('everything else', () => {
  it('the list for statisticians has the code of the pack, even without arms', async () => {
    for (const key of [keys.reader, keys.blinded]) {
      const headers = { 'X-API-Key': key, Accept: 'text/csv' };
      const response = await fetch(`${service.url}/study_participants?study=Relief`, { headers });
      const [head = [], ...rows] = parseCsv(await response.text());
      expect(head.at(-1)).toBe('pack_code');
      const c1 = rows.find((row) => row[head.indexOf('id')] === 'c1');
      expect(c1?.at(-1)).toBe(await packOf('c1'));
    }
  });

  it('an explanation names the pack that the participant got at the time', async () => {
    const { results } = await clientOf(service.url, keys.auditor).explain('Relief', 'c1');
    const [{ record }] = events('ParticipantRandomized') as [ReturnType<typeof storedLog>[number]];
    expect([results.id, results.code]).toEqual([record.data.participantId, record.data.code]);
    expect([results.trt, results.agrees]).toEqual([armOf.get(results.code), true]);
  });

  it('the log verifies, and says how many packs there are', async () => {
    const { results } = await get('/verification', keys.auditor);
    const replaced = events('CodeReplaced').length;
    expect([results.ok, results.streams.at(-1).life.packs]).toEqual([
      ...[true, { registered: armOf.size, replaced, withdrawn: 2 }],
    ]);
  });
});

/** Holds the write lock of the log. @returns a function that releases it */
async function hold(file: string): Promise<() => Promise<void>> {
  const script = join(import.meta.dirname, '../../support/lock-holder.mjs');
  const child = spawn(process.execPath, [script, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end();
    await once(child, 'exit');
  };
}
