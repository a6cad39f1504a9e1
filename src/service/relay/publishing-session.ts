/**
 * One session of publishing, from fencing to the first failure. After any failure the session is given up. The next
 * session reads from the positions whether the last transaction was committed.
 *
 *   1. read the positions, committed or not, and compare them with the log: a relay that must not publish stops here,
 *      before it disturbs another one
 *   2. take the transactional id: Kafka aborts what an earlier relay left open, waits for what it was committing, and
 *      refuses whatever it sends from then on
 *   3. write a claim that this relay publishes now, in a transaction
 *   4. read the committed positions up to that claim: nobody else can add to them any more; and compare the end of each
 *      partition with them
 *   5. publish from there, with the records and their positions in one transaction each
 */
import { randomUUID } from 'node:crypto';
import { type IHeaders, type Kafka, type KafkaMessage, Partitioners, type Transaction } from 'kafkajs';
import type { Logger } from '../monitoring/logger.ts';
import type { Publication } from './batch.ts';
import { connectKafka, explain, type Producer, sessionProducer } from './kafka.ts';
import {
  claimMessage,
  type FeedPosition,
  type FeedPositions,
  type LogState,
  markMessage,
  POSITIONS_PARTITION,
  positionMessage,
  positionsProblem,
  type Span,
  TopicReader,
} from './positions.ts';
import { ANOTHER_TOPIC, FeedError, type RelaySettings, type Topics, transactionalIdOf } from './settings.ts';
import {
  type CheckedTopics,
  checkTopics,
  type Extents,
  lostPositions,
  PartitionEnds,
  POSITIONS_LOST,
  RECREATED,
  readExtents,
  type TopicFaults,
  type TopicPartition,
} from './topics.ts';

interface SessionParts {
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
  readonly faults: TopicFaults;
}

/** Begins with steps 1 to 4 (`open`); then each `publish` is step 5. */
export class PublishingSession {
  readonly #parts: SessionParts;
  readonly #producer: Producer;
  readonly #checked: CheckedTopics;
  readonly #positions: FeedPositions;
  readonly #ends: PartitionEnds;
  readonly #partitionOf = Partitioners.DefaultPartitioner();

  private constructor(
    parts: SessionParts,
    producer: Producer,
    checked: CheckedTopics,
    positions: FeedPositions,
    ends: PartitionEnds,
  ) {
    this.#parts = parts;
    this.#producer = producer;
    this.#checked = checked;
    this.#positions = positions;
    this.#ends = ends;
  }

  /** @throws FeedError; DomainError, StoreError of the log */
  static async open(parts: SessionParts): Promise<PublishingSession> {
    const { settings, topics, logger, logId, faults } = parts;
    const kafka = connectKafka(settings, logger);
    // Two logs never fence each other: their ids differ.
    const producer = sessionProducer(kafka, transactionalIdOf(logId, topics));
    const ends = new PartitionEnds();
    const opening = { kafka, producer, parts, ends };
    try {
      const { createTopics: create, brokers } = settings;
      const checked = await checkTopics(kafka, topics, { create, brokers, logger, faults });
      ends.begin(topics.positions, checked.positions);
      await producer.connect();
      await checkBeforeTakeover(opening, checked);
      return new PublishingSession(parts, producer, checked, await takeOver(opening), ends);
    } catch (error) {
      await producer.disconnect().catch(() => undefined);
      throw explain(error, settings);
    }
  }

  /** Revision of the last published record; -1 if there is none. */
  published(stream: string): number {
    return this.#positions.byStream.get(stream)?.revision ?? -1;
  }

  /**
   * Publishes all or nothing. After an error nobody knows which, so the session must be closed.
   * @throws FeedError
   */
  async publish(publications: readonly Publication[]): Promise<void> {
    const byPartition = new Map<number, Publication[]>();
    for (const one of publications) {
      const partition = this.#partition(one.stream);
      byPartition.set(partition, [...(byPartition.get(partition) ?? []), one]);
    }
    const positions: FeedPosition[] = [];
    try {
      const transaction = await this.#producer.transaction();
      try {
        // One partition at a time: if one of several fails, the client resends what the others are still working on.
        for (const [partition, placed] of byPartition)
          positions.push(...(await this.#sendRecords(transaction, partition, placed)));
        const messages = positions.map(positionMessage);
        await this.#ends.send(transaction, positionsPartition(this.#parts.topics), messages);
      } catch (error) {
        // No later session cleans up, and readers would wait for the end of the transaction.
        if (error instanceof FeedError && error.isFinal) await transaction.abort().catch(() => undefined);
        throw error;
      }
      await transaction.commit();
    } catch (error) {
      throw explain(error, this.#parts.settings);
    }
    for (const position of positions) this.#positions.byStream.set(position.stream, position);
  }

  /** @returns the new positions of the streams */
  async #sendRecords(
    transaction: Transaction,
    partition: number,
    placed: readonly Publication[],
  ): Promise<FeedPosition[]> {
    const { topics, faults } = this.#parts;
    const messages = placed.flatMap((one) => one.messages);
    const { first, low } = await this.#ends.send(transaction, { topic: topics.records, partition }, messages);
    if (low > 0) faults.cut(partition, low);
    let next = first;
    return placed.map(({ position, messages: { length } }) => {
      next += length;
      return { ...position, partition, offset: next - 1 };
    });
  }

  async close(): Promise<void> {
    await this.#producer.disconnect().catch(() => undefined);
  }

  /** A stream stays in its first partition, even if the topic has more partitions now. */
  #partition(stream: string): number {
    const known = this.#positions.byStream.get(stream)?.partition;
    if (known !== undefined) return known;
    const partitionMetadata = [...this.#checked.recordPartitions];
    const message = { key: stream, value: null };
    return this.#partitionOf({ topic: this.#parts.topics.records, partitionMetadata, message });
  }
}

/** What a session starts with. */
interface OpeningSession {
  readonly kafka: Kafka;
  readonly producer: Producer;
  readonly parts: SessionParts;
  readonly ends: PartitionEnds;
}

/** Step 1. @throws FeedError if this relay must not publish, or was fenced */
async function checkBeforeTakeover(
  { kafka, producer, parts, ends }: OpeningSession,
  checked: CheckedTopics,
): Promise<void> {
  const { topics, relayId, logId, isReopening } = parts;
  const lost = lostPositions(checked.positions, topics);
  if (lost !== undefined) throw new FeedError('contradiction', lost);
  const mark = randomUUID();
  const write = () => ends.send(producer, positionsPartition(topics), [markMessage(mark)]);
  const isEmpty = checked.positions.get(POSITIONS_PARTITION)?.high === 0;
  if (isEmpty) await write();
  // A dead relay may have left a transaction open, which blocks readers of committed records.
  const reading = new TopicReader(kafka, topics, { uncommitted: true });
  const positions = await reading.positions(mark, isEmpty ? undefined : write).finally(() => reading.close());
  await refuseContradiction(positions, parts);
  const { lastClaim } = positions;
  if (isReopening && lastClaim?.log === logId && lastClaim.relay !== relayId) throw fenced(topics);
  if (!lastClaim && !checked.wasEmpty)
    throw new FeedError(
      'contradiction',
      `there are records in ${topics.records}, but ${topics.positions} does not say how far they go: all would be published again ${ANOTHER_TOPIC}`,
    );
}

/** The partition of the positions. */
function positionsPartition({ positions }: Topics): TopicPartition {
  return { topic: positions, partition: POSITIONS_PARTITION };
}

async function refuseContradiction(positions: FeedPositions, parts: SessionParts): Promise<void> {
  const why = positionsProblem(positions, await parts.stateOfLog(positions), parts.topics);
  if (why !== undefined) throw new FeedError('contradiction', why);
}

function fenced({ records }: Topics): FeedError {
  return new FeedError(
    'fenced',
    `another relay of this log now publishes into ${records}, so this one stops (hint: run one relay for each log and topic; a service with --relay counts)`,
  );
}

/** Steps 2 to 4. Fences every other relay of this log into this topic, and reads what has been published. */
async function takeOver({ kafka, producer, parts, ends }: OpeningSession): Promise<FeedPositions> {
  const { topics, relayId, logId, faults } = parts;
  // This asks Kafka for the id, which is the fence. If it fails, this producer never sends any of it again.
  const transaction = await producer.transaction();
  const mark = randomUUID();
  const claim = claimMessage({ log: logId, relay: relayId, mark });
  await ends.send(transaction, positionsPartition(topics), [claim]);
  await transaction.commit();
  const reading = new TopicReader(kafka, topics, { uncommitted: false });
  try {
    const positions = await reading.positions(mark);
    await refuseContradiction(positions, parts);
    // Not before: while a transaction is undecided, the positions can be read, but the end of the records cannot.
    const extents = await readExtents(kafka, topics.records);
    await checkTails(reading, positions, extents, topics);
    ends.begin(topics.records, extents);
    for (const [partition, { low }] of extents) if (low > 0) faults.cut(partition, low);
    return positions;
  } finally {
    await reading.close();
  }
}

/**
 * Compares the end of each partition of the records with the positions: it must be the last checkpoint that they name,
 * with nothing after it. Offsets alone cannot show this, since aborted transactions take offsets too.
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
  const last = lastByPartition(positions);
  for (const [partition, { offset }] of last) {
    const extent = extents.get(partition);
    if (!extent)
      throw contradiction(
        `records were published into partition ${partition} of ${topics.records}, which now has ${extents.size}: ${RECREATED}`,
      );
    if (extent.high <= offset)
      throw contradiction(
        `partition ${partition} of ${topics.records} ends at offset ${extent.high}, but ${topics.positions} says that it had reached ${offset + 1}: ${RECREATED}`,
      );
  }
  const spans = new Map<number, Span>();
  const unseen = new Map<number, FeedPosition>();
  for (const [partition, { low, high }] of extents) {
    const position = last.get(partition);
    spans.set(partition, { from: Math.max(position?.offset ?? 0, low), to: high });
    if (position && position.offset >= low) unseen.set(partition, position);
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

/** The last position in each partition. */
function lastByPartition({ byStream }: FeedPositions): Map<number, FeedPosition> {
  const last = new Map<number, FeedPosition>();
  for (const position of byStream.values()) {
    const other = last.get(position.partition);
    if (!other || position.offset > other.offset) last.set(position.partition, position);
  }
  return last;
}

/** Whether the message is the checkpoint after the last record that the position names. */
function isLast({ stream, revision, offset, log }: FeedPosition, message: KafkaMessage): boolean {
  const { headers = {} } = message;
  return (
    Number(message.offset) === offset &&
    message.key?.toString() === stream &&
    headerText(headers, 'ce_logid') === log &&
    headerText(headers, 'ce_treesize') === `${revision + 1}`
  );
}

const headerText = (headers: IHeaders, name: string) => headers[name]?.toString();

function notThere(where: string, { stream, revision, offset }: FeedPosition): string {
  return `${where} does not have, at offset ${offset}, the checkpoint of ${stream}/${revision} that was published there: ${RECREATED}`;
}

function contradiction(why: string): FeedError {
  return new FeedError('contradiction', why);
}
