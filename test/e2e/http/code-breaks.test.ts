/** Breaking the code of a participant, and the list of code-breaks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const OF_COOK = ['--where', `local_site=${COOK.local_site}`, '--study', 'Sleep'];
let service: ServiceHere;
let keys: Record<'edc' | 'night' | 'cook' | 'cookReader' | 'reader' | 'blinded' | 'manager', string>;
/** Arms by id, as a key with `read` sees them. */
let arms: Map<string, string>;

const REASON = { reason: 'anaphylaxis, ICU', requested_by: 'Dr. K.' };
const reveal = (key: string, id: string, more: object = {}, headers: Record<string, string> = {}) =>
  postJson(
    service.url,
    '/code_breaks',
    key,
    { study: 'Sleep', id, category: 'emergency', ...REASON, ...more },
    headers,
  );
const listed = async (key: string) =>
  (await ask(service.url, '/code_breaks', { key, parameters: { study: 'Sleep' } })).results;

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,read'],
    night: ['night', '--scope', 'blinded,unblind'],
    cook: ['cook', '--scope', 'unblind', ...OF_COOK],
    cookReader: ['cook-reader', '--scope', 'blinded', ...OF_COOK],
    reader: ['reader', '--scope', 'read'],
    blinded: ['monitor', '--scope', 'blinded'],
    manager: ['data-manager', '--scope', 'manage'],
  });
  service = await serveHere(data, TRIALS);
  const { randomize, list } = clientOf(service.url, keys.edc);
  for (const [id, levels] of [
    ['c1', COOK],
    ['c2', COOK],
    ['d1', DUPAGE],
  ] as const)
    expect((await randomize('Sleep', id, levels)).status).toBe(200);
  arms = new Map((await list('Sleep')).results.map(({ id, trt }: Record<string, string>) => [id, trt]));
});
afterAll(() => service.stop());

describe('a code-break', () => {
  it('shows the arm to a key that otherwise sees none', async () => {
    const before = (await listed(keys.blinded)).length;
    const { results, headers } = await reveal(keys.night, 'c1');
    expect(results).toEqual([expect.objectContaining({ id: 'c1', trt: arms.get('c1') })]);
    expect(headers.get('urn-recorded')).toBe('log');
    expect(await listed(keys.blinded)).toHaveLength(before + 1);
    const list = await clientOf(service.url, keys.night).list('Sleep');
    expect(list.text).not.toContain('trt');
    for (const arm of arms.values())
      expect((await reveal(keys.night, 'c1', { dry_run: true })).text).not.toContain(arm);
  });

  it('is recorded once for an Idempotency-Key, and each time without one', async () => {
    const before = (await listed(keys.blinded)).length;
    const retry = { 'Idempotency-Key': 'night-1' };
    const first = await reveal(keys.night, 'c2', {}, retry);
    expect((await reveal(keys.night, 'c2', {}, retry)).results).toEqual(first.results);
    expect(await listed(keys.blinded)).toHaveLength(before + 1);
    await reveal(keys.night, 'c2');
    expect(await listed(keys.blinded)).toHaveLength(before + 2);
  });

  it('is possible within the limits of the key, and tells nothing of others', async () => {
    const outside = await reveal(keys.cook, 'd1');
    expect(outside).toMatchObject({ status: 404, results: [] });
    expect(outside.text).toBe((await reveal(keys.cook, 'no-such')).text);
    expect((await reveal(keys.cook, 'c1')).results[0].trt).toBe(arms.get('c1'));
  });
});

describe('the list of code-breaks', () => {
  it('shows a blinded reader who was unblinded, by whom and when, but no reason', async () => {
    const [first] = await listed(keys.blinded);
    expect(first).toMatchObject({ id: 'c1', category: 'emergency', user: 'night', recorded_late: false });
    expect(first).not.toHaveProperty('reason');
    const [withReason] = await listed(keys.reader);
    expect(withReason).toMatchObject({ reason: 'anaphylaxis, ICU', requested_by: 'Dr. K.' });
  });

  it('includes a reported unblinding', async () => {
    const report = {
      study: 'Sleep',
      id: 'd1',
      how: 'envelope',
      inadvertent: true,
      occurred_at: '2026-01-02T03:04:05Z',
      reason: 'torn in the post',
    };
    const post = (more: object = {}) =>
      postJson(service.url, '/unblindings', keys.night, { ...report, ...more });
    const [last] = (await listed(keys.reader)).slice(-1);
    const { status, text } = await post();
    expect(status).toBe(200);
    for (const arm of arms.values()) expect(text).not.toContain(`"${arm}"`);
    const [added] = (await listed(keys.reader)).slice(-1);
    expect(added).toMatchObject({ type: 'reported', how: 'envelope', known_at: '2026-01-02T03:04:05.000Z' });
    expect((await post({ occurred_at: '2999-01-01T00:00:00Z' })).status).toBe(400);
    expect((await post({ revealed_at: added.revision })).status).toBe(422);
    expect((await post({ id: last.id, revealed_at: last.revision })).status).toBe(200);
  });
});

describe('the history of a participant', () => {
  const history = (key: string, id: string) =>
    ask(service.url, '/participant_history', { key, parameters: { study: 'Sleep', id } });

  it('shows a blinded reader what happened, when and by whom, without arms or reasons', async () => {
    const { results, text } = await history(keys.blinded, 'c2');
    expect(results[0]).toMatchObject({
      type: 'ParticipantRandomized',
      user: 'edc',
      data: { participantId: 'c2', levels: [{ factor: 'sex', level: 'Male' }, { factor: 'local_site' }] },
    });
    expect(results[1]).toMatchObject({ type: 'AllocationRevealed', user: 'night' });
    for (const hidden of [...arms.values(), 'anaphylaxis', 'Dr. K.']) expect(text).not.toContain(hidden);
  });

  it('shows a reader the reasons, too', async () => {
    const { results } = await history(keys.reader, 'c2');
    expect(results[1]).toMatchObject({ note: 'anaphylaxis, ICU', requested_by: 'Dr. K.' });
  });

  it('does not distinguish an unknown participant from one outside the limits of the key', async () => {
    const key = keys.cookReader;
    const [outside, nobody] = [await history(key, 'd1'), await history(key, 'nobody')];
    expect(outside).toMatchObject({ status: 404, results: [] });
    expect(outside.text).toBe(nobody.text);
    expect((await history(key, 'c1')).status).toBe(200);
    expect((await history(keys.manager, 'c1')).status).toBe(403);
    expect((await history(keys.blinded, '')).status).toBe(400);
  });
});

const MISSING = 'category is missing (it must be one of emergency, ';

describe('a JSON body is refused', () => {
  const GOOD = '{"study":"Sleep","id":"c1","category":"emergency","reason":"anaphylaxis"';
  const saying = (reason: string) => `${GOOD.replace('anaphylaxis', reason)}}`;
  it.each([
    ['with a member given twice, once escaped', `${GOOD},"\\u0069d":"c2"}`, 400, 'a duplicate member'],
    ['with an escaped API key', saying(`\\u0075rn_${'a'.repeat(43)}`), 400, 'An API key was sent'],
    ['that is cut off', GOOD, 400, 'not JSON'],
    ['that is nested too deeply', '['.repeat(9000), 400, 'not JSON'],
    ['that is not an object', '"study"', 400, 'must be an object'],
    ['that lacks everything', '{}', 400, 'study is missing'],
    ['that lacks almost everything', '{"study":"Sleep"}', 400, MISSING],
    ['with half a character', saying('a \\ud800 b'), 400, 'a lone surrogate'],
    ['with a control character', saying('a \\u0007 b'), 400, 'control character'],
    ['with too short a reason', saying('ab'), 400, '3 to 2000 characters'],
    ['that is too long', `${GOOD},"x":"${'x'.repeat(17_000)}"}`, 413, '16 KiB'],
  ])('%s', async (_, body, status, message) => {
    const before = await listed(keys.reader);
    const answer = await postJson(service.url, '/code_breaks', keys.night, body);
    expect(answer).toMatchObject({ status, results: [] });
    expect(answer.message).toContain(message);
    expect(await listed(keys.reader)).toEqual(before);
  });

  it('if it is not declared as JSON, has parameters in the query, or comes without a key', async () => {
    const body = `${GOOD}}`;
    const text = { 'Content-Type': 'text/plain' };
    expect((await postJson(service.url, '/code_breaks', keys.night, body, text)).status).toBe(415);
    expect((await postJson(service.url, '/code_breaks?study=Sleep', keys.night, body)).status).toBe(400);
    expect((await postJson(service.url, '/code_breaks', undefined, body)).status).toBe(401);
  });
});

it('at the command line, codes are broken while the service runs, and a printed code-break is recorded', async () => {
  const at = ['--study', 'Sleep', '--data', data];
  const before = (await listed(keys.reader)).length;
  const args = ['--id', 'c1', '--category', 'monitoring', '--reason', 'unblinded monitor', ...at];
  expect(await commandOk(['reveal', ...args])).toContain(`c1 is on ${arms.get('c1')}`);
  await expect.poll(async () => (await listed(keys.reader)).length).toBe(before + 1);
  const list = await commandOk(['code-breaks', ...at]);
  expect(list).toContain('Dr. K.');
  for (const arm of arms.values()) expect(list).not.toMatch(new RegExp(`\\b${arm}\\b`));
  expect(await commandOk(['code-breaks', 'print', '--id', 'd1', ...at])).toContain(arms.get('d1'));
  expect(await commandOk(['operations', '--data', data])).toContain(
    'the printed code-break of participant d1',
  );
  expect(await commandOk(['participants', 'list', ...at])).toMatch(/c2 .*unblinded/);
  const report = JSON.parse(await commandOk(['verify', '--json', '--data', data]));
  const { life } = report.streams.find(({ study }: { study?: string }) => study === 'Sleep');
  expect(life).toMatchObject({ state: 'open', revealed: { monitoring: 1 } });
});
