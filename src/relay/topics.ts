/** The topics of a feed: whether they are there, and keep what is written into them. */
import type { Admin, ConfigResourceTypes, Kafka, PartitionMetadata } from 'kafkajs';
import type { Logger } from '../logger.ts';
import { FeedError } from './feed-error.ts';
import type { Topics } from './settings.ts';

export interface CheckedTopics {
  readonly recordPartitions: readonly PartitionMetadata[];
  /** Nothing had ever been written into the topic of records. */
  readonly wasEmpty: boolean;
}

/** For ever: who subscribes years later begins at the first record. */
const RECORDS_CONFIG = { 'cleanup.policy': 'delete', 'retention.ms': '-1' };
/** The newest segment is never compacted, and is read at each start. */
const POSITIONS_CONFIG = { 'cleanup.policy': 'compact', 'segment.bytes': `${16 * 1024 * 1024}` };

/** @throws FeedError `unusable-topic` */
export async function checkTopics(
  kafka: Kafka,
  topics: Topics,
  { create, brokers, logger }: { create: boolean; brokers: readonly string[]; logger: Logger },
): Promise<CheckedTopics> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const existing = await admin.listTopics();
    const missing = [topics.records, topics.positions].filter((topic) => !existing.includes(topic));
    if (missing.length > 0 && !create) throw missingTopics(missing, topics, brokers[0] ?? '');
    for (const topic of missing) {
      await createTopic(admin, topic, topic === topics.positions);
      logger.info({ topic }, 'topic created');
    }
    await checkConfiguration(admin, topics, logger);
    const metadata = await admin.fetchTopicMetadata({ topics: [topics.records] });
    return {
      recordPartitions: metadata.topics.flatMap(({ partitions }) => partitions),
      wasEmpty: await isEmpty(admin, topics.records),
    };
  } finally {
    await admin.disconnect();
  }
}

/** Whether nothing was ever written into a topic, open transactions aside. */
export async function isEmptyTopic(kafka: Kafka, topic: string): Promise<boolean> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await isEmpty(admin, topic);
  } finally {
    await admin.disconnect();
  }
}

async function isEmpty(admin: Admin, topic: string): Promise<boolean> {
  const ends = await admin.fetchTopicOffsets(topic);
  return ends.every(({ high }) => high === '0');
}

/** Partitions of the records and replicas of both are the cluster's defaults. */
async function createTopic(admin: Admin, topic: string, isPositions: boolean): Promise<void> {
  const config = isPositions ? POSITIONS_CONFIG : RECORDS_CONFIG;
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
  const partitions = isPositions ? { numPartitions: 1 } : {};
  await admin.createTopics({ topics: [{ topic, ...partitions, configEntries }], waitForLeaders: true });
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
    `Kafka has no topic ${missing.join(' and no topic ')} (hint: --create-topics makes what is missing, or: ${commands.join(' ; ')})`,
  );
}

async function checkConfiguration(admin: Admin, topics: Topics, logger: Logger): Promise<void> {
  const described = await describe(admin, topics).catch((error: Error) => {
    logger.warn(
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
  const retention = described.get(topics.records)?.get('retention.ms');
  if (retention !== '-1')
    logger.warn(
      { topic: topics.records, retentionMs: retention },
      'the topic forgets records after a time: whoever reads it later than that misses them (hint: set retention.ms=-1)',
    );
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
      configNames: ['cleanup.policy', 'retention.ms'],
    })),
  });
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
}
