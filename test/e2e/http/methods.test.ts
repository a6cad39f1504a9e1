/** Complete randomization, permuted blocks and minimization, from enrolment to a bundle, as everybody sees them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, ask, clientOf, exactJson, exactResults } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const studiesFile = join(newFolder(), 'studies.yaml');

const STUDIES = `
Blocks:
  mode: test
  blinding: blinded
  starting_seed: 2026
  treatments: [A, B]
  factors: { sex: [F, M], site: ["1", "2"] }
  method: { name: blocks, by: [site], sizes: [4, 6] }

Ratio:
  mode: test
  starting_seed: 2026
  treatments: [A, B]
  ratio: [2, 1]
  factors: { sex: [F, M] }
  method: { name: blocks, by: [], sizes: [3, 6] }

Minimized:
  mode: test
  starting_seed: 2033
  treatments: [A, B, C]
  policies: { level_counts: as-corrected }
  factors: { sex: [F, M], site: ["1", "2", "3"], stage: [x, y] }
  method: { name: minimization, p: 0.8, measure: range }

Weighted:
  mode: test
  starting_seed: 2033
  treatments: [A, B, C]
  factors: { sex: [F, M], site: ["1", "2", "3"], stage: [x, y] }
  method: { name: minimization, measure: variance, weights: { sex: 1, site: 3, stage: 1 } }

Complete:
  mode: test
  starting_seed: 2026
  treatments: [A, B, C]
  ratio: [2, 1, 1]
  factors: { sex: [F, M] }
  method: { name: complete }

Amended:
  mode: test
  treatments: [A, B, C]
  factors: { sex: [F, M], site: ["1", "2"] }
  method: { name: blocks, by: [site], sizes: [3, 6] }

Imported:
  mode: test
  treatments: [A, B]
  factors: { site: ["1", "2"] }
  method: { name: minimization }
`;
let service: ServiceHere;
let keys: Record<'edc' | 'reader' | 'blinded' | 'auditor' | 'manager', string>;

const get = (path: string, key: string, study: string, more: Record<string, string> = {}) =>
  ask(service.url, path, { key, parameters: { study, ...more } });
const urn = (...args: string[]) => commandOk([...args, '--data', data]);
const refusal = async (...args: string[]) => {
  const { code, stderr } = await command([...args, '--data', data]);
  return [code, stderr];
};

type Levels = Readonly<Record<string, string>>;

async function enrolled(study: string, id: string, levels: Levels): Promise<string> {
  const answer = await clientOf(service.url, keys.edc).randomize(study, id, levels);
  expect(answer.status, answer.message).toBe(200);
  return answer.results[0].trt;
}

/** The arms of `p1`, `p2`, …, in one text. */
async function armsOf(study: string, all: readonly Levels[]): Promise<string> {
  let arms = '';
  for (const [i, levels] of all.entries()) arms += await enrolled(study, `p${i + 1}`, levels);
  return arms;
}

async function explained(study: string, id: string) {
  const answer = await get('/explanation', keys.auditor, study, { id });
  expect(answer.status, answer.message).toBe(200);
  expect(answer.results.agrees).toBe(true);
  return exactJson(answer.text).results;
}
const explanationText = (study: string, id: string) => urn('explain', '--study', study, '--id', id);

async function amend(study: string, changes: readonly object[], more: object = {}): Promise<Answer> {
  const { design } = (await get('/study_design', keys.reader, study)).results;
  const body = { study, amendment: design.amendment + 1, changes, reason: 'protocol 2', ...more };
  return postJson(service.url, '/amendments', keys.manager, body);
}

const correct = (study: string, id: string, change: object, dry_run = false) =>
  postJson(service.url, '/level_corrections', keys.manager, {
    ...{ study, id, changes: [change], cause: 'entry', note: 'typo', dry_run },
  });

/** The picks of a study in its sealed records, in order. */
const picksOf = (study: string) =>
  storedLog(data).flatMap(({ record, sealed, stream }) =>
    stream === streamOf(study) && record.type === 'ParticipantRandomized' ? [JSON.parse(sealed).pick] : [],
  );
const streamOf = (study: string) =>
  storedLog(data).find(
    ({ record }) => record.type === 'StudyRegistered' && record.data.configuration.name === study,
  )?.stream;

/** How often the parameters of a study were shown, so far. */
const disclosures = () =>
  storedLog(data).reduce(
    (sum, { record: { type, data: shown } }) =>
      type === 'EvidenceDisclosed' && shown.what === 'seed' ? sum + (shown.count ?? 1) : sum,
    0,
  );

const WEIGHTS = { sex: 1, site: 3, stage: 1 };
const BY_SITE = [...'121122121121'].map((site) => ({ sex: 'F', site }));
const PATIENTS = 'F3x M1y M2y F1y F2y F3y M3x F2x F1x M3x M3x F2y'.split(' ').map((code) => {
  const [sex = '', site = '', stage = ''] = code;
  return { sex, site, stage };
});

beforeAll(async () => {
  writeFileSync(studiesFile, STUDIES);
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,read'],
    reader: ['reader', '--scope', 'read'],
    blinded: ['monitor', '--scope', 'blinded'],
    auditor: ['auditor', '--scope', 'read,audit'],
    manager: ['manager', '--scope', 'manage,correct,read'],
  });
  service = await serveHere(data, STUDIES);
});
afterAll(() => service.stop());

describe('the worked samples, over HTTP', () => {
  it('of permuted blocks', async () => {
    expect(await armsOf('Blocks', BY_SITE)).toBe('BAAABBAABBBB');
    expect(picksOf('Blocks').map(({ block }) => [block.number, block.perSlot])).toEqual(
      [3, 2, 3, 3, 2, 2, 3, 2, 3, 3, 3, 3].map((perSlot, i) => [i < 10 ? 1 : 2, perSlot]),
    );
    const answer = await get('/explanation', keys.auditor, 'Blocks', { id: 'p12' });
    const { bg_state_after } = exactResults(answer) as { bg_state_after: object };
    expect(bg_state_after).toMatchObject({
      state: { state: 308269946292390932861741683681455606155n },
      ...{ has_uint32: 0, uinteger: 3950726356 },
    });
  });

  it('of blocks with a ratio', async () => {
    expect(await armsOf('Ratio', Array(10).fill({ sex: 'F' }))).toBe('AAABBAABAB');
    expect(picksOf('Ratio').map(({ slot }) => slot)).toEqual([1, 1, 0, 2, 2, 0, 0, 2, 1, 2]);
  });

  it('of minimization, without weights and with them', async () => {
    expect(await armsOf('Minimized', PATIENTS)).toBe('ACBACACBBACB');
    expect(await armsOf('Weighted', PATIENTS)).toBe('ACBBCACABBCC');
  });

  it('of complete randomization', async () => {
    expect(await armsOf('Complete', Array(10).fill({ sex: 'M' }))).toBe('ABAAACCABA');
  });

  it('can be verified', async () => {
    const report = JSON.parse(await urn('verify', '--json'));
    expect(report.ok).toBe(true);
    for (const [study, method, certain] of [
      ['Blocks', 'blocks', 3],
      ['Ratio', 'blocks', 2],
      ['Minimized', 'minimization', 0],
      ['Complete', 'complete', 0],
    ] as const) {
      const { life } = report.streams.find((stream: { study?: string }) => stream.study === study);
      expect([life.method, life.certain ?? 0]).toEqual([method, certain]);
    }
  });
});

describe('the method', () => {
  it.each([
    ['Blocks', { method: 'blocks', by: ['site'] }, { sizes: [4, 6] }],
    ['Ratio', { method: 'blocks', by: [] }, { sizes: [3, 6] }],
    ['Minimized', { method: 'minimization' }, { p: 0.8, measure: 'range' }],
    ['Weighted', { method: 'minimization' }, { p: 0.8, measure: 'variance', weights: WEIGHTS }],
    ['Complete', { method: 'complete' }, undefined],
  ])(
    'of %s is shown to every reader, and its parameters to the scope audit alone, which is recorded',
    async (study, method, parameters) => {
      const before = disclosures();
      for (const key of [keys.reader, keys.blinded]) {
        const { results } = await get('/study_config', key, study);
        expect(results).toMatchObject(method);
        for (const name of ['D', 'w', 'alpha', 'beta', 'urn_selection', 'method_parameters', 'starting_seed'])
          expect(results).not.toHaveProperty(name);
        const { design } = (await get('/study_design', key, study)).results;
        expect(design).toMatchObject(method);
        for (const name of ['D', 'w', 'alpha', 'beta', 'method_parameters'])
          expect(design).not.toHaveProperty(name);
      }
      expect(disclosures()).toBe(before);
      const { results } = await get('/study_config', keys.auditor, study);
      expect(results).toMatchObject(method);
      expect(results.method_parameters).toEqual(parameters);
      expect(disclosures()).toBe(before + 1);
      const { design } = (await get('/study_design', keys.auditor, study)).results;
      expect(design).not.toHaveProperty('method_parameters');
    },
  );

  it('is printed for the sealed file, and each time is recorded', async () => {
    const before = disclosures();
    const text = await urn('studies', 'show', 'Weighted', '--sealed');
    expect(text).toMatch(/method +minimization/);
    expect(text).toMatch(/\np +0\.8\n/);
    expect(text).toMatch(/\nmeasure +variance\n/);
    expect(text).toMatch(/\nweights +sex 1, site 3, stage 1\n/);
    expect(text).toMatch(/\nstarting seed +2033 /);
    const shown = JSON.parse(await urn('studies', 'show', 'Blocks', '--sealed', '--json'));
    expect(shown).toMatchObject({
      ...{ study: 'Blocks', method: 'blocks', by: ['site'], method_parameters: { sizes: [4, 6] } },
      starting_seed: 2026,
    });
    expect(disclosures()).toBe(before + 2);
    const open = await urn('studies', 'show', 'Blocks');
    expect(open).toContain('permuted blocks');
    expect(open).not.toContain('4, 6');
  });
});

describe('why this arm', () => {
  it('says which block, of which size, and what was left of it', async () => {
    const first = await explained('Blocks', 'p1');
    expect(first).toMatchObject({
      ...{ method: 'blocks', trt: 'B', treatments: ['A', 'B'], weights: [3, 3], uniform53: 5763825389328489 },
      block: {
        stratum: [{ factor: 'site', level: '1' }],
        number: 1,
        size: 6,
        sizes: [4, 6],
        lot: 1,
        first: true,
      },
    });
    const later = await explained('Blocks', 'p9');
    expect(later).toMatchObject({
      ...{ trt: 'B', weights: [0, 2], probabilities: [0, 1] },
      block: { number: 1, size: 6, lot: 1, first: false },
    });
    const text = await explanationText('Blocks', 'p9');
    expect(text).toContain(
      'Stratum site = 1, block 1, of 6 places (of the sizes 4 and 6, integers(2) gave 1 at its first place).',
    );
    const withRatio = await explained('Ratio', 'p4');
    expect(withRatio).toMatchObject({ treatments: ['A', 'A', 'B'], slot: 2, block: { stratum: [] } });
    expect(await explanationText('Ratio', 'p4')).toContain('The whole study is one stratum, block 1, of 6');
  });

  it('says what was minimized', async () => {
    expect(await explained('Minimized', 'p3')).toMatchObject({
      ...{ method: 'minimization', trt: 'B', weights: [1800, 1800, 400] },
      minimization: { measure: 'range', p: 0.8, scores: [3, 3, 5], best: 2 },
    });
    const { minimization } = await explained('Weighted', 'p12');
    expect(minimization.levels.map(({ weight }: { weight: number }) => weight)).toEqual([1, 3, 1]);
    expect(await explanationText('Weighted', 'p12')).toMatch(/site = 2 +3 /);
  });

  it('says that nothing counts in complete randomization', async () => {
    const why = await explained('Complete', 'p1');
    expect(why).toMatchObject({ method: 'complete', uniform53: 1611701520384607, weights: [1, 1, 1, 1] });
    expect(why).not.toHaveProperty('block');
    expect(why).not.toHaveProperty('minimization');
  });
});

it.each([
  ['Blocks', 'p9'],
  ['Minimized', 'p3'],
  ['Complete', 'p1'],
])('an explanation of %s is the same at the command line', async (study, id) => {
  const printed = exactJson(await urn('explain', '--study', study, '--id', id, '--json'));
  expect(await explained(study, id)).toEqual(printed);
});

describe('amendments', () => {
  const closed = { kind: 'arm-closed', treatment: 'C' };
  const noUrns = 'changes[0].kind: the study has no urns';

  it.each([
    [
      'Amended',
      closed,
      { history: 'keep' },
      'history: it must be restart: blocks cannot go on with other arms',
    ],
    [
      'Amended',
      { kind: 'factor-retired', factor: 'site' },
      {},
      'changes[0].factor: blocks are within the factor site',
    ],
    ['Amended', { kind: 'urn', w: 2 }, {}, noUrns],
    ['Minimized', { kind: 'urn', D: 'range' }, {}, noUrns],
    ['Complete', { kind: 'urn', beta: 2 }, {}, noUrns],
  ])('name what the method of %s cannot do: %j', async (study, change, more, message) => {
    for (const dry_run of [true, false]) {
      const answer = await amend(study, [change], { ...more, dry_run });
      expect([answer.status, answer.message]).toEqual([422, message]);
    }
  });

  it('of the arms drop the blocks, whose numbers go on, and a dry run tells nothing of what is left', async () => {
    const at = (site: string) => ({ sex: 'F', site });
    await enrolled('Amended', 'a1', at('1'));
    const tried = await amend('Amended', [closed], { dry_run: true });
    expect(tried.results.effect).toMatchObject({ counts: 'zero', design: { closed_treatments: ['C'] } });
    expect(tried.message).toMatch(/and the method would begin anew$/);
    expect(tried.text).not.toMatch(/probabilit|odds|sizes|weights/);
    expect((await amend('Amended', [closed])).status).toBe(200);
    await enrolled('Amended', 'a3', at('1'));
    // 3 and 6 were for three arms.
    expect(await explained('Amended', 'a3')).toMatchObject({
      ...{ treatments: ['A', 'B'], closed_treatments: ['C'] },
      block: { number: 2, first: true, sizes: [2, 4] },
    });
    const { results } = await get('/study_config', keys.auditor, 'Amended');
    expect(results.method_parameters).toEqual({ sizes: [2, 4] });
    expect((await amend('Amended', [{ kind: 'arm-reopened', treatment: 'C' }])).status).toBe(200);
    await enrolled('Amended', 'a4', at('1'));
    expect((await explained('Amended', 'a4')).block).toMatchObject({ number: 3, first: true, sizes: [3, 6] });
    expect((await amend('Amended', [{ kind: 'factor-retired', factor: 'sex' }])).status).toBe(200);
    await enrolled('Amended', 'a5', { site: '1' });
    expect((await explained('Amended', 'a5')).block).toMatchObject({ number: 3, first: false });
  });

  it('and corrections are told without urns, which the study does not have', async () => {
    const change = { factor: 'sex', from: 'F', to: 'M' };
    const tried = await correct('Minimized', 'p1', change, true);
    expect((await correct('Minimized', 'p1', change)).status).toBe(200);
    expect(tried.message).toMatch(/and the counts of participants would change$/);
    const shown = await urn('studies', 'show', 'Amended');
    expect(shown).toMatch(/\nmethod +began anew at amendment 1 /);
    expect(shown).toContain('as counted, since the method began anew');
    const reports = await Promise.all(
      ['Amended', 'Minimized'].map(async (study) => {
        const file = join(newFolder(), 'report.html');
        await urn('report', '--study', study, '--content', 'open', '--out', file);
        return readFileSync(file, 'utf8').replace(/<style>.*?<\/style>/s, '');
      }),
    );
    expect(reports[0]).toContain('the method begins anew');
    expect(reports[0]).toContain('The method began anew with amendment 2');
    expect(reports[1]).toContain('the counts of participants moved');
    for (const text of [tried.message, shown, ...reports]) expect(text).not.toMatch(/\burns\b/i);
  });

  it('of a file say that method and parameters are fixed at registration', async () => {
    const file = join(newFolder(), 'changed.yaml');
    writeFileSync(file, STUDIES.replace('sizes: [4, 6]', 'sizes: [4, 8]'));
    const [code, stderr] = await refusal('studies', 'amend', 'Blocks', '--studies', file, '--reason', 'x');
    const said = String(stderr).match(/the method and its parameters are fixed at registration/g);
    expect([code, said?.length]).toEqual([2, 1]);
    expect(await urn('studies', 'check', '--studies', studiesFile)).toContain('Minimized');
  });
});

describe('what knows the urn alone', () => {
  it('is refused for other methods', async () => {
    const out = join(newFolder(), 'history.csv');
    const exported = await refusal('export', '--study', 'Blocks', '--format', 'reference-csv', '--out', out);
    expect(exported).toEqual([2, expect.stringContaining('the reference knows the urn alone')]);
    const from = join(newFolder(), 'from.csv');
    writeFileSync(from, 'id,f_site,trt,datetime,user,bg_state\n');
    for (const more of [
      [],
      ['--format', 'csv', '--generator', 'continued'],
      ['--format', 'csv', '--seed-known'],
    ])
      expect(await refusal('import', '--study', 'Imported', '--from', from, ...more)).toEqual([
        2,
        expect.stringContaining('this study can take over only a csv, with a fresh generator'),
      ]);
  });

  it('leaves a csv of another system, whose participants minimization counts', async () => {
    const from = join(newFolder(), 'from.csv');
    const rows = [...'AAAAB'].map((trt, i) => `i${i},1,${trt},2026-01-0${i + 1}T10:00:00Z,other`);
    writeFileSync(from, `id,f_site,trt,datetime,user\n${rows.join('\n')}\n`);
    await urn('import', '--study', 'Imported', '--from', from, '--format', 'csv', '--generator', 'fresh');
    await enrolled('Imported', 'first', { site: '1' });
    const { minimization, weights } = await explained('Imported', 'first');
    expect([minimization.levels[0].counts, weights]).toEqual([
      [4, 1],
      [200, 800],
    ]);
  });
});

describe('what others do with the study', () => {
  it.each([
    ['Blocks', 'open', 2],
    ['Minimized', 'full', 0],
  ])(
    '%s is re-randomized from a bundle that has the parameters of the method: %s',
    async (study, content, wanted) => {
      const folder = newFolder();
      const { results } = await get('/study_participants', keys.reader, study);
      const outcomes = join(folder, 'outcomes.csv');
      const lines = results.map(({ id }: { id: string }, i: number) => `${id},${(i * 7) % 5}`);
      writeFileSync(outcomes, `id,y\n${lines.join('\n')}\n`);
      const bundle = join(folder, 'study.zip');
      await urn('bundle', '--study', study, '--content', content, '--out', bundle);
      const args = ['rerandomize', '--bundle', bundle, '--outcomes', outcomes, '--reps', '99'];
      const { code, stderr } = await command([
        ...[...args, '--outcome', 'y', '--statistic', 'F', '--interim', 'a test'],
      ]);
      expect(code, stderr).toBe(wanted);
      if (wanted === 2) expect(stderr).toContain('content open has no parameters of the method');
    },
  );

  it('is how far apart the arms are expected to be', async () => {
    // It is worked out in the background.
    const read = () => get('/expected_balance', keys.auditor, 'Minimized');
    await expect.poll(async () => (await read()).status).toBe(200);
  });

  it('is simulated', async () => {
    const args = ['--study', 'Blocks', '--studies', studiesFile, '--reps', '20', '--against', 'complete'];
    expect(await commandOk(['simulate', ...args, '--participants', '24'])).toContain('complete');
  });

  it('is verified', async () => {
    const text = await urn('verify');
    expect(text).toMatch(/RESULT: no fault was found/);
    for (const method of ['blocks', 'minimization', 'complete']) expect(text).toContain(`method: ${method}`);
    expect(text).toMatch(/certain: \d+ draws with one possible arm/);
  });
});

describe('a studies file with other parameters', () => {
  it('makes the study take no participants, and the log of the service names no value', async () => {
    await service.stop();
    const changed = STUDIES.replace('sizes: [4, 6]', 'sizes: [34, 38]').replace(
      'name: minimization, p: 0.8,',
      'name: minimization, p: 0.617,',
    );
    const other = await serveHere(data, changed);
    try {
      for (const [study, levels] of [
        ['Blocks', { sex: 'F', site: '1' }],
        ['Minimized', PATIENTS[0] ?? {}],
      ] as const) {
        const answer = await clientOf(other.url, keys.edc).randomize(study, 'changed', levels);
        expect(answer.status, answer.message).toBe(503);
        expect(answer.text).not.toMatch(/34|38|617|sizes/);
      }
      const lines = other.output.stderr.trim().split('\n');
      const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
      expect(errors.map(({ study, differences }) => [study, differences[0]])).toEqual(
        ['Blocks', 'Minimized'].map((study) => [
          ...[study, 'method differs (in force: other parameters; file: these parameters)'],
        ]),
      );
      expect(JSON.stringify(errors.map(({ differences }) => differences))).not.toMatch(/\d/);
    } finally {
      await other.stop();
    }
  });
});
