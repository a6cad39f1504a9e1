/** A small real disk, soon full: a file system of 2 MiB in memory, which only the superuser may mount. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
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

/** Says in the output of the run what was not tried: a fault that was not must not look as if it had been survived. */
export function notTested(what: string, why: string): void {
  // biome-ignore lint/suspicious/noConsole: nobody would notice it otherwise
  console.warn(`NOT TESTED: ${what}. No small disk could be mounted: ${why}`);
}

/** Fills the disk to the last byte with a file that takes what room there is. */
export function fill(file: string): void {
  const descriptor = openSync(file, 'a');
  try {
    for (const size of [65_536, 4096, 1])
      try {
        for (;;) writeSync(descriptor, Buffer.alloc(size));
      } catch (error) {
        // No more of this size.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
  } finally {
    closeSync(descriptor);
  }
}

/** Whether this process has CAP_SYS_ADMIN (21): the superuser of a container may not have it. */
function mayMount(): boolean {
  const [, effective = '0'] = /^CapEff:\t(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${effective}`) >> 21n) & 1n) === 1n;
}
