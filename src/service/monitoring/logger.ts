/**
 * Structured logs on stderr. Each line lists its fields one by one, and no code logs a whole domain object. No line, at any
 * level, may contain a key, treatment, generator state, seed or evidence.
 */
import { setTimeout } from 'node:timers/promises';
import { type DestinationStream, destination, type Logger, pino } from 'pino';

export type { Logger };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** How long the process waits for lines to be written, in ms. A busy machine may need a while. */
const LAST_LINES_MS = 5000;

/** Lines are buffered until there are this many bytes, and written at least this often, in ms. */
const BUFFER_BYTES = 4096;
const FLUSH_MS = 100;

export function logDestination() {
  const out = destination({ fd: 2, sync: false, minLength: BUFFER_BYTES, periodicFlush: FLUSH_MS });
  // A full disk loses lines of the log. It must not end the service.
  out.on('error', () => undefined);
  return out;
}

export function makeLogger(level: string, out: DestinationStream = logDestination()): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, out);
}

/** Waits until all lines so far are written, but not for long, so that what a person needs can be printed after them. */
export async function writtenLines(logger: Logger): Promise<void> {
  const flush = () => new Promise<void>((resolve) => logger.flush(() => resolve()));
  // The first may end together with a write that had begun before, and leave the last lines.
  await Promise.race([flush().then(flush), setTimeout(LAST_LINES_MS, undefined, { ref: false })]);
}

/**
 * Writes a last line and waits until it is written, but not for long: a log that nobody reads must not keep the process
 * from ending.
 */
export async function endLog(
  logger: Logger,
  out: ReturnType<typeof logDestination>,
  last: string,
): Promise<void> {
  if (!logger.isLevelEnabled('info')) return;
  // Not `drain`: that can come when an earlier write is done and these lines are still to be written.
  const written = new Promise((resolve) => {
    out.once('close', resolve);
    out.once('error', resolve);
    void setTimeout(LAST_LINES_MS).then(resolve);
  });
  logger.info(last);
  out.end();
  await written;
  out.destroy();
}
