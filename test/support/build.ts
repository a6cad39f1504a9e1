import { execFileSync } from 'node:child_process';

/** Builds the program before any test, unless it was built from the present sources. */
export function setup(): void {
  execFileSync(process.execPath, ['tools/build.mjs'], { stdio: 'inherit' });
}
