import type { RecordBytes } from '../../../events/record.ts';
import { type AppendResult, type EventStore, StoreError } from '../../store/event-store.ts';

/** How long an append is repeated while the store gives no clear answer, in ms. */
const DEADLINE_MS = 30_000;
const MOST_PAUSE_MS = 1000;

/**
 * Appends records unchanged, again and again until the store's answer is clear. Every attempt sends the same records at the
 * same revision, so they cannot be stored twice.
 * @throws StoreError
 */
export async function appendUnchanged(
  store: EventStore,
  stream: string,
  expectedRevision: number,
  records: readonly RecordBytes[],
): Promise<AppendResult> {
  const deadline = performance.now() + DEADLINE_MS;
  for (let attempt = 0; ; attempt++) {
    try {
      return await store.append(stream, expectedRevision, records);
    } catch (error) {
      const mayPass =
        error instanceof StoreError && (error.failure === 'unavailable' || error.failure === 'busy');
      if (!mayPass || performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.min(10 * 2 ** attempt, MOST_PAUSE_MS)));
    }
  }
}
