/** Faults of the topics that do not stop the relay. Each is reported once, not at every reconnection. */
import type { Logger } from '../monitoring/logger.ts';

export class Findings {
  readonly #topic: string;
  readonly #logger: Logger;
  readonly #reported = new Set<string>();
  /** The first offset that Kafka still has, by partition. */
  readonly #firsts = new Map<number, number>();

  /** @param topic the topic of records */
  constructor(topic: string, logger: Logger) {
    this.#topic = topic;
    this.#logger = logger;
  }

  warn(fields: Readonly<Record<string, string | undefined>>, message: string): void {
    if (this.#reported.has(message)) return;
    this.#reported.add(message);
    this.#logger.warn(fields, message);
  }

  /** A partition of the records begins at an offset above 0. A limited retention removes records again and again. */
  cut(partition: number, firstOffset: number): void {
    if (!this.#firsts.has(partition))
      this.#logger.error(
        { topic: this.#topic, partition, firstOffset },
        'records were cut off: Kafka has removed the oldest ones of this partition, and consumers that read the topic from the beginning miss them (hint: set retention.ms=-1 and retention.bytes=-1; a new topic with --kafka-topic gets the whole log again)',
      );
    this.#firsts.set(partition, firstOffset);
  }

  /** How many offsets Kafka has removed. */
  get cutOffsets(): number {
    return [...this.#firsts.values()].reduce((sum, first) => sum + first, 0);
  }
}
