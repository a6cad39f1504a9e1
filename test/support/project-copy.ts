/** A copy of the project as `npm ci` leaves it: its files, what was installed, and what was built. */
import { cpSync, symlinkSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** In any folder; what was installed is linked instead. */
const NOT_COPIED = ['.git', 'node_modules', '__pycache__'];
/** Made here by people and tests; of the build, what it makes is copied. */
const MADE_HERE = ['data', 'release', 'bench/results', 'dist'];
const BUILT = ['program', 'pages', 'src', 'events', 'projections', 'api-types', 'built.json', 'commit.json'];

/**
 * @param folder an empty folder
 * @param isInstalled if false, it is as after `git clone`
 */
export function copyProject(folder: string, { isInstalled = true } = {}): void {
  cpSync(PROJECT, folder, {
    recursive: true,
    filter: (path) => !NOT_COPIED.includes(basename(path)) && !MADE_HERE.includes(relative(PROJECT, path)),
  });
  if (!isInstalled) return;
  for (const installed of ['node_modules', 'tools/api-types/node_modules'])
    symlinkSync(join(PROJECT, installed), join(folder, installed));
  for (const name of BUILT)
    cpSync(join(PROJECT, 'dist', name), join(folder, 'dist', name), { recursive: true });
}
