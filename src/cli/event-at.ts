import { decodeRecord, type LogEvent } from '../../events/record.ts';
import type { OpenLog } from '../service/open/open-log.ts';

/** Undefined if the stream has no such revision. */
export async function eventAt(
  { store }: OpenLog,
  stream: string,
  revision: number,
): Promise<LogEvent | undefined> {
  for await (const [first] of store.readStream(stream, revision)) return first && decodeRecord(first);
  return undefined;
}
