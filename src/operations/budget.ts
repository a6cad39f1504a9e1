/**
 * How many events a key may cause in an hour, so that nobody can fill the disk by asking. A key's hour begins with its
 * first event. The counts are those of this process alone, and begin anew when it starts.
 */
const HOUR_MS = 3_600_000;

export class Budget {
  readonly #eventsAnHour: number;
  readonly #hours = new Map<string, { readonly since: number; spent: number }>();

  constructor(eventsAnHour: number) {
    this.#eventsAnHour = eventsAnHour;
  }

  /**
   * Takes an event from the key's budget, if there is one left.
   * @param ms of a clock that only goes forward
   */
  spend(keyId: string, ms: number): boolean {
    const hour = this.#hours.get(keyId);
    if (!hour || ms - hour.since >= HOUR_MS) this.#hours.set(keyId, { since: ms, spent: 1 });
    else if (hour.spent >= this.#eventsAnHour) return false;
    else hour.spent++;
    return true;
  }

  /** Gives back what was taken for events that were not written. */
  refund(keyId: string, events: number): void {
    const hour = this.#hours.get(keyId);
    if (hour) hour.spent = Math.max(0, hour.spent - events);
  }

  /** How long until the key's next hour begins, in ms. */
  renewsIn(keyId: string, ms: number): number {
    const hour = this.#hours.get(keyId);
    return hour ? Math.max(0, hour.since + HOUR_MS - ms) : 0;
  }
}
