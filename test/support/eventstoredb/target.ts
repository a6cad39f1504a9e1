/**
 * The EventStoreDB that a test run uses, the most realistic one available:
 *
 *   1. the server that EVENTSTOREDB_URL names,
 *   2. else one in a container, where a Docker engine answers and has the image,
 *   3. else the server of server.ts in this process.
 *
 * The run says which, and ends it. Every test uses its own prefix, so that it never meets data of another run.
 */
import { afterAll } from 'vitest';
import { dockerLacking } from '../docker.ts';
import { EventStoreDbServer } from './server.ts';

/** The one of docker-compose.yml. */
const IMAGE = 'eventstore/eventstore:23.10.1-bookworm-slim';
const PORT = 2113;
const START_MS = 120_000;

/** The one of the file that calls this, before its tests: it ends with them, even if they fail or are skipped. */
export async function eventStoreDb(): Promise<{ readonly connectionString: string }> {
  const { is, target } = await found();
  afterAll(() => target.stop());
  // biome-ignore lint/suspicious/noConsole: what a run has proven depends on it
  console.info(`EventStoreDB of this run: ${is}`);
  return target;
}

/** The real server that a run was given, if it was. */
export const givenServer = (): string | undefined => process.env['EVENTSTOREDB_URL'] || undefined;

interface Target {
  readonly connectionString: string;
  stop(): Promise<unknown>;
}

async function found(): Promise<{ is: string; target: Target }> {
  const connectionString = givenServer();
  if (connectionString)
    return {
      is: 'a real server, given by EVENTSTOREDB_URL',
      target: { connectionString, stop: async () => undefined },
    };
  const lacking = await dockerLacking(IMAGE);
  if (lacking === undefined) return { is: `a real server in Docker, ${IMAGE}`, target: await inDocker() };
  const server = await new EventStoreDbServer().start();
  // As in a cluster, an append has its place before it can be read and is answered.
  server.appends.always = { lateMs: 5 };
  return {
    is: `the in-process server (EVENTSTOREDB_URL is not set, and ${lacking})`,
    target: { connectionString: server.connectionString(), stop: () => server.stop() },
  };
}

async function inDocker(): Promise<Target> {
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
    stop: () => container.stop(),
  };
}
