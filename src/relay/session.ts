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
import { Partitioners, type Transaction } from 'kafkajs';
import { FeedError } from './feed-error.ts';
import { connectKafka, explain, type Producer, sessionProducer } from './kafka.ts';
import { Ends } from './offsets.ts';
import { lookBefore, positionsOf, type SessionParts, takeOver } from './opening.ts';
import { type Position, type Positions, positionMessage } from './positions.ts';
import type { Publication } from './publication.ts';
import { transactionalIdOf } from './settings.ts';
import { type CheckedTopics, checkTopics } from './topics.ts';

export class Session {
  readonly #parts: SessionParts;
  readonly #producer: Producer;
  readonly #checked: CheckedTopics;
  readonly #positions: Positions;
  readonly #ends: Ends;
  readonly #partitionOf = Partitioners.DefaultPartitioner();

  private constructor(
    parts: SessionParts,
    producer: Producer,
    checked: CheckedTopics,
    positions: Positions,
    ends: Ends,
  ) {
    this.#parts = parts;
    this.#producer = producer;
    this.#checked = checked;
    this.#positions = positions;
    this.#ends = ends;
  }

  /** @throws FeedError; DomainError, StoreError of the log */
  static async open(parts: SessionParts): Promise<Session> {
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
      await lookBefore(opening, checked);
      return new Session(parts, producer, checked, await takeOver(opening), ends);
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
    const byPartition = new Map<number, Publication[]>();
    for (const one of publications) {
      const partition = this.#partition(one.stream);
      byPartition.set(partition, [...(byPartition.get(partition) ?? []), one]);
    }
    const positions: Position[] = [];
    try {
      const transaction = await this.#producer.transaction();
      try {
        // One partition at a time: where one of several fails, the client sends again what the others still work on.
        for (const [partition, placed] of byPartition)
          positions.push(...(await this.#sendRecords(transaction, partition, placed)));
        const messages = positions.map(positionMessage);
        await this.#ends.send(transaction, positionsOf(this.#parts.topics), messages);
      } catch (error) {
        // No other session comes to clean up, and readers would wait for its end.
        if (error instanceof FeedError && error.isFinal) await transaction.abort().catch(() => undefined);
        throw error;
      }
      await transaction.commit();
    } catch (error) {
      throw explain(error, this.#parts.settings);
    }
    for (const position of positions) this.#positions.byStream.set(position.stream, position);
  }

  /** @returns up to where the streams are published then */
  async #sendRecords(
    transaction: Transaction,
    partition: number,
    placed: readonly Publication[],
  ): Promise<Position[]> {
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

  /** Where a stream began, it stays; also when the topic has more partitions now. */
  #partition(stream: string): number {
    const known = this.#positions.byStream.get(stream)?.partition;
    if (known !== undefined) return known;
    const partitionMetadata = [...this.#checked.recordPartitions];
    const message = { key: stream, value: null };
    return this.#partitionOf({ topic: this.#parts.topics.records, partitionMetadata, message });
  }
}
