/** Breaking the code of a participant, and the list of code-breaks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
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
  it('shows the arm to a key that otherwise sees none, with a receipt', async () => {
    const before = (await listed(keys.blinded)).length;
    const { status, results, headers } = await reveal(keys.night, 'c1');
    expect(status).toBe(200);
    expect(results).toEqual([expect.objectContaining({ id: 'c1', trt: arms.get('c1') })]);
    expect(headers.get('urn-recorded')).toBe('log');
    const [, size] = Buffer.from(headers.get('urn-receipt') ?? '', 'base64')
      .toString()
      .split('\n');
    expect(Number(size)).toBe(Number(headers.get('urn-revision')) + 1);
    expect(await listed(keys.blinded)).toHaveLength(before + 1);
    const list = await clientOf(service.url, keys.night).list('Sleep');
    expect(list.text).not.toContain('trt');
  });

  it('is recorded again when repeated, unless the Idempotency-Key is the same', async () => {
    const before = (await listed(keys.blinded)).length;
    const retry = { 'Idempotency-Key': 'night-1' };
    const first = await reveal(keys.night, 'c2', {}, retry);
    const second = await reveal(keys.night, 'c2', {}, retry);
    expect(second.results).toEqual(first.results);
    expect(await listed(keys.blinded)).toHaveLength(before + 1);
    expect((await reveal(keys.night, 'c2', { reason: 'another reason' }, retry)).status).toBe(422);
    await reveal(keys.night, 'c2');
    expect(await listed(keys.blinded)).toHaveLength(before + 2);
  });

  it('needs the scope unblind, and a participant within the limits of the key', async () => {
    for (const key of [keys.edc, keys.reader, keys.blinded, keys.manager])
      expect((await reveal(key, 'c1')).status).toBe(403);
    const outside = await reveal(keys.cook, 'd1');
    const nobody = await reveal(keys.cook, 'no-such');
    expect(outside).toMatchObject({ status: 404, results: [] });
    expect(outside.text).toBe(nobody.text);
    expect((await reveal(keys.cook, 'c1')).results[0].trt).toBe(arms.get('c1'));
  });

  it('leaves no trace and shows no arm as a dry run', async () => {
    const before = await listed(keys.reader);
    const { results, headers, text } = await reveal(keys.night, 'd1', { dry_run: true });
    expect(results).toEqual({ effect: { counts: 'stays' } });
    expect(headers.get('urn-dry-run')).toBe('true');
    expect(headers.get('urn-receipt')).toBeNull();
    for (const arm of arms.values()) expect(text).not.toContain(arm);
    expect((await reveal(keys.night, 'no-such', { dry_run: true })).status).toBe(404);
    expect(await listed(keys.reader)).toEqual(before);
  });

  it('is possible in a study that is paused or closed', async () => {
    const set = (body: object) =>
      postJson(service.url, '/study_state', keys.manager, { study: 'Sleep', reason: 'a test', ...body });
    for (const [closing, opening] of [
      [{ action: 'pause' }, { action: 'resume' }],
      [
        { action: 'close', cause: 'safety' },
        { action: 'reopen', approvals: [{ name: 'R', role: 'sponsor', on: '2026-02-28' }] },
      ],
    ] as const) {
      expect((await set(closing)).status).toBe(200);
      expect((await reveal(keys.night, 'c1')).status).toBe(200);
      expect((await clientOf(service.url, keys.edc).randomize('Sleep', 'new', COOK)).status).toBe(409);
      expect((await set(opening)).results).toEqual({ state: 'open' });
    }
    const wrongDay = {
      action: 'close',
      cause: 'safety',
      approvals: [{ name: 'R', role: 'sponsor', on: 'May' }],
    };
    expect(await set(wrongDay)).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^approvals\[0\]\.on: /),
    });
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

  it('is available at the command line, along with the list of all participants', async () => {
    const list = await commandOk(['participants', 'list', '--study', 'Sleep', '--data', data]);
    expect(list).toMatch(/c2 .*unblinded/);
    const one = await commandOk([
      'participants',
      'history',
      '--study',
      'Sleep',
      '--id',
      'c2',
      '--data',
      data,
    ]);
    expect(one).toContain('code of c2 broken: emergency');
    for (const arm of arms.values()) expect(list + one).not.toContain(arm);
  });
});

describe('a JSON body is refused', () => {
  const GOOD = '{"study":"Sleep","id":"c1","category":"emergency","reason":"anaphylaxis"';
  it.each([
    ['with a member given twice', `${GOOD},"id":"c2"}`, 400, 'a duplicate member'],
    ['with a member given twice, once escaped', `${GOOD},"\\u0069d":"c2"}`, 400, 'a duplicate member'],
    ['with a member given twice with the same value', `${GOOD},"id":"c1"}`, 400, 'a duplicate member'],
    [
      'with an escaped API key',
      `${GOOD.replace('anaphylaxis', `\\u0075rn_${'a'.repeat(43)}`)}}`,
      400,
      'An API key was sent',
    ],
    ['with an unknown member', `${GOOD},"arm":"A"}`, 400, 'arm is not a member'],
    ['that is cut off', GOOD, 400, 'not JSON'],
    ['that is nested too deeply', '['.repeat(9000), 400, 'not JSON'],
    ['that is not an object', '"study"', 400, 'must be an object'],
    ['that lacks everything', '{}', 400, 'study is missing'],
    [
      'that lacks almost everything',
      '{"study":"Sleep"}',
      400,
      'category is missing (it must be one of emergency, ',
    ],
    ['with half a character', `${GOOD.replace('anaphylaxis', 'a \\ud800 b')}}`, 400, 'a lone surrogate'],
    ['with a control character', `${GOOD.replace('anaphylaxis', 'a \\u0007 b')}}`, 400, 'control character'],
    ['with too short a reason', `${GOOD.replace('anaphylaxis', 'ab')}}`, 400, '3 to 2000 characters'],
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

describe('at the command line', () => {
  const at = ['--study', 'Sleep', '--data', data];

  it('a code is broken while the service is running, which then shows it', async () => {
    const before = (await listed(keys.reader)).length;
    const args = ['--id', 'c1', '--category', 'monitoring', '--reason', 'unblinded monitor', ...at];
    expect(await commandOk(['reveal', ...args])).toContain(`c1 is on ${arms.get('c1')}`);
    await expect.poll(async () => (await listed(keys.reader)).length).toBe(before + 1);
    const dry = await command(['reveal', ...args, '--dry-run']);
    expect(dry.stderr).toContain('nothing was recorded');
    expect(dry.stdout).toBe('');
    const unknown = await command([
      ...['reveal', ...at, '--id', 'nobody', '--category', 'other', '--reason', 'a mistake'],
    ]);
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
  });

  it('the list names no arm, and a printed code-break is recorded', async () => {
    const list = await commandOk(['code-breaks', ...at]);
    expect(list).toContain('Dr. K.');
    for (const arm of arms.values()) expect(list).not.toMatch(new RegExp(`\\b${arm}\\b`));
    expect(await commandOk(['code-breaks', 'print', '--id', 'd1', ...at])).toContain(arms.get('d1'));
    expect(await commandOk(['operations', '--data', data])).toContain(
      'the printed code-break of participant d1',
    );
  });

  it('an unblinding is reported', async () => {
    const args = ['--id', 'd1', '--how', 'label', '--occurred-at', '2026-01-02T03:04Z', ...at];
    const { code, stderr } = await command(['unblindings', 'add', ...args, '--reason', 'read on the box']);
    expect(stderr).toMatch(/reported: d1 was unblinded outside the service .* \(label\) \(revision \d+\)$/m);
    expect(code).toBe(0);
  });

  it('the log verifies, and the report counts the code-breaks', async () => {
    const report = JSON.parse(await commandOk(['verify', '--json', '--data', data]));
    const { life } = report.streams.find(({ study }: { study?: string }) => study === 'Sleep');
    expect(life).toMatchObject({ state: 'open', revealed: { monitoring: 1 } });
  });
});
