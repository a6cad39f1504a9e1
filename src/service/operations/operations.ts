/** Writes to the stream `operations` of an open log: what happened besides the allocations. */
import type { OperationsFact } from '../../../events/operations.ts';
import type { Actor } from '../../../events/record.ts';
import { foldedStream, type LogParts, Writer } from '../../core/write/writer.ts';
import { noState, operationsDecider } from './decide.ts';

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
