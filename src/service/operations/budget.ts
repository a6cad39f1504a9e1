/**
 * Limits how many events a key may cause in an hour, so that nobody can fill the disk with requests. A key's hour begins
 * with its first event. Each process counts for itself, from zero when it starts.
 */
const HOUR_MS = 3_600_000;

export class Budget {
  readonly #eventsAnHour: number;
  readonly #hours = new Map<string, { readonly since: number; spent: number }>();

  constructor(eventsAnHour: number) {
    this.#eventsAnHour = eventsAnHour;
  }

  /**
   * Takes one event from the key's budget, if any is left.
   * @param ms monotonic clock
   */
  spend(keyId: string, ms: number): boolean {
    const hour = this.#hours.get(keyId);
    if (!hour || ms - hour.since >= HOUR_MS) this.#hours.set(keyId, { since: ms, spent: 1 });
    else if (hour.spent >= this.#eventsAnHour) return false;
    else hour.spent++;
    return true;
  }

  /** Returns events to the budget that were not written. */
  refund(keyId: string, events: number): void {
    const hour = this.#hours.get(keyId);
    if (hour) hour.spent = Math.max(0, hour.spent - events);
  }

  /** Time until the key's next hour begins, in ms. */
  renewsIn(keyId: string, ms: number): number {
    const hour = this.#hours.get(keyId);
    return hour ? Math.max(0, hour.since + HOUR_MS - ms) : 0;
  }
}
