/** The connection to Kafka, and what its errors mean. */
import { createRequire } from 'node:module';
import { Kafka, type LogEntry, logLevel, type RetryOptions, type SASLOptions } from 'kafkajs';
import { DomainError } from '../../base/errors.ts';
import { StoreError } from '../../store/event-store.ts';
import type { Logger } from '../monitoring/logger.ts';
import { FeedError, type RelaySettings } from './settings.ts';

/**
 * Kafka refuses a transaction for some milliseconds after the one before it, and the client waits for
 * `initialRetryTime` before it tries again. With its default of 300 ms there would be five transactions a second. All
 * tries together take about two seconds; after that the relay itself starts over.
 */
const RETRY: RetryOptions = {
  initialRetryTime: 5,
  multiplier: 2,
  factor: 0.2,
  maxRetryTime: 1000,
  retries: 9,
};
const CONNECTION_TIMEOUT_MS = 5000;
const REQUEST_TIMEOUT_MS = 20_000;
/** A relay that hangs in a transaction keeps readers of committed records waiting for at most this long. */
const TRANSACTION_TIMEOUT_MS = 30_000;

/** Of kafkajs, what is mended here. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

const queue: RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue').prototype;
const { scheduleCheckPendingRequests } = queue;
// From a connection's first answer on, kafkajs 2.2.4 looks every millisecond whether a request waits, with a time before 1970, of which
// Node 24 warns. It is enough to look while one does: another is looked at when it comes.
queue.scheduleCheckPendingRequests = function (this: RequestQueue) {
  if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
};

export function connectKafka({ brokers, tls, sasl }: RelaySettings, logger: Logger): Kafka {
  return new Kafka({
    clientId: 'urn-relay',
    brokers: [...brokers],
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    authenticationTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retry: RETRY,
    ...(tls ? { ssl: tls.ca === undefined ? true : { ca: [tls.ca] } } : {}),
    ...(sasl ? { sasl: sasl as SASLOptions } : {}),
    // Its debug lines contain what is sent.
    logLevel: logLevel.INFO,
    logCreator: () => (entry) => logLine(logger, entry),
  });
}

export type Producer = ReturnType<typeof sessionProducer>;

/** A producer for one session, which never retries what has failed. */
export function sessionProducer(kafka: Kafka, transactionalId: string) {
  return kafka.producer({
    transactionalId,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    retry: RETRY,
    // Messages name their partition.
    createPartitioner:
      () =>
      ({ message }) =>
        message.partition ?? 0,
  });
}

export function throwawayConsumer(kafka: Kafka, groupId: string, readUncommitted: boolean) {
  return kafka.consumer({
    groupId,
    readUncommitted,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: 100,
    retry: { ...RETRY, restartOnFailure: async () => false },
  });
}

/** The client retries after what it calls errors; the relay logs the outcome itself. */
function logLine(logger: Logger, { level, log }: LogEntry): void {
  const { message, broker, error, retryCount } = log;
  const line = { kafka: message, broker, why: error, retryCount };
  if (level === logLevel.ERROR || level === logLevel.WARN) logger.debug(line, 'the Kafka client says');
  else logger.trace(line, 'the Kafka client says');
}

const FENCED = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED']);

/** The broker refuses this producer for good: a newer one has its id, or its transaction took too long. */
export function isFencing(error: unknown): boolean {
  return causes(error).some(({ type }) => FENCED.has(type ?? ''));
}

/** The producer's id has expired: nothing was published for `transactional.id.expiration.ms`, a week by default. */
export function isExpired(error: unknown): boolean {
  return causes(error).some(({ type }) => type === 'INVALID_PRODUCER_ID_MAPPING');
}

/** The user lacks a permission. */
export function isForbidden(error: unknown): boolean {
  return causes(error).some(({ type }) => type?.endsWith('AUTHORIZATION_FAILED'));
}

/** Explains an error of the client to the operator. */
export function explain(error: unknown, { brokers, sasl }: RelaySettings): Error {
  if (error instanceof FeedError || error instanceof DomainError || error instanceof StoreError) return error;
  const all = causes(error);
  const message = all.at(-1)?.message ?? String(error);
  const has = (test: (one: KafkaCause) => boolean) => all.some(test);
  const where = brokers.join(',');
  if (has(({ name }) => name === 'KafkaJSSASLAuthenticationError'))
    return new FeedError(
      'rejected',
      `Kafka at ${where} refuses the user "${sasl?.username ?? ''}": ${message} (hint: check --kafka-username, --kafka-mechanism and the password in URN_KAFKA_PASSWORD or --kafka-password-file)`,
      error,
    );
  if (isForbidden(error))
    return new FeedError(
      'rejected',
      `Kafka denies permission: ${message} (hint: docs/feed.md lists what the relay's user must be allowed to do)`,
      error,
    );
  if (has(({ type }) => type === 'UNKNOWN_TOPIC_OR_PARTITION'))
    // The topic was there before. A new topic is not known to all brokers at once.
    return new FeedError('busy', `a topic of the feed is gone: ${message}`, error);
  if (has(({ type }) => type === 'MESSAGE_TOO_LARGE' || type === 'RECORD_LIST_TOO_LARGE'))
    return new FeedError(
      'unusable-topic',
      `a topic of the feed does not accept messages of that size: ${message} (hint: set its max.message.bytes and segment.bytes to 1 MiB, or to more than the longest record)`,
      error,
    );
  if (has(({ name, type }) => name === 'KafkaJSConnectionError' || CANNOT_CONNECT.has(type ?? '')))
    return new FeedError(
      'unreachable',
      `no Kafka broker answers at ${where}: ${message} (hint: check --kafka-brokers, that Kafka runs, and --kafka-tls with --kafka-ca)`,
      error,
    );
  const isBusy = has(
    ({ name, type, retriable }) => (type !== undefined && retriable === true) || NOT_YET.has(name ?? ''),
  );
  return new FeedError(
    isBusy ? 'busy' : 'unreachable',
    `Kafka at ${where} failed: ${message} (hint: check that Kafka runs and answers; the broker's own log may say more)`,
    error,
  );
}

const CANNOT_CONNECT = new Set(['ILLEGAL_SASL_STATE', 'UNSUPPORTED_SASL_MECHANISM']);

/** The cluster has not settled its roles, or the client has not heard of them yet. */
const NOT_YET = new Set([
  'KafkaJSGroupCoordinatorNotFound',
  'KafkaJSBrokerNotFound',
  'KafkaJSMetadataNotLoaded',
  'KafkaJSTopicMetadataNotLoaded',
]);

interface KafkaCause {
  readonly name?: string;
  readonly message?: string;
  /** Name of the error in Kafka's protocol. */
  readonly type?: string;
  readonly retriable?: boolean;
}

/** The client wraps errors in errors, sometimes several in one. */
function causes(error: unknown): KafkaCause[] {
  const all: KafkaCause[] = [];
  const left = [error];
  while (left.length > 0 && all.length < 10) {
    const one = left.shift();
    if (!(one instanceof Error)) continue;
    all.push(one as KafkaCause & Error);
    const { errors = [], cause } = one as { errors?: readonly unknown[]; cause?: unknown };
    left.push(...errors, cause);
  }
  return all;
}
