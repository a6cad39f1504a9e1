/** The log as positions are held against it. */

import type { Content } from '../../events/content.ts';
import { lastRecovery, logHistory } from '../../projections/log.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { LogState, Positions } from './positions.ts';

/** As far as the relay needs it. */
export type RelayLog = Pick<OpenLog, 'store' | 'runner' | 'ledger' | 'identity'>;

/** @throws StoreError */
export async function stateOfLog(
  log: RelayLog,
  content: Content,
  { byStream }: Positions,
): Promise<LogState> {
  const { runner, ledger, identity } = log;
  // Another relay, which this one follows, may have known of records that have not been heard of here yet.
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

/** Number of the log's last recovery; 0: there was none. */
export function recoveryOf({ runner }: RelayLog): number {
  return lastRecovery(runner.state(logHistory, LOG_STREAM));
}
