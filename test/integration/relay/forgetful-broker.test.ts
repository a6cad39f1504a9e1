/**
 * What a broker forgets, deletes and loses: whether the topics of a feed keep what is written into them, and what the relay
 * says of it. A real broker that deletes and compacts, and forgets connections and producers, in seconds.
 */
import { randomUUID } from 'node:crypto';
import { Kafka } from 'kafkajs';
import { describe, expect, it, vi } from 'vitest';
import { ownBroker } from '../../support/kafka/broker.ts';
import { kafkaOf } from '../../support/kafka/feed-reader.ts';
import {
  configured,
  feedsOf,
  newTopic,
  opening,
  positionsOf,
  published,
  until,
  warnings,
} from '../../support/kafka/feeds.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

/** What a topic keeps by default. */
const KEPT_BYTES = 100_000;
const broker = ownBroker({
  'log.retention.bytes': `${KEPT_BYTES}`,
  'log.segment.bytes': `${KEPT_BYTES}`,
  'log.retention.check.interval.ms': '200',
  'log.initial.task.delay.ms': '200',
  'log.cleaner.backoff.ms': '200',
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
const { started, running, stopped, reading, make, cut, lowOf, taken } = feedsOf(broker);

describe.skipIf(broker.missing)('the loss of records that Kafka removes', () => {
  it('does not happen in a topic that the relay created, on a broker that deletes by size', async () => {
    const [kept, deleting] = [newTopic(), newTopic()];
    const one = await running(newFolder(), kept);
    await make({ topic: deleting });
    const other = await running(newFolder(), deleting);
    // As much is cut here: the broker has looked at both.
    await until(
      async () => {
        for (const each of [one, other]) {
          await each.enrol(20);
          await published(each);
        }
        return (await lowOf(deleting)) > 0;
      },
      () => 'the broker deletes nothing',
    );
    expect(await lowOf(kept)).toBe(0);
    await (await reading(kept)).has(one.sizes());
    expect(warnings(one)).toEqual([]);
  });

  it('is warned of at the start for each setting that limits what is kept', async () => {
    const topic = newTopic();
    const limits = { 'retention.ms': '100000000', 'retention.bytes': '200000000' };
    await make({ topic, configEntries: configured(limits) });
    const one = await running(newFolder(), topic);
    const warning = ([setting, value]: string[]) => {
      const msg = expect.stringContaining(`set ${setting}=-1`);
      return expect.objectContaining({ topic, [`${setting}`]: value, msg });
    };
    expect(warnings(one)).toEqual(Object.entries(limits).map(warning));
  });

  it('is reported while it publishes and at the next start, with the offset at which the topic begins', async () => {
    const [data, topic] = [newFolder(), newTopic()];
    const first = await running(data, topic);
    await published(first);
    expect(first.relay.status().cutOffsets).toBe(0);
    await cut(topic, 2);
    for (const _ of [1, 2]) {
      await first.enrol(1);
      await published(first);
    }
    const msg = expect.stringContaining('records were cut off');
    const told = expect.objectContaining({ topic, partition: 0, firstOffset: 2, msg });
    expect(warnings(first), 'once').toEqual([told]);
    expect(first.relay.status().cutOffsets).toBe(2);
    await stopped(first);

    const second = await running(data, topic);
    await published(second);
    expect(warnings(second)).toEqual([told]);
    expect(second.relay.status()).toMatchObject({ up: 1, cutOffsets: 2 });
    await stopped(second);

    // All of it, with the checkpoint that the positions name.
    await cut(topic, -1);
    const third = await running(data, topic);
    await third.enrol(1);
    await published(third);
    expect(third.relay.status().up).toBe(1);
    expect(third.relay.status().cutOffsets).toBeGreaterThan(2);
  });
});

it.skipIf(broker.missing)('positions that Kafka has compacted are still usable', async () => {
  const [data, topic] = [newFolder(), newTopic()];
  const positions = positionsOf(topic);
  const configEntries = configured({
    ...{ 'cleanup.policy': 'compact', 'segment.ms': '100' },
    ...{ 'min.cleanable.dirty.ratio': '0.001', 'max.compaction.lag.ms': '100' },
  });
  await make({ topic: positions, numPartitions: 1, configEntries });
  const isCompacted = async () => {
    const one = await running(data, topic);
    await one.enrol(1);
    await stopped(one);
    const streams = await taken(positions, (read) => read.has('relay'));
    // The first one of all was a mark.
    return [...streams.values()].every(({ records: [first] }) => first && first.offset > 0n);
  };
  await until(isCompacted, () => 'nothing is compacted');
  expect(await lowOf(positions)).toBe(0);
  const one = await running(data, topic);
  await (await reading(topic)).has(one.sizes());
});

it.skipIf(broker.missing).each([
  ['is requested again if Kafka does not answer', 'REQUEST_TIMED_OUT', true, 'has cleanup.policy=compact'],
  ['is not left unchecked because of an error of another kind', 'UNKNOWN', false, 'it says UNKNOWN'],
])('the configuration of the topics %s', async (_, type, retriable, why) => {
  const topic = newTopic();
  await make({ topic, configEntries: configured({ 'cleanup.policy': 'compact' }) });
  const one = await started(newFolder(), topic);
  let isAsked = false;
  const { admin: makeAdmin } = Kafka.prototype;
  const makesAdmins = vi.spyOn(Kafka.prototype, 'admin').mockImplementation(function (this: Kafka, config) {
    const admin = makeAdmin.call(this, config);
    const describeConfigs: typeof admin.describeConfigs = async (request) => {
      if (isAsked) return admin.describeConfigs(request);
      isAsked = true;
      throw Object.assign(new Error(`it says ${type}`), { type, retriable });
    };
    return { ...admin, describeConfigs };
  });
  expect(await opening(one).finally(() => makesAdmins.mockRestore())).toContain(why);
  expect([isAsked, one.relay.status().up]).toEqual([true, 0]);
});

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

it.skipIf(broker.missing)(
  'a relay with nothing to publish continues after a quiet week without a single warning',
  async () => {
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
      expect(warnings(one), `after ${weeks} quiet weeks`).toEqual([]);
    }
  },
);
