/** How commands open the log: most of them only where there is one, so that a wrong folder stays as it is. */
import { type LogHooks, type OpenLog, openLog } from '../app.ts';
import { begunIn, isInMemory } from '../store-location.ts';
import { cliActor, type LogOptions, logSettings, UsageError } from './options.ts';
import { note } from './output.ts';

/** @throws NoLogError when there is no log: then nothing was written */
export function openExisting(options: LogOptions, hooks: LogHooks = {}): Promise<OpenLog> {
  return openLog({ ...logSettings(options), mustExist: true }, cliActor(), hooks);
}

/** Opens the log, and begins it where there is none, which it says. */
export function openOrBegin(options: LogOptions, onBegun: () => void = () => undefined): Promise<OpenLog> {
  const settings = logSettings(options);
  if (isInMemory(settings))
    throw new UsageError(
      'a log in memory is gone when this command ends (hint: --store sqlite:<file>, or leave out --store)',
    );
  return openLog(settings, cliActor(), {
    onBegun: (logName) => {
      note(begunIn(settings, logName));
      onBegun();
    },
  });
}
