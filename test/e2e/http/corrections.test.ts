/**
 * What others see over HTTP of corrections, of allocations made outside the service, and of code-breaks. The rules:
 * test/unit/study/corrections.test.ts, life.test.ts and test/unit/code-break; the requests: acts.test.ts.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandOk } from '../../support/command.ts';
import { OPERATOR } from '../../support/facts.ts';
import { served } from '../../support/served.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const OF_COOK = ['--where', `local_site=${COOK.local_site}`, '--study', 'Sleep'];
const POLICIES = 'policies: {level_counts: as-corrected, void_counts: removed}';
const ARMS = ['ZZTREATA', 'ZZTREATB'];
const NOTE = 'unusual words';
const http = served(
  TRIALS.replace('Sleep:\n', `Sleep:\n  ${POLICIES}\n`),
  {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['data-manager', '--scope', 'read,correct,force,manage'],
    blinded: ['monitor', '--scope', 'blinded,correct'],
    cook: ['cook', '--scope', 'blinded,randomize,correct,unblind', ...OF_COOK],
    night: ['night', '--scope', 'blinded,unblind'],
    auditor: ['auditor', '--scope', 'read,audit'],
    silent: ['importer', '--scope', 'correct,force'],
  },
  {
    filled: async (one) => {
      for (const id of ['levels', 'id', 'void', 'seen', 'c1', 'd1'])
        expect((await one.as('edc').randomize('Sleep', id, id === 'd1' ? DUPAGE : COOK)).status).toBe(200);
    },
  },
);
type Name = keyof typeof http.keys;

const post = (name: Name, path: string, body: object, headers = {}) =>
  http.post(name, path, { study: 'Sleep', ...body }, headers);
const get = (name: Name, path: string, parameters = {}) =>
  http.get(name, path, { study: 'Sleep', ...parameters });
const list = async (name: Name, filter = {}) => (await get(name, '/study_participants', filter)).results;
const history = (name: Name, id: string) => get(name, '/participant_history', { id });
const typesOf = async (id: string) =>
  (await history('manager', id)).results.map(({ type }: { type: string }) => type);
const balance = async () => (await get('auditor', '/balance')).results;
const explain = (id: string) => get('auditor', '/explanation', { id });
const CHANGED = { changes: [{ factor: 'sex', from: 'Male', to: 'Female' }], cause: 'entry', note: NOTE };
const VOIDED = { cause: 'never-enrolled', analysis: 'exclude', note: 'left' };
/** It occurs now, so after the registration and not before the answer to the last request. */
const force = (id: string, more: object = {}, name: Name = 'manager') => {
  const how = { levels: COOK, treatment: 'ZZTREATB', cause: 'outage', note: NOTE };
  return post(name, '/forced_allocations', { id, ...how, occurred_at: new Date().toISOString(), ...more });
};

describe('a corrected participant', () => {
  it('shows in lists and filters, next to what was randomized, and moves the urns', async () => {
    const before = await balance();
    const answer = await post('manager', '/level_corrections', { id: 'levels', ...CHANGED });
    const shown = {
      ...{ id: 'levels', f_sex: 'Female', trt: expect.any(String) },
      'urn.as_randomized': { f_sex: 'Male', f_local_site: COOK.local_site },
    };
    expect(answer).toMatchObject({ status: 200, results: [shown] });
    expect(await list('manager', { id: 'levels', sex: 'Female' })).toMatchObject([shown]);
    const after = await balance();
    expect(after.counted).not.toEqual(before.counted);
    expect(after.counted).toEqual({ totals: before.totals, factors: after.factors });
  });

  it('who moves is handed over by their site, which then no longer sees them', async () => {
    const { randomize } = http.as('cook');
    const visit = { 'Idempotency-Key': 'visit-1' };
    expect((await randomize('Sleep', 'moves', COOK, visit)).results).toHaveLength(1);
    const changes = [{ factor: 'local_site', from: COOK.local_site, to: DUPAGE.local_site }];
    const asked = { id: 'moves', changes, note: 'moved house' };
    expect(await post('cook', '/level_corrections', { ...asked, cause: 'entry' })).toMatchObject({
      ...{
        status: 403,
        message: expect.stringMatching(/^Nothing was recorded: this API key is limited to .* is transfer\)$/),
      },
    });
    const move = { ...asked, cause: 'transfer' };
    const nothing = { status: 200, results: [] };
    for (let times = 0; times < 2; times++)
      expect(await post('cook', '/level_corrections', move, { 'Idempotency-Key': 'move' })).toMatchObject(
        nothing,
      );
    expect(await list('cook', { id: 'moves' })).toEqual([]);
    expect((await post('cook', '/voids', { id: 'moves', ...VOIDED })).status).toBe(404);
    expect(await randomize('Sleep', 'moves', COOK, visit)).toMatchObject(nothing);
    const taken = { status: 400, message: 'Participant moves is already assigned', results: [] };
    expect(await randomize('Sleep', 'moves', COOK)).toMatchObject(taken);
  });

  it('is found everywhere by the corrected id, and by the earlier one', async () => {
    await post('manager', '/id_corrections', { id: 'id', to: 'right', cause: 'entry' });
    for (const name of ['id', 'right']) {
      expect(await http.as('edc').randomize('Sleep', name, COOK)).toMatchObject({
        ...{ status: 400, message: 'Participant right (randomized as id) is already assigned' },
        results: [{ id: 'right' }],
      });
      expect((await explain(name)).results.id).toBe('id');
    }
  });

  it('shows a blinded reader everything but the arm and the notes, and a silent key nothing', async () => {
    const answer = await post('blinded', '/level_corrections', { id: 'seen', ...CHANGED });
    expect(answer.results).toEqual([expect.not.objectContaining({ trt: expect.anything() })]);
    expect((await post('silent', '/voids', { id: 'seen', ...VOIDED })).results).toEqual([]);
    expect(await typesOf('seen')).toEqual(['ParticipantRandomized', 'LevelsCorrected', 'AllocationVoided']);
    for (const name of ['blinded', 'manager'] as const) {
      const { text } = await history(name, 'seen');
      expect(text.includes(NOTE)).toBe(name === 'manager');
      expect(text).not.toContain('ZZTREAT');
    }
  });
});

describe('in a live study, whoever randomized a participant', () => {
  const data = temporaryFolders()();
  const studies = `Live: {mode: live, treatments: [A, B], factors: {ward: [a, b]}}
Steered: {mode: live, treatments: [ZZTREATA, ZZTREATB], factors: {ward: [a, b]}}
Rehearsal: {mode: test, treatments: [A, B], factors: {ward: [a, b]}}`;
  const live = served(
    studies,
    {
      edc: ['edc', '--scope', 'read,randomize,correct'],
      other: ['EDC ', '--scope', 'correct'],
      leaver: ['leaver', '--scope', 'read,randomize'],
      left: ['leaver', '--scope', 'correct'],
      desk: ['desk', '--scope', 'read,correct,force'],
      chief: ['chief', '--scope', 'read,randomize,manage', '--allow-prediction'],
      auditor: ['auditor', '--scope', 'audit'],
    },
    { data },
  );
  type User = keyof typeof live.keys;
  const ask = (user: User, path: string, id: string, more: object = {}, study = 'Live') =>
    live.post(user, path, { study, id, note: NOTE, ...more });
  const voidAs = (user: User, id: string, more: object = {}, study?: string) =>
    ask(user, '/voids', id, { ...VOIDED, ...more }, study);
  const enrol = async (id: string, study = 'Live') =>
    expect((await live.as('edc').randomize(study, id, { ward: 'a' })).status).toBe(200);
  const refused = { status: 403, results: [], message: expect.stringContaining('ask a second person') };
  const why = { 'urn-refused': 'own-allocation' };

  it('cannot void them with any key and enter them again; a second person can', async () => {
    await enrol('p1');
    const records = (await live.records()).length;
    for (const user of ['edc', 'other'] as const)
      for (const more of [{}, { dry_run: true }, { cause: 'duplicate' }]) {
        const answer = await voidAs(user, 'p1', more);
        expect(answer).toMatchObject(refused);
        expect(Object.fromEntries(answer.headers)).toMatchObject(why);
      }
    const since = (await live.records()).slice(records).map(({ record }) => record.type);
    expect(since.filter((type) => type !== 'RequestRefused')).toEqual([]);
    expect((await voidAs('desk', 'p1')).status).toBe(200);
    expect(await ask('edc', '/reinstatements', 'p1')).toMatchObject(refused);
    expect((await ask('desk', '/reinstatements', 'p1')).status).toBe(200);
    await enrol('p2', 'Rehearsal');
    expect((await voidAs('edc', 'p2', {}, 'Rehearsal')).status).toBe(200);
  });

  it('is known from the records: after a restart, and when the key is revoked', async () => {
    await live.as('leaver').randomize('Live', 'p3', { ward: 'a' });
    const { keys } = live.service.log;
    const { keyId = '' } = keys.list().find(({ user }) => user === 'leaver') ?? {};
    await keys.revoke(keyId, undefined, OPERATOR);
    await live.service.stop();
    live.service = await serveHere(data, studies);
    expect((await live.as('leaver').list('Live')).status).toBe(401);
    expect(await voidAs('left', 'p3')).toMatchObject(refused);
    expect((await voidAs('desk', 'p3')).status).toBe(200);
  });

  it('is listed if a second person did it, and so is a ratio that was put back', async () => {
    const study = 'Steered';
    const enrolled: string[] = [];
    const enrolAs = async (user: 'edc' | 'chief', id: string) =>
      enrolled.push((await live.as(user).randomize(study, id, { ward: 'a' })).results[0].trt);
    await enrolAs('edc', 's1');
    await live.done('desk', '/voids', { study, id: 's1', ...VOIDED });
    await enrolAs('edc', 's2');
    const approvals = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-27' }];
    const ratio = (amendment: number, ...value: number[]) => {
      const changes = [{ kind: 'ratio', value }];
      return live.done('chief', '/amendments', {
        study,
        amendment,
        changes,
        approvals,
        reason: 'protocol 3',
      });
    };
    await ratio(1, 20, 1);
    await enrolAs('chief', 's3');
    await ratio(2, 1, 1);
    const { streams } = (await live.get('auditor', '/verification', { study })).results;
    const { life } = streams.find((one: { study?: string }) => one.study === study);
    const [first, second] = enrolled;
    const draws = [{ participant: 's1', revision: 2, voidedBy: 'desk', next: 's2', nextBy: 'edc' }];
    const arms = { differed: Number(first !== second), kept: [{ treatment: second, count: 1 }] };
    const [by, undoneBy] = ['chief', 'chief'];
    expect(life).toMatchObject({
      secondDraws: [{ user: 'edc', draws, ...arms }],
      undoneAmendments: [{ setting: 'ratio', amendment: 1, by, undoneWith: 2, undoneBy, randomized: ['s3'] }],
    });
    for (const content of ['blinded', 'open']) {
      const out = join(data, `${content}.html`);
      await commandOk(['report', '--data', data, '--study', study, '--content', content, '--out', out]);
      const [, part = ''] = readFileSync(out, 'utf8').split('<h2>Worth a look</h2>');
      const [list = ''] = part.split('<h2>');
      expect(list).toContain('<li>s1, voided by desk (revision 2); s2, randomized by edc</li>');
      expect(list).toContain('amendment 1 by chief was undone with amendment 2 by chief (ratio)');
      expect(list.includes(`kept: 1 ${second}`)).toBe(content === 'open');
      expect(list.includes('ZZTREAT')).toBe(content === 'open');
    }
  });

  it('is nobody if the allocation was not drawn: a wrong entry by hand is voided by whoever made it', async () => {
    const entry = { treatment: 'A', levels: { ward: 'b' }, cause: 'outage' };
    const at = { occurred_at: new Date().toISOString() };
    expect((await ask('desk', '/forced_allocations', 'p4', { ...entry, ...at })).status).toBe(200);
    expect((await voidAs('desk', 'p4', { cause: 'entry' })).status).toBe(200);
  });
});

describe('an allocation that is entered', () => {
  it('is shown without its arm to who is blinded, and has a history but no draw', async () => {
    const occurred_at = new Date().toISOString();
    const { results } = await force('entered', { occurred_at });
    const record = { id: 'entered', f_sex: COOK.sex, f_local_site: COOK.local_site, trt: 'ZZTREATB' };
    expect(results).toMatchObject([{ ...record, user: 'data-manager', 'urn.occurred_at': occurred_at }]);
    expect(await list('edc', { id: 'entered' })).toEqual(results);
    const [{ trt: _, ...blinded }] = results;
    expect(await list('blinded', { id: 'entered' })).toEqual([blinded]);
    expect((await force('silent', {}, 'silent')).results).toEqual([]);
    for (const name of ['blinded', 'edc', 'auditor'] as const) {
      const { results: events, text } = await history(name, 'entered');
      expect(events).toMatchObject([{ type: 'AllocationForced', data: { cause: 'outage', counted: true } }]);
      expect(text.includes(NOTE)).toBe(name !== 'blinded');
      for (const arm of ARMS) expect(text).not.toContain(arm);
    }
    const { status, message } = await explain('entered');
    expect(status).toBe(422);
    expect(message).toMatch(/was allocated outside the service at .*, so there is no draw to explain$/);
    const csv = await http.text('edc', '/study_participants', { study: 'Sleep' });
    expect(csv.text).toContain(`,${occurred_at},data-manager,,forced,,\r\n`);
  });

  it('is refused with every problem at once, in the form and then in the study', async () => {
    const malformed = { cause: 'whim', note: '', occurred_at: '2999-01-01T00:00:00Z', unknown: 1 };
    const impossible = {
      ...{ levels: { sex: COOK.local_site, age: '9' }, treatment: 'Placebo', dry_run: true },
      occurred_at: '2020-01-01T00:00:00Z',
    };
    const [inForm, inStudy] = [await force(' ', malformed), await force('a\u200bb', impossible)];
    expect([inForm.status, inStudy.status]).toEqual([400, 400]);
    for (const problem of ['id begins', 'occurred_at: is in the future', 'cause', 'note', 'unknown'])
      expect(inForm.message).toContain(problem);
    for (const problem of [
      ...['sex has no level "11-Cook County – Chicago"', 'age', 'local_site', 'id contains U+200B'],
      'no treatment "Placebo" (allowed: "ZZTREATA", "ZZTREATB")',
      'occurred_at is before the study was registered (20',
    ])
      expect(inStudy.message).toContain(problem);
    const patterned = { study: 'Patterned', levels: { ward: 'a' }, treatment: 'Left' };
    expect((await force('1', patterned)).message).toMatch(/^id does not match .*pattern/);
    const changes = [{ kind: 'level-closed', factor: 'local_site', level: KANE.local_site }];
    await post('manager', '/amendments', { amendment: 1, changes, reason: 'no more patients' });
    const message = expect.stringMatching(/^levels: 45-Kane \(3\+\) of local_site is closed/);
    expect(await force('new', { levels: KANE })).toMatchObject({ status: 422, message });
  });
});

describe('a code-break', () => {
  const REASON = { reason: 'anaphylaxis, ICU', requested_by: 'Dr. K.' };
  const reveal = (name: Name, id: string) =>
    post(name, '/code_breaks', { id, category: 'emergency', ...REASON });
  const listed = async (name: Name) => (await get(name, '/code_breaks')).results;

  it('shows the arm to a key that otherwise sees none, within its limits', async () => {
    const { results, headers } = await reveal('cook', 'c1');
    expect(results).toMatchObject([{ id: 'c1', trt: (await list('edc', { id: 'c1' }))[0].trt }]);
    expect(headers.get('urn-recorded')).toBe('log');
    expect((await http.as('cook').list('Sleep')).text).not.toContain('trt');
    const outside = await history('cook', 'd1');
    expect(outside).toMatchObject({ status: 404, results: [] });
    expect(outside.text).toBe((await history('cook', 'nobody')).text);
  });

  it('is listed beside reported unblindings, without its reason to who is blinded', async () => {
    await reveal('night', 'd1');
    const shown = (await listed('blinded')).at(-1);
    expect(shown).toMatchObject({ id: 'd1', user: 'night', category: 'emergency', recorded_late: false });
    expect(shown).not.toHaveProperty('reason');
    expect((await listed('edc')).at(-1)).toMatchObject(REASON);
    const { results, text } = await history('blinded', 'd1');
    expect(results).toMatchObject([
      { user: 'edc', data: { participantId: 'd1', levels: [{ factor: 'sex', level: 'Female' }, {}] } },
      { type: 'AllocationRevealed', user: 'night' },
    ]);
    for (const hidden of [...ARMS, 'anaphylaxis', 'Dr. K.']) expect(text).not.toContain(hidden);
    expect((await history('edc', 'd1')).results[1]).toMatchObject({
      ...{ note: REASON.reason, requested_by: REASON.requested_by },
    });
    const occurred = { id: 'd1', how: 'envelope', occurred_at: '2026-01-02T03:04:05Z' };
    const report = (more: object = {}) =>
      post('night', '/unblindings', { ...occurred, inadvertent: true, reason: 'torn in the post', ...more });
    for (const arm of ARMS) expect((await report()).text).not.toContain(arm);
    const added = (await listed('edc')).at(-1);
    expect(added).toMatchObject({ type: 'reported', how: 'envelope', known_at: '2026-01-02T03:04:05.000Z' });
    expect((await report({ revealed_at: added.revision })).status).toBe(422);
    expect((await report({ revealed_at: shown.revision })).status).toBe(200);
  });
});

it('later allocations are explained with what moved the urns, and the log names the entries', async () => {
  await post('manager', '/voids', { ...VOIDED, id: 'void' });
  const { counted } = await balance();
  await http.as('edc').randomize('Sleep', 'last', COOK);
  const { results } = await explain('last');
  const before = counted.totals.reduce((sum: number, n: number) => sum + n, 0);
  expect(results).toMatchObject({ agrees: true, earlier_participants: before });
  expect(results.corrections.map(({ type }: { type: string }) => type)).toContain('AllocationVoided');
  const { ok, streams } = (await get('auditor', '/verification')).results;
  const { life } = streams.find(({ study }: { study?: string }) => study === 'Sleep');
  expect([ok, life.forced]).toEqual([true, { outage: expect.any(Number) }]);
});
