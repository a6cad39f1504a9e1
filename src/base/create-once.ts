import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a file that only its owner can read, unless it exists. It appears under its name only after `fill` has finished
 * the draft, so a crash leaves no half-written file. If two processes create it at once, the first one's stays.
 */
export function createOnce(file: string, fill: (draft: string) => void): void {
  if (existsSync(file)) return;
  // Not the process id: in containers that share a folder, every process may be number 1.
  const draft = `${file}.new-${randomBytes(6).toString('hex')}`;
  try {
    closeSync(openSync(draft, 'wx', 0o600));
    fill(draft);
    flush(draft);
    linkSync(draft, file);
    flush(dirname(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !existsSync(file)) throw error;
  } finally {
    if (existsSync(draft)) unlinkSync(draft);
  }
}

export function flush(path: string): void {
  const fd = openSync(path, 'r');
  fsyncSync(fd);
  closeSync(fd);
}
