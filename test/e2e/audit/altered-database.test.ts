/** A database that is not as the program made it, and a store that was rolled back: what `urn verify` says. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/evidence/verify/report/report.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { command } from '../../support/command.ts';
import { OldLog } from '../../support/old-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const old = new OldLog('0.1.0/ordinary');
const [trusted = ''] = old.keys;
const forgetLastCheckpoints = '--no-last-checkpoints';
let data: string;

beforeEach(() => {
  data = old.copyTo(newFolder());
});

/** As somebody who owns the file could. */
function change(...statements: string[]): void {
  const db = new Database(join(data, 'urn.sqlite'));
  try {
    for (const statement of statements) db.exec(statement);
  } finally {
    db.close();
  }
}

async function verify(...args: string[]): Promise<{ code: number | null; report: Report; stderr: string }> {
  const { code, stdout, stderr } = await command(['verify', '--data', data, '--json', ...args]);
  return { code, report: JSON.parse(stdout === '' ? 'null' : stdout), stderr };
}
const withReceipts = () => verify('--trust', trusted, '--checkpoint', old.file('receipts.txt'));
const inWords = async (...args: string[]) => (await command(['verify', '--data', data, ...args])).stdout;

describe('the database schema', () => {
  it('is the same in a log written by 0.1.0, also after the query planner has gathered statistics', async () => {
    change('ANALYZE');
    const { code, report } = await verify();
    expect([code, report.store]).toEqual([0, { problems: [], warnings: [] }]);
  });

  it('has a table of records: a view in its place is refused before anything is read from it', async () => {
    change('ALTER TABLE records RENAME TO hidden', 'CREATE VIEW records AS SELECT * FROM hidden');
    const { code, report, stderr } = await withReceipts();
    expect([code, report]).toEqual([1, null]);
    expect(stderr).toContain(
      'the database was changed by hand: "records" is not the table that it should be',
    );
  });

  it('has triggers that refuse changes: missing ones cause a warning', async () => {
    change(
      'DROP TRIGGER records_are_not_changed',
      'DROP TRIGGER records_are_not_deleted',
      'DROP VIEW readable',
    );
    const { code, report } = await withReceipts();
    expect([code, report.ok]).toEqual([0, true]);
    expect(report.store).toEqual({
      problems: [],
      warnings: [
        'the trigger "records_are_not_changed" is missing',
        'the trigger "records_are_not_deleted" is missing',
        'the view "readable" is missing',
      ],
    });
    expect(await inWords()).toContain(
      'warning: the trigger "records_are_not_changed" is missing in the database',
    );
  });

  it.each<[problem: string, ...statements: string[]]>([
    [
      'the trigger "records_are_not_changed" was changed',
      'DROP TRIGGER records_are_not_changed',
      'CREATE TRIGGER records_are_not_changed BEFORE UPDATE ON records WHEN 0 BEGIN SELECT 1; END',
    ],
    [
      'the trigger "more" was not made by this program',
      'CREATE TRIGGER more AFTER INSERT ON records BEGIN SELECT 1; END',
    ],
    ['the table "kept" was not made by this program', 'CREATE TABLE kept AS SELECT * FROM records'],
    [
      'the index "more" was not made by this program',
      'CREATE INDEX more ON records (position) WHERE revision > 3',
    ],
    [
      'the view "readable" was changed',
      'DROP VIEW readable',
      'CREATE VIEW readable AS SELECT position, stream FROM records LIMIT 3',
    ],
  ])('is not this program’s: %s', async (problem, ...statements) => {
    change(...statements);
    const { code, report } = await withReceipts();
    expect([code, report.ok, report.store?.problems]).toEqual([1, false, [problem]]);
    // Nothing is wrong with the records themselves.
    expect(report.streams.every(({ sound }) => sound)).toBe(true);
  });
});

describe('the note in the data folder of what was last signed', () => {
  const lastCheckpoints = () => join(data, 'last-checkpoints');

  it('agrees with a sound log, and proves nothing', async () => {
    const { code, report } = await verify('--trust', trusted);
    expect([code, report.selfConsistentOnly]).toEqual([0, true]);
    expect(report.lastCheckpoints).toEqual({ file: lastCheckpoints(), agree: true });
    for (const { evidence } of report.streams) expect(evidence.matchingSize).toBe(0);
    const text = await inWords('--trust', trusted);
    expect(text).toMatch(
      /last-checkpoints, where this log noted what it signed last, agrees; it is the operator's/,
    );
    expect(text).toContain('SELF-CONSISTENT ONLY');
    expect((await verify(forgetLastCheckpoints)).report).not.toHaveProperty('lastCheckpoints');
  });

  it('contradicts a store that was rolled back, which is a failure, and is not changed by that', async () => {
    const before = readFileSync(lastCheckpoints());
    change(
      'DROP TRIGGER records_are_not_deleted',
      "DELETE FROM records WHERE stream LIKE 'study-%' AND revision > 40",
    );
    const { code, report } = await verify();
    expect([code, report.lastCheckpoints?.agree]).toEqual([1, false]);
    expect(report.streams.find(({ study }) => study === old.study)?.evidence).toMatchObject({
      tailCutOff: { size: 41, signedSize: 51 },
      lastSigned: { matching: 0, failing: 1 },
    });
    expect(await inWords()).toMatch(/FAILED: .*last-checkpoints.* disagrees: .*hint.* --no-last-checkpoints/);
    expect((await verify(forgetLastCheckpoints)).code).toBe(0);
    expect(readFileSync(lastCheckpoints())).toEqual(before);
    expect(existsSync(join(data, 'urn.sqlite-wal'))).toBe(false);
  });

  it('is refused with a hint if it cannot be read', async () => {
    writeFileSync(lastCheckpoints(), readFileSync(lastCheckpoints()).subarray(0, 100));
    const { code, stderr } = await verify();
    expect(code).toBe(2);
    expect(stderr).toMatch(/last-checkpoints:\d.*hint: .*--no-last-checkpoints/);
    expect((await verify(forgetLastCheckpoints)).code).toBe(0);
  });
});

it('--study-id selects the study, and its absence is a failure', async () => {
  const { report } = await verify();
  const id = report.streams.find(({ study }) => study === old.study)?.stream.slice('study-'.length) ?? '';
  const met = await verify('--study-id', id);
  const streams = met.report.streams.map(({ stream }) => stream);
  expect([met.code, streams]).toEqual([0, ['log', 'access', `study-${id}`]]);
  const other = id.replace(/^./, 'f');
  const none = await verify('--study-id', other);
  expect([none.code, none.report.missingStudyId]).toEqual([1, other]);
  expect((await verify('--study-id', old.study)).stderr).toMatch(/is not a study id \(hint/);
});
