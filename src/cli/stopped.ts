/** Some commands work only while nothing else uses the log. */
import { option, UsageError } from './options.ts';

export const stoppedOption = () =>
  option('--stopped', 'confirm that every service is stopped, where the store cannot tell (EventStoreDB)');

/**
 * @param inUse whether another process has the log open; undefined if the store cannot tell
 * @param what the command, as in "then recover"
 * @throws UsageError unless every service is stopped
 */
export function expectStopped(inUse: boolean | undefined, what: string, stopped = false): void {
  if (inUse)
    throw new UsageError(
      `another process has this log open (hint: stop every service and command that uses it, then ${what}; --dry-run works while they run)`,
    );
  if (inUse === undefined && !stopped)
    throw new UsageError(
      'this store cannot tell whether a service still uses the log (hint: stop every service on every machine, then confirm it with --stopped; --dry-run works while they run)',
    );
}
