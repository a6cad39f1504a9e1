/** Decides when to believe that a log has changed: while a cluster elects its leader, it can look so for a moment. */
import { StoreError } from '../event-store.ts';
import type { ChangedLog } from './intake.ts';

/** How often the log must have been found changed: a process that slept in between has not seen that it lasted. */
const LEAST_READINGS = 4;

export class Suspicion {
  readonly #settleMs: number;
  #seen: { readonly since: number; readings: number } | undefined;

  /** @param settleMs how long it must last */
  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** Call it whenever a reading finds the log changed. @returns whether this has lasted */
  hasLasted(): boolean {
    this.#seen ??= { since: performance.now(), readings: 0 };
    this.#seen.readings++;
    const { since, readings } = this.#seen;
    return performance.now() - since >= this.#settleMs && readings >= LEAST_READINGS;
  }

  /** The log was unchanged, or could not be read. */
  drop(): void {
    this.#seen = undefined;
  }
}

/** The error for a change that is not believed yet. */
export function notYet({ why }: ChangedLog): StoreError {
  const hint = 'hint: while a cluster elects its leader, this passes; the log is read again';
  return new StoreError('unavailable', 'not-written', `${why}, or does not know all of it yet (${hint})`);
}
