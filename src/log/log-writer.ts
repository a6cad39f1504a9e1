/** Appends to the log's own stream. */
import type { LogFact } from '../../events/log.ts';
import { type LogHistory, logHistory } from '../../projections/log.ts';
import type { Runner } from '../../projections/runner.ts';
import type { EventStore } from '../store/event-store.ts';
import { foldedStream } from '../write/folded-stream.ts';
import { Writer, type WriterTools } from '../write/writer.ts';
import { type LogCommand, type LogOutcome, logDecider } from './decide.ts';

export const LOG_STREAM = 'log';

export type LogWriter = Writer<LogHistory, LogCommand, LogFact, LogOutcome>;

export interface LogWriterParts {
  readonly store: EventStore;
  readonly logId: string;
  readonly runner: Runner;
  readonly tools: WriterTools;
}

export function logWriter(parts: LogWriterParts): LogWriter {
  const folded = foldedStream(parts.runner, logHistory, LOG_STREAM);
  return new Writer({ ...parts, stream: LOG_STREAM, decider: logDecider, folded });
}
