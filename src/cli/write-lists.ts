/** Registers what a file has, list by list, for as long as none is refused. */
import type { StudyOutcome } from '../core/model/outcomes.ts';
import type { RegisterList, RegisterPacks } from '../core/study/commands.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { cliActor } from './options.ts';
import { note, progressOf } from './output.ts';

/**
 * @param all all entries of these lists, in words
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
