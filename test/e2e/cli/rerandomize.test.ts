/** urn rerandomize on the log of a running service: files, errors, interim looks, and what is recorded. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys, urn } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDIES = `
Golden:
  starting_seed: 1267650600228229401496703205375
  mode: test
  D: chisquare
  w: 1
  alpha: 0
  beta: 1
  treatments: [A, B]
  factors:
    all: [x]

Ward:
  mode: live
  blinding: blinded
  treatments: [Left, Right]
  factors:
    ward: [a, b]

Three:
  mode: test
  treatments: [A, B, "C, high"]
  factors:
    sex: [F, M]
`;
/** Of the golden example G1. */
const OUTCOMES = [3, 5, 1, 8, 2, 9, 4, 7, 6, 10];

const newFolder = temporaryFolders();
const data = newFolder();
let service: ServiceHere;

beforeAll(async () => {
  const keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize'],
    manager: ['manager', '--scope', 'correct'],
  });
  service = await serveHere(data, STUDIES);
  const { randomize } = clientOf(service.url, keys.edc);
  for (const i of OUTCOMES.keys()) await randomize('Golden', `p${i + 1}`, { all: 'x' });
  for (let i = 1; i <= 12; i++) {
    await randomize('Ward', `w${i}`, { ward: i % 2 ? 'a' : 'b' });
    await randomize('Three', `t${i}`, { sex: i % 3 ? 'F' : 'M' });
  }
  const corrections: readonly (readonly [string, object])[] = [
    ['/id_corrections', { study: 'Ward', id: 'w2', to: 'w02', cause: 'entry' }],
    ['/voids', { study: 'Ward', id: 'w12', cause: 'never-enrolled', analysis: 'exclude', note: 'withdrew' }],
  ];
  for (const [path, body] of corrections) {
    const { status, text } = await postJson(service.url, path, keys.manager, body);
    expect(status, text).toBe(200);
  }
});
afterAll(() => service.stop());

function file(text: string): string {
  const path = join(newFolder(), 'y.csv');
  writeFileSync(path, text);
  return path;
}
const golden = () => file(['id,change', ...OUTCOMES.map((y, i) => `p${i + 1},${y}`), ''].join('\n'));
const argsFor = (study: string, outcomes: string, ...args: string[]) => [
  ...['rerandomize', '--data', data, '--study', study, '--outcomes', outcomes],
  ...args,
];
const rerandomize = (...of: Parameters<typeof argsFor>) => command(argsFor(...of));
const OF_MEANS = ['--outcome', 'change', '--statistic', 'mean'];

describe('the golden example G1, while the service runs', () => {
  it('is the same as in the specification, in words', async () => {
    const outcomes = golden();
    const { code, stdout, stderr } = await urn(argsFor('Golden', outcomes, ...OF_MEANS, '--seed', '0'));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const sha256 = createHash('sha256').update(readFileSync(outcomes)).digest('hex');
    for (const line of [
      /^study +Golden \(a test\), revision 10$/m,
      /^root there +[A-Za-z0-9+/]{43}=$/m,
      new RegExp(`^outcomes +SHA-256 ${sha256}$`, 'm'),
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
  });

  it('draws the same replicates again without --seed, and has the root of the checkpoint', async () => {
    const args = [...OF_MEANS, '--reps', '500', '--json'];
    const [one, two] = [
      await rerandomize('Golden', golden(), ...args),
      await rerandomize('Golden', golden(), ...args),
    ];
    const [first, second] = [JSON.parse(one.stdout), JSON.parse(two.stdout)];
    expect(second).toEqual(first);
    const seed = Number.parseInt(createHash('sha256').update(first.studyId).digest('hex').slice(0, 8), 16);
    expect(first).toMatchObject({ seed, reps: 500, revision: 10, recorded: true });
    const zip = join(newFolder(), 'golden.zip');
    await commandOk(['bundle', '--data', data, '--study', 'Golden', '--content', 'open', '--out', zip]);
    const bundled = await commandOk([...['rerandomize', '--bundle', zip, '--outcomes', golden(), ...args]]);
    const { bundle, recorded, ...same } = JSON.parse(bundled);
    expect({ bundle, recorded }).toEqual({ bundle: { file: zip, content: 'open' }, recorded: false });
    expect({ ...same, recorded: true }).toEqual(first);
  });

  it('draws new replicates to reach a half-width', async () => {
    const { stdout } = await rerandomize('Golden', golden(), ...OF_MEANS, '--half-width', '0.006', '--json');
    const { from, reps, interval } = JSON.parse(stdout);
    expect(from).toBe(9999);
    expect(reps).toBeGreaterThan(15_000);
    expect((interval.high - interval.low) / 2).toBeCloseTo(0.006, 3);
  });

  it('is computed exactly', async () => {
    const { stdout } = await rerandomize('Golden', golden(), ...OF_MEANS, '--exact', '--json');
    expect(JSON.parse(stdout).p).toBeCloseTo(0.232913, 6);
  });

  it('is refused with a seed whose replicates draw as the study did', async () => {
    const text = STUDIES.replace('1267650600228229401496703205375', String(2n ** 100n + 2n ** 32n * 5n + 7n));
    const other = newFolder();
    const own = await serveHere(other, text);
    await own.stop();
    const args = ['rerandomize', '--data', other, '--study', 'Golden', '--outcomes', golden(), ...OF_MEANS];
    expect(await command([...args, '--seed', '5'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("the study's own seed"),
    });
    // The first seven replicates do not.
    expect((await command([...args, '--seed', '5', '--reps', '7'])).stderr).not.toContain('own seed');
  });
});

describe('what is recorded', () => {
  it('is the test, the digest of its outcomes and the revision, and no result', async () => {
    const outcomes = golden();
    const { stdout } = await rerandomize('Golden', outcomes, ...OF_MEANS, '--reps', '777', '--json');
    const { T, b, p } = JSON.parse(stdout);
    const last = storedLog(data)
      .filter(({ record }) => record.type === 'EvidenceDisclosed')
      .at(-1);
    const sha256 = createHash('sha256').update(readFileSync(outcomes)).digest('hex');
    expect(last?.record).toMatchObject({ version: 2, actor: { cli: true }, seals: {} });
    expect(last?.record.data).toEqual({
      ...{ what: 'rerandomization', study: 'Golden', toRevision: 10, sha256 },
      ...{ count: 1, firstAt: expect.any(String), lastAt: expect.any(String) },
    });
    const operations = storedLog(data).filter(({ record }) => record.stream === 'operations');
    const text = JSON.stringify(operations);
    for (const found of [`${T}`, `${b}`, `${p}`]) expect(text).not.toMatch(new RegExp(`[":,]${found}[",}]`));
    expect(await commandOk(['operations', '--data', data])).toContain(
      `was shown a re-randomization test up to revision 10 (outcomes with SHA-256 ${sha256}) of Golden`,
    );
    await commandOk(['verify', '--data', data]);
  });
});

describe('a test that has no result', () => {
  it('is recorded if it has looked at arms, because which arm is empty shows who is not in it', async () => {
    const outcomes = file('id,change\np1,1\n');
    const { code, stdout, stderr } = await rerandomize('Golden', outcomes, ...OF_MEANS);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/nobody on arm ".*" has an outcome/);
    const sha256 = createHash('sha256').update(readFileSync(outcomes)).digest('hex');
    expect(storedLog(data).at(-1)?.record.data).toMatchObject({ what: 'rerandomization', sha256 });
  });
});

describe('a live study that is not closed', () => {
  // The id that the participant has now, one who has no outcome, and one who is voided.
  const outcomes = () =>
    file('id,time,dead\nw1,1,1\nw02,2,0\nw3,3,1\nw4,4,1\nw5,,\nw6,2,1\nw7,9,0\nw12,5,1\n');
  const LOGRANK = ['--statistic', 'logrank', '--time', 'time', '--event', 'dead', '--reps', '200'];

  it('is refused without a reason, before the file is read', async () => {
    const before = storedLog(data).length;
    const { code, stdout, stderr } = await rerandomize('Ward', '/nowhere.csv', ...LOGRANK);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('is an interim analysis');
    expect(storedLog(data).length).toBe(before);
  });

  it('is tested if a reason is given, which is recorded in the clear', async () => {
    const { code, stdout } = await rerandomize(
      ...(['Ward', outcomes(), ...LOGRANK, '--interim', 'asked by the DMC'] as const),
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /6 analysed of 12 participants; 5 without an outcome; 1 voided and not to be analysed/,
    );
    expect(stdout).toContain('1 voided');
    expect(stdout).toMatch(/^interim look +asked by the DMC$/m);
    expect(await commandOk(['operations', '--data', data])).toContain(
      'as an interim look (asked by the DMC) of Ward',
    );
    await commandOk(['verify', '--data', data]);
  });
});

describe('two of three arms', () => {
  const outcomes = () =>
    file(['id,y', ...Array.from({ length: 12 }, (_, i) => `t${i + 1},${i % 5}`)].join('\n'));

  it('are named, with a comma in quotes', async () => {
    const { code, stdout, stderr } = await rerandomize(
      ...(['Three', outcomes(), '--outcome', 'y', '--statistic', 'mean', '--arms', '"C, high",A'] as const),
      ...['--reps', '300', '--adjust', 'sex'],
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/mean: difference of means \(A − C, high\), of residuals on sex, two-sided/);
    expect(stdout).toMatch(/\d effective replicates/);
    expect(stdout).toContain('Participants on B keep their arm');
  });
});

describe('what is refused', () => {
  it('a file, with the lines', async () => {
    const bad = file('id,change\np1,3\np2,three\np1,4\nnobody,5\n,6\np3,1,2\np4,1e999\n');
    const { code, stdout, stderr } = await rerandomize('Golden', bad, ...OF_MEANS);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
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
    ['Golden', ['--outcome', 'weight', '--statistic', 'mean'], 'the file has no column "weight"'],
    [
      'Golden',
      ['--outcome', 'change', '--statistic', 'proportion'],
      'line 2: "change" is "3" (expected: 0 or 1)',
    ],
    ['Golden', ['--statistic', 'mean'], 'mean needs --outcome'],
    ['Golden', ['--statistic', 'logrank', '--time', 'change'], 'logrank needs --time and --event'],
    ['Golden', ['--outcome', 'change', '--statistic', 'F', '--alternative', 'less'], 'F has no direction'],
    ['Golden', ['--outcome', 'change', '--statistic', 'proportion', '--adjust', 'all'], '--adjust is for'],
    ['Golden', [...OF_MEANS, '--adjust', 'age'], 'the study has no factor "age" (it has: "all")'],
    ['Golden', [...OF_MEANS, '--arms', 'A,D'], 'the study has no arm "D" (it has: "A", "B")'],
    ['Golden', [...OF_MEANS, '--arms', 'A'], '--arms takes two arms'],
    ['Golden', [...OF_MEANS, '--reps', '0'], '--reps "0" is not a whole number from 1 to 10000000'],
    ['Golden', [...OF_MEANS, '--seed', '4294967296'], '--seed "4294967296" is not'],
    ['Golden', [...OF_MEANS, '--half-width', '2'], '--half-width "2" is not'],
    ['Golden', [...OF_MEANS, '--reps', '9', '--exact'], 'cannot be combined'],
    ['Three', [...OF_MEANS], 'the study has 3 arms, and mean compares two'],
    ['Nothing', [...OF_MEANS], 'no study "Nothing" is registered'],
  ])('%s %j', async (study, args, message) => {
    const { code, stdout, stderr } = await rerandomize(study, golden(), ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});
