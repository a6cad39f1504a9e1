/** urn signing-key: shows the keys that have signed the log, or replaces the current one. */
import type { Command } from 'commander';
import { logHistory } from '../../projections/log.ts';
import { LOG_STREAM } from '../core/log/log-stream.ts';
import { withLog } from './open-log.ts';
import { cliActor, jsonOption, type LogOptions, logCommand, option, UsageError } from './options.ts';
import { note, progress, result } from './output.ts';

const HELP = `
The current key endorses the new one, which replaces it; the old key is deleted. Anyone who trusts the old key
(urn verify --trust) can follow the endorsement, and what the old key signed stays verifiable. A running service switches
to the new key within a second. Afterwards:
  make a new backup of the data folder: older ones have neither the new key nor its endorsement
  archive the new verifier key like the first one, and give it to the auditors`;

export function signingKeyCommand(): Command[] {
  return [
    logCommand('show')
      .description('show the verifier keys of this log, the current one last')
      .addOption(jsonOption())
      .action(show),
    logCommand('rotate')
      .description('sign with a new key from now on; the current one endorses it')
      .addOption(option('--reason <text>', 'recorded with the event').makeOptionMandatory())
      .addHelpText('after', HELP)
      .action(rotate),
  ];
}

async function show({ json, ...options }: LogOptions & { json?: boolean }): Promise<void> {
  await withLog(options, async ({ runner }) => {
    const { publicKeys } = runner.state(logHistory, LOG_STREAM);
    result(json ? JSON.stringify(publicKeys, null, 2) : publicKeys.join('\n'));
  });
}

async function rotate({ reason, ...options }: LogOptions & { reason: string }): Promise<void> {
  if (reason.trim() === '') throw new UsageError('--reason must not be empty: it is recorded with the event');
  await withLog(options, async (log) => {
    const shown = progress('records read');
    await log.rebuild(shown.show);
    shown.end();
    result(await log.rotateSigningKey(reason, cliActor()));
    note(
      'this key signs from now on (hint: make a new backup of the data folder, and archive this verifier key)',
    );
  });
}
