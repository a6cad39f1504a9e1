/**
 * Puts a new build in the place of the present one while programs start from it. A program loads its files one after
 * another, so at every moment all files of the one or of the other build must be there: those with new names come first,
 * then those that replace one, which name them. The files that only the present build has stay until the next one.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * One file at a time: a rename is atomic.
 *
 * @param next the folder with the new build, on the same file system; it is left empty
 */
export function* installBuild(next, present) {
  if (!existsSync(present)) {
    renameSync(next, present);
    return;
  }
  const files = filesIn(next);
  const isThere = (file) => existsSync(join(present, file));
  for (const file of [...files.filter((file) => !isThere(file)), ...files.filter(isThere)]) {
    mkdirSync(dirname(join(present, file)), { recursive: true });
    renameSync(join(next, file), join(present, file));
    yield file;
  }
}

/** Removes what the build before the present one has left. @param files those of the present build */
export function removeLeftOver(present, files) {
  if (!existsSync(present)) return;
  for (const file of filesIn(present)) if (!files.includes(file)) rmSync(join(present, file));
}

/** Their paths in the folder, in order. */
export function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .sort();
}
