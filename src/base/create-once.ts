import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a file, readable by its owner alone, unless it exists. It appears under its name only when `fill` is done with
 * the draft, so a crash leaves no half of it; of two processes that make it at once, the first one's stays.
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
