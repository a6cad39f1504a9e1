/**
 * Structured logs on stderr. What may stand in them is decided where each line is written, field by field: no key,
 * treatment, generator state, seed or evidence, at any level. Nothing logs a whole object of the domain.
 */
import { destination, type Logger, pino } from 'pino';

export type { Logger };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

export function makeLogger(level: string): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    destination({ fd: 2, sync: false }),
  );
}
