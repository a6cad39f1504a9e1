/** A log with a relay in this process. */
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import type { Logger } from '../../../src/service/monitoring/logger.ts';
import { type OpenLog, openLog } from '../../../src/service/open/open-log.ts';
import type { Relay } from '../../../src/service/relay/relay.ts';
import type { RelaySettings } from '../../../src/service/relay/settings.ts';
import { makeRelay } from '../../../src/service/relay/start.ts';
import { CONFIGURATION, OPERATOR, randomize } from '../facts.ts';

export interface Relaying {
  readonly data: string;
  readonly log: OpenLog;
  readonly relay: Relay;
  /** Messages of the relay's log. */
  readonly lines: readonly string[];
  /** The study's stream. */
  readonly stream: string;
  /** Randomizes this many more participants. */
  enrol(count: number): Promise<void>;
  /** Size of each stream of the log. */
  sizes(): Map<string, number>;
  /** Stops the relay, then closes the log. */
  close(): Promise<void>;
}

export function settingsFor(
  address: string,
  topic: string,
  more: Partial<RelaySettings> = {},
): RelaySettings {
  return {
    brokers: [address],
    topic,
    content: 'blinded',
    tls: undefined,
    sasl: undefined,
    createTopics: true,
    ...more,
  };
}

/** Opens the log, with its study registered, and makes a relay that is not started. */
export async function relaying(data: string, settings: RelaySettings): Promise<Relaying> {
  const lines: string[] = [];
  const logger: Logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  let relay: Relay | undefined;
  const log = await openLog({ data }, OPERATOR, { onFolded: (stream) => relay?.folded(stream) });
  try {
    await log.rebuild();
    log.runner.follow();
    const stream = log.studies.streamOf(CONFIGURATION.name);
    if (!log.gate.rollback()) await log.studies.register(CONFIGURATION, undefined, OPERATOR);
    const made = makeRelay(log, settings, OPERATOR, logger);
    relay = made;
    const enrol = async (count: number) => {
      const first = log.runner.revision(stream);
      const commands = Array.from({ length: count }, (_, i) => randomize(`participant-${first + i}`));
      await Promise.all(commands.map((command) => log.studies.submit(stream, command, OPERATOR)));
    };
    const sizes = () => new Map(log.runner.streams().map((name) => [name, log.runner.revision(name) + 1]));
    const close = async () => {
      await made.stop();
      await log.close();
    };
    return { data, log, relay: made, lines, stream, enrol, sizes, close };
  } catch (error) {
    await log.close();
    throw error;
  }
}

/** Waits until everything is published. */
export async function published({ relay, lines }: Relaying, withinMs = 30_000): Promise<void> {
  for (const deadline = Date.now() + withinMs; relay.status().lagRecords > 0; await delay(10))
    if (Date.now() > deadline) throw new Error(`the relay lags: ${lines.join('')}`);
}

/** Lines of the relay's output that need attention. */
export const warnings = ({ lines }: Relaying) =>
  lines.map((line) => JSON.parse(line)).filter(({ level }) => level > 30);
