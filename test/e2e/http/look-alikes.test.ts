/** Names that people cannot tell apart: refused when new, but found if an older version recorded them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../../src/service/open/open-log.ts';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { issueKey } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const STUDY = 'Night\u200b';
const STUDIES = '"Night\\u200b":\n  mode: test\n  treatments: [a, b]\n  factors: {ward: ["x\\u00ad", y]}\n';
const WARD = { ward: 'x\u00ad' };
const HIDDEN = '001\u200b';

const data = newFolder();
let service: ServiceHere;
let keys: { readonly full: string; readonly limited: string };
let edc: ReturnType<typeof clientOf>;

/** Writes a log as version 0.1.0 did, bypassing what is refused today. */
async function writeOldLog(): Promise<void> {
  const operator = { cli: true, user: 'operator' } as const;
  const log = await openLog({ data }, operator);
  await log.rebuild();
  const configuration = {
    name: STUDY,
    mode: 'test',
    D: 'chisquare',
    urnSelection: 'method1',
    w: 1,
    alpha: 0,
    beta: 1,
    treatments: ['a', 'b'],
    factors: [{ name: 'ward', levels: ['x\u00ad', 'y'] }],
  } as const;
  await log.studies.register(structuredClone(configuration) as never, undefined, operator);
  const issued = await log.keys.issue({ user: 'old\u00ad', scopes: ['read', 'randomize'] }, operator);
  if ('refused' in issued) throw new Error(issued.refused);
  const actor = {
    accessRevision: log.runner.revision('access'),
    keyId: issued.keyId,
    onBehalfOf: 'Dr. Mu\u0308ller',
    user: 'old\u00ad',
  };
  for (const [i, participantId] of ['001', HIDDEN, 'cafe\u0301'].entries())
    await log.studies.submit(
      log.studies.streamOf(STUDY),
      {
        type: 'randomize',
        participantId,
        levels: ['x\u00ad'],
        user: 'old\u00ad',
        idempotencyKey: `visit-${i}`,
      },
      actor,
    );
  await log.close();
  oldKey = issued.apiKey;
}
let oldKey = '';

beforeAll(async () => {
  await writeOldLog();
  keys = {
    full: await issueKey(data, 'edc'),
    limited: await issueKey(data, 'site', '--where', 'ward=y'),
  };
  service = await serveHere(data, STUDIES);
  edc = clientOf(service.url, keys.full);
});
afterAll(() => service.stop());

/** UTF-8 in the form that fetch accepts in a header. */
const latin1 = (text: string) => Buffer.from(text).toString('latin1');
const participants = () =>
  storedLog(data).filter(({ record }) => record.type === 'ParticipantRandomized').length;

describe('data that an older version recorded', () => {
  it('is served: a study, its levels and a user with look-alike names', async () => {
    expect((await edc.config(STUDY)).results.factors).toEqual({ ward: ['x\u00ad', 'y'] });
    const answer = await clientOf(service.url, oldKey).randomize(STUDY, 'new', WARD);
    expect(answer).toMatchObject({ status: 200, results: [{ user: 'old\u00ad', f_ward: 'x\u00ad' }] });
  });

  it.each([HIDDEN, 'cafe\u0301'])('is found: participant %j, by exactly this id', async (id) => {
    expect((await edc.list(STUDY, { id })).results).toMatchObject([{ id }]);
    const explained = await command(['explain', '--study', STUDY, '--id', id, '--data', data]);
    expect(explained.code, explained.stderr).toBe(0);
  });

  it.each([HIDDEN, 'cafe\u0301'])('makes a repeated POST a duplicate: %j', async (id) => {
    const before = participants();
    expect(await edc.randomize(STUDY, id, WARD)).toMatchObject({
      status: 400,
      message: `Participant ${id} is already assigned`,
      results: [{ id }],
    });
    expect((await edc.randomize(STUDY, id, { ward: 'y' })).message).toContain(
      'already assigned, with other levels',
    );
    expect(await clientOf(service.url, keys.limited).randomize(STUDY, id, WARD)).toMatchObject({
      status: 403,
    });
    expect(participants()).toBe(before);
  });

  it('answers a retry, whoever it claims to be on behalf of', async () => {
    const before = participants();
    const headers = { 'Idempotency-Key': 'visit-1', 'X-On-Behalf-Of': latin1('Dr. Mu\u0308ller') };
    const answer = await clientOf(service.url, oldKey).randomize(STUDY, HIDDEN, WARD, headers);
    expect(answer).toMatchObject({ status: 200, results: [{ id: HIDDEN }] });
    expect(participants()).toBe(before);
  });
});

describe('a new name', () => {
  it('is not recorded as the person behind a request if it has look-alike characters', async () => {
    const before = participants();
    const header = (text: string) => ({ 'X-On-Behalf-Of': latin1(text) });
    expect(await edc.randomize(STUDY, 'n-1', WARD, header('Dr.\u00a0Who'))).toMatchObject({
      status: 400,
      message: expect.stringContaining('the header X-On-Behalf-Of contains U+00A0'),
    });
    expect(await edc.randomize(STUDY, 'n\u00ad1', {}, header('Mu\u0308ller'))).toMatchObject({
      status: 400,
      message: expect.stringMatching(
        /^id contains U\+00AD, .*; the header X-On-Behalf-Of contains U\+0308, .*; ward is missing/,
      ),
    });
    expect(participants()).toBe(before);
    expect((await edc.randomize(STUDY, 'n-1', WARD, header('Dr. Müller'))).status).toBe(200);
  });
});

it.each(['full', 'blinded'])(
  'verification of an older version’s bundle (%s) warns of look-alike ids',
  async (content) => {
    const bundle = new URL(`../../vectors/0.1.0/every-event/${content}.zip`, import.meta.url).pathname;
    const { code, stdout } = await command(['verify', '--bundle', bundle]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/participant "001\\u200b" looks like participant "001".* \(and 1 time more\)/);
  },
);

it('verification warns of look-alike ids, and finds the log sound', async () => {
  const { code, stdout } = await command(['verify', '--data', data]);
  expect({ code }).toEqual({ code: 0 });
  expect(stdout).toMatch(/warning at .*: participant "001\\u200b" looks like participant "001"/);
  const other = newFolder();
  await issueKey(other, 'edc');
  expect(await commandOk(['verify', '--data', other])).not.toContain('looks like');
});
