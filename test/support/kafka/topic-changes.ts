/** What tests do to the topics of a feed, and what they find in them. */
import type { Admin, ITopicConfig, Message } from 'kafkajs';
import { expect } from 'vitest';
import type { Broker } from './apache-kafka.ts';
import type { BrokerOfFile } from './broker.ts';
import { type FedStream, FeedReader, kafkaOf } from './feed-reader.ts';
import { until } from './feeds.ts';
import type { Relaying } from './relaying.ts';

type Read = ReadonlyMap<string, FedStream>;

export const positionsOf = (topic: string) => `${topic}-positions`;
export const configured = (settings: Readonly<Record<string, string>>) =>
  Object.entries(settings).map(([name, value]) => ({ name, value }));
export const POSITIONS = { numPartitions: 1, configEntries: configured({ 'cleanup.policy': 'compact' }) };

/** Why it stops for good when there is something to publish. */
export async function stopping(one: Relaying): Promise<string> {
  await one.enrol(1);
  const why = await one.relay.run().then(
    () => 'it was told to',
    (error: Error) => error.message,
  );
  expect(one.relay.status().up).toBe(-1);
  return why;
}

export function topicsOf(
  broker: BrokerOfFile<Broker>,
  withAdmin: <T>(use: (admin: Admin) => Promise<T>) => Promise<T>,
) {
  const make = (one: ITopicConfig) => withAdmin((admin) => createTopic(admin, one));

  /** Deletes the topic, and creates one of the same name. Kafka deletes when it has time. */
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

  /** Removes what is in the first partition before an offset. */
  async function cut(topic: string, offset: number): Promise<void> {
    await withAdmin(async (admin) => {
      // The client must know the topic before it deletes from it.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: `${offset}` }] });
    });
  }

  async function lowOf(topic: string): Promise<number> {
    const [first] = await withAdmin((admin) => admin.fetchTopicOffsets(topic));
    return Number(first?.low);
  }

  async function send(topic: string, messages: Message[]): Promise<void> {
    const producer = kafkaOf(broker.get().address).producer();
    await producer.connect();
    await producer.send({ topic, messages });
    await producer.disconnect();
  }

  /** What a reader of committed records has found in a topic once it has found enough. */
  async function taken(topic: string, isEnough: (read: Read) => boolean): Promise<Read> {
    const reader = await new FeedReader(broker.get().address).start(topic);
    await until(
      () => isEnough(reader.streams()),
      () => `only ${[...reader.streams().keys()]}`,
    );
    await reader.stop();
    return reader.streams();
  }

  /** The keys of what is committed in a topic of one partition. */
  async function committed(topic: string): Promise<string[]> {
    await send(topic, [{ key: 'end', value: 'end' }]);
    const keys = [...(await taken(topic, (read) => read.has('end'))).keys()];
    return keys.filter((key) => key !== 'end');
  }

  return { make, remake, cut, lowOf, send, taken, committed };
}

/** Resolves when each partition has a leader. The client’s own wait gives up on a topic that the broker does not know yet. */
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
