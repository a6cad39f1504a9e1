/**
 * The one write path. Each process has one writer per stream. The writer works in rounds:
 *
 *   1. Take commands from the queue, limited in number, bytes and time.
 *   2. Decide each command in turn against a tentative state, which is a fork of the folded one.
 *   3. Append all decided facts in one call, directly after the folded revision.
 *   4. If they were written, fold the new events so that every reader sees them, and then answer.
 *   5. On a conflict, another process was first. Fold its events and decide the same commands again.
 *   6. An append that succeeds proves that all decisions of its batch were up to date. If there is nothing to append,
 *      and another process may have ended the reason for a refusal, read the tail once and decide again.
 *   7. If the outcome is unclear (time-out, broken connection), send the identical records again. An append that timed
 *      out can still take effect later. The writer therefore remembers the ids of all attempts of a command: if an
 *      event with any of these ids appears in the stream, the command has succeeded. And as long as the place of such an
 *      append is free, nobody is told that nothing was recorded: not after another attempt in a later round, nor when the
 *      same request comes again.
 *
 * This makes the facts of a stream strictly serial, for any number of requests and processes: the exact expected
 * revision alone decides who was first. A crash at any point leaves either the whole batch or nothing, and nobody gets
 * an answer before the store has acknowledged the batch.
 *
 * How commands are decided is not here: that is the stream's `Decider`.
 */
import type { Fact } from '../../../events/catalogue.ts';
import { type Actor, encodeRecord, type LogEvent, type RecordBytes } from '../../../events/record.ts';
import type { Projection, Runner } from '../../../projections/runner.ts';
import { DomainError } from '../../base/errors.ts';
import { CLOCK_TOLERANCE_MS } from '../../base/time.ts';
import type { Tools } from '../../base/tools.ts';
import { withinMs } from '../../base/waiting.ts';
import { type AppendResult, type EventStore, StoreError } from '../../store/event-store.ts';
import type { Decider, Urgency } from './decider.ts';

/** Up to this many waiting commands go into one batch. */
const SMALL_BATCH = 32;

/**
 * How long the rest of the process has its turn, in ms. Node accepts one connection each time around its event loop, so a
 * single time would leave all others of a burst waiting for the next decisions.
 */
const REST_MS = 5;

const TOO_LATE = 'the log was too slow, or other processes were always faster';

export class Writer<State, Command, F extends Fact, Outcome> {
  readonly #store: EventStore;
  readonly #logId: string;
  readonly #stream: string;
  readonly #decider: Decider<State, Command, F, Outcome>;
  readonly #folded: FoldedStream<State>;
  readonly #tools: Tools;
  readonly #limits: WriterLimits;
  readonly #hooks: WriterHooks;
  #queue: BatchItem<Command, Outcome>[] = [];
  /** Unanswered commands, by the ids of all events attempted for them. */
  readonly #attempted = new Map<string, BatchItem<Command, Outcome>>();
  /** After this revision an append was sent whose outcome is unclear. Once another record is there, it cannot land. */
  #unclearAfter = Number.NEGATIVE_INFINITY;
  #working: Promise<void> | undefined;
  /** Deciding the last batch took as long as it may. */
  #isTurnOver = false;

  constructor(parts: {
    store: EventStore;
    logId: string;
    stream: string;
    decider: Decider<State, Command, F, Outcome>;
    folded: FoldedStream<State>;
    tools: Tools;
    limits?: Partial<WriterLimits>;
    hooks?: WriterHooks;
  }) {
    this.#store = parts.store;
    this.#logId = parts.logId;
    this.#stream = parts.stream;
    this.#decider = parts.decider;
    this.#folded = parts.folded;
    this.#tools = parts.tools;
    this.#limits = { ...DEFAULT_LIMITS, ...parts.limits };
    this.#hooks = parts.hooks ?? {};
    parts.folded.listen((event) => this.#noteLanding(event));
  }

  /**
   * Decides a command and answers once its fact is durable.
   * @throws DomainError `overloaded` (not accepted), `unavailable` (the message says if it may be recorded), and the
   *   refusals of the write gate: `halted`, `rolled-back`, `moved`, `endangered`
   */
  submit(command: Command, actor: Actor): Promise<WriteResult<Outcome>> {
    const { refusal } = this.#folded;
    if (refusal) return Promise.reject(refusal);
    if (this.#queue.length >= this.#limits.queue)
      return Promise.reject(
        new DomainError('overloaded', 'too many requests are waiting for this study; try again shortly'),
      );
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + this.#limits.deadlineMs;
      this.#queue.push({ command, actor, deadline, attempts: new Map(), landed: undefined, resolve, reject });
      this.#working ??= this.#work();
    });
  }

  /** Resolves when every submitted command has been answered. */
  async drain(): Promise<void> {
    while (this.#working) await this.#working;
  }

  async #work(): Promise<void> {
    // Commands that arrive in the same turn of the event loop go into one batch.
    await new Promise(setImmediate);
    while (this.#queue.length > 0) {
      if (this.#isTurnOver) await this.#tools.pause(REST_MS);
      this.#isTurnOver = false;
      const items = this.#nextItems();
      try {
        const left = await this.#round(items);
        this.#queue.unshift(...left);
      } catch (error) {
        for (const item of items) this.#fail(item, error as Error);
      }
    }
    await new Promise(setImmediate);
    this.#working = undefined;
    if (this.#queue.length > 0) this.#working = this.#work();
  }

  /** What is urgent comes first, and what may use the reserve by itself: nothing else may. */
  #nextItems(): BatchItem<Command, Outcome>[] {
    for (const urgency of ['reserve', 'first'] as const) {
      const urgent = this.#queue.filter((item) => this.#urgency(item) === urgency);
      if (urgent.length === 0) continue;
      this.#queue = this.#queue.filter((item) => this.#urgency(item) !== urgency);
      return urgent;
    }
    return this.#queue.splice(0, this.#batchSize());
  }

  #urgency({ command }: BatchItem<Command, Outcome>): Urgency | undefined {
    return this.#decider.urgency?.(command);
  }

  /**
   * About half of the waiting commands. If a batch took all of them, every client would wait for the same flush and then
   * ask again at the same time, and processor and disk would take turns. This way one half is prepared and answered
   * while the other is flushed.
   */
  #batchSize(): number {
    const half = Math.max(SMALL_BATCH, Math.ceil(this.#queue.length / 2));
    return Math.min(half, this.#limits.batchCommands);
  }

  /** Takes a batch all the way to its answers. Returns the commands that did not fit into it. */
  async #round(items: BatchItem<Command, Outcome>[]): Promise<BatchItem<Command, Outcome>[]> {
    let hasRead = false;
    for (let attempt = 0; ; attempt++) {
      items = this.#dropLate(items);
      if (items.length === 0) return [];
      // The gate may have closed while the commands waited or another process was first.
      const { refusal } = this.#folded;
      if (refusal) throw refusal;
      const batch = this.#decide(items);
      const isEmpty = batch.records.length === 0;
      const isUnsure = isEmpty && !hasRead && batch.answers.some(({ mayChange }) => mayChange);
      if (isUnsure) {
        const left = items.slice(batch.answers.length);
        items = [...this.#answerSure(batch), ...left];
        await this.#catchUp(items);
        hasRead = true;
        continue;
      }
      const { type } = isEmpty ? { type: 'written' as const } : await this.#append(batch);
      if (type === 'written') {
        this.#watchClock(batch);
        this.#folded.accept(batch.events, batch.records);
        // One turn later, when the next batch is on its way, so that answering overlaps with its flush.
        setImmediate(() => {
          for (const { item, answer } of batch.answers) this.#settle(item, answer);
        });
        return items.slice(batch.answers.length);
      }
      this.#hooks.onConflict?.();
      await this.#catchUp(items);
      hasRead = true;
      await this.#tools.pause(Math.random() * Math.min(2 ** attempt, 64));
    }
  }

  /** Answers what cannot change. @returns the other commands of the batch */
  #answerSure({ answers }: Batch<Command, Outcome>): BatchItem<Command, Outcome>[] {
    return answers.flatMap(({ item, answer, mayChange }) => {
      if (mayChange) return [item];
      this.#settle(item, answer);
      return [];
    });
  }

  #decide(items: readonly BatchItem<Command, Outcome>[]): Batch<Command, Outcome> {
    const { revision: expectedRevision, lastAt } = this.#folded;
    const batch: Batch<Command, Outcome> = {
      ...{ expectedRevision, lastAt },
      ...{ events: [], records: [], answers: [] },
    };
    let state = this.#decider.fork(this.#folded.state);
    let bytes = 0;
    const end = performance.now() + this.#limits.turnMs;
    for (const item of items) {
      if (batch.answers.length > 0 && performance.now() >= end) break;
      if (item.landed) {
        const { landed } = item;
        batch.answers.push({ item, answer: () => item.resolve(landed) });
        continue;
      }
      try {
        const at = this.#tools.now().toISOString();
        const { fact, outcome } = this.#decider.decide(state, item.command, { at, mode: 'request' });
        let revision = expectedRevision + batch.events.length;
        if (fact) {
          const header = {
            id: this.#tools.newId(),
            log: this.#logId,
            stream: this.#stream,
            revision: ++revision,
            at,
            actor: item.actor,
          };
          const record = encodeRecord(header, fact, this.#tools.newSalt);
          bytes += record.record.length + record.sealed.length;
          if (bytes > this.#limits.batchBytes && batch.records.length > 0) break;
          const { id, log, stream, actor } = header;
          const { type, data, sections } = fact;
          // Member by member: spreading both would take longer than the rest of this loop.
          const event = { id, log, stream, revision, at, actor, type, data, sections } as LogEvent;
          state = this.#decider.evolve(state, event);
          batch.records.push(record);
          batch.events.push(event);
          item.attempts.set(header.id, outcome);
          this.#attempted.set(header.id, item);
        }
        const mayChange = !fact && this.#decider.mayChange(outcome);
        batch.answers.push({ item, mayChange, answer: () => item.resolve({ outcome, revision }) });
      } catch (error) {
        // A command that cannot be decided or encoded must not fail the others in its batch.
        batch.answers.push({ item, answer: () => item.reject(error as Error) });
      }
    }
    this.#isTurnOver = performance.now() >= end;
    return batch;
  }

  /** Reads the tail. A read may always be repeated, so while the store does not answer there is time until the deadline. */
  async #catchUp(items: readonly BatchItem<Command, Outcome>[]): Promise<void> {
    const deadline = Math.min(...items.map((item) => item.deadline));
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#folded.catchUp();
      } catch (error) {
        const isSilent = error instanceof StoreError && error.failure === 'unavailable';
        if (!isSilent || performance.now() >= deadline) throw error;
        await this.#tools.pause(Math.random() * Math.min(10 * 2 ** attempt, 1000));
      }
    }
  }

  /** Sends a batch until the store's answer is clear. The records stay the same, so sending them again is safe. */
  async #append(batch: Batch<Command, Outcome>): Promise<AppendResult> {
    const { expectedRevision, records, answers } = batch;
    const deadline = Math.min(...answers.map(({ item }) => item.deadline));
    const isUrgent = answers.some(({ item }) => this.#urgency(item));
    let mayUseReserve = answers.some(({ item }) => this.#urgency(item) === 'reserve');
    for (let attempt = 0; ; attempt++) {
      const started = performance.now();
      try {
        const result = await this.#appendOnce(expectedRevision, records, mayUseReserve);
        this.#hooks.onAppend?.(
          (performance.now() - started) / 1000,
          batch.events.map(({ type }) => type),
        );
        return result;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        this.#hooks.onAppendFailed?.(error);
        const isUnclear = error.outcome === 'unclear';
        if (!isUnclear && attempt === 0) throw error;
        if (isUnclear) {
          this.#unclearAfter = expectedRevision;
          this.#hooks.onUnclear?.(error);
        }
        // These records may be there already, so nobody can ask for the reserve with others.
        if (isUrgent && error.failure === 'full') mayUseReserve = true;
        // Once an answer was lost, one that certainly was not written is tried again as well: the store may be coming back.
        const mayPass = isUnclear || error.failure === 'unavailable';
        if (!mayPass || performance.now() >= deadline) {
          // The next round would find an outdated end by a conflict, so nobody waits for a silent store any longer than one call.
          const left = deadline + this.#limits.appendTimeoutMs - performance.now();
          const isRead = await withinMs(left, this.#folded.catchUp()).then(
            () => true,
            () => false,
          );
          if (isRead && this.#folded.revision > expectedRevision) return { type: 'conflict' };
          // An earlier attempt may still be written, even if the last one certainly was not.
          throw new StoreError(error.failure, 'unclear', error.message, error);
        }
        await this.#tools.pause(Math.random() * Math.min(10 * 2 ** attempt, 1000));
      }
    }
  }

  #appendOnce(
    expectedRevision: number,
    records: readonly RecordBytes[],
    mayUseReserve: boolean,
  ): Promise<AppendResult> {
    const ms = this.#limits.appendTimeoutMs;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new StoreError('unavailable', 'unclear', `the store did not answer within ${ms} ms`)),
        ms,
      );
      this.#store
        .append(this.#stream, expectedRevision, records, mayUseReserve)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
  }

  /** Refuses commands whose deadline has passed, unless they are recorded: by one of their attempts, or when they were sent before. */
  #dropLate(items: readonly BatchItem<Command, Outcome>[]): BatchItem<Command, Outcome>[] {
    const now = performance.now();
    return items.filter((item) => {
      if (item.landed || now < item.deadline) return true;
      this.#fail(item, this.#unavailable(TOO_LATE));
      return false;
    });
  }

  /** A clock that steps back does no harm, because revisions define the order, but somebody should know. */
  #watchClock({ events, lastAt }: Batch<Command, Outcome>): void {
    // Not that of the folded stream: whoever follows the log may have folded these events already.
    let before = lastAt;
    for (const { at } of events) {
      // These texts sort like the times, so most events need no parsing.
      if (before !== undefined && before > at && Date.parse(before) - Date.parse(at) > CLOCK_TOLERANCE_MS)
        this.#hooks.onClockSetBack?.(this.#stream, before, at);
      before = at;
    }
  }

  /** An event with the id of an earlier attempt has appeared: that attempt was written after all. */
  #noteLanding(event: LogEvent): void {
    const item = this.#attempted.get(event.id);
    const outcome = item?.attempts.get(event.id);
    if (item && outcome !== undefined) item.landed = { outcome, revision: event.revision };
  }

  #failureOf(error: Error): Error {
    if (error instanceof StoreError)
      return this.#unavailable(
        error.failure === 'full' ? 'the disk is full' : 'the log does not answer',
        error,
      );
    // A closed gate says that nothing is recorded, which is not known while an append may still land.
    return error instanceof DomainError && error.code !== 'unavailable' && this.#mayLand
      ? this.#unavailable('the log takes nothing more', error)
      : error;
  }

  #unavailable(why: string, cause?: Error): DomainError {
    const known = this.#mayLand ? 'it is not known to be recorded' : 'nothing was recorded';
    return new DomainError('unavailable', `${why}: ${known}; send the same request again`, cause);
  }

  /** Whether an append of this process may still be written, for whichever request. */
  get #mayLand(): boolean {
    return this.#folded.revision <= this.#unclearAfter;
  }

  /** What this process knows for certain is answered even while the store is down. */
  #fail(item: BatchItem<Command, Outcome>, error: Error): void {
    const isDown =
      error instanceof StoreError || (error instanceof DomainError && error.code === 'unavailable');
    const known = item.landed ?? (isDown ? this.#known(item.command) : undefined);
    this.#settle(item, () => (known ? item.resolve(known) : item.reject(this.#failureOf(error))));
  }

  #known(command: Command): WriteResult<Outcome> | undefined {
    const { state, revision } = this.#folded;
    const at = this.#tools.now().toISOString();
    try {
      const fork = this.#decider.fork(state);
      const { fact, outcome } = this.#decider.decide(fork, command, { at, mode: 'request' });
      return fact || this.#decider.mayChange(outcome) ? undefined : { outcome, revision };
    } catch {
      return undefined;
    }
  }

  #settle(item: BatchItem<Command, Outcome>, answer: () => void): void {
    for (const id of item.attempts.keys()) this.#attempted.delete(id);
    answer();
  }
}

export interface WriteResult<Outcome> {
  readonly outcome: Outcome;
  /** Revision of the fact that the command produced. Without a fact, the revision that the decision is based on. */
  readonly revision: number;
}

export interface WriterLimits {
  /** The most commands that may wait. Any more are refused as overload. */
  readonly queue: number;
  readonly batchCommands: number;
  readonly batchBytes: number;
  /** How long commands may be decided before the rest of the process has its turn, in ms. */
  readonly turnMs: number;
  /** How long a command may take from submission to answer, in ms. */
  readonly deadlineMs: number;
  /** How long one append may take before it counts as unclear, in ms. */
  readonly appendTimeoutMs: number;
}

export const DEFAULT_LIMITS: WriterLimits = {
  queue: 10_000,
  batchCommands: 1000,
  batchBytes: 512 * 1024,
  turnMs: 25,
  deadlineMs: 15_000,
  appendTimeoutMs: 5_000,
};

export interface WriterHooks {
  /** The store has acknowledged events of these types. */
  onAppend?(seconds: number, types: readonly string[]): void;
  onConflict?(): void;
  onUnclear?(error: Error): void;
  /** An attempt to append has failed. */
  onAppendFailed?(error: StoreError): void;
  /** An event was written with an earlier time than its predecessor: the clock was set back in between. */
  onClockSetBack?(stream: string, before: string, now: string): void;
}

/** A command, from its submission to its answer. */
interface BatchItem<Command, Outcome> {
  readonly command: Command;
  readonly actor: Actor;
  /** Monotonic clock, in ms. */
  readonly deadline: number;
  /** The outcome of each attempt, by event id. */
  readonly attempts: Map<string, Outcome>;
  landed: WriteResult<Outcome> | undefined;
  readonly resolve: (written: WriteResult<Outcome>) => void;
  readonly reject: (error: Error) => void;
}

/** What one round decides: the records of one append, and the answers that it allows. */
interface Batch<Command, Outcome> {
  readonly expectedRevision: number;
  /** `at` of the event at that revision. */
  readonly lastAt: string | undefined;
  readonly events: LogEvent[];
  readonly records: RecordBytes[];
  /** One for each decided command, in order. Called once the records are written. */
  readonly answers: Answer<Command, Outcome>[];
}

interface Answer<Command, Outcome> {
  readonly item: BatchItem<Command, Outcome>;
  readonly answer: () => void;
  /** There is no fact, and what another process has written may change that. */
  readonly mayChange?: boolean;
}

/** The folded stream that a writer decides against. */
interface FoldedStream<State> {
  readonly state: State;
  readonly revision: number;
  /** `at` of the last event. */
  readonly lastAt: string | undefined;
  /** Why nothing may be written to the stream now; undefined when writing is allowed. */
  readonly refusal: Error | undefined;
  catchUp(): Promise<void>;
  accept(events: readonly LogEvent[], records: readonly RecordBytes[]): void;
  listen(listener: (event: LogEvent) => void): () => void;
}

/** What all writers of a log share. */
export interface LogParts {
  readonly store: EventStore;
  readonly logId: string;
  readonly runner: Runner;
  readonly gate: Gate;
  readonly tools: Tools;
  readonly hooks?: WriterHooks;
}

/** Decides whether this process may write to a stream or sign a checkpoint of it. */
export interface Gate {
  /** Why it may not; undefined if it may. */
  refusal(stream: string, permission: Permission): DomainError | undefined;
}

/** `recover` declares a loss, which must be allowed in a log that lacks records. */
export type Permission = 'write' | 'sign' | 'recover';

/**
 * The folded stream of a writer: what the runner has folded, as far as the gate lets it be written to.
 * @param permission what the writer asks the gate for
 */
export function foldedStream<State>(
  { runner, gate }: Pick<LogParts, 'runner' | 'gate'>,
  projection: Projection<State>,
  stream: string,
  permission: Permission = 'write',
): FoldedStream<State> {
  return {
    get state() {
      return runner.state(projection, stream);
    },
    get revision() {
      return runner.revision(stream);
    },
    get lastAt() {
      return runner.lastAt(stream);
    },
    get refusal() {
      return gate.refusal(stream, permission);
    },
    catchUp: () => runner.catchUp(stream),
    accept: (events, records) => runner.accept(events, records),
    listen: (listener) => runner.listen(stream, listener),
  };
}
