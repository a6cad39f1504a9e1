/**
 * Folds the log into projections. Everything that anyone reads is folded from the log alone.
 *
 * Rebuilding at start, following live, catching up with one stream after a conflict and accepting what this process has just
 * written all use the same step: `#take`, which applies a stream's next event and ignores events that were applied before.
 * `nextEvent` makes the checks of every fold, live or in retrospect.
 */
import { streamKind } from '../events/catalogue.ts';
import type { StreamKind } from '../events/define.ts';
import { decodeRecord, type LogEvent, type RecordBytes } from '../events/record.ts';
import { RecordError } from '../src/base/errors.ts';
import type {
  EventStore,
  Position,
  StoredRecord,
  StoreError,
  StreamWatch,
  Subscription,
} from '../src/store/event-store.ts';

/** A fold over the events of one stream. */
export interface Projection<State> {
  readonly name: string;
  /** The kind of stream it folds. Each stream of that kind has its own state. */
  readonly stream: StreamKind;
  initial(): State;
  /**
   * The state after the event. May change the given state in place and return it, since earlier states are not kept.
   * @throws Error for an event that contradicts earlier ones, which halts the stream
   */
  apply(state: State, event: LogEvent): State;
}

/** What a reader selects from the state of a projection. */
export interface View<State, Shown> {
  readonly of: Projection<State>;
  select(state: State): Shown;
}

// biome-ignore lint/suspicious/noExplicitAny: whoever asks for a view need not know from which state it selects.
export type Readable<Shown> = Projection<Shown> | View<any, Shown>;

/** The projection that must be folded to read it. */
export function projectionOf<Shown>(readable: Readable<Shown>): Projection<unknown> {
  return 'of' in readable ? readable.of : readable;
}

/** @param state of that projection */
export function shownIn<Shown>(readable: Readable<Shown>, state: unknown): Shown {
  return 'of' in readable ? readable.select(state) : (state as Shown);
}

// biome-ignore lint/suspicious/noExplicitAny: the runner holds states of many types and looks into none of them.
type AnyReadable = Readable<any>;
type AnyProjection = Projection<unknown>;

export interface RunnerHooks {
  /** A record was folded. `leaf` is the leaf of that record. */
  onFolded?(stream: string, leaf: Uint8Array): void;
  /** A stream cannot be folded any further. The others continue. */
  onHalted?(stream: string, error: Error): void;
  /** The log cannot be followed. @param cutOffMs since when this has been so */
  onStoreError?(error: StoreError, cutOffMs: number): void;
  /**
   * The store will remove records of a stream. `danger` says why, with a hint; undefined when the danger has passed.
   */
  onDanger?(stream: string, danger: string | undefined): void;
  /** The store lacks records that were read from it before. @param why a sentence without a full stop */
  onRolledBack?(why: string): void;
}

/** What is folded of one stream. */
interface FoldedStream {
  /** Revision of the last event applied, -1 before the first. */
  revision: number;
  /** `at` of that event. */
  lastAt: string | undefined;
  /** Of each projection of this kind of stream. */
  readonly states: ReadonlyMap<AnyProjection, { state: unknown }>;
  /** Why this stream is not folded any further. An event that cannot be understood is never skipped. */
  halted: Error | undefined;
}

export class Runner {
  readonly #store: EventStore;
  readonly #logId: string;
  readonly #projections: readonly AnyProjection[];
  readonly #hooks: RunnerHooks;
  readonly #streams = new Map<string, FoldedStream>();
  readonly #dangers = new Map<string, string>();
  readonly #watch: StreamWatch = {
    onBroken: (stream, error) =>
      this.#halt(stream, this.#streams.get(stream) ?? this.#newStream(stream), error),
    onDanger: (stream, danger) => this.#noteDanger(stream, danger),
  };
  readonly #listeners = new Map<string, Set<(event: LogEvent) => void>>();
  #position: Position | undefined;
  #subscription: Subscription | undefined;
  #caughtUpAt: number | undefined;
  #cutOffAt: number | undefined;

  constructor(store: EventStore, logId: string, readables: readonly AnyReadable[], hooks: RunnerHooks = {}) {
    this.#store = store;
    this.#logId = logId;
    this.#projections = [...new Set(readables.map(projectionOf))];
    this.#hooks = hooks;
  }

  /**
   * Folds the whole log. When called again, folds what has been added since.
   * @param onProgress gets the number of records folded so far
   */
  async rebuild(onProgress?: (records: number) => void): Promise<void> {
    let records = 0;
    for await (const page of this.#store.readAll(this.#position, this.#watch)) {
      this.#takeNext(page);
      records += page.length;
      onProgress?.(records);
      // Let other requests, such as /healthz, in between pages.
      await new Promise(setImmediate);
    }
    this.#caughtUpAt = performance.now();
  }

  /** Follows the log live, from where `rebuild` ended. */
  follow(): void {
    this.#subscription = this.#store.subscribe(this.#position, {
      onRecords: (records) => {
        this.#cutOffAt = undefined;
        this.#takeNext(records);
      },
      onCaughtUp: () => {
        this.#cutOffAt = undefined;
        this.#caughtUpAt = performance.now();
      },
      onError: (error) => {
        const now = performance.now();
        this.#cutOffAt ??= now;
        this.#hooks.onStoreError?.(error, now - this.#cutOffAt);
      },
      onRolledBack: (why) => this.#hooks.onRolledBack?.(why),
      ...this.#watch,
    });
  }

  stop(): void {
    this.#subscription?.close();
  }

  /** Seconds since the projections were last known to be up to date; -1 before the first time. */
  lagSeconds(): number {
    return this.#caughtUpAt === undefined ? -1 : (performance.now() - this.#caughtUpAt) / 1000;
  }

  /** Whether the subscription to the store is currently failing. */
  get isCutOff(): boolean {
    return this.#cutOffAt !== undefined;
  }

  /** Reads one stream's tail from the store. @throws StoreError */
  async catchUp(stream: string): Promise<void> {
    for await (const page of this.#store.readStream(stream, this.revision(stream) + 1))
      this.#takeStored(page);
  }

  /**
   * Waits until a stream is folded up to a revision: reads its tail at once, then waits for new records.
   * @param ms how long to wait at most
   * @returns whether the revision was reached
   * @throws StoreError
   */
  async reach(stream: string, revision: number, ms: number): Promise<boolean> {
    const isReached = () => this.revision(stream) >= revision;
    if (isReached()) return true;
    await this.catchUp(stream);
    if (isReached()) return true;
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        stopListening();
        resolve(isReached());
      };
      const timer = setTimeout(end, ms);
      const stopListening = this.listen(stream, () => {
        if (isReached()) end();
      });
    });
  }

  /**
   * Folds events that this process has just written, so that the next read shows them.
   * @param records the records of these events, in the same order
   */
  accept(events: readonly LogEvent[], records: readonly Pick<RecordBytes, 'leaf'>[]): void {
    events.forEach((event, i) => {
      const leaf = records[i]?.leaf;
      if (!leaf) throw new RangeError('an event without its record');
      this.#take(event.stream, event.revision, leaf, () => event);
    });
  }

  /** The state of a projection for a stream, or what a view selects of it. That of a stream that does not exist is initial. */
  state<S>(readable: Readable<S>, stream: string): S {
    const projection = projectionOf(readable);
    const held = this.#streams.get(stream)?.states.get(projection);
    return shownIn(readable, held ? held.state : projection.initial());
  }

  /** Revision of the last folded event; -1 for a stream that does not exist. */
  revision(stream: string): number {
    return this.#streams.get(stream)?.revision ?? -1;
  }

  /** `at` of the last folded event. */
  lastAt(stream: string): string | undefined {
    return this.#streams.get(stream)?.lastAt;
  }

  halted(stream: string): Error | undefined {
    return this.#streams.get(stream)?.halted;
  }

  streams(): string[] {
    return [...this.#streams.keys()];
  }

  /** Calls the listener for every event of a stream when it is folded. Returns a function that stops this. */
  listen(stream: string, listener: (event: LogEvent) => void): () => void {
    const listeners = this.#listeners.get(stream) ?? new Set();
    this.#listeners.set(stream, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /**
   * Takes records in the order of the whole log, so that `follow` can continue after them. Not for one stream's tail.
   */
  #takeNext(records: readonly StoredRecord[]): void {
    this.#takeStored(records);
    this.#position = records.at(-1)?.position ?? this.#position;
  }

  #takeStored(records: readonly StoredRecord[]): void {
    for (const stored of records)
      this.#take(stored.stream, stored.revision, stored.leaf, () => decodeRecord(stored));
  }

  #take(name: string, revision: number, leaf: Uint8Array, decode: () => LogEvent): void {
    const stream = this.#streams.get(name) ?? this.#newStream(name);
    if (revision <= stream.revision || stream.halted) return;
    try {
      const event = nextEvent(this.#logId, stream.revision, { stream: name, revision }, decode);
      for (const [projection, held] of stream.states) held.state = projection.apply(held.state, event);
      stream.revision = revision;
      stream.lastAt = event.at;
      this.#hooks.onFolded?.(name, leaf);
      for (const listener of this.#listeners.get(name) ?? []) listener(event);
    } catch (error) {
      this.#halt(name, stream, error as Error);
    }
  }

  #halt(name: string, stream: FoldedStream, error: Error): void {
    if (stream.halted) return;
    stream.halted = error;
    this.#hooks.onHalted?.(name, error);
  }

  #noteDanger(stream: string, danger: string | undefined): void {
    if (this.#dangers.get(stream) === danger) return;
    if (danger === undefined) this.#dangers.delete(stream);
    else this.#dangers.set(stream, danger);
    this.#hooks.onDanger?.(stream, danger);
  }

  #newStream(name: string): FoldedStream {
    const kind = streamKind(name);
    const states = this.#projections
      .filter((projection) => projection.stream === kind)
      .map((projection) => [projection, { state: projection.initial() as unknown }] as const);
    const stream: FoldedStream = {
      revision: -1,
      lastAt: undefined,
      states: new Map(states),
      halted: undefined,
    };
    this.#streams.set(name, stream);
    return stream;
  }
}

/**
 * Decodes the record that must come next in its stream.
 * @param last revision of the last event; -1 before the first
 * @throws RecordError when records are missing before it, or it belongs to another log; and the errors of `decode`
 */
export function nextEvent(
  logId: string,
  last: number,
  { stream, revision }: { readonly stream: string; readonly revision: number },
  decode: () => LogEvent,
): LogEvent {
  const where = `${stream}/${revision}`;
  if (revision !== last + 1)
    throw new RecordError('misplaced', where, `follows revision ${last}: records are missing`);
  const event = decode();
  if (event.log !== logId) throw new RecordError('misplaced', where, 'belongs to another log');
  return event;
}
