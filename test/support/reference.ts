/** What the reference implementation wrote, and a stand-in for it that reads, writes and goes on as it does. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { BgState, type StudyConfiguration } from '../../events/study.ts';
import { parseStudiesFile } from '../../src/core/configuration/studies-file.ts';
import { askPython } from './numpy.ts';

const vector = (name: string) => readFileSync(new URL(`../vectors/${name}`, import.meta.url), 'utf8');

/** The reference's export of 60 participants. */
export const REFERENCE_EXPORT = vector('reference-export.csv');

/** Its study, as it would be registered here. */
export function referenceStudy(): StudyConfiguration {
  const [only] = parseStudiesFile(vector('reference-study.yaml'), 'reference-study.yaml').studies;
  if (!only) throw new Error('no study');
  return only.configuration;
}

interface Next {
  readonly levels: Readonly<Record<string, string>>;
  readonly trt: string;
  readonly bg_state: BgState;
}

/** The next twelve that the reference drew. Their states are numbers of 128 bits. */
export const referenceNext = (): readonly Next[] =>
  JSON.parse(vector('reference-next.json').replaceAll(/: (\d{16,})/g, ': "$1"'));

const StandInAnswer = z.strictObject({
  ids: z.array(z.string()),
  missing: z.int(),
  increasing: z.boolean(),
  next: z.array(z.strictObject({ treatment: z.string(), state: BgState })),
  readAsMissing: z.array(z.string()),
});

/**
 * Has the stand-in read a file, write it to another one, and go on.
 * @param next levels of each further participant, in the order of the factors
 * @throws Error with what Python wrote to stderr when it does not take the file
 */
export function standIn(
  python: string,
  files: { readonly file: string; readonly out: string },
  configuration: StudyConfiguration,
  next: readonly (readonly string[])[],
): z.infer<typeof StandInAnswer> {
  const program = ['reference-history.py', files.file, files.out];
  return askPython(python, program, { configuration, next }, StandInAnswer);
}
