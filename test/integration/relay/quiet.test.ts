/** A trial without participants for a week, in seconds: a real broker that forgets connections and producers quickly. */
import { randomUUID } from 'node:crypto';
import { Kafka } from 'kafkajs';
import { describe, expect, it, vi } from 'vitest';
import { ownBroker } from '../../support/kafka/broker.ts';
import { kafkaOf } from '../../support/kafka/feed-reader.ts';
import { feedsOf, newTopic, until } from '../../support/kafka/feeds.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const broker = ownBroker({
  // Ten minutes by default in Kafka.
  'connections.max.idle.ms': '1000',
  // Seven days.
  'transactional.id.expiration.ms': '3000',
  'transaction.remove.expired.transaction.cleanup.interval.ms': '200',
  // One day.
  'producer.id.expiration.ms': '2000',
  'producer.id.expiration.check.interval.ms': '200',
});
const newFolder = temporaryFolders();
const { running, reading } = feedsOf(broker);

/** Waits until the broker has forgotten every producer of a topic: then it writes a record without a value. */
async function forgotten(topic: string): Promise<void> {
  const consumer = kafkaOf(broker.get().address).consumer({ groupId: `urn-test-${randomUUID()}` });
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: ['__transaction_state'], fromBeginning: true });
    let isForgotten = false;
    await consumer.run({
      eachMessage: async ({ message: { key, value } }) => {
        if (key?.includes(topic)) isForgotten = value === null;
      },
    });
    await until(
      () => isForgotten,
      () => 'the broker has not forgotten the relay',
    );
  } finally {
    await consumer.disconnect();
  }
}

describe.skipIf(broker.missing)('a relay with nothing to publish', () => {
  it('continues after a quiet week without a single warning', async () => {
    const topic = newTopic();
    // The client asks for the topics again every five minutes.
    const { producer: make } = Kafka.prototype;
    const makesProducers = vi.spyOn(Kafka.prototype, 'producer').mockImplementation(function (
      this: Kafka,
      config,
    ) {
      return make.call(this, { ...config, metadataMaxAge: 1000 });
    });
    const one = await running(newFolder(), topic).finally(() => makesProducers.mockRestore());
    const reader = await reading(topic);
    await reader.has(one.sizes());
    for (const weeks of [1, 2]) {
      await forgotten(topic);
      await one.enrol(3);
      await reader.has(one.sizes());
      const alarms = one.lines.filter((line) => JSON.parse(line).level > 30);
      expect(alarms, `after ${weeks} quiet weeks`).toEqual([]);
    }
  });
});
