/** Taking a stream's next event: what every fold of the log checks, whether it follows live or looks back. */
import { type LogEvent, RecordError } from '../events/record.ts';

/**
 * Decodes the record that must follow revision `last` of its stream, -1 before the first.
 * @throws RecordError when records are missing before it, when it belongs to another log, and as `decode` does
 */
export function nextEvent(
  logId: string,
  last: number,
  { stream, revision }: { readonly stream: string; readonly revision: number },
  decode: () => LogEvent,
): LogEvent {
  const where = `${stream}/${revision}`;
  if (revision !== last + 1)
    throw new RecordError('misplaced', where, `follows revision ${last}: records are missing`);
  const event = decode();
  if (event.log !== logId) throw new RecordError('misplaced', where, 'belongs to another log');
  return event;
}
