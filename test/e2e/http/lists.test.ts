/** A list of allocations that was made elsewhere, from its registration to a bundle, as everybody sees it. */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const files = newFolder();

const STUDIES = `
List:
  mode: live
  blinding: blinded
  start: paused
  treatments: [A, B]
  factors: { sex: [F, M], local_site: ["11", "30"] }
  method: { name: list, by: [local_site] }

Central:
  mode: test
  treatments: [A, B, C]
  factors: { sex: [F, M] }
  method: { name: list, by: [] }

Drawn:
  mode: test
  treatments: [A, B]
  factors: { sex: [F, M] }
  method: { name: complete }
`;
/** The worked sample of docs/methods.md. */
const LIST = 'treatment,local_site\nA,11\nB,30\nB,11\nA,11\nA,30\nB,11\n';
const DIGEST = 'af0a14b6c8b8d6b1f30cb7181b0617ff3c445552c881403169f136f10f023681';
const APPROVAL = ['--approved-by', 'Dr. K. Ode, statistician, 2026-02-01'];
const NO_ENTRY = 'Nobody with these levels can be randomized now: ask whoever runs the randomization';
const UNKNOWN = 'how this list was made is not in the log';

let service: ServiceHere;
let keys: Record<'edc' | 'reader' | 'blinded' | 'auditor' | 'manager' | 'forcer', string>;

const get = (path: string, key: string, study: string, more: Record<string, string> = {}) =>
  ask(service.url, path, { key, parameters: { study, ...more } });
const urn = (...args: string[]) => commandOk([...args, '--data', data]);
const refused = async (...args: string[]) => {
  const { code, stderr } = await command([...args, '--data', data]);
  expect(code, stderr).toBe(2);
  return stderr;
};
const fileOf = (name: string, text: string) => {
  const file = join(files, name);
  writeFileSync(file, text);
  return file;
};
const randomize = (study: string, id: string, levels: Readonly<Record<string, string>>, more = {}) =>
  ask(service.url, '/study_participants', {
    ...{ method: 'POST', key: keys.edc, parameters: { study, id, ...levels, ...more } },
  });
const at = (local_site: string) => ({ sex: 'F', local_site });
async function armOf(study: string, id: string, levels: Readonly<Record<string, string>>) {
  const answer = await randomize(study, id, levels);
  expect(answer.status, answer.message).toBe(200);
  return answer.results[0].trt;
}
async function expectNoEntry(study: string, levels: Readonly<Record<string, string>>): Promise<void> {
  for (const more of [{ 'urn.dry_run': 'true' }, {}]) {
    const answer = await randomize(study, 'nobody', levels, more);
    expect([answer.status, answer.message, answer.results]).toEqual([409, NO_ENTRY, []]);
    expect(answer.headers.get('urn-refused')).toBe('no-entry');
  }
}
const force = (study: string, id: string, levels: Readonly<Record<string, string>>, treatment: string) =>
  postJson(service.url, '/forced_allocations', keys.forcer, {
    ...{ study, id, levels, treatment, cause: 'outage', note: 'envelope 3' },
    occurred_at: new Date().toISOString(),
  });
const correct = (study: string, id: string, local_site: string, to: string) =>
  postJson(service.url, '/level_corrections', keys.manager, {
    ...{ study, id, cause: 'entry', note: 'typo' },
    changes: [{ factor: 'local_site', from: local_site, to }],
  });
async function explained(study: string, id: string) {
  const answer = await get('/explanation', keys.auditor, study, { id });
  expect(answer.status, answer.message).toBe(200);
  expect(answer.results.agrees).toBe(true);
  return answer.results;
}
async function entryOf(study: string, id: string): Promise<number[]> {
  const { entry } = await explained(study, id);
  return [entry.list, entry.entry];
}
async function report(study: string, content: string): Promise<string> {
  const file = join(newFolder(), 'report.html');
  await urn('report', '--study', study, '--content', content, '--out', file);
  return readFileSync(file, 'utf8').replace(/<style>.*?<\/style>/s, '');
}
const start = async () => {
  service = await serveHere(data, STUDIES);
};

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,read'],
    reader: ['reader', '--scope', 'read'],
    blinded: ['monitor', '--scope', 'blinded'],
    auditor: ['auditor', '--scope', 'read,audit'],
    manager: ['manager', '--scope', 'manage,correct,read'],
    forcer: ['enterer', '--scope', 'force'],
  });
  await start();
});
afterAll(() => service.stop());

describe('the worked sample', () => {
  it('is followed, each stratum on its own, until it is used up', async () => {
    const from = fileOf('list.csv', LIST);
    await urn('lists', 'add', '--study', 'List', '--from', from, ...APPROVAL);
    const [listed] = storedLog(data).filter(({ record }) => record.type === 'ListRegistered');
    expect(listed?.record.data).toMatchObject({ list: 1, count: 6 });
    expect(JSON.parse(listed?.sealed ?? '').list).toMatchObject({ file: DIGEST, first: 1 });
    await urn('studies', 'resume', 'List', '--reason', 'the list is in');
    await expect.poll(async () => (await randomize('List', 'p1', at('30'))).status).toBe(200);
    const arms = [];
    for (const [i, site] of ['11', '11', '30'].entries())
      arms.push(await armOf('List', `p${i + 2}`, at(site)));
    expect((await get('/study_participants', keys.reader, 'List')).results[0].trt).toBe('B');
    expect(arms).toEqual(['A', 'B', 'A']);
    await expectNoEntry('List', at('30'));
    // Another level of a factor that makes no stratum changes nothing.
    await expectNoEntry('List', { sex: 'M', local_site: '30' });
    const left = JSON.parse(await urn('lists', 'status', '--study', 'List', '--json'));
    expect(left.strata.map(({ used, left: unused }: Record<string, number>) => [used, unused])).toEqual([
      [2, 2],
      [2, 0],
    ]);
  });

  it('says which entry each participant has', async () => {
    for (const [id, entry] of [
      ['p1', 2],
      ['p2', 1],
      ['p3', 3],
      ['p4', 5],
    ] as const)
      expect(await entryOf('List', id)).toEqual([1, entry]);
    const why = await explained('List', 'p3');
    expect(why).toMatchObject({
      ...{ method: 'list', trt: 'B', treatments: ['A', 'B'] },
      entry: { stratum: [{ factor: 'local_site', level: '11' }] },
    });
    for (const name of ['uniform53', 'weights', 'probabilities', 'bg_state_before', 'bg_state_after'])
      expect(why).not.toHaveProperty(name);
    const printed = await urn('explain', '--study', 'List', '--id', 'p3', '--json');
    expect(JSON.parse(printed)).toEqual(why);
    expect(await urn('explain', '--study', 'List', '--id', 'p3')).toContain(
      'Entry 3 of list 1: the first unused of local_site = 11; nothing was drawn.',
    );
  });

  it('has no states of a generator, which draws nothing', async () => {
    const { results } = await get('/study_participants', keys.auditor, 'List');
    expect(results).toHaveLength(4);
    for (const one of results) expect(one).not.toHaveProperty('bg_state');
    expect(await urn('operations')).not.toContain('states of the generator');
    const stored = storedLog(data).filter(({ record }) => record.type === 'ParticipantRandomized');
    for (const { sealed } of stored) {
      expect(Object.keys(JSON.parse(sealed))).toEqual(['allocation', 'entry']);
      expect(sealed).not.toContain('bgState');
    }
  });

  it('shows the method and its strata to every reader, and nothing more', async () => {
    for (const key of [keys.reader, keys.blinded, keys.auditor]) {
      const { results } = await get('/study_config', key, 'List');
      expect(results).toMatchObject({ method: 'list', by: ['local_site'] });
      for (const name of ['D', 'w', 'alpha', 'beta', 'urn_selection', 'method_parameters'])
        expect(results).not.toHaveProperty(name);
      const { design } = (await get('/study_design', key, 'List')).results;
      expect(design).toMatchObject({ method: 'list', by: ['local_site'] });
      expect(design).not.toHaveProperty('ratio');
    }
    const shown = await urn('studies', 'show', 'List');
    expect(shown).toMatch(/\nmethod +a list made elsewhere, by local_site\n/);
    expect(shown).toMatch(/\nseed +drawn from the operating system, and not used\n/);
    expect(await urn('studies', 'show', 'List', '--sealed')).toContain('and not used');
  });

  it('records that somebody was refused', async () => {
    const lines = async () => {
      const { results } = await get('/operations', keys.auditor, 'List');
      return results.filter(({ data: { reason } }: { data: { reason?: string } }) => reason === 'no-entry');
    };
    await expect.poll(async () => (await lines()).length).toBeGreaterThan(0);
    expect(await urn('operations')).toContain('the list has no entry that the participant could be given');
  });

  it('goes on with a further file', async () => {
    const more = fileOf('more.csv', 'local_site,treatment,block\n30,B,1\n11,B,1\n11,A,1\n30,A,1\n');
    await urn('lists', 'add', '--study', 'List', '--from', more, ...APPROVAL, '--ignore', 'block');
    await expect.poll(async () => (await randomize('List', 'p5', at('30'))).status).toBe(200);
    expect(await entryOf('List', 'p5')).toEqual([2, 1]);
    // The first list still has entries of this stratum.
    await armOf('List', 'p6', at('11'));
    expect(await entryOf('List', 'p6')).toEqual([1, 4]);
  });
});

describe('what people do besides', () => {
  it('takes no entry, and gives none back', async () => {
    expect((await force('List', 'entered', at('30'), 'A')).status).toBe(200);
    expect((await correct('List', 'p5', '30', '11')).status).toBe(200);
    await armOf('List', 'p7', at('30'));
    expect(await entryOf('List', 'p7')).toEqual([2, 4]);
    await expectNoEntry('List', at('30'));
    const undrawn = await get('/explanation', keys.auditor, 'List', { id: 'entered' });
    expect(undrawn.status).toBe(422);
  });

  it('is an amendment with other arms, after which a new list is needed', async () => {
    await urn('lists', 'add', '--study', 'Central', '--from', fileOf('three.csv', 'treatment\nC\nA\nB\nA\n'));
    await expect.poll(async () => (await randomize('Central', 'c1', { sex: 'F' })).status).toBe(200);
    const amend = (changes: readonly object[], more: object = {}) =>
      postJson(service.url, '/amendments', keys.manager, {
        ...{ study: 'Central', amendment: 1, changes, reason: 'protocol 2', ...more },
      });
    const closed = { kind: 'arm-closed', treatment: 'C' };
    for (const [change, more, message] of [
      [closed, { history: 'keep' }, 'history: it must be restart: a list cannot go on with other arms'],
      [{ kind: 'ratio', value: [2, 1, 1] }, {}, 'changes[0].value: a list holds its own ratio'],
      [{ kind: 'urn', w: 2 }, {}, 'changes[0].kind: the study has no urns'],
    ] as const) {
      const answer = await amend([change], more);
      expect([answer.status, answer.message]).toEqual([422, message]);
    }
    const tried = await amend([closed], { dry_run: true });
    expect(tried.message).toMatch(/and the method would begin anew$/);
    expect((await amend([closed])).status).toBe(200);
    await expectNoEntry('Central', { sex: 'F' });
    await urn('lists', 'add', '--study', 'Central', '--from', fileOf('two.csv', 'treatment\nB\nA\nA\nB\n'));
    await expect.poll(async () => (await randomize('Central', 'c2', { sex: 'M' })).status).toBe(200);
    expect(await entryOf('Central', 'c2')).toEqual([2, 1]);
  });
});

describe('what needs other random numbers', () => {
  it('is refused, since nobody here knows how the list was made', async () => {
    const expected = await get('/expected_balance', keys.auditor, 'List');
    expect([expected.status, expected.message]).toEqual([422, UNKNOWN]);
    expect(await refused('studies', 'expected', 'List')).toContain(UNKNOWN);
    const outcomes = fileOf('outcomes.csv', 'id,y\np1,1\np2,3\np3,2\np4,5\n');
    const test = ['rerandomize', '--outcomes', outcomes, '--outcome', 'y', '--statistic', 'mean'];
    expect(await refused(...test, '--study', 'List', '--interim', 'a test')).toContain(UNKNOWN);
    const bundle = join(newFolder(), 'list.zip');
    await urn('bundle', '--study', 'List', '--content', 'full', '--out', bundle);
    const inBundle = await command([...test, '--bundle', bundle]);
    expect([inBundle.code, inBundle.stderr]).toEqual([2, expect.stringContaining(UNKNOWN)]);
    const studies = fileOf('studies.yaml', STUDIES);
    const { code, stderr } = await command([
      ...['simulate', '--studies', studies, '--study', 'List', '--participants', '24', '--reps', '20'],
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain(`study "List" cannot be simulated: ${UNKNOWN} (hint:`);
    // What is counted does not depend on the method.
    const balance = await get('/balance', keys.auditor, 'List');
    expect([balance.status, balance.results.totals]).toEqual([200, [5, 3]]);
  });

  it('is not needed by the lists for statisticians, but the reference has no lists', async () => {
    const out = join(newFolder(), 'list.csv');
    const args = ['export', '--study', 'List', '--out', out, '--format'];
    expect(await refused(...args, 'reference-csv')).toContain('the reference knows the urn alone');
    await urn(...args, 'csv');
    expect(readFileSync(out, 'utf8')).toContain('p7');
  });
});

describe('a log that lost its newest records', () => {
  it('randomizes nobody until it is said which entries were used', async () => {
    await service.stop();
    const [log, backup] = [join(data, 'urn.sqlite'), join(files, 'backup')];
    copyFileSync(log, backup);
    await start();
    const lost = await armOf('List', 'lost', at('11'));
    expect(lost).toBe('B');
    await service.stop();
    for (const side of ['-wal', '-shm']) rmSync(`${log}${side}`, { force: true });
    copyFileSync(backup, log);
    const recovered = await command(['recover', '--data', data, '--reason', 'disk failure']);
    expect([recovered.code, recovered.stdout + recovered.stderr]).toEqual([
      0,
      expect.stringContaining('List follows a list'),
    ]);
    await start();
    await expectNoEntry('List', at('11'));
    const skip = ['lists', 'skip', '--study', 'List', '--reason', 'recovery 1'];
    await urn(...skip, '--used', 'local_site=11:1');
    expect(await refused(...skip, '--none')).toContain('no entries are to be skipped');
    await expect.poll(async () => (await randomize('List', 'p8', at('11'))).status).toBe(200);
    expect(await entryOf('List', 'p8')).toEqual([2, 2]);
    await urn('lists', 'skip', '--study', 'Central', '--none', '--reason', 'recovery 1');
  });
});

describe('reports and verification', () => {
  it('count entries, and name none', async () => {
    for (const content of ['blinded', 'full']) {
      const text = await report('List', content);
      expect(text).toContain('a list made elsewhere, by local_site');
      expect(text).toContain('10 on 2 lists; skipped: 1');
      expect(text).toContain(
        'list 1 registered: 6 entries; approved by Dr. K. Ode (statistician, 2026-02-01)',
      );
      expect(text).toContain('entries skipped: local_site = 11: 1; reason: recovery 1');
      expect(text).toContain('drawn from the operating system, and not used');
      expect(text).not.toContain(DIGEST);
    }
  });

  it('find no fault, and say that the origin of the list is unknown', async () => {
    const text = await urn('verify');
    expect(text).toMatch(/RESULT: no fault was found/);
    expect(text).toContain('method: list');
    expect(text).toContain('nothing in the log shows how the list was made');
    const { results } = await get('/verification', keys.auditor, 'List');
    expect(results.ok).toBe(true);
    const { life } = results.streams.find((stream: { study?: string }) => stream.study === 'List');
    expect(life).toMatchObject({ method: 'list' });
  });
});
