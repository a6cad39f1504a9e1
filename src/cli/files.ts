/**
 * Files that a command line names: new ones that the command writes, and checkpoint files that it reads. No new file may
 * exist yet, and it is better to find out before hours of work than after.
 */
import { accessSync, constants, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createOnce } from '../base/files.ts';
import { CheckpointFileError, type KeptCheckpoint, parseCheckpointFile } from '../core/log/formats.ts';
import { UsageError } from './options.ts';

/** As the name of a file, standard output. */
export const STDOUT = '-';

/** @throws UsageError if these files cannot be written */
export function refuseUnfit(files: readonly string[]): void {
  const paths = files.map((file) => resolve(file));
  for (const [i, file] of files.entries()) {
    if (file === '') throw new UsageError('the name of a file is empty');
    const path = paths[i] as string;
    const folder = dirname(path);
    if (!existsSync(folder) || !statSync(folder).isDirectory())
      throw new UsageError(`there is no folder ${folder}`);
    if (!isWritable(folder))
      throw new UsageError(
        `the folder ${folder} is not writable (hint: name a file elsewhere; what has --out also writes to standard output, as in a container: --out -)`,
      );
    if (paths.indexOf(path) < i) throw new UsageError(`${file} would be written twice`);
  }
  const existing = files.filter((file) => existsSync(file));
  if (existing.length > 0)
    throw new UsageError(`${existing.join(', ')} already exists (hint: choose another name)`);
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @throws UsageError if it exists by now */
export function writeNew(file: string, text: string): void {
  refuseUnfit([file]);
  createOnce(file, (draft) => writeFileSync(draft, text));
}

/** Reads a checkpoint file. @throws UsageError for a file that cannot be read or is not a checkpoint file */
export function checkpointsIn(file: string): KeptCheckpoint[] {
  try {
    return parseCheckpointFile(readFileSync(file), file);
  } catch (error) {
    if (error instanceof CheckpointFileError) throw new UsageError(error.message);
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`);
  }
}
