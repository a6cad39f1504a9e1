/** Why the feed cannot continue. */
export type FeedFailure =
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
