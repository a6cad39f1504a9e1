/** urn copy beside the real service: what it refuses, giving a move up, and which commands must not open a log that was moved. */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RecordBytes } from '../../../events/record.ts';
import { systemTools } from '../../../src/base/tools.ts';
import { logIdIn } from '../../../src/evidence/move/log-stream.ts';
import { moveLog } from '../../../src/evidence/move/move-log.ts';
import { openLog } from '../../../src/service/open/open-log.ts';
import { plainStore } from '../../../src/service/open/open-store.ts';
import type { Position } from '../../../src/store/event-store.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { ask, clientOf, within } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { OPERATOR } from '../../support/facts.ts';
import { LogCheck } from '../../support/log-check.ts';
import { type Finished, issueKey, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { type StoredText, storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';
import { altered, atTables, replaceRows, rowsOf, streamOfStudy } from '../audit/database.ts';

const HEARD_WITHIN_MS = 15_000;
const newFolder = temporaryFolders();
let folder: string;
let key: string;
type Service = Pick<ServiceHere, 'url' | 'output' | 'stop'>;
const running: Service[] = [];

const place = (name: string) => join(folder, name);
const database = (name: string) => join(folder, name, 'urn.sqlite');
const copy = (to: string, ...args: string[]): Promise<Finished> =>
  command(['copy', '--from', `sqlite:${database('home')}`, '--to', `sqlite:${database(to)}`, ...args]);
async function start(data: string): Promise<Service> {
  const service = await serveHere(place(data), TRIALS);
  running.push(service);
  return service;
}
const randomize = ({ url }: Service, id: string) => clientOf(url, key).randomize('Sleep', id, COOK);
const takeKey = (to: string) => {
  mkdirSync(place(to), { recursive: true });
  copyFileSync(join(place('home'), 'signing-key'), join(place(to), 'signing-key'));
};

type At = (stream: string, record: string) => boolean;
const AT_ITS_END: At = (_, record) => record.includes('"LogArrived"');
const WHEN_LOG_IS_CLOSED: At = (stream, record) => stream !== 'log' && record.includes('"LogMoved"');

/** Like a mover that dies before it writes this to the target: it has closed every stream, and copied all or some. */
async function beginTo(target: string, dies = AT_ITS_END): Promise<void> {
  const [here, there] = [new SqliteStore(database('home')), new SqliteStore(database(target))];
  const dying = Object.assign(Object.create(there), {
    append: (stream: string, revision: number, records: readonly RecordBytes[]) => {
      if (records.some(({ record }) => dies(stream, String(record)))) throw new Error('died');
      return there.append(stream, revision, records);
    },
    readAll: (after?: Position) => there.readAll(after),
    readStream: (stream: string, from: number) => there.readStream(stream, from),
  });
  const logId = (await logIdIn(here)) ?? '';
  const [from, to] = ['home', target].map((name) => `sqlite:${database(name)}`) as [string, string];
  const moving = moveLog({
    source: here,
    target: dying,
    logId,
    from,
    to,
    actor: OPERATOR,
    tools: systemTools(),
  });
  await expect(moving).rejects.toThrow('died');
  await here.close();
  await there.close();
}

beforeEach(async () => {
  folder = newFolder();
  key = await issueKey(place('home'), 'edc');
  const service = await start('home');
  for (const id of ['a', 'b']) expect((await randomize(service, id)).status).toBe(200);
});
afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
});

describe('a log whose move has begun', () => {
  it('is closed to services and commands, in the source and in the target', async () => {
    const [source] = running as [Service];
    await beginTo('away');
    const forWriting = { parameters: { 'urn.for': 'writing' } };
    await within(HEARD_WITHIN_MS, async () => (await ask(source.url, '/readyz', forWriting)).status === 503);
    expect(await ask(source.url, '/readyz')).toMatchObject({
      status: 200,
      message: expect.stringMatching(/no participants: \d moved$/),
    });
    const { message } = await randomize(source, 'c');
    expect(message).toContain('The log is moved to another store');
    // Where to is the operator's.
    expect(message).not.toContain('sqlite:');
    expect(await command(['studies', 'list', '--data', place('home')])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Sleep .* moved since \S+Z: the log is moved to sqlite:/m),
      stderr: expect.stringContaining(`the log is moved to sqlite:${database('away')}`),
    });
    expect((await clientOf(source.url, key).list('Sleep')).results).toHaveLength(2);
    takeKey('away');
    const target = await serve({ data: place('away'), studies: TRIALS });
    running.push(target);
    expect(target.output.stderr).toContain('this log takes no participants');
    expect((await randomize(target, 'c')).message).toContain('The log is moved to another store');
    for (const args of [
      ['keys', 'add', 'another'],
      ['signing-key', 'rotate', '--reason', 'x'],
      ['studies', 'pause', 'Sleep', '--reason', 'x'],
      ['recover', '--reason', 'x', '--unproven', '--dry-run'],
    ]) {
      const { code, stderr } = await command([...args, '--data', place('home')]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('urn: the log is moved to')]);
    }
    const elsewhere = await copy('elsewhere');
    expect(elsewhere.code).toBe(2);
    expect(elsewhere.stderr).toContain(
      `moved to another store: sqlite:${database('away')} (hint: finish that move`,
    );

    expect((await copy('away')).code).toBe(0);
    await within(HEARD_WITHIN_MS, async () => (await randomize(target, 'c')).status === 200);
    expect((await randomize(source, 'd')).status).toBe(503);
    const late = await copy('away', '--abort');
    expect([late.code, late.stderr]).toEqual([2, expect.stringContaining('has arrived in the target')]);
    expect((await copy('away')).code, 'done is done').toBe(0);
    await target.stop();
    for (const data of ['home', 'away']) {
      const verified = await commandOk(['verify', '--data', place(data)]);
      expect(verified.includes('the log was moved to sqlite:')).toBe(data === 'home');
    }
    expect([...new LogCheck(place('away')).check().participants('Sleep').keys()]).toEqual(['a', 'b', 'c']);
  });

  it('lets a service of the target wait for the rest, even though it knows what was signed', async () => {
    const [source] = running as [Service];
    await beginTo('away', WHEN_LOG_IS_CLOSED);
    const asked = () => clientOf(source.url, key).randomize('Sleep', 'c', COOK);
    await within(HEARD_WITHIN_MS, async () => (await asked()).status === 503);
    await source.stop();
    takeKey('away');
    copyFileSync(join(place('home'), 'last-checkpoints'), join(place('away'), 'last-checkpoints'));
    const target = await start('away');
    expect((await randomize(target, 'c')).message).toContain('The log is moved to another store');
    expect((await copy('away')).code).toBe(0);
    await within(HEARD_WITHIN_MS, async () => (await randomize(target, 'c')).status === 200);
    await within(HEARD_WITHIN_MS, async () => (await ask(target.url, '/readyz')).message === 'Success');
    await target.stop();
    await commandOk(['verify', '--data', place('away')]);
  });

  it('is usable where it was after the move is given up, and can move to a new store', async () => {
    const [source] = running as [Service];
    await beginTo('away');
    await within(HEARD_WITHIN_MS, async () => (await randomize(source, 'c')).status === 503);
    // However the mover ended, it says that nobody takes participants now.
    const [, last] = rowsOf(place('away'), 'access');
    if (!last) throw new Error('access is not closed');
    replaceRows(place('away'), [{ ...last, leaf: Buffer.alloc(32) }]);
    const failed = await copy('away');
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('closed in both stores')]);
    replaceRows(place('away'), [last]);
    const elsewhere = await copy('elsewhere', '--abort');
    expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining('there is no store')]);
    const aborted = await copy('away', '--abort', '--reason', 'the disk failed', '--json');
    expect(JSON.parse(aborted.stdout)).toMatchObject({
      aborted: true,
      reopened: expect.arrayContaining(['log', 'access', 'operations']),
    });
    await within(HEARD_WITHIN_MS, async () => (await randomize(source, 'c')).status === 200);
    expect((await ask(source.url, '/readyz')).status).toBe(200);
    expect(JSON.parse((await copy('away', '--abort', '--json')).stdout).reopened).toEqual([]);
    const dead = await copy('away');
    expect([dead.code, dead.stderr]).toEqual([2, expect.stringContaining('this move was given up')]);
    // The two end differently, and one key signs for both.
    takeKey('away');
    const copied = await openLog({ data: place('away') }, OPERATOR);
    await copied.rebuild();
    expect(() => copied.ledger.checkpoint('log')).toThrow('a copy of the log that was given up');
    expect(['log', 'access'].map((stream) => copied.ledger.maySign(stream))).toEqual([false, true]);
    await copied.close();
    expect((await copy('fresh')).code).toBe(0);
    await source.stop();
    for (const data of ['home', 'fresh']) await commandOk(['verify', '--data', place(data)]);
    const log = new LogCheck(place('fresh')).check();
    expect(log.events('log').map(({ type }) => type)).toEqual([
      'LogCreated',
      'LogMoved',
      'LogReopened',
      'LogMoved',
      'LogArrived',
    ]);
    expect([...log.participants('Sleep').keys()]).toEqual(['a', 'b', 'c']);
  });
});

it('a move detects a record in the target that is not the source’s, and copies nothing more to it', async () => {
  const [source] = running as [Service];
  await source.stop();
  mkdirSync(place('away'));
  const db = new Database(database('home'));
  db.exec(`VACUUM INTO '${database('away')}'`);
  db.close();
  const whole = await copy('away');
  expect([whole.code, whole.stderr]).toEqual([2, expect.stringContaining('already holds this log')]);
  // The state that a mover leaves if it is cut off.
  atTables(place('away'), (tables) => tables.exec("DELETE FROM records WHERE stream = 'log'"));
  const stream = streamOfStudy(place('away'), 'Sleep');
  const changed = altered(rowsOf(place('away'), stream)[2] as ReturnType<typeof rowsOf>[0], (record) => {
    record.at = record.at.replace(/.Z$/, (end: string) => (end === '0Z' ? '1Z' : '0Z'));
  });
  replaceRows(place('away'), [changed]);
  const [dry, real] = [await copy('away', '--dry-run'), await copy('away')];
  for (const { code, stdout, stderr } of [dry, real]) {
    expect(stderr, stdout).toContain(
      `urn: ${stream}, revision 2: the record in the target differs from the one in the source`,
    );
    expect(code).toBe(1);
  }
  expect(new LogCheck(place('home')).check().events('log')).toHaveLength(1);

  replaceRows(place('away'), [{ ...changed, leaf: Buffer.alloc(32) }]);
  const broken = await copy('away');
  expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining('the target cannot be read')]);
});

it('a moved log is not reopened by a backup from before the move', async () => {
  const [source] = running as [Service];
  const before = new Database(database('home'));
  before.exec(`VACUUM INTO '${place('backup')}'`);
  before.close();
  await source.stop();
  const moved = await command(['copy', '--data', place('home'), '--to', `sqlite:${database('away')}`]);
  expect(moved.code, moved.stderr).toBe(0);
  copyFileSync(place('backup'), database('home'));
  const restored = await start('home');
  expect(restored.output.stderr).toContain('this log takes no participants');
  expect((await randomize(restored, 'c')).status).toBe(503);
  await restored.stop();
  const again = await command(['copy', '--data', place('home'), '--to', `sqlite:${database('elsewhere')}`]);
  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringContaining('declare the loss with urn recover'),
  ]);
  const { code, stderr } = await command(['recover', '--data', place('home'), '--reason', 'x']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('that the log was moved to another store')]);
});

it('a log moves to EventStoreDB, and none of the credentials are recorded', async () => {
  const server = await new EventStoreDbServer().start();
  try {
    const [source] = running as [Service];
    await source.stop();
    const url = server.connectionString();
    // A prefix that nobody uses, such as a mistyped one, has no log, and none is begun there.
    const nothing = ['--store', url, '--stream-prefix', 'trails'];
    for (const args of [
      ['copy', '--data', place('home'), '--to', `sqlite:${database('none')}`],
      ['verify'],
    ]) {
      const { code, stderr } = await command([...args, ...nothing]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('there is no log')]);
    }
    const moved = await command(['copy', '--data', place('home'), '--to', url, '--stream-prefix', 'trials']);
    expect(moved.code, moved.stderr).toBe(0);
    const [{ record }] = storedLog(place('home')).filter((one) => one.record.type === 'LogMoved') as [
      StoredText,
    ];
    expect(record.data.to).toMatch(/^esdb:\/\/[^/?@]+:\d+\/?, stream prefix trials$/);
    const secret = { data: '', store: 'esdb://somebody:a%2Fsecret@db:2113?tls=true', streamPrefix: 'trials' };
    expect(plainStore(secret).description).toBe('esdb://db:2113, stream prefix trials');
    takeKey('away');
    const args = ['--store', url, '--stream-prefix', 'trials'];
    const target = await serve({ data: place('away'), studies: TRIALS, args });
    running.push(target);
    expect((await randomize(target, 'c')).status).toBe(200);
    expect((await clientOf(target.url, key).list('Sleep')).results).toHaveLength(3);
    await target.stop();
    await commandOk(['verify', '--data', place('away'), ...args]);
    // On to other streams of the same server.
    const on = await command([
      'copy',
      '--from',
      url,
      ...args.slice(2),
      '--to',
      url,
      '--to-stream-prefix',
      'more',
    ]);
    expect(on.code, on.stderr).toBe(0);
    await commandOk(['verify', '--store', url, '--stream-prefix', 'more']);
  } finally {
    await server.stop();
  }
});

it('a move can be previewed without creating anything', async () => {
  const { code, stdout } = await copy('none', '--dry-run');
  expect(code).toBe(0);
  const [, copied, all] = /^(\d+) of (\d+) records would be copied/.exec(stdout) ?? [];
  expect(Number(copied)).toBeGreaterThan(2);
  // The log is copied when it is closed.
  expect(Number(all) - Number(copied)).toBe(new LogCheck(place('home')).check().events('log').length);
  expect(existsSync(place('none'))).toBe(false);
});

it('urn copy says what is wrong with its arguments', async () => {
  const [source] = running as [Service];
  await source.stop();
  await issueKey(place('other'), 'edc');
  const cases: [string[], string][] = [
    [['--to', `sqlite:${database('home')}`], '--from and --to name the same store'],
    [['--to', `sqlite:${database('other')}`], 'holds another log (hint: --to a fresh store)'],
    [['--to', 'memory:'], 'a log cannot be moved from or to "memory:"'],
    [['--to', 'sqlite:'], 'a log cannot be moved from or to "sqlite:"'],
    [['--to', `sqlite:${database('none')}`, '--abort'], 'there is no store'],
    [['--to', `sqlite:${database('none')}`, '--abort', '--dry-run'], 'cannot be combined'],
    [['--to', `sqlite:${database('none')}`, '--reason', ' '], '--reason must not be empty'],
    [['--to', `sqlite:${database('home')}`, '--from', `sqlite:${database('none')}`], 'there is no log in'],
    [['--to', `sqlite:${database('other')}`, '--abort'], 'holds another log'],
    [[], "required option '--to <url>'"],
  ];
  for (const [args, why] of cases) {
    const { code, stdout, stderr } = await command(['copy', '--data', place('home'), ...args]);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(why)]);
  }
  expect(new LogCheck(place('home')).check().events('log')).toHaveLength(1);
});
