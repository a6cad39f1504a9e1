/** Texts that a spreadsheet would compute: nobody new is named so, and whoever has such an id keeps it in every route. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../../src/service/open/open-log.ts';
import { clientOf } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { OPERATOR } from '../../support/facts.ts';
import { registerIn } from '../../support/importing.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKey } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDY = 'Night';
const STUDIES = `${STUDY}:\n  mode: test\n  treatments: [a, b]\n  factors: {sign: ["+", "-"]}\n`;
const KNOWN = '=HYPERLINK("http://x","y")';
const WRONG_ENTRY = '+7';
const SIGN = { sign: '+' };
const SCOPES = 'read,randomize,correct,force,unblind';
const FORMULAS = ['=1+1', '+1+1', '-1', '@SUM(1)'];

const data = temporaryFolders()();
let service: ServiceHere;
let key: string;
const post = (path: string, body: object, headers?: Record<string, string>) =>
  postJson(service.url, path, key, { study: STUDY, ...body }, headers);
const edc = () => clientOf(service.url, key);
const records = () => storedLog(data).filter(({ stream }) => /study/.test(stream)).length;
const entry = (id: string) => ({
  ...{ id, levels: SIGN, treatment: 'a', occurred_at: occurredAt, cause: 'outage', note: 'envelope 1' },
});
let occurredAt: string;
let oldKey: string;
/** Revision of the entry of WRONG_ENTRY. */
let wrongEntry: number;

/** Writes a log as earlier versions did, which took any id. */
async function writeOldLog(): Promise<void> {
  await registerIn(data, STUDIES);
  const log = await openLog({ data }, OPERATOR);
  await log.rebuild();
  const issued = await log.keys.issue({ user: 'edc', scopes: ['read', 'randomize'] }, OPERATOR);
  if ('refused' in issued) throw new Error(issued.refused);
  oldKey = issued.apiKey;
  const { keyId } = issued;
  const actor = { accessRevision: log.runner.revision('access'), keyId, onBehalfOf: '@ann', user: 'edc' };
  const stream = log.studies.streamOf(STUDY);
  const submit = (command: object) => log.studies.submit(stream, command as never, actor);
  await submit({
    ...{ type: 'randomize', participantId: KNOWN, levels: ['+'], user: 'edc', idempotencyKey: 'visit-1' },
  });
  occurredAt = new Date().toISOString();
  const forced = await submit({
    ...{ type: 'force', participantId: WRONG_ENTRY, levels: ['+'], treatment: 'a', cause: 'outage' },
    ...{ occurredAt, note: 'envelope 1', user: 'edc' },
  });
  expect(forced.outcome.type).toBe('recorded');
  wrongEntry = forced.revision;
  await log.close();
}

beforeAll(async () => {
  await writeOldLog();
  key = await issueKey(data, 'edc', '--scope', SCOPES, '--allow-prediction');
  service = await serveHere(data, STUDIES);
});
afterAll(() => service.stop());

describe.each(FORMULAS)('a new id %s', (id) => {
  const said = expect.stringContaining(`begins with ${JSON.stringify(id[0])}`);

  it('is refused wherever somebody is given an id, and nothing is recorded', async () => {
    const before = records();
    expect(await edc().randomize(STUDY, id, SIGN)).toMatchObject({ status: 400, message: said });
    const dry = await edc().randomize(STUDY, id, { ...SIGN, 'urn.dry_run': 'true' });
    expect(dry).toMatchObject({ status: 400, message: said });
    expect(await post('/forced_allocations', entry(id))).toMatchObject({ status: 400, message: said });
    const rename = { id: KNOWN, to: id, cause: 'entry' };
    expect(await post('/id_corrections', rename)).toMatchObject({ status: 400, message: said });
    for (const args of [
      ['rename', '--id', KNOWN, `--to=${id}`, '--cause', 'entry'],
      [
        ...['force', `--id=${id}`, '--level', 'sign=+', '--treatment', 'a', '--occurred-at', occurredAt],
        ...['--cause', 'outage', '--note', 'envelope 2'],
      ],
    ]) {
      const ended = await command(['participants', ...args, '--study', STUDY, '--data', data]);
      expect(ended).toMatchObject({ code: 2, stderr: said });
    }
    expect(records()).toBe(before);
  });

  it('is refused as the person behind a key, in every route', async () => {
    const before = records();
    const headers = { 'X-On-Behalf-Of': id };
    const message = expect.stringMatching(/^The header X-On-Behalf-Of begins with/);
    expect(await edc().randomize(STUDY, '001', SIGN, headers)).toMatchObject({ status: 400, message });
    const breaking = { id: KNOWN, category: 'emergency', reason: 'anaphylaxis' };
    expect(await post('/code_breaks', breaking, headers)).toMatchObject({ status: 400, message });
    expect(records()).toBe(before);
  });
});

describe('a participant whom an earlier version recorded with such an id', () => {
  it('is found, and keeps the answer to a repeated request', async () => {
    expect((await edc().list(STUDY, { id: KNOWN })).results).toMatchObject([{ id: KNOWN }]);
    const before = records();
    const repeated = await clientOf(service.url, oldKey).randomize(STUDY, KNOWN, SIGN, {
      'Idempotency-Key': 'visit-1',
    });
    expect(repeated).toMatchObject({ status: 200, results: [{ id: KNOWN }] });
    expect(repeated.headers.get('urn-repeated')).toBe('true');
    const message = `Participant ${KNOWN} is already assigned`;
    expect(await edc().randomize(STUDY, KNOWN, SIGN)).toMatchObject({ status: 400, message });
    expect(records()).toBe(before);
    const explained = await command(['explain', '--study', STUDY, '--id', KNOWN, '--data', data]);
    expect(explained.code, explained.stderr).toBe(0);
  });

  it('is corrected, unblinded, renamed and given the id back', async () => {
    const changes = [{ factor: 'sign', from: '+', to: '-' }];
    const corrected = await post('/level_corrections', { id: KNOWN, changes, cause: 'entry', note: 'slip' });
    expect(corrected).toMatchObject({ status: 200, results: [{ id: KNOWN }] });
    const breaking = { id: KNOWN, category: 'emergency', reason: 'anaphylaxis' };
    expect(await post('/code_breaks', breaking)).toMatchObject({ status: 200 });
    expect(await post('/id_corrections', { id: KNOWN, to: '001', cause: 'entry' })).toMatchObject({
      status: 200,
    });
    const back = { id: '001', to: KNOWN, cause: 'entry' };
    const once = await post('/id_corrections', back, { 'Idempotency-Key': 'back' });
    expect(once).toMatchObject({ status: 200, results: [{ id: KNOWN }] });
    expect(await post('/id_corrections', back, { 'Idempotency-Key': 'back' })).toMatchObject({ status: 200 });
  });

  it('is entered again under the same id after a wrong entry', async () => {
    const voided = { id: WRONG_ENTRY, cause: 'entry', analysis: 'exclude', note: 'wrong arm' };
    expect(await post('/voids', voided)).toMatchObject({ status: 200 });
    const again = await post('/forced_allocations', {
      ...{ ...entry(WRONG_ENTRY), treatment: 'b', replaces: wrongEntry },
    });
    expect(again, again.message).toMatchObject({ status: 200, results: [{ id: WRONG_ENTRY, trt: 'b' }] });
  });
});

describe('a list as CSV', () => {
  const csv = async (parameters: Record<string, string>, accept = 'text/csv') => {
    const query = new URLSearchParams({ study: STUDY, ...parameters });
    const headers = { 'X-API-Key': key, Accept: accept };
    const answer = await fetch(`${service.url}/study_participants?${query}`, { headers });
    return { status: answer.status, text: await answer.text() };
  };

  it('is verbatim, and guarded against formulas when it is asked for', async () => {
    const { text } = await csv({});
    expect(text).toContain(',"=HYPERLINK(""http://x"",""y"")",');
    expect(text).toContain(',@ann,');
    const { text: guarded } = await csv({ 'urn.excel': 'true' });
    expect(guarded).toContain(`,"'=HYPERLINK(""http://x"",""y"")",`);
    expect(guarded).toContain(",'@ann,");
    expect(guarded).toMatch(/,'-,'\+,/);
    expect(guarded).not.toMatch(/(?:^|,)"?[=+\-@]/m);
    const exported = ['export', '--study', STUDY, '--format', 'csv', '--excel', '--data', data];
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
