/** A database that cannot be written. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Holds the write lock of the database. @returns what gives it back */
export async function hold(file: string): Promise<() => Promise<void>> {
  const script = join(import.meta.dirname, 'lock-holder.mjs');
  const child = spawn(process.execPath, [script, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end();
    await once(child, 'exit');
  };
}
