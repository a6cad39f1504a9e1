/** What becomes of the topics of a feed, in a real broker: cut, deleted, made anew, lost. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Admin, type ITopicConfig, Kafka } from 'kafkajs';
import { describe, expect, it, vi } from 'vitest';
import type { RelaySettings } from '../../../src/relay/settings.ts';
import { ownBroker } from '../../support/kafka/broker.ts';
import { FeedReader, kafkaOf } from '../../support/kafka/feed-reader.ts';
import { feedsOf, newTopic, opening, until } from '../../support/kafka/feeds.ts';
import { published, type Relaying } from '../../support/kafka/relaying.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

/** What a topic keeps unless it is told otherwise. */
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

const positionsOf = (topic: string) => `${topic}-positions`;
const make = (one: ITopicConfig) => withAdmin((admin) => createTopic(admin, one));
const configured = (settings: Readonly<Record<string, string>>) =>
  Object.entries(settings).map(([name, value]) => ({ name, value }));

/** Resolves when each partition has a leader. The client’s own wait gives up on a topic that the broker has not heard of. */
async function createTopic(admin: Admin, one: ITopicConfig): Promise<void> {
  await admin.createTopics({ topics: [one], waitForLeaders: false });
  await until(
    () =>
      admin.fetchTopicOffsets(one.topic).then(
        (offsets) => offsets.length > 0,
        () => false,
      ),
    () => `${one.topic} has no leader`,
  );
}

/** Deletes it, and makes one of the same name. Kafka deletes when it has the time. */
async function remake(one: ITopicConfig): Promise<void> {
  await withAdmin(async (admin) => {
    await admin.deleteTopics({ topics: [one.topic] });
    await until(
      async () => !(await admin.listTopics()).includes(one.topic),
      () => `${one.topic} is there still`,
    );
    await createTopic(admin, one);
  });
}

const POSITIONS = { numPartitions: 1, configEntries: configured({ 'cleanup.policy': 'compact' }) };

/** Removes what is in the first partition before an offset. */
async function cut(topic: string, offset: number): Promise<void> {
  await withAdmin(async (admin) => {
    // The client wants to know the topic before it deletes from it.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: `${offset}` }] });
  });
}

async function lowOf(topic: string): Promise<number> {
  const [first] = await withAdmin((admin) => admin.fetchTopicOffsets(topic));
  return Number(first?.low);
}

/** Why it stops for good, when there is something to publish. */
async function stopping(one: Relaying): Promise<string> {
  await one.enrol(1);
  const why = await one.relay.run().then(
    () => 'it was told to',
    (error: Error) => error.message,
  );
  expect(one.relay.status().up).toBe(-1);
  return why;
}

/** What a reader of committed records finds in a topic of one partition. */
async function committed(topic: string): Promise<string[]> {
  const producer = kafkaOf(broker.get().address).producer();
  await producer.connect();
  await producer.send({ topic, messages: [{ key: 'end', value: 'end' }] });
  await producer.disconnect();
  const reader = await new FeedReader(broker.get().address).start(topic);
  const keys = () => [...reader.streams().keys()];
  await until(
    () => keys().includes('end'),
    () => `only ${keys()}`,
  );
  await reader.stop();
  return keys().filter((key) => key !== 'end');
}

const warnings = ({ lines }: Relaying) =>
  lines.map((line) => JSON.parse(line)).filter(({ level }) => level > 30);

describe.skipIf(broker.missing)('records that Kafka does not keep', () => {
  it('are none in a topic that the relay made, on a broker that deletes by size', async () => {
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

  it.each(['retention.ms', 'retention.bytes'])('are warned of at the start when %s ends', async (setting) => {
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
  });

  it('are told of while it publishes and at the next start, with the offset at which the topic begins', async () => {
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

    // All of it, with the checkpoint that the positions tell of.
    await cut(topic, -1);
    const third = await running(data, topic);
    await third.enrol(1);
    await published(third);
    expect(third.relay.status().up).toBe(1);
    expect(third.relay.status().cutOffsets).toBeGreaterThan(2);
  });
});

describe.skipIf(broker.missing)('the relay stops when, while it had nothing to publish,', () => {
  it('the topic of records was made anew, and leaves nothing in it', async () => {
    const topic = newTopic();
    const one = await running(newFolder(), topic);
    await one.enrol(5);
    await published(one);
    await remake({ topic, numPartitions: 1 });
    expect(await stopping(one)).toMatch(/goes on at offset 0, and had come to \d+: the topic was made anew/);
    expect(await committed(topic)).toEqual([]);
  });

  it('the topic of records was made anew with fewer partitions than the client knows', async () => {
    const topic = newTopic();
    await make({ topic, numPartitions: 16 });
    const one = await running(newFolder(), topic);
    await published(one);
    await remake({ topic, numPartitions: 1 });
    expect(await stopping(one)).toMatch(/the topic was made anew/);
    expect(await committed(topic)).toEqual([]);
  });

  it('the topic of positions was made anew', async () => {
    const topic = newTopic();
    const one = await running(newFolder(), topic);
    await published(one);
    await remake({ topic: positionsOf(topic), ...POSITIONS });
    expect(await stopping(one)).toContain(`partition 0 of ${positionsOf(topic)} goes on at offset 0`);
  });

  it('the folder of one partition was lost', async () => {
    const [data, topic] = [newFolder(), newTopic()];
    await make({ topic, numPartitions: 3 });
    const one = await running(data, topic);
    const reader = await reading(topic);
    await reader.has(one.sizes());
    const partition = reader.streams().get(one.stream)?.records[0]?.partition;
    await broker.get().kill();
    rmSync(join(broker.get().data, `${topic}-${partition}`), { recursive: true });
    await broker.get().start();
    expect(await stopping(one)).toContain(`partition ${partition} of ${topic}`);
    expect(await opening(await started(data, topic)), 'also at the next start').toContain(
      'Kafka has lost what was in it',
    );
  });
});

describe.skipIf(broker.missing)('the relay, when both topics are gone,', () => {
  it('makes them and publishes everything again', async () => {
    const topic = newTopic();
    const one = await running(newFolder(), topic);
    await one.enrol(5);
    await published(one);
    await withAdmin((admin) => admin.deleteTopics({ topics: [topic, positionsOf(topic)] }));
    await one.enrol(1);
    await until(
      () => one.lines.filter((line) => line.includes('"publishing"')).length >= 2,
      () => one.lines.join(''),
    );
    await (await reading(topic)).has(one.sizes());
  });
});

describe.skipIf(broker.missing)('the relay does not start when', () => {
  /** A log that was published into a topic of so many partitions, and the relay stopped. */
  async function fed(numPartitions = 1): Promise<{ data: string; topic: string; again(): Promise<string> }> {
    const [data, topic] = [newFolder(), newTopic()];
    await make({ topic, numPartitions });
    const one = await running(data, topic);
    await one.enrol(5);
    await stopped(one);
    return { data, topic, again: async () => opening(await started(data, topic)) };
  }

  it.each([1, 16])('the topic of records was made anew, of %i partitions before', async (numPartitions) => {
    const { topic, again } = await fed(numPartitions);
    await remake({ topic, numPartitions: 1 });
    expect(await again()).toContain('the topic was made anew');
    expect(await committed(topic)).toEqual([]);
  });

  it('the topic of records was made anew and holds a part', async () => {
    const { data, topic, again } = await fed();
    await remake({ topic, numPartitions: 1 });
    const producer = kafkaOf(broker.get().address).producer();
    await producer.connect();
    await producer.send({ topic, messages: Array(7).fill({ key: 'log', value: 'a part' }) });
    await producer.disconnect();
    expect(await again()).toMatch(/ends at offset 7, and \S+ says that it had come to \d+/);
    const elsewhere = await running(data, newTopic());
    await published(elsewhere);
  });

  it.each([
    ['records', (topic: string) => topic, /is gone, .* says up to where it was published into/],
    ['positions', positionsOf, /is gone, .* all would be published again/],
  ])('the topic of %s is gone, and does not make it', async (_, which, message) => {
    const { topic, again } = await fed();
    await withAdmin((admin) => admin.deleteTopics({ topics: [which(topic)] }));
    await until(
      () => withAdmin(async (admin) => !(await admin.listTopics()).includes(which(topic))),
      () => 'it is there still',
    );
    const said = await again();
    expect(said).toMatch(message);
    expect(said).toContain('(hint: --kafka-topic with a new topic');
    expect(await withAdmin((admin) => admin.listTopics())).not.toContain(which(topic));
  });

  it('the topic of positions was made anew', async () => {
    const { topic, again } = await fed();
    await remake({ topic: positionsOf(topic), ...POSITIONS });
    expect(await again()).toContain(
      `${positionsOf(topic)} does not say up to where: all would be published again`,
    );
  });

  it('the newest positions were lost, and the records were not', async () => {
    const { data, topic, again } = await fed();
    const more = await running(data, topic);
    await more.enrol(5);
    await stopped(more);
    // As a broker leaves it that lost what it had not flushed: the position before is the last one.
    const reader = await new FeedReader(broker.get().address).start(positionsOf(topic));
    const key = `position/${more.stream}`;
    const written = () => reader.streams().get(key)?.records ?? [];
    await until(
      () => JSON.parse(`${written().at(-1)?.value ?? '{}'}`).revision === 10,
      () => 'no positions',
    );
    await reader.stop();
    const producer = kafkaOf(broker.get().address).producer();
    await producer.connect();
    const value = written().at(-2)?.value ?? null;
    await producer.send({ topic: positionsOf(topic), messages: [{ key, value, partition: 0 }] });
    await producer.disconnect();
    expect(await again()).toMatch(
      /partition 0 of \S+ has at offset \d+ what \S+ does not tell of: positions were lost/,
    );
  });

  it('positions were cut off, even if some are left', async () => {
    const { topic, again } = await fed();
    const positions = positionsOf(topic);
    const setPolicy = (policy: string) =>
      withAdmin((admin) =>
        admin.alterConfigs({
          validateOnly: false,
          resources: [{ type: 2, name: positions, configEntries: configured({ 'cleanup.policy': policy }) }],
        }),
      );
    // Of a topic that is only compacted, Kafka lets nobody remove records.
    await setPolicy('delete');
    await cut(positions, 3);
    await setPolicy('compact');
    expect(await again()).toContain(`partition 0 of ${positions} begins at offset 3: positions were lost`);
  });
});

describe.skipIf(broker.missing)('positions', () => {
  it('that Kafka has compacted are gone on from', async () => {
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

describe.skipIf(broker.missing)('positions that version 0.1.0 committed', () => {
  /** As that version wrote them: without offsets. */
  async function asVersion010(topic: string): Promise<void> {
    const reader = await new FeedReader(broker.get().address).start(positionsOf(topic));
    const positions = () => [...reader.streams()].filter(([key]) => key.startsWith('position/'));
    await until(
      () => positions().length >= 2,
      () => 'no positions',
    );
    await reader.stop();
    const messages = positions().map(([key, { records }]) => {
      const { offset: _, ...rest } = JSON.parse(`${records.at(-1)?.value}`);
      return { key, value: JSON.stringify(rest), partition: 0 };
    });
    const producer = kafkaOf(broker.get().address).producer();
    await producer.connect();
    await producer.send({ topic: positionsOf(topic), messages });
    await producer.disconnect();
  }

  async function published010(): Promise<{ data: string; topic: string }> {
    const [data, topic] = [newFolder(), newTopic()];
    const one = await running(data, topic);
    await one.enrol(5);
    await stopped(one);
    await asVersion010(topic);
    return { data, topic };
  }

  it('are gone on from, and the topic is watched all the same', async () => {
    const { data, topic } = await published010();
    const one = await running(data, topic);
    await one.enrol(5);
    await (await reading(topic)).has(one.sizes());
    await stopped(one);
    await asVersion010(topic);
    const again = await running(data, topic);
    await remake({ topic, numPartitions: 1 });
    expect(await stopping(again)).toContain('the topic was made anew');
  });

  it('are not gone on from in a topic that holds less than they say', async () => {
    const { data, topic } = await published010();
    await remake({ topic, numPartitions: 1 });
    expect(await committed(topic)).toEqual([]);
    expect(await opening(await started(data, topic))).toMatch(
      /ends at offset 1, and .*the topic was made anew/,
    );
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

  it('is asked for again when Kafka does not answer', async () => {
    const [said] = await openingWith(failure('REQUEST_TIMED_OUT', true));
    expect(said).toContain('has cleanup.policy=compact');
  });

  it('is not left unchecked for an error of another kind', async () => {
    const [said, one] = await openingWith(failure('UNKNOWN', false));
    expect(said).toContain('it says UNKNOWN');
    expect(one.relay.status().up).toBe(0);
  });
});
