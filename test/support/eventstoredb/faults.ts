/** How the tests' EventStoreDB server misbehaves, call by call. */

export type AppendFault =
  | 'none'
  /** An internal error, before anything was written. */
  | 'fails'
  /** As in KurrentDB 25, where the limit for an event differs from that for an append. */
  | 'event-too-large'
  /** The node says that it is starting, before it did anything. */
  | 'not-ready'
  /** The node says that it does not know its users yet, before it did anything. */
  | 'knows-no-user'
  | 'no-leader'
  /** The connection breaks before anything was written. */
  | 'drops'
  | 'writes-and-drops'
  | 'never-answers'
  | 'writes-and-never-answers'
  /** Never answered; written when `landLate` is called, if its place is still free. */
  | 'lands-late'
  /** Its place is taken at once, as in a cluster; it can be read and is answered when `landLate` is called. */
  | 'under-way'
  /** The cluster did not acknowledge in time, but it is written nevertheless. */
  | 'times-out'
  /** Not written: a leader that has lost the others gives up after two seconds. */
  | 'finds-no-quorum'
  /** If the same append is under way it is dropped, and answered after two seconds as if it had timed out. */
  | 'drops-repeated'
  /** Under way for this many ms. */
  | { readonly lateMs: number };

export type ReadFault = 'none' | 'fails' | 'drops' | 'never-answers';

/** What a subscription does after a number of events. */
export type SubscriptionFault =
  | 'none'
  /** Not even a confirmation. */
  | 'never-answers'
  | {
      readonly after: number;
      /** `silent` stays open and delivers nothing; `ends` ends without an error; `twice` delivers each event twice. */
      readonly does: 'silent' | 'ends' | 'fails' | 'is-too-slow' | 'twice' | 'skips';
    };

/** The faults of one kind of call: those of the next calls, and that of all others. */
export class Faults<Fault> {
  always: Fault;
  readonly #none: Fault;
  readonly #next: Fault[] = [];

  constructor(none: Fault) {
    this.#none = none;
    this.always = none;
  }

  /** Faults of the next calls, one each. */
  next(...faults: readonly Fault[]): void {
    this.#next.push(...faults);
  }

  clear(): void {
    this.#next.length = 0;
    this.always = this.#none;
  }

  take(): Fault {
    return this.#next.shift() ?? this.always;
  }
}
