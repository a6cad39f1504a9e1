/** The writing thread is lost: what it was asked is unclear, another is started, and nothing is written twice. */
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { NO_STREAM } from '../../../src/store/event-store.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { readAll, records, texts } from '../../support/store-contract.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const threads = vi.hoisted(() => [] as (Worker & { hears: boolean })[]);
vi.mock('node:worker_threads', async (load) => {
  const real = await load<typeof import('node:worker_threads')>();
  class Remembered extends real.Worker {
    hears = true;
    constructor(...parameters: ConstructorParameters<typeof real.Worker>) {
      super(...parameters);
      threads.push(this);
    }
    override postMessage(...message: Parameters<Worker['postMessage']>): void {
      if (this.hears) super.postMessage(...message);
    }
  }
  return { ...real, Worker: Remembered };
});

const newFolder = temporaryFolders();
const newStore = () => new SqliteStore(join(newFolder(), 'urn.sqlite'));
const lose = () => threads.at(-1)?.terminate();

it('an append in progress when the thread is lost is unclear, and may be sent again', async () => {
  const store = newStore();
  await store.append('study-a', NO_STREAM, records('a', 1));
  // So the append cannot be over before the thread is.
  for (const thread of threads) thread.hears = false;
  const append = store.append('study-a', 0, records('b', 1));
  const lost = expect(append).rejects.toMatchObject({
    name: 'StoreError',
    failure: 'unavailable',
    outcome: 'unclear',
  });
  await lose();
  await lost;
  expect(await store.append('study-a', 0, records('b', 1))).toEqual({ type: 'written' });
  expect(texts(await readAll(store))).toEqual(['a0', 'b0']);
  await store.close();
});

it('an append that arrives while there is no thread waits for the next one', async () => {
  const store = newStore();
  await store.append('study-a', NO_STREAM, records('a', 1));
  await lose();
  expect(await store.append('study-a', 0, records('b', 1))).toEqual({ type: 'written' });
  await store.close();
});

it('the store can be closed while there is no thread', async () => {
  const store = newStore();
  await store.append('study-a', NO_STREAM, records('a', 1));
  await lose();
  await store.close();
});

it('the store answers what it accepted without a thread before it closes', async () => {
  const store = newStore();
  await store.append('study-a', NO_STREAM, records('a', 1));
  await lose();
  const append = store.append('study-a', 0, records('b', 1));
  await store.close();
  expect(await append).toEqual({ type: 'written' });
});

it('reading and following continue without the thread', async () => {
  const store = newStore();
  await store.append('study-a', NO_STREAM, records('a', 2));
  await lose();
  expect(texts(await readAll(store))).toEqual(['a0', 'a1']);
  await store.close();
});
