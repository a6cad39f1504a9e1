/**
 * What the commands share: how an option is made, those that say where the log is, who gives the command, and the errors of
 * several commands. Options made by `option` have an environment variable, URN_<NAME>; the option wins.
 */
import { userInfo } from 'node:os';
import { Command, Option } from 'commander';
import type { Actor } from '../../events/record.ts';
import { quote } from '../base/text.ts';
import type { LogSettings } from '../service/open/open-log.ts';
import type { Patience } from '../service/open/store-location.ts';
import { note } from './output.ts';

/** Wrong usage or configuration: exit code 2. The message says what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Values of an environment variable that leave a switch off. */
const OFF_VALUES = new Set(['0', 'false', 'no']);

export function option(flags: string, description: string): Option {
  const made = new Option(flags, description);
  const variable = `URN_${made.name().replaceAll('-', '_').toUpperCase()}`;
  const value = process.env[variable];
  // An empty variable counts as unset: `URN_STORE=${STORE:-}` in a compose file.
  const isLeftOut = value === '' || (!made.required && OFF_VALUES.has(value?.toLowerCase() ?? ''));
  return isLeftOut ? made : made.env(variable);
}

/** An option that may be given several times. */
export function repeatedOption(flags: string, description: string): Option {
  return option(flags, description).argParser((value: string, earlier: string[] | undefined) => [
    ...(earlier ?? []),
    value,
  ]);
}

export function jsonOption(): Option {
  return option('--json', 'machine-readable output');
}

export interface StoreOptions {
  readonly data: string;
  readonly store?: string;
  readonly streamPrefix?: string;
}

export const DEFAULT_DATA = './data';

/** A command that only reads the store. */
export function storeCommand(name: string): Command {
  return new Command(name)
    .addOption(option('--data <folder>', 'folder of the log and its signing key').default(DEFAULT_DATA))
    .addOption(
      option(
        '--store <url>',
        'where the log is: sqlite:<file>, esdb://<host>:2113 (EventStoreDB), or memory: (lost when the process ends; default: SQLite in --data)',
      ),
    )
    .addOption(
      option('--stream-prefix <prefix>', "EventStoreDB: prefix of this log's stream names (default: urn)"),
    );
}

export interface LogOptions extends StoreOptions {
  readonly signingKey?: string;
  readonly logName?: string;
  readonly allowGroupKey?: boolean;
  /** Not an option of the command line: see LogSettings. */
  readonly mayLackKey?: boolean;
}

/** A command that opens the log. */
export function logCommand(name: string): Command {
  return storeCommand(name)
    .addOption(
      option(
        '--signing-key <file>',
        "the log's signing key, the same for all instances (default: signing-key in --data)",
      ),
    )
    .addOption(option('--log-name <name>', 'name for a new log (default: urn)'))
    .addOption(
      option('--allow-group-key', "accept a signing key that its file's group may read (a mounted secret)"),
    );
}

export function logSettings(options: LogOptions): LogSettings {
  const { data, store, streamPrefix, signingKey, logName, mayLackKey } = options;
  return { data, store, streamPrefix, signingKey, logName, mayLackKey, patience: PATIENCE };
}

const PATIENCE_S = 60;

/** A command does not wait for its store for ever. */
export const PATIENCE: Patience = {
  ms: PATIENCE_S * 1000,
  onWaiting: (why) => {
    if (why) note(`waiting for the store, for at most ${PATIENCE_S} s: ${why.message}`);
  },
};

/** The person at the command line, as the operating system knows them. */
export function cliActor(): Actor {
  try {
    return { cli: true, user: userInfo().username };
  } catch {
    // In a container the user may have a number and no name.
    return { cli: true, user: `uid ${process.getuid?.() ?? 'unknown'}` };
  }
}

/**
 * The whole number that an option gives.
 * @param name of the option, such as `--reps`
 * @throws UsageError
 */
export function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${name} ${quote(text)} is not a whole number from ${least} to ${most}`);
}

export function unknownStudy(name: string): UsageError {
  return new UsageError(`no study "${name}" is registered (hint: urn studies list)`);
}

export function unknownParticipant(study: string, id: string): UsageError {
  return new UsageError(
    `study ${JSON.stringify(study)} has no participant ${JSON.stringify(id)} (hint: urn participants list)`,
  );
}

export function unknownPack(study: string, code: string): UsageError {
  return new UsageError(
    `study ${JSON.stringify(study)} has no pack ${JSON.stringify(code)} (hint: urn codes list, which names arms)`,
  );
}
