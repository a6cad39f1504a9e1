/** Stores at the tests' EventStoreDB server, which are closed after each test, and what their subscriptions hear. */
import { afterEach, expect, vi } from 'vitest';
import type { Position, StoreError } from '../../../src/store/event-store.ts';
import { type EventStoreDbLimits, EventStoreDbStore } from '../../../src/store/eventstoredb/store.ts';
import { DELIVERY_MS, Heard as HeardOfAny, texts } from '../store-contract.ts';
import { type ElectionTimes, TestCluster } from './cluster.ts';
import { EventStoreDbServer, type EventStoreDbServerOptions } from './server.ts';

/** Times short enough for a test. */
export const QUICK: Partial<EventStoreDbLimits> = {
  appendTimeoutMs: 1000,
  readTimeoutMs: 1000,
  probeMs: 100,
  graceMs: 100,
  pauseMs: [20, 100],
  settleMs: 400,
  silentMs: 150,
  askMs: 250,
};

/** For tests in which nothing may time out, on a machine that is busy with other tests. */
export const PATIENT: Partial<EventStoreDbLimits> = {
  ...QUICK,
  appendTimeoutMs: 15_000,
  readTimeoutMs: 15_000,
  // Of a cluster, a node that is silent for longer is left, with the calls in progress.
  silentMs: 15_000,
  askMs: 15_000,
};

/** Call it once in a test file: what it opens is closed after each test. */
export function eventStoreDbScene() {
  const opened: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close();
  });
  return {
    async cluster(times: Partial<ElectionTimes> = {}): Promise<TestCluster> {
      const cluster = await new TestCluster(times).start();
      opened.push({ close: () => cluster.stop() });
      return cluster;
    },
    async server(options: EventStoreDbServerOptions = {}): Promise<EventStoreDbServer> {
      const server = await new EventStoreDbServer(options).start();
      opened.push({ close: () => server.stop() });
      return server;
    },
    store(
      server: EventStoreDbServer | TestCluster,
      { prefix = 'urn', limits = QUICK, at = server.connectionString() } = {},
    ): EventStoreDbStore {
      const store = new EventStoreDbStore(at, prefix, limits);
      opened.push(store);
      return store;
    },
    listen(store: EventStoreDbStore, after?: Position): Heard {
      const heard = new Heard();
      opened.push({ close: store.subscribe(after, heard).close });
      return heard;
    },
  };
}

export class Heard extends HeardOfAny {
  /** Broken streams, and why. */
  readonly broken: Record<string, string> = {};
  /** Streams whose records will be removed, and why. */
  readonly dangers: Record<string, string> = {};
  readonly rolledBack: string[] = [];

  get caughtUp(): number {
    return this.caughtUpAt.length;
  }

  onBroken(stream: string, { message }: StoreError): void {
    if (stream in this.broken) throw new Error(`${stream} was broken before`);
    this.broken[stream] = message;
  }

  onDanger(stream: string, danger: string | undefined): void {
    if (danger === undefined) delete this.dangers[stream];
    else this.dangers[stream] = danger;
  }

  onRolledBack(why: string): void {
    this.rolledBack.push(why);
  }

  get texts(): string[] {
    return texts(this.records);
  }

  /** Resolves when the subscription reports again that everything has been delivered. */
  async untilCaughtUp(): Promise<void> {
    const before = this.caughtUp;
    await vi.waitFor(() => expect(this.caughtUp).toBeGreaterThan(before), DELIVERY_MS);
  }
}

/** The error of a promise that must fail. */
export const failureOf = (promise: Promise<unknown>): Promise<StoreError> =>
  promise.then(
    (value) => Promise.reject(new Error(`it did not fail: ${JSON.stringify(value)}`)),
    (error: StoreError) => error,
  );
