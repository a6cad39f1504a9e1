/**
 * Where the feed goes, what it includes, and why it ends. Every process that knows the options of a relay loads this, so it
 * does not load the Kafka client.
 */
import type { Content } from '../../../events/record.ts';
import { DomainError } from '../../base/errors.ts';

export interface RelaySettings {
  /** `host:port`, at least one. */
  readonly brokers: readonly string[];
  /** Undefined: `urn-<log name>`. */
  readonly topic: string | undefined;
  readonly content: Content;
  /** `ca`: certificates to trust (PEM) instead of the system's. Undefined: no TLS. */
  readonly tls: { readonly ca: string | undefined } | undefined;
  readonly sasl:
    | { readonly mechanism: SaslMechanism; readonly username: string; readonly password: string }
    | undefined;
  readonly createTopics: boolean;
}

export const SASL_MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
export type SaslMechanism = (typeof SASL_MECHANISMS)[number];

/** The topics of one feed. */
export interface Topics {
  readonly records: string;
  /** Compacted: how far each stream has been published. */
  readonly positions: string;
}

/** Kafka's own limit is 249. */
const LEGAL_TOPIC = /^[a-zA-Z0-9._-]{1,230}$/;

/**
 * @param wanted undefined: derived from the log's name
 * @throws DomainError `identity` if Kafka cannot have a topic of that name
 */
export function topicsOf(wanted: string | undefined, logName: string): Topics {
  const records = wanted ?? `urn-${logName}`;
  if (!LEGAL_TOPIC.test(records) || records === '.' || records === '..')
    throw new DomainError(
      'identity',
      wanted === undefined
        ? `the log is named "${logName}", and "${records}" cannot be the name of a Kafka topic (hint: name the topic with --kafka-topic, in letters and digits of ASCII, ".", "_" and "-")`
        : `"${wanted}" cannot be the name of a Kafka topic (hint: 1 to 230 letters and digits of ASCII, ".", "_" and "-")`,
    );
  return { records, positions: `${records}-positions` };
}

/** One id for all relays of one log into one topic: Kafka lets only the newest of them write. */
export function transactionalIdOf(logId: string, { records }: Topics): string {
  return `urn-relay-${logId}-${records}`;
}

/** Why the feed cannot continue. */
type FeedFailure =
  | 'unreachable' // no broker answers
  | 'busy' // Kafka asks to retry, for example because a partition has no leader yet, or a topic is new
  | 'rejected' // credentials, certificates or permissions
  | 'unusable-topic' // missing, or configured so that the feed would lose records
  | 'contradiction' // what was published does not agree with this log
  | 'fenced'; // another relay of this log into this topic has taken over

export class FeedError extends Error {
  override readonly name = 'FeedError';
  readonly failure: FeedFailure;
  constructor(failure: FeedFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.failure = failure;
  }

  /** Whether a retry would do harm, or cannot help. */
  get isFinal(): boolean {
    return this.failure === 'fenced' || this.failure === 'contradiction';
  }
}

/** The hint where this topic cannot be repaired. */
export const ANOTHER_TOPIC =
  '(hint: name a new topic with --kafka-topic; the whole log is published into it)';
