/** urn verify on real data of the real service, sound and tampered with. */
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { leafHash } from '../../../events/record.ts';
import type { Report, StreamReport } from '../../../src/evidence/verify/report/report.ts';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
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
  rewritten,
  rowsOf,
  streamOfStudy,
} from './database.ts';

const newFolder = temporaryFolders();
const original = join(newFolder(), 'data');
let stream: string;
let trusted: string;
let receipts: (...sizes: number[]) => string;

beforeAll(async () => {
  await makeLog(original);
  stream = streamOfStudy(original, NAME);
  trusted = publicKey(original);
  const notes = new Map([1, 5, 9, 12, 15].map((size) => [size, checkpoint(original, stream, size)]));
  receipts = (...sizes) => {
    const file = join(newFolder(), 'receipts.txt');
    writeFileSync(file, sizes.map((size) => notes.get(size)).join('\n'));
    return file;
  };
});

async function makeLog(data: string): Promise<void> {
  const { service } = await makeSleepHistory(data);
  await service.stop();
}

/** A copy of the sound log, to be tampered with, without the notes that would show it: the operator has those, too. */
function copy(log = original): string {
  const data = join(newFolder(), 'data');
  cpSync(log, data, { recursive: true });
  rmSync(join(data, 'last-checkpoints'));
  return data;
}

/** Another log with the same studies and participants. */
const other = join(newFolder(), 'data');
let otherMade: Promise<void> | undefined;

async function copyOfOther(): Promise<string> {
  otherMade ??= makeLog(other);
  await otherMade;
  return copy(other);
}

async function verified(data: string, ...args: string[]) {
  const { code, stdout, stderr } = await command(['verify', '--data', data, '--json', ...args]);
  expect(stderr).toBe('');
  const report: Report = JSON.parse(stdout);
  expect(code).toBe(report.ok ? 0 : 1);
  const study = report.streams.find((one) => one.study === NAME || one.stream === stream) as StreamReport;
  return { report, study };
}

describe('a sound history', () => {
  it('is self-consistent, and proven up to its receipts with the trusted key', async () => {
    const { report, study } = await verified(original);
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
    const key = join(newFolder(), 'urn.vkey');
    writeFileSync(key, `${trusted}\n`);
    const args = ['--data', original, '--study', NAME, '--trust', key, '--checkpoint', receipts(15)];
    const { code, stdout, stderr } = await command(['verify', ...args]);
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

  it('is verified while the service runs and accepts participants', async () => {
    const data = copy();
    const { edc } = await issueKeys(data, { edc: ['edc'] });
    const service = await serve({ data });
    const client = clientOf(service.url, edc);
    let running = true;
    const enrolling = (async () => {
      for (let n = 0; running; n++)
        expect((await client.randomize(NAME, `later-${n}`, LEVELS[n % 3] ?? LEVELS[0])).status).toBe(200);
    })();
    for (let i = 0; i < 3; i++) {
      const { report } = await verified(data, '--trust', trusted, '--checkpoint', receipts(15));
      expect(report.ok, JSON.stringify(report)).toBe(true);
    }
    running = false;
    await enrolling;
    await service.stop();
    const { study } = await verified(data);
    expect(study.records).toBeGreaterThan(RECORDS);
  });

  it('is verified as a crash left it, and nothing is merged into the database', async () => {
    const data = copy();
    const { edc } = await issueKeys(data, { edc: ['edc'] });
    const service = await serve({ data });
    expect((await clientOf(service.url, edc).randomize(NAME, 'last', LEVELS[0])).status).toBe(200);
    await service.kill();
    expect(statSync(join(data, 'urn.sqlite-wal')).size).toBeGreaterThan(0);
    const before = snapshot(data, 'urn.sqlite-shm');
    expect((await verified(data)).study.records).toBe(RECORDS + 1);
    expect(snapshot(data, 'urn.sqlite-shm')).toEqual(before);
    // As a backup of these two files restores it.
    rmSync(join(data, 'urn.sqlite-shm'));
    const { code, stdout, stderr } = await command(['verify', '--data', data, '--json']);
    expect({ code, records: RECORDS + 1 }).toEqual({ code: 0, records: studyOf(stdout).records });
    expect(stderr).toContain('a copy in ');
    expect(snapshot(data)).toEqual(before);
  });

  it('is verified in a read-only folder', async () => {
    const folder = newFolder();
    const file = join(folder, 'copy.sqlite');
    cpSync(join(original, 'urn.sqlite'), file);
    chmodSync(file, 0o400);
    chmodSync(folder, 0o500);
    const { code, stdout, stderr } = await urn(['verify', '--store', `sqlite:${file}`, '--json'], {
      heedsModes: true,
    });
    chmodSync(folder, 0o700);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('a copy in ');
    expect(studyOf(stdout).records).toBe(RECORDS);
    expect(readdirSync(folder)).toEqual(['copy.sqlite']);
  });
});

function studyOf(json: string): StreamReport {
  return (JSON.parse(json) as Report).streams.find(({ study }) => study === NAME) as StreamReport;
}

/** All files of a folder except one. */
function snapshot(folder: string, without?: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name !== without);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name)).toString('base64')]));
}

/** What is done to the study's rows at revision 6, and what the report then names. */
const EDITS: Readonly<
  Record<string, { edit: (row: Row, rows: readonly Row[]) => Row; revision?: number; field: RegExp | string }>
> = {
  'a byte of the record': {
    edit: (row) => ({ ...row, record: flip(row.record, '"level":"') }),
    field: 'leaf',
  },
  'a byte of the record, and the leaf': {
    edit: (row) => {
      const record = flip(row.record, '"level":"');
      return { ...row, record, leaf: leafHash(record) };
    },
    field: 'data.levels[0].level',
  },
  'the leaf': { edit: (row) => ({ ...row, leaf: Buffer.alloc(32) }), field: 'leaf' },
  'a byte of the treatment': {
    edit: (row) => ({ ...row, sealed: flip(row.sealed, '"treatment":"') }),
    field: 'seals.allocation',
  },
  'a byte of the draw': {
    edit: (row) => ({ ...row, sealed: flip(row.sealed, '"uniform53":') }),
    field: 'seals.draw',
  },
  'the treatment, sealed again': {
    edit: (row) =>
      altered(row, (_, { allocation }) => Object.assign(allocation, { treatment: otherArm(row) })),
    field: 'allocation.treatment',
  },
  'the uniform, sealed again': {
    edit: (row) => altered(row, (_, { draw }) => Object.assign(draw, { uniform53: 5 })),
    field: 'draw.uniform53',
  },
  'the state after it, sealed again': {
    edit: (row) =>
      altered(row, (_, { draw }) =>
        Object.assign(draw.bgStateAfter.state, { state: '12345678901234567890' }),
      ),
    field: 'draw.bgStateAfter.state.state',
  },
  'the user, hashed again': {
    edit: (row) => altered(row, ({ actor }) => Object.assign(actor, { user: 'nobody' })),
    field: 'actor.user',
  },
  'the id, now that of an earlier participant': {
    edit: (row) => altered(row, ({ data }) => Object.assign(data, { participantId: 'p-2' })),
    field: 'type',
  },
};

function flip(bytes: Buffer, after: string): Buffer {
  const at = bytes.indexOf(after) + after.length;
  const flipped = Buffer.from(bytes);
  flipped[at] = (bytes[at] ?? 0) ^ 1;
  return flipped;
}

function otherArm(row: Row): string {
  const { treatment } = JSON.parse(row.sealed.toString()).allocation;
  return treatment === 'ZZTREATA' ? 'ZZTREATB' : 'ZZTREATA';
}

describe.concurrent('a careless change to one record is reported exactly:', () => {
  it.each(Object.entries(EDITS))('%s', async (_, { edit, field }) => {
    const data = copy();
    const rows = rowsOf(data, stream);
    replaceRows(data, [edit(rows[6] as Row, rows)]);
    const { report, study } = await verified(data);
    expect(study.divergence).toMatchObject({ revision: 6, field });
    expect(study.divergence?.id).toBe(randomizedAt(rows, 6).id);
    expect(study.notReplayed).toBe(RECORDS - 6);
    // The other studies are not affected.
    expect(report.streams.filter(({ sound }) => !sound)).toHaveLength(1);
    const { stdout, code } = await command(['verify', '--data', data]);
    expect(code).toBe(1);
    expect(stdout).toContain(`FIRST DIVERGENCE at ${stream}/6: ParticipantRandomized, participant`);
    expect(stdout).toMatch(/^FAILED$/m);
  });
});

describe.concurrent('records that were moved are reported:', () => {
  it('one deleted in the middle', async () => {
    const data = copy();
    atTables(data, (db) => db.prepare('DELETE FROM records WHERE stream = ? AND revision = 6').run(stream));
    const { study } = await verified(data, '--trust', trusted, '--checkpoint', receipts(5, 15));
    expect(study.divergence).toMatchObject({ revision: 7, why: 'revision 6 is missing' });
    expect(study.evidence).toMatchObject({ matchingSize: 5, failed: [{ size: 15, because: 'gap' }] });
  });

  it('one deleted in the middle, and the others moved up, renumbered and rehashed', async () => {
    const data = copy();
    const rows = rowsOf(data, stream);
    const moved = rows.slice(7).map((row) => ({
      ...altered(row, (record) => {
        record.revision--;
      }),
      revision: row.revision - 1,
    }));
    replaceRows(data, moved);
    atTables(data, (db) => db.prepare('DELETE FROM records WHERE stream = ? AND revision = 14').run(stream));
    const { study } = await verified(data);
    expect(study.divergence).toMatchObject({ revision: 6, participant: 'p-7' });
    expect(study.divergence?.field).toMatch(/^draw\.bgStateBefore/);
  });

  it('from which an arm could be inferred', async () => {
    const data = copy();
    const [, , , a, b] = rowsOf(data, stream) as [Row, Row, Row, Row, Row];
    replaceRows(data, [
      { ...a, revision: 4 },
      { ...b, revision: 3 },
    ]);
    expect((await verified(data)).study.divergence).toMatchObject({
      revision: 3,
      field: 'revision',
      expected: `"${stream}/3"`,
      found: `"${stream}/4: ParticipantRandomized"`,
    });
  });

  it('but the treatments, once, in the registered configuration', async () => {
    const data = copy();
    const rows = rowsOf(data, stream);
    const down = rows.slice(6).map((row) => ({
      ...altered(row, (record) => {
        record.revision++;
      }),
      revision: row.revision + 1,
    }));
    const copied = altered(rows[5] as Row, (record) => {
      record.revision = 6;
      record.id = '019c7f44-d7f8-719a-9b31-f09043b87245';
      record.data.participantId = 'p-77';
    });
    atTables(data, (db) => {
      const insert = db.prepare(
        'INSERT INTO records (stream, revision, record, sealed, leaf) VALUES (?, ?, ?, ?, ?)',
      );
      db.prepare('DELETE FROM records WHERE stream = ? AND revision >= 6').run(stream);
      for (const row of [{ ...copied, revision: 6 }, ...down])
        insert.run(stream, row.revision, row.record, row.sealed, row.leaf);
    });
    const { divergence } = (await verified(data)).study;
    expect(divergence).toMatchObject({ revision: 6, participant: 'p-77' });
    expect(divergence?.field).toMatch(/^draw\.bgStateBefore/);
  });

  it('one duplicated, in a table recreated without its constraints', async () => {
    const data = copy();
    atTables(data, (db) => {
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
});

describe.concurrent('a self-consistent change is exposed by a kept checkpoint, and by nothing else:', () => {
  /** Verified three times: without a checkpoint, with one that does not cover the change, with one that does. */
  async function onlyBy(data: string, before: number, covering: number) {
    const without = await verified(data, '--trust', trusted);
    expect(without.report, JSON.stringify(without.report)).toMatchObject({
      ok: true,
      selfConsistentOnly: true,
    });
    const earlier = await verified(data, '--trust', trusted, '--checkpoint', receipts(before));
    expect(earlier.report).toMatchObject({ ok: true, selfConsistentOnly: false });
    expect(earlier.study.evidence).toMatchObject({ matchingSize: before, uncovered: { from: before } });
    const found = await verified(data, '--trust', trusted, '--checkpoint', receipts(before, covering));
    expect(found.report.ok).toBe(false);
    expect(found.study.divergence).toBeUndefined();
    return found.study.evidence;
  }

  it('the tail removed', async () => {
    const data = copy();
    atTables(data, (db) => db.prepare('DELETE FROM records WHERE stream = ? AND revision >= 13').run(stream));
    expect(await onlyBy(data, 12, 15)).toMatchObject({
      tailCutOff: { size: 13, signedSize: 15 },
      failing: 1,
    });
  });

  it('a treatment changed, and everything after it derived again', async () => {
    const data = copy();
    const rows = rowsOf(data, stream);
    // Other levels mean another urn: with one of these the draw falls on the other arm.
    const candidates = LEVELS.map((levels) =>
      rewritten(rows, (event) =>
        event.revision === 7 && event.type === 'ParticipantRandomized'
          ? {
              ...event,
              data: {
                ...event.data,
                levels: event.data.levels.map(({ factor }) => ({ factor, level: levels[factor as 'sex'] })),
              },
            }
          : event,
      ),
    );
    const arm = (of: readonly Row[], revision: number) =>
      randomizedAt(of, revision).sections.allocation.treatment;
    const changed =
      candidates.find((all) => arm(all, 7) !== arm(rows, 7)) ??
      candidates.find((all) => [8, 11, 12, 13, 14].some((i) => arm(all, i) !== arm(rows, i)));
    replaceRows(data, changed as Row[]);
    const evidence = await onlyBy(data, 5, 9);
    expect(evidence).toMatchObject({ failing: 1, rewritten: { afterSize: 5, upToSize: 9 } });
    const { stdout } = await command([
      'verify',
      '--data',
      data,
      '--trust',
      trusted,
      '--checkpoint',
      receipts(5, 9, 15),
    ]);
    expect(stdout).toContain(
      'the history up to size 5 is proven unchanged; between size 6 and 9 it is not what',
    );
  });

  it('the configuration rewritten, and everything decided again under it', async () => {
    const data = copy();
    const changed = rewritten(rowsOf(data, stream), (event) =>
      event.type === 'StudyRegistered'
        ? { ...event, data: { ...event.data, configuration: { ...event.data.configuration, beta: 7 } } }
        : event,
    );
    replaceRows(data, changed);
    expect((await verified(data)).report.ok).toBe(true);
    const { study } = await verified(data, '--trust', trusted, '--checkpoint', receipts(1, 15));
    expect(study.evidence).toMatchObject({
      matching: 0,
      failing: 2,
      rewritten: { afterSize: 0, upToSize: 1 },
    });
  });

  it('the whole history rewritten and signed again with the same key', async () => {
    const data = copy();
    const changed = rewritten(rowsOf(data, stream), (event) =>
      event.type === 'StudyRegistered'
        ? { ...event, sections: { generator: { ...event.sections.generator, seed: `${2n ** 127n}` } } }
        : event,
    );
    replaceRows(data, changed);
    const forged = join(newFolder(), 'new.txt');
    writeFileSync(forged, Buffer.from(checkpoint(data, stream, 15)).toString('base64'));
    expect((await verified(data, '--trust', trusted, '--checkpoint', forged)).report.ok).toBe(true);
    const { study } = await verified(
      data,
      '--trust',
      trusted,
      '--checkpoint',
      forged,
      '--checkpoint',
      receipts(5),
    );
    expect(study.evidence).toMatchObject({ matching: 1, failing: 1 });
    expect(study.warnings).toMatchObject([{ code: 'weak-seed' }, { code: 'two-histories-signed' }].slice(1));
  });

  it('the whole log replaced by another with another key', async () => {
    const data = await copyOfOther();
    expect((await verified(data)).report).toMatchObject({ ok: true, selfConsistentOnly: true });
    const { report } = await verified(data, '--trust', trusted, '--checkpoint', receipts(15));
    expect(report).toMatchObject({ ok: false, untrustedKey: true });
    expect(report.streams[0]?.divergence).toMatchObject({
      field: 'data.publicKey',
      expected: `"${trusted}"`,
    });
    expect(report.unusedCheckpoints).toMatchObject([{ because: 'no-such-stream', size: 15 }]);
    const untrusting = await verified(data, '--checkpoint', receipts(15));
    expect(untrusting.report.unusedCheckpoints).toMatchObject([{ because: 'not-trusted' }]);
  });

  it('the whole log replaced, with the trusted key copied into it', async () => {
    const data = await copyOfOther();
    const [created] = rowsOf(data, 'log') as [Row];
    replaceRows(data, [altered(created, (record) => Object.assign(record.data, { publicKey: trusted }))]);
    const { report } = await verified(data, '--trust', trusted);
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: true });
    const held = await verified(data, '--trust', trusted, '--checkpoint', receipts(1));
    expect(held.report).toMatchObject({ ok: false, unusedCheckpoints: [{ because: 'no-such-stream' }] });
  });

  it('a checkpoint forged', async () => {
    const file = join(newFolder(), 'forged.txt');
    const genuine = readFileSync(receipts(9), 'utf8');
    const other = join(newFolder(), 'other');
    await commandOk(['keys', 'add', 'x', '--data', other]);
    for (const [note, because] of [
      [genuine.replace('\n9\n', '\n8\n'), 'forged'],
      [checkpoint(original, stream, 9, other), 'not-trusted'],
    ] as const) {
      writeFileSync(file, note);
      const { report } = await verified(original, '--trust', trusted, '--checkpoint', file);
      expect(report).toMatchObject({ ok: false, unusedCheckpoints: [{ because }] });
    }
  });
});

describe.concurrent('wrong usage exits with 2, with output only on stderr:', () => {
  const file = (text: string) => {
    const path = join(newFolder(), 'given.txt');
    writeFileSync(path, text);
    return path;
  };
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

  /** Numbers above 2^53 come out rounded: what comes after one could be asked for again and again. */
  it.each([
    ['a revision', 'UPDATE records SET revision = 9007199254740993 WHERE stream = ? AND revision = 14'],
    ['all positions', 'UPDATE records SET position = position + 9007199254740993 WHERE stream = ?'],
  ])('but %s beyond 2^53 is a failure, and verification ends there', async (_, update) => {
    const data = copy();
    atTables(data, (db) => db.prepare(update).run(stream));
    const { code, stderr } = await command(['verify', '--data', data]);
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(/changed by hand: stream study-\S+ has a revision or a position of 2\^53 or more/);
    expect(stderr).not.toContain('unexpected');
  });

  it.each(['NULL', 'CAST(stream AS BLOB)'])('but a record of the stream %s is a failure', async (name) => {
    const data = copy();
    atTables(data, (db) => {
      db.exec('CREATE TABLE other AS SELECT * FROM records; DROP VIEW readable; DROP TABLE records');
      db.exec('ALTER TABLE other RENAME TO records');
      db.prepare(`UPDATE records SET stream = ${name} WHERE stream = ? AND revision = 6`).run(stream);
    });
    const { code, stderr } = await command(['verify', '--data', data]);
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(/changed by hand: the stream of a record is not text/);
    expect(stderr).not.toContain('unexpected');
  });

  it('but a damaged database is a failure', async () => {
    const data = copy();
    const path = join(data, 'urn.sqlite');
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0x5a, 8192));
    const { code, stderr } = await command(['verify', '--data', data]);
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(/damaged/);
  });
});
