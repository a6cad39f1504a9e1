/** Records changed inside the database, past its triggers: only the study concerned stops. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, leafHash } from '../../../events/record.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { type Answer, clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

interface Row {
  readonly record: Buffer;
  readonly sealed: Buffer;
  readonly leaf: Buffer;
}

/** What is done to a study, by its name, and how the service's log names it. */
const DAMAGE: Readonly<Record<string, { alter: (db: Database, stream: string) => void; why: RegExp }>> = {
  'a byte of a record': {
    alter: (db, stream) =>
      replace(db, stream, 2, (row) => ({ ...row, record: flip(row.record, '"level":"') })),
    why: /\/2: the record does not match the leaf hash/,
  },
  'a record and its leaf': {
    alter: (db, stream) =>
      replace(db, stream, 2, (row) => {
        const { seals, ...rest } = JSON.parse(row.record.toString());
        const record = Buffer.from(canonicalJson({ ...rest, seals: { ...seals, extra: '0'.repeat(64) } }));
        return { ...row, record, leaf: leafHash(record) };
      }),
    why: /\/2: section "extra" is sealed, but missing/,
  },
  'a sealed treatment': {
    alter: (db, stream) =>
      replace(db, stream, 2, (row) => {
        const text = row.sealed.toString();
        const swapped = text.replace(
          /"treatment":"([AB])"/,
          (_, arm) => `"treatment":"${arm === 'A' ? 'B' : 'A'}"`,
        );
        expect(swapped).not.toBe(text);
        return { ...row, sealed: Buffer.from(swapped) };
      }),
    why: /\/2: section "allocation" does not match its seal/,
  },
  'a missing record': {
    alter: (db, stream) => db.prepare('DELETE FROM records WHERE stream = ? AND revision = 2').run(stream),
    why: /\/3: follows revision 1: records are missing/,
  },
  'a missing registration': {
    alter: (db, stream) => db.prepare('DELETE FROM records WHERE stream = ? AND revision = 0').run(stream),
    why: /\/1: follows revision -1: records are missing/,
  },
  'two records exchanged': {
    alter: (db, stream) => {
      const [two, three] = [2, 3].map((revision) => read(db, stream, revision));
      replace(db, stream, 2, () => three as Row);
      replace(db, stream, 3, () => two as Row);
    },
    why: /\/2: the record says that it is .*\/3/,
  },
  'a type of a later build': {
    alter: (db, stream) => {
      const record = JSON.parse(read(db, stream, 3).record.toString());
      const changes = { id: '0193a8e0-0000-7000-8000-00000000beef', revision: 4, type: 'StudyArchived' };
      const later = Buffer.from(canonicalJson({ ...record, ...changes }));
      const { sealed } = read(db, stream, 3);
      const columns = 'stream, revision, record, sealed, leaf';
      const added = [stream, later, sealed, leafHash(later)];
      db.prepare(`INSERT INTO records (${columns}) VALUES (?, 4, ?, ?, ?)`).run(...added);
    },
    why: /\/4: StudyArchived@1 is unknown to this build \(hint: a newer version/,
  },
};
const WHOLE = 'untouched';
const NAMES = [...Object.keys(DAMAGE), WHOLE];
const STUDIES = NAMES.map(
  (name) => `"${name}": {mode: test, treatments: [A, B], factors: {sex: [F, M]}}`,
).join('\n');

const data = temporaryFolders()();
let keys: { work: string; audit: string };
let service: ServiceHere;
let before: Row[];

beforeAll(async () => {
  keys = await issueKeys(data, { work: ['edc'], audit: ['auditor', '--scope', 'read,audit'] });
  const first = await serveHere(data, STUDIES);
  const client = clientOf(first.url, keys.work);
  const streams = new Map<string, string>();
  for (const name of NAMES) {
    for (const id of ['1', '2', '3'])
      expect((await client.randomize(name, id, { sex: 'F' })).status).toBe(200);
  }
  await first.stop();
  withDatabase((db) => {
    for (const trigger of db
      .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'trigger'")
      .pluck()
      .all())
      db.exec(`DROP TRIGGER ${trigger}`);
    for (const { stream, record } of db
      .prepare<[], { stream: string; record: Buffer }>(
        "SELECT stream, record FROM records WHERE stream LIKE 'study-%' AND revision = 0",
      )
      .all())
      streams.set(JSON.parse(record.toString()).data.configuration.name, stream);
    for (const [name, { alter }] of Object.entries(DAMAGE)) alter(db, streams.get(name) ?? '');
  });
  before = rows();
  service = await serveHere(data, STUDIES);
});

afterAll(() => service.stop());

describe('altered records', () => {
  it.each(Object.keys(DAMAGE))('%s: 503 for that study, and the log says where', async (name) => {
    const client = clientOf(service.url, keys.work);
    const unavailable = ({ status, headers, message }: Answer) => {
      expect(status).toBe(503);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(message).toMatch(/cannot be read completely/);
    };
    unavailable(await client.randomize(name, '9', { sex: 'F' }));
    unavailable(await client.randomize(name, '1', { sex: 'F' }));
    unavailable(await client.list(name));
    unavailable(await client.config(name));
    unavailable(await clientOf(service.url, keys.audit).list(name));
    const lines = service.output.stderr
      .split('\n')
      .filter((line) => line.includes('cannot be read any further'));
    expect(lines).toHaveLength(Object.keys(DAMAGE).length);
    const { level, stream, why } = lines
      .map((line) => JSON.parse(line))
      .find((line) => DAMAGE[name]?.why.test(line.why)) ?? { why: lines.join('\n') };
    expect(why).toMatch(DAMAGE[name]?.why as RegExp);
    expect(level).toBe(50);
    expect(why).toContain(stream);
  });

  it('leaves the other studies as they were', async () => {
    const client = clientOf(service.url, keys.work);
    expect((await client.list(WHOLE)).results).toHaveLength(3);
    expect((await client.randomize(WHOLE, '4', { sex: 'M' })).status).toBe(200);
    expect((await clientOf(service.url, keys.audit).list(WHOLE)).results).toHaveLength(4);
  });

  it('are neither removed nor added to, and do not prevent a restart', async () => {
    await service.stop();
    expect(rows().slice(0, before.length)).toEqual(before);
    expect(rows()).toHaveLength(before.length + 1);
    // Without the file as well: every study in the log is served.
    service = await serveHere(data);
    const client = clientOf(service.url, keys.work);
    expect((await client.randomize('a missing record', '9', { sex: 'F' })).status).toBe(503);
    expect((await client.randomize(WHOLE, '5', { sex: 'M' })).status).toBe(200);
    await service.stop();
  });

  it.each([
    ['access', /access\/0: the record does not match the leaf hash/],
    ['log', /log\/0: the record does not match the leaf hash/],
  ])(
    'prevent a start if the stream %s was changed, because the service could not tell whom to trust',
    async (stream, says) => {
      withDatabase((db) =>
        replace(db, stream, 0, (row) => ({ ...row, record: flip(row.record, '"user":"') })),
      );
      for (const args of [
        ['serve', '--port', '0'],
        ['keys', 'list'],
        ['keys', 'add', 'somebody'],
      ]) {
        const { code, stdout, stderr } = await command([...args, '--data', data]);
        expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: '' });
        expect(stderr.split('\n').filter((line) => line.startsWith('urn: '))).toHaveLength(1);
        expect(stderr).toMatch(says);
        expect(stderr).toMatch(/\(hint: .*restore a backup/);
        expect(stderr).not.toMatch(/^ {4}at /m);
      }
      withDatabase((db) =>
        replace(db, stream, 0, (row) => ({ ...row, record: flip(row.record, '"user":"') })),
      );
      await commandOk(['keys', 'list', '--data', data]);
    },
  );
});

function withDatabase(use: (db: Database) => void): void {
  const db = new Database(join(data, 'urn.sqlite'));
  use(db);
  db.close();
}

/** Without what the service records about itself. */
function rows(): Row[] {
  const db = new Database(join(data, 'urn.sqlite'), { readonly: true });
  const all = db
    .prepare<[], Row>(
      "SELECT record, sealed, leaf FROM records WHERE stream <> 'operations' ORDER BY position",
    )
    .all();
  db.close();
  return all;
}

function read(db: Database, stream: string, revision: number): Row {
  const row = db
    .prepare<[string, number], Row>(
      'SELECT record, sealed, leaf FROM records WHERE stream = ? AND revision = ?',
    )
    .get(stream, revision);
  if (!row) throw new Error(`there is no ${stream}/${revision}`);
  return row;
}

function replace(db: Database, stream: string, revision: number, change: (row: Row) => Row): void {
  const { record, sealed, leaf } = change(read(db, stream, revision));
  const update = 'UPDATE records SET record = ?, sealed = ?, leaf = ? WHERE stream = ? AND revision = ?';
  db.prepare(update).run(record, sealed, leaf, stream, revision);
}

/** Flips one bit after a text; done twice, it is undone. */
function flip(record: Buffer, before: string): Buffer {
  const at = record.indexOf(before) + before.length;
  const flipped = Buffer.from(record);
  flipped[at] = (record[at] ?? 0) ^ 1;
  return flipped;
}
