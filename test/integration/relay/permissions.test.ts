/** What the relay's user may do in a real broker with permissions, and what the relay says when that is too little. */
import kafkajs, { type AclEntry } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { KAFKA_USER } from '../../support/kafka/apache-kafka.ts';
import { brokerWithPermissions } from '../../support/kafka/broker.ts';
import { feedsOf, newTopic, opening } from '../../support/kafka/feeds.ts';
import { published, type Relaying, warnings } from '../../support/kafka/relaying.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

const broker = brokerWithPermissions();
const newFolder = temporaryFolders();
const { started, reading, withAdmin } = feedsOf(broker);

type Operation = 'READ' | 'WRITE' | 'DESCRIBE' | 'DESCRIBE_CONFIGS' | 'CREATE';
const ON_TOPICS: readonly Operation[] = ['READ', 'WRITE', 'DESCRIBE', 'DESCRIBE_CONFIGS'];

/** As docs/feed.md lists it. */
async function permit(topic: string, onTopics: readonly Operation[]): Promise<void> {
  const entry = (resourceType: number, resourceName: string, operation: Operation): AclEntry => ({
    principal: `User:${KAFKA_USER.username}`,
    host: '*',
    resourceType,
    resourceName,
    resourcePatternType: ResourcePatternTypes.PREFIXED,
    operation: AclOperationTypes[operation],
    permissionType: AclPermissionTypes.ALLOW,
  });
  const acl = [
    ...onTopics.map((operation) => entry(AclResourceTypes.TOPIC, topic, operation)),
    entry(AclResourceTypes.TRANSACTIONAL_ID, 'urn-relay-', 'WRITE'),
    entry(AclResourceTypes.TRANSACTIONAL_ID, 'urn-relay-', 'DESCRIBE'),
    entry(AclResourceTypes.GROUP, `urn-relay-${topic}-`, 'READ'),
  ];
  await withAdmin((admin) => admin.createAcls({ acl }));
}

async function asRelay(topic: string, createTopics = true): Promise<Relaying> {
  const { saslAddress = '' } = broker.get();
  return started(newFolder(), topic, {
    brokers: [saslAddress],
    sasl: { mechanism: 'plain', ...KAFKA_USER },
    createTopics,
  });
}

describe.skipIf(broker.missing)("the relay's user", () => {
  it('needs no more than the documentation says', async () => {
    const topic = newTopic();
    await permit(topic, [...ON_TOPICS, 'CREATE']);
    const one = await asRelay(topic);
    expect(await opening(one)).toBe('opened');
    void one.relay.run();
    await one.enrol(5);
    await published(one);
    await (await reading(topic)).has(one.sizes());
    expect(warnings(one)).toEqual([]);
  });

  it('is warned that the topics cannot be checked, and continues, if it may not read their configuration', async () => {
    const topic = newTopic();
    await permit(topic, ['READ', 'WRITE', 'DESCRIBE', 'CREATE']);
    const one = await asRelay(topic);
    expect(await opening(one)).toBe('opened');
    expect(warnings(one)).toEqual([
      expect.objectContaining({ msg: expect.stringContaining('(hint: allow DescribeConfigs)') }),
    ]);
  });

  it('is told where to look if it may not write', async () => {
    const topic = newTopic();
    await permit(topic, ['READ', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'CREATE']);
    expect(await opening(await asRelay(topic))).toMatch(/Kafka denies permission: .*docs\/feed\.md lists/);
  });

  it('is told that permissions may be the reason if it cannot see a topic', async () => {
    const topic = newTopic();
    const others = await started(newFolder(), topic);
    expect(await opening(others)).toBe('opened');
    await permit(topic, []);
    expect(await opening(await asRelay(topic, false))).toMatch(
      /has no topic .*, or does not show it to this user/,
    );
    expect(await opening(await asRelay(topic, true))).toMatch(
      /Kafka denies permission: .*docs\/feed\.md lists/,
    );
  });
});
