/** urn copy, with the real service before and after: what it refuses, a move that was cut off, and a source that is started by mistake. */
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { plainStore } from '../../../src/service/open/open-store.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { hasPython, verifyBoth } from '../../support/altered-bundles.ts';
import { commandsOn, saidIn } from '../../support/cli-log.ts';
import { ask, clientOf, within } from '../../support/client.ts';
import { command, commandOk, refusal } from '../../support/command.ts';
import { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { LogCheck } from '../../support/log-check.ts';
import { closeLog } from '../../support/moving.ts';
import { type Finished, issueKey, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';
import { replaceRows, rowsOf, streamOfStudy } from '../audit/database.ts';

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
/** A copy that is refused. */
async function refused([to = '', ...args]: readonly string[], code: number, why: string): Promise<void> {
  expect(await copy(to, ...args)).toMatchObject({ code, stderr: expect.stringContaining(why) });
}
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

/** A move that is cut off when the log is closed in both stores. */
async function beginTo(target: string): Promise<void> {
  const [source, there] = [new SqliteStore(database('home')), new SqliteStore(database(target))];
  await closeLog(source, there, [`sqlite:${database('home')}`, `sqlite:${database(target)}`]);
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
  folder = newFolder(begun);
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
  expect([status, message]).toEqual([503, expect.stringContaining('the log is moved to another store')]);
  // Where to is the operator's.
  expect(message).not.toContain('sqlite:');
  expect((await clientOf(source.url, key).list('Sleep')).results).toHaveLength(2);
  await source.stop();
  expect(await command(['studies', 'list', '--data', place('home')])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Sleep .* moved since \S+Z: the log is moved to sqlite:/m),
    stderr: expect.stringContaining(`the log is moved to sqlite:${database('away')}`),
  });
  for (const line of ['keys add another', 'signing-key rotate --reason x']) {
    const said = await refusal(command([...line.split(' '), '--data', place('home')]));
    expect(said, line).toContain('urn: the log is moved to');
  }
  await refused(['elsewhere'], 2, `moved to another store: sqlite:${database('away')}`);
  expect((await copy('away')).code, 'done is done').toBe(0);

  for (const data of ['home', 'away']) {
    const verified = await commandOk(['verify', '--data', place(data)]);
    expect(verified.includes('the log was moved to sqlite:')).toBe(data === 'home');
  }
  expect(typesIn('home')).toEqual(['LogCreated', 'LogMoved']);
  expect(typesIn('away')).toEqual(['LogCreated', 'LogMoved', 'LogArrived']);
  expect([...new LogCheck(place('away')).check().participants('Sleep').keys()]).toEqual(['a', 'b', 'c']);
  if (!hasPython) return;
  const bundle = place('bundle.zip');
  await commandOk(['bundle', '--study', 'Sleep', '--data', place('away'), '--out', bundle]);
  expect((await verifyBoth(bundle)).code).toBe(0);
});

it('a log that a service uses is not moved, but the move can be previewed', async () => {
  const service = await serve({ data: place('home'), studies: TRIALS });
  running.push(service);
  for (const args of [[], ['--stopped']])
    await refused(['away', ...args], 2, 'another process has this log open (hint: stop every service');
  const { code, stdout } = await copy('away', '--dry-run');
  expect(code).toBe(0);
  const [, copied, all] = /^(\d+) of (\d+) records would be copied/.exec(stdout) ?? [];
  expect(Number(copied)).toBeGreaterThan(2);
  // The records of `log` are not counted.
  expect(Number(all) - Number(copied)).toBe(1);
  expect(existsSync(place('away'))).toBe(false);
  expect((await randomize(service, 'c')).status).toBe(200);
});

it('a move that was cut off when the log was closed is finished by running it again', async () => {
  await beginTo('away');
  await refused(['elsewhere'], 2, `moved to another store: sqlite:${database('away')}`);
  expect(existsSync(database('elsewhere'))).toBe(false);
  // However urn copy ends, it says that nobody takes participants now.
  copyFileSync(database('away'), place('intact'));
  const last = rowsOf(place('away'), streamOfStudy(place('away'), 'Sleep')).at(-1);
  if (!last) throw new Error('the study was not copied');
  replaceRows(place('away'), [{ ...last, leaf: Buffer.alloc(32) }]);
  await refused(['away'], 1, 'closed in both stores');
  copyFileSync(place('intact'), database('away'));

  takeKey('away');
  const target = await start('away');
  expect(target.output.stderr).toContain('this log takes no participants');
  expect((await randomize(target, 'c')).message).toContain('the log is moved to another store');
  expect((await copy('away')).code).toBe(0);
  await within(HEARD_WITHIN_MS, async () => (await randomize(target, 'c')).status === 200);
});

it('a log whose target was lost goes on where it was, as another log to whoever has its checkpoints', async () => {
  await beginTo('away');
  rmSync(place('away'), { recursive: true });
  const recover = ['recover', '--data', place('home'), '--reason', 'the disk of away failed'];
  const why = `the log was moved to sqlite:${database('away')} and goes on there, not here (hint: run urn copy again`;
  expect(await refusal(command(recover))).toContain(why);
  expect((await command([...recover, '--dry-run'])).stderr).toContain(why);
  expect(await commandOk([...recover, '--not-moved'])).toContain('recovery 1 is declared');
  expect(typesIn('home')).toEqual(['LogCreated', 'LogMoved', 'LogRecovered']);
  const source = await start('home');
  expect((await randomize(source, 'c')).status).toBe(200);
  await source.stop();
  const events = new LogCheck(place('home')).check().events(streamOfStudy(place('home'), 'Sleep'));
  expect(events.map(({ type }) => type).slice(-2)).toEqual(['StudyRecovered', 'ParticipantRandomized']);
  expect(await commandOk(['verify', '--data', place('home')])).not.toContain('the log was moved to');
  expect((await copy('fresh')).code).toBe(0);
  if (!hasPython) return;
  const bundle = place('bundle.zip');
  await commandOk(['bundle', '--study', 'Sleep', '--data', place('home'), '--out', bundle]);
  expect((await verifyBoth(bundle)).code).toBe(0);
});

it('a moved log is not reopened by a backup from before the move', async () => {
  const before = new Database(database('home'));
  before.exec(`VACUUM INTO '${place('backup')}'`);
  before.close();
  const { run, ok } = commandsOn(place('home'));
  await ok`copy --to sqlite:${database('away')}`;
  copyFileSync(place('backup'), database('home'));
  const restored = await start('home');
  expect(restored.output.stderr).toContain('this log takes no participants');
  expect((await randomize(restored, 'c')).status).toBe(503);
  await restored.stop();
  const lost = await refusal(run`copy --to sqlite:${database('elsewhere')}`);
  expect(lost).toContain('declare the loss with urn recover');
  expect(await refusal(run`recover --reason x`)).toContain('that the log was moved to another store');
});

it('a log moves to EventStoreDB and on to other streams there, and none of the credentials are recorded', async () => {
  const server = await new EventStoreDbServer().start();
  try {
    const url = server.connectionString();
    const at = ['--store', url, '--stream-prefix', 'trials'];
    const run = async (...args: string[]) => saidIn(await command(args));
    expect(await run('copy', '--data', place('home'), '--to', url, ...at.slice(2))).toMatch(/^0 /);
    const moved = storedLog(place('home')).find(({ record }) => record.type === 'LogMoved');
    expect(moved?.record.data.to).toMatch(/^esdb:\/\/[^/?@]+:\d+\/?, stream prefix trials$/);
    const secret = { data: '', store: 'esdb://somebody:a%2Fsecret@db:2113?tls=true', streamPrefix: 'trials' };
    expect(plainStore(secret).description).toBe('esdb://db:2113, stream prefix trials');
    takeKey('away');
    const target = await start('away', { store: url, streamPrefix: 'trials' });
    expect((await randomize(target, 'c')).status).toBe(200);
    await target.stop();
    expect(await run('verify', '--data', place('away'), ...at)).toMatch(/^0 /);
    const onwards = ['copy', '--from', url, ...at.slice(2), '--to', url, '--to-stream-prefix', 'more'];
    expect(await run(...onwards)).toMatch(/^2 [\s\S]*then confirm it with --stopped/);
    expect(await run(...onwards, '--stopped')).toMatch(/^0 /);
    expect(await run('verify', '--store', url, '--stream-prefix', 'more')).toMatch(/^0 /);
  } finally {
    await server.stop();
  }
});

it('urn copy says what is wrong with its arguments', async () => {
  await issueKey(place('other'), 'edc');
  for (const [args, why] of [
    [['--to', `sqlite:${database('home')}`], '--from and --to name the same store'],
    [['--to', `sqlite:${database('other')}`], 'holds another log (hint: --to a fresh store)'],
    [['--to', 'memory:'], 'a log cannot be moved from or to "memory:"'],
    [['--to', `sqlite:${database('none')}`, '--reason', ' '], '--reason must not be empty'],
    [['--to', `sqlite:${database('home')}`, '--from', `sqlite:${database('none')}`], 'there is no log in'],
  ] as const)
    expect(await refusal(command(['copy', '--data', place('home'), ...args]))).toContain(why);
  expect(new LogCheck(place('home')).check().events('log')).toHaveLength(1);
});
