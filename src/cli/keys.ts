/** urn keys: issue, list and revoke API keys, also while the service runs. */
import type { Command } from 'commander';
import { type LevelLimit, Scope } from '../../events/access.ts';
import type { ApiKey } from '../../projections/access.ts';
import { type Grant, refusal } from '../access/decide.ts';
import type { OpenLog } from '../app.ts';
import { openExisting, openOrBegin } from './open-log.ts';
import {
  cliActor,
  jsonOption,
  type LogOptions,
  logCommand,
  option,
  repeatedOption,
  UsageError,
} from './options.ts';
import { note, result, table } from './output.ts';

interface AddOptions extends LogOptions {
  scope: string;
  study?: string[];
  where?: string[];
  expires?: string;
  allowPrediction?: boolean;
  json?: boolean;
}

const ADD_HELP = `
Scopes (none implies another):
  read       configuration and participants, with treatments
  blinded    configuration and participants, without treatments
  randomize  randomize participants; alone, the arm is not shown
  audit      generator states and seeds, explanations, balances, the past: whoever has it can predict, so give it to
             someone who does not enrol

Examples:
  urn keys add edc                                          full access of the contract: read,randomize
  urn keys add site-30 --study "CHS JCOIN" --where "local_site=30-Dupage County"
  urn keys add auditor --scope read,audit --expires 2027-06-30`;

export function keysCommand(): Command[] {
  return [
    logCommand('add')
      .argument('<user>', 'who owns the key; recorded with every participant that it randomizes')
      .description('issue an API key: the key, alone, on stdout, once')
      .addOption(
        option('--scope <scopes>', 'what the key may do, separated by commas').default('read,randomize'),
      )
      .addOption(repeatedOption('--study <name>', 'limit the key to this study (repeatable)'))
      .addOption(
        repeatedOption(
          '--where <factor=level>',
          'limit the key to a level; of one factor any, of several all (repeatable)',
        ),
      )
      .addOption(
        option(
          '--expires <date>',
          'last day (UTC) or instant of the key, as 2027-06-30 or 2027-06-30T12:00:00Z',
        ),
      )
      .addOption(option('--allow-prediction', 'issue randomize together with audit all the same; recorded'))
      .addOption(jsonOption())
      .addHelpText('after', ADD_HELP)
      .action(add),
    logCommand('list')
      .description('one line a key, its id first')
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

async function add(user: string, options: AddOptions): Promise<void> {
  const grant = grantOf(user, options);
  const issue = async ({ keys, studies, runner }: OpenLog) => {
    for (const name of grant.studies ?? []) {
      await runner.catchUp(studies.streamOf(name));
      if (!studies.find(name))
        note(`warning: no study "${name}" is registered yet; the key is limited to that name all the same`);
    }
    const issued = await keys.issue(grant, cliActor());
    if ('refused' in issued) throw new UsageError(issued.refused);
    const { keyId, apiKey } = issued;
    const until = grant.expiresAt === undefined ? '' : `, refused from ${grant.expiresAt} on`;
    note(`key ${keyId} for ${user} (${grant.scopes.join(',')}${until}); the key is shown only now:`);
    result(options.json ? JSON.stringify({ keyId, key: apiKey, ...grant }) : apiKey);
  };
  await withKeys(options, issue, openOrBegin);
}

/** @throws UsageError for what cannot be granted, before a log is opened or made */
function grantOf(user: string, { scope, study, where, expires, allowPrediction }: AddOptions): Grant {
  if (user.trim() === '' || /\p{Cc}/u.test(user))
    throw new UsageError('the user needs a name without control characters');
  if (study?.includes('')) throw new UsageError('--study needs the name of a study');
  const scopes = [...new Set(scope.split(',').map((word) => word.trim()))].map((word) => {
    const parsed = Scope.safeParse(word);
    if (!parsed.success)
      throw new UsageError(`"${word}" is not a scope (there are: ${Scope.options.join(', ')})`);
    return parsed.data;
  });
  const grant: Grant = {
    user,
    scopes,
    studies: study,
    where: where && limits(where),
    expiresAt: expires === undefined ? undefined : expiry(expires),
    allowPrediction,
  };
  const why = refusal(grant);
  if (why !== undefined) throw new UsageError(why);
  return grant;
}

/** Split at the first "=": a level may contain one, a factor with one cannot be named here. */
function limits(where: readonly string[]): LevelLimit[] {
  const byFactor = new Map<string, string[]>();
  for (const limit of where) {
    const equals = limit.indexOf('=');
    if (equals < 1 || equals === limit.length - 1)
      throw new UsageError(`--where "${limit}" is not FACTOR=LEVEL (for example --where local_site=11)`);
    const factor = limit.slice(0, equals);
    byFactor.set(factor, [...(byFactor.get(factor) ?? []), limit.slice(equals + 1)]);
  }
  return [...byFactor].map(([factor, levels]) => ({ factor, levels }));
}

const EXPIRY = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z)?$/;

/** A day is the last one on which the key works (UTC). */
function expiry(text: string): string {
  const [, day = '', time] = EXPIRY.exec(text) ?? [];
  const midnight = new Date(`${day}T00:00:00Z`);
  const instant = new Date(`${day}${time ?? 'T24:00:00Z'}`);
  // Date reads 2027-02-31 as a day in March.
  const exists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
  if (!exists || Number.isNaN(instant.getTime()))
    throw new UsageError(
      `--expires "${text}" is neither a day (2027-06-30) nor an instant in UTC (2027-06-30T12:00:00Z)`,
    );
  if (instant.getTime() <= Date.now()) throw new UsageError(`--expires ${text} has passed already`);
  return instant.toISOString();
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
    throw new UsageError('--reason needs a text: it is recorded with the event');
  await withKeys(options, async ({ keys }) => {
    const outcome = await keys.revoke(keyId, options.reason, cliActor());
    // Not quoted: it may be the key itself.
    if (outcome === 'unknown-key')
      throw new UsageError(
        'there is no key of that id (hint: the id, such as k0123456789ab, is what urn keys list shows first)',
      );
    note(outcome === 'revoked' ? `key ${keyId} is revoked` : `key ${keyId} was revoked before`);
  });
}

/** With the keys folded. @param open `openExisting` or `openOrBegin` */
async function withKeys(
  options: LogOptions,
  use: (log: OpenLog) => Promise<void>,
  open: (options: LogOptions) => Promise<OpenLog> = openExisting,
): Promise<void> {
  const log = await open(options);
  try {
    await log.read('access');
    const halted = log.runner.halted('access');
    if (halted) throw halted;
    const warning = log.gate.refusal('access', 'write');
    if (warning) note(`warning: ${warning.message}`);
    await use(log);
  } finally {
    await log.close();
  }
}
