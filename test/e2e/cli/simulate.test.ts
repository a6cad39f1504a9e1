/** urn simulate: its options and files, what it refuses, and what it writes. The figures are tested elsewhere. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { commandsOn, enrol } from '../../support/cli-log.ts';
import { command, commandOk, refusal } from '../../support/command.ts';
import { parseCsv } from '../../support/csv.ts';
import { registerIn } from '../../support/importing.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const file = temporaryFiles('given');
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

/** So few trials that one thread does it. */
const PAIN = ['simulate', '--studies', inFolder('studies.yaml'), '--study', 'Pain', '--reps', '100'];
const SINGLE = ['simulate', '--studies', inFolder('studies.yaml'), '--study', 'Single'];
const simulate = (...args: string[]) => command([...PAIN, ...args]);

interface Output {
  readonly designs: readonly {
    name: string;
    figures: Record<string, Record<'value' | 'low' | 'high', number>>;
  }[];
  readonly levels: { shares: { levels: { share: number }[] }[]; [more: string]: unknown };
  readonly paragraph: string;
  readonly [more: string]: unknown;
}

async function simulated(...args: string[]): Promise<Output> {
  return JSON.parse(await commandOk([...PAIN, '--json', ...args]));
}

/** For several tests. */
const BLOCKS = ['--against', 'block:4@site', '--site-factor', 'site'];
const csv = inFolder('figures.csv');
let beside: Output;
beforeAll(async () => {
  beside = await simulated(...BLOCKS, '--at', '10', '--csv', csv);
});

/** Of the levels of both factors. */
const sharesOf = ({ levels }: Output) =>
  levels.shares.flatMap((one) => one.levels.map(({ share }) => Number(share.toFixed(4))));

describe('urn simulate', () => {
  it('shows the design, its figures beside those of others, and what they mean', async () => {
    const against = ['--against', 'complete', '--against', 'block:4@site', '--site-factor', 'site'];
    const { code, stdout, stderr } = await simulate(...against, '--at', '10,20');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const part of [
      /^study +Pain\narms +Verum, Placebo, in equal numbers\n/,
      /\n +this study +complete +block:4@site\n/,
      /\narms: range after 40, mean +\d\.\d\d \[\d\.\d\d, \d\.\d\d\] /,
      /\nafter 10: mean range of the arms, 95 % at most +\d/,
      /\nBeside complete\n {2}Better with this study's urns: the difference of the arms/,
      /\nBeside block:4@site\n {2}Better with this study's urns: right guesses/,
    ])
      expect(stdout).toMatch(part);
    expect(stdout).not.toMatch(/NaN|undefined|3402823/);
  });

  it('gives the same numbers as JSON and as CSV', async () => {
    expect(beside).toMatchObject({
      ...{ study: 'Pain', participants: 40, reps: 100, seed: 1, exact: false, at: [10, 40], warnings: [] },
      design: { treatments: ['Verum', 'Placebo'], ratio: [1, 1], w: 1, alpha: 0, beta: 1, D: 'range' },
    });
    expect(beside.designs.map(({ name }) => name)).toEqual(['study', 'block:4@site']);
    const own = beside.designs[0]?.figures ?? {};
    expect(own['overall.range.mean']).toEqual(own['overall.range@40.mean']);
    expect(own['overall.range.mean']).not.toEqual(own['overall.range@10.mean']);
    const [head, ...lines] = parseCsv(readFileSync(csv, 'utf8'));
    expect(head).toEqual(['design', 'figure', 'n', 'value', 'low', 'high']);
    const written = new Map(lines.map(([design, name, n, ...cells]) => [`${design} ${name}@${n}`, cells]));
    for (const [name, full] of [
      ['overall.range.mean@10', 'overall.range@10.mean'],
      ['overall.range.mean@40', 'overall.range@40.mean'],
      ['guess.known@40', 'guess.known'],
      // A level whose name has a comma.
      ['level.site.1, north.range.p95@40', 'level.site.1, north.range@40.p95'],
    ] as const) {
      const { value, low, high } = own[full] ?? {};
      expect(written.get(`study ${name}`)).toEqual([value, low, high].map(String));
    }
    expect(statSync(csv).mode & 0o777).toBe(0o600);
  });

  it('differs with another seed, and not with other threads', async () => {
    const run = (threads: string, ...args: string[]) =>
      simulated('--reps', '101', '--threads', threads, ...args);
    const alone = await run('1');
    expect(await run('2')).toEqual(alone);
    const other = await run('1', '--seed', '9223372036854775807');
    expect(other['seed']).toBe('9223372036854775807');
    expect(other.designs).not.toEqual(alone.designs);
  });

  it('has the paragraph for the protocol, with the line that repeats it', async () => {
    const { paragraph } = beside;
    for (const words of [
      'w = 1, alpha = 0, beta = 1, D = range',
      '100 simulated trials of 40 participants (seed 1)',
      'Under complete randomization the best guess is right in 50.00 %',
      'With block:4@site instead: mean range',
    ])
      expect(paragraph).toContain(words);
    expect(paragraph).not.toContain('340282');
    const [, line = ''] = /To reproduce these figures: urn (.*)$/.exec(paragraph) ?? [];
    expect(line).toBe(
      `simulate --studies ${inFolder('studies.yaml')} --study Pain --participants 40 --reps 100 --seed 1 --against block:4@site --site-factor site --at 10`,
    );
    expect(JSON.parse(await commandOk([...line.split(' '), '--json'])).paragraph).toBe(paragraph);
  });

  it('takes the study of a file that has only one, in the working folder, and computes exactly where that is possible', async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'studies.yaml'), STUDIES.slice(STUDIES.indexOf('Single')));
    const args = ['simulate', '--participants', '4', '--exact', '--against', 'complete'];
    const exact = JSON.parse(await commandOk([...args, '--json'], { cwd })) as Output;
    expect(exact).toMatchObject({ exact: true, reps: null });
    const value = expect.closeTo(Math.SQRT2, 12);
    expect(exact.designs[0]?.figures['difference.sd']).toEqual({ value, low: value, high: value });
    expect(await commandOk(args, { cwd })).toMatch(/^study +Single\n[\s\S]*computed exactly/);
    expect((await simulate('--exact')).stderr).toMatch(/--exact: .*one factor with one level/);
  });
});

describe('the participants of urn simulate', () => {
  it('have the shares of a file', async () => {
    const levels = file('sex: {F: 30, M: 10}\nsite: {"2": 10}\nopens:\n  sex:\n    M: 20\n');
    const output = await simulated('--levels', levels);
    expect(sharesOf(output)).toEqual([0.75, 0.25, 0, 1]);
    expect(output.levels['opens']).toEqual([{ factor: 'sex', level: 'M', from: 20 }]);
    expect(output.levels['source']).toBe(`the shares in ${levels}, independent of each other`);
    expect(output.designs[0]?.figures['level.site.1, north.range.mean']?.value).toBe(0);
  });

  it('are drawn from profiles, or only have their shares', async () => {
    // All women are at the second site.
    const profiles = file('weight,site,sex\n3,2,F\n1,"1, north",M\n');
    const together = await simulated('--profiles', profiles);
    expect(together.levels).toMatchObject({ rows: 2 });
    expect(sharesOf(together)).toEqual([0.75, 0.25, 0.25, 0.75]);
    const strata = ({ designs }: Output) => designs[0]?.figures['strata.range.mean']?.value ?? 0;
    const levels = ({ designs }: Output) => designs[0]?.figures['levels.range.mean']?.value ?? 0;
    expect(strata(together)).toBe(levels(together));
    const apart = await simulated('--profiles', profiles, '--independent');
    expect(sharesOf(apart)).toEqual(sharesOf(together));
    expect(apart.levels['rows']).toBeUndefined();
    expect(strata(apart)).not.toBe(levels(apart));
  });

  const SHARES = '--levels';
  const PROFILES = '--profiles';
  it.each([
    [SHARES, 'sit: {"2": 1}', ':1: the study has no factor "sit" (hint: did you mean site?)'],
    [SHARES, 'site: {"3": 1}', ':1: factor "site" has no level "3" (hint: choose one of 1, north, 2)'],
    [SHARES, 'sex:\n  F: -1', ':2: the share of "F" is not a number from 0 to 1e15'],
    [SHARES, 'sex: {F: 1e308, M: 1e308}', ':1: the share of "F" is not a number from 0 to 1e15'],
    [SHARES, 'sex:\n  F: "1"', ':2: the share of "F" is not a number'],
    [SHARES, '\nsex: {F: 0}', ':2: all shares of "sex" are 0'],
    [SHARES, 'opens: {sex: {F: 0}}', ':1: F is below 1'],
    [SHARES, 'sex: {F: 1}\nopens: {sex: {F: 2}}', ':2: no level of "sex" is open for the first participant'],
    [SHARES, 'sex: 3', ':1: sex is not a mapping'],
    [SHARES, '- sex', ':1: the file is not a mapping'],
    [SHARES, 'sex: {F: 1\n', ':'],
    [PROFILES, 'sex,weight\nF,1\n', 'line 1: the columns are'],
    [PROFILES, 'sex,site,weight,age\nF,2,1,3\n', 'line 1: the columns are'],
    [PROFILES, 'sex,site,weight\nF,2,1\nX,2,1\n', 'line 3: factor "sex" has no level "X", only "F" and "M"'],
    [PROFILES, 'sex,site,weight\nF,2,\n', 'line 2: the weight "" is not a number'],
    [PROFILES, 'sex,site,weight\nF,2\n', 'line 2: 2 fields instead of 3'],
    [PROFILES, 'sex,site,weight\nF,2,0\n', 'all weights are 0'],
    [PROFILES, 'sex,site,weight\n', 'no profiles'],
    // However long a line is, it takes few words.
    [PROFILES, 'a'.repeat(100_000), 'line 1: the columns are "aaa'],
  ])('are refused with the line of the file: %s, %#', async (option, text, why) => {
    const path = file(text);
    const stderr = await refusal(simulate(option, path));
    expect(stderr.replaceAll(path, '')).toContain(why);
    expect(stderr.length).toBeLessThan(2000);
  });

  it('are drawn from a study in the log: as randomized, without those who were voided', async () => {
    const data = await registerIn(newFolder(), STUDIES);
    const [north, south] = ['1, north', '2'];
    const people = { 1: ['F', south], 2: ['M', south], 3: ['M', north], 4: ['M', north], 5: ['M', north] };
    await enrol(data, 'Pain', people);
    const { ok } = commandsOn(data, '--study', 'Pain');
    await ok`participants void --id 5 --cause ineligible --analysis keep --note old`;
    await ok`participants correct --id 1 --cause entry --level sex=M --note typo`;
    const like = await simulated('--like', 'Pain', '--data', data);
    expect(like.levels).toMatchObject({
      rows: 4,
      source: 'drawing with replacement from the 4 participants of Pain',
    });
    expect(sharesOf(like)).toEqual([0.25, 0.75, 0.5, 0.5]);
    expect(like.paragraph).toContain(`--seed 1 --like Pain --data ${data}`);
    const unlike = await refusal(simulate('--like', 'Single', '--data', data));
    expect(unlike).toContain('no factor "sex", only "one"');
    const nobody = command([...SINGLE, '--participants', '5', '--like', 'Single', '--data', data]);
    expect(await refusal(nobody)).toContain('no participants yet');
  });
});

describe('a requirement of urn simulate', () => {
  it('is met, or gives exit code 1', async () => {
    const met = await simulate('--require', 'overall.range.p95 <= 40', '--require', 'guess.blind >= 0.5');
    expect(met.code).toBe(0);
    expect(met.stdout).toContain('\nmet: overall.range.p95 <= 40; it is ');
    const { value = 0 } = beside.designs[0]?.figures['drift'] ?? {};
    const failed = await simulate('--json', '--require', 'share < 1', '--require', `drift > ${value}`);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/met: share < 1.*\nNOT MET: drift > .*within the Monte Carlo error/s);
    const { requirements } = JSON.parse(failed.stdout);
    expect(requirements).toMatchObject([{ met: true }, { met: false, withinError: true }]);
  });

  it('may name every figure of the output, and no other, which is checked before anything is simulated', async () => {
    const names = Object.keys(beside.designs[0]?.figures ?? {});
    const all = names.flatMap((name) => ['--require', `${name} >= -1`]);
    expect((await simulate('--site-factor', 'site', '--at', '10', ...all)).code).toBe(0);
    const stderr = await refusal(simulate('--reps', '100000000', '--require', 'guess.site < 1'));
    expect(stderr).toContain('there is no figure "guess.site" of this design');
    expect(stderr).toContain('\n  level.<factor>.<level>.range.mean .p05 ');
  });
});

describe('urn simulate refuses', () => {
  it.each([
    [['--study', 'Pian'], 'no study "Pian", only "Pain" and "Single" (hint: did you mean Pain?)'],
    [['--study', 'Single'], 'no target_enrollment (hint: say how many participants'],
    [['--participants', '0'], '--participants "0" is not a whole number from 1'],
    [['--seed', '0'], '--seed "0" is not a whole number from 1'],
    [['--seed', '9223372036854775808'], '2^63 - 1'],
    [['--threads', 'two'], '--threads "two"'],
    [['--at', '10,41'], '--at "41" is not a whole number from 1 to 40'],
    [['--site-factor', 'sites'], 'no factor "sites", only "sex" and "site" (hint: did you mean site?)'],
    [['--against', 'blok:4'], '--against "blok:4": there is no comparator "blok"'],
    [['--against', 'complete', '--against', 'complete'], '"complete" is given twice'],
    [['--independent'], '--independent is for --profiles and --like'],
    [['--levels', 'a', '--profiles', 'b'], '--levels and --profiles: give only one of them'],
    [['--levels', 'nowhere.yaml'], 'cannot read nowhere.yaml'],
    [['--profiles', 'nowhere.csv'], 'cannot read nowhere.csv'],
    [['--require', 'drift = 1'], 'NAME OP NUMBER'],
    [['--studies', 'nowhere.yaml'], 'there is no studies file nowhere.yaml'],
    [['--csv', join('nowhere', 'a.csv')], 'there is no folder'],
    [['--csv', inFolder('a'), '--html', inFolder('a')], 'a would be written twice'],
    [['--html', ''], 'the name of a file is empty'],
    [['--csv', inFolder('studies.yaml')], 'already exists'],
  ])('%j, before it begins', async (args, why) => {
    expect(await refusal(simulate('--reps', '100000000', ...args))).toContain(why);
    expect(readFileSync(inFolder('studies.yaml'), 'utf8')).toBe(STUDIES);
    expect(existsSync(inFolder('a'))).toBe(false);
  });

  it('to choose between several studies', async () => {
    expect((await command(['simulate', '--studies', inFolder('studies.yaml')])).stderr).toContain(
      'choose one with --study: "Pain" and "Single"',
    );
  });
});

/** When it is given: test/unit/assessment/assessment.test.ts. */
it('a warning of urn simulate is printed', async () => {
  const factors = Array.from({ length: 13 }, (_, i) => `f${i}: [a, b, c]`).join(', ');
  const path = file(`Rounded: {mode: test, treatments: [A, B, C], D: variance, factors: {${factors}}}`);
  const args = ['simulate', '--studies', path, '--participants', '3', '--reps', '1500', '--threads', '1'];
  expect((await command(args)).stderr).toMatch(/^warning: at some step the chance of an arm/m);
});
