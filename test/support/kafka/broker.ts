/**
 * The broker of a test file, always a real one: the environment's KAFKA_BROKERS, else one in Docker, else Apache Kafka's
 * jars with this machine's Java and Maven. The run says which. If none is available, tests are skipped with a warning; in CI that is a failure.
 */
import { afterAll, beforeAll, inject } from 'vitest';
import { dockerLacking } from '../docker.ts';
import { inCi } from '../in-ci.ts';
import { temporaryFolders } from '../temporary-folder.ts';
import { apacheKafka, type Broker, KAFKA_IMAGE, lacking, type OwnBroker } from './apache-kafka.ts';

/** A broker that was killed is let in again when its old session has expired. */
const SOON_BACK = { 'broker.session.timeout.ms': '1000', 'broker.heartbeat.interval.ms': '200' };

export interface BrokerOfFile<B> {
  /** Why there is none, for `describe.skipIf`. */
  readonly missing: string | undefined;
  get(): B;
}

/** For tests that leave the broker alone: one for all files of the run (brokers-of-run.ts). */
export async function sharedBroker(): Promise<BrokerOfFile<Broker>> {
  const given = process.env['KAFKA_BROKERS'];
  if (given) return brokerOfFile(`KAFKA_BROKERS=${given}`, undefined, async () => external(given));
  const lacking = await dockerLacking(KAFKA_IMAGE);
  return lacking === undefined ? ofRun(`Docker, ${KAFKA_IMAGE}`, undefined, 'docker') : strictBroker(lacking);
}

/** Like `sharedBroker`, of the jars in any case: what its user may do must be permitted first. */
export function strictBroker(insteadOf?: string): BrokerOfFile<Broker> {
  return ofRun(`Apache Kafka's jars${insteadOf ? ` (${insteadOf})` : ''}`, lacking(), 'jars');
}

/** For tests that kill and stop it, or need settings of their own. */
export function ownBroker(settings: Readonly<Record<string, string>> = {}): BrokerOfFile<OwnBroker> {
  const newFolder = temporaryFolders();
  let broker: OwnBroker | undefined;
  afterAll(() => broker?.stop());
  return brokerOfFile("Apache Kafka's jars, of this file alone", lacking(), async () => {
    broker = await apacheKafka(newFolder(), { ...SOON_BACK, ...settings });
    return broker;
  });
}

function brokerOfFile<B>(source: string, missing: string | undefined, start: () => Promise<B>) {
  if (missing !== undefined) {
    const message = `no broker of Kafka for these tests: ${missing} (hint: apt-get install default-jre-headless maven, or KAFKA_BROKERS=host:port)`;
    if (inCi) throw new Error(message);
    // biome-ignore lint/suspicious/noConsole: skipped tests must not go unnoticed
    console.warn(`SKIPPED: ${message}`);
  }
  let broker: B | undefined;
  beforeAll(async () => {
    if (missing !== undefined) return;
    broker = await start();
    // biome-ignore lint/suspicious/noConsole: what was shown depends on the broker
    console.info(`broker of Kafka: ${source}`);
  });
  return {
    missing,
    get: () => {
      if (!broker) throw new Error('the broker has not been started');
      return broker;
    },
  };
}

function ofRun(source: string, missing: string | undefined, kind: 'docker' | 'jars'): BrokerOfFile<Broker> {
  const place = `${inject('brokersOfRun')}/${kind}`;
  afterAll(async () => {
    if (missing === undefined) await fetch(place, { method: 'DELETE' });
  });
  return brokerOfFile(source, missing, async () => {
    const answer = await fetch(place);
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return JSON.parse(text) as Broker;
  });
}

const external = (address: string): Broker => ({ address, saslAddress: undefined });
