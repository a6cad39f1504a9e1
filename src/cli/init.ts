/** urn init: begins a log. */
import type { Command } from 'commander';
import { placeOf } from '../service/open/store-location.ts';
import { openOrBegin } from './open-log.ts';
import { jsonOption, type LogOptions, logCommand, logSettings } from './options.ts';
import { note, result } from './output.ts';

const HELP = `
Creates the database and the signing key, and prints the log's verifier key, which auditors need (urn verify --trust). An
existing log stays as it is. urn serve and urn keys add begin a log too; no other command does.

Example:
  urn init --data /srv/urn --log-name trial-unit`;

export function initCommand(): Command {
  return logCommand('init')
    .description('begin a log, unless there is one, and print its verifier key')
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(init);
}

async function init({ json, ...options }: LogOptions & { json?: boolean }): Promise<void> {
  let isNew = false;
  const log = await openOrBegin(options, () => {
    isNew = true;
  });
  try {
    const { logId, logName, publicKeys } = log.identity;
    const verifierKey = publicKeys.at(-1);
    if (!isNew)
      note(
        `there is already a log in ${placeOf(logSettings(options))}, named "${logName}"; nothing was written`,
      );
    result(json ? JSON.stringify({ begun: isNew, logId, logName, verifierKey }, null, 2) : `${verifierKey}`);
  } finally {
    await log.close();
  }
}
