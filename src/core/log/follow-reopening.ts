/** Notices when a log that took no participants may take them again, after a move or a recovery by another process. */
import type { Runner } from '../../../projections/runner.ts';
import { LOG_STREAM } from './log-writer.ts';

const REOPENING: ReadonlySet<string> = new Set(['LogArrived', 'LogReopened', 'LogRecovered']);

/** @returns a function that stops this */
export function followReopening(runner: Runner, onReopened: () => void): () => void {
  return runner.listen(LOG_STREAM, ({ type }) => {
    if (REOPENING.has(type)) setImmediate(onReopened);
  });
}
