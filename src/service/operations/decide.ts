/** The decider of the stream `operations`: each fact stands alone, so deciding one needs no state. */
import type { OperationsFact } from '../../../events/operations.ts';
import type { Projection } from '../../../projections/runner.ts';
import type { Decider } from '../../core/write/decider.ts';

/** Nothing is folded from this stream. Its events are read from the store when needed. */
export const noState: Projection<null> = {
  name: 'no-state',
  stream: 'operations',
  initial: () => null,
  apply: (state) => state,
};

export const operationsDecider: Decider<null, OperationsFact, OperationsFact, null> = {
  decide: (_, fact) => ({ fact, outcome: null }),
  mayChange: () => false,
  evolve: noState.apply,
  fork: (state) => state,
  // A service that ends without it looks as if it had crashed.
  isUrgent: ({ type }) => type === 'ServiceStopped',
};
