/** Takes the next event of a stream, with the checks that every fold of the log makes, live or in retrospect. */
import type { LogEvent } from '../events/record.ts';
import { RecordError } from '../src/base/errors.ts';
import { type Movement, movementAfter, outOfPlace } from './movement.ts';

/** How far a stream has been folded. */
export interface StreamPosition {
  /** Revision of the last event; -1 before the first. */
  readonly revision: number;
  readonly movement: Movement;
}

/**
 * Decodes the record that must come next in its stream.
 * @throws RecordError when records are missing before it, it belongs to another log, or the stream had moved to another
 *   store; and the errors of `decode`
 */
export function nextEvent(
  logId: string,
  last: StreamPosition,
  { stream, revision }: { readonly stream: string; readonly revision: number },
  decode: () => LogEvent,
): { readonly event: LogEvent; readonly movement: Movement } {
  const where = `${stream}/${revision}`;
  if (revision !== last.revision + 1)
    throw new RecordError('misplaced', where, `follows revision ${last.revision}: records are missing`);
  const event = decode();
  if (event.log !== logId) throw new RecordError('misplaced', where, 'belongs to another log');
  const wrong = outOfPlace(last.movement, event);
  if (wrong) throw new RecordError('misplaced', where, `${wrong.found} has no place here: ${wrong.why}`);
  return { event, movement: movementAfter(last.movement, event) };
}
