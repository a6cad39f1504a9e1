import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Builds the program once, before any test. */
export function setup(): void {
  if (!existsSync('node_modules/.bin/tsc')) throw new Error('not installed yet (hint: npm ci)');
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
}
