/** Whether the topics of a feed keep what is written into them, in a real broker that deletes and compacts. */
import { Kafka } from 'kafkajs';
import { describe, expect, it, vi } from 'vitest';
import type { RelaySettings } from '../../../src/service/relay/settings.ts';
import { ownBroker } from '../../support/kafka/broker.ts';
import { FeedReader } from '../../support/kafka/feed-reader.ts';
import { feedsOf, newTopic, opening, until } from '../../support/kafka/feeds.ts';
import { published, type Relaying } from '../../support/kafka/relaying.ts';
import { configured, positionsOf, topicsOf, warnings } from '../../support/kafka/topic-changes.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

/** What a topic keeps by default. */
const KEPT_BYTES = 100_000;
const broker = ownBroker({
  'log.retention.bytes': `${KEPT_BYTES}`,
  'log.segment.bytes': `${KEPT_BYTES}`,
  'log.retention.check.interval.ms': '200',
  'log.initial.task.delay.ms': '200',
  'log.cleaner.backoff.ms': '200',
});
const newFolder = temporaryFolders();
const { started, running, stopped, reading, withAdmin } = feedsOf(broker);
const { make, cut, lowOf } = topicsOf(broker, withAdmin);

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

  it.each(['retention.ms', 'retention.bytes'])(
    'is warned of at the start if %s is limited',
    async (setting) => {
      const topic = newTopic();
      const settings = { 'retention.ms': '-1', 'retention.bytes': '-1', [setting]: '100000000' };
      await make({ topic, configEntries: configured(settings) });
      const one = await running(newFolder(), topic);
      expect(warnings(one)).toEqual([
        expect.objectContaining({
          topic,
          [setting]: '100000000',
          msg: expect.stringContaining(`set ${setting}=-1`),
        }),
      ]);
    },
  );

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
    const told = expect.objectContaining({
      topic,
      partition: 0,
      firstOffset: 2,
      msg: expect.stringContaining('records were cut off'),
    });
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

describe.skipIf(broker.missing)('positions', () => {
  it('that Kafka has compacted are still usable', async () => {
    const [data, topic] = [newFolder(), newTopic()];
    const positions = positionsOf(topic);
    const soon = {
      'segment.ms': '100',
      'min.cleanable.dirty.ratio': '0.001',
      'max.compaction.lag.ms': '100',
    };
    const configEntries = configured({ 'cleanup.policy': 'compact', ...soon });
    await make({ topic: positions, numPartitions: 1, configEntries });
    const isCompacted = async () => {
      const one = await running(data, topic);
      await one.enrol(1);
      await stopped(one);
      const reader = await new FeedReader(broker.get().address).start(positions);
      await until(
        () => reader.streams().has('relay'),
        () => 'nobody relays',
      );
      await reader.stop();
      // The first one of all was a mark.
      return [...reader.streams().values()].every(({ records: [first] }) => first && first.offset > 0n);
    };
    await until(isCompacted, () => 'nothing is compacted');
    expect(await lowOf(positions)).toBe(0);
    const one = await running(data, topic);
    await (await reading(topic)).has(one.sizes());
  });
});

describe.skipIf(broker.missing)('the configuration of the topics', () => {
  /** Has Kafka's answer to the question for it be an error, once. */
  async function openingWith(
    error: Error,
    settings: Partial<RelaySettings> = {},
  ): Promise<[string, Relaying]> {
    const topic = newTopic();
    await make({ topic, configEntries: configured({ 'cleanup.policy': 'compact' }) });
    const one = await started(newFolder(), topic, settings);
    let isAsked = false;
    const { admin: makeAdmin } = Kafka.prototype;
    const makesAdmins = vi.spyOn(Kafka.prototype, 'admin').mockImplementation(function (this: Kafka, config) {
      const admin = makeAdmin.call(this, config);
      const describeConfigs: typeof admin.describeConfigs = async (request) => {
        if (isAsked) return admin.describeConfigs(request);
        isAsked = true;
        throw error;
      };
      return { ...admin, describeConfigs };
    });
    try {
      return [await opening(one), one];
    } finally {
      makesAdmins.mockRestore();
      expect(isAsked).toBe(true);
    }
  }

  const failure = (type: string, retriable: boolean) =>
    Object.assign(new Error(`it says ${type}`), { type, retriable });

  it('is requested again if Kafka does not answer', async () => {
    const [said] = await openingWith(failure('REQUEST_TIMED_OUT', true));
    expect(said).toContain('has cleanup.policy=compact');
  });

  it('is not left unchecked because of an error of another kind', async () => {
    const [said, one] = await openingWith(failure('UNKNOWN', false));
    expect(said).toContain('it says UNKNOWN');
    expect(one.relay.status().up).toBe(0);
  });
});
