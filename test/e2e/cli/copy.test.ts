/** urn copy, with the real service before and after: what it refuses, giving a move up, and a source that is started by mistake. */
import { copyFileSync, cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemTools } from '../../../src/base/tools.ts';
import { moveLog } from '../../../src/evidence/move/move-log.ts';
import { logIdIn } from '../../../src/evidence/move/standing.ts';
import { openLog } from '../../../src/service/open/open-log.ts';
import { plainStore } from '../../../src/service/open/open-store.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { altered } from '../../support/altered-record.ts';
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
import { atTables, replaceRows, rowsOf, streamOfStudy } from '../audit/database.ts';

const HEARD_WITHIN_MS = 15_000;
const FOR_WRITING = { parameters: { 'urn.for': 'writing' } };
const newFolder = temporaryFolders();
let folder: string;
let key: string;
type Service = Pick<ServiceHere, 'url' | 'output' | 'stop'>;
const running: Service[] = [];

const place = (name: string) => join(folder, name);
const database = (name: string) => join(folder, name, 'urn.sqlite');
const copy = (to: string, ...args: string[]): Promise<Finished> =>
  command(['copy', '--from', `sqlite:${database('home')}`, '--to', `sqlite:${database(to)}`, ...args]);
async function start(data: string, more: Parameters<typeof serveHere>[2] = {}): Promise<Service> {
  const service = await serveHere(place(data), TRIALS, more);
  running.push(service);
  return service;
}
const randomize = ({ url }: Service, id: string) => clientOf(url, key).randomize('Sleep', id, COOK);
const typesIn = (data: string) =>
  new LogCheck(place(data))
    .check()
    .events('log')
    .map(({ type }) => type);
const takeKey = (to: string) => {
  mkdirSync(place(to), { recursive: true });
  for (const file of ['signing-key', 'last-checkpoints'])
    copyFileSync(join(place('home'), file), join(place(to), file));
};

/** Like a mover that dies when the log is closed in both stores. */
async function beginTo(target: string): Promise<void> {
  const [source, there] = [new SqliteStore(database('home')), new SqliteStore(database(target))];
  const tools = { ...systemTools(), pause: () => Promise.reject(new Error('died')) };
  const [from, to] = ['home', target].map((name) => `sqlite:${database(name)}`) as [string, string];
  const logId = (await logIdIn(source)) ?? '';
  const moving = moveLog({ source, target: there, logId, from, to, actor: OPERATOR, tools });
  await expect(moving).rejects.toThrow('died');
  for (const store of [source, there]) await store.close();
}

/** The log from which each test begins. */
const begun = newFolder();
beforeAll(async () => {
  folder = begun;
  key = await issueKey(place('home'), 'edc');
  const service = await start('home');
  for (const id of ['a', 'b']) expect((await randomize(service, id)).status).toBe(200);
  await service.stop();
});
beforeEach(() => {
  folder = newFolder();
  cpSync(begun, folder, { recursive: true });
});
afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
});

it('a log that was moved goes on in the target, and its source says so and takes nothing', async () => {
  const { code, stderr } = await copy('away', '--reason', 'new server');
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(/are the same in both stores, \d+ were copied by this run/);
  takeKey('away');
  const target = await start('away');
  expect((await randomize(target, 'c')).status).toBe(200);
  await target.stop();

  // By mistake.
  const source = await start('home');
  expect(source.output.stderr).toContain('this log takes no participants');
  expect((await ask(source.url, '/readyz', FOR_WRITING)).status).toBe(503);
  expect(await ask(source.url, '/readyz')).toMatchObject({
    status: 200,
    message: expect.stringMatching(/no participants: \d moved$/),
  });
  const { status, message } = await randomize(source, 'c');
  expect([status, message]).toEqual([503, expect.stringContaining('The log is moved to another store')]);
  // Where to is the operator's.
  expect(message).not.toContain('sqlite:');
  expect((await clientOf(source.url, key).list('Sleep')).results).toHaveLength(2);
  await source.stop();
  expect(await command(['studies', 'list', '--data', place('home')])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Sleep .* moved since \S+Z: the log is moved to sqlite:/m),
    stderr: expect.stringContaining(`the log is moved to sqlite:${database('away')}`),
  });
  for (const args of [
    ['keys', 'add', 'another'],
    ['signing-key', 'rotate', '--reason', 'x'],
    ['studies', 'pause', 'Sleep', '--reason', 'x'],
    ['recover', '--reason', 'x', '--unproven'],
  ]) {
    const refused = await command([...args, '--data', place('home')]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('urn: the log is moved to')]);
  }
  const elsewhere = await copy('elsewhere');
  expect([elsewhere.code, elsewhere.stderr]).toEqual([
    2,
    expect.stringContaining(`moved to another store: sqlite:${database('away')}`),
  ]);
  const late = await copy('away', '--abort');
  expect([late.code, late.stderr]).toEqual([2, expect.stringContaining('has arrived in the target')]);
  expect((await copy('away')).code, 'done is done').toBe(0);

  for (const data of ['home', 'away']) {
    const verified = await commandOk(['verify', '--data', place(data)]);
    expect(verified.includes('the log was moved to sqlite:')).toBe(data === 'home');
  }
  expect(typesIn('home')).toEqual(['LogCreated', 'LogMoved']);
  expect(typesIn('away')).toEqual(['LogCreated', 'LogMoved', 'LogArrived']);
  expect([...new LogCheck(place('away')).check().participants('Sleep').keys()]).toEqual(['a', 'b', 'c']);
});

it('a log that a service uses is not moved, but the move can be previewed', async () => {
  const service = await serve({ data: place('home'), studies: TRIALS });
  running.push(service);
  for (const args of [[], ['--stopped']]) {
    const { code, stderr } = await copy('away', ...args);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('another process has this log open (hint: stop every service'),
    ]);
  }
  const { code, stdout } = await copy('away', '--dry-run');
  expect(code).toBe(0);
  const [, copied, all] = /^(\d+) of (\d+) records would be copied/.exec(stdout) ?? [];
  expect(Number(copied)).toBeGreaterThan(2);
  // The records of `log` are not counted.
  expect(Number(all) - Number(copied)).toBe(1);
  expect(existsSync(place('away'))).toBe(false);
  expect((await randomize(service, 'c')).status).toBe(200);
});

describe('a log whose move was interrupted when it was closed', () => {
  it('is closed in both stores until the move is finished', async () => {
    await beginTo('away');
    takeKey('away');
    const target = await start('away');
    expect(target.output.stderr).toContain('this log takes no participants');
    expect((await randomize(target, 'c')).message).toContain('The log is moved to another store');
    expect((await copy('away')).code).toBe(0);
    await within(HEARD_WITHIN_MS, async () => (await randomize(target, 'c')).status === 200);
    await within(HEARD_WITHIN_MS, async () => (await ask(target.url, '/readyz')).message === 'Success');
    await target.stop();
    await commandOk(['verify', '--data', place('away')]);
  });

  it('goes on where it was after the move is given up, and can move to a new store', async () => {
    await beginTo('away');
    // However urn copy ended, it says that nobody takes participants now.
    const last = rowsOf(place('away'), streamOfStudy(place('away'), 'Sleep')).at(-1);
    if (!last) throw new Error('the study was not copied');
    replaceRows(place('away'), [{ ...last, leaf: Buffer.alloc(32) }]);
    const failed = await copy('away');
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('closed in both stores')]);
    const elsewhere = await copy('elsewhere', '--abort');
    expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining('there is no store')]);

    const source = await start('home');
    expect((await randomize(source, 'c')).status).toBe(503);
    const aborted = await copy('away', '--abort', '--reason', 'the disk failed', '--json');
    expect(JSON.parse(aborted.stdout)).toMatchObject({ aborted: true, reopened: ['log'] });
    await within(HEARD_WITHIN_MS, async () => (await randomize(source, 'c')).status === 200);
    expect((await ask(source.url, '/readyz')).status).toBe(200);
    await source.stop();
    expect(JSON.parse((await copy('away', '--abort', '--json')).stdout).reopened).toEqual([]);
    const dead = await copy('away');
    expect([dead.code, dead.stderr]).toEqual([2, expect.stringContaining('this move was given up')]);
    // The two end differently, and one key signs for both.
    mkdirSync(place('away'), { recursive: true });
    copyFileSync(join(place('home'), 'signing-key'), join(place('away'), 'signing-key'));
    const copied = await openLog({ data: place('away') }, OPERATOR);
    await copied.rebuild();
    expect(() => copied.ledger.checkpoint('log')).toThrow('a copy of the log that was given up');
    await copied.close();
    expect((await copy('fresh')).code).toBe(0);
    for (const data of ['home', 'fresh']) await commandOk(['verify', '--data', place(data)]);
    expect(typesIn('fresh')).toEqual(['LogCreated', 'LogMoved', 'LogReopened', 'LogMoved', 'LogArrived']);
    expect([...new LogCheck(place('fresh')).check().participants('Sleep').keys()]).toEqual(['a', 'b', 'c']);
  });
});

it('a move detects a record in the target that is not the source’s, and copies nothing more to it', async () => {
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

  replaceRows(place('home'), [{ ...changed, leaf: Buffer.alloc(32) }]);
  const broken = await copy('elsewhere');
  expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining('leaf hash')]);
});

it('a moved log is not reopened by a backup from before the move', async () => {
  const before = new Database(database('home'));
  before.exec(`VACUUM INTO '${place('backup')}'`);
  before.close();
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
    const target = await start('away', { store: url, streamPrefix: 'trials' });
    expect((await randomize(target, 'c')).status).toBe(200);
    expect((await clientOf(target.url, key).list('Sleep')).results).toHaveLength(3);
    await target.stop();
    await commandOk(['verify', '--data', place('away'), ...args]);
    // On to other streams of the same server.
    const onwards = ['copy', '--from', url, ...args.slice(2), '--to', url, '--to-stream-prefix', 'more'];
    const unsure = await command(onwards);
    expect([unsure.code, unsure.stderr]).toEqual([
      2,
      expect.stringContaining('then confirm it with --stopped'),
    ]);
    const on = await command([...onwards, '--stopped']);
    expect(on.code, on.stderr).toBe(0);
    await commandOk(['verify', '--store', url, '--stream-prefix', 'more']);
  } finally {
    await server.stop();
  }
});

it('urn copy says what is wrong with its arguments', async () => {
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
