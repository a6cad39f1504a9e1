/**
 * Topics of a feed that are recreated, missing or without positions, when a relay starts and while it runs, in a real
 * broker; and what 0.1.0 left in them.
 */
import { describe, expect, it } from 'vitest';
import { sharedBroker } from '../../support/kafka/broker.ts';
import { feedsOf, newTopic, opening, until } from '../../support/kafka/feeds.ts';
import { published } from '../../support/kafka/relaying.ts';
import { configured, POSITIONS, positionsOf, stopping, topicsOf } from '../../support/kafka/topic-changes.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const broker = sharedBroker();
const newFolder = temporaryFolders();
const { started, running, stopped, reading, withAdmin } = feedsOf(broker);
const { make, remake, cut, send, taken, committed } = topicsOf(broker, withAdmin);

/** A log that was published into a topic with this many partitions; the relay has stopped. */
async function fed(numPartitions = 1): Promise<{ data: string; topic: string; again(): Promise<string> }> {
  const [data, topic] = [newFolder(), newTopic()];
  await make({ topic, numPartitions });
  const one = await running(data, topic);
  await one.enrol(5);
  await stopped(one);
  return { data, topic, again: async () => opening(await started(data, topic)) };
}

const topicNames = () => withAdmin((admin) => admin.listTopics());

describe.skipIf(broker.missing)('the relay does not start when', () => {
  it.each([1, 16])('the topic of records was recreated, with %i partitions before', async (numPartitions) => {
    const { topic, again } = await fed(numPartitions);
    await remake({ topic, numPartitions: 1 });
    expect(await again()).toContain('the topic was recreated');
    expect(await committed(topic)).toEqual([]);
  });

  it('the topic of records was recreated and contains a part of them', async () => {
    const { data, topic, again } = await fed();
    await remake({ topic, numPartitions: 1 });
    await send(topic, Array(7).fill({ key: 'log', value: 'a part' }));
    expect(await again()).toMatch(/ends at offset 7, but \S+ says that it had reached \d+/);
    await published(await running(data, newTopic()));
  });

  it.each([
    ['records', (topic: string) => topic, /is gone, .* says how far it had come/],
    ['positions', positionsOf, /is gone, .* all would be published again/],
  ])('the topic of %s is gone, and it does not create it', async (_, which, message) => {
    const { topic, again } = await fed();
    await withAdmin((admin) => admin.deleteTopics({ topics: [which(topic)] }));
    await until(
      async () => !(await topicNames()).includes(which(topic)),
      () => 'it is there still',
    );
    const said = await again();
    expect(said).toMatch(message);
    expect(said).toContain('(hint: name a new topic with --kafka-topic');
    expect(await topicNames()).not.toContain(which(topic));
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
    const key = `position/${more.stream}`;
    const streams = await taken(
      positionsOf(topic),
      (read) => JSON.parse(`${read.get(key)?.records.at(-1)?.value ?? '{}'}`).revision === 10,
    );
    const value = streams.get(key)?.records.at(-2)?.value ?? null;
    await send(positionsOf(topic), [{ key, value, partition: 0 }]);
    expect(await again()).toMatch(
      /partition 0 of \S+ has a message at offset \d+ that \S+ does not know of: positions were lost/,
    );
  });

  it('the oldest positions were deleted, even if some are left', async () => {
    const { topic, again } = await fed();
    const name = positionsOf(topic);
    const setPolicy = (policy: string) => {
      const configEntries = configured({ 'cleanup.policy': policy });
      const change = { validateOnly: false, resources: [{ type: 2, name, configEntries }] };
      return withAdmin((admin) => admin.alterConfigs(change));
    };
    // Kafka lets nobody delete records of a topic that is only compacted.
    await setPolicy('delete');
    await cut(name, 3);
    await setPolicy('compact');
    expect(await again()).toContain(`partition 0 of ${name} begins at offset 3: positions were lost`);
  });
});

describe.skipIf(broker.missing)('the relay stops if, while it had nothing to publish,', () => {
  it.each([
    ['recreated', undefined, 5, /continues at offset 0, but had reached \d+: the topic was recreated/],
    ['recreated with fewer partitions than the client knows', 16, 0, /the topic was recreated/],
  ])('the topic of records was %s, and leaves nothing in it', async (_, numPartitions, count, why) => {
    const topic = newTopic();
    if (numPartitions !== undefined) await make({ topic, numPartitions });
    const one = await running(newFolder(), topic);
    await one.enrol(count);
    await published(one);
    await remake({ topic, numPartitions: 1 });
    expect(await stopping(one)).toMatch(why);
    expect(await committed(topic)).toEqual([]);
  });

  it('the topic of positions was recreated', async () => {
    const topic = newTopic();
    const one = await running(newFolder(), topic);
    await published(one);
    await remake({ topic: positionsOf(topic), ...POSITIONS });
    expect(await stopping(one)).toContain(`partition 0 of ${positionsOf(topic)} continues at offset 0`);
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
  const isPosition = ([key]: readonly [string, unknown]) => key.startsWith('position/');

  /** As that version wrote them: without offsets. */
  async function asVersion010(topic: string): Promise<void> {
    const streams = await taken(positionsOf(topic), (read) => [...read].filter(isPosition).length >= 2);
    const messages = [...streams].filter(isPosition).map(([key, { records }]) => {
      const { offset: _, ...rest } = JSON.parse(`${records.at(-1)?.value}`);
      return { key, value: JSON.stringify(rest), partition: 0 };
    });
    await send(positionsOf(topic), messages);
  }

  it('are continued from, and the topic is still watched', async () => {
    const { data, topic } = await fed();
    await asVersion010(topic);
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
    const { topic, again } = await fed();
    await asVersion010(topic);
    await remake({ topic, numPartitions: 1 });
    expect(await committed(topic)).toEqual([]);
    expect(await again()).toMatch(/ends at offset 1, but .*the topic was recreated/);
  });
});
