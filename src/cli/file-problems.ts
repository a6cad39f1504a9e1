/** Turns the problems of a file that a command reads into an error of the command. */
import { ImportError } from '../evidence/import/csv-file.ts';
import { UsageError } from './options.ts';

/** The most problems that are printed. */
const MAX_PROBLEMS = 200;
/** For each problem: a file that is not CSV may be a single line. */
const MAX_CHARACTERS = 1000;

/** @param nothing a clause such as "nothing was imported". @throws UsageError listing the problems of the file */
export async function withFileProblems(nothing: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    const { problems } = error;
    const more = problems.length - MAX_PROBLEMS;
    const shown = problems
      .slice(0, MAX_PROBLEMS)
      .map(shortened)
      .concat(more > 0 ? [`and ${more} more`] : []);
    throw new UsageError(`${nothing}:\n     ${shown.join('\n     ')}`);
  }
}

function shortened(problem: string): string {
  return problem.length > MAX_CHARACTERS ? `${problem.slice(0, MAX_CHARACTERS)}…` : problem;
}
