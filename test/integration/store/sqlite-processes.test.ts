/** Several processes at one SQLite file: nobody loses, repeats or reorders anything. */
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { NO_STREAM, type StoredRecord } from '../../../src/store/event-store.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { type Ended, otherProcess } from '../../support/other-process.ts';
import { readAll, readStream, records, texts } from '../../support/store-contract.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const newFile = () => join(newFolder(), 'urn.sqlite');

const opened: SqliteStore[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

function open(file: string): SqliteStore {
  const store = new SqliteStore(file);
  opened.push(store);
  return store;
}

function listen(store: SqliteStore): StoredRecord[] {
  const heard: StoredRecord[] = [];
  store.subscribe(undefined, {
    onRecords: (page) => heard.push(...page),
    onCaughtUp: () => undefined,
    onError: (error) => {
      throw error;
    },
  });
  return heard;
}

async function hammer(store: SqliteStore, stream: string, name: string, count: number): Promise<void> {
  let end = -1;
  for (let i = 0; i < count; ) {
    const { type } = await store.append(stream, end, records(`${name}${i}-`, 1));
    if (type === 'written') {
      end++;
      i++;
    } else end += (await readStream(store, stream, end + 1)).length;
  }
}

const said = ({ said: lines }: Ended, key: string) =>
  lines.find((line) => line !== null && typeof line === 'object' && key in line);

describe('two processes', () => {
  it('make one chain without gaps when both append to one stream as fast as they can', async () => {
    const file = newFile();
    const store = open(file);
    const heard = listen(store);
    const others = [
      otherProcess(['hammer', file, 'study-a', 'b', '150']),
      otherProcess(['hammer', file, 'study-a', 'c', '150']),
    ];
    await hammer(store, 'study-a', 'a', 150);
    for (const ended of await Promise.all(others)) expect(said(ended, 'conflicts')).toBeDefined();

    const chain = await readStream(store, 'study-a');
    expect(chain.map(({ revision }) => revision)).toEqual([...Array(450).keys()]);
    for (const name of ['a', 'b', 'c']) {
      const own = texts(chain).filter((text) => text.startsWith(name));
      expect(own).toEqual(own.toSorted((x, y) => numberIn(x) - numberIn(y)));
      expect(new Set(own).size).toBe(150);
    }
    await expect.poll(() => heard.length).toBe(450);
    expect(heard).toEqual(await readAll(store));
  });

  it('both receive everything once and in order, including what the other wrote', async () => {
    const file = newFile();
    const store = open(file);
    const heard = listen(store);
    await store.append('study-a', NO_STREAM, records('before', 5));
    const follower = otherProcess(['follow', file, '210']);
    const writer = otherProcess(['hammer', file, 'study-b', 'b', '100']);
    for (let i = 0; i < 100; i++) await store.append('study-a', 4 + i, records(`a${i}-`, 1));
    await writer;
    await store.append('study-c', NO_STREAM, records('after', 5));

    const all = await readAll(store);
    expect(all).toHaveLength(210);
    await expect.poll(() => heard.length).toBe(210);
    expect(heard).toEqual(all);
    expect(said(await follower, 'heard')).toEqual({
      heard: all.map(({ position, record }) => [position, Buffer.from(record).toString()]),
    });
  });

  it('can come and go: what one acknowledges after the other left is in the same file', async () => {
    const file = newFile();
    const store = open(file);
    for (let i = 0; i < 3; i++) {
      await store.append('study-a', i - 1, records(`a${i}-`, 1));
      const { said: lines } = await otherProcess(['append', file, `study-${i}`, `b${i}`]);
      expect(lines).toEqual([{ type: 'written' }]);
    }
    await store.close();
    expect(texts(await readAll(open(file)))).toEqual(['a0-0', 'b0', 'a1-0', 'b1', 'a2-0', 'b2']);
  });
});

function numberIn(text: string): number {
  return Number(/\d+/.exec(text)?.[0]);
}
