/**
 * What happens again and again is written down once in a window of time, with how often it happened: the first time at
 * once, so that it is not lost, and then as a sum at the end of each window in which it happened again.
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

interface Group<T> {
  readonly what: T;
  /** Start of the window, in ms of a clock that only goes forward. */
  since: number;
  /** Not yet handed out. */
  pending: Tally | undefined;
}

/** Kinds that are told apart at a time. Of more, each occurrence is handed out by itself. */
const MOST_KINDS = 10_000;

export class Repetitions<T> {
  readonly #windowMs: number;
  readonly #groups = new Map<string, Group<T>>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  has(kind: string): boolean {
    return this.#groups.has(kind);
  }

  /** @returns what to write now: the first of its kind for a while. Undefined: it is counted, and handed out later */
  note({ kind, what, tally }: Occurred<T>, ms: number): Occurred<T> | undefined {
    const group = this.#groups.get(kind);
    if (group) {
      group.pending = sum(group.pending, tally);
      return undefined;
    }
    if (this.#groups.size < MOST_KINDS) this.#groups.set(kind, { what, since: ms, pending: undefined });
    return { kind, what, tally };
  }

  /** The sums of the windows that have ended. What did not happen again in its window is forgotten. */
  due(ms: number): Occurred<T>[] {
    return [...this.#groups].flatMap(([kind, group]) => {
      if (ms - group.since < this.#windowMs) return [];
      const { what, pending: tally } = group;
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

  /** Takes no account of a kind any more: its next occurrence is a first one. */
  forget(kind: string): void {
    this.#groups.delete(kind);
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
