/**
 * What commands that read a file share: all problems of the file become one error of the command, and the lists that it has are
 * registered one after another.
 */
import { quote } from '../base/text.ts';
import type { Design } from '../core/model/design.ts';
import type { StudyOutcome } from '../core/model/outcomes.ts';
import type { RegisterList, RegisterPacks } from '../core/study/commands.ts';
import type { Study } from '../core/study/studies.ts';
import { ImportError } from '../evidence/import/csv-file.ts';
import type { Finding } from '../evidence/import/list-checks.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { cliActor, UsageError } from './options.ts';
import { note, progressOf } from './output.ts';
import { mayChange } from './precautions.ts';

/** The most problems that are printed. */
const MAX_PROBLEMS = 200;
/** For each problem: a file that is not CSV may be a single line. */
const MAX_PROBLEM_CHARACTERS = 1000;

/**
 * Turns the problems of a file into an error of the command.
 * @param nothing a clause such as "nothing was imported"
 * @throws UsageError listing the problems of the file
 */
export async function withFileProblems(nothing: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    const { problems } = error;
    const more = problems.length - MAX_PROBLEMS;
    const shown = problems
      .slice(0, MAX_PROBLEMS)
      .map(shortProblem)
      .concat(more > 0 ? [`and ${more} more`] : []);
    throw new UsageError(`${nothing}:\n     ${shown.join('\n     ')}`);
  }
}

function shortProblem(problem: string): string {
  return problem.length > MAX_PROBLEM_CHARACTERS ? `${problem.slice(0, MAX_PROBLEM_CHARACTERS)}…` : problem;
}

/** Prints what is named in a file. @returns whether a live study takes it only with --yes */
export function tellFindings(findings: readonly Finding[]): boolean {
  for (const { text, needsYes } of findings) note(`warning: ${text}${needsYes ? ' (needs --yes)' : ''}`);
  return findings.some(({ needsYes }) => needsYes);
}

/**
 * Asks whether a file is registered.
 * @param what such as "Register 60 packs in …"
 * @param isDoubted whether it takes more than the consent of whoever is silent
 * @returns whether it is; in a dry run, the question is only told
 */
export async function mayRegister(
  design: Pick<Design, 'mode'>,
  options: { readonly yes?: boolean; readonly dryRun?: boolean },
  what: string,
  isDoubted: boolean,
): Promise<boolean> {
  const question = isDoubted ? `${what}, though an honest file almost never looks like this?` : `${what}?`;
  if (!options.dryRun) return mayChange(design, options, question, isDoubted ? DOUBT : undefined);
  if (isDoubted && !options.yes)
    note(
      `without --yes it would ask ${quote(question)}, and record nothing where nobody can be asked (exit code 2)`,
    );
  return false;
}

const DOUBT =
  'nothing was recorded: an honest file almost never looks like this, as the warnings say (hint: ask whoever made the file; --yes registers it all the same)';

/**
 * Registers the lists for as long as none is refused.
 * @param all all entries of these lists, in words
 * @param shownAs what the progress counts
 * @param refuse throws for a list that is not taken
 * @returns the revision of each list
 */
export async function writeLists(
  { studies }: OpenLog,
  { stream, design }: Study,
  commands: readonly (RegisterList | RegisterPacks)[],
  {
    all,
    shownAs,
    refuse,
  }: {
    readonly all: string;
    readonly shownAs: string;
    readonly refuse: (study: string, outcome: StudyOutcome) => void;
  },
): Promise<number[]> {
  const total = commands.reduce((sum, { entries }) => sum + entries.length, 0);
  const shown = progressOf(shownAs, total);
  const revisions: number[] = [];
  let done = 0;
  try {
    for (const command of commands) {
      const { outcome, revision } = await studies.submit(stream, command, cliActor());
      refuse(design.name, outcome);
      revisions.push(revision);
      done += command.entries.length;
      shown.show(done);
    }
  } finally {
    shown.end();
    if (done < total && done > 0)
      note(`${done} of ${all} were registered (hint: run it again with the same file)`);
  }
  return revisions;
}
