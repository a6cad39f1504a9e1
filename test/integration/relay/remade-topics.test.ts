/** Topics of a feed that are deleted, recreated or lost while a relay runs, in a real broker; and what 0.1.0 left in them. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ownBroker } from '../../support/kafka/broker.ts';
import { FeedReader, kafkaOf } from '../../support/kafka/feed-reader.ts';
import { feedsOf, newTopic, opening, until } from '../../support/kafka/feeds.ts';
import { published } from '../../support/kafka/relaying.ts';
import { POSITIONS, positionsOf, stopping, topicsOf } from '../../support/kafka/topic-changes.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const broker = ownBroker();
const newFolder = temporaryFolders();
const { started, running, stopped, reading, withAdmin } = feedsOf(broker);
const { make, remake, committed } = topicsOf(broker, withAdmin);

describe.skipIf(broker.missing)('the relay stops if, while it had nothing to publish,', () => {
  it('the topic of records was recreated, and leaves nothing in it', async () => {
    const topic = newTopic();
    const one = await running(newFolder(), topic);
    await one.enrol(5);
    await published(one);
    await remake({ topic, numPartitions: 1 });
    expect(await stopping(one)).toMatch(
      /continues at offset 0, but had reached \d+: the topic was recreated/,
    );
    expect(await committed(topic)).toEqual([]);
  });

  it('the topic of records was recreated with fewer partitions than the client knows', async () => {
    const topic = newTopic();
    await make({ topic, numPartitions: 16 });
    const one = await running(newFolder(), topic);
    await published(one);
    await remake({ topic, numPartitions: 1 });
    expect(await stopping(one)).toMatch(/the topic was recreated/);
    expect(await committed(topic)).toEqual([]);
  });

  it('the topic of positions was recreated', async () => {
    const topic = newTopic();
    const one = await running(newFolder(), topic);
    await published(one);
    await remake({ topic: positionsOf(topic), ...POSITIONS });
    expect(await stopping(one)).toContain(`partition 0 of ${positionsOf(topic)} continues at offset 0`);
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

describe.skipIf(broker.missing)('the relay, if both topics are gone,', () => {
  it('creates them and publishes everything again', async () => {
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

  it('are continued from, and the topic is still watched', async () => {
    const { data, topic } = await published010();
    const one = await running(data, topic);
    await one.enrol(5);
    await (await reading(topic)).has(one.sizes());
    await stopped(one);
    await asVersion010(topic);
    const again = await running(data, topic);
    await remake({ topic, numPartitions: 1 });
    expect(await stopping(again)).toContain('the topic was recreated');
  });

  it('are not continued from in a topic that contains less than they say', async () => {
    const { data, topic } = await published010();
    await remake({ topic, numPartitions: 1 });
    expect(await committed(topic)).toEqual([]);
    expect(await opening(await started(data, topic))).toMatch(
      /ends at offset 1, but .*the topic was recreated/,
    );
  });
});
