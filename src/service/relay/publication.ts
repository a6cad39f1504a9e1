/** What one transaction publishes of one stream: its next records, a checkpoint after them, and its new position. */
import type { Content } from '../../../events/record.ts';
import type { StreamPart } from './batch.ts';
import type { RelayLog } from './log-state.ts';
import { checkpointMessage, type FeedMessage, recordMessage } from './messages.ts';
import type { FeedPosition } from './positions.ts';

export interface Publication {
  readonly stream: string;
  readonly messages: readonly FeedMessage[];
  /** Without the place in Kafka, which is known only after sending. */
  readonly position: Omit<FeedPosition, 'partition' | 'offset'>;
}

/** @param of the content of the feed, and the number of the log's last recovery */
export function publicationOf(
  log: RelayLog,
  of: { readonly content: Content; readonly recovery: number },
  { stream, records }: StreamPart,
): Publication {
  const { logId } = log.identity;
  const last = records.at(-1);
  if (!last) throw new RangeError('a part without a record');
  const signed = log.ledger.checkpoint(stream, last.revision + 1);
  return {
    stream,
    messages: [
      ...records.map((stored) => recordMessage(stored, of.content)),
      checkpointMessage(signed, logId, new Date().toISOString()),
    ],
    position: {
      log: logId,
      stream,
      revision: last.revision,
      leaf: Buffer.from(last.leaf).toString('hex'),
      ...of,
    },
  };
}
