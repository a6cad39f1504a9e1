/**
 * The relay and a real broker, killed and stopped at all moments, and a consumer of committed records that checks for
 * gaps, duplicates and the order of each stream. FAULT_ROUNDS sets how often.
 */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { metric } from '../../support/client.ts';
import { command, refusal } from '../../support/command.ts';
import { KAFKA_USER } from '../../support/kafka/apache-kafka.ts';
import { ownBroker } from '../../support/kafka/broker.ts';
import type { FeedReader } from '../../support/kafka/feed-reader.ts';
import {
  feedsOf,
  newTopic,
  opening,
  POSITIONS,
  positionsOf,
  settingsFor,
  stopping,
  until,
} from '../../support/kafka/feeds.ts';
import { Account, STUDIES, startClients } from '../../support/load.ts';
import { issueKey, serve, start, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 3);
const BROKER_KILLS = Math.ceil(ROUNDS / 3);
const DIE_AT_COMMIT = new URL('../../support/kafka/die-at-commit.mjs', import.meta.url).href;
const broker = ownBroker();
const { make, reading, running, started } = feedsOf(broker);
const newFolder = temporaryFolders();
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const choices = seededChoices();

const kafkaArgs = (topic: string) => [
  ...['--kafka-brokers', broker.get().address],
  ...['--kafka-topic', topic, '--create-topics'],
];

type Served = Pick<Awaited<ReturnType<typeof serveHere>>, 'url' | 'output'>;

/** A service, and a record of what it was asked. */
async function serving(begin: (data: string) => Promise<Served & { stop(): Promise<unknown> }> = here) {
  const data = newFolder();
  const key = await issueKey(data, 'edc');
  const service = await begin(data);
  closing.push(service.stop);
  const account = new Account(choices);
  /** Randomizes for this long, as several sites do; each request must be answered. */
  const enrolFor = async (ms: number, clients = 2) => {
    const targets = [{ url: service.url, key }];
    const posting = startClients(account, choices, targets, clients, { pauseMs: 40 });
    await delay(ms);
    posting.stop();
    expect(await posting.done).toEqual([]);
  };
  const enrolUntil = async <T>(end: Promise<T>) => {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    end.then(over, over);
    while (!isOver) await enrolFor(100, 1);
    return end;
  };
  return { data, service, enrolFor, enrolUntil };
}

const here = (data: string) => serveHere(data, STUDIES);

function relay(data: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const started = start(['relay', '--data', data, ...args], { env });
  closing.push(async () => {
    started.child.kill('SIGKILL');
    await started.exited;
  });
  return started;
}

const says = ({ output }: Pick<Served, 'output'>, text: string) =>
  until(
    () => output.stderr.includes(text),
    () => `"${text}" in ${output.stderr}`,
  );

async function relaying(data: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const relayed = relay(data, args, env);
  await says(relayed, '"publishing"');
  return relayed;
}

/** A relay in this process, beside a service. */
async function relayHere(data: string, topic: string) {
  const service = await serveHere(data, STUDIES, { relay: settingsFor(broker.get().address, topic) });
  closing.push(service.stop);
  return service;
}

function sizesOf(data: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const { stream } of storedLog(data)) sizes.set(stream, (sizes.get(stream) ?? 0) + 1);
  return sizes;
}

async function feedHasAll(topic: string, data: string): Promise<FeedReader> {
  const reader = await reading(topic);
  await reader.has(sizesOf(data), 60_000);
  return reader;
}

describe.skipIf(broker.missing)('the relay', () => {
  it('publishes each record once although it is killed at random moments while a service appends', {
    timeout: 60_000 + ROUNDS * 10_000,
  }, async () => {
    const topic = newTopic();
    const { data, enrolFor } = await serving();
    const enrolling = enrolFor(ROUNDS * 1500);
    let live: FeedReader | undefined;
    for (let round = 0; round < ROUNDS; round++) {
      const relayed = relay(data, kafkaArgs(topic));
      if (round === 0) {
        await says(relayed, '"publishing"');
        live = await reading(topic);
      }
      await delay(choices.between(300, 1800));
      relayed.child.kill('SIGKILL');
      await relayed.exited;
      live?.check();
    }
    await enrolling;
    await relayHere(data, topic);
    await live?.has(sizesOf(data), 60_000);
    // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
    console.info('relay killed', { rounds: ROUNDS, records: storedLog(data).length });
  });

  it('publishes each record once although it is killed when a transaction is sent, asked for and committed', async () => {
    const topic = newTopic();
    const { data, enrolFor, enrolUntil } = await serving();
    await enrolFor(300);
    // The first transaction says who relays, the second publishes.
    for (const when of ['sent', 'asked', 'committed'])
      for (const at of ['1', '2']) {
        const env = { NODE_OPTIONS: `--import=${DIE_AT_COMMIT}`, DIE_AT: at, DIE_WHEN: when };
        const dying = relay(data, kafkaArgs(topic), env);
        // A transaction needs something to publish.
        await enrolUntil(once(dying.child, 'exit'));
        expect(dying.child.signalCode, `${when}, ${at}: ${dying.output.stderr}`).toBe('SIGKILL');
      }
    await relayHere(data, topic);
    await feedHasAll(topic, data);
  });

  it('stops permanently if another one takes over: started at the same moment, while it was suspended, or later', async () => {
    const topic = newTopic();
    // Creating topics is not what is tested here.
    await make({ topic, numPartitions: 3 });
    await make({ topic: positionsOf(topic), ...POSITIONS });
    const { data, enrolFor, enrolUntil } = await serving();
    const both = [relay(data, kafkaArgs(topic)), relay(data, kafkaArgs(topic))];
    // A relay learns that another one has taken over only when it publishes.
    expect(await enrolUntil(Promise.race(both.map(({ exited }) => exited)))).toBe(3);
    await feedHasAll(topic, data);
    const [gone, left] = both.toSorted((a) => (a.child.exitCode === null ? 1 : -1));
    if (!gone || !left) throw new Error('there are two');
    expect([gone, left].map(({ child }) => child.exitCode)).toEqual([3, null]);
    expect(gone.output.stderr).toContain('another relay of this log now publishes into');

    left.child.kill('SIGSTOP');
    const third = await relaying(data, kafkaArgs(topic), { URN_FENCED_EXIT_CODE: '0' });
    await enrolFor(300);
    left.child.kill('SIGCONT');
    await enrolFor(300);
    expect(await left.exited).toBe(3);
    await feedHasAll(topic, data);

    // Docker restarts whatever ends with a code other than 0.
    await says(await relayHere(data, topic), '"publishing"');
    await enrolFor(300);
    expect(await third.exited).toBe(0);
    expect(third.output.stderr).toContain('another relay of this log now publishes into');
    await feedHasAll(topic, data);
  });

  /** A relay with nothing to publish, whose study's partition the broker can lose while it is down. */
  async function idle() {
    const [data, topic] = [newFolder(), newTopic()];
    await make({ topic, numPartitions: 3 });
    const one = await running(data, topic);
    const reader = await reading(topic);
    await reader.has(one.sizes());
    const partition = reader.streams().get(one.stream)?.records[0]?.partition;
    const folder = join(broker.get().data, `${topic}-${partition}`);
    const isStopped = async () => {
      expect(await stopping(one)).toContain(`partition ${partition} of ${topic}`);
      const lost = 'Kafka has lost what was in it';
      expect(await opening(await started(data, topic)), 'also at the next start').toContain(lost);
    };
    return { lose: () => rmSync(folder, { recursive: true }), isStopped };
  }

  it('survives a broker that is killed at random moments, and the service does not notice, but not that a partition is lost', {
    timeout: 60_000 + BROKER_KILLS * 30_000,
  }, async () => {
    const topic = newTopic();
    const args = ['--relay', ...kafkaArgs(topic)];
    const { data, service, enrolFor } = await serving((at) => serve({ data: at, studies: STUDIES, args }));
    await says(service, '"publishing"');
    const live = await feedHasAll(topic, data);
    const other = await idle();
    expect(await metric(service, 'urn_relay_up')).toBe(1);
    for (let kills = 0; kills < BROKER_KILLS; kills++) {
      const enrolling = enrolFor(2500);
      await delay(choices.between(50, 1200));
      await broker.get().kill();
      await enrolling;
      await expect.poll(() => metric(service, 'urn_relay_up'), { timeout: 60_000 }).toBe(0);
      expect(await metric(service, 'urn_relay_lag_records')).toBeGreaterThan(0);
      expect(await metric(service, 'urn_relay_lag_seconds')).toBeGreaterThan(0);
      expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      if (kills === 0) other.lose();
      await broker.get().start();
      await expect.poll(() => metric(service, 'urn_relay_lag_records'), { timeout: 60_000 }).toBe(0);
      live.check();
    }
    await live.has(sizesOf(data), 60_000);
    await feedHasAll(topic, data);
    expect(await metric(service, 'urn_relay_published_total')).toBeGreaterThan(0);
    await other.isStopped();
  });

  it('waits for a slow broker', async () => {
    const topic = newTopic();
    const settings = settingsFor(broker.get().address, topic);
    const { data, service, enrolFor } = await serving((at) => serveHere(at, STUDIES, { relay: settings }));
    await says(service, '"publishing"');
    await enrolFor(300);
    broker.get().pause();
    await enrolFor(3000);
    expect(await metric(service, 'urn_relay_lag_records')).toBeGreaterThan(0);
    broker.get().resume();
    await feedHasAll(topic, data);
  });
});

describe.skipIf(broker.missing)('urn relay', () => {
  const data = newFolder();
  beforeAll(() => issueKey(data, 'edc'));

  it('exits with 2 if it cannot begin, and says why', async () => {
    const { address, saslAddress = '' } = broker.get();
    const at = (where: string, ...args: string[]) => ['--kafka-brokers', where, ...args];
    const sasl = at(saslAddress, '--kafka-username', KAFKA_USER.username);
    for (const [args, why] of [
      [[], '--kafka-brokers host:port'],
      [at('127.0.0.1:1'), 'no Kafka broker answers at 127.0.0.1:1'],
      [at(address), 'Kafka has no topic urn-urn'],
      [at(address, '--kafka-topic', 'a b'), 'cannot be the name of a Kafka topic'],
      [sasl, 'needs a password'],
    ] as const)
      expect(await refusal(command(['relay', '--data', data, ...args]))).toContain(why);
    const wrong = ['relay', '--data', data, ...sasl, '--kafka-mechanism', 'plain', '--log-level', 'trace'];
    const said = await refusal(urn(wrong, { env: { URN_KAFKA_PASSWORD: 'ZZWRONG' } }));
    expect(said).toMatch(/refuses the user "relay": .*\(hint: check --kafka-username/);
    expect(said).not.toContain('ZZWRONG');
  });

  it('trusts only the given certificates over TLS, and reports its progress on a port of its own', async () => {
    const { tlsAddress, caFile } = broker.get();
    const topic = newTopic();
    const tls = ['--kafka-brokers', tlsAddress, '--kafka-tls', '--kafka-topic', topic, '--create-topics'];
    expect(await refusal(command(['relay', '--data', data, ...tls]))).toMatch(/self.signed certificate/);
    const relayed = await relaying(data, [...tls, '--kafka-ca', caFile, '--metrics-port', '0']);
    const reader = await feedHasAll(topic, data);
    const url = /"address":"([^"]+)"/.exec(relayed.output.stderr)?.[1];
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(/^urn_relay_up 1$/m);
    expect(metrics).toMatch(/^urn_relay_lag_records 0$/m);
    const all = [...reader.check().values()].reduce((sum, size) => sum + size, 0);
    expect(metrics).toContain(`\nurn_relay_published_total ${all}\n`);
    relayed.child.kill('SIGTERM');
    expect(await relayed.exited).toBe(0);
  });
});
