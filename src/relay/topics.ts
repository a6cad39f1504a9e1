/** The topics of a feed: whether they are there, and keep what is written into them. */
import type { Admin, ConfigResourceTypes, Kafka, PartitionMetadata } from 'kafkajs';
import type { Logger } from '../service/logger.ts';
import { ANOTHER_TOPIC, FeedError } from './feed-error.ts';
import type { Findings } from './findings.ts';
import { isForbidden } from './kafka.ts';
import type { Extents } from './offsets.ts';
import type { Topics } from './settings.ts';

export interface CheckedTopics {
  readonly recordPartitions: readonly PartitionMetadata[];
  /** Nothing had ever been written into the topic of records. */
  readonly wasEmpty: boolean;
  /** Of the topic of positions. */
  readonly positions: Extents;
}

/** For ever: who subscribes years later begins at the first record. */
const KEEPS_ALL = { 'retention.ms': '-1', 'retention.bytes': '-1' };
const RECORDS_CONFIG = { 'cleanup.policy': 'delete', ...KEEPS_ALL };
/** The newest segment is never compacted, and is read at each start. */
const POSITIONS_CONFIG = { 'cleanup.policy': 'compact', 'segment.bytes': `${16 * 1024 * 1024}` };

interface Making {
  /** Whether to make what is missing. */
  readonly create: boolean;
  readonly brokers: readonly string[];
  readonly logger: Logger;
  readonly findings: Findings;
}

/** @throws FeedError `unusable-topic` */
export async function checkTopics(kafka: Kafka, topics: Topics, making: Making): Promise<CheckedTopics> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    await makeMissing(admin, topics, making);
    await checkConfiguration(admin, topics, making.findings);
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

async function makeMissing(admin: Admin, topics: Topics, { create, brokers, logger }: Making): Promise<void> {
  const existing = await listTopics(admin);
  const both = [topics.records, topics.positions];
  const missing = both.filter((topic) => !existing.includes(topic));
  const [other] = both.filter((topic) => existing.includes(topic));
  // Of the two, one that is made anew would lack what the other one rests on.
  if (missing.length === 1 && other !== undefined && !isEmpty(await extentsOf(admin, other)))
    throw goneTopic(topics, other);
  if (missing.length > 0 && !create) throw missingTopics(missing, topics, brokers[0] ?? '');
  for (const topic of missing) {
    const isMade = await createTopic(admin, topic, topic === topics.positions);
    if (isMade) logger.info({ topic }, 'topic created');
  }
}

async function listTopics(admin: Admin): Promise<string[]> {
  try {
    return await admin.listTopics();
  } catch (error) {
    // The client hides what failed, and trips over it.
    if (!(error instanceof TypeError)) throw error;
    throw new FeedError('unreachable', 'no broker of Kafka says which topics there are', error);
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
  const gone = 'is gone, or is not shown to this user';
  const why =
    left === positions
      ? `the topic ${records} ${gone}: ${positions} says up to where it was published into`
      : `the topic ${positions} ${gone}: it said up to where ${records} was published into, and all would be published again`;
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
    `Kafka has no topic ${missing.join(' and no topic ')}, or does not show it to this user (hint: --create-topics makes what is missing, or: ${commands.join(' ; ')})`,
  );
}

async function checkConfiguration(admin: Admin, topics: Topics, findings: Findings): Promise<void> {
  const described = await describe(admin, topics).catch((error: Error) => {
    if (!isForbidden(error)) throw error;
    findings.warn(
      { why: error.message },
      'the configuration of the topics cannot be read: that they keep what is written is not checked (hint: allow DescribeConfigs)',
    );
    return undefined;
  });
  if (!described) return;
  const policy = described.get(topics.records)?.get('cleanup.policy');
  if (policy?.includes('compact'))
    throw new FeedError(
      'unusable-topic',
      `the topic ${topics.records} has cleanup.policy=${policy}, which keeps the newest record of a stream alone (hint: set it to delete, with retention.ms=-1)`,
    );
  const positionsPolicy = described.get(topics.positions)?.get('cleanup.policy');
  if (positionsPolicy !== 'compact')
    throw new FeedError(
      'unusable-topic',
      `the topic ${topics.positions} has cleanup.policy=${positionsPolicy}, so that positions would be forgotten in a quiet trial, and records published twice (hint: set it to compact)`,
    );
  for (const [setting, forEver] of Object.entries(KEEPS_ALL)) {
    const value = described.get(topics.records)?.get(setting);
    if (value !== forEver)
      findings.warn(
        { topic: topics.records, [setting]: value },
        `the topic does not keep records for ever: whoever reads it later misses some (hint: set ${setting}=${forEver})`,
      );
  }
}

/** Node does not find the enumeration among the names that the client exports. */
const TOPIC: ConfigResourceTypes.TOPIC = 2;

/** By topic and name of the setting. */
async function describe(admin: Admin, topics: Topics): Promise<Map<string, Map<string, string>>> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [topics.records, topics.positions].map((name) => ({
      type: TOPIC,
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
