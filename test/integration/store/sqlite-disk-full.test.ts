/** A disk with no room left, a real one. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_STREAM, StoreError } from '../../../src/store/event-store.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { mountSmallDisk } from '../../support/small-disk.ts';
import { readAll, records, texts } from '../../support/store-contract.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const [first, second] = [newFolder(), newFolder()];
const why = mountSmallDisk(first) ?? mountSmallDisk(second);
if (why !== undefined) {
  // biome-ignore lint/suspicious/noConsole: a fault that was not tried must not look as if it had been survived
  console.warn(
    `NOT TESTED: what the store does when the disk is full. No small disk could be mounted: ${why}`,
  );
}

describe.skipIf(why !== undefined)('on a full disk', () => {
  it('an append fails as certainly not written, and succeeds once there is room again', async () => {
    const disk = first;
    const ballast = join(disk, 'ballast');
    writeFileSync(ballast, Buffer.alloc(512 * 1024));
    const store = new SqliteStore(join(disk, 'urn.sqlite'));
    const big = records('r', 1).map((record) => ({ ...record, sealed: Buffer.alloc(20_000, 1) }));

    let end = NO_STREAM;
    const failure = await (async () => {
      for (;;) {
        try {
          expect(await store.append('study-a', end, big)).toEqual({ type: 'written' });
          end++;
        } catch (error) {
          return error;
        }
      }
    })();
    expect(failure).toBeInstanceOf(StoreError);
    expect(failure).toMatchObject({ failure: 'full', outcome: 'not-written' });
    // And again, for every stream.
    await expect(store.append('study-b', NO_STREAM, big)).rejects.toMatchObject({
      failure: 'full',
      outcome: 'not-written',
    });
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

function fill(file: string): void {
  for (let size = 4 * 1024 * 1024; size >= 1024; size /= 2)
    try {
      writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    } catch {
      // What had room was written.
    }
}
