/**
 * Structured logs on stderr. What may stand in them is decided where each line is written, field by field: no key,
 * treatment, generator state, seed or evidence, at any level. Nothing logs a whole object of the domain.
 */
import { type DestinationStream, destination, type Logger, pino } from 'pino';

export type { Logger };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** How long the last lines may take at the end of the process, in ms. */
const LAST_LINES_MS = 1000;

/** Lines are written together: when so many bytes have come together, and at least so often, in ms. */
const TOGETHER_BYTES = 4096;
const AT_LEAST_EVERY_MS = 100;

export function logDestination() {
  return destination({ fd: 2, sync: false, minLength: TOGETHER_BYTES, periodicFlush: AT_LEAST_EVERY_MS });
}

export function makeLogger(level: string, out: DestinationStream = logDestination()): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, out);
}

/**
 * Writes a last line and waits until it is out, but not for long: a reader of the log that is gone must not keep the
 * process, and pino would try for ever while it exits.
 */
export async function endLog(
  logger: Logger,
  out: ReturnType<typeof logDestination>,
  last: string,
): Promise<void> {
  if (!logger.isLevelEnabled('info')) return;
  const written = new Promise((resolve) => {
    out.once('drain', resolve);
    setTimeout(resolve, LAST_LINES_MS);
  });
  logger.info(last);
  out.flush();
  await written;
  out.destroy();
}
