/**
 * One session of publishing, from fencing to the first failure. After any failure the session is given up. The next
 * session reads from the positions whether the last transaction was committed.
 *
 *   1. read the positions, committed or not, and compare them with the log: a relay that must not publish stops here,
 *      before it disturbs another one
 *   2. take the transactional id: Kafka aborts what an earlier relay left open, waits for what it was committing, and
 *      refuses whatever it sends from then on
 *   3. write a claim that this relay publishes now, in a transaction
 *   4. read the committed positions up to that claim: nobody else can add to them any more
 *   5. publish from there, with the records and their positions in one transaction each
 */
import { Partitioners, type Transaction } from 'kafkajs';
import { FeedError } from './feed-error.ts';
import { connectKafka, explain, type Producer, sessionProducer } from './kafka.ts';
import { Ends } from './offsets.ts';
import { checkBeforeTakeover, positionsOf, type SessionParts, takeOver } from './opening.ts';
import { type FeedPosition, type FeedPositions, positionMessage } from './positions.ts';
import type { Publication } from './publication.ts';
import { transactionalIdOf } from './settings.ts';
import { type CheckedTopics, checkTopics } from './topics.ts';

export class PublishingSession {
  readonly #parts: SessionParts;
  readonly #producer: Producer;
  readonly #checked: CheckedTopics;
  readonly #positions: FeedPositions;
  readonly #ends: Ends;
  readonly #partitionOf = Partitioners.DefaultPartitioner();

  private constructor(
    parts: SessionParts,
    producer: Producer,
    checked: CheckedTopics,
    positions: FeedPositions,
    ends: Ends,
  ) {
    this.#parts = parts;
    this.#producer = producer;
    this.#checked = checked;
    this.#positions = positions;
    this.#ends = ends;
  }

  /** @throws FeedError; DomainError, StoreError of the log */
  static async open(parts: SessionParts): Promise<PublishingSession> {
    const { settings, topics, logger, logId, findings } = parts;
    const kafka = connectKafka(settings, logger);
    // Two logs never fence each other: their ids differ.
    const producer = sessionProducer(kafka, transactionalIdOf(logId, topics));
    const ends = new Ends();
    const opening = { kafka, producer, parts, ends };
    try {
      const { createTopics: create, brokers } = settings;
      const checked = await checkTopics(kafka, topics, { create, brokers, logger, findings });
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
        await this.#ends.send(transaction, positionsOf(this.#parts.topics), messages);
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
    const { topics, findings } = this.#parts;
    const messages = placed.flatMap((one) => one.messages);
    const { first, low } = await this.#ends.send(transaction, { topic: topics.records, partition }, messages);
    if (low > 0) findings.cut(partition, low);
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
