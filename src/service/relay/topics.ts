/**
 * Whether the topics of the feed exist, keep what is written into them, and are still the ones that were published into.
 *
 * Offsets show the last of these: they rise and never start over. A topic that was deleted and recreated, or whose folder was
 * lost, begins at 0. `lostPositions` and `checkTails` compare them when a session opens, `PartitionEnds` each time that it
 * sends.
 */
import type {
  Admin,
  ConfigResourceTypes,
  Kafka,
  Message as OutgoingMessage,
  PartitionMetadata,
  Producer,
  RecordMetadata,
} from 'kafkajs';
import type { Logger } from '../monitoring/logger.ts';
import { isForbidden } from './kafka.ts';
import { ANOTHER_TOPIC, FeedError, type Topics } from './settings.ts';

/** Forever: a consumer that subscribes years later begins at the first record. */
const KEEPS_ALL = { 'retention.ms': '-1', 'retention.bytes': '-1' };
const RECORDS_CONFIG = { 'cleanup.policy': 'delete', ...KEEPS_ALL };
/** A small segment: the newest one is never compacted, and is read at every start. */
const POSITIONS_CONFIG = { 'cleanup.policy': 'compact', 'segment.bytes': `${16 * 1024 * 1024}` };

export interface CheckedTopics {
  readonly recordPartitions: readonly PartitionMetadata[];
  /** Whether nothing had ever been written into the topic of records. */
  readonly wasEmpty: boolean;
  /** Offsets of the topic of positions. */
  readonly positions: Extents;
}

interface TopicOptions {
  /** Whether to create missing topics. */
  readonly create: boolean;
  readonly brokers: readonly string[];
  readonly logger: Logger;
  readonly faults: TopicFaults;
}

/**
 * Creates missing topics, if it may, and checks how both are configured.
 * @throws FeedError `unusable-topic`
 */
export async function checkTopics(
  kafka: Kafka,
  topics: Topics,
  options: TopicOptions,
): Promise<CheckedTopics> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    await createMissing(admin, topics, options);
    await checkConfiguration(admin, topics, options.faults);
    const metadata = await admin.fetchTopicMetadata({ topics: [topics.records] });
    return {
      recordPartitions: metadata.topics.flatMap(({ partitions }) => partitions),
      wasEmpty: isEmpty(await extentsOf(admin, topics.records)),
      positions: await extentsOf(admin, topics.positions),
    };
  } finally {
    await admin.disconnect();
  }
}

async function createMissing(
  admin: Admin,
  topics: Topics,
  { create, brokers, logger }: TopicOptions,
): Promise<void> {
  const existing = await listTopics(admin);
  const both = [topics.records, topics.positions];
  const missing = both.filter((topic) => !existing.includes(topic));
  const [other] = both.filter((topic) => existing.includes(topic));
  // A topic that is created again would lack what the other one relies on.
  if (missing.length === 1 && other !== undefined && !isEmpty(await extentsOf(admin, other)))
    throw goneTopic(topics, other);
  if (missing.length > 0 && !create) throw missingTopics(missing, topics, brokers[0] ?? '');
  for (const topic of missing) {
    const isCreated = await createTopic(admin, topic, topic === topics.positions);
    if (isCreated) logger.info({ topic }, 'topic created');
  }
}

async function listTopics(admin: Admin): Promise<string[]> {
  try {
    return await admin.listTopics();
  } catch (error) {
    // The client hides the failure, and then fails with a TypeError.
    if (!(error instanceof TypeError)) throw error;
    throw new FeedError('unreachable', 'no Kafka broker says which topics there are', error);
  }
}

/** Partitions of the records and replicas of both are the cluster's defaults. */
async function createTopic(admin: Admin, topic: string, isPositions: boolean): Promise<boolean> {
  const config = isPositions ? POSITIONS_CONFIG : RECORDS_CONFIG;
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
  const partitions = isPositions ? { numPartitions: 1 } : {};
  return admin.createTopics({ topics: [{ topic, ...partitions, configEntries }], waitForLeaders: true });
}

function goneTopic({ records, positions }: Topics, left: string): FeedError {
  const gone = 'is gone, or this user may not see it';
  const why =
    left === positions
      ? `the topic ${records} ${gone}: ${positions} says how far it had come`
      : `the topic ${positions} ${gone}: it said how far ${records} had come, and all would be published again`;
  return new FeedError('unusable-topic', `${why} ${ANOTHER_TOPIC}`);
}

function missingTopics(missing: readonly string[], topics: Topics, broker: string): FeedError {
  const commands = missing.map((topic) => {
    const isPositions = topic === topics.positions;
    const config = Object.entries(isPositions ? POSITIONS_CONFIG : RECORDS_CONFIG)
      .map(([name, value]) => `--config ${name}=${value}`)
      .join(' ');
    const partitions = isPositions ? '--partitions 1 ' : '';
    return `kafka-topics.sh --bootstrap-server ${broker} --create --topic ${topic} ${partitions}${config}`;
  });
  return new FeedError(
    'unusable-topic',
    `Kafka has no topic ${missing.join(' and no topic ')}, or does not show it to this user (hint: --create-topics creates what is missing, or: ${commands.join(' ; ')})`,
  );
}

async function checkConfiguration(admin: Admin, topics: Topics, faults: TopicFaults): Promise<void> {
  const described = await describeTopics(admin, topics).catch((error: Error) => {
    if (!isForbidden(error)) throw error;
    faults.warn(
      { why: error.message },
      'the configuration of the topics cannot be read, so whether they keep what is written is not checked (hint: allow DescribeConfigs)',
    );
    return undefined;
  });
  if (!described) return;
  const policy = described.get(topics.records)?.get('cleanup.policy');
  if (policy?.includes('compact'))
    throw new FeedError(
      'unusable-topic',
      `the topic ${topics.records} has cleanup.policy=${policy}, which keeps only the newest record of a stream (hint: set it to delete, with retention.ms=-1)`,
    );
  const positionsPolicy = described.get(topics.positions)?.get('cleanup.policy');
  if (positionsPolicy !== 'compact')
    throw new FeedError(
      'unusable-topic',
      `the topic ${topics.positions} has cleanup.policy=${positionsPolicy}, so positions would be forgotten in a quiet trial, and records published twice (hint: set it to compact)`,
    );
  for (const [setting, forever] of Object.entries(KEEPS_ALL)) {
    const value = described.get(topics.records)?.get(setting);
    if (value !== forever)
      faults.warn(
        { topic: topics.records, [setting]: value },
        `the topic does not keep records forever: later consumers miss some (hint: set ${setting}=${forever})`,
      );
  }
}

/** Node cannot import the enumeration from the client. */
const TOPIC_RESOURCE: ConfigResourceTypes.TOPIC = 2;

/** By topic and name of the setting. */
async function describeTopics(admin: Admin, topics: Topics): Promise<Map<string, Map<string, string>>> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [topics.records, topics.positions].map((name) => ({
      type: TOPIC_RESOURCE,
      name,
      configNames: Object.keys(RECORDS_CONFIG),
    })),
  });
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
}

/** Where a partition begins and ends. Only what Kafka removes moves the beginning. */
interface Extent {
  /** Offset of the first message that Kafka still has. */
  readonly low: number;
  /** Offset of the next message. */
  readonly high: number;
}

/** By partition. */
export type Extents = ReadonlyMap<number, Extent>;

/** Where each partition of a topic begins and ends, open transactions aside. */
export async function readExtents(kafka: Kafka, topic: string): Promise<Extents> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await extentsOf(admin, topic);
  } finally {
    await admin.disconnect();
  }
}

async function extentsOf(admin: Admin, topic: string): Promise<Extents> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return new Map(offsets.map(({ partition, low, high }) => [partition, { low: +low, high: +high }]));
}

function isEmpty(extents: Extents): boolean {
  return [...extents.values()].every(({ high }) => high === 0);
}

export const RECREATED = `the topic was recreated, or Kafka has lost what was in it ${ANOTHER_TOPIC}`;
export const POSITIONS_LOST = `positions were lost, and records would be published twice ${ANOTHER_TOPIC}`;

/** Why positions may be missing. Undefined: Kafka has all that was written, except what compaction removes. */
export function lostPositions(extents: Extents, { positions }: Topics): string | undefined {
  for (const [partition, { low }] of extents)
    if (low > 0) return `partition ${partition} of ${positions} begins at offset ${low}: ${POSITIONS_LOST}`;
  return undefined;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** Where Kafka has put the messages that were sent. */
interface Placement {
  /** Offset of the first message. */
  readonly first: number;
  /** The first offset of the partition. */
  readonly low: number;
}

/** A producer, or a transaction of it. */
type Sender = Pick<Producer, 'send'>;

/** The next offset of each partition, as one session knows it: nobody else writes. */
export class PartitionEnds {
  readonly #next = new Map<string, number>();

  begin(topic: string, extents: Extents): void {
    for (const [partition, { high }] of extents) this.#next.set(partitionKey(topic, partition), high);
  }

  /**
   * Sends to one partition, and checks the client's answer: the client silently leaves out a partition that it does not
   * know.
   * @throws FeedError `busy` if nothing was sent; `contradiction` if offsets started over; errors of the client
   */
  async send(
    sender: Sender,
    place: TopicPartition,
    messages: readonly OutgoingMessage[],
  ): Promise<Placement> {
    const { topic, partition } = place;
    const placed = messages.map((message) => ({ ...message, partition }));
    return this.placement(place, messages.length, await sender.send({ topic, messages: placed }));
  }

  /**
   * Where messages were put, according to the client's answer.
   * @param count how many were sent
   * @throws FeedError `busy` without such an answer; `contradiction` if offsets started over
   */
  placement(
    { topic, partition }: TopicPartition,
    count: number,
    answers: readonly RecordMetadata[],
  ): Placement {
    const answer = answers.find((one) => one.topicName === topic && one.partition === partition);
    const first = Number(answer?.baseOffset ?? -1);
    if (answer?.errorCode !== 0 || first < 0)
      throw new FeedError(
        'busy',
        `Kafka has not accepted what was sent to partition ${partition} of ${topic}`,
      );
    const key = partitionKey(topic, partition);
    const next = this.#next.get(key) ?? 0;
    if (first < next)
      throw new FeedError(
        'contradiction',
        `partition ${partition} of ${topic} continues at offset ${first}, but had reached ${next}: ${RECREATED}`,
      );
    this.#next.set(key, first + count);
    return { first, low: Math.max(0, Number(answer.logStartOffset ?? 0)) };
  }
}

const partitionKey = (topic: string, partition: number) => `${topic}/${partition}`;

/** Faults of the topics that do not stop the relay. Each is reported once, not at every reconnection. */
export class TopicFaults {
  readonly #topic: string;
  readonly #logger: Logger;
  readonly #reported = new Set<string>();
  /** The first offset that Kafka still has, by partition. */
  readonly #firsts = new Map<number, number>();

  /** @param topic the topic of records */
  constructor(topic: string, logger: Logger) {
    this.#topic = topic;
    this.#logger = logger;
  }

  warn(fields: Readonly<Record<string, string | undefined>>, message: string): void {
    if (this.#reported.has(message)) return;
    this.#reported.add(message);
    this.#logger.warn(fields, message);
  }

  /** A partition of the records begins at an offset above 0. A limited retention removes records again and again. */
  cut(partition: number, firstOffset: number): void {
    if (!this.#firsts.has(partition))
      this.#logger.error(
        { topic: this.#topic, partition, firstOffset },
        'records were cut off: Kafka has removed the oldest ones of this partition, and consumers that read the topic from the beginning miss them (hint: set retention.ms=-1 and retention.bytes=-1; a new topic with --kafka-topic gets the whole log again)',
      );
    this.#firsts.set(partition, firstOffset);
  }

  /** How many offsets Kafka has removed. */
  get cutOffsets(): number {
    return [...this.#firsts.values()].reduce((sum, first) => sum + first, 0);
  }
}
