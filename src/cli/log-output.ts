/** The output of a long-running command: lines for people on a terminal, JSON for machines anywhere else. */
import type { LogDescriptor } from 'pino';
import { printable } from '../base/text.ts';
import { endLog, type Logger, logDestination, makeLogger } from '../service/monitoring/logger.ts';

export interface LogOutput {
  readonly logger: Logger;
  /** Writes a last line and waits until it is written, but not for long. */
  end(last: string): Promise<void>;
}

export async function openLogOutput(level: string): Promise<LogOutput> {
  if (process.stderr.isTTY) return onTerminal(level);
  const out = logDestination();
  const logger = makeLogger(level, out);
  return { logger, end: (last) => endLog(logger, out, last) };
}

async function onTerminal(level: string): Promise<LogOutput> {
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({
    // A terminal must not obey what a name contains, and the codes for colours would be indistinguishable from that.
    colorize: false,
    translateTime: 'SYS:HH:MM:ss',
    hideObject: true,
    messageFormat: line,
  });
  const logger = makeLogger(level, { write: (json) => process.stderr.write(printable(pretty(json))) });
  return { logger, end: async (last) => logger.info(last) };
}

/** Members that are shown elsewhere in the line. */
const ELSEWHERE = new Set(['level', 'time', 'msg']);

function line(log: LogDescriptor): string {
  const members = Object.entries(log).filter(([name]) => !ELSEWHERE.has(name));
  return [log['msg'], ...members.map(([name, value]) => `${name}=${valueText(value)}`)].join('  ');
}

function valueText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value);
}
