/** The writing thread is lost: the outcome of its appends is unclear, another thread is started, and nothing is written twice. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { NO_STREAM } from '../../../src/store/event-store.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { readAll, records, texts } from '../../support/store-contract.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const posting = vi.spyOn(Worker.prototype, 'postMessage');
afterEach(() => posting.mockReset());
afterAll(() => posting.mockRestore());

const newFolder = temporaryFolders();
const newStore = () => new SqliteStore(join(newFolder(), 'urn.sqlite'));
/** Ends the thread that was asked last. */
const lose = () => (posting.mock.contexts.at(-1) as Worker | undefined)?.terminate();

it('an append in progress when the thread is lost is unclear, and may be sent again', async () => {
  const store = newStore();
  await store.append('study-a', NO_STREAM, records('a', 1));
  // The thread does not hear of the append, so that it cannot be over before the thread is.
  posting.mockImplementation(() => undefined);
  const append = store.append('study-a', 0, records('b', 1));
  const lost = expect(append).rejects.toMatchObject({
    name: 'StoreError',
    failure: 'unavailable',
    outcome: 'unclear',
  });
  await lose();
  posting.mockReset();
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
