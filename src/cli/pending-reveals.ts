/** Code-breaks that wait in the data folder for a log that can be written. */
import { DomainError } from '../base/errors.ts';
import { PENDING_REVEALS } from '../code-break/pending-reveals.ts';
import type { OpenLog } from '../open/open-log.ts';
import { note } from './output.ts';

/** Records what is pending, and says what came of it. Needs a folded log. */
export async function recordPendingReveals({ codeBreaks }: OpenLog): Promise<void> {
  const pending = await codeBreaks.pending();
  if (pending.length === 0) return;
  try {
    const impossible = await codeBreaks.recordPending();
    const recorded = pending.length - impossible.length;
    if (recorded > 0) note(`recorded now: ${codeBreaksOf(recorded)} that could not be recorded at once`);
    for (const { study, participantId, shownAt } of impossible)
      note(
        `warning: the code-break of ${participantId} (${study}, ${shownAt}) stays in ${PENDING_REVEALS}: this log has no such participant (hint: was the log recovered? Keep the file)`,
      );
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    note(
      `warning: ${codeBreaksOf(pending.length)} in ${PENDING_REVEALS} cannot be recorded yet: ${error.message}`,
    );
  }
}

function codeBreaksOf(count: number): string {
  return count === 1 ? 'a code-break' : `${count} code-breaks`;
}
