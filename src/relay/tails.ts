/**
 * What stands at the end of each partition of the records, held against the positions: the last checkpoint that they
 * tell of, and nothing behind it. Offsets alone do not tell, since transactions that were given up take some, too.
 */
import type { IHeaders, KafkaMessage } from 'kafkajs';
import { FeedError } from './feed-error.ts';
import { type Extents, lostRecords, MADE_ANEW, POSITIONS_LOST } from './offsets.ts';
import type { Position, Positions } from './positions.ts';
import type { Reading, Span } from './reading.ts';
import type { Topics } from './settings.ts';

/**
 * @param reading of committed messages
 * @param extents of the topic of records
 * @throws FeedError `contradiction`; errors of the reading
 */
export async function checkTails(
  reading: Pick<Reading, 'records'>,
  positions: Positions,
  extents: Extents,
  topics: Topics,
): Promise<void> {
  const lost = lostRecords(positions, extents, topics);
  if (lost !== undefined) throw contradiction(lost);
  const last = lastByPartition(positions);
  const spans = new Map<number, Span>();
  const unseen = new Map<number, Position>();
  for (const [partition, { low, high }] of extents) {
    const position = last.get(partition);
    const offset = position ? position.offset : 0;
    // Version 0.1.0 did not say where the end is.
    if (offset === undefined) continue;
    spans.set(partition, { from: Math.max(offset, low), to: high });
    if (position && offset >= low) unseen.set(partition, position);
  }
  await reading.records(spans, (partition, message) => {
    const position = unseen.get(partition);
    const where = `partition ${partition} of ${topics.records}`;
    if (position === undefined)
      throw contradiction(
        `${where} has at offset ${message.offset} what ${topics.positions} does not tell of: ${POSITIONS_LOST}`,
      );
    if (!isLast(position, message)) throw contradiction(notThere(where, position));
    unseen.delete(partition);
  });
  for (const [partition, position] of unseen)
    throw contradiction(notThere(`partition ${partition} of ${topics.records}`, position));
}

/** With offset, where one is known of the partition. */
function lastByPartition({ byStream }: Positions): Map<number, Position> {
  const last = new Map<number, Position>();
  for (const position of byStream.values()) {
    const other = last.get(position.partition);
    if (!other || (position.offset ?? -1) > (other.offset ?? -1)) last.set(position.partition, position);
  }
  return last;
}

/** Whether it is the checkpoint behind the last record. */
function isLast({ stream, revision, offset, log }: Position, message: KafkaMessage): boolean {
  const { headers = {} } = message;
  return (
    Number(message.offset) === offset &&
    message.key?.toString() === stream &&
    textOf(headers, 'ce_logid') === log &&
    textOf(headers, 'ce_treesize') === `${revision + 1}`
  );
}

const textOf = (headers: IHeaders, name: string) => headers[name]?.toString();

function notThere(where: string, { stream, revision, offset }: Position): string {
  return `${where} does not have at offset ${offset} the checkpoint of ${stream}/${revision}, which was published there: ${MADE_ANEW}`;
}

function contradiction(why: string): FeedError {
  return new FeedError('contradiction', why);
}
