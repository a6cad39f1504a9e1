/**
 * The one write path. A stream has one writer in a process; it works in rounds:
 *
 *   1. take what waits in the queue, bounded in number and bytes;
 *   2. decide each command in turn against a tentative state (a fork of the folded one);
 *   3. append what was decided in one call, directly behind the revision that was folded;
 *   4. written: fold the new events, so that every reader sees them, then answer;
 *   5. conflict: another process was first. Fold its events and decide the same commands again;
 *   6. unclear (time-out, broken connection): send the identical records again. An append that timed out can still
 *      land later, so the ids of all attempts of a command are remembered, and an event found under any of them is
 *      that command's success.
 *
 * So a stream's facts are strictly serial, one request at a time or ten thousand, in one process or ten: the exact
 * expected revision alone decides who was first. A crash at any point leaves either the whole batch or nothing, and
 * nobody was answered before the store had acknowledged.
 */
import type { Fact } from '../../events/catalogue.ts';
import { type Actor, encodeRecord, type LogEvent, type RecordBytes } from '../../events/record.ts';
import { DomainError } from '../base/errors.ts';
import { type AppendResult, type EventStore, StoreError } from '../store/event-store.ts';
import type { Decider } from './decider.ts';

/** The folded stream that a writer decides against. */
export interface FoldedStream<State> {
  readonly state: State;
  readonly revision: number;
  /** `at` of the last event. */
  readonly lastAt: string | undefined;
  /** Why nothing may be written to it now, if so. */
  readonly refusal: Error | undefined;
  catchUp(): Promise<void>;
  accept(events: readonly LogEvent[], records: readonly RecordBytes[]): void;
  listen(listener: (event: LogEvent) => void): () => void;
}

/** What differs from one process, and one test, to the next. */
export interface WriterTools {
  readonly now: () => Date;
  readonly newId: () => string;
  /** 128 random bits in lower-case hex. */
  readonly newSalt: () => string;
  /** Waits so many ms; the jitter of retries. */
  readonly pause: (ms: number) => Promise<void>;
}

export interface WriterLimits {
  /** Commands that may wait. More are refused as overload. */
  readonly queue: number;
  readonly batchCommands: number;
  readonly batchBytes: number;
  /** How long a command may take from submission to answer, in ms. */
  readonly deadlineMs: number;
  /** How long one append may take before it counts as unclear, in ms. */
  readonly appendTimeoutMs: number;
}

export const DEFAULT_LIMITS: WriterLimits = {
  queue: 10_000,
  batchCommands: 1000,
  batchBytes: 512 * 1024,
  deadlineMs: 15_000,
  appendTimeoutMs: 5_000,
};

export interface WriterHooks {
  /** The store acknowledged events of these types. */
  onAppend?(seconds: number, types: readonly string[]): void;
  onConflict?(): void;
  onUnclear?(error: Error): void;
  /** An event was written whose time is before that of the one before it: the clock was set back in between. */
  onClockSetBack?(stream: string, before: string, now: string): void;
}

export interface Written<Outcome> {
  readonly outcome: Outcome;
  /** Revision of the fact that the command made, or that the decision was made at. */
  readonly revision: number;
}

/** So many commands are not divided. */
const SMALL_BATCH = 32;

/** Clocks of machines that write the same stream may differ by this much, in ms, and be right. */
const CLOCKS_DIFFER_MS = 1000;

const TOO_LATE =
  'the log was too slow, or other processes were faster for too long; send the same request again';

interface Item<Command, Outcome> {
  readonly command: Command;
  readonly actor: Actor;
  /** In ms of the monotonic clock. */
  readonly deadline: number;
  /** Outcome of each attempt, by the id of its event. */
  readonly attempts: Map<string, Outcome>;
  landed: Written<Outcome> | undefined;
  readonly resolve: (written: Written<Outcome>) => void;
  readonly reject: (error: Error) => void;
}

interface Batch<Command, Outcome> {
  readonly expectedRevision: number;
  readonly events: LogEvent[];
  readonly records: RecordBytes[];
  /** One for each command decided, in their order: to be called once the records are written. */
  readonly answers: { readonly item: Item<Command, Outcome>; readonly answer: () => void }[];
}

export class Writer<State, Command, F extends Fact, Outcome> {
  readonly #store: EventStore;
  readonly #logId: string;
  readonly #stream: string;
  readonly #decider: Decider<State, Command, F, Outcome>;
  readonly #folded: FoldedStream<State>;
  readonly #tools: WriterTools;
  readonly #limits: WriterLimits;
  readonly #hooks: WriterHooks;
  #queue: Item<Command, Outcome>[] = [];
  /** Commands not yet answered, by the ids of all events that were attempted for them. */
  readonly #attempted = new Map<string, Item<Command, Outcome>>();
  #working: Promise<void> | undefined;

  constructor(parts: {
    store: EventStore;
    logId: string;
    stream: string;
    decider: Decider<State, Command, F, Outcome>;
    folded: FoldedStream<State>;
    tools: WriterTools;
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
   * Decides a command, and answers once its fact is durable.
   * @throws DomainError `overloaded` (not taken), `unavailable` (not known to be written), and what the write gate
   *   refuses: `halted`, `rolled-back`, `moved`, `endangered`
   */
  submit(command: Command, actor: Actor): Promise<Written<Outcome>> {
    const { refusal } = this.#folded;
    if (refusal) return Promise.reject(refusal);
    if (this.#queue.length >= this.#limits.queue)
      return Promise.reject(
        new DomainError('overloaded', 'too many requests wait for this study; try again shortly'),
      );
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + this.#limits.deadlineMs;
      this.#queue.push({ command, actor, deadline, attempts: new Map(), landed: undefined, resolve, reject });
      this.#working ??= this.#work();
    });
  }

  /** Resolves when all that was submitted has been answered. */
  async drain(): Promise<void> {
    while (this.#working) await this.#working;
  }

  async #work(): Promise<void> {
    // What arrived in the same turn of the event loop goes into one batch.
    await new Promise(setImmediate);
    while (this.#queue.length > 0) {
      const items = this.#queue.splice(0, this.#batchSize());
      try {
        const left = await this.#round(items);
        this.#queue.unshift(...left);
      } catch (error) {
        const why = error instanceof StoreError ? unavailable(error) : (error as Error);
        for (const item of items)
          this.#settle(item, () => (item.landed ? item.resolve(item.landed) : item.reject(why)));
      }
    }
    await new Promise(setImmediate);
    this.#working = undefined;
    if (this.#queue.length > 0) this.#working = this.#work();
  }

  /**
   * About half of what waits. If everything were taken, everyone would wait for one flush and then ask again at once,
   * and processor and disk would take turns; so one half is prepared and answered while the other is flushed.
   */
  #batchSize(): number {
    const half = Math.max(SMALL_BATCH, Math.ceil(this.#queue.length / 2));
    return Math.min(half, this.#limits.batchCommands);
  }

  /** Sees a batch through to its answers. Returns the commands that did not fit into it. */
  async #round(items: Item<Command, Outcome>[]): Promise<Item<Command, Outcome>[]> {
    for (let attempt = 0; ; attempt++) {
      items = this.#dropLate(items);
      if (items.length === 0) return [];
      // By now a command may have waited, or another process been first with it.
      const { refusal } = this.#folded;
      if (refusal) throw refusal;
      const batch = this.#decide(items);
      const { type } = batch.records.length === 0 ? { type: 'written' as const } : await this.#append(batch);
      if (type === 'written') {
        this.#watchClock(batch.events);
        this.#folded.accept(batch.events, batch.records);
        // A turn later, when the next batch is on its way: answering takes time that its flush can use.
        setImmediate(() => {
          for (const { item, answer } of batch.answers) this.#settle(item, answer);
        });
        return items.slice(batch.answers.length);
      }
      this.#hooks.onConflict?.();
      await this.#folded.catchUp();
      await this.#tools.pause(Math.random() * Math.min(2 ** attempt, 64));
    }
  }

  #decide(items: readonly Item<Command, Outcome>[]): Batch<Command, Outcome> {
    const expectedRevision = this.#folded.revision;
    const batch: Batch<Command, Outcome> = { expectedRevision, events: [], records: [], answers: [] };
    let state = this.#decider.fork(this.#folded.state);
    let bytes = 0;
    for (const item of items) {
      if (item.landed) {
        const { landed } = item;
        batch.answers.push({ item, answer: () => item.resolve(landed) });
        continue;
      }
      try {
        const { fact, outcome } = this.#decider.decide(state, item.command);
        let revision = expectedRevision + batch.events.length;
        if (fact) {
          const header = {
            id: this.#tools.newId(),
            log: this.#logId,
            stream: this.#stream,
            revision: ++revision,
            at: this.#tools.now().toISOString(),
            actor: item.actor,
          };
          const record = encodeRecord(header, fact, this.#tools.newSalt);
          bytes += record.record.length + record.sealed.length;
          if (bytes > this.#limits.batchBytes && batch.records.length > 0) break;
          const { id, log, stream, at, actor } = header;
          const { type, data, sections } = fact;
          // Member by member: spreading both takes longer than all the rest of this loop's own work.
          const event = { id, log, stream, revision, at, actor, type, data, sections } as LogEvent;
          state = this.#decider.evolve(state, event);
          batch.records.push(record);
          batch.events.push(event);
          item.attempts.set(header.id, outcome);
          this.#attempted.set(header.id, item);
        }
        batch.answers.push({ item, answer: () => item.resolve({ outcome, revision }) });
      } catch (error) {
        // A command that cannot be decided or written down must not take those beside it with it.
        batch.answers.push({ item, answer: () => item.reject(error as Error) });
      }
    }
    return batch;
  }

  /** Sends a batch until the store's answer is clear. The records stay the same, so sending twice is safe. */
  async #append(batch: Batch<Command, Outcome>): Promise<AppendResult> {
    const { expectedRevision, records, answers } = batch;
    const deadline = Math.min(...answers.map(({ item }) => item.deadline));
    for (let attempt = 0; ; attempt++) {
      const started = performance.now();
      try {
        const result = await this.#appendOnce(expectedRevision, records);
        this.#hooks.onAppend?.(
          (performance.now() - started) / 1000,
          batch.events.map(({ type }) => type),
        );
        return result;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        const unclear = error.outcome === 'unclear';
        if (!unclear && attempt === 0) throw unavailable(error);
        if (unclear) this.#hooks.onUnclear?.(error);
        if (!unclear || performance.now() >= deadline) {
          // The next round must not decide on what may be an old end of the stream.
          await this.#folded.catchUp().catch(() => undefined);
          if (this.#folded.revision > expectedRevision) return { type: 'conflict' };
          throw unavailable(error);
        }
        await this.#tools.pause(Math.random() * Math.min(10 * 2 ** attempt, 1000));
      }
    }
  }

  #appendOnce(expectedRevision: number, records: readonly RecordBytes[]): Promise<AppendResult> {
    const ms = this.#limits.appendTimeoutMs;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new StoreError('unavailable', 'unclear', `the store did not answer within ${ms} ms`)),
        ms,
      );
      this.#store
        .append(this.#stream, expectedRevision, records)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
  }

  /** Commands whose time is up are answered so, unless one of their attempts has landed. */
  #dropLate(items: readonly Item<Command, Outcome>[]): Item<Command, Outcome>[] {
    const now = performance.now();
    return items.filter((item) => {
      if (item.landed || now < item.deadline) return true;
      this.#settle(item, () => item.reject(new DomainError('unavailable', TOO_LATE)));
      return false;
    });
  }

  /** A clock that steps back harms nothing, since the revision is the order; but somebody should know. */
  #watchClock(events: readonly LogEvent[]): void {
    let before = this.#folded.lastAt;
    for (const { at } of events) {
      // Most are not; and these texts sort as the times do.
      if (before !== undefined && before > at && Date.parse(before) - Date.parse(at) > CLOCKS_DIFFER_MS)
        this.#hooks.onClockSetBack?.(this.#stream, before, at);
      before = at;
    }
  }

  /** An event under an id that a waiting command attempted: that attempt was written after all. */
  #noteLanding(event: LogEvent): void {
    const item = this.#attempted.get(event.id);
    const outcome = item?.attempts.get(event.id);
    if (item && outcome !== undefined) item.landed = { outcome, revision: event.revision };
  }

  #settle(item: Item<Command, Outcome>, answer: () => void): void {
    for (const id of item.attempts.keys()) this.#attempted.delete(id);
    answer();
  }
}

function unavailable(error: StoreError): DomainError {
  const why = error.failure === 'full' ? 'the disk is full' : 'the log does not answer';
  return new DomainError(
    'unavailable',
    `${why}: it is not known to be recorded; send the same request again`,
    error,
  );
}
