/**
 * Simulates several processes in one. Each step of each process at a store waits for its turn, and the next one is chosen at
 * random. A process can die before or after any of its steps.
 */
import type { RecordBytes } from '../../events/record.ts';
import type {
  AppendResult,
  EventStore,
  Position,
  StoredRecord,
  Subscriber,
  Subscription,
} from '../../src/store/event-store.ts';
import type { Choices } from './choices.ts';

export class Died extends Error {
  override readonly name = 'Died';
}

export class Turns {
  readonly #choices: Choices;
  readonly #waiting: (() => void)[] = [];

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  take(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Gives turns until the work is done. */
  async until<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    while (!isDone) {
      // Everything that one step triggers is done before the next step.
      for (let i = 0; i < 4; i++) await new Promise(setImmediate);
      const next = this.#choices.between(0, this.#waiting.length - 1);
      this.#waiting.splice(next, 1)[0]?.();
    }
    return work;
  }
}

/** A process's access to a store that others use at the same time. */
export class TurnedStore implements EventStore {
  readonly #inside: EventStore;
  readonly #turns: Turns;
  readonly #mostRecords: () => number;
  readonly #life: { steps: number };

  /**
   * @param life steps until the process dies; shared by all stores of one process
   * @param mostRecords of the next page
   */
  constructor(inside: EventStore, turns: Turns, life: { steps: number }, mostRecords: () => number) {
    this.#inside = inside;
    this.#turns = turns;
    this.#life = life;
    this.#mostRecords = mostRecords;
  }

  async append(
    stream: string,
    expectedRevision: number,
    records: readonly RecordBytes[],
  ): Promise<AppendResult> {
    await this.#step();
    const result = await this.#inside.append(stream, expectedRevision, records);
    await this.#step();
    return result;
  }

  readStream(stream: string, fromRevision: number): AsyncIterable<readonly StoredRecord[]> {
    return this.#inSmallPages(
      (from) => this.#inside.readStream(stream, from),
      fromRevision,
      (r) => r.revision + 1,
    );
  }

  readAll(after?: Position): AsyncIterable<readonly StoredRecord[]> {
    return this.#inSmallPages(
      (from) => this.#inside.readAll(from),
      after,
      (r) => r.position,
    );
  }

  subscribe(after: Position | undefined, subscriber: Subscriber): Subscription {
    return this.#inside.subscribe(after, subscriber);
  }

  close(): Promise<void> {
    return this.#inside.close();
  }

  /** What arrives during a read is read too, as in other stores. */
  async *#inSmallPages<From>(
    read: (from: From) => AsyncIterable<readonly StoredRecord[]>,
    from: From,
    after: (last: StoredRecord) => From,
  ): AsyncIterable<readonly StoredRecord[]> {
    for (let next = from; ; ) {
      await this.#step();
      let page: readonly StoredRecord[] = [];
      for await (const records of read(next)) {
        page = records.slice(0, this.#mostRecords());
        break;
      }
      const last = page.at(-1);
      if (!last) return;
      next = after(last);
      yield page;
    }
  }

  async #step(): Promise<void> {
    await this.#turns.take();
    if (this.#life.steps-- <= 0) throw new Died();
  }
}
