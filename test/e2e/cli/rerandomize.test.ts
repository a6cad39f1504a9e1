/** urn rerandomize on a log: files, errors, interim looks, and what is recorded. The numbers: test/integration/rerandomize.test.ts. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { commandsOn, enrol, typed } from '../../support/cli-log.ts';
import { command, commandOk, refusal } from '../../support/command.ts';
import { registerIn } from '../../support/importing.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';

const STUDIES = `
Golden:
  starting_seed: 1267650600228229401496703205375
  mode: test
  D: chisquare
  treatments: [A, B]
  factors: {all: [x]}
Ward:
  mode: live
  blinding: blinded
  treatments: [Left, Right]
  factors: {ward: [a, b]}
Three:
  mode: test
  treatments: [A, B, "C, high"]
  factors: {sex: [F, M]}
`;
/** Of the golden example G1. */
const OUTCOMES = [3, 5, 1, 8, 2, 9, 4, 7, 6, 10];

const newFolder = temporaryFolders();
const file = temporaryFiles('y.csv');
const data = newFolder();

/** So many people, whose ids begin with this letter, with these levels in turn. */
const enrolled = (study: string, letter: string, count: number, ...levels: string[]) => {
  const people = Array.from({ length: count }, (_, i) => [`${letter}${i + 1}`, [levels[i % levels.length]]]);
  return enrol(data, study, Object.fromEntries(people));
};

beforeAll(async () => {
  await registerIn(data, STUDIES);
  await enrolled('Golden', 'p', OUTCOMES.length, 'x');
  await enrolled('Ward', 'w', 12, 'a', 'b');
  await enrolled('Three', 't', 12, 'F', 'F', 'M');
  const { ok } = commandsOn(data, '--study', 'Ward');
  await ok`participants rename --id w2 --to w02 --cause entry`;
  await ok`participants void --id w12 --cause never-enrolled --analysis exclude --note withdrew`;
});

const sha256Of = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
const golden = () => file(['id,change', ...OUTCOMES.map((y, i) => `p${i + 1},${y}`), ''].join('\n'));
const rerandomize = (study: string, outcomes: string, ...args: string[]) =>
  command(['rerandomize', '--data', data, '--study', study, '--outcomes', outcomes, ...args]);
const OF_MEANS = ['--outcome', 'change', '--statistic', 'mean'];
const disclosed = () => storedLog(data).findLast(({ record }) => record.type === 'EvidenceDisclosed')?.record;

describe('the golden example G1', () => {
  it('is the same as in the specification, in words', async () => {
    const outcomes = golden();
    const { code, stdout, stderr } = await rerandomize('Golden', outcomes, ...OF_MEANS, '--seed', '0');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const line of [
      /^study +Golden \(a test\), revision 10$/m,
      /^root there +[A-Za-z0-9+/]{43}=$/m,
      new RegExp(`^outcomes +SHA-256 ${sha256Of(outcomes)}$`, 'm'),
      /^ +10 analysed of 10 participants$/m,
      /^arms +A: 6, B: 4$/m,
      /^statistic +mean: difference of means \(A − B\), two-sided$/m,
      /^T +-?2\.5$/m,
      /^replicates +R = 9999$/m,
      /^as extreme +b = 2327/m,
      /^p +0\.2328$/m,
      /^95 % interval +0\.2244.* to 0\.2411/m,
      /^seed +0, replicate r from PCG64\(2\^100 \+ 2\^32·0 \+ r\)$/m,
      /^version /m,
      /0 with corrected levels, 0 voided/,
    ])
      expect(stdout).toMatch(line);
    const exact = await rerandomize('Golden', outcomes, ...OF_MEANS, '--exact', '--json');
    expect(JSON.parse(exact.stdout).p).toBeCloseTo(0.232913, 6);
  });

  it('draws the same replicates again without --seed, from a bundle, too; a half-width needs new ones', async () => {
    const args = [...OF_MEANS, '--reps', '100', '--json'];
    const first = JSON.parse((await rerandomize('Golden', golden(), ...args)).stdout);
    const seed = Number.parseInt(createHash('sha256').update(first.studyId).digest('hex').slice(0, 8), 16);
    expect(first).toMatchObject({ seed, reps: 100, revision: 10, recorded: true });
    const zip = join(newFolder(), 'golden.zip');
    await commandOk(['bundle', '--data', data, '--study', 'Golden', '--content', 'open', '--out', zip]);
    const bundled = await commandOk(['rerandomize', '--bundle', zip, '--outcomes', golden(), ...args]);
    const { bundle, recorded, ...same } = JSON.parse(bundled);
    expect({ bundle, recorded }).toEqual({ bundle: { file: zip, content: 'open' }, recorded: false });
    expect({ ...same, recorded: true }).toEqual(first);
    const { stdout } = await rerandomize('Golden', golden(), ...OF_MEANS, '--half-width', '0.008', '--json');
    const { from, reps, interval } = JSON.parse(stdout);
    expect([from, reps > 10_000]).toEqual([9999, true]);
    expect((interval.high - interval.low) / 2).toBeCloseTo(0.008, 3);
  });

  it('is refused with a seed whose replicates draw as the study did', async () => {
    const seed = String(2n ** 100n + 2n ** 32n * 5n + 7n);
    const other = await registerIn(newFolder(), STUDIES.replace(/(?<=starting_seed: )\d+/, seed));
    const { run } = commandsOn(other, '--study', 'Golden', '--outcomes', golden(), ...OF_MEANS);
    expect((await run`rerandomize --seed 5`).stderr).toContain("the study's own seed");
    // The first seven replicates do not.
    expect((await run`rerandomize --seed 5 --reps 7`).stderr).not.toContain('own seed');
  });
});

describe('what is recorded', () => {
  it('is the test, the digest of its outcomes and the revision, and no result', async () => {
    const outcomes = golden();
    const { stdout } = await rerandomize('Golden', outcomes, ...OF_MEANS, '--reps', '777', '--json');
    const { T, b, p } = JSON.parse(stdout);
    expect(disclosed()).toMatchObject({ actor: { cli: true }, seals: {} });
    const sha256 = sha256Of(outcomes);
    expect(disclosed().data).toEqual({
      ...{ what: 'rerandomization', study: 'Golden', toRevision: 10, sha256 },
      ...{ count: 1, firstAt: expect.any(String), lastAt: expect.any(String) },
    });
    const text = JSON.stringify(storedLog(data).filter(({ record }) => record.stream === 'operations'));
    for (const found of [`${T}`, `${b}`, `${p}`]) expect(text).not.toMatch(new RegExp(`[":,]${found}[",}]`));
  });

  it('is a test without a result, too, because which arm is empty shows who is not in it', async () => {
    const outcomes = file('id,change\np1,1\n');
    const said = await refusal(rerandomize('Golden', outcomes, ...OF_MEANS));
    expect(said).toMatch(/nobody on arm ".*" has an outcome/);
    expect(disclosed().data).toMatchObject({ what: 'rerandomization', sha256: sha256Of(outcomes) });
  });
});

it('a live study that is not closed is tested only with a reason, which is recorded in the clear', async () => {
  const logrank = typed`--statistic logrank --time time --event dead --reps 100`;
  const before = storedLog(data).length;
  // The file is not read.
  expect(await refusal(rerandomize('Ward', '/nowhere.csv', ...logrank))).toContain('is an interim analysis');
  expect(storedLog(data).length).toBe(before);
  // The id that the participant has now, one who has no outcome, and one who is voided.
  const outcomes = file('id,time,dead\nw1,1,1\nw02,2,0\nw3,3,1\nw4,4,1\nw5,,\nw6,2,1\nw7,9,0\nw12,5,1\n');
  const { stdout } = await rerandomize('Ward', outcomes, ...logrank, '--interim', 'asked by the DMC');
  expect(stdout).toMatch(
    /6 analysed of 12 participants; 5 without an outcome; 1 voided and not to be analysed/,
  );
  expect(stdout).toMatch(/^interim look +asked by the DMC$/m);
  expect(await commandOk(['operations', '--data', data])).toContain(
    'as an interim look (asked by the DMC) of Ward',
  );
  await commandOk(['verify', '--data', data]);
});

it('two of three arms are named, with a comma in quotes', async () => {
  const rows = Array.from({ length: 12 }, (_, i) => `t${i + 1},${i % 5}`);
  const outcomes = file(['id,y', ...rows].join('\n'));
  const asked = typed`--outcome y --statistic mean --arms '"C, high",A' --reps 100 --adjust sex`;
  const { code, stdout, stderr } = await rerandomize('Three', outcomes, ...asked);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/mean: difference of means \(A − C, high\), of residuals on sex, two-sided/);
  expect(stdout).toMatch(/\d effective replicates/);
  expect(stdout).toContain('Participants on B keep their arm');
});

describe('what is refused', () => {
  it('a file, with the lines', async () => {
    const bad = file('id,change\np1,3\np2,three\np1,4\nnobody,5\n,6\np3,1,2\np4,1e999\n');
    const stderr = await refusal(rerandomize('Golden', bad, ...OF_MEANS));
    for (const line of [
      'line 3: "change" is "three", which is not a number',
      'line 4: participant "p1" is also in line 2',
      'line 5: the study has no participant "nobody"',
      'line 6: it has no id',
      'line 7: 3 fields instead of 2',
      'line 8: "change" is "1e999" (expected: no more than 1e100',
    ])
      expect(stderr).toContain(line);
  });

  it.each<[string, string[], string]>([
    ['Golden', typed`--outcome weight --statistic mean`, 'the file has no column "weight"'],
    ['Golden', typed`--outcome change --statistic proportion`, 'line 2: "change" is "3" (expected: 0 or 1)'],
    ['Golden', typed`--statistic mean`, 'mean needs --outcome'],
    ['Golden', typed`--statistic logrank --time change`, 'logrank needs --time and --event'],
    ['Golden', typed`--outcome change --statistic F --alternative less`, 'F has no direction'],
    ['Golden', typed`--outcome change --statistic proportion --adjust all`, '--adjust is for'],
    ['Golden', typed`${OF_MEANS} --adjust age`, 'the study has no factor "age" (it has: "all")'],
    ['Golden', typed`${OF_MEANS} --arms A,D`, 'the study has no arm "D" (it has: "A", "B")'],
    ['Golden', typed`${OF_MEANS} --arms A`, '--arms takes two arms'],
    ['Golden', typed`${OF_MEANS} --reps 0`, '--reps "0" is not a whole number from 1 to 10000000'],
    ['Golden', typed`${OF_MEANS} --seed 4294967296`, '--seed "4294967296" is not'],
    ['Golden', typed`${OF_MEANS} --half-width 2`, '--half-width "2" is not'],
    ['Golden', typed`${OF_MEANS} --reps 9 --exact`, 'cannot be combined'],
    ['Three', OF_MEANS, 'the study has 3 arms, and mean compares two'],
    ['Nothing', OF_MEANS, 'no study "Nothing" is registered'],
  ])('%s %j', async (study, args, message) => {
    expect(await refusal(rerandomize(study, golden(), ...args))).toContain(message);
  });
});
