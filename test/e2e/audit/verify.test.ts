/** What `urn verify` says of real data of the real service, sound and tampered with. What it finds: test/unit/verify. */
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report, StreamReport } from '../../../src/evidence/verify/report/report.ts';
import type { Database } from '../../../src/store/sqlite/library.ts';
import { clientOf } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { issueKeys, serve, urn } from '../../support/service.ts';
import { LEVELS, makeSleepHistory, NAME, RECORDS } from '../../support/sleep-history.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import {
  altered,
  atTables,
  checkpoint,
  publicKey,
  type Row,
  randomizedAt,
  replaceRows,
  rowsOf,
  streamOfStudy,
} from './database.ts';

const newFolder = temporaryFolders();
const original = join(newFolder(), 'data');
let stream: string;
let trusted: string;
let receipts: (...sizes: number[]) => string;

beforeAll(async () => {
  const { service } = await makeSleepHistory(original);
  await service.stop();
  stream = streamOfStudy(original, NAME);
  trusted = publicKey(original);
  const notes = new Map([1, 5, 12, 15].map((size) => [size, checkpoint(original, stream, size)]));
  receipts = (...sizes) => file(sizes.map((size) => notes.get(size)).join('\n'));
});

function file(text: string): string {
  const path = join(newFolder(), 'given.txt');
  writeFileSync(path, text);
  return path;
}

/** A copy of the sound log, to be tampered with, without the notes that would show it: the operator has those, too. */
function copy(): string {
  const data = join(newFolder(), 'data');
  cpSync(original, data, { recursive: true });
  rmSync(join(data, 'last-checkpoints'));
  return data;
}

/** A copy in whose tables somebody did this. */
function tampered(change: (db: Database) => void): string {
  const data = copy();
  atTables(data, change);
  return data;
}

function studyIn(report: Report): StreamReport {
  return report.streams.find(({ study }) => study === NAME) as StreamReport;
}

async function verified(data: string, ...args: string[]) {
  const { code, stdout, stderr } = await command(['verify', '--data', data, '--json', ...args]);
  const report: Report = JSON.parse(stdout);
  expect(code).toBe(report.ok ? 0 : 1);
  return { report, study: studyIn(report), stderr };
}

describe('a sound history', () => {
  it('is self-consistent, and proven up to its receipts with the trusted key', async () => {
    const { report, study, stderr } = await verified(original);
    expect(stderr).toBe('');
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: true, trusted: [] });
    expect(study).toMatchObject({ records: RECORDS, participants: 12, sound: true });
    const args = ['--trust', trusted, '--checkpoint', receipts(1, 5), '--checkpoint', receipts(12)];
    const proven = await verified(original, ...args);
    expect(proven.report).toMatchObject({ ok: true, selfConsistentOnly: false, trusted: [trusted] });
    expect(proven.study.evidence).toMatchObject({
      matching: 3,
      matchingSize: 12,
      uncovered: { from: 12, to: 14 },
    });
  });

  it('is reported in words', async () => {
    const args = ['--study', NAME, '--trust', file(`${trusted}\n`), '--checkpoint', receipts(15)];
    const { code, stdout, stderr } = await command(['verify', '--data', original, ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`study "Sleep" (${stream}): sound`);
    expect(stdout).toContain('15 records, 12 participants decided again');
    expect(stdout).toContain('the history up to size 15 (revisions 0 to 14) is as it was signed');
    expect(stdout).toContain('OK as far as the checkpoints reach');
    expect((await command(['verify', '--data', original])).stdout).toContain('SELF-CONSISTENT ONLY');
  });

  it('is verified without the signing key, and without leaving a trace', async () => {
    const data = copy();
    rmSync(join(data, 'signing-key'));
    const before = snapshot(data);
    expect((await verified(data, '--trust', trusted, '--checkpoint', receipts(15))).report.ok).toBe(true);
    expect(snapshot(data)).toEqual(before);
  });

  it('is verified while the service runs, and as a crash left it: nothing is merged into the database', async () => {
    const data = copy();
    const { edc } = await issueKeys(data, { edc: ['edc'] });
    const service = await serve({ data });
    const client = clientOf(service.url, edc);
    let enrolled = 0;
    let isRunning = true;
    const enrolling = (async () => {
      for (; isRunning; enrolled++)
        expect((await client.randomize(NAME, `later-${enrolled}`, LEVELS[0])).status).toBe(200);
    })();
    for (let i = 0; i < 3; i++) {
      const { report } = await verified(data, '--trust', trusted, '--checkpoint', receipts(15));
      expect(report.ok, JSON.stringify(report)).toBe(true);
    }
    isRunning = false;
    await enrolling;
    await service.kill();
    expect(enrolled).toBeGreaterThan(0);

    expect(statSync(join(data, 'urn.sqlite-wal')).size).toBeGreaterThan(0);
    const before = snapshot(data, 'urn.sqlite-shm');
    const { study, stderr } = await verified(data);
    expect([study.records, stderr]).toEqual([RECORDS + enrolled, '']);
    expect(snapshot(data, 'urn.sqlite-shm')).toEqual(before);
    // As a backup of these two files restores it.
    rmSync(join(data, 'urn.sqlite-shm'));
    const restored = await verified(data);
    expect([restored.report.ok, restored.study.records]).toEqual([true, RECORDS + enrolled]);
    expect(restored.stderr).toContain('a copy in ');
    expect(snapshot(data)).toEqual(before);
  });

  it('is verified in a read-only folder', async () => {
    const folder = newFolder();
    const database = join(folder, 'copy.sqlite');
    cpSync(join(original, 'urn.sqlite'), database);
    chmodSync(database, 0o400);
    chmodSync(folder, 0o500);
    const { code, stdout, stderr } = await urn(['verify', '--store', `sqlite:${database}`, '--json'], {
      heedsModes: true,
    });
    chmodSync(folder, 0o700);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('a copy in ');
    expect(studyIn(JSON.parse(stdout)).records).toBe(RECORDS);
    expect(readdirSync(folder)).toEqual(['copy.sqlite']);
  });
});

/** All files of a folder except one. */
function snapshot(folder: string, without?: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name !== without);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name)).toString('base64')]));
}

describe('a log that was tampered with', () => {
  it('is reported up to the first record that cannot be, and its other studies are not affected', async () => {
    const data = copy();
    const rows = rowsOf(data, stream);
    const drawn = (_: unknown, sealed: { draw: object }) => Object.assign(sealed.draw, { uniform53: 5 });
    replaceRows(data, [altered(rows[6] as Row, drawn)]);
    const { report, study } = await verified(data);
    const { id } = randomizedAt(rows, 6);
    expect(study.divergence).toMatchObject({ revision: 6, field: 'draw.uniform53', id });
    expect(study.notReplayed).toBe(RECORDS - 6);
    expect(report.streams.filter(({ sound }) => !sound)).toHaveLength(1);
    const { stdout, code } = await command(['verify', '--data', data]);
    expect(code).toBe(1);
    expect(stdout).toContain(`FIRST DIVERGENCE at ${stream}/6: ParticipantRandomized, participant "p-6"`);
    expect(stdout).toMatch(/^FAILED$/m);
  });

  it('lacks a record', async () => {
    const data = tampered((db) =>
      db.prepare('DELETE FROM records WHERE stream = ? AND revision = 6').run(stream),
    );
    const { study } = await verified(data, '--trust', trusted, '--checkpoint', receipts(5, 15));
    expect(study.divergence).toMatchObject({ revision: 7, why: 'revision 6 is missing' });
    expect(study.evidence).toMatchObject({ matchingSize: 5, failed: [{ size: 15, because: 'gap' }] });
  });

  it('has records twice, in a table recreated without its constraints', async () => {
    const data = tampered((db) => {
      db.exec('CREATE TABLE other AS SELECT * FROM records; DROP VIEW readable; DROP TABLE records');
      db.exec('CREATE TABLE records (position INTEGER PRIMARY KEY, stream, revision, record, sealed, leaf)');
      db.exec('INSERT INTO records SELECT * FROM other');
      db.prepare(
        'INSERT INTO records (stream, revision, record, sealed, leaf) SELECT stream, revision, record, sealed, leaf FROM other WHERE stream = ? AND revision IN (6, 7)',
      ).run(stream);
    });
    const { study } = await verified(data);
    expect(study.divergence).toMatchObject({
      revision: 6,
      why: 'a record occurs twice, or was inserted',
    });
    expect(study.records).toBe(RECORDS + 2);
  });

  it('lacks its tail, which a kept checkpoint exposes, and nothing else', async () => {
    const data = tampered((db) =>
      db.prepare('DELETE FROM records WHERE stream = ? AND revision >= 13').run(stream),
    );
    const without = await verified(data, '--trust', trusted);
    expect(without.report).toMatchObject({ ok: true, selfConsistentOnly: true });
    const earlier = await verified(data, '--trust', trusted, '--checkpoint', receipts(12));
    expect(earlier.report).toMatchObject({ ok: true, selfConsistentOnly: false });
    const { report, study } = await verified(data, '--trust', trusted, '--checkpoint', receipts(12, 15));
    expect([report.ok, study.divergence]).toEqual([false, undefined]);
    expect(study.evidence).toMatchObject({ failing: 1, tailCutOff: { size: 13, signedSize: 15 } });
  });
});

describe('wrong usage exits with 2, with output only on stderr:', () => {
  it.each([
    ['no log', () => ['--data', newFolder()], /there is no log/],
    ['a log in memory', () => ['--store', 'memory:'], /memory/],
    ['an unknown study', () => ['--data', original, '--study', 'Slep'], /no study "Slep".*urn studies list/],
    [
      'a checkpoint file that does not exist',
      () => ['--data', original, '--checkpoint', '/none'],
      /cannot read \/none/,
    ],
    [
      'a checkpoint file without a checkpoint',
      () => ['--data', original, '--checkpoint', file('hello\n')],
      /given\.txt:1: /,
    ],
    [
      'a key that is not one',
      () => ['--data', original, '--trust', 'urn+x'],
      /what --trust names is not an Ed25519/,
    ],
    [
      'the database of another program',
      () => ['--store', `sqlite:${file('x'.repeat(200))}`],
      /not a log of this program/,
    ],
  ])('%s', async (_, args, says) => {
    const { code, stdout, stderr } = await command(['verify', ...args()]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
    expect(stderr).not.toContain('unexpected');
  });
});

describe('a database that cannot be read to its end exits with 1:', () => {
  /** The table without what guards the types of its columns. */
  const retyped = (db: Database, set: string) => {
    db.exec('CREATE TABLE other AS SELECT * FROM records; DROP VIEW readable; DROP TABLE records');
    db.exec('ALTER TABLE other RENAME TO records');
    db.prepare(`UPDATE records SET ${set} WHERE stream = ? AND revision = 6`).run(stream);
  };
  const large = /changed by hand: stream study-\S+ has a revision or a position of 2\^53 or more/;
  const noText = /changed by hand: the stream of a record is not text/;

  /** Numbers above 2^53 come out rounded: what comes after one could be asked for again and again. */
  it.each<[string, RegExp, (db: Database) => void]>([
    [
      'a revision beyond 2^53',
      large,
      (db) =>
        db
          .prepare('UPDATE records SET revision = 9007199254740993 WHERE stream = ? AND revision = 14')
          .run(stream),
    ],
    [
      'all positions beyond 2^53',
      large,
      (db) =>
        db.prepare('UPDATE records SET position = position + 9007199254740993 WHERE stream = ?').run(stream),
    ],
    ['a record of no stream', noText, (db) => retyped(db, 'stream = NULL')],
    ['a stream whose name is no text', noText, (db) => retyped(db, 'stream = CAST(stream AS BLOB)')],
  ])('%s', async (_, says, change) => {
    const { code, stderr } = await command(['verify', '--data', tampered(change)]);
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(says);
    expect(stderr).not.toContain('unexpected');
  });

  it('a damaged file', async () => {
    const data = copy();
    const path = join(data, 'urn.sqlite');
    writeFileSync(path, readFileSync(path).fill(0x5a, 8192));
    const { code, stderr } = await command(['verify', '--data', data]);
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(/damaged/);
  });
});
