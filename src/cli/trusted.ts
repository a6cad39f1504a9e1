/** Parses what an auditor knows about a log from elsewhere: keys, and the id of a study. */
import { existsSync, readFileSync } from 'node:fs';
import { validate } from 'uuid';
import { parseVerifierKey, type VerifierKey } from '../core/log/signing.ts';
import { UsageError } from './options.ts';

/** @returns in lower case. @throws UsageError */
export function parsedStudyId(given: string): string {
  const id = given.toLowerCase().replace(/^study-/, '');
  if (validate(id)) return id;
  throw new UsageError(
    `${JSON.stringify(given)} is not a study id (hint: use the UUID after "study-" in the origin of a receipt, or the one that urn studies show prints)`,
  );
}

/** @throws UsageError, DomainError `identity` */
export function trustedKey(given: string): VerifierKey {
  if (!existsSync(given)) return parseVerifierKey(given, 'what --trust names');
  return parseVerifierKey(readBytes(given).toString('utf8').trim(), given);
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`);
  }
}
