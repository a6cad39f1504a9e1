/** urn session-key: replaces the key that seals the cookies of people who sign in. */
import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { sessionKeyFile } from '../service/open/store-location.ts';
import { replaceSessionKey } from '../service/session/session-key.ts';
import { option, UsageError } from './options.ts';
import { note } from './output.ts';

interface ReplaceOptions {
  readonly data: string;
  readonly sessionKey?: string;
  readonly endSessions?: boolean;
}

const HELP = `
A running service takes the new key within a second or two. Cookies sealed with the previous key are accepted for 12 hours,
and no session lasts longer. If somebody may have read the key, use --end-sessions: everybody has to sign in again.
Give the new file to each instance that has its own copy.`;

export function sessionKeyCommand(): Command[] {
  return [
    new Command('replace')
      .description('make a new key, or the first one')
      .addOption(option('--data <folder>', 'folder of the log').default('./data'))
      .addOption(option('--session-key <file>', 'the file of the key (default: session-key in --data)'))
      .addOption(option('--end-sessions', 'no longer accept the previous key'))
      .addHelpText('after', HELP)
      .action(replace),
  ];
}

function replace({ data, sessionKey, endSessions = false }: ReplaceOptions): void {
  if (sessionKey === undefined && !existsSync(data))
    throw new UsageError(`there is no folder ${data} (hint: name the folder of the log with --data)`);
  replaceSessionKey(sessionKeyFile(data, sessionKey), !endSessions, new Date());
  note(
    endSessions
      ? 'the session key is replaced, and everybody has to sign in again'
      : 'the session key is replaced; the previous one is accepted for 12 hours',
  );
}
