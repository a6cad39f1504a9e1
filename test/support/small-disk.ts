/** A small real disk, soon full: a file system of 2 MiB in memory, which only the superuser may mount. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';
import { inCi } from './in-ci.ts';

/**
 * Mounts it on a folder until the test file ends.
 * @returns why it is not available, or undefined
 * @throws Error in CI if it is refused to a process that may mount
 */
export function mountSmallDisk(folder: string): string | undefined {
  try {
    const options = ['-t', 'tmpfs', '-o', 'size=2m,mode=0700', 'urn-test', folder];
    execFileSync('mount', options, { stdio: 'pipe' });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: Buffer };
    const why = stderr?.toString().trim() || message;
    if (inCi && mayMount()) throw new Error(`a full disk cannot be tried: ${why}`);
    return why;
  }
  afterAll(() => {
    execFileSync('umount', [folder]);
  });
  return undefined;
}

/** Whether this process has CAP_SYS_ADMIN (21): the superuser of a container may not have it. */
function mayMount(): boolean {
  const [, effective = '0'] = /^CapEff:\t(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${effective}`) >> 21n) & 1n) === 1n;
}
