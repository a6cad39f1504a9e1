/** Why the feed cannot go on. */
export type FeedFailure =
  | 'unreachable' // no broker answers
  | 'busy' // Kafka asks to come again, as when a partition has no leader just now, or a topic is new
  | 'rejected' // credentials, certificates or permissions
  | 'unusable-topic' // missing, or configured so that the feed would lose records
  | 'contradiction' // what was published is not of this log as it stands
  | 'fenced'; // another relay of this log into this topic has taken over

export class FeedError extends Error {
  override readonly name = 'FeedError';
  readonly failure: FeedFailure;
  constructor(failure: FeedFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.failure = failure;
  }

  /** Whether trying again would do harm, or cannot help. */
  get isFinal(): boolean {
    return this.failure === 'fenced' || this.failure === 'contradiction';
  }
}

/** For what cannot be made good in this topic. */
export const ANOTHER_TOPIC = '(hint: --kafka-topic with a new topic, into which all of the log is published)';
