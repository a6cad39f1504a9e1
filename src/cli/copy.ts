/** urn copy: moves a log to another store. */
import type { Command } from 'commander';
import { systemTools } from '../base/tools.ts';
import { counted, plural } from '../base/wording.ts';
import {
  logIdIn,
  MoveError,
  type MoveParts,
  type MoveResult,
  moveLog,
  progressOf,
} from '../evidence/move/move-log.ts';
import { PENDING_REVEALS } from '../service/code-break/pending-reveals.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import {
  emptyStore,
  hasSigningKey,
  type PlainStore,
  patiently,
  plainStore,
  storeUrl,
} from '../service/open/open-store.ts';
import type { EventStore } from '../store/event-store.ts';
import { codeBreaksOf, withLog } from './open-log.ts';
import {
  cliActor,
  jsonOption,
  type LogOptions,
  logCommand,
  logSettings,
  option,
  PATIENCE,
  UsageError,
} from './options.ts';
import { note, progress, result, table } from './output.ts';
import { expectStopped, stoppedOption } from './precautions.ts';

interface Options extends LogOptions {
  readonly from?: string;
  readonly to: string;
  readonly toStreamPrefix?: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly stopped?: boolean;
  readonly json?: boolean;
}

const HELP = `
Stop every service and command that uses the log first, on every machine: none of them may record anything while it moves.

Copies all records to the other store unchanged: ids, bytes, order and proofs stay. Then it closes the log where it is
(LogMoved: a service that is started there by mistake takes nothing), compares every record, and opens the log in the other
store (LogArrived). Nothing is lost if the command ends before that: run it again to finish. To come back, move the log again
to a fresh store.

The signing key is not copied. Take it to the services of the other store, with the file last-checkpoints.

Exit codes: 0 done, 1 the two stores differ, 2 not done for another reason.

Examples:
  urn copy --to sqlite:/srv/urn/urn.sqlite --dry-run
  urn copy --from sqlite:data/urn.sqlite --to sqlite:/srv/urn/urn.sqlite --reason "new server"
  urn copy --to esdb://10.0.0.5:2113 --stream-prefix urn --reason "several instances"
  urn copy --from esdb://10.0.0.5:2113 --to sqlite:/srv/urn/urn.sqlite --stopped`;

export function copyCommand(): Command {
  return logCommand('copy')
    .description('move the log to another store, with its proofs')
    .addOption(
      option(
        '--from <url>',
        'the log to move: sqlite:<file> or esdb://… (default: that of --data and --store)',
      ),
    )
    .addOption(
      option('--to <url>', 'the store to move it to: sqlite:<file> or esdb://…').makeOptionMandatory(),
    )
    .addOption(
      option(
        '--to-stream-prefix <prefix>',
        'EventStoreDB: prefix of the stream names there (default: that of --stream-prefix)',
      ),
    )
    .addOption(option('--reason <text>', 'recorded with the move'))
    .addOption(option('--dry-run', 'only read and compare both stores, and show what would be copied'))
    .addOption(stoppedOption())
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run({ json = false, ...options }: Options): Promise<void> {
  const { reason, dryRun = false } = options;
  if (reason?.trim() === '') throw new UsageError('--reason must not be empty: it is recorded with the move');
  const ends = endsOf(options);
  const opened: EventStore[] = [];
  const open = async (store: PlainStore) => {
    const made = await store.open();
    opened.push(made);
    return made;
  };
  try {
    const parts = await openEnds(ends, options, open);
    // The data folder may belong to a different log from the one that --from names.
    const isOwn = options.from === undefined && hasSigningKey(logSettings(options));
    const moveWith = async (log?: OpenLog) => {
      if (log) await expectComplete(log);
      report(await move(parts, dryRun), ends, json);
      if (log && !dryRun) await noteWhatIsSigned(log);
    };
    await (isOwn ? withLog(options, moveWith) : moveWith());
  } catch (error) {
    if (!(error instanceof MoveError)) throw error;
    note(`urn: ${error.message}`);
    process.exitCode = error.kind === 'differs' ? 1 : 2;
  } finally {
    for (const store of opened) await store.close();
  }
}

interface Ends {
  readonly source: PlainStore;
  readonly target: PlainStore;
}

/** @throws UsageError */
function endsOf({ from, to, toStreamPrefix, ...options }: Options): Ends {
  const settings = logSettings(options);
  const source = plainStore({ ...settings, store: from ?? storeUrl(settings) });
  const target = plainStore({
    ...settings,
    store: to,
    ...(toStreamPrefix !== undefined && { streamPrefix: toStreamPrefix }),
  });
  if (source.id === target.id) throw new UsageError('--from and --to name the same store');
  if (!source.exists) throw noLogIn(source);
  return { source, target };
}

function noLogIn({ id }: PlainStore): UsageError {
  return new UsageError(`there is no log in ${id} (hint: --from, or --data)`);
}

/** @throws UsageError if the source is in use, or the target holds another log */
async function openEnds(
  { source, target }: Ends,
  { reason, dryRun, stopped }: Options,
  open: (store: PlainStore) => Promise<EventStore>,
): Promise<MoveParts> {
  const inUse = dryRun ? false : source.isInUse();
  const here = await open(source);
  const logId = await patiently(PATIENCE, () => logIdIn(here));
  if (logId === undefined) throw noLogIn(source);
  expectStopped(inUse, 'move it', stopped);
  const [from, to] = [source.description, target.description];
  const absent = target.exists ? undefined : emptyStore();
  // Neither a refused move nor a dry run creates anything.
  if (absent) await patiently(PATIENCE, () => progressOf({ source: here, target: absent, from }));
  const there = dryRun && absent ? absent : await open(target);
  const foreign = await patiently(PATIENCE, () => logIdIn(there));
  if (foreign !== undefined && foreign !== logId)
    throw new UsageError(`${target.id} holds another log (hint: --to a fresh store)`);
  const [actor, tools] = [cliActor(), systemTools()];
  return { source: here, target: there, logId, from, to, reason, actor, tools };
}

async function move(parts: MoveParts, isDry: boolean): Promise<MoveResult> {
  const shown = progress('records read');
  let read = 0;
  let isClosed = false;
  const hooks = {
    onRead: (records: number) => {
      read += records;
      shown.show(read);
    },
    onClosed: () => {
      isClosed = true;
    },
  };
  try {
    const moved = await moveLog(parts, hooks, isDry);
    shown.end();
    return moved;
  } catch (error) {
    if (isClosed)
      note(
        'the log is closed in both stores and takes no participants (hint: run the same command again to finish the move; if the other store is lost for good, urn recover --not-moved)',
      );
    throw error;
  }
}

function report(moved: MoveResult, ends: Ends, json: boolean): void {
  const { move, streams, copied } = moved;
  const records = streams.reduce((sum, stream) => sum + stream.records, 0);
  if (json) result(JSON.stringify({ move: move ?? null, streams, records, copied }, null, 2));
  else if (move === undefined)
    result(
      `${copied} of ${counted(records, 'record')} would be copied; what the target already holds matches the source`,
    );
  else reportArrival(moved, ends, records);
}

function reportArrival(
  { move, streams, copied }: MoveResult,
  { source, target }: Ends,
  records: number,
): void {
  result(
    table([['stream', 'records', 'root'], ...streams.map((s) => [s.stream, String(s.records), s.root])]),
  );
  note(
    [
      `move ${move} has arrived: ${counted(records, 'record')} in ${counted(streams.length, 'stream')} ${plural(records, 'is', 'are')} the same in both stores, ${copied} ${plural(copied, 'was', 'were')} copied by this run.`,
      `Still to do: take signing-key and last-checkpoints to the services of ${target.id} and start them;`,
      `keep ${source.id} as it is; make a new backup.`,
    ].join('\n'),
  );
}

/**
 * Refuses a log that lacks records it has signed, which only its own key can show, or a code-break that the data folder holds
 * for it.
 * @throws DomainError, UsageError
 */
async function expectComplete({ rebuild, gate, codeBreaks }: OpenLog): Promise<void> {
  const shown = progress('records read');
  await rebuild(shown.show);
  shown.end();
  const rolledBack = gate.rollback();
  if (rolledBack) throw rolledBack;
  const { reveals, damaged } = await codeBreaks.pending();
  const waiting = reveals.length + damaged;
  if (waiting > 0)
    throw new UsageError(
      `${codeBreaksOf(waiting)} in ${PENDING_REVEALS} must be recorded first (hint: urn studies list records what can be; put the file away if the rest cannot)`,
    );
}

/** Lets a service with this data folder recognize a backup of the source that was made before the move. */
async function noteWhatIsSigned({ rebuild, ledger, lastCheckpoints }: OpenLog): Promise<void> {
  // With LogMoved.
  await rebuild();
  const streams = ledger.streams().filter((stream) => ledger.maySign(stream));
  await lastCheckpoints?.keep(streams.map((stream) => ledger.checkpoint(stream)));
}
