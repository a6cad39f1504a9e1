/** The commands that one append answers. */
import type { Actor, LogEvent, RecordBytes } from '../../../events/record.ts';
import type { WriteResult } from './writer-parts.ts';

export interface BatchItem<Command, Outcome> {
  readonly command: Command;
  readonly actor: Actor;
  /** Monotonic clock, in ms. */
  readonly deadline: number;
  /** The outcome of each attempt, by event id. */
  readonly attempts: Map<string, Outcome>;
  landed: WriteResult<Outcome> | undefined;
  readonly resolve: (written: WriteResult<Outcome>) => void;
  readonly reject: (error: Error) => void;
}

interface Answer<Command, Outcome> {
  readonly item: BatchItem<Command, Outcome>;
  readonly answer: () => void;
  /** There is no fact, and what another process has written may change that. */
  readonly mayChange?: boolean;
}

export interface Batch<Command, Outcome> {
  readonly expectedRevision: number;
  /** `at` of the event at that revision. */
  readonly lastAt: string | undefined;
  readonly events: LogEvent[];
  readonly records: RecordBytes[];
  /** One for each decided command, in order. Called once the records are written. */
  readonly answers: Answer<Command, Outcome>[];
}
