/**
 * The feed in a real broker: what a consumer of committed records gets, and when the relay refuses to publish; topics that
 * are recreated, missing or without positions, when a relay starts and while it runs; and what the relay's user may do in a
 * broker with permissions, and what the relay says when that is too little.
 */
import { createHash, randomUUID } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import kafkajs, { type AclEntry, Kafka } from 'kafkajs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { leafHash } from '../../../events/record.ts';
import { openCheckpoint, parseVerifierKey } from '../../../src/core/log/signing.ts';
import { MOST_RECORDS } from '../../../src/service/relay/batch.ts';
import { OPERATOR } from '../../support/facts.ts';
import { KAFKA_USER } from '../../support/kafka/apache-kafka.ts';
import { sharedBroker, strictBroker } from '../../support/kafka/broker.ts';
import { type Fed, kafkaOf } from '../../support/kafka/feed-reader.ts';
import {
  configured,
  feedsOf,
  newTopic,
  opening,
  POSITIONS,
  positionsOf,
  published,
  type Relaying,
  stopping,
  until,
  warnings,
} from '../../support/kafka/feeds.ts';
import { referenceRoot } from '../../support/merkle-reference.ts';
import { damageLastRecord, storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const broker = await sharedBroker();
const newFolder = temporaryFolders();
const { started, running, stopped, reading, withAdmin, make, remake, cut, send, taken, committed } =
  feedsOf(broker);

async function giveUpTransaction(
  transactionalId: string,
  make: typeof Kafka.prototype.producer,
): Promise<void> {
  const other = make.call(kafkaOf(broker.get().address), { transactionalId, maxInFlightRequests: 1 });
  await other.connect();
  await other.transaction();
  await other.disconnect();
}

/** murmur2 of the name, as the Java client has it; of `log` it is 2. */
const ACCESS_OF_16 = 6;
const leafOf = ({ headers }: Fed) => Buffer.from(headers['ce_leaf'] ?? '', 'hex');
const SECRETS = ['treatment', 'balls', 'counts', 'uniform53', 'bgState', 'candidates', 'salt', 'seed"'];

describe.skipIf(broker.missing)('the feed', () => {
  it('sets no timer to a time that has passed, of which Node 24 warns', async () => {
    const delays = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => delays.mockRestore());
    const one = await running(newFolder(), newTopic());
    await one.enrol(20);
    await published(one);
    expect(delays.mock.calls.filter(([, ms = 0]) => !(ms >= 0))).toEqual([]);
  });

  it('contains every record in order, byte for byte, checkpoints that prove it, and nothing sealed', async () => {
    const data = newFolder();
    const topic = newTopic();
    const one = await running(data, topic);
    // More than one transaction.
    await one.enrol(MOST_RECORDS + 20);
    await one.log.keys.issue({ user: 'edc', scopes: ['read', 'randomize'] }, OPERATOR);
    const reader = await reading(topic);
    await reader.has(one.sizes());

    const trusted = [parseVerifierKey(one.log.identity.signingKey.publicKey, 'key')];
    const stored = storedLog(data);
    for (const [name, { records, checkpoints }] of reader.streams()) {
      const texts = stored.filter(({ stream }) => stream === name).map(({ record }) => record);
      for (const [i, fed] of records.entries()) {
        expect(JSON.parse(fed.value.toString()), `${name}/${i}`).toEqual(texts[i]);
        expect(Buffer.compare(leafHash(fed.value), leafOf(fed)), 'the leaf is of these bytes').toBe(0);
        expect(fed.headers).toMatchObject({
          'content-type': 'application/json',
          ce_specversion: '1.0',
          ce_id: texts[i].id,
          ce_source: `urn:uuid:${one.log.identity.logId}`,
          ce_type: `urn.${texts[i].type}.v1`,
          ce_subject: name,
          ce_time: texts[i].at,
          ce_revision: `${i}`,
          ce_logid: one.log.identity.logId,
          ce_content: 'blinded',
          ce_partitionkey: name,
        });
      }
      // From the feed alone: the tree of what came before each checkpoint is the one that was signed.
      const leaves = records.map(({ value }) => leafHash(value));
      expect(checkpoints.length).toBeGreaterThan(0);
      for (const { value, headers, offset } of checkpoints) {
        const opened = openCheckpoint(value.toString(), trusted);
        if (opened.type !== 'signed') throw new Error(opened.type);
        const { origin, size, root } = opened.checkpoint;
        expect(origin).toBe(`urn/${name}`);
        expect(headers['ce_treesize']).toBe(`${size}`);
        expect(Buffer.from(root)).toEqual(referenceRoot(leaves.slice(0, size)));
        expect(records.filter((record) => record.offset < offset)).toHaveLength(size);
      }
      expect(checkpoints.at(-1)?.headers['ce_treesize']).toBe(`${records.length}`);
      for (const fed of [...records, ...checkpoints]) {
        const told = `${fed.value} ${JSON.stringify(fed.headers)}`;
        // The configuration names the treatments, and where the seed came from.
        const isConfiguration = fed.headers['ce_type'] === 'urn.StudyRegistered.v1';
        for (const secret of isConfiguration ? SECRETS.filter((word) => word !== 'treatment') : SECRETS)
          expect(told.includes(`"${secret}`), `${secret} in ${name}`).toBe(false);
      }
    }
    expect(stored.map(({ record }) => record.type)).not.toContain('EvidenceDisclosed');
  });

  it('continues where it stopped, and follows what is written meanwhile', async () => {
    const [data, topic] = [newFolder(), newTopic()];
    const first = await running(data, topic);
    await first.enrol(20);
    await stopped(first);
    const second = await started(data, topic);
    await second.enrol(30);
    await second.relay.open();
    void second.relay.run();
    const reader = await reading(topic);
    await reader.has(second.sizes());
    await second.enrol(5);
    await reader.has(second.sizes());
    await stopped(second);
    const third = await running(data, topic);
    await published(third);
    await reader.has(third.sizes());
    expect(third.relay.status()).toMatchObject({ up: 1, lagRecords: 0, lagSeconds: 0, published: 0 });
  });

  it('keeps a stream in its partition even if more partitions are added', async () => {
    const [data, topic] = [newFolder(), newTopic()];
    await make({ topic, numPartitions: 1 });
    const first = await running(data, topic);
    await first.enrol(3);
    await stopped(first);
    await withAdmin((admin) => admin.createPartitions({ topicPartitions: [{ topic, count: 16 }] }));
    const second = await running(data, topic);
    await second.enrol(3);
    // The stream of the keys begins now, in the partition that its name gives among sixteen.
    await second.log.keys.issue({ user: 'edc', scopes: ['read', 'randomize'] }, OPERATOR);
    const reader = await reading(topic);
    await reader.has(second.sizes());
    const partitions = [...reader.streams()].map(([name, { records }]) => [name, records[0]?.partition]);
    const expected = { log: 0, [second.stream]: 0, access: ACCESS_OF_16 };
    expect(Object.fromEntries(partitions)).toEqual(expected);
  });

  it('continues if Kafka aborted the first transaction of a relay that was suspended', async () => {
    const [data, topic] = [newFolder(), newTopic()];
    const one = await started(data, topic);
    let sleeps = 0;
    const { producer: make } = Kafka.prototype;
    const makesProducers = vi.spyOn(Kafka.prototype, 'producer').mockImplementation(function (
      this: Kafka,
      config,
    ) {
      const producer = make.call(this, config);
      const transaction = async () => {
        const begun = await producer.transaction();
        const commit = async () => {
          // What Kafka does after 30 seconds: the producer is refused, and nobody took its place.
          if (sleeps++ === 0) await giveUpTransaction(config?.transactionalId ?? '', make);
          return begun.commit();
        };
        return { ...begun, commit };
      };
      return { ...producer, transaction };
    });
    try {
      await one.relay.open();
    } finally {
      makesProducers.mockRestore();
    }
    void one.relay.run();
    await (await reading(topic)).has(one.sizes());
    expect(sleeps, 'it tried again').toBeGreaterThan(1);
  });
});

it.skipIf(broker.missing).each(['open', 'full'] as const)(
  'what the feed discloses is what %s content says, which is recorded in the log first',
  async (content) => {
    const [data, topic] = [newFolder(), newTopic()];
    const one = await running(data, topic, { content });
    await one.enrol(10);
    await one.log.keys.issue({ user: 'edc', scopes: ['read', 'randomize'] }, OPERATOR);
    const reader = await reading(topic);
    await published(one);
    await reader.has(one.sizes());
    const stored = storedLog(data);
    for (const [name, { records }] of reader.streams())
      for (const fed of records) {
        const { record, sealed } = JSON.parse(fed.value.toString());
        const revision = Number(fed.headers['ce_revision']);
        const kept = stored.filter(({ stream }) => stream === name)[revision];
        expect(fed.headers['ce_content']).toBe(content);
        expect(record).toEqual(kept?.record);
        // The exact bytes, cut out, because the leaf is their hash.
        const text = fed.value.toString();
        const bytes = text.slice('{"record":'.length, -`,"sealed":${JSON.stringify(sealed)}}`.length);
        expect(Buffer.compare(leafHash(Buffer.from(bytes)), leafOf(fed))).toBe(0);
        for (const [section, contents] of Object.entries(sealed))
          expect(createHash('sha256').update(JSON.stringify(contents)).digest('hex')).toBe(
            record.seals[section],
          );
        const all = Object.keys(JSON.parse(kept?.sealed ?? '{}'));
        const told = all.filter((s) => content === 'full' || s === 'allocation');
        expect(Object.keys(sealed).sort()).toEqual(name.startsWith('study-') ? told.sort() : []);
      }
    const disclosures = () => storedLog(data).filter(({ record }) => record.type === 'EvidenceDisclosed');
    const told = { what: 'records', content, study: 'CHS JCOIN', fromRevision: 0 };
    expect(disclosures()).toMatchObject([{ record: { data: told } }]);
    await one.enrol(10);
    await published(one);
    expect(disclosures(), 'once for each start').toHaveLength(1);
    expect(one.lines.join('')).toContain('UNBLINDING MATERIAL');
  },
);

// What it reads from the positions: test/unit/relay/positions.test.ts.
describe.skipIf(broker.missing)('the relay refuses', () => {
  it('a topic that does not exist, and says how to create it', async () => {
    const topic = newTopic();
    const one = await started(newFolder(), topic, { createTopics: false });
    expect(await opening(one)).toContain(
      `--create --topic ${topic} --config cleanup.policy=delete --config retention.ms=-1`,
    );
    expect(await withAdmin((admin) => admin.listTopics())).not.toContain(topic);
  });

  it.each([
    ['mark', { mark: randomUUID() }],
    ['relay', { log: randomUUID(), relay: randomUUID(), mark: randomUUID() }],
  ])('topics that were written before 1.0.0, and leaves them as they were: %s', async (key, before) => {
    const topic = newTopic();
    await make({ topic, numPartitions: 1 });
    await make({ topic: positionsOf(topic), ...POSITIONS });
    await send(positionsOf(topic), [{ key, value: JSON.stringify(before) }]);
    const ends = () =>
      withAdmin((admin) =>
        Promise.all([topic, positionsOf(topic)].map((name) => admin.fetchTopicOffsets(name))),
      );
    const found = await ends();
    expect(await opening(await started(newFolder(), topic))).toContain(
      'was written before 1.0.0; nothing was changed (hint: name a new topic with --kafka-topic',
    );
    expect(await ends()).toEqual(found);
  });

  it('one of two logs that begin at the same moment, and the other continues', async () => {
    const topic = newTopic();
    await make({ topic, numPartitions: 1 });
    await make({ topic: positionsOf(topic), ...POSITIONS });
    const both = [await started(newFolder(), topic), await started(newFolder(), topic)];
    const said = await Promise.all(both.map(opening));
    expect(said.filter((message) => message === 'opened')).toHaveLength(1);
    expect(said.filter((message) => message.includes('each log needs a topic of its own'))).toHaveLength(1);
    const one = both[said.indexOf('opened')];
    if (!one) throw new Error('none was opened');
    void one.relay.run();
    await stopped(one);
    const again = await running(one.data, topic);
    await again.enrol(3);
    await (await reading(topic)).has(again.sizes());
  });

  // Records that Kafka would compact: forgetful-broker.test.ts.
  it('positions that Kafka would delete', async () => {
    const topic = newTopic();
    await make({ topic: positionsOf(topic), configEntries: configured({ 'cleanup.policy': 'delete' }) });
    expect(await opening(await started(newFolder(), topic))).toContain('has cleanup.policy=delete');
  });

  it('a log that is behind what was published, or continued differently', async () => {
    const [data, backup, topic] = [newFolder(), newFolder(), newTopic()];
    const first = await running(data, topic);
    await first.enrol(5);
    await stopped(first);
    for (const file of ['urn.sqlite', 'signing-key']) copyFileSync(join(data, file), join(backup, file));
    const second = await running(data, topic);
    await second.enrol(5);
    await stopped(second);

    const behind = await started(backup, topic);
    expect(await opening(behind)).toMatch(/11 records of study-\S+ were published .* but the log has 6/);
    await behind.enrol(10);
    expect(await opening(behind)).toMatch(/record study-\S+\/10 is not the one that was published/);
    await behind.log.recover(behind.log.findLoss([]), 'a backup', OPERATOR);
    expect(await opening(behind)).toContain('the log was recovered from a backup (recovery 1)');
    await published(await running(backup, newTopic()));
    // The one that was disturbed three times was not fenced.
    const third = await running(data, topic);
    await third.enrol(1);
    await published(third);
  });

  it('to continue with a stream whose records were changed after it read them, and continues with the others', async () => {
    const [data, topic] = [newFolder(), newTopic()];
    const one = await started(data, topic);
    await one.enrol(5);
    damageLastRecord(data, one.stream);
    await one.relay.open();
    void one.relay.run().catch(() => undefined);
    const reader = await reading(topic);
    const expected = one.sizes();
    expected.set(one.stream, 5);
    await reader.has(expected);
    expect(one.lines.join('')).toContain('no longer published');
    // The metric for alerts goes on growing.
    const { lagSeconds } = one.relay.status();
    expect(lagSeconds).toBeGreaterThan(0);
    expect(one.relay.status().lagSeconds).toBeGreaterThan(lagSeconds);
  });
});

/** A log that was published into a topic with this many partitions; the relay has stopped. */
async function fed(numPartitions = 1): Promise<{ data: string; topic: string; again(): Promise<string> }> {
  const [data, topic] = [newFolder(), newTopic()];
  await make({ topic, numPartitions });
  const one = await running(data, topic);
  await one.enrol(5);
  await stopped(one);
  return { data, topic, again: async () => opening(await started(data, topic)) };
}

describe.skipIf(broker.missing)('the relay does not start when', () => {
  /** Deletes a topic. @returns what the relay says at its next start, which does not create it */
  async function withoutTopic(name: string, again: () => Promise<string>): Promise<string> {
    const isThere = () => withAdmin(async (admin) => (await admin.listTopics()).includes(name));
    await withAdmin((admin) => admin.deleteTopics({ topics: [name] }));
    await until(
      async () => !(await isThere()),
      () => 'it is there still',
    );
    const said = await again();
    expect(said).toContain('(hint: name a new topic with --kafka-topic');
    expect(await isThere()).toBe(false);
    return said;
  }

  it('the topic of records was recreated, contains a part of them, or is gone', async () => {
    const { data, topic, again } = await fed();
    await remake({ topic, numPartitions: 1 });
    expect(await again()).toContain('the topic was recreated');
    expect(await committed(topic)).toEqual([]);
    // Behind the message that `committed` has sent.
    await send(topic, Array(6).fill({ key: 'log', value: 'a part' }));
    expect(await again()).toMatch(/ends at offset 7, but \S+ says that it had reached \d+/);
    expect(await withoutTopic(topic, again)).toMatch(/is gone, .* says how far it had come/);
    // Another topic begins with the first record.
    const other = newTopic();
    const anew = await running(data, other);
    await (await reading(other)).has(anew.sizes());
  });

  it('the topic of records had 16 partitions before', async () => {
    const { topic, again } = await fed(16);
    await remake({ topic, numPartitions: 1 });
    expect(await again()).toContain('the topic was recreated');
    expect(await committed(topic)).toEqual([]);
  });

  it('the newest or the oldest positions were lost, or their topic was recreated or is gone', async () => {
    const { data, topic, again } = await fed();
    const name = positionsOf(topic);
    const more = await running(data, topic);
    await more.enrol(5);
    await stopped(more);
    // As if the broker had lost what it had not flushed: the position before is the last one.
    const key = `position/${more.stream}`;
    const streams = await taken(
      name,
      (read) => JSON.parse(`${read.get(key)?.records.at(-1)?.value ?? '{}'}`).revision === 10,
    );
    const value = streams.get(key)?.records.at(-2)?.value ?? null;
    await send(name, [{ key, value, partition: 0 }]);
    expect(await again()).toMatch(
      /partition 0 of \S+ has a message at offset \d+ that \S+ does not know of: positions were lost/,
    );

    const setPolicy = (policy: string) => {
      const configEntries = configured({ 'cleanup.policy': policy });
      const change = { validateOnly: false, resources: [{ type: 2, name, configEntries }] };
      return withAdmin((admin) => admin.alterConfigs(change));
    };
    // Kafka lets nobody delete records of a topic that is only compacted.
    await setPolicy('delete');
    // Its broker learns of that a moment later.
    const isCut = () =>
      cut(name, 3).then(
        () => true,
        () => false,
      );
    await until(isCut, () => 'nothing is deleted');
    await setPolicy('compact');
    expect(await again()).toContain(`partition 0 of ${name} begins at offset 3: positions were lost`);

    await remake({ topic: name, ...POSITIONS });
    expect(await again()).toContain(`${name} does not say how far they go: all would be published again`);
    expect(await withoutTopic(name, again)).toMatch(/is gone, .* all would be published again/);
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

it.skipIf(broker.missing)(
  'the relay, if both topics are gone, creates them and publishes everything again',
  async () => {
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
  },
);

const guarded = strictBroker();
const guardedFeeds = feedsOf(guarded);
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

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
  await guardedFeeds.withAdmin((admin) => admin.createAcls({ acl }));
}

async function asRelay(topic: string, createTopics = true): Promise<Relaying> {
  const { saslAddress = '' } = guarded.get();
  return guardedFeeds.started(newFolder(), topic, {
    brokers: [saslAddress],
    sasl: { mechanism: 'plain', ...KAFKA_USER },
    createTopics,
  });
}

describe.skipIf(guarded.missing)("the relay's user", () => {
  it('needs no more than the documentation says', async () => {
    const topic = newTopic();
    await permit(topic, [...ON_TOPICS, 'CREATE']);
    const one = await asRelay(topic);
    expect(await opening(one)).toBe('opened');
    void one.relay.run();
    await one.enrol(5);
    await published(one);
    await (await guardedFeeds.reading(topic)).has(one.sizes());
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
    const others = await guardedFeeds.started(newFolder(), topic);
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
