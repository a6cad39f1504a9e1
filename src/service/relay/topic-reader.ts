/**
 * Reads the topics of a feed briefly, in a consumer group of its own. The group commits no offsets, and Kafka forgets it
 * afterwards. Joining takes 3 s by the broker's default, so one reading covers both topics.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer, Kafka, KafkaMessage } from 'kafkajs';
import { FeedError } from './feed-error.ts';
import { throwawayConsumer } from './kafka.ts';
import { FeedPositions } from './positions.ts';
import type { Topics } from './settings.ts';

/** The topic of positions uses only its first partition, so that its messages stay in order. */
export const POSITIONS_PARTITION = 0;
/** How long a reading waits for anything new. */
const SILENCE_MS = 30_000;

/** What was read of one partition. Messages that this reader may not see are left out. */
interface PartitionMessages {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly KafkaMessage[];
  /** Everything before this offset has been read. */
  readonly next: number;
}

/** Offsets of a partition. */
export interface Span {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

export class TopicReader {
  readonly #topics: Topics;
  readonly #uncommitted: boolean;
  readonly #consumer: Consumer;
  #take: (seen: PartitionMessages) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;

  /** @param uncommitted whether to read messages of uncommitted transactions too */
  constructor(kafka: Kafka, topics: Topics, { uncommitted }: { readonly uncommitted: boolean }) {
    this.#topics = topics;
    this.#uncommitted = uncommitted;
    const group = `urn-relay-${topics.records}-${randomUUID()}`;
    this.#consumer = throwawayConsumer(kafka, group, uncommitted);
    this.#consumer.on(this.#consumer.events.CRASH, ({ payload }) => this.#fail(payload.error));
    // This also reports batches without visible messages: the ends of transactions, and aborted messages.
    this.#consumer.on(this.#consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, lastOffset } = payload;
      this.#take({ topic, partition, messages: [], next: Number(lastOffset) + 1 });
    });
  }

  /**
   * Reads the topic of positions from its beginning up to a mark that was just written. Offsets do not show where the end
   * is: the markers that end a transaction take offsets too, but are never delivered. Call this first, and once.
   * @throws FeedError; DomainError if the topic holds something else; errors of the client
   */
  async positions(mark: string): Promise<FeedPositions> {
    const positions = new FeedPositions();
    // Whatever follows the mark was written by a later relay.
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
   * Reads parts of the topic of records. Not for a reading of uncommitted messages.
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
    const isAll = ({ partition, messages, next }: PartitionMessages) => {
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
    // From its end, so that nothing is read until `records` seeks.
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

  /** @param isAll whether the topic has been read far enough */
  async #until(
    topic: string,
    isAll: (seen: PartitionMessages) => boolean,
    begin: () => Promise<void>,
  ): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let isRead = false;
    const reading = new Promise<void>((resolve, reject) => {
      const restartTimer = () => {
        clearTimeout(timer);
        const silent = new FeedError('unreachable', `${topic} cannot be read to its end`);
        timer = setTimeout(() => reject(silent), SILENCE_MS);
      };
      this.#fail = reject;
      this.#take = (seen) => {
        if (seen.topic !== topic || isRead) return;
        restartTimer();
        try {
          isRead = isAll(seen);
          if (isRead) resolve();
        } catch (error) {
          reject(error);
        }
      };
      restartTimer();
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
