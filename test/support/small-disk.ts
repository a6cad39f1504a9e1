/** A disk that is soon full, a real one: a file system of 2 MiB in memory, which only the superuser may mount. */
import { execFileSync } from 'node:child_process';
import { afterAll } from 'vitest';
import { inCi } from './in-ci.ts';

/**
 * Mounts it on a folder until the test file ends.
 * @returns why it cannot be had, or undefined
 * @throws Error in CI, where the superuser runs the tests and mounting must not be refused
 */
export function mountSmallDisk(folder: string): string | undefined {
  try {
    const options = ['-t', 'tmpfs', '-o', 'size=2m,mode=0700', 'urn-test', folder];
    execFileSync('mount', options, { stdio: 'pipe' });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: Buffer };
    const why = stderr?.toString().trim() || message;
    if (inCi && process.getuid?.() === 0)
      throw new Error(
        `a full disk cannot be tried: ${why} (hint: in a container, the tests need CAP_SYS_ADMIN)`,
      );
    return why;
  }
  afterAll(() => {
    execFileSync('umount', [folder]);
  });
  return undefined;
}
