/** Asks the person at a terminal before something is written. */
import { createInterface } from 'node:readline';
import { printable } from '../base/text.ts';
import type { Design } from '../core/model/design.ts';
import { note } from './output.ts';

/** Whether a study may be changed: for a live one the person is asked. If they do not agree, the exit code is 1. */
export async function mayChange(
  { mode }: Pick<Design, 'mode'>,
  { yes }: { readonly yes?: boolean },
  question: string,
): Promise<boolean> {
  if (mode === 'test' || yes || (await isConfirmed(question))) return true;
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
