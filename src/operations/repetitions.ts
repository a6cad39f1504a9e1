/**
 * What happens again and again is written once in a window of time, with how often it happened: the first time at once,
 * so that it is not lost, and then as a sum at the end of each window in which it happened again. Each event is paid
 * for before it is promised, so what is waiting to be written is never more than could be paid for.
 */

/** How often something happened, and when for the first and the last time. */
export interface Tally {
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

/** What is to be written down. */
export interface Occurred<T> {
  /** Occurrences of one kind are counted together. */
  readonly kind: string;
  readonly what: T;
  readonly tally: Tally;
}

/** `first`: to be written now. `counted`: part of a sum that is due later. `unpaid`: there will be no event for it. */
export type Noted = 'first' | 'counted' | 'unpaid';

interface Group<T> {
  readonly what: T;
  /** Start of the window, in ms of a clock that only goes forward. */
  since: number;
  /** Not yet handed out, and paid for. */
  pending: Tally | undefined;
}

export class Repetitions<T> {
  readonly #windowMs: (what: T) => number;
  readonly #groups = new Map<string, Group<T>>();

  constructor(windowMs: (what: T) => number) {
    this.#windowMs = windowMs;
  }

  /** @param pay for one event: asked for the first of its kind, and for the first repetition in each window */
  note({ kind, what, tally }: Occurred<T>, ms: number, pay: () => boolean): Noted {
    const group = this.#groups.get(kind);
    if (!group?.pending && !pay()) return 'unpaid';
    if (!group) {
      this.#groups.set(kind, { what, since: ms, pending: undefined });
      return 'first';
    }
    group.pending = sum(group.pending, tally);
    return 'counted';
  }

  /** The sums of the windows that have ended. What did not happen again in its window is forgotten. */
  due(ms: number): Occurred<T>[] {
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

  /** All sums, whether their windows have ended or not. Everything is forgotten. */
  all(): Occurred<T>[] {
    const sums = [...this.#groups].flatMap(([kind, { what, pending: tally }]) =>
      tally ? [{ kind, what, tally }] : [],
    );
    this.#groups.clear();
    return sums;
  }

  /** Takes back what was handed out and could not be written. It is due again when a window has passed. */
  giveBack({ kind, what, tally }: Occurred<T>, ms: number): void {
    const pending = sum(tally, this.#groups.get(kind)?.pending);
    this.#groups.set(kind, { what, since: ms, pending });
  }

  /**
   * Takes no account of a kind any more: its next occurrence is a first one.
   * @returns how many events of it were paid for and will not be written
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

/** `one` came first. */
function sum(one: Tally | undefined, two: Tally | undefined): Tally | undefined {
  if (!one || !two) return one ?? two;
  return { count: one.count + two.count, firstAt: one.firstAt, lastAt: two.lastAt };
}
