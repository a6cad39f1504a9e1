/** The steps before a session publishes anything (session.ts): whether it may, and from where on. */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import type { Logger } from '../service/logger.ts';
import { ANOTHER_TOPIC, FeedError } from './feed-error.ts';
import type { Findings } from './findings.ts';
import type { Producer } from './kafka.ts';
import { type Ends, lostPositions, type Place } from './offsets.ts';
import { contradiction, type LogState, markMessage, type Positions, relayMessage } from './positions.ts';
import { POSITIONS_PARTITION, Reading } from './reading.ts';
import type { RelaySettings, Topics } from './settings.ts';
import { checkTails } from './tails.ts';
import { type CheckedTopics, readExtents } from './topics.ts';

export interface SessionParts {
  readonly settings: RelaySettings;
  readonly topics: Topics;
  readonly logger: Logger;
  readonly logId: string;
  /** Of this run of the relay. */
  readonly relayId: string;
  /** Whether it took the transactional id before: then another one's id in the positions means that it was fenced. */
  readonly isReopening: boolean;
  /** The log, at least as far as the positions say that it was published. */
  stateOfLog(positions: Positions): Promise<LogState>;
  readonly findings: Findings;
}

/** What a session has when it begins. */
export interface Opening {
  readonly kafka: Kafka;
  readonly producer: Producer;
  readonly parts: SessionParts;
  readonly ends: Ends;
}

/** @throws FeedError when this relay must not publish, or was fenced */
export async function lookBefore(
  { kafka, producer, parts, ends }: Opening,
  checked: CheckedTopics,
): Promise<void> {
  const { topics, relayId, logId, isReopening } = parts;
  const lost = lostPositions(checked.positions, topics);
  if (lost !== undefined) throw new FeedError('contradiction', lost);
  const mark = randomUUID();
  await ends.send(producer, positionsOf(topics), [markMessage(mark)]);
  // A dead relay can have left a transaction open, behind which no reader of committed records gets.
  const reading = new Reading(kafka, topics, { uncommitted: true });
  const positions = await reading.positions(mark).finally(() => reading.close());
  await refuse(positions, parts);
  const { relay } = positions;
  if (isReopening && relay?.log === logId && relay.relay !== relayId) throw fenced(topics);
  if (!relay && !checked.wasEmpty)
    throw new FeedError(
      'contradiction',
      `there are records in ${topics.records}, and ${topics.positions} does not say up to where: all would be published again ${ANOTHER_TOPIC}`,
    );
}

/** Fences every other relay of this log into this topic, and reads what is published. */
export async function takeOver({ kafka, producer, parts, ends }: Opening): Promise<Positions> {
  const { topics, relayId, logId, findings } = parts;
  // Asks Kafka for the id: the fence. Nothing of it is ever sent again by this producer, if it fails.
  const transaction = await producer.transaction();
  const mark = randomUUID();
  const who = relayMessage({ log: logId, relay: relayId, mark });
  await ends.send(transaction, positionsOf(topics), [who]);
  await transaction.commit();
  const reading = new Reading(kafka, topics, { uncommitted: false });
  try {
    const positions = await reading.positions(mark);
    await refuse(positions, parts);
    // Only now: of a transaction that is not decided, the positions can be read and the end of the records cannot.
    const extents = await readExtents(kafka, topics.records);
    await checkTails(reading, positions, extents, topics);
    ends.begin(topics.records, extents);
    for (const [partition, { low }] of extents) if (low > 0) findings.cut(partition, low);
    return positions;
  } finally {
    await reading.close();
  }
}

export function positionsOf({ positions }: Topics): Place {
  return { topic: positions, partition: POSITIONS_PARTITION };
}

async function refuse(positions: Positions, parts: SessionParts): Promise<void> {
  const why = contradiction(positions, await parts.stateOfLog(positions), parts.topics);
  if (why !== undefined) throw new FeedError('contradiction', why);
}

function fenced({ records }: Topics): FeedError {
  return new FeedError(
    'fenced',
    `another relay of this log publishes into ${records} now, and this one stops (hint: one relay for each log and topic; a service with --relay is one)`,
  );
}
