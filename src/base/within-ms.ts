import { DomainError } from './errors.ts';

/** How long an emergency waits for the log, in ms. */
export const EMERGENCY_WAIT_MS = 3000;

/** @throws DomainError `unavailable` when the log takes longer than `ms` to keep the promise */
export async function withinMs<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DomainError('unavailable', `the log did not answer within ${ms / 1000} s`)),
      ms,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
