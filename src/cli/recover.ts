/** urn recover: declares what a restored backup lacks, and lets the log continue with fresh randomness. */
import type { Command } from 'commander';
import type { RecoveredStream } from '../../events/log.ts';
import { logHistory } from '../../projections/log.ts';
import { counted } from '../base/wording.ts';
import type { KeptCheckpoint } from '../core/log/formats.ts';
import type { LogIdentity } from '../core/log/identity.ts';
import { type SignedState, stateIn } from '../core/log/last-checkpoints.ts';
import { LOG_STREAM } from '../core/log/log-stream.ts';
import { studyState } from '../core/study/fold.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { isLogInUse } from '../service/open/open-store.ts';
import { checkpointsIn } from './files.ts';
import { recordPendingReveals, withLog } from './open-log.ts';
import {
  cliActor,
  jsonOption,
  type LogOptions,
  logCommand,
  logSettings,
  option,
  repeatedOption,
  UsageError,
} from './options.ts';
import { note, progress, result, table } from './output.ts';
import { expectStopped, stoppedOption } from './precautions.ts';

interface Options extends LogOptions {
  readonly reason: string;
  readonly checkpoint?: string[];
  readonly dryRun?: boolean;
  readonly unproven?: boolean;
  readonly notMoved?: boolean;
  readonly stopped?: boolean;
  readonly json?: boolean;
}

const HELP = `
For a log that was restored from a backup, when no newer copy exists, or that was moved to a store that is lost for good. Stop
every service that uses it first.

The file last-checkpoints in the data folder shows what the backup lacks, and so do the checkpoints that you give: receipts
(Urn-Receipt) of the sites, the file of a witness. The more you give, the more of the loss is declared. If a receipt turns
up later and shows more, urn verify reports a loss that was not declared.

The recovery is recorded in the stream log, with the reason. Every study gets a new generator with 128 bits from the
operating system, because the old one would draw the lost allocations again. Checkpoints have a different origin from
then on. None of this can be undone; --dry-run shows what would be declared.

API keys issued after the backup are lost too, and so are revocations: check urn keys list.

Examples:
  urn recover --data ./data --dry-run --reason "disk of 21 November"
  urn recover --data ./data --reason "disk of 21 November" --checkpoint receipts.txt`;

// A log that was moved continues elsewhere: recovering it here would make two logs of it.
const MOVED =
  'and goes on there, not here (hint: run urn copy again if that move has not arrived; if the other store is lost for good, insist with --not-moved)';
const PERHAPS_MOVED =
  'records of the stream log itself are lost, and one of them may say that the log was moved to another store (hint: look for that store; if there is none, because a recovery or a rotation of the signing key was lost, insist with --not-moved)';

export function recoverCommand(): Command {
  return logCommand('recover')
    .description('declare what a log restored from a backup lacks, and let it take participants again')
    .addOption(option('--reason <text>', 'recorded with the recovery').makeOptionMandatory())
    .addOption(repeatedOption('--checkpoint <file>', 'more checkpoints that the log has signed (repeatable)'))
    .addOption(option('--dry-run', 'only show what would be declared'))
    .addOption(
      option(
        '--unproven',
        'recover even if no checkpoint shows a loss: the backup is older, but nobody knows by how much',
      ),
    )
    .addOption(
      option(
        '--not-moved',
        'recover even if records of the stream log itself are lost, or the log was moved: you know that it goes on in no other store',
      ),
    )
    .addOption(stoppedOption())
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run({ reason, checkpoint = [], ...given }: Options): Promise<void> {
  const { dryRun, unproven, notMoved, stopped, json, ...options } = given;
  if (reason.trim() === '')
    throw new UsageError('--reason must not be empty: it is recorded with the recovery');
  const kept = checkpoint.flatMap(checkpointsIn);
  // A service that does not know of the loss would keep drawing between the declaration and the new generators.
  const inUse = dryRun ? false : isLogInUse(logSettings(options));
  const shown = progress('records read');
  await withLog(options, async (log) => {
    expectStopped(inUse, 'recover', stopped);
    await log.rebuild(shown.show);
    shown.end();
    const refusal = log.gate.refusal(LOG_STREAM, 'recover');
    if (refusal) throw refusal;
    const { moved } = log.runner.state(logHistory, LOG_STREAM);
    const loss = log.findLoss(kept.map((one) => signedIn(log.identity, one)));
    if (loss.lost.length === 0 && !unproven && !moved) return await finish(log, dryRun, json);
    const { recovery, streams, lost } = loss;
    if (!notMoved && (moved || lost.some(({ stream }) => stream === LOG_STREAM))) {
      const why = moved ? `the log was moved to ${moved.to} ${MOVED}` : PERHAPS_MOVED;
      if (!dryRun) throw new UsageError(why);
      note(why);
    }
    const renewed = dryRun ? [] : await log.recover(loss, reason, cliActor());
    if (json) return result(JSON.stringify({ recovery, declared: !dryRun, streams, lost, renewed }, null, 2));
    result(
      [dryRun ? 'would be declared:' : `recovery ${recovery} is declared:`, lossTable(log, streams)].join(
        '\n',
      ),
    );
    if (dryRun) return;
    await recordPendingReveals(log);
    note(
      [
        `The generator of ${counted(renewed.length, 'study', 'studies')} begins anew. Restart the service.`,
        'Still to do: inform the sponsor and the statistician; compare each study with the records of its sites; check',
        'urn keys list for keys issued or revoked after the backup, and urn studies list for studies that are open because',
        'their closing or pause was lost; keep the receipts (urn verify reports those of lost records as DECLARED LOSS);',
        'archive new checkpoints.',
        ...(hasPacks(log) ? [LOST_PACKS] : []),
        ...lostEntries(log, streams),
      ].join('\n'),
    );
  });
}

const LOST_PACKS = `Packs that were given to lost participants are free again in the log, and would be given out a second time. BEFORE the service
starts, enter those participants with their packs (urn participants force --code), or withdraw the packs (urn codes withdraw).`;

function hasPacks({ runner, studies }: OpenLog): boolean {
  return studies.list().some(({ stream }) => {
    const state = runner.state(studyState, stream);
    return state.status !== 'unregistered' && !state.packs.isEmpty();
  });
}

/** A line for each study with a list. */
function lostEntries({ studies }: OpenLog, streams: readonly RecoveredStream[]): string[] {
  return studies.list().flatMap(({ stream, design }) => {
    if (design.method.name !== 'list') return [];
    const { kept = 0, signed } = streams.find((one) => one.stream === stream) ?? {};
    const lost = signed && signed.size > kept ? `at least ${signed.size - kept}` : 'none';
    return [
      `${design.name} follows a list: nobody is randomized until urn lists skip says which entries were used (records known to be lost: ${lost}).`,
    ];
  });
}

/** For a log whose losses are all declared: completes a recovery that was interrupted. */
async function finish(log: OpenLog, dryRun?: boolean, json?: boolean): Promise<void> {
  const renewed = dryRun ? [] : await log.studies.renewGenerators(cliActor());
  if (renewed.length === 0)
    throw new UsageError(
      'nothing is missing that this log is known to have signed (hint: give the receipts of the sites with --checkpoint; if nobody knows how much is missing, insist with --unproven)',
    );
  if (json) return result(JSON.stringify({ renewed }, null, 2));
  result(`an earlier recovery is now complete: the generators of ${renewed.join(', ')} begin anew`);
}

/** @throws UsageError for a checkpoint that this log's key did not sign */
function signedIn(identity: LogIdentity, { note, where }: KeptCheckpoint): SignedState {
  const state = stateIn(identity)(note);
  if (state) return state;
  throw new UsageError(
    `${where} was not signed by this log (hint: leave it out, and find out where it came from)`,
  );
}

function lossTable({ studies }: OpenLog, streams: readonly RecoveredStream[]): string {
  const names = new Map(
    studies.list().map(({ stream, registered }) => [stream, registered.configuration.name]),
  );
  return table([
    ['stream', 'kept', 'signed', 'lost', 'study'],
    ...streams.map(({ stream, kept, signed }) => [
      stream,
      String(kept),
      signed ? String(signed.size) : 'not known',
      signed && signed.size > kept ? `at least ${signed.size - kept}` : 'none known',
      names.get(stream) ?? (stream.startsWith('study-') ? '(lost entirely: its name is not known)' : ''),
    ]),
  ]);
}
