/**
 * Records what the running service does in the stream `operations`: once per window of time, and within a budget.
 *
 * - A disclosure is durable before the answer is sent. If it cannot be recorded, it is not made. The exception is a log
 *   that was rolled back: it takes no records at all, but must stay readable so that somebody can find out what it lacks.
 *   A repeated disclosure to the same key is counted.
 * - A refusal is written in parallel with the answer, which does not wait for it.
 *
 * Each kind has its own budget of events per key and hour. A disclosure beyond the budget is not made. Refusals beyond it
 * are added up in a single event that does not distinguish them.
 *
 * Counts that are not yet written are lost when the process is killed: at most one window of repetitions.
 */
import { randomUUID } from 'node:crypto';
import type { Disclosure, OperationsFact } from '../../../events/operations.ts';
import type { Actor, Content } from '../../../events/record.ts';
import { BudgetError, DomainError } from '../../base/errors.ts';
import type { RecordedReason } from '../../base/refusals.ts';
import type { Operations } from './operations-stream.ts';

/** Events that a key may cause in an hour. */
export const EVENTS_AN_HOUR = { EvidenceDisclosed: 600, RequestRefused: 120 } as const;

/** Repetitions of one kind within this time are written as one count. */
const WINDOW_MS = 60_000;

/** Stands for refusals beyond the budget. It costs no budget, so its windows are longer. */
const SEVERAL = { reason: 'several' } as const;
const SEVERAL_WINDOW_MS = 600_000;

/** How often counts that are due are written. */
const TICK_MS = 1000;

/** An actor who used an API key. */
export type KeyActor = Extract<Actor, { keyId: string }>;

/** The contents of a refusal, without the count. */
interface RefusedRequest {
  readonly operation?: string;
  readonly study?: string;
  readonly reason: RecordedReason;
}

/** The contents of a disclosure, without the count. */
export interface DisclosedEvidence {
  readonly what: Disclosure;
  /** Name of the study. */
  readonly study: string;
  readonly participant?: string;
  readonly fromRevision?: number;
  readonly toRevision?: number;
  /** Of a bundle. */
  readonly content?: Content;
  readonly sha256?: string;
}

interface RecorderParts {
  readonly operations: Pick<Operations, 'record'>;
  /** Who runs the service. */
  readonly actor: Actor;
  readonly version: string;
  readonly clock?: Clock;
  /** A fact could not be recorded. It is tried again unless the log was rolled back. */
  onFailure(fact: OperationsFact, actor: Actor, error: Error): void;
}

interface Clock {
  /** The current time, in the format of `at`. */
  at(): string;
  /** Monotonic clock, in ms. */
  ms(): number;
}

const SYSTEM_CLOCK: Clock = { at: () => new Date().toISOString(), ms: () => performance.now() };

type Happening =
  | { readonly type: 'RequestRefused'; readonly actor: KeyActor; readonly details: RefusedRequest }
  | { readonly type: 'EvidenceDisclosed'; readonly actor: KeyActor; readonly details: DisclosedEvidence };

export class Recorder {
  readonly #parts: RecorderParts;
  readonly #clock: Clock;
  readonly #run: { runId: string; version: string; nodeVersion: string };
  readonly #repetitions = new Repetitions<Happening>(({ details }) =>
    details === SEVERAL ? SEVERAL_WINDOW_MS : WINDOW_MS,
  );
  readonly #budgets = {
    EvidenceDisclosed: new Budget(EVENTS_AN_HOUR.EvidenceDisclosed),
    RequestRefused: new Budget(EVENTS_AN_HOUR.RequestRefused),
  };
  /** Disclosures being recorded for the first time, by kind. Repetitions wait for them. */
  readonly #firsts = new Map<string, Promise<void>>();
  readonly #writing = new Set<Promise<void>>();
  #isStartRecorded = false;
  /** A failure is reported once: a log that was moved or rolled back, and a full disk, may stay so for days. */
  #isStartFailureReported = false;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? SYSTEM_CLOCK;
    this.#run = { runId: randomUUID(), version: parts.version, nodeVersion: process.version };
  }

  /** Records that the service runs. If that fails, the service runs anyway, and recording is tried again. */
  async start(): Promise<void> {
    await this.#recordStart();
    this.#timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** For a known key. `actor` names the revision of `access` at which it was looked up. */
  refused(actor: KeyActor, details: RefusedRequest): void {
    if (this.#isStopped) return;
    const single = this.#note({ type: 'RequestRefused', actor, details });
    const { is, occurred } =
      single.is === 'unpaid' ? this.#note({ type: 'RequestRefused', actor, details: SEVERAL }) : single;
    if (is === 'first') this.#write(occurred);
  }

  /**
   * Await this before sending the answer. If it throws, the disclosure must not be made.
   * @throws BudgetError when the key has used up its budget; DomainError when the disclosure cannot be recorded
   */
  async disclosed(actor: KeyActor, details: DisclosedEvidence): Promise<void> {
    const { is, occurred, ms } = this.#note({ type: 'EvidenceDisclosed', actor, details });
    const { kind } = occurred;
    const budget = this.#budgets.EvidenceDisclosed;
    if (is === 'unpaid') throw tooManyDisclosures(budget.renewsIn(actor.keyId, ms));
    if (is === 'counted') {
      await this.#firsts.get(kind);
      return;
    }
    const recorded = this.#recordDisclosure(occurred);
    this.#firsts.set(kind, recorded);
    try {
      await recorded;
    } catch (error) {
      budget.refund(actor.keyId, this.#repetitions.forget(kind));
      throw error;
    } finally {
      this.#firsts.delete(kind);
    }
  }

  /**
   * Like `disclosed`, but without a budget; each call writes its own event. For answers that must not be withheld from
   * those allowed to see them, such as the answer to an allocation that has just been made.
   */
  async disclosedAlways(actor: KeyActor, details: DisclosedEvidence): Promise<void> {
    const what = { type: 'EvidenceDisclosed', actor, details } as const;
    try {
      await this.#recordDisclosure({ kind: kindOf(what), what, tally: once(this.#clock.at()) });
    } catch (error) {
      // Whatever kept it from being recorded must not be taken for the end of what was asked for.
      throw error instanceof DomainError ? new DomainError('unavailable', UNSEEN, error) : error;
    }
  }

  /** Writes the counts that are due. */
  tick(): void {
    if (!this.#isStartRecorded) this.#keep(this.#recordStart());
    for (const sum of this.#repetitions.due(this.#clock.ms())) this.#write(sum);
  }

  /** Writes all counts, then that the service stops. Call it when all requests have been answered. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#written();
    for (const sum of this.#repetitions.all()) this.#write(sum);
    await this.#written();
    if (!this.#isStartRecorded) await this.#recordStart();
    // A stop without a start would look as if a record had been removed.
    if (!this.#isStartRecorded) return;
    const { actor, operations } = this.#parts;
    const fact = { type: 'ServiceStopped', data: this.#run, sections: {} } as const;
    await operations.record(fact, actor).catch((error) => this.#parts.onFailure(fact, actor, error));
  }

  async #recordStart(): Promise<void> {
    const { actor, operations } = this.#parts;
    const fact = { type: 'ServiceStarted', data: this.#run, sections: {} } as const;
    this.#isStartRecorded = true;
    try {
      await operations.record(fact, actor);
    } catch (error) {
      this.#isStartRecorded = false;
      if (!this.#isStartFailureReported) this.#parts.onFailure(fact, actor, error as Error);
      this.#isStartFailureReported = true;
    }
  }

  #note(what: Happening): { is: CountedAs; occurred: Occurrence<Happening>; ms: number } {
    const { actor, details, type } = what;
    const ms = this.#clock.ms();
    const occurred = { kind: kindOf(what), what, tally: once(this.#clock.at()) };
    const pay = () => details === SEVERAL || this.#budgets[type].spend(actor.keyId, ms);
    return { is: this.#repetitions.note(occurred, ms, pay), occurred, ms };
  }

  async #recordDisclosure(occurred: Occurrence<Happening>): Promise<void> {
    const { actor } = occurred.what;
    const fact = factOf(occurred);
    try {
      await this.#parts.operations.record(fact, actor);
    } catch (error) {
      this.#parts.onFailure(fact, actor, error as Error);
      if (isRolledBack(error)) return;
      if (!(error instanceof DomainError)) throw error;
      throw new DomainError(error.code, `it cannot be recorded that you see this: ${error.message}`, error);
    }
  }

  #write(occurred: Occurrence<Happening>): void {
    const { operations, onFailure } = this.#parts;
    const { actor } = occurred.what;
    const fact = factOf(occurred);
    this.#keep(
      operations.record(fact, actor).catch((error: Error) => {
        onFailure(fact, actor, error);
        if (!isRolledBack(error)) this.#repetitions.giveBack(occurred, this.#clock.ms());
      }),
    );
  }

  #keep(writing: Promise<void>): void {
    this.#writing.add(writing);
    void writing.finally(() => this.#writing.delete(writing));
  }

  async #written(): Promise<void> {
    await Promise.all(this.#writing);
  }
}

/** Happenings of one kind are counted together. */
function kindOf({ type, actor, details }: Happening): string {
  return JSON.stringify([type, actor.keyId, Object.entries(details).sort()]);
}

function factOf({ what, tally }: Occurrence<Happening>): OperationsFact {
  return what.type === 'RequestRefused'
    ? { type: 'RequestRefused', data: { ...what.details, ...tally }, sections: {} }
    : { type: 'EvidenceDisclosed', data: { ...what.details, ...tally }, sections: {} };
}

function tooManyDisclosures(renewsInMs: number): BudgetError {
  return new BudgetError(
    `This API key has been shown evidence ${EVENTS_AN_HOUR.EvidenceDisclosed} times within an hour, which is the most, since each is recorded (hint: wait ${Math.ceil(renewsInMs / 60_000)} min; participants without generator states, by urn.bg_state=omit, are not counted)`,
    renewsInMs,
  );
}

const UNSEEN =
  'it cannot be recorded that you see the answer; what you asked for is recorded, and the same request is answered again';

/** A log that was rolled back takes no records until somebody recovers it. */
function isRolledBack(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'rolled-back';
}

/** How often something happened, and when it happened first and last. */
interface Tally {
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

export function once(at: string): Tally {
  return { count: 1, firstAt: at, lastAt: at };
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
type CountedAs = 'first' | 'counted' | 'unpaid';

interface Group<T> {
  readonly what: T;
  /** Start of the window, in ms of the monotonic clock. */
  since: number;
  /** Paid for, but not yet handed out. */
  pending: Tally | undefined;
}

/**
 * Hands out repeated occurrences once per window of time, with a count. The first occurrence is to be written at once, so
 * that it is not lost. After that, each window with repetitions ends with their count. Every event is paid for before it is
 * promised, so there are never more events waiting than the budget allows.
 */
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
    group.pending = tallyOfBoth(group.pending, tally);
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
    const pending = tallyOfBoth(tally, this.#groups.get(kind)?.pending);
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

/** `one` must be the earlier tally. */
function tallyOfBoth(one: Tally | undefined, two: Tally | undefined): Tally | undefined {
  if (!one || !two) return one ?? two;
  return { count: one.count + two.count, firstAt: one.firstAt, lastAt: two.lastAt };
}

const HOUR_MS = 3_600_000;

/**
 * Limits how many events a key may cause in an hour, so that nobody can fill the disk with requests. A key's hour begins
 * with its first event. Each process counts for itself, from zero when it starts.
 */
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
