import type { Movement } from '../../../projections/runner.ts';
import { DomainError } from '../../base/errors.ts';

/** Why nothing may be written to a stream that has moved to another store; undefined while it is open. */
export function movedError(movement: Movement): DomainError | undefined {
  switch (movement.status) {
    case 'open':
      return undefined;
    case 'closed':
      return new DomainError(
        'moved',
        `the log is moved to ${movement.to}, and nothing more is recorded in this store (hint: ask the service there; if this is that store, urn copy has to finish first)`,
      );
    case 'dead':
      return new DomainError(
        'moved',
        'this store holds a copy of the log that was given up, and nothing is ever recorded here (hint: the log goes on where it was copied from)',
      );
  }
}
