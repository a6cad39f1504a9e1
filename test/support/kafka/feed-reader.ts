/**
 * A consumer of a feed, written as docs/feed.md advises: it reads only committed records. It keeps everything by partition
 * and offset, so that what Kafka delivers twice (after a rebalance) is distinguished from what is there twice.
 */
import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';

export interface Fed {
  readonly partition: number;
  readonly offset: bigint;
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export interface FedStream {
  readonly records: readonly Fed[];
  readonly checkpoints: readonly Fed[];
}

export function kafkaOf(address: string): Kafka {
  return new Kafka({
    clientId: 'urn-test',
    brokers: [address],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 5000,
    retry: { initialRetryTime: 50, maxRetryTime: 1000, retries: 50 },
  });
}

export class FeedReader {
  readonly #byPlace = new Map<string, Fed>();
  readonly #consumer;

  constructor(address: string) {
    this.#consumer = kafkaOf(address).consumer({
      groupId: `urn-test-${randomUUID()}`,
      readUncommitted: false,
      // Until then, the broker answers only if something has arrived.
      maxWaitTimeInMs: 500,
      allowAutoTopicCreation: false,
    });
  }

  async start(topic: string): Promise<this> {
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [topic], fromBeginning: true });
    await this.#consumer.run({
      eachMessage: async ({ partition, message: { offset, key, value, headers = {} } }) => {
        this.#byPlace.set(`${partition}/${offset}`, {
          partition,
          offset: BigInt(offset),
          key: key?.toString() ?? '',
          value: value ?? Buffer.alloc(0),
          headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, `${text}`])),
        });
      },
    });
    return this;
  }

  async stop(): Promise<void> {
    await this.#consumer.disconnect();
  }

  /** By stream, in the order of the offsets. @throws AssertionError if a stream is in two partitions */
  streams(): Map<string, FedStream> {
    const all = [...this.#byPlace.values()].sort((a, b) =>
      a.partition === b.partition ? Number(a.offset - b.offset) : a.partition - b.partition,
    );
    const streams = new Map<string, { records: Fed[]; checkpoints: Fed[] }>();
    const partitions = new Map<string, number>();
    for (const one of all) {
      const known = partitions.get(one.key) ?? one.partition;
      assert.equal(known, one.partition, `${one.key} is in two partitions`);
      partitions.set(one.key, one.partition);
      const stream = streams.get(one.key) ?? { records: [], checkpoints: [] };
      streams.set(one.key, stream);
      if (one.headers['ce_type'] === 'urn.checkpoint.v1') stream.checkpoints.push(one);
      else stream.records.push(one);
    }
    return streams;
  }

  /**
   * Checks what was read so far against the guarantee: no gap, no duplicate, in order, by stream.
   * @returns the number of records of each stream
   * @throws AssertionError
   */
  check(): Map<string, number> {
    const sizes = new Map<string, number>();
    for (const [name, { records }] of this.streams()) {
      const revisions = records.map(({ headers }) => Number(headers['ce_revision']));
      assert.deepEqual(
        revisions,
        revisions.map((_, i) => i),
        `${name} has a gap, a duplicate or another order`,
      );
      sizes.set(name, records.length);
    }
    return sizes;
  }

  /** Waits until each stream has as many records. @throws Error when it takes too long; AssertionError as `check` */
  async has(sizes: ReadonlyMap<string, number>, withinMs = 30_000): Promise<void> {
    let before = -1;
    const isThere = () => {
      if (this.#byPlace.size === before) return false;
      before = this.#byPlace.size;
      const read = this.check();
      return [...sizes].every(([stream, size]) => (read.get(stream) ?? 0) >= size);
    };
    for (const deadline = Date.now() + withinMs; !isThere(); await delay(25))
      if (Date.now() > deadline)
        throw new Error(
          `not in the feed: ${JSON.stringify([...sizes])}, but ${JSON.stringify([...this.check()])}`,
        );
    assert.deepEqual([...this.check()].sort(), [...sizes].sort());
  }
}
