/**
 * Nobody waits for ever: what is awaited has a limit in ms, and a second heavy job is refused, not queued. And how long it
 * took.
 */
import { DomainError } from './errors.ts';

/**
 * What is promised, if it comes in time.
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

/** How long an emergency waits for the log, in ms. */
export const EMERGENCY_WAIT_MS = 3000;

/** Runs jobs that are too heavy to run two at a time. A job ends early when nobody waits for it any more, or at a shutdown. */
export class OneAtATime {
  readonly #what: string;
  #underWay: { readonly stopping: AbortController; readonly ended: Promise<unknown> } | undefined;
  #isStopped = false;

  /** @param what a noun for the messages, with `another` before it */
  constructor(what: string) {
    this.#what = what;
  }

  /**
   * @param job must end soon once its signal is aborted
   * @param asker aborted when nobody is waiting for the result any more
   * @throws DomainError `overloaded` while another job is under way; `unavailable` when nobody is waiting any more, or after
   *   `stop`; and what the job throws
   */
  async run<T>(job: (stop: AbortSignal) => Promise<T>, asker: AbortSignal): Promise<T> {
    if (this.#isStopped) throw shuttingDown();
    if (this.#underWay)
      throw new DomainError(
        'overloaded',
        `another ${this.#what} is under way, and only one can run at a time; ask again when it is done`,
      );
    const stopping = new AbortController();
    const running = job(AbortSignal.any([asker, stopping.signal]));
    this.#underWay = { stopping, ended: running.catch(() => undefined) };
    try {
      return await running;
    } catch (error) {
      if (stopping.signal.aborted) throw shuttingDown();
      if (asker.aborted)
        throw new DomainError('unavailable', `nobody is waiting for the ${this.#what} any more`);
      throw error;
    } finally {
      this.#underWay = undefined;
    }
  }

  /** Aborts the job that is under way and starts no more. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#underWay?.stopping.abort();
    await this.#underWay?.ended;
  }
}

function shuttingDown(): DomainError {
  return new DomainError('unavailable', 'the service is shutting down');
}

/**
 * How long something took, in seconds to the millisecond: more digits say nothing.
 * @param started as `performance.now()` gave it
 */
export function secondsSince(started: number): number {
  return Math.round(performance.now() - started) / 1000;
}
