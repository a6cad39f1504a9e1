/** Files that are not a sound log of ours: refused with a clear message, and left byte for byte as they were found. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openRecordedSource } from '../../../src/evidence/verify/database/recorded.ts';
import { NO_STREAM, StoreError } from '../../../src/store/event-store.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { isInUse } from '../../../src/store/sqlite/schema.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { otherProcess } from '../../support/other-process.ts';
import { records } from '../../support/store-contract.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { thrownBy } from '../../support/thrown.ts';
import { WITHOUT_OVERRIDE } from '../../support/without-override.ts';

const newFolder = temporaryFolders();
const newFile = () => join(newFolder(), 'urn.sqlite');

/** Opens what must not be opened. */
function refusal(file: string): StoreError {
  const before = snapshot(file);
  const error = thrownBy(() => new SqliteStore(file));
  expect(error).toBeInstanceOf(StoreError);
  expect(snapshot(file)).toEqual(before);
  return error as StoreError;
}

/** The file and everything beside it. */
function snapshot(file: string): Record<string, string> {
  const folder = join(file, '..');
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name)).toString('hex')]),
  );
}

async function writtenFile(streams = 1): Promise<string> {
  const file = newFile();
  const store = new SqliteStore(file);
  for (let i = 0; i < streams; i++) await store.append(`study-${i}`, NO_STREAM, records('a', 100));
  await store.close();
  return file;
}

function otherProgramsDatabase(file: string, mark = 'PRAGMA application_id = 7'): void {
  const db = new Database(file);
  db.exec(`CREATE TABLE patients (name TEXT); INSERT INTO patients VALUES ('x'); ${mark}`);
  db.close();
}

describe('it is not a log of this program, and is left untouched:', () => {
  it.each<[string, (file: string) => void, string]>([
    ['an empty file', (file) => writeFileSync(file, ''), 'it is too short'],
    ['a text file', (file) => writeFileSync(file, 'id,arm\n'.repeat(50)), 'it is not an SQLite database'],
    [
      'a file of random bytes',
      (file) => writeFileSync(file, Buffer.from(Array.from({ length: 8192 }, (_, i) => (i * 37) % 256))),
      'it is not an SQLite database',
    ],
    ['a database of another program', otherProgramsDatabase, 'it is an SQLite database of another program'],
    [
      'a database without a mark',
      (file) => otherProgramsDatabase(file, ''),
      'it is an SQLite database of another program',
    ],
    [
      'a log of a later version',
      (file) => otherProgramsDatabase(file, `PRAGMA application_id = ${0x75726e31}; PRAGMA user_version = 3`),
      'its schema has version 3, and this build knows 2',
    ],
  ])('%s', (_, make, why) => {
    const file = newFile();
    make(file);
    const error = refusal(file);
    expect(error).toMatchObject({ failure: 'foreign', outcome: 'not-written' });
    expect(error.message).toContain(file);
    expect(error.message).toContain(why);
    expect(error.message).toContain('hint: nothing was changed');
  });

  it.each([
    ['closed', []],
    ['left open by a crash, with a write-ahead log', ['-wal', '-shm']],
  ])('a log that was written before 1.0.0, %s', async (_, suffixes) => {
    const [original, file] = [await writtenFile(), newFile()];
    const db = new Database(original);
    db.pragma('user_version = 1');
    // Moves the mark into the file, where it was put when the log was begun.
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.prepare(
      'INSERT INTO records SELECT 101, stream, 100, record, sealed, leaf FROM records LIMIT 1',
    ).run();
    for (const suffix of ['', ...suffixes]) copyFileSync(`${original}${suffix}`, `${file}${suffix}`);
    db.close();
    expect(readdirSync(join(file, '..'))).toHaveLength(1 + suffixes.length);
    const error = refusal(file);
    expect(error).toMatchObject({ failure: 'foreign', outcome: 'not-written' });
    expect(error.message).toContain(`${file} was written before 1.0.0; nothing was changed (hint: `);
    const before = snapshot(file);
    expect(() => openRecordedSource(file)).toThrow('was written before 1.0.0; nothing was changed');
    expect(() => isInUse(file)).toThrow('was written before 1.0.0; nothing was changed');
    expect(snapshot(file)).toEqual(before);
  });

  it('another program’s database that crashed: its journal is not replayed', () => {
    const original = newFile();
    const crashed = newFile();
    const db = new Database(original);
    db.pragma('journal_mode = WAL');
    db.exec("CREATE TABLE patients (name TEXT); INSERT INTO patients VALUES ('x')");
    // Its files as they are while it runs are those that a crash leaves.
    for (const suffix of ['', '-wal']) copyFileSync(`${original}${suffix}`, `${crashed}${suffix}`);
    db.close();
    expect(refusal(crashed)).toMatchObject({ failure: 'foreign' });
  });

  it('a folder with that name', () => {
    const folder = newFolder();
    expect(() => new SqliteStore(folder)).toThrow(StoreError);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('it is damaged, and is left untouched:', () => {
  it.each([
    ['cut off in the middle', 0.5],
    ['cut off by a page', 0.9],
  ])('a log that was %s', async (_, part) => {
    const file = await writtenFile(5);
    truncateSync(file, Math.floor((readFileSync(file).length / 4096) * part) * 4096);
    const error = refusal(file);
    expect(error).toMatchObject({ failure: 'corrupt', outcome: 'not-written' });
    expect(error.message).toContain('damaged or was cut off');
    expect(error.message).toContain('hint: nothing was changed');
  });

  it('a log that was truncated within its header', async () => {
    const file = await writtenFile();
    truncateSync(file, 60);
    expect(refusal(file)).toMatchObject({ failure: 'foreign' });
  });

  it('a log that crashed, and was truncated before it was opened again', async () => {
    const file = await writtenFile(5);
    await otherProcess(['appendAndDie', file, 'study-a', '20']);
    expect(existsSync(`${file}-wal`)).toBe(true);
    // Only the database and its write-ahead log have content.
    rmSync(`${file}-shm`);
    truncateSync(file, 4096);
    const contents = () => [readFileSync(file), readFileSync(`${file}-wal`)];
    const before = contents();
    expect(() => new SqliteStore(file)).toThrow('damaged or was cut off');
    expect(contents()).toEqual(before);
  });

  it('a log whose schema was overwritten', async () => {
    const file = await writtenFile();
    writeFileSync(file, readFileSync(file).fill(0xff, 100, 1100));
    expect(refusal(file)).toMatchObject({ failure: 'corrupt' });
  });
});

it('files and folders that may not be written to are unavailable, and are left untouched', async () => {
  const folders = [newFolder(), newFolder()] as const;
  for (const folder of folders) chmodSync(folder, 0o500);
  const logs: { file: string; before: object }[] = [];
  for (const [folderMode, fileMode] of [
    [0o500, 0o600],
    [0o700, 0o400],
    // It cannot even be read.
    [0o700, 0o000],
  ] as const) {
    const file = await writtenFile();
    logs.push({ file, before: snapshot(file) });
    chmodSync(file, fileMode);
    chmodSync(join(file, '..'), folderMode);
  }
  const files = [join(folders[0], 'urn.sqlite'), join(folders[1], 'data', 'urn.sqlite')];
  const opening = ['open', ...files, ...logs.map(({ file }) => file)];
  const { said } = await otherProcess(opening, WITHOUT_OVERRIDE);
  const unavailable = (why: string) => {
    const message = expect.stringContaining(why);
    return expect.objectContaining({ name: 'StoreError', failure: 'unavailable', message });
  };
  const cannotWrite = unavailable('hint: the service must be able to write to the file and to its folder');
  const cannotMake = unavailable('cannot make the folder');
  expect(said).toEqual([cannotWrite, cannotMake, cannotWrite, cannotWrite, cannotWrite]);
  for (const folder of folders) {
    chmodSync(folder, 0o700);
    expect(readdirSync(folder)).toEqual([]);
  }
  for (const { file, before } of logs) {
    chmodSync(file, 0o600);
    expect(snapshot(file)).toEqual(before);
  }
});
