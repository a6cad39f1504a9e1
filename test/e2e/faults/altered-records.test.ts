/** Records changed inside the database, past its triggers: only the study concerned stops. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, leafHash } from '../../../events/record.ts';
import type { Database } from '../../../src/store/sqlite/library.ts';
import { altered } from '../../support/altered-record.ts';
import { clientOf } from '../../support/client.ts';
import { command, commandOk, refusal } from '../../support/command.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { atTables, type Row, replaceRows, rowsOf, storeRow, streamOfStudy } from '../audit/database.ts';

const data = temporaryFolders()();

/** Whoever changes the second participant of a study changes this row. */
const changed = (change: (row: Row) => Partial<Row>) => (stream: string) => {
  const row = rowsOf(data, stream)[2] as Row;
  replaceRows(data, [{ ...row, ...change(row) }]);
};
const deleted = (revision: number) => (stream: string) =>
  atTables(data, (db: Database) =>
    db.prepare('DELETE FROM records WHERE stream = ? AND revision = ?').run(stream, revision),
  );

/** What is done to a study, by its name, and how the service's log names it. */
const DAMAGE: Readonly<Record<string, [damage: (stream: string) => unknown, why: RegExp]>> = {
  'a byte of a record': [
    changed(({ record }) => ({ record: flip(record, '"level":"') })),
    /\/2: the record does not match the leaf hash/,
  ],
  'a record and its leaf': [
    changed((row) => altered(row, ({ seals }) => Object.assign(seals, { extra: '0'.repeat(64) }))),
    /\/2: section "extra" is sealed, but missing/,
  ],
  'a sealed treatment': [
    changed(({ sealed }) => ({ sealed: flip(sealed, '"treatment":"') })),
    /\/2: section "allocation" does not match its seal/,
  ],
  'a missing record': [deleted(2), /\/3: follows revision 1: records are missing/],
  'a missing registration': [deleted(0), /\/1: follows revision -1: records are missing/],
  'two records exchanged': [
    (stream) => {
      const [two, three] = rowsOf(data, stream).slice(2) as [Row, Row];
      replaceRows(data, [
        { ...three, revision: 2 },
        { ...two, revision: 3 },
      ]);
    },
    /\/2: the record says that it is .*\/3/,
  ],
  'a type of a later build': [
    (stream) => {
      const { record, sealed } = rowsOf(data, stream)[3] as Row;
      const changes = { id: '0193a8e0-0000-7000-8000-00000000beef', revision: 4, type: 'StudyArchived' };
      const later = Buffer.from(canonicalJson({ ...JSON.parse(`${record}`), ...changes }));
      storeRow(data, { stream, revision: 4, record: later, sealed, leaf: leafHash(later) });
    },
    /\/4: StudyArchived@1 is unknown to this build \(hint: a newer version/,
  ],
};
const WHOLE = 'untouched';
const NAMES = [...Object.keys(DAMAGE), WHOLE];
const STUDIES = NAMES.map(
  (name) => `"${name}": {mode: test, treatments: [A, B], factors: {sex: [F, M]}}`,
).join('\n');

let keys: { work: string; audit: string };
let service: ServiceHere;
/** Without what the service records about itself. */
const records = () => storedLog(data).filter(({ stream }) => stream !== 'operations');
let before: ReturnType<typeof records>;
const client = () => clientOf(service.url, keys.work);

beforeAll(async () => {
  keys = await issueKeys(data, { work: ['edc'], audit: ['auditor', '--scope', 'read,audit'] });
  service = await serveHere(data, STUDIES);
  for (const name of NAMES)
    for (const id of ['1', '2', '3'])
      expect((await client().randomize(name, id, { sex: 'F' })).status).toBe(200);
  await service.stop();
  const streams = Object.keys(DAMAGE).map((name) => [name, streamOfStudy(data, name)] as const);
  for (const [name, stream] of streams) DAMAGE[name]?.[0](stream);
  before = records();
  service = await serveHere(data, STUDIES);
});

afterAll(() => service.stop());

describe('altered records', () => {
  it.each(Object.entries(DAMAGE))('%s: 503 for that study, and the log says where', async (name, [, why]) => {
    for (const { status, headers, message } of [
      await client().randomize(name, '9', { sex: 'F' }),
      await client().randomize(name, '1', { sex: 'F' }),
      await client().list(name),
      await client().config(name),
      await clientOf(service.url, keys.audit).list(name),
    ]) {
      expect([status, message]).toEqual([503, expect.stringMatching(/cannot be read completely/)]);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    const lines = service.output.stderr.split('\n').filter((line) => line.includes('be read any further'));
    expect(lines).toHaveLength(Object.keys(DAMAGE).length);
    const told = lines.map((line) => JSON.parse(line)).find((line) => why.test(line.why));
    expect(told, lines.join('\n')).toMatchObject({ level: 50, why: expect.stringContaining(told?.stream) });
  });

  it('leave the other studies as they were, are neither removed nor added to, and do not prevent a restart', async () => {
    expect((await client().list(WHOLE)).results).toHaveLength(3);
    expect((await client().randomize(WHOLE, '4', { sex: 'M' })).status).toBe(200);
    await service.stop();
    expect(records().slice(0, -1)).toEqual(before);
    // Without the file as well: every study in the log is served.
    service = await serveHere(data);
    expect((await client().randomize('a missing record', '9', { sex: 'F' })).status).toBe(503);
    expect((await client().randomize(WHOLE, '5', { sex: 'M' })).status).toBe(200);
    await service.stop();
  });

  it.each(['access', 'log'])(
    'prevent a start if the stream %s was changed, because the service could not tell whom to trust',
    async (stream) => {
      const [row] = rowsOf(data, stream) as [Row];
      replaceRows(data, [{ ...row, record: flip(row.record, '"user":"') }]);
      for (const args of [
        ['serve', '--port', '0'],
        ['keys', 'list'],
        ['keys', 'add', 'somebody'],
      ]) {
        const stderr = await refusal(command([...args, '--data', data]));
        expect(stderr.split('\n').filter((line) => line.startsWith('urn: '))).toHaveLength(1);
        expect(stderr).toContain(`${stream}/0: the record does not match the leaf hash`);
        expect(stderr).toMatch(/\(hint: .*restore a backup/);
        expect(stderr).not.toMatch(/^ {4}at /m);
      }
      replaceRows(data, [row]);
      await commandOk(['keys', 'list', '--data', data]);
    },
  );
});

/** Flips one bit after a text. */
function flip(bytes: Buffer, before: string): Buffer {
  const at = bytes.indexOf(before) + before.length;
  const flipped = Buffer.from(bytes);
  flipped[at] = (bytes[at] ?? 0) ^ 1;
  return flipped;
}
