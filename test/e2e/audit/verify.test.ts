/** What `urn verify` says of a database, sound and not as the program made it. What it finds in records: test/unit/verify. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/evidence/verify/report/report.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { altered } from '../../support/altered-record.ts';
import { clientOf } from '../../support/client.ts';
import { command, refusal } from '../../support/command.ts';
import { STUDY as NAME, referenceLog } from '../../support/reference-log.ts';
import { serve, urn } from '../../support/service.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';
import { checkpoint, type Row, replaceRows, rowsOf, streamOfStudy } from './database.ts';

const newFolder = temporaryFolders();
const file = temporaryFiles('given.txt');
const { user, trusted, receipts, ...log } = await referenceLog(newFolder());
const trusting = ['--trust', trusted, '--checkpoint', receipts];
const forgetLastCheckpoints = '--no-last-checkpoints';
/** Of the study: its registration, and 50 participants. */
const RECORDS = 51;
/** Its triggers go when it is read. */
const copy = newFolder(log.data);
const stream = streamOfStudy(copy, NAME);
const ofStudy = `stream = '${stream}'`;
let data: string;
const database = () => join(data, 'urn.sqlite');
const lastCheckpoints = () => join(data, 'last-checkpoints');

beforeEach(() => {
  data = newFolder(log.data);
});

/** As somebody who owns the file could. */
function change(...statements: string[]): void {
  const db = new Database(database());
  try {
    for (const statement of statements) db.exec(statement);
  } finally {
    db.close();
  }
}

const verify = (...args: string[]) => command(['verify', '--data', data, ...args]);
async function verified(...args: string[]) {
  const { code, stdout, stderr } = await verify('--json', ...args);
  const report: Report = JSON.parse(stdout);
  expect(code, stderr).toBe(report.ok ? 0 : 1);
  return { code, report, study: report.streams.find(({ study }) => study === NAME), stderr };
}

/** All files of a folder except one. */
function snapshot(folder: string, without?: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name !== without);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name)).toString('base64')]));
}

describe('a sound log', () => {
  it('is proven up to its receipts, in JSON and in words, without its signing key, and without a trace', async () => {
    rmSync(join(data, 'signing-key'));
    const before = snapshot(data);
    const given = [5, 9, 12].map((size) => ['--checkpoint', file(checkpoint(copy, stream, size))]);
    const { report, study, stderr } = await verified('--trust', trusted, ...given.flat());
    expect(stderr).toBe('');
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: false, trusted: [trusted] });
    expect(report.lastCheckpoints).toEqual({ file: lastCheckpoints(), agree: true });
    expect(study).toMatchObject({ records: RECORDS, participants: 50, sound: true });
    expect(study?.evidence).toMatchObject({ matching: 3, matchingSize: 12, uncovered: { from: 12, to: 50 } });
    const { code, stdout } = await verify('--study', NAME, ...trusting.with(1, file(`${trusted}\n`)));
    expect(code).toBe(0);
    for (const says of [
      `study "${NAME}" (${stream}): sound`,
      '51 records, 50 participants decided again',
      'the history up to size 51 (revisions 0 to 50) is as it was signed',
      'OK as far as the checkpoints reach',
    ])
      expect(stdout).toContain(says);
    expect((await verify()).stdout).toContain('SELF-CONSISTENT ONLY');
    const id = stream.slice('study-'.length);
    const found = await verified('--study-id', id);
    expect(found.report.streams.map((one) => one.stream)).toEqual(['log', 'access', stream]);
    const other = id.replace(/^./, (digit) => (digit === 'f' ? '0' : 'f'));
    expect((await verified('--study-id', other)).report).toMatchObject({ ok: false, missingStudyId: other });
    expect(snapshot(data)).toEqual(before);
  });

  it('is verified while the service runs, and as a crash left it: nothing is merged into the database', async () => {
    const service = await serve({ data });
    const client = clientOf(service.url, user);
    const { factors } = JSON.parse(`${rowsOf(copy, stream)[0]?.record}`).data.configuration;
    const levels = Object.fromEntries(
      factors.map(({ name, levels }: { name: string; levels: string[] }) => [name, levels[0]]),
    );
    let enrolled = 0;
    let isRunning = true;
    const enrolling = (async () => {
      for (; isRunning; enrolled++)
        expect((await client.randomize(NAME, `later-${enrolled}`, levels)).status).toBe(200);
    })();
    for (let i = 0; i < 2; i++) expect((await verified(...trusting)).report.ok).toBe(true);
    isRunning = false;
    await enrolling;
    await service.kill();
    expect(enrolled).toBeGreaterThan(0);

    expect(statSync(`${database()}-wal`).size).toBeGreaterThan(0);
    const before = snapshot(data, 'urn.sqlite-shm');
    const { study, stderr } = await verified();
    expect([study?.records, stderr]).toEqual([RECORDS + enrolled, '']);
    expect(snapshot(data, 'urn.sqlite-shm')).toEqual(before);
    // As a backup of these two files restores it.
    rmSync(`${database()}-shm`);
    const restored = await verified();
    expect([restored.report.ok, restored.study?.records]).toEqual([true, RECORDS + enrolled]);
    expect(restored.stderr).toContain('a copy in ');
    expect(snapshot(data)).toEqual(before);
  });

  it('is verified in a read-only folder', async () => {
    const folder = newFolder();
    const alone = join(folder, 'copy.sqlite');
    copyFileSync(database(), alone);
    chmodSync(alone, 0o400);
    chmodSync(folder, 0o500);
    const { code, stdout, stderr } = await urn(['verify', '--store', `sqlite:${alone}`, '--json'], {
      heedsModes: true,
    });
    chmodSync(folder, 0o700);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('a copy in ');
    expect(JSON.parse(stdout).streams).toContainEqual(expect.objectContaining({ stream, records: RECORDS }));
    expect(readdirSync(folder)).toEqual(['copy.sqlite']);
  });
});

describe('a log that was tampered with', () => {
  it('is reported up to the first record that cannot be, in JSON and in words', async () => {
    const [row] = rowsOf(data, stream).slice(6, 7) as [Row];
    replaceRows(data, [altered(row, (_, { draw }) => Object.assign(draw, { uniform53: 5 }))]);
    const { report, study } = await verified();
    const { id, data: person } = JSON.parse(`${row.record}`);
    expect(study?.divergence).toMatchObject({ revision: 6, field: 'draw.uniform53', id });
    expect(study?.notReplayed).toBe(RECORDS - 6);
    expect(report.streams.filter(({ sound }) => !sound)).toHaveLength(1);
    const { stdout } = await verify();
    const first = `${stream}/6: ParticipantRandomized, participant "${person.participantId}"`;
    expect(stdout).toContain(`FIRST DIVERGENCE at ${first}`);
    expect(stdout).toMatch(/^FAILED$/m);
  });

  it('has records twice, in a table recreated without its constraints', async () => {
    const columns = 'stream, revision, record, sealed, leaf';
    change(
      'CREATE TABLE other AS SELECT * FROM records; DROP VIEW readable; DROP TABLE records',
      `CREATE TABLE records (position INTEGER PRIMARY KEY, ${columns})`,
      'INSERT INTO records SELECT * FROM other',
      `INSERT INTO records (${columns}) SELECT ${columns} FROM other WHERE ${ofStudy} AND revision IN (6, 7)`,
    );
    const { study } = await verified();
    const divergence = { revision: 6, why: 'a record occurs twice, or was inserted' };
    expect(study).toMatchObject({ divergence, records: RECORDS + 2 });
  });
});

it.each([
  ['a log in memory', () => ['--store', 'memory:'], /memory/],
  ['an unknown study', () => ['--data', data, '--study', 'Slep'], /no study "Slep".*urn studies list/],
  ['no such file', () => ['--data', data, '--checkpoint', '/none'], /cannot read \/none/],
  ['an id that is none', () => ['--data', data, '--study-id', 'Sleep'], /is not a study id \(hint/],
  ['a file without a checkpoint', () => ['--data', data, '--checkpoint', file('hi\n')], /given\.txt:1: /],
  ['a key that is not one', () => ['--data', data, '--trust', 'urn+x'], /--trust names is not an Ed25519/],
  ['no database', () => ['--store', `sqlite:${file('x'.repeat(200))}`], /not a log of this program/],
])('wrong usage exits with 2, with output only on stderr: %s', async (_, args, says) => {
  expect(await refusal(command(['verify', ...args()]))).toMatch(says);
});

describe('a database that cannot be read to its end exits with 1:', () => {
  /** The table without what guards the types of its columns. */
  const retyped = (set: string) => [
    'CREATE TABLE other AS SELECT * FROM records; DROP VIEW readable; DROP TABLE records',
    `ALTER TABLE other RENAME TO records; UPDATE records SET ${set} WHERE ${ofStudy} AND revision = 6`,
  ];
  const updated = (set: string) => ['DROP TRIGGER records_are_not_changed', `UPDATE records SET ${set}`];
  const large = /changed by hand: stream study-\S+ has a revision or a position of 2\^53 or more/;
  const noText = /changed by hand: the stream of a record is not text/;

  /** Numbers above 2^53 come out rounded: what comes after one could be asked for again and again. */
  it.each<[what: string, RegExp, ...statements: string[]]>([
    [
      'a revision beyond 2^53',
      large,
      ...updated(`revision = 9007199254740993 WHERE ${ofStudy} AND revision = 50`),
    ],
    [
      'all positions beyond 2^53',
      large,
      ...updated(`position = position + 9007199254740993 WHERE ${ofStudy}`),
    ],
    ['a record of no stream', noText, ...retyped('stream = NULL')],
    ['a stream whose name is no text', noText, ...retyped('stream = CAST(stream AS BLOB)')],
    [
      'a view in place of the records',
      /"records" is not the table that it should be/,
      ...['ALTER TABLE records RENAME TO hidden', 'CREATE VIEW records AS SELECT * FROM hidden'],
    ],
  ])('%s', async (_, says, ...statements) => {
    change(...statements);
    const { code, stdout, stderr } = await verify();
    expect([code, stdout], stderr).toEqual([1, '']);
    expect(stderr).toMatch(says);
    expect(stderr).not.toContain('unexpected');
  });

  it('a damaged file', async () => {
    writeFileSync(database(), readFileSync(database()).fill(0x5a, 8192));
    const { code, stderr } = await verify();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/damaged/)]);
  });
});

describe('the database schema', () => {
  it('is as it was made, also after the query planner has gathered statistics', async () => {
    change('ANALYZE');
    expect((await verified()).report.store).toEqual({ problems: [], warnings: [] });
  });

  it('has triggers that refuse changes: missing ones cause a warning', async () => {
    const missing = ['trigger records_are_not_changed', 'trigger records_are_not_deleted', 'view readable'];
    change(...missing.map((what) => `DROP ${what}`));
    const warnings = missing.map((what) => `the ${what.replace(' ', ' "')}" is missing`);
    expect((await verified()).report).toMatchObject({ ok: true, store: { problems: [], warnings } });
    expect((await verify()).stdout).toContain(`warning: ${warnings[0]} in the database`);
  });

  const another = (kind: string) => `the ${kind} "more" was not made by this program`;
  it.each<[problem: string, ...statements: string[]]>([
    [
      'the trigger "records_are_not_changed" was changed',
      'DROP TRIGGER records_are_not_changed',
      'CREATE TRIGGER records_are_not_changed BEFORE UPDATE ON records WHEN 0 BEGIN SELECT 1; END',
    ],
    [another('trigger'), 'CREATE TRIGGER more AFTER INSERT ON records BEGIN SELECT 1; END'],
    [another('table'), 'CREATE TABLE more AS SELECT * FROM records'],
    [another('index'), 'CREATE INDEX more ON records (position) WHERE revision > 3'],
    [
      'the view "readable" was changed',
      'DROP VIEW readable',
      'CREATE VIEW readable AS SELECT position, stream FROM records LIMIT 3',
    ],
  ])('is not this program’s: %s', async (problem, ...statements) => {
    change(...statements);
    const { report } = await verified();
    expect([report.ok, report.store?.problems]).toEqual([false, [problem]]);
    // Nothing is wrong with the records themselves.
    expect(report.streams.every(({ sound }) => sound)).toBe(true);
  });
});

describe('the note in the data folder of what was last signed', () => {
  it('contradicts a store that was rolled back, which is a failure, and is not changed by that', async () => {
    const before = readFileSync(lastCheckpoints());
    change('DROP TRIGGER records_are_not_deleted', `DELETE FROM records WHERE ${ofStudy} AND revision > 40`);
    const { report, study } = await verified();
    expect([report.ok, report.lastCheckpoints?.agree]).toEqual([false, false]);
    expect(study?.evidence).toMatchObject({ tailCutOff: { size: 41, signedSize: RECORDS } });
    const says = /FAILED: .*last-checkpoints.* disagrees: .*hint.* --no-last-checkpoints/;
    expect((await verify()).stdout).toMatch(says);
    const forgotten = (await verified(forgetLastCheckpoints)).report;
    expect([forgotten.ok, forgotten.lastCheckpoints]).toEqual([true, undefined]);
    expect(readFileSync(lastCheckpoints())).toEqual(before);
    expect(existsSync(`${database()}-wal`)).toBe(false);
  });

  it('is refused with a hint if it cannot be read', async () => {
    writeFileSync(lastCheckpoints(), readFileSync(lastCheckpoints()).subarray(0, 100));
    expect(await refusal(verify())).toMatch(/last-checkpoints:\d.*hint: .*--no-last-checkpoints/);
    expect((await verified(forgetLastCheckpoints)).report.ok).toBe(true);
  });
});
