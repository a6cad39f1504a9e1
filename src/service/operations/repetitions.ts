/**
 * Writes repeated occurrences once per window of time, with a count. The first occurrence is written at once, so that it
 * is not lost. After that, each window with repetitions ends with their count. Every event is paid for before it is
 * promised, so there are never more events waiting than the budget allows.
 */

/** How often something happened, and when it happened first and last. */
export interface Tally {
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

/** What is to be written. */
export interface Occurrence<T> {
  /** Occurrences of one kind are counted together. */
  readonly kind: string;
  readonly what: T;
  readonly tally: Tally;
}

/**
 * `first`: write it now. `counted`: it is part of a count that is due later. `unpaid`: there will be no event for it.
 */
export type CountedAs = 'first' | 'counted' | 'unpaid';

interface Group<T> {
  readonly what: T;
  /** Start of the window, in ms of the monotonic clock. */
  since: number;
  /** Paid for, but not yet handed out. */
  pending: Tally | undefined;
}

export class Repetitions<T> {
  readonly #windowMs: (what: T) => number;
  readonly #groups = new Map<string, Group<T>>();

  constructor(windowMs: (what: T) => number) {
    this.#windowMs = windowMs;
  }

  /** @param pay pays for one event; called for the first of its kind and the first repetition in each window */
  note({ kind, what, tally }: Occurrence<T>, ms: number, pay: () => boolean): CountedAs {
    const group = this.#groups.get(kind);
    if (!group?.pending && !pay()) return 'unpaid';
    if (!group) {
      this.#groups.set(kind, { what, since: ms, pending: undefined });
      return 'first';
    }
    group.pending = sum(group.pending, tally);
    return 'counted';
  }

  /** The counts of all windows that have ended. Kinds without a repetition in their window are forgotten. */
  due(ms: number): Occurrence<T>[] {
    return [...this.#groups].flatMap(([kind, group]) => {
      const { what, pending: tally } = group;
      if (ms - group.since < this.#windowMs(what)) return [];
      if (!tally) {
        this.#groups.delete(kind);
        return [];
      }
      group.since = ms;
      group.pending = undefined;
      return [{ kind, what, tally }];
    });
  }

  /** All counts, even of windows that have not ended. Forgets everything. */
  all(): Occurrence<T>[] {
    const sums = [...this.#groups].flatMap(([kind, { what, pending: tally }]) =>
      tally ? [{ kind, what, tally }] : [],
    );
    this.#groups.clear();
    return sums;
  }

  /** Takes back a count that was handed out but could not be written. It is due again after one window. */
  giveBack({ kind, what, tally }: Occurrence<T>, ms: number): void {
    const pending = sum(tally, this.#groups.get(kind)?.pending);
    this.#groups.set(kind, { what, since: ms, pending });
  }

  /**
   * Forgets a kind: its next occurrence counts as the first.
   * @returns how many events of this kind were paid for and will not be written
   */
  forget(kind: string): number {
    const hadSum = this.#groups.get(kind)?.pending !== undefined;
    this.#groups.delete(kind);
    return hadSum ? 2 : 1;
  }
}

export function once(at: string): Tally {
  return { count: 1, firstAt: at, lastAt: at };
}

/** `one` must be the earlier tally. */
function sum(one: Tally | undefined, two: Tally | undefined): Tally | undefined {
  if (!one || !two) return one ?? two;
  return { count: one.count + two.count, firstAt: one.firstAt, lastAt: two.lastAt };
}
