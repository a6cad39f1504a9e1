/**
 * The cluster of docker-compose.yml without Docker: two instances with folders of their own and one key, on EventStoreDB,
 * behind the proxy, and the relay into a real Kafka. All of it is configured by the environment, as there.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { within } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { eventStoreDb } from '../../support/eventstoredb/target.ts';
import { sharedBroker } from '../../support/kafka/broker.ts';
import { FeedReader } from '../../support/kafka/feed-reader.ts';
import { Account, STUDIES, STUDY_NAMES } from '../../support/load.ts';
import { hasProxy, startProxy, type TlsProxy } from '../../support/proxy.ts';
import { type Service, serve, start } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const folder = temporaryFolders()();
const broker = await sharedBroker();
const target = await eventStoreDb();
const TOPIC = `cluster-${process.pid}-${Date.now()}`;

const isComplete = hasProxy() && broker.missing === undefined;
describe.skipIf(!isComplete)('the cluster of the compose file', () => {
  const env = {
    URN_STORE: target.connectionString,
    URN_STREAM_PREFIX: TOPIC,
    URN_SIGNING_KEY: join(folder, 'signing-key'),
  };
  let instances: [Service, Service];
  let proxy: TlsProxy;
  let relay: ReturnType<typeof start>;
  let reader: FeedReader;

  beforeAll(async () => {
    const key = (await commandOk(['keys', 'add', 'edc', '--data', join(folder, 'cli')], { env })).trimEnd();
    const instance = (name: string) =>
      serve({ data: join(folder, name), studies: STUDIES, env: { ...env, URN_TRUST_PROXY: '1' } });
    instances = await Promise.all([instance('urn-1'), instance('urn-2')]);
    const [a, b] = instances.map(({ url }) => new URL(url).host) as [string, string];
    proxy = await startProxy(folder, [a, b], key);
    relay = start(['relay', '--create-topics', '--metrics-port', '0'], {
      env: {
        ...env,
        URN_DATA: join(folder, 'relay'),
        URN_KAFKA_BROKERS: broker.get().address,
        URN_KAFKA_TOPIC: TOPIC,
      },
    });
    await within(30_000, async () => relay.output.stderr.includes('"publishing"'));
    reader = await new FeedReader(broker.get().address).start(TOPIC);
  });
  afterAll(async () => {
    proxy?.child.kill('SIGKILL');
    relay?.child.kill('SIGKILL');
    await reader?.stop();
    for (const service of instances ?? []) await service.kill();
  });

  it('accepts participants while an instance is killed, and publishes each record once', async () => {
    const account = new Account(seededChoices());
    const enrol = async (study: string) => {
      const { id, levels } = account.fresh(study);
      await within(15_000, async () => {
        const answer = await proxy
          .ask('POST', '/study_participants', { study, id, ...levels })
          .catch(() => undefined);
        // The answer to the first try can have been lost with the instance.
        return answer?.status === 200 || answer?.message.includes('already assigned') === true;
      });
    };
    const enrolSome = async () => {
      for (let i = 0; i < 15; i++) await enrol(STUDY_NAMES[i % STUDY_NAMES.length] ?? 'One');
    };
    await enrolSome();
    await instances[0].kill();
    await enrolSome();
    await instances[1].stop();

    const where = ['--store', target.connectionString, '--stream-prefix', TOPIC];
    const report = JSON.parse(await commandOk(['verify', ...where, '--json']));
    expect(report.ok).toBe(true);
    const sizes = new Map<string, number>(
      report.streams.map(({ stream, records }: { stream: string; records: number }) => [stream, records]),
    );
    const participants = report.streams.flatMap((one: { participants?: number }) => one.participants ?? []);
    expect(participants.reduce((sum: number, one: number) => sum + one, 0)).toBe(30);
    await within(30_000, async () =>
      [...sizes].every(([stream, size]) => reader.check().get(stream) === size),
    );
    relay.child.kill('SIGTERM');
    expect(await relay.exited).toBe(0);
  });
});
