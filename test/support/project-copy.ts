/** A copy of the project as `npm ci` leaves it: its files, what was installed, and what was built. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @param folder an empty folder
 * @param isInstalled if false, it is as after `git clone`
 */
export function copyProject(folder: string, { isInstalled = true } = {}): void {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: PROJECT,
    encoding: 'utf8',
  });
  for (const file of files.split('\0').filter((name) => name !== '')) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(PROJECT, file), join(folder, file));
  }
  if (!isInstalled) return;
  for (const installed of ['node_modules', 'tools/api-types/node_modules'])
    symlinkSync(join(PROJECT, installed), join(folder, installed));
  for (const built of [
    'program',
    'pages',
    'src',
    'events',
    'projections',
    'api-types',
    'built.json',
    'commit.json',
  ])
    cpSync(join(PROJECT, 'dist', built), join(folder, 'dist', built), { recursive: true });
}
