/**
 * Settings that only studies registered by an earlier, less strict version may have. They are refused for studies that
 * are new to the log, where it does no harm to choose something else.
 */

import { quote } from '../../base/text.ts';
import { ratioProblem } from '../model/design.ts';
import { linearPatternProblem } from '../model/linear-pattern.ts';
import type { RegisteredStudy } from './differences.ts';
import { type Finding, hinted, type Note, StudiesFileError } from './finding.ts';
import { problemsOfNewNames, shortened } from './new-names.ts';
import type { ConfiguredStudy, ReadStudy } from './study.ts';

export function noteIfNew({ configuration, lineOf }: Omit<ReadStudy, 'isGiven'>, note: Note): void {
  const { name, idPattern, treatments, ratio } = configuration;
  const refuse = (setting: string, message: string) =>
    note(lineOf(setting), `study ${quote(shortened(name))}: ${message}`);
  for (const problem of problemsOfNewNames(configuration)) refuse('', hinted(problem));
  const ofRatio = ratio && ratioProblem(treatments, ratio);
  if (ofRatio !== undefined)
    refuse(
      'ratio',
      `the ratio is not possible: ${ofRatio} (hint: write the smallest whole numbers, with a sum of at most 40)`,
    );
  const ofPattern = idPattern === undefined ? undefined : linearPatternProblem(idPattern);
  if (ofPattern)
    refuse(
      'id_pattern',
      `id_pattern ${ofPattern.reason}, which a new study cannot have (hint: ${ofPattern.hint})`,
    );
}

/** What the log makes of the new studies of a file. */
export interface Judgement {
  readonly refusals: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/** @param registered the studies in the log */
export function judgeNewStudies(
  configured: readonly ConfiguredStudy[],
  isNew: (name: string) => boolean,
  registered: readonly RegisteredStudy[],
): Judgement {
  const added = configured.filter(({ configuration }) => isNew(configuration.name));
  const { refusals, warnings } = sharedSeeds(added, configured, registered);
  return { refusals: [...added.flatMap(({ refusedIfNew }) => refusedIfNew), ...refusals], warnings };
}

/**
 * @param registered the studies in the log
 * @returns warnings about new studies that the log makes possible
 * @throws StudiesFileError naming everything in the file that new studies cannot have
 */
export function refuseNewStudies(
  configured: readonly ConfiguredStudy[],
  isNew: (name: string) => boolean,
  registered: readonly RegisteredStudy[],
): readonly Finding[] {
  const { refusals, warnings } = judgeNewStudies(configured, isNew, registered);
  if (refusals.length > 0) throw new StudiesFileError(refusals);
  return warnings;
}

/**
 * Two studies with one seed draw the same numbers. A test with the seed of a live study, or the other way round, is a
 * rehearsal of the live allocations.
 */
function sharedSeeds(
  added: readonly ConfiguredStudy[],
  configured: readonly ConfiguredStudy[],
  registered: readonly RegisteredStudy[],
): Judgement {
  const known = [
    ...configured.flatMap(({ configuration, seed }) => (seed === undefined ? [] : { configuration, seed })),
    ...registered.map(({ configuration, seed }) => ({ configuration, seed: BigInt(seed) })),
  ];
  const refusals: Finding[] = [];
  const warnings: Finding[] = [];
  for (const { configuration, seed, lineOf, file } of added) {
    const { name, mode } = configuration;
    const others = known.filter((one) => one.seed === seed && one.configuration.name !== name);
    const other = others.find((one) => one.configuration.mode !== mode) ?? others[0];
    if (!other) continue;
    const isRehearsal = other.configuration.mode !== mode;
    const whose = `${other.configuration.mode} study ${quote(shortened(other.configuration.name))}`;
    const message = `study ${quote(shortened(name))}: starting_seed is that of the ${whose}, so both draw the same numbers (hint: leave it out, and the service draws 128 random bits)`;
    (isRehearsal ? refusals : warnings).push({ file, line: lineOf('starting_seed'), message });
  }
  return { refusals, warnings };
}
