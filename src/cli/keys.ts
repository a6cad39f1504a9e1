/**
 * urn keys: issue, list and revoke API keys, also while the service runs. The limits of a new key are checked against what is
 * registered.
 */
import type { Command } from 'commander';
import { type LevelLimit, Scope } from '../../events/access.ts';
import type { ApiKey } from '../../projections/access.ts';
import { lookAlikeProblem } from '../base/text.ts';
import { type Grant, grantProblem, scopeWarnings } from '../core/access/keys.ts';
import { compareLimits, unblindedBy } from '../core/access/limited-keys.ts';
import type { Design } from '../core/model/design.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { NoLogError } from '../service/open/store-location.ts';
import { openExisting, openOrBegin, readKeys, withLog } from './open-log.ts';
import {
  cliActor,
  jsonOption,
  type LogOptions,
  logCommand,
  option,
  repeatedOption,
  UsageError,
} from './options.ts';
import { note, progress, result, table } from './output.ts';

export function keysCommand(): Command[] {
  return [
    addCommand(),
    logCommand('list')
      .description('list the keys, one per line, id first')
      .addOption(jsonOption())
      .action((options: LogOptions & { json?: boolean }) =>
        withKeys(options, async ({ keys }) => listKeys(keys.list(), options.json === true)),
      ),
    logCommand('revoke')
      .argument('<key-id>', 'as shown by: urn keys list')
      .description('revoke a key; a running service refuses it within a second')
      .addOption(option('--reason <text>', 'recorded with the event'))
      .action(revokeKey),
  ];
}

interface AddOptions extends LogOptions {
  scope: string;
  study?: string[];
  where?: string[];
  expires?: string;
  allowPrediction?: boolean;
  force?: boolean;
  json?: boolean;
}

const ADD_HELP = `
Scopes (none implies another):
  read       configuration and participants, with treatments
  blinded    configuration and participants, without treatments
  randomize  randomize participants; alone, the arm is not shown
  audit      generator states and seeds, explanations, balances, the past: its holder can predict the next arm, so
             give it to someone who does not enrol
  unblind    break the code of one participant or pack: the arm is shown, and the request is recorded
  correct    correct levels and ids of participants, void and reinstate them
  force      enter allocations that were made outside the service, such as during an outage; it names arms, so it is
             refused with blinded
  supply     see which treatment each pack holds, withdraw and replace packs: the unblinded pharmacist. It shows the arm of
             anyone who has a pack, so it is refused with blinded
  manage     pause, resume, close, reopen and amend studies

With audit, randomize, correct, force and manage are refused unless --allow-prediction is given: their holder could act on
the prediction. So are force and manage with randomize: their holder could choose the arm.
In a live study, nobody voids a participant whom the same user randomized, with whatever key: an integration that corrects
needs two users.
audit and manage are about whole studies, so they are refused with --where.

Examples:
  urn keys add edc                                          full access of the contract: read,randomize
  urn keys add site-30 --study "CHS JCOIN" --where "local_site=30-Dupage County"
  urn keys add dr-ruiz --scope blinded,unblind              an investigator: sees no arm, except by breaking a code
  urn keys add pharmacy-11 --scope supply --where "local_site=11-Cook County"
  urn keys add auditor --scope read,audit --expires 2027-06-30`;

export function addCommand(): Command {
  return logCommand('add')
    .argument('<user>', 'who owns the key; recorded with every participant that it randomizes')
    .description('issue an API key and print it once; stdout contains nothing else')
    .addOption(
      option('--scope <scopes>', 'what the key may do, separated by commas').default('read,randomize'),
    )
    .addOption(repeatedOption('--study <name>', 'limit the key to this study (repeatable)'))
    .addOption(
      repeatedOption(
        '--where <factor=level>',
        'limit the key to a level (repeatable: levels of one factor are alternatives, different factors must all match)',
      ),
    )
    .addOption(
      option(
        '--expires <date>',
        'last day (UTC) or instant at which the key is valid, such as 2027-06-30 or 2027-06-30T12:00:00Z',
      ),
    )
    .addOption(
      option(
        '--allow-prediction',
        'allow randomize, correct, force or manage with audit, or force or manage with randomize: such a key may choose arms; this is recorded',
      ),
    )
    .addOption(
      option('--force', 'issue the key even if no study has the factor or level that it is limited to'),
    )
    .addOption(jsonOption())
    .addHelpText('after', ADD_HELP)
    .action(addKey);
}

async function addKey(user: string, options: AddOptions): Promise<void> {
  const { keyId, apiKey, grant } = await issueKey(user, options);
  const until = grant.expiresAt === undefined ? '' : `, refused from ${grant.expiresAt} on`;
  note(
    `key ${keyId} for ${user} (${grant.scopes.join(',')}${until}); it is valid within a second, and shown only now:`,
  );
  result(options.json ? JSON.stringify({ keyId, key: apiKey, ...grant }) : apiKey);
}

interface IssuedKey {
  readonly keyId: string;
  readonly apiKey: string;
  readonly grant: Grant;
}

/** Issues a key, and begins the log if there is none. @throws UsageError for a grant that does not suit the log */
async function issueKey(user: string, options: AddOptions): Promise<IssuedKey> {
  const grant = grantOf(user, options);
  const existing = await openExisting(options).catch((error) => {
    if (!(error instanceof NoLogError)) throw error;
  });
  // A refused key must not begin a log.
  if (!existing) refuseUnsuitable(grant, EMPTY_LOG, options.force);
  const log = existing ?? (await openOrBegin(options));
  try {
    await readKeys(log);
    if (existing) refuseUnsuitable(grant, await grantContext(log, grant), options.force);
    const issued = await log.keys.issue(grant, cliActor());
    if ('refused' in issued) throw new UsageError(issued.refused);
    return { keyId: issued.keyId, apiKey: issued.apiKey, grant };
  } finally {
    await log.close();
  }
}

/** @throws UsageError for what cannot be granted, before a log is opened or begun */
function grantOf(user: string, { scope, study, where, expires, allowPrediction }: AddOptions): Grant {
  if (user.trim() === '' || /\p{Cc}/u.test(user))
    throw new UsageError('the user needs a name without control characters');
  if (study?.includes('')) throw new UsageError('--study needs the name of a study');
  const scopes = [...new Set(scope.split(',').map((word) => word.trim()))].map((word) => {
    const parsed = Scope.safeParse(word);
    if (!parsed.success)
      throw new UsageError(`"${word}" is not a scope (choose from ${Scope.options.join(', ')})`);
    return parsed.data;
  });
  const grant: Grant = {
    user,
    scopes,
    studies: study,
    where: where && levelLimits(where),
    expiresAt: expires === undefined ? undefined : expiry(expires),
    allowPrediction,
  };
  const why = grantProblem(grant);
  if (why !== undefined) throw new UsageError(why);
  return grant;
}

/** Splits at the first "=": a level may contain "=", but a factor whose name does cannot be given here. */
function levelLimits(where: readonly string[]): LevelLimit[] {
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

/** What a grant can refer to in a log. */
interface GrantContext {
  readonly valid: readonly ApiKey[];
  /** In their current form. */
  readonly studies: readonly Design[];
}

const EMPTY_LOG: GrantContext = { valid: [], studies: [] };

/** @param log with its keys folded; the rest is read only if a study matters to the grant */
async function grantContext(log: OpenLog, { studies, where, scopes }: Grant): Promise<GrantContext> {
  const valid = log.keys.valid();
  const mayUnblind = scopes.includes('read') && scopes.includes('randomize');
  if (!studies && !where && !mayUnblind) return { valid, studies: [] };
  const shown = progress('records read');
  await log.rebuild(shown.show);
  shown.end();
  return { valid, studies: log.studies.list().map(({ design }) => design) };
}

/** @throws UsageError; what may be intentional only causes a warning */
function refuseUnsuitable(grant: Grant, { valid, studies }: GrantContext, force = false): void {
  const unfit = lookAlikeProblem(grant.user);
  if (unfit !== undefined) throw new UsageError(`the name of the user ${unfit}`);
  const { problems, warnings } = compareLimits(grant, studies);
  if (problems.length > 0 && !force)
    throw new UsageError(`${problems.join('\n     ')}\n     (to issue the key anyway: --force)`);
  const unblinded = unblindedBy(grant, studies).map(
    (name) =>
      `study ${JSON.stringify(name)} is blinded, and this key shows the arm to anyone who randomizes with it (hint: --scope blinded,randomize)`,
  );
  const ofScopes = scopeWarnings(grant, valid);
  for (const warning of [...problems, ...warnings, ...unblinded, ...ofScopes]) note(`warning: ${warning}`);
}

function listKeys(keys: readonly ApiKey[], json: boolean): void {
  if (json) {
    result(JSON.stringify(keys, null, 2));
    return;
  }
  if (keys.length === 0) note('there is no key yet (hint: urn keys add USER)');
  else result(table(keys.map(keyRow)));
}

function keyRow({
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

async function revokeKey(keyId: string, options: LogOptions & { reason?: string }): Promise<void> {
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
