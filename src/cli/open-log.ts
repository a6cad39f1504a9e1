/**
 * How commands open the log, look up what they need in it, and record what they show of it. Most of them never begin one, so
 * a wrong folder stays untouched.
 */
import type { OperationsFact } from '../../events/operations.ts';
import { decodeRecord, type LogEvent } from '../../events/record.ts';
import { DomainError } from '../base/errors.ts';
import { permissionWarnings } from '../base/files.ts';
import { lookAlikeProblem } from '../base/text.ts';
import { PENDING_REVEALS } from '../service/code-break/pending-reveals.ts';
import { type LogHooks, type OpenLog, openLog } from '../service/open/open-log.ts';
import { begunIn, filesOf, isInMemory, NoLogError, type Patience } from '../service/open/store-location.ts';
import { OPERATIONS } from '../service/operations/operations-stream.ts';
import { StoreError } from '../store/event-store.ts';
import { cliActor, type LogOptions, logSettings, PATIENCE, UsageError } from './options.ts';
import { note } from './output.ts';

/** Opens the log, and closes it after use. @throws NoLogError if there is no log; nothing has been written then */
export async function withLog<T>(
  options: LogOptions,
  use: (log: OpenLog) => Promise<T>,
  hooks: LogHooks = {},
): Promise<T> {
  const log = await openExisting(options, hooks);
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

/** @throws NoLogError if there is no log; nothing has been written then */
export async function openExisting(
  options: LogOptions,
  hooks: LogHooks = {},
  patience: Patience = PATIENCE,
): Promise<OpenLog> {
  const log = await openLog({ ...logSettings(options), patience, mustExist: true }, cliActor(), hooks);
  warnOfPermissions(options);
  return log;
}

/** Opens the log, or begins one and says so. */
export async function openOrBegin(
  options: LogOptions,
  onBegun: () => void = () => undefined,
): Promise<OpenLog> {
  const settings = logSettings(options);
  if (isInMemory(settings))
    throw new UsageError(
      'a log in memory is gone when this command ends (hint: --store sqlite:<file>, or leave out --store)',
    );
  await refuseUnfitLogName(options);
  const log = await openLog(settings, cliActor(), {
    onBegun: (logName) => {
      note(begunIn(settings, logName));
      onBegun();
    },
  });
  warnOfPermissions(options);
  return log;
}

/** An existing log keeps its name. @throws UsageError if a new name could be mistaken for another */
export async function refuseUnfitLogName(options: LogOptions): Promise<void> {
  const unfit = lookAlikeProblem(options.logName ?? '');
  if (unfit === undefined) return;
  try {
    const log = await openLog({ ...logSettings(options), mustExist: true }, cliActor());
    await log.close();
  } catch (error) {
    throw error instanceof NoLogError ? new UsageError(`the name of the log ${unfit}`) : error;
  }
}

function warnOfPermissions(options: LogOptions): void {
  for (const warning of permissionWarnings(filesOf(logSettings(options)), options.allowGroupKey))
    note(`warning: ${warning}`);
}

/** Folds the keys of a log that was opened. @throws RecordError when they cannot be read */
export async function readKeys({ read, runner, gate }: OpenLog): Promise<void> {
  await read('access');
  const halted = runner.halted('access');
  if (halted) throw halted;
  const warning = gate.refusal('access', 'write');
  if (warning) note(`warning: ${warning.message}`);
}

/** Undefined if the stream has no such revision. */
export async function eventAt(
  { store }: OpenLog,
  stream: string,
  revision: number,
): Promise<LogEvent | undefined> {
  for await (const [first] of store.readStream(stream, revision)) return first && decodeRecord(first);
  return undefined;
}

type DisclosureFact = Extract<OperationsFact, { type: 'EvidenceDisclosed' }>;

/** What was shown. When and how often is added. */
type Disclosure = Omit<DisclosureFact['data'], 'count' | 'firstAt' | 'lastAt'>;

/**
 * Records what the command line shows of a study, as the service does, if the log can be written. Call it before showing
 * anything. Anyone at this command line could read the file without a trace anyway, so a disclosure that cannot be recorded
 * only causes a warning.
 */
export async function recordDisclosure(
  log: OpenLog,
  disclosure: Disclosure,
  sections: DisclosureFact['sections'] = {},
): Promise<void> {
  const at = new Date().toISOString();
  const data = { ...disclosure, count: 1, firstAt: at, lastAt: at };
  try {
    if (!log.gate.isCompared) await log.read(OPERATIONS);
    await log.operations.record({ type: 'EvidenceDisclosed', data, sections }, cliActor());
  } catch (error) {
    if (!(error instanceof DomainError || error instanceof StoreError)) throw error;
    note(`warning: this disclosure could not be recorded: ${error.message}`);
  }
}

/**
 * Records the code-breaks that wait in the data folder for a log that can be written, and says what came of them. It never
 * stops a command. Needs a folded log.
 */
export async function recordPendingReveals({ codeBreaks }: OpenLog): Promise<void> {
  try {
    const { recorded, left, damaged } = await codeBreaks.recordPending();
    if (recorded.length > 0)
      note(
        `recorded now: ${codeBreaksOf(recorded.length)} that could not be recorded earlier (${PENDING_REVEALS} is not signed: ask whoever is named in urn code-breaks whether it is theirs)`,
      );
    for (const { reveal, why } of left)
      note(
        `warning: the code-break of ${reveal.participantId ?? `the pack ${reveal.code}`} (${reveal.study}, ${reveal.shownAt}) stays in ${PENDING_REVEALS}: ${why} (hint: keep the file)`,
      );
    if (damaged > 0)
      note(
        `warning: ${PENDING_REVEALS} has ${damaged === 1 ? 'a line that is' : `${damaged} lines that are`} not understood (hint: was the disk full? Keep the file, and record what it says with urn unblindings add)`,
      );
  } catch (error) {
    note(`warning: what waits in ${PENDING_REVEALS} is not recorded yet: ${(error as Error).message}`);
  }
}

export function codeBreaksOf(count: number): string {
  return count === 1 ? 'a code-break' : `${count} code-breaks`;
}
