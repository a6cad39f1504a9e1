import type { StudyConfiguration } from '../../../events/study.ts';
import type { StudyInFile } from '../../../src/core/configuration/differences.ts';
import type { Finding } from '../../../src/core/configuration/finding.ts';
import { checkStudiesFile, parseStudiesFile } from '../../../src/core/configuration/studies-file.ts';
import type { ConfiguredStudy } from '../../../src/core/configuration/study.ts';

/** A complete study of three lines; what a test is about begins on line 4. */
export const studyWith = (...lines: string[]): string =>
  [
    'S:',
    '  treatments: [A, B]',
    '  factors: {sex: [Male, Female]}',
    ...lines.map((line) => `  ${line}`),
  ].join('\n');

/** A study with these lines instead of a list of treatments and factors; they begin on line 2. */
export const bareStudy = (...lines: string[]): string =>
  ['S:', ...lines.map((line) => `  ${line}`)].join('\n');

export function onlyStudyOf(text: string): ConfiguredStudy {
  const { studies } = parseStudiesFile(text, 'studies.yaml');
  const [study] = studies;
  if (!study || studies.length > 1) throw new Error(`expected one study, not ${studies.length}`);
  return study;
}

const said = ({ line, message }: Finding) => `${line}: ${message}`;

/** Each refusal as `line: message`; there must be one. */
export function refusalsOf(text: string): string[] {
  const { refusals } = checkStudiesFile(text, 'studies.yaml');
  if (refusals.length === 0) throw new Error('expected the file to be refused');
  return refusals.map(said);
}

/** Each warning as `line: message`. */
export const warningsOf = (text: string) => parseStudiesFile(text, 'studies.yaml').warnings.map(said);

/** Files of a study, as they are read: with other settings, and more beside them. */
export const fileOf =
  (configuration: StudyConfiguration) =>
  (change: Partial<StudyConfiguration> = {}, more: Partial<StudyInFile> = {}): StudyInFile => ({
    ...{ configuration: { ...configuration, ...change } as StudyConfiguration },
    ...{ levelCounts: undefined, seed: undefined, ...more },
  });

export const sites = (...levels: string[]) => ({
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'site', levels },
  ],
});
