/** Logs with a relay in this process, readers of what it publishes, and what tests do to the topics of a feed. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Admin, ITopicConfig, Message } from 'kafkajs';
import { pino } from 'pino';
import { afterEach, expect } from 'vitest';
import type { Logger } from '../../../src/service/monitoring/logger.ts';
import { openLog } from '../../../src/service/open/open-log.ts';
import type { Relay } from '../../../src/service/relay/relay.ts';
import { makeRelay } from '../../../src/service/relay/relay.ts';
import type { RelaySettings } from '../../../src/service/relay/settings.ts';
import { CONFIGURATION, OPERATOR, randomize } from '../facts.ts';
import type { Broker } from './apache-kafka.ts';
import type { BrokerOfFile } from './broker.ts';
import { type FedStream, FeedReader, kafkaOf } from './feed-reader.ts';

export type Relaying = Awaited<ReturnType<typeof relaying>>;

export function settingsFor(address: string, topic: string): RelaySettings {
  return {
    ...{ brokers: [address], topic, createTopics: true },
    ...{ content: 'blinded', tls: undefined, sasl: undefined },
  };
}

/** Opens the log, with its study registered, and makes a relay that is not started. */
async function relaying(data: string, settings: RelaySettings) {
  /** Messages of the relay's log. */
  const lines: string[] = [];
  const logger: Logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  let relay: Relay | undefined;
  const log = await openLog({ data }, OPERATOR, { onFolded: (stream) => relay?.folded(stream) });
  try {
    await log.rebuild();
    log.runner.follow();
    const stream = log.studies.streamOf(CONFIGURATION.name);
    if (!log.gate.rollback()) await log.studies.register(CONFIGURATION, undefined, OPERATOR);
    const made = makeRelay(log, settings, OPERATOR, logger);
    relay = made;
    const enrol = async (count: number) => {
      const first = log.runner.revision(stream);
      const commands = Array.from({ length: count }, (_, i) => randomize(`participant-${first + i}`));
      await Promise.all(commands.map((command) => log.studies.submit(stream, command, OPERATOR)));
    };
    const sizes = () => new Map(log.runner.streams().map((name) => [name, log.runner.revision(name) + 1]));
    const close = async () => {
      await made.stop();
      await log.close();
    };
    return { data, log, relay: made, lines, stream, enrol, sizes, close };
  } catch (error) {
    await log.close();
    throw error;
  }
}

export const published = ({ relay, lines }: Relaying) =>
  until(
    () => relay.status().lagRecords === 0,
    () => lines.join(''),
  );

/** Lines of the relay's output that need attention. */
export const warnings = ({ lines }: Relaying) =>
  lines.map((line) => JSON.parse(line)).filter(({ level }) => level > 30);

type Read = ReadonlyMap<string, FedStream>;

export const positionsOf = (topic: string) => `${topic}-positions`;
export const configured = (settings: Readonly<Record<string, string>>) =>
  Object.entries(settings).map(([name, value]) => ({ name, value }));
export const POSITIONS = { numPartitions: 1, configEntries: configured({ 'cleanup.policy': 'compact' }) };

/** Why it stops for good when there is something to publish. */
export async function stopping(one: Relaying): Promise<string> {
  await one.enrol(1);
  const why = await endOf(one.relay.run(), 'it was told to');
  expect(one.relay.status().up).toBe(-1);
  return why;
}

let topics = 0;
export const newTopic = () => `feed-${process.pid}-${Date.now()}-${++topics}`;

/** Closed after each test. */
export function feedsOf(broker: BrokerOfFile<Broker>) {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });

  /** A relay that is not open yet. */
  async function started(data: string, topic: string, more: Partial<RelaySettings> = {}) {
    const made = await relaying(data, { ...settingsFor(broker.get().address, topic), ...more });
    open.push(made);
    return made;
  }

  /** Like `started`, but running. */
  async function running(data: string, topic: string, more: Partial<RelaySettings> = {}) {
    const made = await started(data, topic, more);
    await made.relay.open();
    void made.relay.run().catch(() => undefined);
    return made;
  }

  /** Closes it once everything is published. */
  async function stopped(one: Relaying): Promise<void> {
    await published(one);
    await one.close();
    open.splice(open.indexOf(one), 1);
  }

  async function reading(topic: string): Promise<FeedReader> {
    const reader = await new FeedReader(broker.get().address).start(topic);
    open.push({ close: () => reader.stop() });
    return reader;
  }

  async function withAdmin<T>(use: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = kafkaOf(broker.get().address).admin();
    await admin.connect();
    try {
      return await use(admin);
    } finally {
      await admin.disconnect();
    }
  }

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

  return {
    ...{ started, running, stopped, reading, withAdmin },
    ...{ make, remake, cut, lowOf, send, taken, committed },
  };
}

export const opening = (one: Relaying): Promise<string> => endOf(one.relay.open(), 'opened');

const endOf = (work: Promise<unknown>, well: string) =>
  work.then(
    () => well,
    (error: Error) => error.message,
  );

/** Waits until it is so. @throws Error when it takes too long, with what `explain` says then */
export async function until(isSo: () => boolean | Promise<boolean>, explain: () => string) {
  for (const deadline = Date.now() + 60_000; !(await isSo()); await delay(25))
    if (Date.now() > deadline) throw new Error(`it is not so, still: ${explain()}`);
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
