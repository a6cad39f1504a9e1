/** Reads checkpoint files named on the command line. */
import { readFileSync } from 'node:fs';
import { CheckpointFileError, type KeptCheckpoint, parseCheckpointFile } from '../core/log/formats.ts';
import { UsageError } from './options.ts';

/** @throws UsageError for a file that cannot be read or is not a checkpoint file */
export function checkpointsIn(file: string): KeptCheckpoint[] {
  try {
    return parseCheckpointFile(readFileSync(file), file);
  } catch (error) {
    if (error instanceof CheckpointFileError) throw new UsageError(error.message);
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`);
  }
}
