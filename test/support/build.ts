import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Builds the program once, before any test. */
export function setup(): void {
  const compiler = new URL('../../node_modules/.bin/tsc', import.meta.url);
  if (!existsSync(compiler)) throw new Error('not installed yet (hint: npm ci)');
  execFileSync(fileURLToPath(compiler), ['-p', 'tsconfig.build.json'], {
    cwd: new URL('../..', import.meta.url),
    stdio: 'inherit',
  });
}
