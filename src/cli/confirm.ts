/** Asks the person at a terminal before something is written. */
import { createInterface } from 'node:readline';
import { printable } from '../base/text.ts';

/** Whether the person agrees. If stdin is no terminal, nobody is there to be asked, and scripts go on. */
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
