/** urn operations: what happened besides the allocations. Writes nothing, and is not recorded itself. */
import type { Command } from 'commander';
import { decodeRecord, type LogEvent } from '../../events/record.ts';
import { DAY_FORM, parseDay } from '../evidence/history/history.ts';
import { openForVerification } from '../service/open/open-store.ts';
import { describeOperation, operationOf, studyOf } from '../service/operations/operation.ts';
import { OPERATIONS } from '../service/operations/operations-stream.ts';
import { jsonOption, option, PATIENCE, type StoreOptions, storeCommand, UsageError } from './options.ts';
import { note, result } from './output.ts';

interface OperationsOptions extends StoreOptions {
  readonly study?: string;
  readonly user?: string;
  readonly since?: string;
  readonly until?: string;
  readonly json?: boolean;
}

const HELP = `
One line per event, oldest first: when it was written, who, what.
  started, stopped   a run of the service, with its version; a run that was killed has no stop
  was refused        a request with any key that was ever issued
  was shown          generator states, a seed, records, explanations, balances, bundles, exports,
                     re-randomization tests
  signed in, out     a person in the pages, with the session; a session that expired has no sign-out

Repeated events are summed up: the first has its own line, the others are counted, with the first and the last time.
The log may be in use. Nothing is written, and the signing key is not needed.`;

export function operationsCommand(): Command {
  return storeCommand(OPERATIONS)
    .description('list refused requests, disclosures of evidence, sign-ins, and the runs of the service')
    .addOption(option('--study <name>', 'only events that concern this study'))
    .addOption(option('--user <name>', 'only events of this user'))
    .addOption(
      option(
        '--since <instant>',
        'only events written on or after this day, or this instant in UTC: 2027-06-30 or 2027-06-30T12:00Z',
      ),
    )
    .addOption(
      option('--until <instant>', 'only events written on or before this day, or this instant in UTC'),
    )
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run({ study, user, json, ...options }: OperationsOptions): Promise<void> {
  const since = instant('--since', options.since, 'first');
  const until = instant('--until', options.until, 'last');
  const isWanted = (event: LogEvent) =>
    (study === undefined || studyOf(event) === study) &&
    (user === undefined || event.actor.user === user) &&
    (since === undefined || event.at >= since) &&
    (until === undefined || event.at <= until);
  const source = await openForVerification({ ...options, patience: PATIENCE });
  try {
    let shown = 0;
    for await (const page of source.read(OPERATIONS)) {
      const events = page.map((stored) => decodeRecord(stored)).filter(isWanted);
      shown += events.length;
      if (events.length > 0) result(events.map(json ? asJson : describeOperation).join('\n'));
    }
    if (shown === 0) note('no such events are recorded');
  } finally {
    await source.close();
  }
}

/** One line per event: a long history need not fit into memory. */
function asJson(event: LogEvent): string {
  return JSON.stringify(operationOf(event));
}

/** @throws UsageError */
function instant(name: string, text: string | undefined, edge: 'first' | 'last'): string | undefined {
  if (text === undefined) return undefined;
  const parsed = parseDay(text, edge);
  if (parsed === undefined) throw new UsageError(`${name} "${text}" is not ${DAY_FORM}`);
  return parsed;
}
