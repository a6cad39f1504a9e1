/** urn rerandomize on bundles: a second program in numpy, and studies with every kind of life. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../events/study.ts';
import { studyInBundle } from '../../src/cli/rerandomize-source.ts';
import { Pcg64 } from '../../src/core/random/pcg64.ts';
import { BundleFiles } from '../../src/evidence/bundle/bundle-files.ts';
import { BundleSource } from '../../src/evidence/verify/bundle-source.ts';
import { MonteCarlo } from '../../src/statistics/rerandomize/monte-carlo.ts';
import { runReplicates } from '../../src/statistics/rerandomize/replicates.ts';
import { bundledStudy } from '../support/bundled-study.ts';
import { command } from '../support/command.ts';
import { inCi } from '../support/in-ci.ts';
import { AMENDED } from '../support/lives/amended.ts';
import { ARMS } from '../support/lives/arms.ts';
import { CORRECTED } from '../support/lives/corrected.ts';
import { FORCED } from '../support/lives/forced.ts';
import { IMPORTED } from '../support/lives/imported.ts';
import { findPython } from '../support/numpy.ts';
import { configuration, drawn, G2, planOf } from '../support/rerandomized.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const SECOND_PROGRAM = fileURLToPath(new URL('../support/numpy-rerandomize.py', import.meta.url));
const python = findPython();

interface Made {
  readonly bundle: string;
  readonly open: string;
  readonly outcomes: string;
}

/** A study whose participants 1, 2, … were drawn by the service, and their outcomes. */
async function studyOf(
  study: StudyConfiguration,
  levels: readonly (readonly string[])[],
  seed: bigint,
  values: readonly (number | '')[],
): Promise<Made> {
  const folder = newFolder();
  const { files } = await bundledStudy(folder, { configuration: study, seed }, async ({ issue, submit }) => {
    const nurse = await issue('nurse', ['randomize']);
    for (const [i, names] of levels.entries())
      await submit(nurse, {
        ...{ type: 'randomize', participantId: `p${i + 1}`, levels: names, user: 'nurse' },
      });
    return { nurse };
  });
  return { bundle: files.full, open: files.open, outcomes: outcomesFile(folder, values) };
}

function outcomesFile(folder: string, values: readonly (number | '')[]): string {
  const file = join(folder, 'y.csv');
  writeFileSync(file, ['id,y', ...values.map((value, i) => `p${i + 1},${value}`), ''].join('\n'));
  return file;
}

async function tested(bundle: string, outcomes: string, ...args: string[]) {
  const { code, stdout, stderr } = await command([
    ...['rerandomize', '--bundle', bundle, '--outcomes', outcomes, '--outcome', 'y', '--json', ...args],
  ]);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

function byNumpy({ bundle, outcomes }: Made, statistic: string, seed: number, reps: number, arms?: string) {
  const args = [SECOND_PROGRAM, bundle, outcomes, statistic, `${seed}`, `${reps}`, ...(arms ? [arms] : [])];
  const { stdout, stderr } = spawnSync(python ?? '', args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

describe.skipIf(python === undefined && !inCi)('the same with numpy', () => {
  const REPS = 400;
  /** Two factors, three arms, and an outcome that is missing now and then. */
  const three = (seed: number) => {
    const generator = Pcg64.fromSeed(BigInt(seed));
    const below = (n: number) => Math.floor((generator.nextUniform53() / 2 ** 53) * n);
    const study = configuration({ ...THREE, D: MEASURES[seed % 3] ?? 'range' });
    const levels = Array.from({ length: 24 }, () => [`${below(2)}`, `${below(3)}`]);
    const values = levels.map(() => (below(6) === 0 ? ('' as const) : below(12)));
    return studyOf(study, levels, 2n ** 110n + BigInt(seed), values);
  };
  const testedWith = ({ bundle, outcomes }: Made, statistic: string, seed: number, ...more: string[]) => {
    const args = ['--statistic', statistic, '--seed', `${seed}`, '--reps', `${REPS}`];
    return tested(bundle, outcomes, ...args, ...more);
  };
  const MEASURES = ['chisquare', 'range', 'variance'] as const;
  const THREE: Partial<StudyConfiguration> = {
    treatments: ['A', 'B', 'C'],
    factors: [
      { name: 'sex', levels: ['0', '1'] },
      { name: 'site', levels: ['0', '1', '2'] },
    ],
  };

  it.each([
    ['F', 1],
    ['kruskal', 2],
  ])('%s of three arms', async (statistic, seed) => {
    const made = await three(seed);
    const { b, T } = byNumpy(made, statistic, seed, REPS);
    const found = await testedWith(made, statistic, seed);
    expect(found).toMatchObject({ b, reps: REPS });
    expect(found.T).toBeCloseTo(T, 9);
  });

  it.each([
    ['mean', 3],
    ['ranksum', 5],
  ])('%s of two of three arms, with weights', async (statistic, seed) => {
    const made = await three(seed);
    const expected = byNumpy(made, statistic, seed, REPS, 'B,C');
    const found = await testedWith(made, statistic, seed, '--arms', 'C,B');
    expect(found.b).toBe(expected.b);
    expect(found.p).toBeCloseTo(expected.p, 9);
    expect(found.effective).toBeGreaterThan(1);
  });
});

/** One id of each participant in the study of a bundle. */
async function idsIn(bundle: string): Promise<string[]> {
  const { study } = await studyInBundle(bundle);
  const files = await BundleFiles.open(bundle);
  const ids = new Map<number, string>();
  for await (const page of new BundleSource(files).read(files.manifest.study.stream))
    for (const { record } of page) {
      const id = JSON.parse(Buffer.from(record).toString()).data.participantId;
      const person = id === undefined ? undefined : study.find(id)?.person;
      if (person !== undefined && !ids.has(person)) ids.set(person, id);
    }
  files.close();
  return [...ids.values()];
}

describe('a study with decisions by people', () => {
  it.each([
    ['corrected', CORRECTED.make],
    ['with allocations by hand', FORCED.make],
    ['amended', AMENDED.make],
    ['with other arms and a ratio', ARMS.make],
    ['imported', IMPORTED.make],
  ])('%s', async (_, make) => {
    const folder = newFolder();
    const { files } = await make(folder);
    const outcomes = join(folder, 'y.csv');
    const rows = (await idsIn(files.full)).map((id, i) => `"${id}",${(i * 7) % 11}`);
    writeFileSync(outcomes, ['id,y', ...rows].join('\n'));
    const { study } = await studyInBundle(files.full);
    const [first, second] = study.design.treatments.filter((_arm, i) => study.arms.includes(i));
    const args = ['--statistic', 'mean', '--reps', '300', '--interim', 'asked by the DMC'];
    args.push('--arms', `${first},${second}`);
    const { bundle: _full, ...found } = await tested(files.full, outcomes, ...args);
    expect(found).toMatchObject({ reps: 300, p: expect.any(Number) });
    if (study.hadRatio) {
      const about = ['--bundle', files.open, '--outcomes', outcomes, '--outcome', 'y'];
      const refused = await command(['rerandomize', ...about, ...args]);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--content full') });
      return;
    }
    // The result does not depend on what only a full bundle contains.
    const { bundle: _open, ...open } = await tested(files.open, outcomes, ...args);
    expect(open).toEqual(found);
  });
});

describe('the number of threads', () => {
  it('changes no bit of the sums', async () => {
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
});

it('a bundle without arms is refused', async () => {
  const { files } = await CORRECTED.make(newFolder());
  const about = ['--bundle', files.blinded, '--outcomes', 'y.csv', '--outcome', 'y', '--statistic', 'mean'];
  expect(await command(['rerandomize', ...about])).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('blinded bundle') },
  });
});
