/**
 * Simulates several processes in one. Each step of each process at a store waits for its turn, and the next one is chosen at
 * random. A process can die before or after any of its steps.
 */
import type { EventStore, StoredRecord } from '../../src/store/event-store.ts';
import type { Choices } from './choices.ts';

export class Died extends Error {
  override readonly name = 'Died';
}

type Turns = ReturnType<typeof turnsBy>;

export function turnsBy({ between }: Choices) {
  const waiting: (() => void)[] = [];
  const take = () => new Promise<void>((resolve) => waiting.push(resolve));
  /** Gives turns until the work is done. */
  const until = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    while (!isDone) {
      // Everything that one step triggers is done before the next step.
      for (let i = 0; i < 4; i++) await new Promise(setImmediate);
      waiting.splice(between(0, waiting.length - 1), 1)[0]?.();
    }
    return work;
  };
  return { take, until };
}

/**
 * A process's access to a store that others use at the same time.
 * @param life steps until the process dies; shared by all stores of one process
 * @param mostRecords of the next page
 */
export function turnedStore(
  inside: EventStore,
  turns: Turns,
  life: { steps: number },
  mostRecords: () => number,
): EventStore {
  const step = async () => {
    await turns.take();
    if (life.steps-- <= 0) throw new Died();
  };
  /** What arrives during a read is read too, as in other stores. */
  async function* inSmallPages<From>(
    read: (from: From) => AsyncIterable<readonly StoredRecord[]>,
    from: From,
    after: (last: StoredRecord) => From,
  ): AsyncIterable<readonly StoredRecord[]> {
    for (let next = from; ; ) {
      await step();
      let page: readonly StoredRecord[] = [];
      for await (const records of read(next)) {
        page = records.slice(0, mostRecords());
        break;
      }
      const last = page.at(-1);
      if (!last) return;
      next = after(last);
      yield page;
    }
  }
  return {
    append: async (...append) => {
      await step();
      const result = await inside.append(...append);
      await step();
      return result;
    },
    readStream: (stream, fromRevision) => {
      const read = (from: number) => inside.readStream(stream, from);
      return inSmallPages(read, fromRevision, ({ revision }) => revision + 1);
    },
    readAll: (after) =>
      inSmallPages(
        (from: typeof after) => inside.readAll(from),
        after,
        ({ position }) => position,
      ),
    subscribe: (after, subscriber) => inside.subscribe(after, subscriber),
    close: () => inside.close(),
  };
}
