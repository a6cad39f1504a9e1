/**
 * Names that people cannot tell apart, and texts that a spreadsheet would compute: nobody new is named so, and whoever has
 * such an id from an earlier version keeps it in every route.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../../src/service/open/open-log.ts';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { OPERATOR } from '../../support/facts.ts';
import { registerIn } from '../../support/importing.ts';
import { served } from '../../support/served.ts';
import { issueKey } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const data = newFolder();
/** Any names were taken from a studies file, and any ids. */
const NIGHT = 'Night\u200b';
const FACTORS = 'mode: test\n  treatments: [a, b]\n  factors: {sign: ["+", "-"]}\n';
const STUDIES = `Day:\n  ${FACTORS}`;
const KNOWN = '=HYPERLINK("http://x","y")';
const HIDDEN = '001\u200b';
const COMPOSED = 'cafe\u0301';
const OLD_IDS = [KNOWN, HIDDEN, COMPOSED];
const WRONG_ENTRY = '+7';
const SIGN = { sign: '+' };
let occurredAt: string;
let oldKey: string;
/** Revision of the entry of WRONG_ENTRY. */
let wrongEntry: number;

/** Writes a log as earlier versions did, bypassing what is refused today. */
beforeAll(async () => {
  await registerIn(data, STUDIES);
  const log = await openLog({ data }, OPERATOR);
  await log.rebuild();
  const configuration = {
    ...{ name: NIGHT, mode: 'test', D: 'chisquare', urnSelection: 'method1', w: 1, alpha: 0, beta: 1 },
    ...{ treatments: ['a', 'b'], factors: [{ name: 'ward', levels: ['x\u00ad', 'y'] }] },
  };
  await log.studies.register(configuration as never, undefined, OPERATOR);
  const issued = await log.keys.issue(
    { user: 'old\u00ad', scopes: ['read', 'randomize', 'force'], allowPrediction: true },
    OPERATOR,
  );
  if ('refused' in issued) throw new Error(issued.refused);
  oldKey = issued.apiKey;
  const { keyId } = issued;
  const user = 'old\u00ad';
  const actor = { accessRevision: log.runner.revision('access'), keyId, onBehalfOf: '@Mu\u0308ller', user };
  const submit = (command: object) =>
    log.studies.submit(log.studies.streamOf('Day'), { levels: ['+'], user, ...command } as never, actor);
  for (const participantId of ['001', ...OLD_IDS])
    await submit({ type: 'randomize', participantId, idempotencyKey: `visit-${participantId.length}` });
  occurredAt = new Date().toISOString();
  const forced = await submit({
    ...{ type: 'force', participantId: WRONG_ENTRY, treatment: 'a', cause: 'outage' },
    ...{ occurredAt, note: 'envelope 1' },
  });
  expect(forced.outcome.type).toBe('recorded');
  wrongEntry = forced.revision;
  await log.close();
});

const SCOPES = 'read,randomize,correct,force,unblind';
const http = served(
  STUDIES,
  {
    edc: ['edc', '--scope', SCOPES, '--allow-prediction'],
    limited: ['site', '--where', 'sign=-', '--force'],
  },
  { data },
);
const edc = () => http.as('edc');
const post = (path: string, body: object, headers?: Record<string, string>) =>
  http.post('edc', path, { study: 'Day', ...body }, headers);
const records = () => storedLog(data).filter(({ stream }) => /study/.test(stream)).length;
const entry = (id: string) => ({
  ...{ id, levels: SIGN, treatment: 'a', occurred_at: occurredAt, cause: 'outage', note: 'envelope 1' },
});
/** UTF-8 in the form that fetch accepts in a header. */
const behalf = (text: string) => ({ 'X-On-Behalf-Of': Buffer.from(text).toString('latin1') });
const refused = (message: RegExp) => ({ status: 400, message: expect.stringMatching(message) });

describe('a new name', () => {
  it.each([
    ['=1+1', /begins with "="/],
    ['+1+1', /begins with "\+"/],
    ['-1', /begins with "-"/],
    ['@SUM(1)', /begins with "@"/],
    ['n\u00ad1', /contains U\+00AD/],
  ])('%s is refused wherever somebody is given an id, and nothing is recorded', async (id, why) => {
    const before = records();
    for (const answer of [
      await edc().randomize('Day', id, SIGN),
      await edc().randomize('Day', id, { ...SIGN, 'urn.dry_run': 'true' }),
      await post('/forced_allocations', entry(id)),
      await post('/id_corrections', { id: KNOWN, to: id, cause: 'entry' }),
    ])
      expect(answer).toMatchObject(refused(why));
    const level = ['--level', 'sign=+', '--treatment', 'a', '--occurred-at', occurredAt];
    for (const args of [
      ['rename', '--id', KNOWN, `--to=${id}`, '--cause', 'entry'],
      ['force', `--id=${id}`, ...level, '--cause', 'outage', '--note', 'envelope 2'],
    ]) {
      const ended = await command(['participants', ...args, '--study', 'Day', '--data', data]);
      expect(ended).toMatchObject({ code: 2, stderr: expect.stringMatching(why) });
    }
    expect(records()).toBe(before);
  });

  it('is refused as the person behind a key, in every route', async () => {
    const before = records();
    const breaking = { id: KNOWN, category: 'emergency', reason: 'anaphylaxis' };
    const formula = refused(/^The header X-On-Behalf-Of begins with "="/);
    expect(await edc().randomize('Day', 'n-1', SIGN, behalf('=1+1'))).toMatchObject(formula);
    expect(await post('/code_breaks', breaking, behalf('=1+1'))).toMatchObject(formula);
    const hidden = refused(/the header X-On-Behalf-Of contains U\+00A0/);
    expect(await edc().randomize('Day', 'n-1', SIGN, behalf('Dr.\u00a0Who'))).toMatchObject(hidden);
    expect(records()).toBe(before);
  });

  it('is refused with everything else that is wrong', async () => {
    expect(await edc().randomize('Day', 'n\u00ad1', {}, behalf('Mu\u0308ller'))).toMatchObject(
      refused(/^id contains U\+00AD, .*; the header X-On-Behalf-Of contains U\+0308, .*; sign is missing/),
    );
    expect((await edc().randomize('Day', 'n-1', SIGN, behalf('Dr. Müller'))).status).toBe(200);
  });
});

describe('a participant whom an earlier version recorded with such an id', () => {
  it.each(OLD_IDS)('is found by exactly this id, which nobody gets again: %j', async (id) => {
    expect((await edc().list('Day', { id })).results).toMatchObject([{ id }]);
    const explained = await command(['explain', '--study', 'Day', '--id', id, '--data', data]);
    expect(explained.code, explained.stderr).toBe(0);
    const before = records();
    const message = `Participant ${id} is already assigned`;
    const again = await edc().randomize('Day', id, SIGN);
    expect(again).toMatchObject({ status: 400, message, results: [{ id }] });
    const others = await edc().randomize('Day', id, { sign: '-' });
    expect(others.message).toContain('already assigned, with other levels');
    expect((await http.as('limited').randomize('Day', id, SIGN)).status).toBe(403);
    const visit = { 'Idempotency-Key': `visit-${id.length}`, ...behalf('Dr. Mu\u0308ller') };
    const retried = await clientOf(http.url, oldKey).randomize('Day', id, SIGN, visit);
    expect(retried, retried.message).toMatchObject({ status: 200, results: [{ id }] });
    expect(retried.headers.get('urn-repeated')).toBe('true');
    expect(records()).toBe(before);
  });

  it('is corrected, unblinded, renamed and given the id back', async () => {
    const changes = [{ factor: 'sign', from: '+', to: '-' }];
    const back = { id: '007', to: KNOWN, cause: 'entry' };
    for (const [path, body, visit] of [
      ['/level_corrections', { id: KNOWN, changes, cause: 'entry', note: 'slip' }, 'corrected'],
      ['/code_breaks', { id: KNOWN, category: 'emergency', reason: 'anaphylaxis' }, 'unblinded'],
      ['/id_corrections', { id: KNOWN, to: '007', cause: 'entry' }, 'renamed'],
      ['/id_corrections', back, 'back'],
      ['/id_corrections', back, 'back'],
    ] as const) {
      const answer = await post(path, body, { 'Idempotency-Key': visit });
      expect(answer, answer.message).toMatchObject({ status: 200 });
    }
    expect((await edc().list('Day', { id: KNOWN })).results).toMatchObject([{ id: KNOWN, f_sign: '-' }]);
  });

  it('is entered again under the same id after a wrong entry', async () => {
    const voided = { id: WRONG_ENTRY, cause: 'entry', analysis: 'exclude', note: 'wrong arm' };
    expect(await post('/voids', voided)).toMatchObject({ status: 200 });
    const again = { ...entry(WRONG_ENTRY), treatment: 'b', replaces: wrongEntry };
    const answer = await post('/forced_allocations', again);
    expect(answer, answer.message).toMatchObject({ status: 200, results: [{ id: WRONG_ENTRY, trt: 'b' }] });
  });
});

it('a study, its levels and a user with look-alike names are served', async () => {
  expect((await edc().config(NIGHT)).results.factors).toEqual({ ward: ['x\u00ad', 'y'] });
  const answer = await clientOf(http.url, oldKey).randomize(NIGHT, 'new', { ward: 'x\u00ad' });
  expect(answer).toMatchObject({ status: 200, results: [{ user: 'old\u00ad', f_ward: 'x\u00ad' }] });
});

describe('a list as CSV', () => {
  const csv = async (parameters: Record<string, string>, accept = 'text/csv') => {
    const query = new URLSearchParams({ study: 'Day', ...parameters });
    const headers = { 'X-API-Key': http.keys.edc, Accept: accept };
    const answer = await fetch(`${http.url}/study_participants?${query}`, { headers });
    return { status: answer.status, text: await answer.text() };
  };

  it('is verbatim, and guarded against formulas when it is asked for', async () => {
    const { text } = await csv({});
    expect(text).toContain(',"=HYPERLINK(""http://x"",""y"")",');
    expect(text).toContain(',@Mu\u0308ller,');
    const { text: guarded } = await csv({ 'urn.excel': 'true' });
    expect(guarded).toContain(`,"'=HYPERLINK(""http://x"",""y"")",`);
    expect(guarded).toContain(",'@Mu\u0308ller,");
    expect(guarded).toMatch(/,'-,'\+,/);
    expect(guarded).not.toMatch(/(?:^|,)"?[=+\-@]/m);
    const exported = ['export', '--study', 'Day', '--format', 'csv', '--excel', '--data', data];
    expect((await command(exported)).stdout).toBe(guarded);
  });

  it.each([
    [{ 'urn.excel': 'yes' }, 'text/csv', 'urn.excel must be true'],
    [{ 'urn.excel': 'true' }, 'application/json', 'urn.excel needs the header Accept: text/csv'],
  ])('refuses %j with %s', async (parameters, accept, message) => {
    const { status, text } = await csv(parameters, accept);
    expect([status, JSON.parse(text).message]).toEqual([400, message]);
  });
});

it('verification warns of look-alike ids, and finds the log sound', async () => {
  const { code, stdout } = await command(['verify', '--data', data]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/warning at .*: participant "001\\u200b" looks like participant "001"/);
  const other = newFolder();
  await issueKey(other, 'edc');
  expect(await commandOk(['verify', '--data', other])).not.toContain('looks like');
  for (const content of ['full', 'blinded']) {
    const bundle = new URL(`../../vectors/0.1.0/every-event/${content}.zip`, import.meta.url).pathname;
    const said = await commandOk(['verify', '--bundle', bundle]);
    expect(said).toMatch(/participant "001\\u200b" looks like participant "001".* \(and 1 time more\)/);
  }
});
