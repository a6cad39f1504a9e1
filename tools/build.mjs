/**
 * Builds the program, unless it was built from the present sources: dist/program, what runs; dist/pages, what it serves;
 * dist/src, what is bundled and what tests and benchmarks import; dist/api-types, what the pages are compiled with.
 *
 * usage: node tools/build.mjs     says something only if it builds, or fails
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { filesIn, installBuild, removeLeftOver } from './install-build.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url)).slice(0, -1);
/** What the build is made from. npm describes in the last one what it has installed. */
const SOURCES = [
  ...['src', 'events', 'projections', 'package.json', 'tsconfig.json', 'tsconfig.build.json'],
  ...['tools/api-types/write.mjs', 'tools/build.mjs', 'tools/bundle.mjs', 'tools/install-build.mjs'],
  'node_modules/.package-lock.json',
];
/** What the program runs from. */
const BUILT = ['program', 'pages'];
/** What was built, from which sources. */
const STAMP = 'dist/built.json';
/** Which commit that is, for `urn --version`. */
const COMMIT = 'dist/commit.json';

process.chdir(ROOT);
try {
  // A released program comes without its sources, as it was built.
  if (existsSync('src')) await buildWhatChanged();
} catch (error) {
  process.stderr.write(`urn: it could not be built: ${error.message}\n`);
  process.exitCode = 1;
}

async function buildWhatChanged() {
  const sources = digestOfSources();
  const stamp = existsSync(STAMP) ? JSON.parse(readFileSync(STAMP, 'utf8')) : { files: {} };
  if (stamp.sources !== sources || !isWhole(stamp.files)) {
    process.stderr.write('Building the program, which takes about ten seconds …\n');
    await build(sources, stamp.files);
  }
  const commit = `${JSON.stringify(commitOfSources())}\n`;
  if (!existsSync(COMMIT) || readFileSync(COMMIT, 'utf8') !== commit) replace(COMMIT, commit);
}

/** Beside the present build, so that a program can start from that meanwhile, and still can if this fails. */
async function build(sources, present) {
  if (!existsSync('node_modules/typescript')) throw new Error('not installed yet (hint: npm ci)');
  // Whatever the caller runs for: Vite would build the pages for development, larger, and every effect would happen twice.
  process.env.NODE_ENV = 'production';
  mkdirSync('dist', { recursive: true });
  removeAbandoned();
  const next = resolve(`dist/next-${process.pid}`);
  try {
    run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json');
    run('tools/api-types/write.mjs');
    const { bundleProgram } = await import('./bundle.mjs');
    await bundleProgram(join(next, 'program'));
    const vite = await import('vite');
    await vite.build({
      configFile: 'src/web/vite.config.ts',
      build: { outDir: join(next, 'pages'), emptyOutDir: true },
    });
    const files = Object.fromEntries(BUILT.map((name) => [name, filesIn(join(next, name))]));
    for (const name of BUILT) {
      if (present[name]) removeLeftOver(`dist/${name}`, present[name]);
      for (const _ of installBuild(join(next, name), `dist/${name}`));
    }
    replace(STAMP, `${JSON.stringify({ sources, files }, undefined, 1)}\n`);
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** What it prints when all is well is nothing. */
function run(...args) {
  try {
    execFileSync(process.execPath, args, { stdio: 'inherit' });
  } catch {
    throw new Error(`${args.join(' ')} failed`);
  }
}

/** Of the content, not of the time of a change: a copy has another, or an older one. */
function digestOfSources() {
  const hash = createHash('sha256');
  for (const source of SOURCES.filter((path) => existsSync(path)))
    for (const file of statSync(source).isDirectory()
      ? filesIn(source).map((name) => join(source, name))
      : [source])
      hash.update(`${file}\0`).update(createHash('sha256').update(readFileSync(file)).digest());
  return hash.digest('hex');
}

function isWhole(files) {
  const needed = BUILT.flatMap((name) => (files[name] ?? ['']).map((file) => `dist/${name}/${file}`));
  return [...needed, 'dist/src/main.js', 'dist/api-types/openapi.d.ts'].every((file) =>
    statSync(file, { throwIfNoEntry: false })?.isFile(),
  );
}

/** `{}` where neither git nor URN_COMMIT knows. `changed`: the sources are not as in that commit. */
function commitOfSources() {
  // An image is built without the repository.
  const { URN_COMMIT: given = '' } = process.env;
  if (given !== '') {
    const [, commit, changed] = /^([0-9a-f]{40})(-dirty)?$/.exec(given) ?? [];
    if (commit === undefined)
      throw new Error(`URN_COMMIT "${given}" is no commit (hint: git rev-parse HEAD)`);
    return changed ? { commit, changed: true } : { commit };
  }
  const git = (...args) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    // A copy may lie inside another project.
    if (git('rev-parse', '--show-toplevel') !== ROOT) return {};
    const commit = git('rev-parse', 'HEAD');
    return git('status', '--porcelain', '--', ...SOURCES) === '' ? { commit } : { commit, changed: true };
  } catch {
    return {};
  }
}

function replace(file, text) {
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}

/** By builds that were killed. */
function removeAbandoned() {
  for (const name of readdirSync('dist').filter((name) => name.startsWith('next-'))) {
    try {
      process.kill(Number(name.slice('next-'.length)), 0);
    } catch {
      rmSync(join('dist', name), { recursive: true, force: true });
    }
  }
}
