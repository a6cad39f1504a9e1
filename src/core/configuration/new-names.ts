/** Rules for the names of a study when it is registered. They do not apply to studies that are already in the log. */
import type { StudyConfiguration } from '../../../events/study.ts';
import { isTooLong, lookAlikeProblem, MAX_NAME_CHARACTERS } from '../../base/text.ts';
import type { Problem } from './finding.ts';

export function problemsOfNewNames(configuration: StudyConfiguration): Problem[] {
  const invalid = lookAlikeProblem(configuration.name);
  return [
    ...(invalid === undefined
      ? []
      : [{ reason: `its name ${invalid}`, hint: 'choose a name that nobody can mistake for another' }]),
    ...namesOf(configuration)
      .filter(([, name]) => isTooLong(name))
      .map(([what]) => ({
        reason: `${what} has more than ${MAX_NAME_CHARACTERS} characters`,
        hint: 'choose a shorter one',
      })),
  ];
}

/** Each name, and how a message refers to it. Treatments are never named. */
function namesOf({ name, treatments, factors }: StudyConfiguration): [what: string, name: string][] {
  return [
    ['its name', name],
    ...treatments.map((treatment, i): [string, string] => [`treatment ${i + 1}`, treatment]),
    ...factors.flatMap((factor, i): [string, string][] => [
      [`the name of factor ${i + 1}`, factor.name],
      ...factor.levels.map((level, j): [string, string] => [`level ${j + 1} of factor ${i + 1}`, level]),
    ]),
  ];
}

export function shortened(name: string): string {
  return name.length > MAX_NAME_CHARACTERS ? `${[...name].slice(0, 40).join('')}…` : name;
}
