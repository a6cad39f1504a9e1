/**
 * Brokers that the files of a run share, whichever worker runs them: a JVM takes several seconds of processor time to start.
 * This is in vitest's own process, which starts one when the first file asks for it, suspends it while no file uses it, since
 * it costs processor time even then, and ends it with the run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { freePorts } from '../free-ports.ts';
import {
  apacheKafka,
  JAAS,
  KAFKA_IMAGE,
  ONE_NODE,
  type OwnBroker,
  type StartedBroker,
} from './apache-kafka.ts';

declare module 'vitest' {
  interface ProvidedContext {
    brokersOfRun: string;
  }
}

const STRICT = {
  // Those without credentials, the broker itself and the tests, may do everything; others, what they are permitted.
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'super.users': 'User:ANONYMOUS',
  // It outlasts a suspension.
  'broker.session.timeout.ms': '3600000',
};

interface Shared {
  readonly broker: Promise<StartedBroker & Partial<Pick<OwnBroker, 'pause' | 'resume'>>>;
  /** How many use it. */
  files: number;
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'urn-brokers-'));
  const brokers = new Map<string, Shared>();
  const server = createServer(async ({ url = '', method }, answer) => {
    const start = () => (url === '/docker' ? inDocker() : apacheKafka(folder, STRICT));
    const shared: Shared = brokers.get(url) ?? { broker: start(), files: 0 };
    brokers.set(url, shared);
    shared.files += method === 'DELETE' ? -1 : 1;
    await shared.broker.then(
      (broker) => {
        if (shared.files > 0) broker.resume?.();
        else broker.pause?.();
        answer.end(JSON.stringify(broker));
      },
      (error) => answer.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  project.provide('brokersOfRun', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.close();
    for (const { broker } of brokers.values()) await broker.then(({ stop }) => stop()).catch(() => undefined);
    rmSync(folder, { recursive: true });
  };
}

/** The same node in the project's own image. Its ports are the host's, since a broker tells its clients its address. */
async function inDocker(): Promise<StartedBroker> {
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
  const container = await new GenericContainer(KAFKA_IMAGE)
    .withEnvironment({
      ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [variable(name), value])),
      // Without it, the image refuses to start with a SASL listener: it takes this for the place of the users.
      KAFKA_OPTS: '-Djava.awt.headless=true',
    })
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
const variable = (setting: string): string =>
  `KAFKA_${setting.replaceAll('_', '__').replaceAll('-', '___').replaceAll('.', '_').toUpperCase()}`;
