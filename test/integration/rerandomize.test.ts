/** urn rerandomize on bundles: a second program in numpy, and studies with every kind of life. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { studyInBundle } from '../../src/cli/rerandomize.ts';
import { Pcg64 } from '../../src/core/random/pcg64.ts';
import { MonteCarlo, runReplicates } from '../../src/statistics/rerandomize/monte-carlo.ts';
import { command, refusal } from '../support/command.ts';
import { bundleFiles } from '../support/files-in.ts';
import { inCi } from '../support/in-ci.ts';
import { enrols, lifeOf } from '../support/life.ts';
import { IMPORTED } from '../support/lives/methods.ts';
import { AMENDED, ARMS, CORRECTED, FORCED } from '../support/lives/urns.ts';
import { findPython } from '../support/numpy.ts';
import { configuration, drawn, G2, planOf } from '../support/rerandomized.ts';
import { temporaryFiles, temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const outcomesFile = temporaryFiles('y.csv');
const SECOND_PROGRAM = fileURLToPath(new URL('../support/numpy-rerandomize.py', import.meta.url));
const python = findPython();

const asked = (bundle: string, outcomes: string, ...args: string[]) =>
  command(['rerandomize', '--bundle', bundle, '--outcomes', outcomes, '--outcome', 'y', ...args]);

async function tested(...of: Parameters<typeof asked>) {
  const { code, stdout, stderr } = await asked(...of, '--json');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

const REPS = 200;
const MEASURES = ['chisquare', 'range', 'variance'] as const;
const factors = [
  { name: 'sex', levels: ['0', '1'] },
  { name: 'site', levels: ['0', '1', '2'] },
];

/** A study of three arms, whose outcome is missing now and then. @returns its bundle, and a file of the outcomes */
async function studyWith(seed: number): Promise<[bundle: string, outcomes: string]> {
  const generator = Pcg64.fromSeed(BigInt(seed));
  const below = (n: number) => Math.floor((generator.nextUniform53() / 2 ** 53) * n);
  const study = configuration({ treatments: ['A', 'B', 'C'], factors, D: MEASURES[seed % 3] ?? 'range' });
  const people = Array.from({ length: 24 }, () => [`${below(2)}`, `${below(3)}`]);
  const rows = people.map((_, i) => `p${i + 1},${below(6) === 0 ? '' : below(12)}`);
  const { files } = await lifeOf({
    ...{ configuration: study, seed: 2n ** 110n + BigInt(seed) },
    keys: { nurse: { scopes: ['randomize'] } },
    steps: Object.fromEntries(people.map((levels, i) => [`p${i + 1}`, enrols(levels)])),
  }).make(newFolder(), ['full']);
  return [files.full, outcomesFile(['id,y', ...rows, ''].join('\n'))];
}

it.skipIf(python === undefined && !inCi).each([
  ['F', 1, 'all'],
  ['kruskal', 2, 'all'],
  ['mean', 3, 'B,C'],
  ['ranksum', 5, 'B,C'],
])('with numpy it is the same: %s with the seed %d, of the arms %s', async (statistic, seed, arms) => {
  const [bundle, outcomes] = await studyWith(seed);
  const isWeighted = arms !== 'all';
  const given = [bundle, outcomes, statistic, `${seed}`, `${REPS}`, ...(isWeighted ? [arms] : [])];
  const { stdout, stderr } = spawnSync(python ?? '', [SECOND_PROGRAM, ...given], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { b, T, p } = JSON.parse(stdout);
  const args = ['--statistic', statistic, '--seed', `${seed}`, '--reps', `${REPS}`];
  if (isWeighted) args.push('--arms', arms.split(',').toReversed().join());
  const found = await tested(bundle, outcomes, ...args);
  expect(found).toMatchObject({ b, reps: REPS });
  if (isWeighted) {
    expect(found.p).toBeCloseTo(p, 9);
    expect(found.effective).toBeGreaterThan(1);
  } else expect(found.T).toBeCloseTo(T, 9);
});

it.each([
  ['corrected', CORRECTED.make],
  ['with allocations by hand', FORCED.make],
  ['amended', AMENDED.make],
  ['with other arms and a ratio', ARMS.make],
  ['imported', IMPORTED.make],
])('a study with decisions by people: %s', async (_, make) => {
  const { files, stream } = await make(newFolder());
  const { study } = await studyInBundle(files.full);
  const records = (await bundleFiles(files.full)).rows(stream).map(({ record }) => JSON.parse(`${record}`));
  const ids = records.map(({ data }) => data.participantId).filter((id) => id !== undefined);
  // One id of each participant; none of those who are in the study no more.
  const people = new Map(ids.map((id) => [study.find(id)?.person, id]));
  people.delete(undefined);
  const rows = [...people.values()].map((id, i) => `"${id}",${(i * 7) % 11}`);
  const outcomes = outcomesFile(['id,y', ...rows].join('\n'));
  const [first, second] = study.design.treatments.filter((_arm, i) => study.arms.includes(i));
  const args = ['--statistic', 'mean', '--reps', '100', '--interim', 'asked by the DMC'];
  args.push('--arms', `${first},${second}`);
  const { bundle: _full, ...found } = await tested(files.full, outcomes, ...args);
  expect(found).toMatchObject({ reps: 100, p: expect.any(Number) });
  expect(await refusal(asked(files.blinded, outcomes, ...args))).toContain('blinded bundle');
  if (study.hadRatio) {
    expect(await refusal(asked(files.open, outcomes, ...args))).toContain('--content full');
    return;
  }
  // The result does not depend on what only a full bundle contains.
  const { bundle: _open, ...open } = await tested(files.open, outcomes, ...args);
  expect(open).toEqual(found);
});

it('the number of threads changes no bit of the sums', async () => {
  const { factors } = G2.study;
  const study = configuration({ treatments: ['A', 'B', 'C'], factors });
  const arms = G2.levels.map((_, i) => i % 3);
  const steps = drawn(study, G2.levels, arms);
  const analysed = Int32Array.from([...arms.keys()].filter((person) => arms[person] !== 2));
  const plan = planOf(steps, arms, [...analysed.keys()], { analysed, hasOthers: true });
  const run = (threads: number) => runReplicates({ plan, seed: 1, first: 50, last: 1275 }, { threads });
  const [one, two, three] = [await run(1), await run(2), await run(3)];
  expect(one.weights).not.toBe(1225);
  expect([two, three]).toEqual([one, one]);
  expect(one.extreme).toBe(new MonteCarlo(plan, 1).block(50, 1275).extreme);
});
