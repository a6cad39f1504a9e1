/**
 * What the names of a study must be when it is registered. A study that is in the log already has the names that it has,
 * so the file is not refused for them (studies-file.ts), but only the registration.
 */
import type { StudyConfiguration } from '../../events/study.ts';
import { lookAlikeProblem } from '../text.ts';
import type { ConfiguredStudy } from './studies-file.ts';
import { quote } from './values.ts';

/** In code points. What is longer tells itself apart by the memory that the process takes. */
const MOST_CHARACTERS = 200;

/** Why a study cannot be registered, as messages of findings; none: it can. */
export function newStudyProblems({ configuration }: ConfiguredStudy): string[] {
  const unfit = lookAlikeProblem(configuration.name);
  const reasons = [
    ...(unfit === undefined ? [] : [`its name ${unfit}`]),
    ...namesOf(configuration)
      .filter(([, name]) => name.length > MOST_CHARACTERS && [...name].length > MOST_CHARACTERS)
      .map(([what]) => `${what} has more than ${MOST_CHARACTERS} characters (hint: choose a shorter one)`),
  ];
  return reasons.map((reason) => `study ${quote(shortened(configuration.name))}: ${reason}`);
}

/** Each name, and what a message calls it: no treatment by its name. */
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

function shortened(name: string): string {
  return name.length > MOST_CHARACTERS ? `${[...name].slice(0, 40).join('')}…` : name;
}
