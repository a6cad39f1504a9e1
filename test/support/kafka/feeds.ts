/** Relays and readers of a test file, closed after each of its tests. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { afterEach } from 'vitest';
import type { RelaySettings } from '../../../src/service/relay/settings.ts';
import type { Broker } from './apache-kafka.ts';
import type { BrokerOfFile } from './broker.ts';
import { FeedReader, kafkaOf } from './feed-reader.ts';
import { published, type Relaying, relaying, settingsFor } from './relaying.ts';

let topics = 0;
export const newTopic = () => `feed-${process.pid}-${Date.now()}-${++topics}`;

export function feedsOf(broker: BrokerOfFile<Broker>) {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });

  /** A relay that is not open yet. */
  async function started(data: string, topic: string, more: Partial<RelaySettings> = {}): Promise<Relaying> {
    const made = await relaying(data, settingsFor(broker.get().address, topic, more));
    open.push(made);
    return made;
  }

  /** Like `started`, but running. */
  async function running(data: string, topic: string, more: Partial<RelaySettings> = {}): Promise<Relaying> {
    const made = await started(data, topic, more);
    await made.relay.open();
    void made.relay.run().catch(() => undefined);
    return made;
  }

  /** Closes it once everything is published. */
  async function stopped(one: Relaying): Promise<void> {
    await published(one);
    await one.close();
    open.splice(open.indexOf(one), 1);
  }

  async function reading(topic: string): Promise<FeedReader> {
    const reader = await new FeedReader(broker.get().address).start(topic);
    open.push({ close: () => reader.stop() });
    return reader;
  }

  async function withAdmin<T>(use: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = kafkaOf(broker.get().address).admin();
    await admin.connect();
    try {
      return await use(admin);
    } finally {
      await admin.disconnect();
    }
  }

  return { started, running, stopped, reading, withAdmin };
}

/** The relay's message when it opens its topics. */
export function opening(one: Relaying): Promise<string> {
  return one.relay.open().then(
    () => 'opened',
    (error: Error) => error.message,
  );
}

/** Waits until it is so. @throws Error when it takes too long, with what `explain` says then */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  explain: () => string,
  withinMs = 60_000,
): Promise<void> {
  for (const deadline = Date.now() + withinMs; !(await isSo()); await delay(25))
    if (Date.now() > deadline) throw new Error(`it is not so, still: ${explain()}`);
}
