/** What builds the program, for npm ci, npm start and the tests; the check of its rooms; and what is released. */

import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { filesIn, installBuild, removeLeftOver } from '../../tools/install-build.mjs';
import { copyProject, PROJECT } from '../support/project-copy.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();

const node = (...args: string[]) => nodeWith({}, ...args);

function nodeWith(env: Readonly<Record<string, string>>, ...args: string[]) {
  const around = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, around);
  return { status, output: stdout + stderr };
}

/** @returns the exit code */
function start(...args: string[]): Promise<number | null> {
  return new Promise((resolve) => spawn(process.execPath, args, { stdio: 'ignore' }).once('close', resolve));
}

describe('npm run build', () => {
  const copy = newFolder();
  const build = () => node(join(copy, 'tools/build.mjs'));
  const built = () => statSync(join(copy, 'dist/program/main.js')).mtimeMs;
  const SETTINGS = 'tsconfig.build.json';
  const setBuild = (changes: object) => {
    const settings = JSON.parse(readFileSync(join(PROJECT, SETTINGS), 'utf8'));
    writeFileSync(join(copy, SETTINGS), JSON.stringify({ ...settings, ...changes }));
  };
  beforeAll(() => copyProject(copy));

  it('does nothing, and says nothing, if the sources are those of the last build, whenever they were written', () => {
    const before = built();
    const future = new Date(Date.now() + 60_000);
    utimesSync(join(copy, 'src/main.ts'), future, future);
    expect(build()).toEqual({ status: 0, output: '' });
    expect(built()).toBe(before);
    expect(node(join(copy, 'bin/urn.js'), '--version').output).toMatch(
      /^\d+\.\d+\.\d+(-dev)? \(commit not known: it was not built in a checkout of git\)\n$/,
    );
  });

  it('is told the commit where there is no git, as in an image', () => {
    const told = (commit: string) => nodeWith({ URN_COMMIT: commit }, join(copy, 'tools/build.mjs'));
    const commit = '0123456789abcdef'.repeat(3).slice(0, 40);
    const version = () => node(join(copy, 'bin/urn.js'), '--version').output;
    expect(told(commit)).toEqual({ status: 0, output: '' });
    expect(version()).toContain(`(commit ${commit})`);
    expect(told(`${commit}-dirty`).status).toBe(0);
    expect(version()).toContain(`(commit ${commit}, with changes that are in no commit)`);
    expect(told('main')).toMatchObject({ status: 1, output: expect.stringContaining('git rev-parse HEAD') });
  });

  it('shows everything if it fails, and leaves the program that was there', () => {
    const before = built();
    writeFileSync(join(copy, 'src/main.ts'), "export const wrong: number = 'text';\n");
    // Compiling one file takes a tenth of the time.
    setBuild({ include: ['src/main.ts'] });
    const { status, output } = build();
    expect(status).toBe(1);
    expect(output).toMatch(/src\/main\.ts.*TS2322: Type 'string' is not assignable to type 'number'/);
    expect(output).toContain('could not be built');
    expect(built()).toBe(before);
    expect(readdirSync(join(copy, 'dist')).filter((name) => name.startsWith('next'))).toEqual([]);
    for (const changed of ['src/main.ts', SETTINGS]) cpSync(join(PROJECT, changed), join(copy, changed));
  });

  it('names the commit in a checkout, and says so if the sources are not as in it; meanwhile the program starts', async () => {
    const git = (...args: string[]) =>
      spawnSync('git', ['-c', 'user.name=x', '-c', 'user.email=x', ...args], { cwd: copy, encoding: 'utf8' });
    git('init');
    git('add', '.');
    git('commit', '--message', 'x');
    const commit = git('rev-parse', 'HEAD').stdout.trim();
    const version = () => node(join(copy, 'bin/urn.js'), '--version').output;
    const simulate = ['simulate', '--studies', join(copy, 'studies.yaml'), '--study', 'CHS JCOIN'];
    const json = () => node(join(copy, 'bin/urn.js'), ...simulate, '--reps', '10', '--json');
    expect(build()).toEqual({ status: 0, output: '' });
    expect(version()).toContain(`(commit ${commit})`);
    const before = json();
    expect(before.output).toContain('"version": "');
    // Without the check of types, which is above, and with an empty page, which needs none: what starts is the program.
    const { compilerOptions } = JSON.parse(readFileSync(join(PROJECT, SETTINGS), 'utf8'));
    setBuild({ compilerOptions: { ...compilerOptions, noCheck: true } });
    writeFileSync(join(copy, 'src/web/index.html'), '<!doctype html>\n');
    writeFileSync(join(copy, 'tools/api-types/write.mjs'), '');
    const ended = start(join(copy, 'tools/build.mjs'));
    for (let isBuilding = true; isBuilding; ) {
      expect(await start(join(copy, 'bin/urn.js'), 'serve', '--help')).toBe(0);
      // The test below stops at every moment; without a pause, most of the time would go to starts.
      isBuilding = await Promise.race([ended.then(() => false), setTimeout(4000, true)]);
    }
    expect(await ended).toBe(0);
    expect(version()).toContain(`(commit ${commit}, with changes that are in no commit)`);
    // Nothing else tells one build of a version from another.
    expect(json()).toEqual(before);
  });
});

describe('a new build takes the place of the present one', () => {
  /** As the build leaves it: an entry that names the others, whose names change with their content. */
  function makeBuild(folder: string, which: string) {
    mkdirSync(join(folder, 'assets'), { recursive: true });
    const imports = `import { one } from './one-${which}.mjs';\nimport('./assets/two-${which}.mjs')`;
    writeFileSync(join(folder, 'main.mjs'), `${imports}.then(({ two }) => console.log(one, two));\n`);
    writeFileSync(join(folder, `one-${which}.mjs`), `export const one = '${which}';\n`);
    writeFileSync(join(folder, `assets/two-${which}.mjs`), `export const two = '${which}';\n`);
    writeFileSync(join(folder, 'assets/same.mjs'), '');
  }
  function twoBuilds() {
    const [next, present] = [join(newFolder(), 'next'), join(newFolder(), 'present')];
    makeBuild(next, 'new');
    makeBuild(present, 'old');
    return { next, present, old: filesIn(present) };
  }
  const shown = (folder: string) => node(join(folder, 'main.mjs')).output.trim();

  it('whole, at every moment: what starts is all old or all new', () => {
    const { next, present } = twoBuilds();
    const started = [shown(present)];
    for (const _ of installBuild(next, present)) started.push(shown(present));
    expect(new Set(started)).toEqual(new Set(['old old', 'new new']));
    expect(started.at(-1)).toBe('new new');
    expect(started.toSorted().toReversed()).toEqual(started);
    expect(filesIn(next)).toEqual([]);
  });

  it('and leaves to a program that has begun to start the files that it has yet to load, until the build after', () => {
    const { next, present, old } = twoBuilds();
    for (const _ of installBuild(next, present));
    for (const file of old) expect(existsSync(join(present, file)), file).toBe(true);
    const now = ['assets/same.mjs', 'assets/two-new.mjs', 'main.mjs', 'one-new.mjs'];
    removeLeftOver(present, now);
    expect(filesIn(present)).toEqual(now);

    // At once where there was none.
    const none = join(newFolder(), 'none');
    for (const _ of installBuild(twoBuilds().next, none));
    expect(shown(none)).toBe('new new');
  });
});

function check(folder: string) {
  const { status, stderr } = spawnSync(process.execPath, [join(PROJECT, 'tools/rooms.mjs'), folder], {
    encoding: 'utf8',
  });
  return { status, stderr };
}

it('the check of rooms accepts the program as it is, and refuses imports from above, rooms that need one another, and those in no area or without files', () => {
  expect(check(PROJECT)).toEqual({ status: 0, stderr: '' });
  const folder = newFolder();
  for (const name of ['events', 'projections', 'src', 'tools'])
    cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  // From an area above, even a dynamic one or one of types; the last one is of the same area.
  const imports = {
    'src/core/methods/draw.ts': "import '../../statistics/simulation/simulate.ts';\n",
    'src/core/methods/memory.ts': "export type { Study } from '../../statistics/simulation/simulate.ts';\n",
    'src/evidence/verify/source.ts': "export const later = () => import('../../service/open/open-log.ts');\n",
    'src/core/random/pcg64.ts': "import type { Allocation } from '../methods/urn.ts';\n",
  };
  for (const [file, text] of Object.entries(imports)) appendFileSync(join(folder, file), text);
  mkdirSync(join(folder, 'src/attic'));
  writeFileSync(join(folder, 'src/attic/box.ts'), 'export {};\n');
  const rules = join(folder, 'tools/rooms.json');
  const { areas } = JSON.parse(readFileSync(rules, 'utf8')) as { areas: Record<string, string[]> };
  writeFileSync(rules, JSON.stringify({ areas: { ...areas, under: ['src/cellar'] } }));

  const { status, stderr } = check(folder);
  expect(status).toBe(1);
  const isCycle = (line: string) => line.startsWith('rooms: rooms need one another: ');
  const lines = stderr.trimEnd().split('\n');
  expect(lines.filter((line) => !isCycle(line)).sort()).toEqual([
    'rooms: src/attic is in no area (hint: add it to tools/rooms.json)',
    'rooms: src/cellar is in tools/rooms.json, but has no files',
    'rooms: src/core/methods/draw.ts imports src/statistics/simulation/simulate.ts, but statistics is above core',
    'rooms: src/core/methods/memory.ts imports src/statistics/simulation/simulate.ts, but statistics is above core',
    'rooms: src/evidence/verify/source.ts imports src/service/open/open-log.ts, but service is above evidence',
  ]);
  const cycles = lines.filter(isCycle);
  for (const cycle of cycles)
    expect(cycle).toMatch(/: src\/\S+ imports src\/\S+(?:; src\/\S+ imports src\/\S+)+$/);
  expect(cycles.join('\n')).toContain('src/core/random/pcg64.ts imports src/core/methods/urn.ts');
});

const read = (name: string) => readFileSync(join(PROJECT, name), 'utf8');
const json = (name: string) => JSON.parse(read(name)) as { version: string; name: string };

const inOrder = (a = '', b = '') => a.localeCompare(b, 'en', { numeric: true });

it('the first version in the changelog is the version of the program, which has "-dev" until it is released', () => {
  const headings = [...read('CHANGELOG.md').matchAll(/^## (.*)$/gm)].map(([, text = '']) => text);
  const [first = '', ...earlier] = headings;
  const [, next, when] = /^(\d+\.\d+\.\d+) \((unreleased|\d{4}-\d\d-\d\d)\)$/.exec(first) ?? [];
  const { version, name } = json('package.json');
  expect(version).toBe(when === 'unreleased' ? `${next}-dev` : next);
  const released = earlier.map((text) => /^(\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$/.exec(text)?.[1]);
  expect([next, ...released]).toEqual([...new Set([next, ...released])].toSorted(inOrder).toReversed());
  expect(json('package-lock.json')).toMatchObject({ version, name });
});

it('the package runs without its sources, and has what its documents name', () => {
  const folder = newFolder();
  const run = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: PROJECT, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    return stdout;
  };
  run('npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder);
  run('tar', '-xzf', join(folder, readdirSync(folder)[0] ?? ''), '-C', folder);
  const unpacked = join(folder, 'package');
  expect(readdirSync(unpacked)).not.toContain('src');
  for (const name of ['backup.sh', 'restore.sh', 'urn.service', 'urn.env', 'alerts.yml'])
    expect(readdirSync(join(unpacked, 'deploy'))).toContain(name);
  expect(readdirSync(join(unpacked, 'docs'))).toContain('production.md');
  expect(json('package.json')).toMatchObject({ files: expect.arrayContaining(['npm-shrinkwrap.json']) });

  symlinkSync(join(PROJECT, 'node_modules'), join(unpacked, 'node_modules'));
  // What npm runs when its packages are installed.
  expect(run('node', join(unpacked, 'tools/build.mjs'))).toBe('');
  const urn = join(unpacked, 'bin/urn.js');
  expect(run(urn, '--version')).toBe(run(join(PROJECT, 'bin/urn.js'), '--version'));
  const checked = run(urn, 'studies', 'check', '--studies', join(unpacked, 'studies.yaml'), '--data', folder);
  expect(checked).toContain('CHS JCOIN');
});
