/** Reading the studies file from disk. */
import { existsSync, readFileSync } from 'node:fs';
import type { CheckedStudiesFile, StudiesFile } from '../core/configuration/studies-file.ts';
import { UsageError } from './options.ts';

export const DEFAULT_STUDIES_FILE = 'studies.yaml';

/**
 * Reads the studies file. If none is named, the default one may be missing: then there are no studies in it, and the log
 * alone is served.
 * @throws UsageError; StudiesFileError naming every problem with file and line
 */
export async function readStudiesFile(named: string | undefined): Promise<StudiesFile> {
  const file = named ?? DEFAULT_STUDIES_FILE;
  if (named === undefined && !existsSync(file)) return { studies: [], warnings: [], liveByDefault: [] };
  const { parseStudiesFile } = await parser();
  return parseStudiesFile(textOf(file), file);
}

/** Like `readStudiesFile`, for who wants to know everything that is wrong with the file. @throws UsageError */
export async function checkedStudiesFile(file: string): Promise<CheckedStudiesFile> {
  const { checkStudiesFile } = await parser();
  return checkStudiesFile(textOf(file), file);
}

/** Loading the YAML parser takes a tenth of a command's start-up, and most commands read no studies file. */
const parser = () => import('../core/configuration/studies-file.ts');

/** @throws UsageError */
function textOf(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new UsageError(`there is no studies file ${file} (hint: name one with --studies)`);
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw new UsageError(`${file} is not UTF-8 (hint: save it as UTF-8)`);
    const uid = process.getuid?.();
    if (code === 'EACCES' && uid !== undefined)
      throw new UsageError(
        `cannot read ${file}: user ${uid} may not (hint: chown ${uid} the file and its folder, or chmod a+r the file and a+rx the folder)`,
      );
    throw new UsageError(`cannot read ${file}: ${message}`);
  }
}
