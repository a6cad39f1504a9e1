import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { NO_STREAM, type StoredRecord, StoreError } from '../../../src/store/event-store.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { openDatabase } from '../../../src/store/sqlite/schema.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { otherProcess } from '../../support/other-process.ts';
import { lines, readAll, readStream, records, storeContract, texts } from '../../support/store-contract.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const newFile = () => join(newFolder(), 'urn.sqlite');

storeContract('the store in SQLite', () => new SqliteStore(newFile()));

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

function open(file: string): SqliteStore {
  const store = new SqliteStore(file);
  opened.push(store);
  return store;
}

/** What a subscription delivers, until the store is closed. */
function listen(
  store: SqliteStore,
  onError = (error: StoreError): unknown => {
    throw error;
  },
): StoredRecord[] {
  const heard: StoredRecord[] = [];
  const onRecords = (page: readonly StoredRecord[]) => heard.push(...page);
  store.subscribe(undefined, { onRecords, onCaughtUp: () => undefined, onError });
  return heard;
}

/** A file with three records in it, closed. */
async function writtenFile(): Promise<string> {
  const file = newFile();
  const store = new SqliteStore(file);
  await store.append('study-a', NO_STREAM, records('a', 2));
  await store.append('study-b', NO_STREAM, records('b', 1));
  await store.close();
  return file;
}

describe('what SQLite has acknowledged', () => {
  it('is there after the process is killed', async () => {
    const file = newFile();
    const { signal } = await otherProcess(['appendAndDie', file, 'study-a', '20']);
    expect(signal).toBe('SIGKILL');
    expect(texts(await readAll(open(file)))).toEqual(Array.from({ length: 20 }, (_, i) => `r${i}`));
  });

  it('is flushed at every commit: each new connection uses WAL with synchronous = FULL, and one that reads cannot write', async () => {
    const file = await writtenFile();
    for (const use of ['append', 'read'] as const) {
      const db = openDatabase(file, use);
      expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
      expect(db.pragma('synchronous', { simple: true })).toBe(2);
      if (use === 'read') expect(() => db.exec('CREATE TABLE x (y)')).toThrow('readonly');
      db.close();
    }
  });
});

describe('the database refuses', () => {
  const COLUMNS = 'stream, revision, record, sealed, leaf';
  const VALUES = "x'00', x'00', zeroblob(32)";

  let db: Database;
  beforeAll(async () => {
    db = new Database(await writtenFile());
  });
  afterAll(() => db.close());

  it.each([
    ['to change a record', `UPDATE records SET sealed = x'00' WHERE stream = 'study-a' AND revision = 0`],
    ['to change a revision', 'UPDATE records SET revision = revision + 10'],
    [
      'to change a record on conflict',
      `INSERT INTO records (${COLUMNS}) VALUES ('study-a', 0, ${VALUES}) ON CONFLICT DO UPDATE SET record = x'00'`,
    ],
    [
      'to change or replace',
      "UPDATE OR REPLACE records SET revision = 0 WHERE stream = 'study-a' AND revision = 1",
    ],
    ['to delete a record', "DELETE FROM records WHERE stream = 'study-b'"],
    ['to delete all of them', 'DELETE FROM records'],
    ['to replace a record', `INSERT OR REPLACE INTO records (${COLUMNS}) VALUES ('study-a', 1, ${VALUES})`],
    [
      'to replace by position',
      `REPLACE INTO records (position, ${COLUMNS}) VALUES (1, 'study-a', 2, ${VALUES})`,
    ],
    ['a revision that exists', `INSERT INTO records (${COLUMNS}) VALUES ('study-a', 1, ${VALUES})`],
    [
      'a revision that exists, ignoring it',
      `INSERT OR IGNORE INTO records (${COLUMNS}) VALUES ('study-a', 1, ${VALUES})`,
    ],
    ['a gap', `INSERT INTO records (${COLUMNS}) VALUES ('study-a', 3, ${VALUES})`],
    ['a gap at the beginning', `INSERT INTO records (${COLUMNS}) VALUES ('study-c', 1, ${VALUES})`],
    ['a negative revision', `INSERT INTO records (${COLUMNS}) VALUES ('study-c', -1, ${VALUES})`],
    ['no revision', `INSERT INTO records (${COLUMNS}) VALUES ('study-c', NULL, ${VALUES})`],
    [
      'a position that exists',
      `INSERT INTO records (position, ${COLUMNS}) VALUES (1, 'study-a', 2, ${VALUES})`,
    ],
    [
      'a leaf that is not a hash',
      `INSERT INTO records (${COLUMNS}) VALUES ('study-a', 2, x'00', x'00', x'00')`,
    ],
    ['text for bytes', `INSERT INTO records (${COLUMNS}) VALUES ('study-a', 2, 'a', 'b', zeroblob(32))`],
    ['writing to the view', "UPDATE readable SET record = 'x'"],
  ])('%s', (_, sql) => {
    const contents = () => db.prepare('SELECT * FROM records ORDER BY position').all();
    const before = contents();
    expect(before).toHaveLength(3);
    for (const recursive of ['OFF', 'ON']) {
      db.exec(`PRAGMA recursive_triggers = ${recursive}`);
      expect(() => db.exec(sql)).toThrow();
    }
    expect(contents()).toEqual(before);
  });
});

describe('the files', () => {
  it('are readable and writable only by their owner, and so is the folder, even with a lax umask', async () => {
    const before = process.umask(0);
    try {
      const folder = join(newFolder(), 'a', 'b');
      await open(join(folder, 'urn.sqlite')).append('study-a', NO_STREAM, records('a', 1));
      const mode = (path: string) => statSync(path).mode & 0o777;
      for (const suffix of ['', '-wal', '-shm'])
        expect(mode(join(folder, `urn.sqlite${suffix}`))).toBe(0o600);
      expect([mode(folder), mode(join(folder, '..'))]).toEqual([0o700, 0o700]);
    } finally {
      process.umask(before);
    }
  });

  it('show records as text to people with a shell', async () => {
    const db = new Database(await writtenFile(), { readonly: true });
    expect(db.prepare('SELECT * FROM readable WHERE position = 2').get()).toEqual({
      position: 2,
      stream: 'study-a',
      revision: 1,
      record: 'a1',
      sealed: 'sealed a1',
      leaf: '01'.repeat(32),
    });
    db.close();
  });
});

describe('two stores on one file', () => {
  it('recognize the same append, whoever sends it', async () => {
    const file = newFile();
    const [one, two] = [open(file), open(file)];
    await one.append('study-a', NO_STREAM, records('a', 2));
    expect(await two.append('study-a', NO_STREAM, records('a', 2))).toEqual({ type: 'written' });
    expect(await readAll(one)).toHaveLength(2);
  });

  it('in two processes that create the file at once use the same one', async () => {
    const file = newFile();
    const ended = await Promise.all(
      ['a', 'b', 'c'].map((name) => otherProcess(['append', file, `study-${name}`, name])),
    );
    for (const { said } of ended) expect(said).toEqual([{ type: 'written' }]);
    expect(texts(await readAll(open(file))).sort()).toEqual(['a', 'b', 'c']);
  });
});

it('a subscription survives a failure of the store, and continues where it stopped', async () => {
  const file = await writtenFile();
  const store = open(file);
  // By then the thread has opened the file, too.
  await store.append('study-a', 1, records('c', 1));
  const errors: StoreError[] = [];
  const heard = listen(store, (error) => errors.push(error));
  await expect.poll(() => texts(heard)).toEqual(['a0', 'a1', 'b0', 'c0']);

  const db = new Database(file);
  db.exec('ALTER TABLE records RENAME TO elsewhere');
  await expect.poll(() => errors.length).toBeGreaterThan(0);
  expect(errors[0]).toMatchObject({ name: 'StoreError', failure: 'unavailable', outcome: 'not-written' });
  db.exec('ALTER TABLE elsewhere RENAME TO records');
  db.close();

  await store.append('study-a', 2, records('d', 1));
  await expect.poll(() => texts(heard)).toEqual(['a0', 'a1', 'b0', 'c0', 'd0']);
});

it('a closed store rejects appends as not written, and reads', async () => {
  const store = new SqliteStore(newFile());
  await store.close();
  const append = store.append('study-a', NO_STREAM, records('a', 1));
  await expect(append).rejects.toMatchObject({ failure: 'unavailable', outcome: 'not-written' });
  await expect(readAll(store)).rejects.toBeInstanceOf(StoreError);
});

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

/** In the order in which its writer sent them. */
const numberIn = (text: string) => Number(/\d+/.exec(text)?.[0]);

it('three processes make one chain without gaps of one stream, and each hears all once and in order, also of the others', async () => {
  const file = newFile();
  const store = open(file);
  const heard = listen(store);
  await store.append('study-b', NO_STREAM, records('before', 5));
  const follower = otherProcess(['follow', file, '305']);
  // As fast as they can.
  const others = ['b', 'c'].map((name) => otherProcess(['hammer', file, 'study-a', name, '100']));
  await hammer(store, 'study-a', 'a', 100);
  for (const { said } of await Promise.all(others)) expect(said).toEqual([{ conflicts: expect.any(Number) }]);

  const chain = await readStream(store, 'study-a');
  expect(chain.map(({ revision }) => revision)).toEqual([...Array(300).keys()]);
  for (const name of ['a', 'b', 'c']) {
    const own = texts(chain).filter((text) => text.startsWith(name));
    expect(own).toEqual(own.toSorted((x, y) => numberIn(x) - numberIn(y)));
    expect(new Set(own).size).toBe(100);
  }
  const all = await readAll(store);
  expect(all).toHaveLength(305);
  await expect.poll(() => heard.length).toBe(305);
  expect(lines(heard)).toEqual(lines(all));
  expect((await follower).said).toContainEqual({
    heard: all.map(({ position, record }) => [position, Buffer.from(record).toString()]),
  });
});

describe('when the writing thread is lost, nothing is written twice, and', () => {
  const posting = vi.spyOn(Worker.prototype, 'postMessage');
  afterEach(() => posting.mockReset());
  afterAll(() => posting.mockRestore());

  /** Ends the thread that was asked last. */
  const lose = () => (posting.mock.contexts.at(-1) as Worker | undefined)?.terminate();

  async function written(): Promise<SqliteStore> {
    const store = open(newFile());
    await store.append('study-a', NO_STREAM, records('a', 1));
    return store;
  }

  it('an append in progress is unclear, and may be sent again', async () => {
    const store = await written();
    // The thread does not hear of the append, so that it cannot be over before the thread is.
    posting.mockImplementation(() => undefined);
    const append = store.append('study-a', 0, records('b', 1));
    const unclear = { name: 'StoreError', failure: 'unavailable', outcome: 'unclear' };
    const lost = expect(append).rejects.toMatchObject(unclear);
    await lose();
    posting.mockReset();
    await lost;
    expect(await store.append('study-a', 0, records('b', 1))).toEqual({ type: 'written' });
    expect(texts(await readAll(store))).toEqual(['a0', 'b0']);
  });

  it('an append that arrives while there is no thread waits for the next one', async () => {
    const store = await written();
    await lose();
    expect(texts(await readAll(store)), 'reading continues without it').toEqual(['a0']);
    expect(await store.append('study-a', 0, records('b', 1))).toEqual({ type: 'written' });
  });

  it.each([0, 1])('the store closes, and answers the %d appends that it accepted before', async (count) => {
    const store = await written();
    await lose();
    const appends = records('b', count).map((one) => store.append('study-a', 0, [one]));
    await store.close();
    expect(await Promise.all(appends)).toEqual(Array(count).fill({ type: 'written' }));
  });
});
