/**
 * The broker of a test file, always a real one: the environment's KAFKA_BROKERS, else one in Docker, else Apache Kafka's
 * jars with this machine's Java and Maven. If none is available, tests are skipped with a warning; in CI that is a failure.
 */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll } from 'vitest';
import { freePorts } from '../free-ports.ts';
import { inCi } from '../in-ci.ts';
import { temporaryFolders } from '../temporary-folder.ts';
import { apacheKafka, type Broker, JAAS, lacking, ONE_NODE, type OwnBroker } from './apache-kafka.ts';

export interface BrokerOfFile<B> {
  /** Why there is none, for `describe.skipIf`. */
  readonly missing: string | undefined;
  get(): B;
}

/** For tests that leave the broker alone. */
export function sharedBroker(): BrokerOfFile<Broker> {
  const given = process.env['KAFKA_BROKERS'];
  const [source, start] = given
    ? [`KAFKA_BROKERS=${given}`, async () => external(given)]
    : hasDocker()
      ? ['Docker', inDocker]
      : ["Apache Kafka's jars", (folder: string) => apacheKafka(folder)];
  return brokerOfFile(source, given || hasDocker() ? undefined : lacking(), start);
}

/** For tests that kill and stop it, or need settings of their own. */
export function ownBroker(settings: Readonly<Record<string, string>> = {}): BrokerOfFile<OwnBroker> {
  return brokerOfFile("Apache Kafka's jars", lacking(), (folder) => apacheKafka(folder, settings));
}

function brokerOfFile<B extends Broker>(
  source: string,
  missing: string | undefined,
  start: (folder: string) => Promise<B>,
): BrokerOfFile<B> {
  if (missing !== undefined) {
    const message = `no broker of Kafka for these tests: ${missing} (hint: apt-get install default-jre-headless maven, or KAFKA_BROKERS=host:port)`;
    if (inCi) throw new Error(message);
    // biome-ignore lint/suspicious/noConsole: skipped tests must not go unnoticed
    console.warn(`SKIPPED: ${message}`);
  }
  const newFolder = temporaryFolders();
  let broker: B | undefined;
  beforeAll(async () => {
    if (missing !== undefined) return;
    broker = await start(newFolder());
    // biome-ignore lint/suspicious/noConsole: what was shown depends on the broker
    console.info(`broker of Kafka: ${source}`);
  });
  afterAll(() => broker?.stop());
  return {
    missing,
    get: () => {
      if (!broker) throw new Error('the broker has not been started');
      return broker;
    },
  };
}

function external(address: string): Broker {
  return { address, saslAddress: undefined, stop: async () => undefined };
}

function hasDocker(): boolean {
  return process.env['DOCKER_HOST'] !== undefined || existsSync('/var/run/docker.sock');
}

/** The same node in the project's own image. Its ports are the host's, since a broker tells its clients its address. */
async function inDocker(): Promise<Broker> {
  // Loading it takes half a second of processor time, which files without Docker are spared.
  const { GenericContainer, Wait } = await import('testcontainers');
  const [port = 0, saslPort = 0] = await freePorts(2);
  const settings = {
    'node.id': '1',
    'process.roles': 'broker,controller',
    listeners: `PLAINTEXT://:${port},SASL_PLAINTEXT://:${saslPort},CONTROLLER://:9093`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port},SASL_PLAINTEXT://127.0.0.1:${saslPort}`,
    'controller.listener.names': 'CONTROLLER',
    'controller.quorum.voters': '1@localhost:9093',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map':
      'PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT',
    'sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.sasl_plaintext.plain.sasl.jaas.config': JAAS,
    ...ONE_NODE,
  };
  const container = await new GenericContainer('apache/kafka:3.9.1')
    .withEnvironment(
      Object.fromEntries(Object.entries(settings).map(([name, value]) => [variable(name), value])),
    )
    .withExposedPorts({ container: port, host: port }, { container: saslPort, host: saslPort })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .start();
  return {
    address: `127.0.0.1:${port}`,
    saslAddress: `127.0.0.1:${saslPort}`,
    stop: async () => {
      await container.stop();
    },
  };
}

/** The settings as environment variables of the image. */
function variable(setting: string): string {
  return `KAFKA_${setting.replaceAll('_', '__').replaceAll('-', '___').replaceAll('.', '_').toUpperCase()}`;
}
