/** A projection is a fold over the events of one stream. Everything that anyone reads is folded from the log alone. */

import type { StreamKind } from '../events/define.ts';
import type { LogEvent } from '../events/record.ts';

export interface Projection<State> {
  readonly name: string;
  /** The kind of stream it folds. Each stream of that kind has its own state. */
  readonly stream: StreamKind;
  initial(): State;
  /**
   * The state after the event. May change the given state in place and return it, since earlier states are not kept.
   */
  apply(state: State, event: LogEvent): State;
}

/** What a reader selects from the state of a projection. */
export interface View<State, Shown> {
  readonly of: Projection<State>;
  select(state: State): Shown;
}

// biome-ignore lint/suspicious/noExplicitAny: whoever asks for a view need not know from which state it selects.
export type Readable<Shown> = Projection<Shown> | View<any, Shown>;

/** The projection that must be folded to read it. */
export function projectionOf<Shown>(readable: Readable<Shown>): Projection<unknown> {
  return 'of' in readable ? readable.of : readable;
}

/** @param state of that projection */
export function shownIn<Shown>(readable: Readable<Shown>, state: unknown): Shown {
  return 'of' in readable ? readable.select(state) : (state as Shown);
}
