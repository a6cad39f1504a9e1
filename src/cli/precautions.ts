/**
 * What a command makes sure of before it writes something: the person at the terminal agrees, or, for a few commands, every
 * service is stopped.
 */
import { createInterface } from 'node:readline';
import { printable } from '../base/text.ts';
import type { Design } from '../core/model/design.ts';
import { option, UsageError } from './options.ts';
import { note } from './output.ts';

/**
 * Whether a study may be changed: for a live one the person is asked. If they do not agree, the exit code is 1.
 * @param doubt why somebody must agree, even where nobody can be asked and in a test
 * @throws UsageError with the doubt, where nobody can be asked
 */
export async function mayChange(
  { mode }: Pick<Design, 'mode'>,
  { yes }: { readonly yes?: boolean },
  question: string,
  doubt?: string,
): Promise<boolean> {
  if (yes || (mode === 'test' && doubt === undefined)) return true;
  if (doubt !== undefined && !process.stdin.isTTY) throw new UsageError(doubt);
  if (await isConfirmed(question)) return true;
  note('nothing was recorded');
  process.exitCode = 1;
  return false;
}

/** Whether the person agrees. If stdin is not a terminal, nobody can be asked, and scripts continue. */
export function isConfirmed(question: string): Promise<boolean> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) return Promise.resolve(true);
  const asked = createInterface({ input: stdin, output: stderr });
  return new Promise((resolve) => {
    // Ctrl-D or Ctrl-C.
    asked.once('close', () => resolve(false));
    asked.question(`${printable(question)} [y/N] `, (answer) => {
      resolve(/^y(es)?$/i.test(answer.trim()));
      asked.close();
    });
  });
}

export const stoppedOption = () =>
  option('--stopped', 'confirm that every service is stopped, where the store cannot tell (EventStoreDB)');

/**
 * For a command that works only while nothing else uses the log.
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
