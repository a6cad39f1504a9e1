/**
 * The EventStoreDB that a test run uses, the most realistic one available:
 *
 *   1. the server that EVENTSTOREDB_URL names,
 *   2. else one in a container, where a Docker engine answers,
 *   3. else the server of server.ts in this process.
 *
 * The run says which. Every test uses its own prefix, so that it never meets data of another run.
 */
import { hasDocker } from '../docker.ts';
import { EventStoreDbServer } from './server.ts';

/** The one of docker-compose.yml. */
const IMAGE = 'eventstore/eventstore:23.10.1-bookworm-slim';
const PORT = 2113;
const START_MS = 120_000;

export interface EventStoreDbTarget {
  readonly connectionString: string;
  stop(): Promise<void>;
}

export async function eventStoreDb(): Promise<EventStoreDbTarget> {
  const { is, target } = await found();
  // biome-ignore lint/suspicious/noConsole: what a run has proven depends on it
  console.info(`EventStoreDB of this run: ${is}`);
  return target;
}

/** The real server that a run was given, if it was. */
export const givenServer = (): string | undefined => process.env['EVENTSTOREDB_URL'] || undefined;

async function found(): Promise<{ is: string; target: EventStoreDbTarget }> {
  const connectionString = givenServer();
  if (connectionString)
    return {
      is: 'a real server, given by EVENTSTOREDB_URL',
      target: { connectionString, stop: async () => undefined },
    };
  if (hasDocker()) return { is: `a real server in Docker, ${IMAGE}`, target: await inDocker() };
  const server = await new EventStoreDbServer().start();
  return {
    is: 'the in-process server (neither EVENTSTOREDB_URL nor Docker is there)',
    target: { connectionString: server.connectionString(), stop: () => server.stop() },
  };
}

async function inDocker(): Promise<EventStoreDbTarget> {
  // Loading it takes half a second of processor time, which files without Docker are spared.
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = await new GenericContainer(IMAGE)
    .withEnvironment({
      EVENTSTORE_INSECURE: 'true',
      EVENTSTORE_CLUSTER_SIZE: '1',
      EVENTSTORE_MEM_DB: 'true',
      EVENTSTORE_RUN_PROJECTIONS: 'None',
    })
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forHttp('/health/live', PORT).forStatusCodeMatching((code) => code < 300))
    .withStartupTimeout(START_MS)
    .start();
  return {
    connectionString: `esdb://${container.getHost()}:${container.getMappedPort(PORT)}?tls=false`,
    stop: async () => {
      await container.stop();
    },
  };
}
