/** How the EventStoreDB server of the tests misbehaves, call by call. */

export type AppendFault =
  | 'none'
  /** An internal error, before anything was written. */
  | 'fails'
  /** As KurrentDB 25 says it, whose limit for one event is another one than that for an append. */
  | 'event-too-large'
  /** The node says that it is starting, before it did anything. */
  | 'not-ready'
  /** The node says that it does not know its users yet, before it did anything. */
  | 'knows-no-user'
  /** The node does not lead, and does not know who does. */
  | 'no-leader'
  /** The connection breaks before anything was written. */
  | 'drops'
  /** Written, and then the connection breaks. */
  | 'writes-and-drops'
  /** Not written, and never answered. */
  | 'never-answers'
  /** Written, and never answered. */
  | 'writes-and-never-answers'
  /** Never answered; written when `landLate` is called, if its place is free then. */
  | 'lands-late'
  /** The cluster did not acknowledge in time; it is written all the same. */
  | 'times-out'
  /** Not written: a leader that has lost the others gives up after two seconds. */
  | 'finds-no-quorum'
  /** Written and answered after so many ms. */
  | { readonly lateMs: number };

export type ReadFault = 'none' | 'fails' | 'drops' | 'never-answers' | { readonly lateMs: number };

/** What a subscription does after so many events of its own. */
export type SubscriptionFault =
  | 'none'
  /** Not even a confirmation. */
  | 'never-answers'
  | {
      readonly after: number;
      /** `silent` stays open and delivers nothing; `ends` says nothing either; `twice` gives each event twice. */
      readonly does: 'silent' | 'ends' | 'fails' | 'twice' | 'skips';
    };

/** The faults of one kind of call: those for the next ones, and what all others meet. */
export class Faults<Fault> {
  always: Fault;
  readonly #none: Fault;
  readonly #next: Fault[] = [];

  constructor(none: Fault) {
    this.#none = none;
    this.always = none;
  }

  /** What the next calls meet, one each. */
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
