/** urn simulate: its options and files, what it refuses, and what it writes. The figures are tested elsewhere. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { issueKeys, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const folder = newFolder();
const inFolder = (name: string) => join(folder, name);
const STUDIES = `
Pain:
  starting_seed: 340282366920938463463374607431768211457
  mode: test
  target_enrollment: 40
  treatments: [Verum, Placebo]
  D: range
  factors:
    sex: [F, M]
    site: ["1, north", "2"]

Single:
  mode: test
  treatments: [A, B]
  factors:
    one: [x]
`;

beforeAll(() => {
  writeFileSync(inFolder('studies.yaml'), STUDIES);
});

const PAIN = ['simulate', '--studies', inFolder('studies.yaml'), '--study', 'Pain', '--reps', '200'];
const simulate = (...args: string[]) => command([...PAIN, ...args]);

interface Output {
  readonly designs: readonly {
    name: string;
    figures: Record<string, { value: number; low: number; high: number }>;
  }[];
  readonly levels: {
    source: string;
    rows?: number;
    shares: { factor: string; levels: { level: string; share: number }[] }[];
    opens?: unknown;
  };
  readonly paragraph: string;
  readonly [more: string]: unknown;
}

async function simulated(...args: string[]): Promise<Output> {
  return JSON.parse(await commandOk([...PAIN, '--json', ...args]));
}

let files = 0;
/** A file of this test, with its path. */
function file(text: string): string {
  const path = inFolder(`file-${files++}`);
  writeFileSync(path, text);
  return path;
}

const sharesOf = ({ levels }: Output) =>
  levels.shares.map((one) => one.levels.map(({ share }) => Number(share.toFixed(4))));

describe('urn simulate', () => {
  it('shows the design, its figures beside those of others, and what they mean', async () => {
    const { code, stdout, stderr } = await simulate(
      ...['--against', 'complete', '--against', 'block:4@site', '--site-factor', 'site', '--at', '10,20'],
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^study +Pain\narms +Verum, Placebo, in equal numbers\n/);
    expect(stdout).toMatch(/\n +this study +complete +block:4@site\n/);
    expect(stdout).toMatch(/\narms: range after 40, mean +\d\.\d\d \[\d\.\d\d, \d\.\d\d\] /);
    expect(stdout).toMatch(/\nafter 10: mean range of the arms, 95 % at most +\d/);
    expect(stdout).toMatch(
      /\nBeside complete\n {2}Better with this study's urns: the difference of the arms/,
    );
    expect(stdout).toMatch(/\nBeside block:4@site\n {2}Better with this study's urns: right guesses/);
    expect(stdout).not.toMatch(/NaN|undefined|3402823/);
  });

  it('gives the same numbers as JSON and as CSV', async () => {
    const csv = inFolder('figures.csv');
    const json = await simulated('--against', 'complete', '--at', '10', '--csv', csv);
    expect(json).toMatchObject({
      ...{ study: 'Pain', participants: 40, reps: 200, seed: 1, exact: false, at: [10, 40], warnings: [] },
      design: { treatments: ['Verum', 'Placebo'], ratio: [1, 1], w: 1, alpha: 0, beta: 1, D: 'range' },
    });
    expect(json.designs.map(({ name }) => name)).toEqual(['study', 'complete']);
    const own = json.designs[0]?.figures ?? {};
    expect(own['overall.range.mean']).toEqual(own['overall.range@40.mean']);
    expect(own['overall.range.mean']).not.toEqual(own['overall.range@10.mean']);
    const [head, ...lines] = readFileSync(csv, 'utf8').trimEnd().split('\r\n');
    expect(head).toBe('design,figure,n,value,low,high');
    const row = (start: string) =>
      lines
        .find((line) => line.startsWith(start))
        ?.split(',')
        .slice(-4);
    const cells = (n: number, { value, low, high } = { value: 0, low: 0, high: 0 }) =>
      [n, value, low, high].map(String);
    expect(row('study,overall.range.mean,10,')).toEqual(cells(10, own['overall.range@10.mean']));
    expect(row('study,overall.range.mean,40,')).toEqual(cells(40, own['overall.range@40.mean']));
    expect(row('study,guess.known,')).toEqual(cells(40, own['guess.known']));
    // A level whose name has a comma.
    expect(row('study,"level.site.1, north.range.p95",40,')).toEqual(
      cells(40, own['level.site.1, north.range@40.p95']),
    );
    const full = json.designs.flatMap(({ figures }) =>
      Object.keys(figures).filter((name) => name.includes('@') || !Object.hasOwn(figures, `${name}@40`)),
    );
    expect(new Set(full).size).toBeGreaterThan(60);
    expect(statSync(csv).mode & 0o777).toBe(0o600);
  });

  it('is the same to the byte with one, two and three threads, and differs with another seed', async () => {
    const run = (...args: string[]) =>
      command([...PAIN, '--reps', '350', '--json', '--against', 'block:2+4', ...args]);
    const [one, two, three] = await Promise.all(['1', '2', '3'].map((threads) => run('--threads', threads)));
    expect(one?.code).toBe(0);
    expect(two?.stdout).toBe(one?.stdout);
    expect(three?.stdout).toBe(one?.stdout);
    expect((await run('--seed', '9223372036854775807')).stdout).toContain('"seed": "9223372036854775807"');
    expect((await simulated('--seed', '2')).designs).not.toEqual((await simulated()).designs);
  });

  it('has the paragraph for the protocol, with the line that repeats it', async () => {
    const { paragraph } = await simulated('--against', 'block:4@site', '--site-factor', 'site');
    const words = [
      ...[
        'wei-urn-method1-pcg64, version 1',
        'w = 1, alpha = 0, beta = 1, D = range',
        '200 simulated trials',
      ],
      ...['40 participants', 'seed 1', 'Verum, Placebo', 'equal shares for the levels', 'urn rerandomize'],
      ...[
        'Under complete randomization the best guess is right in 50.00 %',
        'With block:4@site instead: mean range',
        '--reps 9999',
      ],
    ];
    for (const word of words) expect(paragraph).toContain(word);
    expect(paragraph).not.toContain('340282');
    const [, line = ''] = /To reproduce these figures: urn (.*)$/.exec(paragraph) ?? [];
    expect(line).toBe(
      `simulate --studies ${inFolder('studies.yaml')} --study Pain --participants 40 --reps 200 --seed 1 --against block:4@site --site-factor site`,
    );
    const again = JSON.parse(await commandOk([...line.split(' '), '--json']));
    expect(again.paragraph).toBe(paragraph);
  });

  it('takes the study of a file that has only one, in the working folder', async () => {
    const only = newFolder();
    writeFileSync(join(only, 'studies.yaml'), STUDIES.slice(STUDIES.indexOf('Single')));
    const { code, stdout } = await urn(['simulate', '--participants', '10', '--reps', '100'], { cwd: only });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^study +Single\n/);
  });

  it('computes exactly where that is possible', async () => {
    const single = ['simulate', '--studies', inFolder('studies.yaml'), '--study', 'Single'];
    const args = ['--participants', '4', '--exact', '--against', 'complete'];
    const exact = JSON.parse(await commandOk([...single, ...args, '--json'])) as Output;
    expect(exact).toMatchObject({ exact: true, reps: null });
    // Two arms and four participants, w = 1, alpha = 0, beta = 1: (n + 2)/3 is the variance.
    const { value, low, high } = exact.designs[0]?.figures['difference.sd'] ?? { value: 0, low: 0, high: 0 };
    expect(value).toBeCloseTo(Math.SQRT2, 12);
    expect([low, high]).toEqual([value, value]);
    expect(await commandOk([...single, ...args])).toContain('computed exactly');
    expect(await simulate('--exact')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--exact: .*one factor with one level/),
    });
  });
});

describe('the participants of urn simulate', () => {
  it('have the shares of a file', async () => {
    const levels = file('site: {"1, north": 30, "2": 10}\nopens:\n  site:\n    "2": 20\n');
    const output = await simulated('--levels', levels);
    expect(sharesOf(output)).toEqual([
      [0.5, 0.5],
      [0.75, 0.25],
    ]);
    expect(output.levels.opens).toEqual([{ factor: 'site', level: '2', from: 20 }]);
    expect(output.levels.source).toBe(`the shares in ${levels}, independent of each other`);
    const zero = await simulated('--levels', file('{site: {"2": 1}}'));
    expect(zero.designs[0]?.figures['level.site.1, north.range.mean']?.value).toBe(0);
  });

  it.each([
    ['sit: {"2": 1}', ':1: the study has no factor "sit" (hint: did you mean site?)'],
    ['sex: {F: 1}\nsite: {"3": 1}', ':2: factor "site" has no level "3" (hint: choose one of 1, north, 2)'],
    ['sex:\n  F: -1', ':2: the share of "F" is not a number from 0 to 1e15'],
    ['sex: {F: 1e308, M: 1e308}', ':1: the share of "F" is not a number from 0 to 1e15'],
    ['sex:\n  F: "1"', ':2: the share of "F" is not a number'],
    ['\nsex: {F: 0}', ':2: all shares of "sex" are 0'],
    ['opens: {sex: {F: 0}}', ':1: F is below 1'],
    ['sex: {F: 1, M: 0}\nopens:\n  sex: {F: 2}', ':2: no level of "sex" is open for the first participant'],
    ['sex: 3', ':1: sex is not a mapping'],
    ['- sex', ':1: the file is not a mapping'],
    ['sex: {F: 1\n', ':'],
  ])('are refused with the line: %s', async (text, why) => {
    const path = file(text);
    const { code, stdout, stderr } = await simulate('--levels', path);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`${path}${why}`);
  });

  it('are drawn from profiles, or only have their shares', async () => {
    // All women are at the second site.
    const profiles = file('weight,site,sex\n3,2,F\n1,"1, north",M\n');
    const together = await simulated('--profiles', profiles);
    expect(together.levels).toMatchObject({ rows: 2 });
    expect(sharesOf(together)).toEqual([
      [0.75, 0.25],
      [0.25, 0.75],
    ]);
    const strata = ({ designs }: Output) => designs[0]?.figures['strata.range.mean']?.value ?? 0;
    const levels = ({ designs }: Output) => designs[0]?.figures['levels.range.mean']?.value ?? 0;
    expect(strata(together)).toBe(levels(together));
    const apart = await simulated('--profiles', profiles, '--independent');
    expect(sharesOf(apart)).toEqual(sharesOf(together));
    expect(apart.levels.rows).toBeUndefined();
    expect(strata(apart)).not.toBe(levels(apart));
  });

  it.each([
    ['sex,weight\nF,1\n', 'line 1: the columns are'],
    ['sex,site,weight,age\nF,2,1,3\n', 'line 1: the columns are'],
    ['sex,site,weight\nF,2,1\nX,2,1\n', 'line 3: factor "sex" has no level "X", only "F" and "M"'],
    ['sex,site,weight\nF,2,\n', 'line 2: the weight "" is not a number'],
    ['sex,site,weight\nF,2\n', 'line 2: 2 fields instead of 3'],
    ['sex,site,weight\nF,2,0\n', 'all weights are 0'],
    ['sex,site,weight\n', 'no profiles'],
  ])('are refused with the line of the profile: %s', async (text, why) => {
    const { code, stdout, stderr } = await simulate('--profiles', file(text));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(why);
  });

  it('are refused in few words, however long a line is', async () => {
    const { code, stderr } = await simulate('--profiles', file('a'.repeat(1_000_000)));
    expect(code).toBe(2);
    expect(stderr).toContain('line 1: the columns are "aaa');
    expect(stderr.length).toBeLessThan(2000);
  });

  it('are drawn from a study in the log: as randomized, without those who were voided', async () => {
    const data = newFolder();
    const { edc } = await issueKeys(data, { edc: ['edc'] });
    const service = await serveHere(data, STUDIES);
    const { randomize } = clientOf(service.url, edc);
    for (const [id, sex, site] of [
      ['1', 'F', '2'],
      ['2', 'M', '2'],
      ['3', 'M', '1, north'],
      ['4', 'M', '1, north'],
      ['5', 'M', '1, north'],
    ] as const)
      expect((await randomize('Pain', id, { sex, site })).status).toBe(200);
    await service.stop();
    const why = ['--note', 'as the notes say', '--study', 'Pain', '--data', data];
    const voided = ['--id', '5', '--cause', 'ineligible', '--analysis', 'keep'];
    const corrected = ['--id', '1', '--cause', 'entry', '--level', 'sex=M'];
    await commandOk(['participants', 'void', ...voided, ...why]);
    await commandOk(['participants', 'correct', ...corrected, ...why]);
    const like = await simulated('--like', 'Pain', '--data', data);
    expect(like.levels).toMatchObject({
      rows: 4,
      source: 'drawing with replacement from the 4 participants of Pain',
    });
    expect(sharesOf(like)).toEqual([
      [0.25, 0.75],
      [0.5, 0.5],
    ]);
    expect(like.paragraph).toContain(`--seed 1 --like Pain --data ${data}`);
    const unlike = await simulate('--like', 'Single', '--data', data);
    expect(unlike).toMatchObject({ code: 2, stderr: expect.stringContaining('no factor "sex", only "one"') });
    const nobody = [
      'simulate',
      '--studies',
      inFolder('studies.yaml'),
      '--study',
      'Single',
      '--participants',
      '5',
    ];
    expect(await command([...nobody, '--like', 'Single', '--data', data])).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('no participants yet') },
    });
  });
});

describe('a requirement of urn simulate', () => {
  it('is met, or gives exit code 1', async () => {
    const met = await simulate('--require', 'overall.range.p95 <= 40', '--require', 'guess.blind >= 0.5');
    expect(met.code).toBe(0);
    expect(met.stdout).toContain('\nmet: overall.range.p95 <= 40; it is ');
    const { value = 0 } = (await simulated()).designs[0]?.figures['drift'] ?? {};
    const failed = await simulate('--json', '--require', 'share < 1', '--require', `drift > ${value}`);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/met: share < 1.*\nNOT MET: drift > .*within the Monte Carlo error/s);
    const { requirements } = JSON.parse(failed.stdout);
    expect(requirements).toMatchObject([{ met: true }, { met: false, withinError: true }]);
  });

  it('may name every figure of the output, and no other, which is checked before anything is simulated', async () => {
    const site = ['--site-factor', 'site', '--at', '20'];
    const { designs } = await simulated(...site);
    const names = Object.keys(designs[0]?.figures ?? {});
    const all = names.flatMap((name) => ['--require', `${name} >= -1`]);
    expect((await simulate(...site, ...all)).code).toBe(0);
    const { code, stdout, stderr } = await simulate('--reps', '100000000', '--require', 'guess.site < 1');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('there is no figure "guess.site" of this design');
    expect(stderr).toContain('\n  level.<factor>.<level>.range.mean .p05 ');
  });
});

describe('urn simulate refuses', () => {
  it.each([
    [['--study', 'Pian'], 'no study "Pian", only "Pain" and "Single" (hint: did you mean Pain?)'],
    [['--study', 'Single'], 'no target_enrollment (hint: say how many participants'],
    [['--participants', '0'], '--participants "0" is not a whole number from 1'],
    [['--reps', '1e3'], '--reps "1e3"'],
    [['--seed', '0'], '--seed "0" is not a whole number from 1'],
    [['--seed', '9223372036854775808'], '2^63 - 1'],
    [['--threads', 'two'], '--threads "two"'],
    [['--at', '10,41'], '--at "41" is not a whole number from 1 to 40'],
    [['--site-factor', 'sites'], 'no factor "sites", only "sex" and "site" (hint: did you mean site?)'],
    [['--against', 'blok:4'], '--against "blok:4": there is no comparator "blok"'],
    [['--against', 'block:3'], '--against "block:3": the size 3 is not a multiple of 2'],
    [['--against', 'complete', '--against', 'complete'], '"complete" is given twice'],
    [['--independent'], '--independent is for --profiles and --like'],
    [['--levels', 'a', '--profiles', 'b'], '--levels and --profiles: give only one of them'],
    [['--levels', 'nowhere.yaml'], 'cannot read nowhere.yaml'],
    [['--profiles', 'nowhere.csv'], 'cannot read nowhere.csv'],
    [['--require', 'drift = 1'], 'NAME OP NUMBER'],
    [['--studies', 'nowhere.yaml'], 'there is no studies file nowhere.yaml'],
  ])('%j', async (args, why) => {
    const { code, stdout, stderr } = await simulate(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(why);
  });

  it('to choose between several studies, and to overwrite a file, before it begins', async () => {
    expect(await command(['simulate', '--studies', inFolder('studies.yaml')])).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('choose one with --study: "Pain" and "Single"') },
    });
    const mine = file('mine');
    for (const name of ['--csv', '--html'])
      expect(await simulate('--reps', '100000000', name, mine)).toMatchObject({
        ...{ code: 2, stdout: '', stderr: expect.stringContaining('already exists') },
      });
    expect(readFileSync(mine, 'utf8')).toBe('mine');
  });

  it('to write what it cannot write, before it begins', async () => {
    const [folder, twice] = [inFolder('nowhere'), inFolder('twice')];
    for (const [args, why] of [
      [['--csv', join(folder, 'figures.csv')], `there is no folder ${folder}`],
      [['--csv', twice, '--html', twice], 'twice would be written twice'],
      [['--html', ''], 'the name of a file is empty'],
    ] as const)
      expect(await simulate('--reps', '100000000', ...args)).toMatchObject({
        ...{ code: 2, stdout: '', stderr: expect.stringContaining(why) },
      });
    expect(existsSync(twice)).toBe(false);
  });
});

describe('a warning of urn simulate', () => {
  it('is not given for the chance of a few trials', async () => {
    const { code, stderr } = await simulate('--reps', '1');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('is given where one factor is drawn from in most allocations', async () => {
    // Twelve sites of very unequal size beside two small factors: the urns of the small sites are the most imbalanced.
    const sizes = [300, 100, 60, 40, 30, 20, 15, 10, 8, 6, 5, 4];
    const path = file(`
Sites:
  mode: test
  treatments: [A, B, C]
  factors:
    sex: [F, M]
    age: [young, old]
    site: [${sizes.map((_, i) => `s${i}`).join(', ')}]
`);
    const levels = file(`site: {${sizes.map((size, i) => `s${i}: ${size}`).join(', ')}}`);
    const args = ['--studies', path, '--levels', levels, '--participants', '600', '--reps', '1000'];
    const { code, stderr } = await command(['simulate', ...args]);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^warning: \d\d\.\d\d % of the allocations are drawn from urns of the factor "site"/,
    );
  });

  it('is given where rounding favours an arm', async () => {
    const path = file(`
Rounded:
  mode: test
  treatments: [A, B, C]
  D: variance
  factors:
${Array.from({ length: 13 }, (_, i) => `    f${i}: [a, b, c]`).join('\n')}
`);
    const { stderr } = await command([
      ...['simulate', '--studies', path, '--participants', '5', '--reps', '4000'],
    ]);
    expect(stderr).toMatch(/^warning: at some step the chance of an arm/m);
  });
});

it('the help of urn simulate says how to write a comparator, and where the figures are defined', async () => {
  const { code, stdout } = await command(['simulate', '--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('--against block:4+6@sex,site');
  expect(stdout).toContain('docs/statistics.md');
});
