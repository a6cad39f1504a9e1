/** A disk with no room left, a real one. */
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_STREAM } from '../../../src/store/event-store.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { fill, mountSmallDisk, notTested } from '../../support/small-disk.ts';
import { readAll, records, texts } from '../../support/store-contract.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const [first, second, third, fourth] = [newFolder(), newFolder(), newFolder(), newFolder()];
const why = [first, second, third, fourth].map(mountSmallDisk).find((found) => found !== undefined);
const FULL = { failure: 'full', outcome: 'not-written' };
if (why !== undefined) notTested('what the store does when the disk is full', why);

describe.skipIf(why !== undefined)('on a full disk', () => {
  it('an append fails as certainly not written, and succeeds once there is room again', async () => {
    const disk = first;
    const ballast = join(disk, 'ballast');
    writeFileSync(ballast, Buffer.alloc(512 * 1024));
    const store = new SqliteStore(join(disk, 'urn.sqlite'));
    const big = large('r', 20_000);

    let end = NO_STREAM;
    const untilFull = async () => {
      for (; ; end++) expect(await store.append('study-a', end, big)).toEqual({ type: 'written' });
    };
    await expect(untilFull()).rejects.toMatchObject({ name: 'StoreError', ...FULL });
    // And again, for every stream.
    await expect(store.append('study-b', NO_STREAM, big)).rejects.toMatchObject(FULL);
    expect(await readAll(store)).toHaveLength(end + 1);

    rmSync(ballast);
    expect(await store.append('study-a', end, big)).toEqual({ type: 'written' });
    expect(await store.append('study-b', NO_STREAM, records('b', 1))).toEqual({ type: 'written' });
    await store.close();

    const reopened = new SqliteStore(join(disk, 'urn.sqlite'));
    const all = await readAll(reopened);
    expect(all.map(({ stream, revision }) => `${stream}/${revision}`)).toEqual([
      ...Array.from({ length: end + 2 }, (_, i) => `study-a/${i}`),
      'study-b/0',
    ]);
    expect(texts(all).at(-1)).toBe('b0');
    await reopened.close();
  });

  it('a new log is refused with a clear message, and nothing is left behind', async () => {
    const disk = second;
    fill(join(disk, 'ballast'));
    expect(() => new SqliteStore(join(disk, 'urn.sqlite'))).toThrow('the disk is full');
    rmSync(join(disk, 'ballast'));
    await new SqliteStore(join(disk, 'urn.sqlite')).close();
  });
});

describe.skipIf(why !== undefined)('the reserve', () => {
  const isKept = (disk: string) => existsSync(join(disk, 'urn.sqlite.reserve'));

  it('is given up by what is urgent alone; until it is there again, no process takes anything else', async () => {
    const disk = third;
    const file = join(disk, 'urn.sqlite');
    const [one, other] = [new SqliteStore(file), new SqliteStore(file)];
    const ordinary = (store: SqliteStore) => store.append('b', NO_STREAM, records('b', 1));
    await one.append('a', NO_STREAM, records('a', 1));
    expect(statSync(join(disk, 'urn.sqlite.reserve'))).toMatchObject({ size: 1024 * 1024 });
    expect(statSync(join(disk, 'urn.sqlite.reserve')).mode & 0o777).toBe(0o600);

    fill(join(disk, 'ballast'));
    // The write-ahead log has no room to grow, or its last block takes a few more.
    await expect(one.append('a', 0, large('a', 300_000))).rejects.toMatchObject(FULL);
    expect(isKept(disk)).toBe(true);
    expect(one.noRoom()).toBe('the disk is full');

    expect(await one.append('a', 0, large('a', 100_000), true)).toEqual({ type: 'written' });
    expect(isKept(disk)).toBe(false);
    // There is room for these, but it belongs to emergencies.
    await expect(ordinary(one)).rejects.toMatchObject(FULL);
    await expect(ordinary(other)).rejects.toMatchObject(FULL);
    expect(other.noRoom()).toContain('the reserve that emergencies need');
    expect(await other.append('a', 1, records('a', 1), true)).toEqual({ type: 'written' });

    rmSync(join(disk, 'ballast'));
    await expect
      .poll(() => [one.noRoom(), other.noRoom()], { timeout: 20_000 })
      .toEqual([undefined, undefined]);
    expect(isKept(disk)).toBe(true);
    expect(await ordinary(other)).toEqual({ type: 'written' });
    await one.close();
    await other.close();
    expect(readdirSync(disk).sort()).toEqual(['urn.sqlite', 'urn.sqlite.reserve']);
  });

  it('lets a log be opened on a full disk, as often as one likes, for reading and for what is urgent', async () => {
    const disk = fourth;
    const file = join(disk, 'urn.sqlite');
    const store = new SqliteStore(file);
    await store.append('a', NO_STREAM, records('a', 1));
    await store.close();
    fill(join(disk, 'ballast'));
    for (let opened = 1; opened <= 3; opened++) {
      const again = new SqliteStore(file);
      expect(await readAll(again)).toHaveLength(opened);
      expect(isKept(disk)).toBe(false);
      await expect(again.append('b', NO_STREAM, records('b', 1))).rejects.toMatchObject({ failure: 'full' });
      expect(await again.append('a', opened - 1, records('a', 1), true)).toEqual({ type: 'written' });
      await again.close();
    }
    // Somebody else takes the room of the reserve, too.
    fill(join(disk, 'ballast'));
    for (let i = 0; i < 2; i++) {
      const again = new SqliteStore(file);
      expect(await readAll(again)).toHaveLength(4);
      const urgent = again.append('a', 3, large('a', 100_000), true);
      await expect(urgent).rejects.toMatchObject({ failure: 'full' });
      await again.close();
    }
  });
});

function large(name: string, bytes: number) {
  return records(name, 1).map((record) => ({ ...record, sealed: Buffer.alloc(bytes, 1) }));
}
