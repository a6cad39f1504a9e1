/** What is wrong with the topics of the feed and does not keep the relay from publishing: told once, not at every reconnection. */
import type { Logger } from '../service/logger.ts';

export class Findings {
  readonly #topic: string;
  readonly #logger: Logger;
  readonly #told = new Set<string>();
  /** The first offset that is left, by partition. */
  readonly #firsts = new Map<number, number>();

  /** @param topic of the records */
  constructor(topic: string, logger: Logger) {
    this.#topic = topic;
    this.#logger = logger;
  }

  warn(fields: Readonly<Record<string, string | undefined>>, message: string): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.#logger.warn(fields, message);
  }

  /** A partition of the records begins at an offset that is not 0. A retention that ends cuts again and again. */
  cut(partition: number, firstOffset: number): void {
    if (!this.#firsts.has(partition))
      this.#logger.error(
        { topic: this.#topic, partition, firstOffset },
        'records were cut off: Kafka has removed the oldest ones of this partition, and who reads the topic from the beginning misses them (hint: set retention.ms=-1 and retention.bytes=-1; --kafka-topic with a new topic publishes all of the log again)',
      );
    this.#firsts.set(partition, firstOffset);
  }

  /** How many offsets are gone. */
  get cutOffsets(): number {
    return [...this.#firsts.values()].reduce((sum, first) => sum + first, 0);
  }
}
