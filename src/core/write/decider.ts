/** What the write path needs from each kind of stream: how it decides, and how a fact changes its state. */
import type { Fact } from '../../../events/catalogue.ts';
import type { LogEvent } from '../../../events/record.ts';

export interface Decision<F, Outcome> {
  /** The fact to write. If there is none, nothing is written and the outcome says why. */
  readonly fact?: F;
  readonly outcome: Outcome;
}

/** On what occasion a command is decided. */
export interface Occasion {
  /** In ISO 8601. If a fact follows, its record has this time. */
  readonly at: string;
  /** Whether it is asked for now, or a replay decides a record of it again. */
  readonly mode: 'request' | 'replay';
}

export interface Decider<State, Command, F extends Fact, Outcome> {
  /** Pure: the same state, command and occasion give the same decision, in a batch of one or of thousands of commands. */
  decide(state: State, command: Command, occasion: Occasion): Decision<F, Outcome>;
  /**
   * Whether an outcome without a fact may be another one as soon as another process writes: a paused study may have been
   * resumed, but an id that is taken stays taken. The writer answers such an outcome only from the present end of the log.
   */
  mayChange(outcome: Outcome): boolean;
  /** May change the given state in place. */
  evolve(state: State, event: LogEvent): State;
  /** A state that can be evolved and dropped without changing the original. */
  fork(state: State): State;
  /** Commands of one urgency go into batches of their own, ahead of all others. */
  urgency?(command: Command): Urgency | undefined;
}

/** `reserve`: the command may also use the room that the store keeps in reserve. */
export type Urgency = 'first' | 'reserve';
