/**
 * Compares the end of each partition of the records with the positions: it must be the last checkpoint that they name,
 * with nothing after it. Offsets alone cannot show this, since aborted transactions take offsets too.
 */
import type { IHeaders, KafkaMessage } from 'kafkajs';
import { FeedError } from './feed-error.ts';
import { type Extents, lostRecords, POSITIONS_LOST, RECREATED } from './offsets.ts';
import type { FeedPosition, FeedPositions } from './positions.ts';
import type { Topics } from './settings.ts';
import type { Span, TopicReader } from './topic-reader.ts';

/**
 * @param reading of committed messages
 * @param extents of the topic of records
 * @throws FeedError `contradiction`; errors of the reading
 */
export async function checkTails(
  reading: Pick<TopicReader, 'records'>,
  positions: FeedPositions,
  extents: Extents,
  topics: Topics,
): Promise<void> {
  const lost = lostRecords(positions, extents, topics);
  if (lost !== undefined) throw contradiction(lost);
  const last = lastByPartition(positions);
  const spans = new Map<number, Span>();
  const unseen = new Map<number, FeedPosition>();
  for (const [partition, { low, high }] of extents) {
    const position = last.get(partition);
    const offset = position ? position.offset : 0;
    // Version 0.1.0 did not record where the end is.
    if (offset === undefined) continue;
    spans.set(partition, { from: Math.max(offset, low), to: high });
    if (position && offset >= low) unseen.set(partition, position);
  }
  await reading.records(spans, (partition, message) => {
    const position = unseen.get(partition);
    const where = `partition ${partition} of ${topics.records}`;
    if (position === undefined)
      throw contradiction(
        `${where} has a message at offset ${message.offset} that ${topics.positions} does not know of: ${POSITIONS_LOST}`,
      );
    if (!isLast(position, message)) throw contradiction(notThere(where, position));
    unseen.delete(partition);
  });
  for (const [partition, position] of unseen)
    throw contradiction(notThere(`partition ${partition} of ${topics.records}`, position));
}

/** The last position in each partition: one with an offset, if there is any. */
function lastByPartition({ byStream }: FeedPositions): Map<number, FeedPosition> {
  const last = new Map<number, FeedPosition>();
  for (const position of byStream.values()) {
    const other = last.get(position.partition);
    if (!other || (position.offset ?? -1) > (other.offset ?? -1)) last.set(position.partition, position);
  }
  return last;
}

/** Whether the message is the checkpoint after the last record. */
function isLast({ stream, revision, offset, log }: FeedPosition, message: KafkaMessage): boolean {
  const { headers = {} } = message;
  return (
    Number(message.offset) === offset &&
    message.key?.toString() === stream &&
    textOf(headers, 'ce_logid') === log &&
    textOf(headers, 'ce_treesize') === `${revision + 1}`
  );
}

const textOf = (headers: IHeaders, name: string) => headers[name]?.toString();

function notThere(where: string, { stream, revision, offset }: FeedPosition): string {
  return `${where} does not have, at offset ${offset}, the checkpoint of ${stream}/${revision} that was published there: ${RECREATED}`;
}

function contradiction(why: string): FeedError {
  return new FeedError('contradiction', why);
}
