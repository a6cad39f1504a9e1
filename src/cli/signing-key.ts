/** urn signing-key: which keys have signed the log, and another one from now on. */
import type { Command } from 'commander';
import { logHistory } from '../../projections/log.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import type { OpenLog } from '../open/open-log.ts';
import { openExisting } from './open-log.ts';
import { cliActor, jsonOption, type LogOptions, logCommand, option, UsageError } from './options.ts';
import { note, progress, result } from './output.ts';

const HELP = `
The key that signs now endorses the new one, which takes its place; the old one is deleted. Whoever trusts the old key
(urn verify --trust) can follow the endorsement, and what it has signed stays verifiable. A service that runs goes over to
the new key within a second. Afterwards:
  make a new backup of the data folder: an older one has neither the new key nor its endorsement
  archive the new verifier key as the first one was, and give it to the auditors`;

export function signingKeyCommand(): Command[] {
  return [
    logCommand('show')
      .description('the verifier keys of this log, the present one last')
      .addOption(jsonOption())
      .action(show),
    logCommand('rotate')
      .description('sign with a new key from now on; the present one endorses it')
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
  if (reason.trim() === '') throw new UsageError('--reason needs a text: it is recorded with the event');
  await withLog(options, async (log) => {
    const shown = progress('records read');
    await log.rebuild(shown.show);
    shown.end();
    result(await log.rotateSigningKey(reason, cliActor()));
    note('signs from now on (hint: make a new backup of the data folder, and archive this verifier key)');
  });
}

async function withLog(options: LogOptions, use: (log: OpenLog) => Promise<void>): Promise<void> {
  const log = await openExisting(options);
  try {
    await use(log);
  } finally {
    await log.close();
  }
}
