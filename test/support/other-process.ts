/** Starts test/support/store-process.mjs, another process that uses the same SQLite file. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('store-process.mjs', import.meta.url));

export interface Ended {
  /** The lines of JSON that it printed. */
  readonly said: unknown[];
  readonly signal: NodeJS.Signals | null;
}

/** @param before what the command line begins with */
export function otherProcess(args: readonly string[], before: readonly string[] = []): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const [command = '', ...all] = [...before, process.execPath, script, ...args];
    const child = execFile(command, all, (_, out, err) => {
      if (err !== '') return reject(new Error(`the other process failed: ${err}`));
      const said = out.split('\n').filter(Boolean);
      resolve({ said: said.map((line) => JSON.parse(line)), signal: child.signalCode });
    });
    child.on('error', reject);
  });
}
