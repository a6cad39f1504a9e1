/** Concurrent amendments and randomizations, from several clients of two services on one log. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withOpenLog } from '../../support/cli-log.ts';
import { type Answer, ask, clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeysIn, type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const ROUNDS = 10;
const SITES = ['north', 'south', 'South', 'west', 'added by 0', 'added by 1'];
const STUDIES = `
Rush:
  mode: test
  treatments: [A, B, C]
  factors: {sex: [Male, Female], site: [north, south, west]}
`;

const data = temporaryFolders()();
let services: ServiceHere[];
let keys: Record<'edc' | 'manager', string>;

beforeAll(async () => {
  const grants = { edc: ['edc'], manager: ['data-manager', '--scope', 'blinded,manage'] };
  keys = await withOpenLog(data, (log) => issueKeysIn(log, grants));
  services = [await serveHere(data, STUDIES), await serveHere(data, STUDIES)];
});
afterAll(() => Promise.all(services.map((service) => service.stop())));

const urlOf = (i: number) => services[i % services.length]?.url ?? '';

/** Cycles through changes, mostly of levels and arms. */
function changeOf(manager: number, round: number): object {
  const ofSite = { factor: 'site' };
  const changes = [
    { ...ofSite, kind: 'level-added', level: `added by ${manager}` },
    { ...ofSite, kind: 'level-closed', level: 'west' },
    { ...ofSite, kind: 'level-renamed', level: 'south', to: 'South', alias: true },
    { ...ofSite, kind: 'level-reopened', level: 'west' },
    { ...ofSite, kind: 'level-renamed', level: 'South', to: 'south' },
    { kind: 'arm-closed', treatment: 'C' },
    { kind: 'arm-added', treatment: `added by ${manager}`, ratio: 2 },
    { kind: 'arm-reopened', treatment: 'C' },
    { kind: 'arm-closed', treatment: 'B' },
    { kind: 'id-pattern', value: `[a-z0-9-]{1,${20 + round}}` },
  ];
  return changes[(round + manager * 6) % changes.length] ?? {};
}

/** Sends each amendment until it is recorded, or impossible because of what the other manager did. */
async function manage(manager: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let round = 0; round < ROUNDS; ) {
    const url = urlOf(manager);
    const shown = await ask(url, '/study_design', { key: keys.manager, parameters: { study: 'Rush' } });
    const answer = await postJson(url, '/amendments', keys.manager, {
      ...{ study: 'Rush', amendment: shown.results.design.amendment + 1, reason: 'a race' },
      changes: [changeOf(manager, round)],
    });
    answers.push(answer);
    if (answer.status !== 409) round++;
  }
  return answers;
}

async function enrol(client: number) {
  const sent: { id: string; levels: Readonly<Record<string, string>>; answer: Answer }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const id = `${client}-${round}`;
    const levels = { sex: 'Male', site: SITES[(client + round) % SITES.length] ?? '' };
    sent.push({ id, levels, answer: await send(client + round, id, levels) });
  }
  return sent;
}

const send = (i: number, id: string, levels: Readonly<Record<string, string>>) =>
  clientOf(urlOf(i), keys.edc).randomize('Rush', id, levels, { 'Idempotency-Key': id });

it('each request is decided by the design in force, and the log is sound', async () => {
  const [amendments, sent] = await Promise.all([
    Promise.all([0, 1].map(manage)),
    Promise.all([0, 1, 2, 3, 4, 5].map(enrol)),
  ]);
  const all = sent.flat();
  const statuses = (answers: readonly Answer[]) => [...new Set(answers.map(({ status }) => status))];
  const siteStatuses = statuses(all.map(({ answer }) => answer));
  expect([200, 400, 409]).toEqual(expect.arrayContaining(siteStatuses));
  const managerStatuses = statuses(amendments.flat());
  expect([200, 409, 422]).toEqual(expect.arrayContaining(managerStatuses));
  for (const some of [siteStatuses, managerStatuses]) expect(some).toContain(200);

  const taken = all.filter(({ answer }) => answer.status === 200);
  // A write by one service shows up in the other a little later.
  const last = Math.max(...taken.map(({ answer }) => Number(answer.headers.get('urn-revision'))));
  const { list } = clientOf(urlOf(0), keys.edc);
  const { results } = await list('Rush', { 'urn.min_revision': String(last) });
  expect(results.map(({ id }: { id: string }) => id).sort()).toEqual(taken.map(({ id }) => id).sort());
  for (const { id, levels, answer } of taken.slice(-10)) {
    const { trt } = answer.results[0];
    expect(await send(1, id, levels)).toMatchObject({ status: 200, results: [{ id, trt }] });
  }

  const records = storedLog(data).map(({ record }) => record);
  const kinds = records.flatMap((record) => record.data.changes ?? []).map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['level-added', 'arm-closed', 'arm-added']));
  const both = /^(StudyAmended|ParticipantRandomized)$/;
  const types = records.map(({ type }) => type).filter((type) => both.test(type));
  const turns = types.filter((type, i) => type === 'StudyAmended' && types[i + 1] !== type);
  expect(turns.length).toBeGreaterThan(2);
  await Promise.all(services.map((service) => service.stop()));
  services = [];
  const report = await commandOk(['verify', '--data', data, '--json']);
  expect(JSON.parse(report)).toMatchObject({ ok: true });
});
