/** When a log is believed to be another one than it was: while a cluster elects its leader, it can look so for a moment. */
import { StoreError } from '../event-store.ts';
import type { OtherLog } from './intake.ts';

/** So often the log must have been another one: a process that slept in between has not seen that it lasted. */
const LEAST_READINGS = 4;

export class Suspicion {
  readonly #settleMs: number;
  #seen: { readonly since: number; readings: number } | undefined;

  /** @param settleMs how long it must last */
  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** To be called whenever the log was read, and was another one. @returns whether it has lasted */
  hasLasted(): boolean {
    this.#seen ??= { since: performance.now(), readings: 0 };
    this.#seen.readings++;
    const { since, readings } = this.#seen;
    return performance.now() - since >= this.#settleMs && readings >= LEAST_READINGS;
  }

  /** The log was what it was, or could not be read. */
  drop(): void {
    this.#seen = undefined;
  }
}

/** What is not believed yet. */
export function notYet({ why }: OtherLog): StoreError {
  const hint = 'hint: while a cluster elects its leader, this passes; it is looked at again';
  return new StoreError('unavailable', 'not-written', `${why}, or does not know all of it yet (${hint})`);
}
