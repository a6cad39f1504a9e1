import { DomainError } from './errors.ts';

/** How long an emergency waits for the log, in ms. */
export const EMERGENCY_WAIT_MS = 3000;

/**
 * @param late the error when it takes longer than `ms` to keep the promise
 * @throws DomainError `unavailable` then, by default
 */
export async function withinMs<T>(
  ms: number,
  promise: Promise<T>,
  late: () => Error = () => new DomainError('unavailable', `the log did not answer within ${ms / 1000} s`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
