/** How commands open the log. Most of them never begin one, so a wrong folder stays untouched. */

import { permissionWarnings } from '../base/files.ts';
import { lookAlikeProblem } from '../base/text.ts';
import { type LogHooks, type OpenLog, openLog } from '../service/open/open-log.ts';
import { begunIn, filesOf, isInMemory, NoLogError } from '../service/open/store-location.ts';
import { cliActor, type LogOptions, logSettings, UsageError } from './options.ts';
import { note } from './output.ts';

/** @throws NoLogError if there is no log; nothing has been written then */
export async function openExisting(options: LogOptions, hooks: LogHooks = {}): Promise<OpenLog> {
  const log = await openLog({ ...logSettings(options), mustExist: true }, cliActor(), hooks);
  warnOfPermissions(options);
  return log;
}

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
