/**
 * Studies that do not draw from urns, as services and commands show them. What each method draws and how that is explained, and what
 * lists do: test/unit/methods.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { commandsOn, saidIn, typed } from '../../support/cli-log.ts';
import { within } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { served } from '../../support/served.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const fileOf = temporaryFiles('file.txt');
const data = newFolder();
const { ok, json } = commandsOn(data);

const STUDIES = `
Blocks:
  mode: test
  blinding: blinded
  treatments: [A, B, C]
  factors: { sex: [F, M], site: ["1", "2"] }
  method: { name: blocks, by: [site], sizes: [3, 6] }

Weighted:
  mode: test
  starting_seed: 2033
  treatments: [A, B, C]
  policies: { level_counts: as-corrected }
  factors: { sex: [F, M], site: ["1", "2"] }
  method: { name: minimization, measure: variance, weights: { sex: 1, site: 3 } }

Complete:
  mode: test
  treatments: [A, B]
  factors: { sex: [F, M] }
  method: { name: complete }

List:
  mode: test
  blinding: blinded
  treatments: [A, B]
  factors: { sex: [F, M], local_site: ["11", "30"] }
  method: { name: list, by: [local_site] }
`;
const LIST = 'treatment,local_site\nA,11\nB,30\nB,11\n';
const UNKNOWN = 'how this list was made is not in the log';

const http = served(
  STUDIES,
  {
    edc: ['edc', '--scope', 'randomize,read'],
    reader: ['reader', '--scope', 'read'],
    blinded: ['monitor', '--scope', 'blinded'],
    auditor: ['auditor', '--scope', 'read,audit'],
    manager: ['manager', '--scope', 'manage,correct,read'],
  },
  { data },
);
type Name = keyof typeof http.keys;
type Texts = Readonly<Record<string, string>>;
const get = (name: Name, path: string, study: string, more: Texts = {}) =>
  http.get(name, path, { study, ...more });
const randomize = (study: string, id: string, levels: Texts) => http.as('edc').randomize(study, id, levels);
const amend = (study: string, amendment: number, change: object, more: object = {}) =>
  http.post('manager', '/amendments', { study, amendment, changes: [change], reason: 'protocol 2', ...more });
/** How often the parameters of a study were shown, so far. */
const disclosures = () =>
  storedLog(data).reduce(
    (sum, { record: { type, data: shown } }) =>
      type === 'EvidenceDisclosed' && shown.what === 'seed' ? sum + (shown.count ?? 1) : sum,
    0,
  );

describe('the method', () => {
  const URN = ['D', 'w', 'alpha', 'beta', 'urn_selection', 'ratio'];
  it.each([
    ['Blocks', { method: 'blocks', by: ['site'] }, { sizes: [3, 6] }],
    ['Weighted', { method: 'minimization' }, { p: 0.8, measure: 'variance', weights: { sex: 1, site: 3 } }],
    ['Complete', { method: 'complete' }, undefined],
    ['List', { method: 'list', by: ['local_site'] }, undefined],
  ])(
    'of %s is shown to all, and its parameters to the scope audit alone, which is recorded',
    async (...row) => {
      const [study, method, parameters] = row;
      const before = disclosures();
      for (const name of ['reader', 'blinded', 'auditor'] as const) {
        const { results } = await get(name, '/study_config', study);
        const { design } = (await get(name, '/study_design', study)).results;
        for (const shown of [results, design]) {
          expect(shown).toMatchObject(method);
          for (const member of URN) expect(shown).not.toHaveProperty(member);
        }
        expect(design).not.toHaveProperty('method_parameters');
        expect(results.method_parameters).toEqual(name === 'auditor' ? parameters : undefined);
        expect(disclosures() - before).toBe(name === 'auditor' ? 1 : 0);
      }
    },
  );

  it('is printed for the sealed file, and each time is recorded', async () => {
    const before = disclosures();
    const text = await ok`studies show Weighted --sealed`;
    for (const line of ['method minimization', 'p 0.8', 'measure variance', 'weights sex 1, site 3'])
      expect(text.replaceAll(/ {2,}/g, ' ').split('\n')).toContain(line);
    expect(text).toMatch(/^starting seed +2033 /m);
    expect(await json`studies show Blocks --sealed --json`).toMatchObject({
      ...{ study: 'Blocks', method: 'blocks', by: ['site'], method_parameters: { sizes: [3, 6] } },
    });
    expect(disclosures()).toBe(before + 2);
    const open = await ok`studies show Blocks`;
    expect(open).toContain('permuted blocks');
    expect(open).not.toContain('3, 6');
  });

  it('begins anew, in its own words, with an amendment of the arms', async () => {
    const levels = { sex: 'F', site: '1' };
    expect((await randomize('Blocks', 'p1', levels)).status).toBe(200);
    const closed = { kind: 'arm-closed', treatment: 'C' };
    const tried = await amend('Blocks', 1, closed, { dry_run: true });
    expect(tried.results.effect).toMatchObject({ counts: 'zero', design: { closed_treatments: ['C'] } });
    expect(tried.message).toMatch(/and the method would begin anew$/);
    expect((await amend('Blocks', 1, closed)).status).toBe(200);
    expect((await randomize('Blocks', 'p2', levels)).status).toBe(200);
    const why = (await get('auditor', '/explanation', 'Blocks', { id: 'p2' })).results;
    expect(why).toMatchObject({ agrees: true, treatments: ['A', 'B'], block: { number: 2, sizes: [2, 4] } });
    const { method_parameters } = (await get('auditor', '/study_config', 'Blocks')).results;
    expect(method_parameters).toEqual({ sizes: [2, 4] });
    const shown = await ok`studies show Blocks`;
    expect(shown).toMatch(/^method +began anew at amendment 1 /m);
    expect(shown).toContain('as counted, since the method began anew');
    const report = join(newFolder(), 'report.html');
    await ok`report --study Blocks --content open --out ${report}`;
    const html = readFileSync(report, 'utf8').replace(/<style>.*?<\/style>/s, '');
    expect(html).toContain('the method begins anew');
    expect(html).toContain('The method began anew with amendment 1');
    for (const words of [tried.message, shown, html]) expect(words).not.toMatch(/\burns\b/i);
  });

  it('of minimization counts a correction, in its own words, too', async () => {
    expect((await randomize('Weighted', 'p1', { sex: 'F', site: '1' })).status).toBe(200);
    const { message } = await http.post('manager', '/level_corrections', {
      ...{ study: 'Weighted', id: 'p1', cause: 'entry', note: 'typo', dry_run: true },
      changes: [{ factor: 'sex', from: 'F', to: 'M' }],
    });
    expect(message).toMatch(/and the counts of participants would change$/);
    // It is worked out in the background.
    await expect.poll(async () => (await get('auditor', '/expected_balance', 'Weighted')).status).toBe(200);
  });
});

describe('a list that was made elsewhere', () => {
  const levels = (local_site: string, sex = 'F') => ({ sex, local_site });
  beforeAll(async () => {
    const from = fileOf(LIST);
    await ok`lists add --study List --from ${from} --approved-by 'Dr. K. Ode, statistician, 2026-02-01'`;
    await within(5_000, async () => (await randomize('List', 'p1', levels('30'))).status === 200);
  });

  it('is followed until it is used up, which is answered with 409 and recorded', async () => {
    expect((await get('reader', '/study_participants', 'List')).results).toMatchObject([{ trt: 'B' }]);
    for (const more of [{ 'urn.dry_run': 'true' }, { sex: 'M' }, {}]) {
      const answer = await randomize('List', 'nobody', { ...levels('30'), ...more });
      expect(answer).toMatchObject({
        ...{ status: 409, results: [] },
        message:
          'Nothing was recorded: nobody with these levels can be randomized now (hint: ask whoever runs the randomization)',
      });
      expect(answer.headers.get('urn-refused')).toBe('no-entry');
    }
    const said = 'the list has no entry that the participant could be given';
    await expect.poll(() => ok`operations`).toContain(said);
  });

  it('has no states of a generator, which draws nothing', async () => {
    const [one] = (await get('auditor', '/study_participants', 'List')).results;
    expect(one).not.toHaveProperty('bg_state');
    expect(await ok`operations`).not.toContain('states of the generator');
    for (const more of [[], ['--sealed']])
      expect(await ok`studies show List ${more}`).toContain(', and not used');
    const { results } = await get('auditor', '/explanation', 'List', { id: 'p1' });
    expect(await json`explain --study List --id p1 --json`).toEqual(results);
  });

  it('is counted in reports, which name no entry', async () => {
    for (const content of ['blinded', 'full']) {
      const file = join(newFolder(), 'report.html');
      await ok`report --study List --content ${content} --out ${file}`;
      const text = readFileSync(file, 'utf8');
      for (const words of [
        ...['a list made elsewhere, by local_site', '3 on 1 list'],
        'list 1 registered: 3 entries; approved by Dr. K. Ode (statistician, 2026-02-01)',
      ])
        expect(text).toContain(words);
    }
  });
});

it('what needs the urn, the parameters of a method, or other random numbers than those of a list is refused', async () => {
  const folder = newFolder();
  const [bundle, out] = ['study.zip', 'history.csv'].map((name) => join(folder, name));
  await ok`bundle --study Blocks --content open --out ${bundle ?? ''}`;
  const history = fileOf('id,f_sex,trt,datetime,user,bg_state\n');
  const outcomes = ['--outcomes', fileOf('id,y\np1,1\n')];
  const test = typed`rerandomize ${outcomes} --outcome y --statistic mean --interim test`;
  const studies = fileOf(STUDIES);
  const inLog = (study: string) => ['--study', study, '--data', data];
  const importing = typed`import ${inLog('Complete')} --from ${history}`;
  const ofReference = 'this study can take over only a csv, with a fresh generator';
  for (const [line, why] of [
    [typed`export ${inLog('Blocks')} --format reference-csv --out ${out ?? ''}`, 'knows the urn alone'],
    [importing, ofReference],
    [typed`${importing} --format csv --generator continued`, ofReference],
    [typed`${importing} --format csv --seed-known`, ofReference],
    [typed`${test} --bundle ${bundle ?? ''}`, 'content open has no parameters of the method'],
    [typed`${test} ${inLog('List')}`, UNKNOWN],
    [typed`studies expected List --data ${data}`, UNKNOWN],
    [
      typed`simulate --studies ${studies} --study List --participants 24 --reps 20`,
      `study "List" cannot be simulated: ${UNKNOWN} (hint:`,
    ],
  ] as const) {
    const answer = await command(line);
    expect([answer.code, saidIn(answer)]).toEqual([2, expect.stringContaining(why)]);
  }
  const { status, message } = await get('auditor', '/expected_balance', 'List');
  expect([status, message]).toEqual([422, UNKNOWN]);
});
