/**
 * One session of publishing, from fencing to the first failure. Whatever fails, the session is given up: whether a
 * transaction was committed is told by the positions, which the next session reads.
 *
 *   1. read the positions, committed or not, and hold the log against them: a relay that must not publish stops here,
 *      before it disturbs another one
 *   2. take the transactional id: Kafka aborts what an earlier relay left open, waits for what it was committing, and
 *      refuses whatever it sends from then on
 *   3. say who relays now, in a transaction
 *   4. read the positions, committed ones alone, up to that: nobody can add to them any more
 *   5. publish from there on, records and positions in one transaction each
 */
import { randomUUID } from 'node:crypto';
import { type Kafka, type Message, Partitioners } from 'kafkajs';
import type { Logger } from '../logger.ts';
import { FeedError } from './feed-error.ts';
import { connectKafka, explain, type Producer, sessionProducer } from './kafka.ts';
import type { FeedMessage } from './messages.ts';
import {
  contradiction,
  type LogState,
  markMessage,
  type Position,
  type Positions,
  positionMessage,
  relayMessage,
} from './positions.ts';
import { POSITIONS_PARTITION, readPositions } from './read-positions.ts';
import { type RelaySettings, type Topics, transactionalIdOf } from './settings.ts';
import { type CheckedTopics, checkTopics, isEmptyTopic } from './topics.ts';

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
}

/** What one transaction says of one stream. */
export interface Publication {
  readonly stream: string;
  readonly messages: readonly FeedMessage[];
  readonly position: Omit<Position, 'partition'>;
}

export class Session {
  readonly #parts: SessionParts;
  readonly #producer: Producer;
  readonly #checked: CheckedTopics;
  readonly #positions: Positions;
  readonly #partitionOf = Partitioners.DefaultPartitioner();

  private constructor(parts: SessionParts, producer: Producer, checked: CheckedTopics, positions: Positions) {
    this.#parts = parts;
    this.#producer = producer;
    this.#checked = checked;
    this.#positions = positions;
  }

  /** @throws FeedError; DomainError, StoreError of the log */
  static async open(parts: SessionParts): Promise<Session> {
    const { settings, topics, logger, logId } = parts;
    const kafka = connectKafka(settings, logger);
    // Two logs never fence each other: their ids differ.
    const producer = sessionProducer(kafka, transactionalIdOf(logId, topics));
    try {
      const { createTopics: create, brokers } = settings;
      const checked = await checkTopics(kafka, topics, { create, brokers, logger });
      await producer.connect();
      await lookBefore(kafka, producer, parts, checked);
      return new Session(parts, producer, checked, await takeOver(kafka, producer, parts));
    } catch (error) {
      await producer.disconnect().catch(() => undefined);
      throw explain(error, settings);
    }
  }

  /** Revision of the last record that is published; -1 for none. */
  published(stream: string): number {
    return this.#positions.byStream.get(stream)?.revision ?? -1;
  }

  /**
   * Publishes all of it or nothing. After an error it is not known which: the session is to be closed.
   * @throws FeedError
   */
  async publish(publications: readonly Publication[]): Promise<void> {
    const { topics, settings } = this.#parts;
    const byPartition = new Map<number, Message[]>();
    const positions: Position[] = [];
    for (const { stream, messages, position } of publications) {
      const partition = this.#partition(stream);
      const placed = byPartition.get(partition) ?? [];
      byPartition.set(partition, placed);
      for (const one of messages) placed.push({ ...one, partition });
      positions.push({ ...position, partition });
    }
    try {
      const transaction = await this.#producer.transaction();
      // One partition at a time: where one of several fails, the client sends again what the others still work on.
      for (const [, messages] of byPartition) await transaction.send({ topic: topics.records, messages });
      await transaction.send({
        topic: topics.positions,
        messages: positions.map((position) => ({
          ...positionMessage(position),
          partition: POSITIONS_PARTITION,
        })),
      });
      await transaction.commit();
    } catch (error) {
      throw explain(error, settings);
    }
    for (const position of positions) this.#positions.byStream.set(position.stream, position);
  }

  async close(): Promise<void> {
    await this.#producer.disconnect().catch(() => undefined);
  }

  /** Where a stream began, it stays; also when the topic has more partitions now. */
  #partition(stream: string): number {
    const known = this.#positions.byStream.get(stream)?.partition;
    if (known !== undefined) return known;
    const partitionMetadata = [...this.#checked.recordPartitions];
    const message = { key: stream, value: null };
    return this.#partitionOf({ topic: this.#parts.topics.records, partitionMetadata, message });
  }
}

/** @throws FeedError when this relay must not publish, or was fenced */
async function lookBefore(
  kafka: Kafka,
  producer: Producer,
  parts: SessionParts,
  { wasEmpty }: CheckedTopics,
): Promise<void> {
  const { topics, relayId, logId, isReopening } = parts;
  const mark = randomUUID();
  const messages = [{ ...markMessage(mark), partition: POSITIONS_PARTITION }];
  await producer.send({ topic: topics.positions, messages });
  // A dead relay can have left a transaction open, behind which no reader of committed records gets.
  const positions = await readPositions(kafka, { topics, mark, uncommitted: true });
  await refuse(positions, parts);
  const { relay } = positions;
  if (isReopening && relay?.log === logId && relay.relay !== relayId) throw fenced(topics);
  if (!relay && !wasEmpty)
    throw new FeedError(
      'contradiction',
      `there are records in ${topics.records}, and ${topics.positions} does not say up to where: all would be published again (hint: --kafka-topic with a new topic)`,
    );
}

/** Fences every other relay of this log into this topic, and reads what is published. */
async function takeOver(kafka: Kafka, producer: Producer, parts: SessionParts): Promise<Positions> {
  const { topics, relayId, logId } = parts;
  // Asks Kafka for the id: the fence. Nothing of it is ever sent again by this producer, if it fails.
  const transaction = await producer.transaction();
  const mark = randomUUID();
  const messages = [
    { ...relayMessage({ log: logId, relay: relayId, mark }), partition: POSITIONS_PARTITION },
  ];
  await transaction.send({ topic: topics.positions, messages });
  await transaction.commit();
  const positions = await readPositions(kafka, { topics, mark, uncommitted: false });
  await refuse(positions, parts);
  // Only now: of a transaction that is not decided, the positions can be read and the end of the records cannot.
  if (positions.byStream.size > 0 && (await isEmptyTopic(kafka, topics.records)))
    throw new FeedError(
      'contradiction',
      `${topics.positions} says what was published, but nothing is in ${topics.records}: the topic was made anew (hint: --kafka-topic with a new topic, into which all of the log is published)`,
    );
  return positions;
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
