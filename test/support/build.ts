import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What the build reads. npm writes the last one whenever it installs something. */
const SOURCES = [
  ...['src', 'events', 'projections', 'tools/api-types/write.mjs', 'package.json', 'rolldown.config.mjs'],
  ...['tsconfig.json', 'tsconfig.build.json', 'node_modules/.package-lock.json'],
];
/** What it writes last. */
const BUILT = 'dist/program/main.js';

/** Builds the program before any test, unless it was built after the last change. */
export function setup(): void {
  if (!existsSync('node_modules/.bin/tsc')) throw new Error('not installed yet (hint: npm ci)');
  if (existsSync(BUILT) && SOURCES.every((path) => newest(path) < statSync(BUILT).mtimeMs)) return;
  // Vitest's own, with which Vite would build the pages for development: larger, and every effect happens twice.
  const { NODE_ENV: _, ...env } = process.env;
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit', env });
}

/** When a file, or anything in a folder, was last changed. A folder changes when a file in it is removed. */
function newest(path: string): number {
  const stat = statSync(path);
  const within = stat.isDirectory() ? readdirSync(path).map((name) => newest(join(path, name))) : [];
  return Math.max(stat.mtimeMs, ...within);
}
