/** What a writer works with, and its limits. */
import type { LogEvent, RecordBytes } from '../../../events/record.ts';
import type { StoreError } from '../../store/event-store.ts';

/** The folded stream that a writer decides against. */
export interface FoldedStream<State> {
  readonly state: State;
  readonly revision: number;
  /** `at` of the last event. */
  readonly lastAt: string | undefined;
  /** Why nothing may be written to the stream now; undefined when writing is allowed. */
  readonly refusal: Error | undefined;
  catchUp(): Promise<void>;
  accept(events: readonly LogEvent[], records: readonly RecordBytes[]): void;
  listen(listener: (event: LogEvent) => void): () => void;
}

export interface WriterLimits {
  /** The most commands that may wait. Any more are refused as overload. */
  readonly queue: number;
  readonly batchCommands: number;
  readonly batchBytes: number;
  /** How long commands may be decided before the rest of the process has its turn, in ms. */
  readonly turnMs: number;
  /** How long a command may take from submission to answer, in ms. */
  readonly deadlineMs: number;
  /** How long one append may take before it counts as unclear, in ms. */
  readonly appendTimeoutMs: number;
}

export const DEFAULT_LIMITS: WriterLimits = {
  queue: 10_000,
  batchCommands: 1000,
  batchBytes: 512 * 1024,
  turnMs: 25,
  deadlineMs: 15_000,
  appendTimeoutMs: 5_000,
};

export interface WriterHooks {
  /** The store has acknowledged events of these types. */
  onAppend?(seconds: number, types: readonly string[]): void;
  onConflict?(): void;
  onUnclear?(error: Error): void;
  /** An attempt to append has failed. */
  onAppendFailed?(error: StoreError): void;
  /** An event was written with an earlier time than its predecessor: the clock was set back in between. */
  onClockSetBack?(stream: string, before: string, now: string): void;
}

export interface WriteResult<Outcome> {
  readonly outcome: Outcome;
  /** Revision of the fact that the command produced. Without a fact, the revision that the decision is based on. */
  readonly revision: number;
}
