/** Code-breaks that wait in the data folder for a log that can be written. */
import { PENDING_REVEALS } from '../service/code-break/pending-reveals.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { note } from './output.ts';

/** Records what is pending, and says what came of it. It never stops a command. Needs a folded log. */
export async function recordPendingReveals({ codeBreaks }: OpenLog): Promise<void> {
  try {
    const { recorded, left, damaged } = await codeBreaks.recordPending();
    if (recorded.length > 0)
      note(
        `recorded now: ${codeBreaksOf(recorded.length)} that could not be recorded earlier (${PENDING_REVEALS} is not signed: ask whoever is named in urn code-breaks whether it is theirs)`,
      );
    for (const { reveal, why } of left)
      note(
        `warning: the code-break of ${reveal.participantId ?? `the pack ${reveal.code}`} (${reveal.study}, ${reveal.shownAt}) stays in ${PENDING_REVEALS}: ${why} (hint: keep the file)`,
      );
    if (damaged > 0)
      note(
        `warning: ${PENDING_REVEALS} has ${damaged === 1 ? 'a line that is' : `${damaged} lines that are`} not understood (hint: was the disk full? Keep the file, and record what it says with urn unblindings add)`,
      );
  } catch (error) {
    note(`warning: what waits in ${PENDING_REVEALS} is not recorded yet: ${(error as Error).message}`);
  }
}

export function codeBreaksOf(count: number): string {
  return count === 1 ? 'a code-break' : `${count} code-breaks`;
}
