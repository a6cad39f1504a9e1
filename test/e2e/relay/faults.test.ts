/**
 * The relay and a real broker, killed and stopped at all moments, and a consumer of committed records that checks for
 * gaps, duplicates and the order of each stream. FAULT_ROUNDS sets how often.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Choices, seededChoices } from '../../support/choices.ts';
import { KAFKA_USER } from '../../support/kafka/apache-kafka.ts';
import { ownBroker } from '../../support/kafka/broker.ts';
import { FeedReader } from '../../support/kafka/feed-reader.ts';
import { Account, STUDIES, startClients } from '../../support/load.ts';
import { issueKey, type Service, serve, start, urn } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 3);
const BROKER_KILLS = Math.ceil(ROUNDS / 3);
const DIE_AT_COMMIT = pathToFileURL(
  fileURLToPath(new URL('../../support/kafka/die-at-commit.mjs', import.meta.url)),
).href;
const broker = ownBroker();
const newFolder = temporaryFolders();
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
let choices: Choices;
beforeAll(() => {
  choices = seededChoices();
});

let topics = 0;
const newTopic = () => `faults-${++topics}`;
const kafkaArgs = (topic: string) => [
  '--kafka-brokers',
  broker.get().address,
  '--kafka-topic',
  topic,
  '--create-topics',
];

/** A service, and a record of what it was asked. */
async function serving(args: readonly string[] = []) {
  const data = newFolder();
  const key = await issueKey(data, 'edc');
  const service = await serve({ data, studies: STUDIES, args });
  closing.push(() => service.kill());
  const account = new Account(choices);
  /** Randomizes for this long; each request must be answered. */
  const enrolFor = async (ms: number, clients = 4) => {
    const posting = startClients(account, choices, [{ url: service.url, key }], clients);
    await delay(ms);
    posting.stop();
    expect(await posting.done).toEqual([]);
  };
  return { data, key, service, account, enrolFor };
}

function relay(data: string, topic: string, env: Readonly<Record<string, string>> = {}) {
  const started = start(['relay', '--data', data, ...kafkaArgs(topic)], { env });
  closing.push(async () => {
    started.child.kill('SIGKILL');
    await started.exited;
  });
  return started;
}

async function says(relayed: Pick<Service, 'output' | 'child'>, text: string): Promise<void> {
  for (let waited = 0; !relayed.output.stderr.includes(text); waited += 20) {
    if (waited > 30_000 || relayed.child.exitCode !== null)
      throw new Error(`the relay does not say "${text}": ${relayed.output.stderr}`);
    await delay(20);
  }
}

function sizesOf(data: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const { stream } of storedLog(data)) sizes.set(stream, (sizes.get(stream) ?? 0) + 1);
  return sizes;
}

async function feedHasAll(topic: string, data: string): Promise<FeedReader> {
  const reader = await new FeedReader(broker.get().address).start(topic);
  closing.push(() => reader.stop());
  await reader.has(sizesOf(data), 60_000);
  return reader;
}

async function eventually(isSo: () => Promise<boolean>, withinMs = 60_000): Promise<void> {
  for (const deadline = Date.now() + withinMs; !(await isSo()); await delay(50))
    if (Date.now() > deadline) throw new Error('it is not so, still');
}

async function metric(service: Service, name: string): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
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
      const relayed = relay(data, topic);
      if (round === 0) {
        await says(relayed, '"publishing"');
        live = await new FeedReader(broker.get().address).start(topic);
      }
      await delay(choices.between(300, 1800));
      relayed.child.kill('SIGKILL');
      await relayed.exited;
      live?.check();
    }
    await enrolling;
    relay(data, topic);
    await live?.has(sizesOf(data), 60_000);
    await live?.stop();
    // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
    console.info('relay killed', { rounds: ROUNDS, records: storedLog(data).length });
  });

  it.each(['sent', 'asked', 'committed'])(
    'publishes each record once although it is killed when its transaction is %s',
    async (when) => {
      const topic = newTopic();
      const { data, enrolFor } = await serving();
      await enrolFor(300);
      // The first transaction says who relays, the second publishes.
      for (const at of ['1', '2']) {
        const env = { NODE_OPTIONS: `--import=${DIE_AT_COMMIT}`, DIE_AT: at, DIE_WHEN: when };
        const dying = relay(data, topic, env);
        let isOver = false;
        const exited = once(dying.child, 'exit').then(() => {
          isOver = true;
        });
        // A transaction needs something to publish.
        while (!isOver) await enrolFor(100);
        await exited;
        expect(dying.child.signalCode, dying.output.stderr).toBe('SIGKILL');
      }
      relay(data, topic);
      await feedHasAll(topic, data);
    },
  );

  it('stops permanently if another one takes over, even after it was suspended', async () => {
    const topic = newTopic();
    const { data, enrolFor } = await serving();
    const first = relay(data, topic);
    await says(first, '"publishing"');
    const second = relay(data, topic);
    await says(second, '"publishing"');
    await enrolFor(300);
    expect(await first.exited).toBe(3);
    expect(first.output.stderr).toContain('another relay of this log now publishes into');

    second.child.kill('SIGSTOP');
    const third = relay(data, topic, { URN_FENCED_EXIT_CODE: '0' });
    await says(third, '"publishing"');
    await enrolFor(300);
    second.child.kill('SIGCONT');
    await enrolFor(300);
    expect(await second.exited).toBe(3);
    await feedHasAll(topic, data);

    // Docker restarts whatever ends with a code other than 0.
    const fourth = relay(data, topic);
    await says(fourth, '"publishing"');
    await enrolFor(300);
    expect(await third.exited).toBe(0);
    expect(third.output.stderr).toContain('another relay of this log now publishes into');
    fourth.child.kill('SIGTERM');
    expect(await fourth.exited, fourth.output.stderr).toBe(0);
  });

  it('runs only once if it is started twice at the same moment', async () => {
    const topic = newTopic();
    const { data, enrolFor } = await serving();
    // Creating topics is not what is tested here.
    await urnRelayOnce(data, topic);
    const both = [relay(data, topic), relay(data, topic)];
    let isOver = false;
    const first = Promise.race(both.map(({ exited }) => exited)).finally(() => {
      isOver = true;
    });
    // A relay learns that another one has taken over only when it publishes.
    while (!isOver) await enrolFor(100);
    expect(await first).toBe(3);
    await feedHasAll(topic, data);
    const codes = both.map(({ child }) => child.exitCode);
    expect(codes.toSorted(), both.map(({ output }) => output.stderr).join('\n')).toEqual([3, null]);
  });

  it('survives a broker that is killed at random moments, and the service does not notice', {
    timeout: 60_000 + BROKER_KILLS * 30_000,
  }, async () => {
    const topic = newTopic();
    const { data, service, enrolFor } = await serving(['--relay', ...kafkaArgs(topic)]);
    await says(service, '"publishing"');
    const live = await feedHasAll(topic, data);
    expect(await metric(service, 'urn_relay_up')).toBe(1);
    for (let kills = 0; kills < BROKER_KILLS; kills++) {
      const enrolling = enrolFor(2500);
      await delay(choices.between(50, 1200));
      await broker.get().kill();
      await enrolling;
      await eventually(async () => (await metric(service, 'urn_relay_up')) === 0);
      expect(await metric(service, 'urn_relay_lag_records')).toBeGreaterThan(0);
      expect(await metric(service, 'urn_relay_lag_seconds')).toBeGreaterThan(0);
      expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      await broker.get().start();
      await eventually(async () => (await metric(service, 'urn_relay_lag_records')) === 0);
      live.check();
    }
    await live.has(sizesOf(data), 60_000);
    await feedHasAll(topic, data);
    expect(await metric(service, 'urn_relay_published_total')).toBeGreaterThan(0);
    await service.stop();
  });

  it('waits for a slow broker', async () => {
    const topic = newTopic();
    const { data, service, enrolFor } = await serving(['--relay', ...kafkaArgs(topic)]);
    await says(service, '"publishing"');
    await enrolFor(300);
    broker.get().pause();
    await enrolFor(3000);
    expect(await metric(service, 'urn_relay_lag_records')).toBeGreaterThan(0);
    broker.get().resume();
    await feedHasAll(topic, data);
  });

  async function urnRelayOnce(data: string, topic: string): Promise<void> {
    const once = relay(data, topic);
    await says(once, '"publishing"');
    once.child.kill('SIGTERM');
    expect(await once.exited).toBe(0);
  }
});

describe.skipIf(broker.missing)('urn relay', () => {
  const data = newFolder();
  beforeAll(() => issueKey(data, 'edc'));
  const refused = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const { code, stdout, stderr } = await urn(['relay', '--data', data, ...args], { env });
    expect(stdout).toBe('');
    expect(code, stderr).toBe(2);
    return stderr;
  };

  it('exits with 2 if it cannot begin, and says why', async () => {
    const { address, saslAddress = '' } = broker.get();
    expect(await refused([])).toContain('--kafka-brokers host:port');
    expect(await refused(['--kafka-brokers', '127.0.0.1:1'])).toMatch(
      /no Kafka broker answers at 127.0.0.1:1/,
    );
    expect(await refused(['--kafka-brokers', address])).toContain('Kafka has no topic urn-urn');
    expect(await refused(['--kafka-brokers', address, '--kafka-topic', 'a b'])).toContain(
      'cannot be the name of a Kafka topic',
    );
    const sasl = ['--kafka-brokers', saslAddress, '--kafka-username', KAFKA_USER.username];
    expect(await refused(sasl)).toContain('needs a password');
    const wrong = [...sasl, '--kafka-mechanism', 'plain', '--log-level', 'trace'];
    const said = await refused(wrong, { URN_KAFKA_PASSWORD: 'ZZWRONG' });
    expect(said).toContain('refuses the user "relay"');
    expect(said).not.toContain('ZZWRONG');
    const nothing = await urn(['relay', '--data', join(newFolder(), 'none'), '--kafka-brokers', address]);
    expect(nothing.stderr).toContain('there is no log in');
    expect(nothing.code).toBe(2);
  });

  it('trusts only the given certificates over TLS', async () => {
    const { tlsAddress, caFile } = broker.get();
    const topic = newTopic();
    const tls = ['--kafka-brokers', tlsAddress, '--kafka-tls', '--kafka-topic', topic, '--create-topics'];
    expect(await refused(tls)).toMatch(/self.signed certificate/);
    const relayed = start(['relay', '--data', data, ...tls, '--kafka-ca', caFile], {});
    closing.push(async () => relayed.child.kill('SIGKILL'));
    await says(relayed, '"publishing"');
    await feedHasAll(topic, data);
  });

  it('reports its progress on a port of its own', async () => {
    const topic = newTopic();
    const { data } = await serving();
    const relayed = start(['relay', '--data', data, ...kafkaArgs(topic), '--metrics-port', '0'], {});
    closing.push(async () => relayed.child.kill('SIGKILL'));
    await says(relayed, '"publishing"');
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
