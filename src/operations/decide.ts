/** The stream `operations` on the write path: each fact stands by itself, so nothing has to be known to decide one. */
import type { OperationsFact } from '../../events/operations.ts';
import type { Projection } from '../../projections/projection.ts';
import type { Decider } from '../write/decider.ts';

/** What is folded of the stream: nothing. Whoever wants to know it reads it from the store. */
export const noState: Projection<null> = {
  name: 'noState',
  stream: 'operations',
  initial: () => null,
  apply: (state) => state,
};

export const operationsDecider: Decider<null, OperationsFact, OperationsFact, null> = {
  decide: (_, fact) => ({ fact, outcome: null }),
  evolve: noState.apply,
  fork: (state) => state,
};
