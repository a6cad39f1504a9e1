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
