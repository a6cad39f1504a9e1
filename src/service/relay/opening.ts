/** The steps before a session publishes (session.ts): they find out whether it may, and from where. */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import type { Logger } from '../monitoring/logger.ts';
import { ANOTHER_TOPIC, FeedError } from './feed-error.ts';
import type { Findings } from './findings.ts';
import type { Producer } from './kafka.ts';
import { type Ends, lostPositions, type TopicPartition } from './offsets.ts';
import { claimMessage, contradiction, type FeedPositions, type LogState, markMessage } from './positions.ts';
import type { RelaySettings, Topics } from './settings.ts';
import { checkTails } from './tails.ts';
import { POSITIONS_PARTITION, TopicReader } from './topic-reader.ts';
import { type CheckedTopics, readExtents } from './topics.ts';

export interface SessionParts {
  readonly settings: RelaySettings;
  readonly topics: Topics;
  readonly logger: Logger;
  readonly logId: string;
  /** Id of this run of the relay. */
  readonly relayId: string;
  /** Whether it held the transactional id before. If so, the id of another relay in the positions means that it was fenced. */
  readonly isReopening: boolean;
  /** The log, at least up to the positions. */
  stateOfLog(positions: FeedPositions): Promise<LogState>;
  readonly findings: Findings;
}

/** What a session starts with. */
export interface SessionStart {
  readonly kafka: Kafka;
  readonly producer: Producer;
  readonly parts: SessionParts;
  readonly ends: Ends;
}

/** @throws FeedError if this relay must not publish, or was fenced */
export async function checkBeforeTakeover(
  { kafka, producer, parts, ends }: SessionStart,
  checked: CheckedTopics,
): Promise<void> {
  const { topics, relayId, logId, isReopening } = parts;
  const lost = lostPositions(checked.positions, topics);
  if (lost !== undefined) throw new FeedError('contradiction', lost);
  const mark = randomUUID();
  await ends.send(producer, positionsOf(topics), [markMessage(mark)]);
  // A dead relay may have left a transaction open, which blocks readers of committed records.
  const reading = new TopicReader(kafka, topics, { uncommitted: true });
  const positions = await reading.positions(mark).finally(() => reading.close());
  await refuseContradiction(positions, parts);
  const { lastClaim } = positions;
  if (isReopening && lastClaim?.log === logId && lastClaim.relay !== relayId) throw fenced(topics);
  if (!lastClaim && !checked.wasEmpty)
    throw new FeedError(
      'contradiction',
      `there are records in ${topics.records}, but ${topics.positions} does not say how far they go: all would be published again ${ANOTHER_TOPIC}`,
    );
}

/** Fences every other relay of this log into this topic, and reads what has been published. */
export async function takeOver({ kafka, producer, parts, ends }: SessionStart): Promise<FeedPositions> {
  const { topics, relayId, logId, findings } = parts;
  // This asks Kafka for the id, which is the fence. If it fails, this producer never sends any of it again.
  const transaction = await producer.transaction();
  const mark = randomUUID();
  const claim = claimMessage({ log: logId, relay: relayId, mark });
  await ends.send(transaction, positionsOf(topics), [claim]);
  await transaction.commit();
  const reading = new TopicReader(kafka, topics, { uncommitted: false });
  try {
    const positions = await reading.positions(mark);
    await refuseContradiction(positions, parts);
    // Not before: while a transaction is undecided, the positions can be read, but the end of the records cannot.
    const extents = await readExtents(kafka, topics.records);
    await checkTails(reading, positions, extents, topics);
    ends.begin(topics.records, extents);
    for (const [partition, { low }] of extents) if (low > 0) findings.cut(partition, low);
    return positions;
  } finally {
    await reading.close();
  }
}

export function positionsOf({ positions }: Topics): TopicPartition {
  return { topic: positions, partition: POSITIONS_PARTITION };
}

async function refuseContradiction(positions: FeedPositions, parts: SessionParts): Promise<void> {
  const why = contradiction(positions, await parts.stateOfLog(positions), parts.topics);
  if (why !== undefined) throw new FeedError('contradiction', why);
}

function fenced({ records }: Topics): FeedError {
  return new FeedError(
    'fenced',
    `another relay of this log now publishes into ${records}, so this one stops (hint: run one relay for each log and topic; a service with --relay counts)`,
  );
}
