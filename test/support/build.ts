import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Builds the program once, before any test. */
export function setup(): void {
  if (!existsSync('node_modules/.bin/tsc')) throw new Error('not installed yet (hint: npm ci)');
  // Vitest's own, with which Vite would build the pages for development: larger, and every effect happens twice.
  const { NODE_ENV: _, ...env } = process.env;
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit', env });
}
