/** The state of the log, with which positions are compared. */

import type { Content } from '../../../events/record.ts';
import { lastRecovery, logHistory } from '../../../projections/log.ts';
import { LOG_STREAM } from '../../core/log/log-stream.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { FeedPositions, LogState } from './positions.ts';

/** The parts of the log that the relay needs. */
export type RelayLog = Pick<OpenLog, 'store' | 'runner' | 'ledger' | 'identity'>;

/** @throws StoreError */
export async function stateOfLog(
  log: RelayLog,
  content: Content,
  { byStream }: FeedPositions,
): Promise<LogState> {
  const { runner, ledger, identity } = log;
  // An earlier relay may have known records that have not arrived here yet.
  for (const { stream, revision } of byStream.values())
    if (revision > runner.revision(stream)) await runner.catchUp(stream);
  return {
    logId: identity.logId,
    content,
    recovery: recoveryOf(log),
    size: (stream) => ledger.tree(stream).size,
    isHalted: (stream) => runner.halted(stream) !== undefined,
    leaf: (stream, revision) => ledger.tree(stream).leaf(revision).toString('hex'),
  };
}

/** Number of the log's last recovery; 0 if there was none. */
export function recoveryOf({ runner }: RelayLog): number {
  return lastRecovery(runner.state(logHistory, LOG_STREAM));
}
