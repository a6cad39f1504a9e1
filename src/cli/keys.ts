/** urn keys: issue, list and revoke API keys, also while the service runs. */
import type { Command } from 'commander';
import type { ApiKey } from '../../projections/access.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { addCommand } from './keys-add.ts';
import { readKeys, withLog } from './open-log.ts';
import { cliActor, jsonOption, type LogOptions, logCommand, option, UsageError } from './options.ts';
import { note, result, table } from './output.ts';

export function keysCommand(): Command[] {
  return [
    addCommand(),
    logCommand('list')
      .description('list the keys, one per line, id first')
      .addOption(jsonOption())
      .action((options: LogOptions & { json?: boolean }) =>
        withKeys(options, async ({ keys }) => list(keys.list(), options.json === true)),
      ),
    logCommand('revoke')
      .argument('<key-id>', 'as shown by: urn keys list')
      .description('revoke a key; a running service refuses it within a second')
      .addOption(option('--reason <text>', 'recorded with the event'))
      .action(revoke),
  ];
}

function list(keys: readonly ApiKey[], json: boolean): void {
  if (json) {
    result(JSON.stringify(keys, null, 2));
    return;
  }
  if (keys.length === 0) note('there is no key yet (hint: urn keys add USER)');
  else result(table(keys.map(row)));
}

function row({
  keyId,
  user,
  scopes,
  studies,
  where,
  expiresAt,
  revoked,
  issuedAt,
  allowPrediction,
}: ApiKey): string[] {
  const expired = expiresAt !== undefined && expiresAt <= new Date().toISOString();
  const state = revoked
    ? `revoked ${revoked.at}${revoked.reason ? ` (${revoked.reason})` : ''}`
    : expired
      ? 'expired'
      : 'valid';
  const limited = [
    ...(studies ?? []).map((name) => `study ${JSON.stringify(name)}`),
    ...(where ?? []).map(({ factor, levels }) => `${factor}=${levels.join('|')}`),
    ...(expiresAt === undefined ? [] : [`until ${expiresAt}`]),
    ...(allowPrediction ? ['may predict'] : []),
  ];
  return [keyId, user, scopes.join(','), state, `issued ${issuedAt}`, limited.join(' ') || 'no limits'];
}

async function revoke(keyId: string, options: LogOptions & { reason?: string }): Promise<void> {
  if (options.reason?.trim() === '')
    throw new UsageError('--reason must not be empty: it is recorded with the event');
  await withKeys(options, async ({ keys }) => {
    const outcome = await keys.revoke(keyId, options.reason, cliActor());
    // Not quoted: it may be the key itself.
    if (outcome === 'unknown-key')
      throw new UsageError(
        'there is no key with that id (hint: urn keys list shows the id first, such as k0123456789ab)',
      );
    note(outcome === 'revoked' ? `key ${keyId} is revoked` : `key ${keyId} was already revoked`);
  });
}

async function withKeys(options: LogOptions, use: (log: OpenLog) => Promise<void>): Promise<void> {
  await withLog(options, async (log) => {
    await readKeys(log);
    await use(log);
  });
}
