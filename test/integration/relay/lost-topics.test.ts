/** Topics of a feed that a relay finds recreated, missing, or without positions when it starts, in a real broker. */
import { describe, expect, it } from 'vitest';
import { sharedBroker } from '../../support/kafka/broker.ts';
import { FeedReader, kafkaOf } from '../../support/kafka/feed-reader.ts';
import { feedsOf, newTopic, opening, until } from '../../support/kafka/feeds.ts';
import { published } from '../../support/kafka/relaying.ts';
import { configured, POSITIONS, positionsOf, topicsOf } from '../../support/kafka/topic-changes.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const broker = sharedBroker();
const newFolder = temporaryFolders();
const { started, running, stopped, withAdmin } = feedsOf(broker);
const { make, remake, cut, committed } = topicsOf(broker, withAdmin);

describe.skipIf(broker.missing)('the relay does not start when', () => {
  /** A log that was published into a topic with this many partitions; the relay has stopped. */
  async function fed(numPartitions = 1): Promise<{ data: string; topic: string; again(): Promise<string> }> {
    const [data, topic] = [newFolder(), newTopic()];
    await make({ topic, numPartitions });
    const one = await running(data, topic);
    await one.enrol(5);
    await stopped(one);
    return { data, topic, again: async () => opening(await started(data, topic)) };
  }

  it.each([1, 16])('the topic of records was recreated, with %i partitions before', async (numPartitions) => {
    const { topic, again } = await fed(numPartitions);
    await remake({ topic, numPartitions: 1 });
    expect(await again()).toContain('the topic was recreated');
    expect(await committed(topic)).toEqual([]);
  });

  it('the topic of records was recreated and contains a part of them', async () => {
    const { data, topic, again } = await fed();
    await remake({ topic, numPartitions: 1 });
    const producer = kafkaOf(broker.get().address).producer();
    await producer.connect();
    await producer.send({ topic, messages: Array(7).fill({ key: 'log', value: 'a part' }) });
    await producer.disconnect();
    expect(await again()).toMatch(/ends at offset 7, but \S+ says that it had reached \d+/);
    const elsewhere = await running(data, newTopic());
    await published(elsewhere);
  });

  it.each([
    ['records', (topic: string) => topic, /is gone, .* says how far it had come/],
    ['positions', positionsOf, /is gone, .* all would be published again/],
  ])('the topic of %s is gone, and it does not create it', async (_, which, message) => {
    const { topic, again } = await fed();
    await withAdmin((admin) => admin.deleteTopics({ topics: [which(topic)] }));
    await until(
      () => withAdmin(async (admin) => !(await admin.listTopics()).includes(which(topic))),
      () => 'it is there still',
    );
    const said = await again();
    expect(said).toMatch(message);
    expect(said).toContain('(hint: name a new topic with --kafka-topic');
    expect(await withAdmin((admin) => admin.listTopics())).not.toContain(which(topic));
  });

  it('the topic of positions was recreated', async () => {
    const { topic, again } = await fed();
    await remake({ topic: positionsOf(topic), ...POSITIONS });
    expect(await again()).toContain(
      `${positionsOf(topic)} does not say how far they go: all would be published again`,
    );
  });

  it('the newest positions were lost but the records were not', async () => {
    const { data, topic, again } = await fed();
    const more = await running(data, topic);
    await more.enrol(5);
    await stopped(more);
    // As if the broker had lost what it had not flushed: the position before is the last one.
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
      /partition 0 of \S+ has a message at offset \d+ that \S+ does not know of: positions were lost/,
    );
  });

  it('the oldest positions were deleted, even if some are left', async () => {
    const { topic, again } = await fed();
    const positions = positionsOf(topic);
    const setPolicy = (policy: string) =>
      withAdmin((admin) =>
        admin.alterConfigs({
          validateOnly: false,
          resources: [{ type: 2, name: positions, configEntries: configured({ 'cleanup.policy': policy }) }],
        }),
      );
    // Kafka lets nobody delete records of a topic that is only compacted.
    await setPolicy('delete');
    await cut(positions, 3);
    await setPolicy('compact');
    expect(await again()).toContain(`partition 0 of ${positions} begins at offset 3: positions were lost`);
  });
});
