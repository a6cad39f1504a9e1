/**
 * The relay publishes the log into Kafka, record by record in the order of each stream, with signed checkpoints in
 * between (docs/feed.md). It reads what it publishes from the store, so while Kafka is down it needs no memory and delays
 * no append: the feed lags, and catches up.
 *
 * Only a process that publishes loads this, since the Kafka client takes long to load.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Actor, Content } from '../../../events/record.ts';
import { studyConfig } from '../../core/study/fold.ts';
import type { Logger } from '../monitoring/logger.ts';
import type { OpenLog } from '../open/open-log.ts';
import { nextBatch, publicationOf, type RelayLog, recoveryOf, type StreamPart, stateOfLog } from './batch.ts';
import { isExpired, isFencing } from './kafka.ts';
import { PublishingSession } from './publishing-session.ts';
import { FeedError, type RelaySettings, type Topics, topicsOf } from './settings.ts';
import { TopicFaults } from './topics.ts';

/**
 * Makes a relay for an open log, for `urn relay` and `urn serve --relay`.
 * @param log folded, and not rolled back
 * @throws DomainError `identity` if the log's name cannot name a topic
 */
export function makeRelay(log: OpenLog, settings: RelaySettings, actor: Actor, logger: Logger): Relay {
  const topics = topicsOf(settings.topic, log.identity.logName);
  if (settings.content !== 'blinded')
    logger.warn(
      { topic: topics.records, content: settings.content },
      settings.content === 'full'
        ? 'the feed is UNBLINDING MATERIAL: it holds every treatment, and the states from which every later assignment can be computed'
        : 'the feed is UNBLINDING MATERIAL: it holds the treatment of every participant',
    );
  const recordDisclosure = disclosureRecorder(log, settings.content, actor);
  return new Relay({ log, settings, topics, logger, recordDisclosure });
}

/** Records, once for each study and start, that its records are published with sealed sections, before they are. */
function disclosureRecorder({ operations, runner }: OpenLog, content: Content, actor: Actor) {
  const recorded = new Set<string>();
  return async (stream: string, fromRevision: number) => {
    const study = runner.state(studyConfig, stream)?.configuration.name;
    if (study === undefined || recorded.has(stream)) return;
    const at = new Date().toISOString();
    const data = {
      what: 'records',
      study,
      fromRevision,
      content,
      count: 1,
      firstAt: at,
      lastAt: at,
    } as const;
    await operations.record({ type: 'EvidenceDisclosed', data, sections: {} }, actor);
    recorded.add(stream);
  };
}

interface RelayParts {
  readonly log: RelayLog;
  readonly settings: RelaySettings;
  readonly topics: Topics;
  readonly logger: Logger;
  /** Awaited before records of a stream are published with sealed sections. @throws if it cannot be recorded */
  recordDisclosure(stream: string, fromRevision: number): Promise<void>;
}

/** How the relay does, for metrics. */
export interface RelayStatus {
  /** 1: connected; 0: trying to connect; -1: stopped for good, or must not start. */
  readonly up: -1 | 0 | 1;
  readonly lagRecords: number;
  readonly lagSeconds: number;
  readonly published: number;
  /** How many offsets Kafka has removed at the beginnings of the partitions. */
  readonly cutOffsets: number;
}

/** Before the relay reconnects; doubled each time, until something was published. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [250, 10_000];
/** Until another relay that fenced this one has claimed the topic. */
const FENCED_WAIT_MS = 1000;
/** For topics that were just created, or a broker that just started. */
const [BUSY_TRIES, BUSY_WAIT_MS] = [20, 250];
/** How long the current transaction may still take when the relay stops. */
const LAST_TRANSACTION_MS = 10_000;

/** Publishes session after session: each ends with a failure, and the next one finds out where to continue. */
export class Relay {
  readonly #parts: RelayParts;
  readonly #relayId = randomUUID();
  readonly #stopped = new AbortController();
  /** Streams that may have records to publish. */
  readonly #lagging = new Set<string>();
  /** Streams with a record that is not the one that was folded: no more of them is published. */
  readonly #broken = new Set<string>();
  /** Revision of the last record known to be published, by stream. */
  readonly #published = new Map<string, number>();
  readonly #faults: TopicFaults;
  #session: PublishingSession | undefined;
  #hadSession = false;
  #recovery = 0;
  #running: Promise<void> | undefined;
  #wake: () => void = () => undefined;
  #publishedRecords = 0;
  #laggingSince: number | undefined = performance.now();
  #isOver = false;

  /** @param parts with a folded log */
  constructor(parts: RelayParts) {
    this.#parts = parts;
    this.#faults = new TopicFaults(parts.topics.records, parts.logger);
    for (const stream of parts.log.runner.streams()) this.#lagging.add(stream);
  }

  /** A record of the stream was folded. */
  folded(stream: string): void {
    if (this.#broken.has(stream)) return;
    this.#laggingSince ??= performance.now();
    this.#lagging.add(stream);
    this.#wake();
  }

  /**
   * Connects, and finds out where to continue.
   * @throws FeedError; DomainError, StoreError
   */
  async open(): Promise<void> {
    const { log, settings, topics, logger } = this.#parts;
    const session = await this.#openSession();
    this.#hadSession = true;
    this.#recovery = recoveryOf(log);
    this.#session = session;
    for (const stream of log.runner.streams()) {
      this.#published.set(stream, session.published(stream));
      if (!this.#broken.has(stream)) this.#lagging.add(stream);
    }
    logger.info({ topic: topics.records, content: settings.content, lagRecords: this.#lag() }, 'publishing');
  }

  /**
   * Publishes until `stop`, and reconnects forever when Kafka or the store fails.
   * @param refusal why nothing may be published now; `run` may be called again when that no longer applies
   * @throws FeedError if it must not continue; the refusal
   */
  run(refusal?: Error): Promise<void> {
    if (refusal) {
      this.#isOver = true;
      return Promise.reject(refusal);
    }
    this.#isOver = false;
    this.#running ??= this.#run().finally(() => {
      this.#isOver = true;
    });
    return this.#running;
  }

  /** Resolves when the current transaction is done, or has taken too long. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake();
    const late = delay(LAST_TRANSACTION_MS, undefined, { ref: false });
    await Promise.race([this.#running?.catch(() => undefined), late]);
  }

  status(): RelayStatus {
    const up = this.#isOver ? -1 : this.#session ? 1 : 0;
    const lagSeconds = this.#laggingSince === undefined ? 0 : (performance.now() - this.#laggingSince) / 1000;
    const [published, cutOffsets] = [this.#publishedRecords, this.#faults.cutOffsets];
    return { up, lagRecords: this.#lag(), lagSeconds, published, cutOffsets };
  }

  async #openSession(): Promise<PublishingSession> {
    const { log, ...parts } = this.#parts;
    let wasRefused = false;
    for (let tries = 1; ; tries++)
      try {
        return await PublishingSession.open({
          ...parts,
          logId: log.identity.logId,
          relayId: this.#relayId,
          isReopening: this.#hadSession || wasRefused,
          stateOfLog: (positions) => stateOfLog(log, parts.settings.content, positions),
          faults: this.#faults,
        });
      } catch (error) {
        // By another relay, or because this one slept during its first transaction. The positions show which, a little later.
        const isRefused = !this.#hadSession && isFencing(error);
        const isBusy = error instanceof FeedError && error.failure === 'busy';
        wasRefused ||= isRefused;
        if ((!isBusy && !isRefused) || tries === BUSY_TRIES) throw error;
        const { signal } = this.#stopped;
        await delay(isRefused ? FENCED_WAIT_MS : BUSY_WAIT_MS, undefined, { signal }).catch(() => undefined);
      }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      try {
        if (!this.#session) await this.open();
        await this.#publishAll(() => {
          waitMs = FIRST_WAIT_MS;
        });
      } catch (error) {
        if (error instanceof FeedError && error.isFinal) throw error;
        // The relay that fenced this one claims the topic immediately; then opening fails for good.
        if (isFencing(error)) waitMs = Math.max(waitMs, FENCED_WAIT_MS);
        if (!signal.aborted) this.#logFailure(error as Error, waitMs);
      } finally {
        await this.#session?.close();
        this.#session = undefined;
      }
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #publishAll(onPublished: () => void): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const session = this.#session;
      if (!session) return;
      const { log, settings } = this.#parts;
      const parts = await nextBatch(
        log,
        this.#lagging,
        (stream) => session.published(stream),
        settings.content,
        (stream, error) => this.#onBroken(stream, error),
      );
      if (parts.length > 0) {
        await this.#publish(session, parts);
        onPublished();
      } else if (this.#lagging.size === 0) {
        if (this.#broken.size === 0) this.#laggingSince = undefined;
        await this.#growth();
      }
    }
  }

  /** Waits until there is more to publish, or the relay stops. */
  #growth(): Promise<void> {
    if (this.#stopped.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #publish(session: PublishingSession, parts: readonly StreamPart[]): Promise<void> {
    const { log, settings } = this.#parts;
    const { content } = settings;
    // The next session compares the positions with the recovery, and stops.
    if (recoveryOf(log) !== this.#recovery) throw new Error('the log was recovered meanwhile');
    if (content !== 'blinded')
      for (const { stream, records } of parts)
        await this.#parts.recordDisclosure(stream, records[0]?.revision ?? 0);
    await session.publish(
      parts.map((part) => publicationOf(log, { content, recovery: this.#recovery }, part)),
    );
    for (const { stream, records } of parts) {
      this.#published.set(stream, session.published(stream));
      this.#publishedRecords += records.length;
    }
  }

  #logFailure(error: Error, againInMs: number): void {
    const { logger } = this.#parts;
    const line = { why: error.message, againInMs };
    if (isExpired(error))
      logger.info(
        line,
        'Kafka has forgotten this relay, which had nothing to publish for a long time; reconnecting',
      );
    else logger.error(line, 'the feed lags: publishing fails at the moment');
  }

  #onBroken(stream: string, error: Error): void {
    this.#broken.add(stream);
    this.#parts.logger.error(
      { stream, why: error.message },
      'a stream is no longer published: its records are not those that were first read',
    );
  }

  #lag(): number {
    const { runner } = this.#parts.log;
    return runner
      .streams()
      .reduce((sum, stream) => sum + runner.revision(stream) - (this.#published.get(stream) ?? -1), 0);
  }
}
