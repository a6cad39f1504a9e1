/**
 * Writes to the stream `operations` of an open log: what happened besides the allocations. Each fact stands alone, so
 * deciding one needs no state.
 */
import type { OperationsFact } from '../../../events/operations.ts';
import type { Actor } from '../../../events/record.ts';
import type { Projection } from '../../../projections/runner.ts';
import type { Decider } from '../../core/write/decider.ts';
import { foldedStream, type LogParts, Writer } from '../../core/write/writer.ts';

export const OPERATIONS = 'operations';

export class Operations {
  readonly #writer: Writer<null, OperationsFact, OperationsFact, null>;

  constructor(parts: LogParts) {
    const folded = foldedStream(parts, noState, OPERATIONS);
    this.#writer = new Writer({ ...parts, stream: OPERATIONS, decider: operationsDecider, folded });
  }

  /**
   * Resolves when the fact is durable.
   * @throws DomainError as `Writer.submit`
   */
  async record(fact: OperationsFact, actor: Actor): Promise<void> {
    await this.#writer.submit(fact, actor);
  }

  drain(): Promise<void> {
    return this.#writer.drain();
  }
}

/**
 * Deciding needs nothing of this stream. Whoever shows its events reads them from the store; the ends of sessions are folded in
 * projections/sessions.ts.
 */
const noState: Projection<null> = {
  name: 'no-state',
  stream: 'operations',
  initial: () => null,
  apply: (state) => state,
};

const operationsDecider: Decider<null, OperationsFact, OperationsFact, null> = {
  decide: (_, fact) => ({ fact, outcome: null }),
  mayChange: () => false,
  evolve: noState.apply,
  fork: (state) => state,
  // A service that ends without it looks as if it had crashed.
  urgency: ({ type }) => (type === 'ServiceStopped' ? 'reserve' : undefined),
};
