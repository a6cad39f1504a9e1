/** Starts test/support/store-process.mjs, another process that uses the same SQLite file. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('store-process.mjs', import.meta.url));

export interface Ended {
  /** The lines of JSON that it printed. */
  readonly said: unknown[];
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** @param before what the command line begins with */
export function otherProcess(args: readonly string[], before: readonly string[] = []): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const [command = '', ...all] = [...before, process.execPath, script, ...args];
    const child = spawn(command, all, { stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (err !== '') reject(new Error(`the other process failed: ${err}`));
      else
        resolve({
          said: out
            .trim()
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line)),
          code,
          signal,
        });
    });
  });
}
