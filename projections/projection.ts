/** A projection: a fold over the events of one stream. What anyone reads is folded from the log, and from nothing else. */

import type { StreamKind } from '../events/define.ts';
import type { LogEvent } from '../events/record.ts';

export interface Projection<State> {
  readonly name: string;
  /** The kind of stream it folds; each stream of that kind has a state of its own. */
  readonly stream: StreamKind;
  initial(): State;
  /** The state after the event. May change the given state in place and return it: a study has one state, not many. */
  apply(state: State, event: LogEvent): State;
}
