/**
 * Names that people cannot tell apart, and texts that a spreadsheet would compute: nobody new is named so, and whoever has
 * such an id from an earlier version keeps it in every route.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { OpenLog } from '../../../src/service/open/open-log.ts';
import { withOpenLog } from '../../support/cli-log.ts';
import { clientOf } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { OPERATOR } from '../../support/facts.ts';
import { registerIn } from '../../support/importing.ts';
import { served } from '../../support/served.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const data = temporaryFolders()();
/** Any names were taken from a studies file, and any ids. */
const NIGHT = 'Night\u200b';
const STUDIES = 'Day:\n  mode: test\n  treatments: [a, b]\n  factors: {sign: ["+", "-"]}\n';
const KNOWN = '=HYPERLINK("http://x","y")';
const OLD_IDS = [KNOWN, '001\u200b', 'cafe\u0301'];
const WRONG_ENTRY = '+7';
const SIGN = { sign: '+' };
let occurredAt: string;
let oldKey: string;
/** Revision of the entry of WRONG_ENTRY. */
let wrongEntry: number;

/** A log as earlier versions wrote it, bypassing what is refused today. */
beforeAll(async () => {
  await registerIn(data, STUDIES);
  await withOpenLog(data, writeAsBefore);
});

async function writeAsBefore(log: OpenLog): Promise<void> {
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
  const user = 'old\u00ad';
  const by = { user, keyId: issued.keyId, onBehalfOf: '@Mu\u0308ller' };
  const actor = { ...by, accessRevision: log.runner.revision('access') };
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
}

const SCOPES = 'read,randomize,correct,force,unblind';
const http = served(STUDIES, { edc: ['edc', '--scope', SCOPES, '--allow-prediction'] }, { data });
const edc = () => http.as('edc');
const post = (path: string, body: object, headers?: Record<string, string>) =>
  http.post('edc', path, { study: 'Day', ...body }, headers);
const records = () => storedLog(data).filter(({ stream }) => /study/.test(stream)).length;
/** UTF-8 in the form that fetch accepts in a header. */
const behalf = (text: string) => ({ 'X-On-Behalf-Of': Buffer.from(text).toString('latin1') });

it('a new name is refused as the person behind a key, in every route, with everything else that is wrong', async () => {
  const before = records();
  const breaking = { id: KNOWN, category: 'emergency', reason: 'anaphylaxis' };
  const formula = expect.stringMatching(/^The header X-On-Behalf-Of begins with "="/);
  expect((await post('/code_breaks', breaking, behalf('=1+1'))).message).toEqual(formula);
  const { status, message } = await edc().randomize('Day', 'n\u00ad1', {}, behalf('Mu\u0308ller'));
  expect(status).toBe(400);
  expect(message).toMatch(
    /^id contains U\+00AD, .*; the header X-On-Behalf-Of contains U\+0308, .*; sign is missing/,
  );
  expect(records()).toBe(before);
});

describe('a participant whom an earlier version recorded with such an id', () => {
  it.each(OLD_IDS)('is found by exactly this id, which nobody gets again: %j', async (id) => {
    expect((await edc().list('Day', { id })).results).toMatchObject([{ id }]);
    const explained = await command(['explain', '--study', 'Day', '--id', id, '--data', data]);
    expect(explained.code, explained.stderr).toBe(0);
    const before = records();
    const message = `Participant ${id} is already assigned`;
    expect(await edc().randomize('Day', id, SIGN)).toMatchObject({ status: 400, message, results: [{ id }] });
    const visit = { 'Idempotency-Key': `visit-${id.length}`, ...behalf('Dr. Mu\u0308ller') };
    const retried = await clientOf(http.url, oldKey).randomize('Day', id, SIGN, visit);
    expect(retried, retried.message).toMatchObject({ status: 200, results: [{ id }] });
    expect(retried.headers.get('urn-repeated')).toBe('true');
    expect(records()).toBe(before);
  });

  it('is given the id back, and entered again under it after a wrong entry', async () => {
    for (const body of [
      { id: KNOWN, to: '007', cause: 'entry' },
      { id: '007', to: KNOWN, cause: 'entry' },
    ])
      expect((await post('/id_corrections', body)).message).toBe('Success');
    const voided = { id: WRONG_ENTRY, cause: 'entry', analysis: 'exclude', note: 'wrong arm' };
    expect(await post('/voids', voided)).toMatchObject({ status: 200 });
    const again = { id: WRONG_ENTRY, levels: SIGN, treatment: 'b', cause: 'outage', note: 'envelope 1' };
    const entry = { ...again, occurred_at: occurredAt, replaces: wrongEntry };
    const answer = await post('/forced_allocations', entry);
    expect(answer, answer.message).toMatchObject({ status: 200, results: [{ id: WRONG_ENTRY, trt: 'b' }] });
  });
});

it('a study, its levels and a user with look-alike names are served', async () => {
  expect((await edc().config(NIGHT)).results.factors).toEqual({ ward: ['x\u00ad', 'y'] });
  const answer = await clientOf(http.url, oldKey).randomize(NIGHT, 'new', { ward: 'x\u00ad' });
  expect(answer).toMatchObject({ status: 200, results: [{ user: 'old\u00ad', f_ward: 'x\u00ad' }] });
});

it('a list as CSV is verbatim, and guarded against formulas when it is asked for', async () => {
  const listed = async (more = {}, accept?: string) =>
    (await http.text('edc', '/study_participants', { study: 'Day', ...more }, accept)).text;
  const text = await listed();
  expect(text).toContain(',"=HYPERLINK(""http://x"",""y"")",');
  expect(text).toContain(',@Mu\u0308ller,');
  const guarded = await listed({ 'urn.excel': 'true' });
  expect(guarded).toContain(`,"'=HYPERLINK(""http://x"",""y"")",`);
  expect(guarded).not.toMatch(/(?:^|,)"?[=+\-@]/m);
  expect(await listed({ 'urn.excel': 'true' }, 'application/json')).toContain(
    '"urn.excel needs the header Accept: text/csv"',
  );
});
