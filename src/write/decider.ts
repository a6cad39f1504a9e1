/** What the write path needs to know of a kind of stream: how it decides, and how a fact changes what it knows. */
import type { Fact } from '../../events/catalogue.ts';
import type { LogEvent } from '../../events/record.ts';

export interface Decision<F, Outcome> {
  /** The fact that follows. None: nothing is written, and the outcome says why. */
  readonly fact?: F;
  readonly outcome: Outcome;
}

export interface Decider<State, Command, F extends Fact, Outcome> {
  /** Pure: the same state and command give the same decision, in a batch of one or of thousands. */
  decide(state: State, command: Command): Decision<F, Outcome>;
  /** May change the given state in place. */
  evolve(state: State, event: LogEvent): State;
  /** A state that can be evolved and dropped, leaving the original as it was. */
  fork(state: State): State;
}
