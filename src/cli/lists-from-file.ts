/**
 * What commands that read a file share: all problems of the file become one error of the command, and the lists that it has are
 * registered one after another.
 */
import type { StudyOutcome } from '../core/model/outcomes.ts';
import type { RegisterList, RegisterPacks } from '../core/study/commands.ts';
import type { Study } from '../core/study/studies.ts';
import { ImportError } from '../evidence/import/csv-file.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { cliActor, UsageError } from './options.ts';
import { note, progressOf } from './output.ts';

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
