/**
 * Giving up a move. CopyAborted in the target's `log`, at the exact revision after LogMoved, rules out LogArrived for good.
 * Only then is the source opened again. The abort can be cut off at any point, and repeated.
 */
import { LOG_STREAM } from '../../core/log/log-stream.ts';
import { refused } from './move-error.ts';
import { isAppended, logRecords, type MoveParts, moveIn, recordOf, standingOf } from './standing.ts';

export interface AbortResult {
  readonly move: string;
  /** Streams of the source that this run has opened again: `log`, or none. */
  readonly reopened: readonly string[];
}

/** @throws MoveError if there is nothing to give up here, or the move is done; StoreError */
export async function abortMove(parts: MoveParts): Promise<AbortResult> {
  const { source, target, reason } = parts;
  const standing = await standingOf(parts);
  if (standing.type === 'none')
    throw refused(
      'no move of this source was begun in this target (hint: nothing was closed; an urn copy that is still running can close it, so end that first)',
    );
  if (standing.type === 'arrived')
    throw refused(
      'the log has arrived in the target and continues there: this move can no longer be given up (hint: to come back, move it again to a fresh store)',
    );
  const { move, end } = standing;
  if (standing.type !== 'given-up') {
    const data = { move, ...(reason !== undefined && { reason }) };
    const aborted = recordOf(parts, end, { type: 'CopyAborted', data, sections: {} });
    // Whether or not somebody else was faster: what the stores hold now decides.
    await isAppended(target, end, [aborted]);
    return abortMove(parts);
  }
  const log = await logRecords(source);
  if (moveIn(log.at(-1))?.move !== move) return { move, reopened: [] };
  const reopened = recordOf(parts, log.length, { type: 'LogReopened', data: { move }, sections: {} });
  await isAppended(source, log.length, [reopened]);
  return { move, reopened: [LOG_STREAM] };
}
