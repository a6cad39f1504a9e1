/** Appends to the log's own stream. */
import type { LogFact } from '../../../events/log.ts';
import { type LogHistory, logHistory } from '../../../projections/log.ts';
import { foldedStream, type LogParts, type Permission } from '../write/folded-stream.ts';
import { Writer } from '../write/writer.ts';
import { type LogCommand, type LogOutcome, logDecider } from './decide.ts';

export const LOG_STREAM = 'log';

export type LogWriter = Writer<LogHistory, LogCommand, LogFact, LogOutcome>;

/** @param permission `recover` to declare a loss, which is needed only when the log lacks records */
export function logWriter(parts: LogParts, permission: Permission = 'write'): LogWriter {
  const folded = foldedStream(parts, logHistory, LOG_STREAM, permission);
  return new Writer({ ...parts, stream: LOG_STREAM, decider: logDecider, folded });
}
