/** Breaking the code of a participant, and who sees what of it. The rules: test/unit/study/life.test.ts, test/unit/code-break. */
import { describe, expect, it } from 'vitest';
import { commandOk } from '../../support/command.ts';
import { served } from '../../support/served.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const OF_COOK = ['--where', `local_site=${COOK.local_site}`, '--study', 'Sleep'];
/** Arms by id, as a key with `read` sees them. */
let arms: Map<string, string>;
const http = served(
  TRIALS,
  {
    edc: ['edc', '--scope', 'randomize,read'],
    night: ['night', '--scope', 'blinded,unblind'],
    cook: ['cook', '--scope', 'unblind', ...OF_COOK],
    cookReader: ['cook-reader', '--scope', 'blinded', ...OF_COOK],
    blinded: ['monitor', '--scope', 'blinded'],
  },
  {
    data,
    filled: async (one) => {
      const { randomize, list } = one.as('edc');
      for (const [id, levels] of [
        ['c1', COOK],
        ['c2', COOK],
        ['d1', DUPAGE],
      ] as const)
        expect((await randomize('Sleep', id, levels)).status).toBe(200);
      arms = new Map(
        (await list('Sleep')).results.map((record: Record<string, string>) => [record['id'], record['trt']]),
      );
    },
  },
);
type Name = keyof typeof http.keys;

const REASON = { reason: 'anaphylaxis, ICU', requested_by: 'Dr. K.' };
const reveal = (name: Name, id: string, more = {}, headers = {}) =>
  http.post(name, '/code_breaks', { study: 'Sleep', id, category: 'emergency', ...REASON, ...more }, headers);
const listed = async (name: Name) => (await http.get(name, '/code_breaks', { study: 'Sleep' })).results;
const history = (name: Name, id: string) => http.get(name, '/participant_history', { study: 'Sleep', id });

describe('a code-break', () => {
  it('shows the arm to a key that otherwise sees none, and is recorded each time without an Idempotency-Key', async () => {
    const before = (await listed('blinded')).length;
    const retry = { 'Idempotency-Key': 'night-1' };
    const first = await reveal('night', 'c1', {}, retry);
    expect(first.results).toEqual([expect.objectContaining({ id: 'c1', trt: arms.get('c1') })]);
    expect(first.headers.get('urn-recorded')).toBe('log');
    expect((await reveal('night', 'c1', {}, retry)).results).toEqual(first.results);
    expect(await listed('blinded')).toHaveLength(before + 1);
    await reveal('night', 'c1');
    expect(await listed('blinded')).toHaveLength(before + 2);
    expect((await http.as('night').list('Sleep')).text).not.toContain('trt');
    for (const arm of arms.values())
      expect((await reveal('night', 'c1', { dry_run: true })).text).not.toContain(arm);
  });

  it('is possible within the limits of the key, and tells nothing of others', async () => {
    const outside = await reveal('cook', 'd1');
    expect(outside).toMatchObject({ status: 404, results: [] });
    expect(outside.text).toBe((await reveal('cook', 'no-such')).text);
    const past = await history('cookReader', 'd1');
    expect(past).toMatchObject({ status: 404, results: [] });
    expect(past.text).toBe((await history('cookReader', 'nobody')).text);
    expect((await reveal('cook', 'c2')).results[0].trt).toBe(arms.get('c2'));
  });

  it('shows a blinded reader who was unblinded, by whom and when, but no reason', async () => {
    await reveal('night', 'c2');
    const isNight = ({ id, user }: { id: string; user: string }) => id === 'c2' && user === 'night';
    const shown = (await listed('blinded')).find(isNight);
    expect(shown).toMatchObject({ category: 'emergency', recorded_late: false });
    expect(shown).not.toHaveProperty('reason');
    expect((await listed('edc')).find(isNight)).toMatchObject(REASON);
    const { results, text } = await history('blinded', 'c2');
    expect(results[0]).toMatchObject({
      ...{ type: 'ParticipantRandomized', user: 'edc' },
      data: { participantId: 'c2', levels: [{ factor: 'sex', level: 'Male' }, { factor: 'local_site' }] },
    });
    expect(results.at(-1)).toMatchObject({ type: 'AllocationRevealed', user: 'night' });
    for (const hidden of [...arms.values(), 'anaphylaxis', 'Dr. K.']) expect(text).not.toContain(hidden);
    expect((await history('edc', 'c2')).results.at(-1)).toMatchObject({
      ...{ note: 'anaphylaxis, ICU', requested_by: 'Dr. K.' },
    });
  });

  it('is listed beside a reported unblinding, which may say that it was a mistake', async () => {
    await reveal('night', 'd1');
    const [last] = (await listed('edc')).slice(-1);
    const report = {
      study: 'Sleep',
      id: 'd1',
      how: 'envelope',
      inadvertent: true,
      reason: 'torn in the post',
    };
    const post = (more: object = {}) =>
      http.post('night', '/unblindings', { ...report, occurred_at: '2026-01-02T03:04:05Z', ...more });
    const { text } = await post();
    for (const arm of arms.values()) expect(text).not.toContain(`"${arm}"`);
    const [added] = (await listed('edc')).slice(-1);
    expect(added).toMatchObject({ type: 'reported', how: 'envelope', known_at: '2026-01-02T03:04:05.000Z' });
    expect((await post({ revealed_at: added.revision })).status).toBe(422);
    expect((await post({ revealed_at: last.revision })).status).toBe(200);
  });
});

it('at the command line, codes are broken while the service runs, and a printed code-break is recorded', async () => {
  const at = ['--study', 'Sleep', '--data', data];
  const before = (await listed('edc')).length;
  const args = ['--id', 'c1', '--category', 'monitoring', '--reason', 'unblinded monitor', ...at];
  expect(await commandOk(['reveal', ...args])).toContain(`c1 is on ${arms.get('c1')}`);
  await expect.poll(async () => (await listed('edc')).length).toBe(before + 1);
  const list = await commandOk(['code-breaks', ...at]);
  expect(list).toContain('unblinded monitor');
  for (const arm of arms.values()) expect(list).not.toMatch(new RegExp(`\\b${arm}\\b`));
  expect(await commandOk(['code-breaks', 'print', '--id', 'd1', ...at])).toContain(arms.get('d1'));
  expect(await commandOk(['operations', '--data', data])).toContain(
    'the printed code-break of participant d1',
  );
  const report = JSON.parse(await commandOk(['verify', '--json', '--data', data]));
  const { life } = report.streams.find(({ study }: { study?: string }) => study === 'Sleep');
  expect(life).toMatchObject({ state: 'open', revealed: { monitoring: 1 } });
});
