/**
 * Reads the topics of a feed for a moment, in a consumer group of its own: it commits no offsets, and Kafka forgets it
 * when it is left. Joining takes 3 s by the broker's default, so that one reading is for both topics.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer, Kafka, KafkaMessage } from 'kafkajs';
import { FeedError } from './feed-error.ts';
import { throwawayConsumer } from './kafka.ts';
import { Positions } from './positions.ts';
import type { Topics } from './settings.ts';

/** All that is in the topic of positions is in its first partition, where one record overtakes no other. */
export const POSITIONS_PARTITION = 0;
/** Without anything new. */
const SILENCE_MS = 30_000;

/** What was read of one partition; what is not shown to this reader is left out. */
interface Seen {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly KafkaMessage[];
  /** All before this offset has been read. */
  readonly next: number;
}

/** Offsets of a partition. */
export interface Span {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

export class Reading {
  readonly #topics: Topics;
  readonly #uncommitted: boolean;
  readonly #consumer: Consumer;
  #take: (seen: Seen) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;

  /** @param uncommitted whether it is shown what is of transactions that are not committed, too */
  constructor(kafka: Kafka, topics: Topics, { uncommitted }: { readonly uncommitted: boolean }) {
    this.#topics = topics;
    this.#uncommitted = uncommitted;
    const group = `urn-relay-${topics.records}-${randomUUID()}`;
    this.#consumer = throwawayConsumer(kafka, group, uncommitted);
    this.#consumer.on(this.#consumer.events.CRASH, ({ payload }) => this.#fail(payload.error));
    // Told also of batches of which nothing is shown: the ends of transactions, and what was aborted.
    this.#consumer.on(this.#consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, lastOffset } = payload;
      this.#take({ topic, partition, messages: [], next: Number(lastOffset) + 1 });
    });
  }

  /**
   * Reads the topic of positions from its beginning up to a mark that was just written. Offsets do not tell where the
   * end is: the records that end a transaction take some, too, and are delivered to nobody. To be called first, once.
   * @throws FeedError; DomainError when something else stands there; errors of the client
   */
  async positions(mark: string): Promise<Positions> {
    const positions = new Positions();
    // What comes behind the mark is of somebody who came later.
    const isMark = ({ key, value }: KafkaMessage) =>
      positions.take(key?.toString(), value?.toString()) === mark;
    await this.#until(
      this.#topics.positions,
      ({ partition, messages }) => partition === POSITIONS_PARTITION && messages.some(isMark),
      () => this.#run(),
    );
    return positions;
  }

  /**
   * Reads parts of the topic of records. Not for a reading of what is uncommitted.
   * @param spans by partition
   * @throws what `take` throws; FeedError; errors of the client
   */
  async records(
    spans: ReadonlyMap<number, Span>,
    take: (partition: number, message: KafkaMessage) => void,
  ): Promise<void> {
    const topic = this.#topics.records;
    const left = new Map([...spans].filter(([, { from, to }]) => from < to));
    if (left.size === 0) return;
    const isAll = ({ partition, messages, next }: Seen) => {
      const span = left.get(partition);
      if (!span) return false;
      for (const message of messages)
        if (Number(message.offset) >= span.from && Number(message.offset) < span.to) take(partition, message);
      if (next >= span.to) left.delete(partition);
      return left.size === 0;
    };
    await this.#until(topic, isAll, async () => {
      for (const [partition, { from }] of left) this.#consumer.seek({ topic, partition, offset: `${from}` });
    });
  }

  async close(): Promise<void> {
    await this.#consumer.disconnect().catch(() => undefined);
  }

  async #run(): Promise<void> {
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [this.#topics.positions], fromBeginning: true });
    // Nothing of it is read before it is asked for: from its end, where nothing is.
    if (!this.#uncommitted)
      await this.#consumer.subscribe({ topics: [this.#topics.records], fromBeginning: false });
    await this.#consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        const { topic, partition, messages } = batch;
        this.#take({ topic, partition, messages, next: Number(batch.lastOffset()) + 1 });
      },
    });
  }

  /** @param isAll whether nothing more of the topic is needed */
  async #until(topic: string, isAll: (seen: Seen) => boolean, begin: () => Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let isRead = false;
    const reading = new Promise<void>((resolve, reject) => {
      const waitOn = () => {
        clearTimeout(timer);
        const silent = new FeedError('unreachable', `${topic} cannot be read to its end`);
        timer = setTimeout(() => reject(silent), SILENCE_MS);
      };
      this.#fail = reject;
      this.#take = (seen) => {
        if (seen.topic !== topic || isRead) return;
        waitOn();
        try {
          isRead = isAll(seen);
          if (isRead) resolve();
        } catch (error) {
          reject(error);
        }
      };
      waitOn();
      begin().catch(reject);
    });
    try {
      await reading;
    } finally {
      isRead = true;
      clearTimeout(timer);
    }
  }
}
