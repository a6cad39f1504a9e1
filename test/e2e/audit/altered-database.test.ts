/** A database that is not as the program made it, and a store that was rolled back or replaced: `urn verify` says so. */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/evidence/verify/report/report.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { command } from '../../support/command.ts';
import { OldLog } from '../../support/old-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const old = new OldLog('0.1.0/ordinary');
const everyEvent = new OldLog('0.1.0/every-event');
let data: string;

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
const withReceipts = () => ['--trust', old.keys[0] ?? '', '--checkpoint', old.file('receipts.txt')];
const forgetLastCheckpoints = '--no-last-checkpoints';

beforeEach(() => {
  data = old.copyTo(newFolder());
});

describe('the database schema', () => {
  it('is the same in a log written by 0.1.0', async () => {
    const { code, report } = await verify();
    expect(code).toBe(0);
    expect(report.store).toEqual({ problems: [], warnings: [] });
  });

  it('has a table of records: a view in its place is refused before anything is read from it', async () => {
    change('ALTER TABLE records RENAME TO hidden', 'CREATE VIEW records AS SELECT * FROM hidden');
    const { code, report, stderr } = await verify(...withReceipts());
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
    const { code, report } = await verify(...withReceipts());
    expect([code, report.ok]).toEqual([0, true]);
    expect(report.store).toEqual({
      problems: [],
      warnings: [
        'the trigger "records_are_not_changed" is missing',
        'the trigger "records_are_not_deleted" is missing',
        'the view "readable" is missing',
      ],
    });
    const { stdout } = await command(['verify', '--data', data]);
    expect(stdout).toContain('warning: the trigger "records_are_not_changed" is missing in the database');
  });

  it.each<[string, string, readonly string[]]>([
    [
      'a trigger that does nothing',
      'the trigger "records_are_not_changed" was changed',
      [
        'DROP TRIGGER records_are_not_changed',
        'CREATE TRIGGER records_are_not_changed BEFORE UPDATE ON records WHEN 0 BEGIN SELECT 1; END',
      ],
    ],
    [
      'an additional trigger',
      'the trigger "more" was not made by this program',
      ['CREATE TRIGGER more AFTER INSERT ON records BEGIN SELECT 1; END'],
    ],
    [
      'an additional table',
      'the table "kept" was not made by this program',
      ['CREATE TABLE kept AS SELECT * FROM records'],
    ],
    [
      'an additional index',
      'the index "more" was not made by this program',
      ['CREATE INDEX more ON records (position) WHERE revision > 3'],
    ],
    [
      'a view for people that shows something else',
      'the view "readable" was changed',
      ['DROP VIEW readable', 'CREATE VIEW readable AS SELECT position, stream FROM records LIMIT 3'],
    ],
  ])('is not this program’s schema with %s', async (_, problem, statements) => {
    change(...statements);
    const { code, report } = await verify(...withReceipts());
    expect([code, report.ok]).toEqual([1, false]);
    expect(report.store?.problems).toEqual([problem]);
    // Nothing is wrong with the records themselves.
    expect(report.streams.every(({ sound }) => sound)).toBe(true);
  });

  it('is still this program’s schema after the query planner has gathered statistics', async () => {
    change('ANALYZE');
    expect((await verify()).report.store).toEqual({ problems: [], warnings: [] });
  });
});

describe('the note in the data folder of what was last signed', () => {
  const lastCheckpoints = () => join(data, 'last-checkpoints');
  /** Without the newest records of a stream. */
  const rolledBack = () =>
    change(
      'DROP TRIGGER records_are_not_deleted',
      "DELETE FROM records WHERE stream LIKE 'study-%' AND revision > 40",
    );

  it('agrees with a sound log, and proves nothing', async () => {
    const { code, report } = await verify('--trust', old.keys[0] ?? '');
    expect([code, report.selfConsistentOnly]).toEqual([0, true]);
    expect(report.lastCheckpoints).toEqual({ file: lastCheckpoints(), agree: true });
    for (const { evidence } of report.streams) expect(evidence.matchingSize).toBe(0);
    const { stdout } = await command(['verify', '--data', data, '--trust', old.keys[0] ?? '']);
    expect(stdout).toMatch(
      /last-checkpoints, where this log noted what it signed last, agrees; it is the operator's/,
    );
    expect(stdout).toContain('SELF-CONSISTENT ONLY');
    expect((await verify(forgetLastCheckpoints)).report).not.toHaveProperty('lastCheckpoints');
  });

  it('contradicts a store that was rolled back, which is a failure', async () => {
    rolledBack();
    const { code, report } = await verify();
    expect([code, report.lastCheckpoints?.agree]).toEqual([1, false]);
    const study = report.streams.find((one) => one.study === old.study);
    expect(study?.evidence).toMatchObject({
      tailCutOff: { size: 41, signedSize: 51 },
      lastSigned: { matching: 0, failing: 1 },
    });
    const { stdout } = await command(['verify', '--data', data]);
    expect(stdout).toMatch(/FAILED: .*last-checkpoints.* disagrees: .*hint.* --no-last-checkpoints/);
    expect((await verify(forgetLastCheckpoints)).code).toBe(0);
  });

  it('is not consulted for a study that is not verified', async () => {
    data = everyEvent.copyTo(newFolder());
    const other = (await verify()).report.streams.find(
      ({ study }) => study !== undefined && study !== everyEvent.study,
    );
    change(
      'DROP TRIGGER records_are_not_deleted',
      `DELETE FROM records WHERE stream = '${other?.stream}' AND revision > 0`,
    );
    expect((await verify()).code).toBe(1);
    expect((await verify('--study', everyEvent.study)).code).toBe(0);
    expect((await verify('--study', other?.study ?? '')).code).toBe(1);
  });

  it('contradicts another log in its place', async () => {
    copyFileSync(everyEvent.file('urn.sqlite'), join(data, 'urn.sqlite'));
    const { code, report } = await verify();
    expect([code, report.lastCheckpoints?.agree]).toEqual([1, false]);
    expect((await verify(forgetLastCheckpoints)).code).toBe(0);
  });

  it('agrees with a log that declared its losses', async () => {
    data = everyEvent.copyTo(newFolder());
    // The file as it was before the log was restored from its backup.
    const lost = readFileSync(everyEvent.file('lost-receipts.txt'), 'utf8').trim().split('\n').at(-1) ?? '';
    writeFileSync(lastCheckpoints(), `${Buffer.from(lost, 'base64')}\n`);
    const { code, report } = await verify();
    expect([code, report.lastCheckpoints?.agree]).toEqual([0, true]);
  });

  it('is refused with a hint if it cannot be read', async () => {
    writeFileSync(lastCheckpoints(), readFileSync(lastCheckpoints()).subarray(0, 100));
    const { code, stderr } = await verify();
    expect(code).toBe(2);
    expect(stderr).toMatch(/last-checkpoints:\d.*hint: .*--no-last-checkpoints/);
    expect((await verify(forgetLastCheckpoints)).code).toBe(0);
  });

  it('is not changed by verification', async () => {
    const before = readFileSync(lastCheckpoints());
    rolledBack();
    await verify();
    expect(readFileSync(lastCheckpoints())).toEqual(before);
    expect(existsSync(join(data, 'urn.sqlite-wal'))).toBe(false);
  });
});

describe('the id of the study to find', () => {
  it('selects the study, and is a failure if the study is missing', async () => {
    const { report } = await verify();
    const id = report.streams.find(({ study }) => study === old.study)?.stream.slice('study-'.length) ?? '';
    const met = await verify('--study-id', id, ...withReceipts());
    expect([met.code, met.report.streams.map(({ stream }) => stream)]).toEqual([
      0,
      ['log', 'access', `study-${id}`],
    ]);
    const none = await verify('--study-id', id.replace(/^./, 'f'));
    expect([none.code, none.report.missingStudyId]).toEqual([1, id.replace(/^./, 'f')]);
    expect((await verify('--study-id', old.study)).stderr).toMatch(/is not a study id \(hint/);
  });
});
