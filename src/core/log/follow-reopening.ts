/** Notices when a log that took no participants may take them again, after a move or a recovery by another process. */
import type { Runner } from '../../../projections/runner.ts';
import { StoreError } from '../../store/event-store.ts';
import { LOG_STREAM } from './log-writer.ts';

const REOPENING: ReadonlySet<string> = new Set(['LogArrived', 'LogReopened', 'LogRecovered']);

/** How long after a failure of the store to try again, in ms. */
const RETRY_MS = 1000;

/**
 * @param reopen called when the log may have reopened, and again until the store no longer fails
 * @returns a function that stops this
 */
export function followReopening(
  runner: Runner,
  reopen: () => Promise<void>,
  onStoreError: (error: StoreError) => void = () => undefined,
): () => void {
  let retry: NodeJS.Timeout | undefined;
  const attempt = async () => {
    try {
      await reopen();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      onStoreError(error);
      retry = setTimeout(attempt, RETRY_MS).unref();
    }
  };
  const stopListening = runner.listen(LOG_STREAM, ({ type }) => {
    if (REOPENING.has(type)) setImmediate(attempt);
  });
  return () => {
    stopListening();
    clearTimeout(retry);
  };
}
