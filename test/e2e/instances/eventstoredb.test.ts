/**
 * Services on several machines, as far as one machine can show it: separate data folders, one EventStoreDB, one signing
 * key. support/eventstoredb/target.ts says which server that is.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { ask, clientOf, within } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import {
  eventStoreDbLogs,
  expectVerified,
  listOf,
  type Served,
} from '../../support/eventstoredb/instances.ts';
import { type ServerEvent, ServerLog } from '../../support/eventstoredb/log.ts';
import { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { eventStoreDb } from '../../support/eventstoredb/target.ts';
import { Account, isConnectionError, STUDY_NAMES, startClients } from '../../support/load.ts';
import { launch } from '../../support/service.ts';

/** How soon an instance shows what another one wrote, in ms. Single times may be longer on a machine that is busy. */
const FOLLOWED_WITHIN_MS = 1000;
const FOLLOWED_AT_LAST_MS = 15_000;

const target = await eventStoreDb();
/** The tests' own server, since it can be made to fail. */
const server = await new EventStoreDbServer().start();
const begin = eventStoreDbLogs();
const newLog = (store = target.connectionString) => begin(store);
afterEach(() => server.appends.clear());
afterAll(() => Promise.all([server.stop(), target.stop()]));

describe('services on one EventStoreDB', () => {
  it('begin one log and register each study once, whichever is first', async () => {
    const log = newLog();
    const both = await Promise.all([log.start('a'), log.start('b')]);
    const identities = both.map(({ output }) => /"logId":"[^"]+"/.exec(output.stderr)?.[0]);
    expect(identities[0]).toBeDefined();
    expect(identities[0]).toBe(identities[1]);
    expect(both.map(({ output }) => output.stderr.includes('suspended'))).toEqual([false, false]);
    const registered = both.flatMap(({ output }) => output.stderr.match(/"msg":"study registered"/g) ?? []);
    expect(registered).toHaveLength(STUDY_NAMES.length);
    for (const service of both) await service.stop();
    await expectVerified(log);
  });

  it('are refused with another signing key, and told what to do', async () => {
    const log = newLog();
    await log.startHere('a');
    const elsewhere = ['--store', log.store, '--stream-prefix', log.prefix];
    const other = launch({ data: log.data('b'), args: elsewhere });
    expect(await other.exited).toBe(2);
    expect(other.output.stderr).toMatch(/signing key .*is missing \(hint: .*--signing-key/);
  });

  it('serve one study from four processes, strictly in sequence', async () => {
    const log = newLog();
    const keys = await log.keysOf();
    const choices = seededChoices();
    const account = new Account(choices);
    const instances = await Promise.all(['a', 'b', 'c', 'd'].map((name) => log.start(name)));
    const targets = instances.map(({ url }) => ({ url, key: keys.work }));
    const clients = startClients(account, choices, targets, 32, { studies: ['One'] });
    await delay(1500);
    clients.stop();
    expect(await clients.done).toEqual([]);
    expect(account.open).toEqual([]);
    // Any of them may have to follow the others first.
    for (const service of instances) {
      await within(
        FOLLOWED_AT_LAST_MS,
        async () => (await listOf(service, keys.work, 'One')).length === account.acknowledged,
      );
      account.agreesWithList('One', await listOf(service, keys.work, 'One'));
    }
    for (const service of instances) await service.stop();
    await expectVerified(log);
  });

  it('follow each other’s participants, keys and pauses, and at once with urn.min_revision', async () => {
    const log = newLog();
    const keys = await log.keysOf();
    const [a, b] = await Promise.all([log.start('a'), log.startHere('b')]);
    const tookMs: number[] = [];
    const soon = async (isSo: () => Promise<boolean>) => tookMs.push(await within(FOLLOWED_AT_LAST_MS, isSo));
    const at = ({ url }: Served) => clientOf(url, keys.work);

    const written = await at(a).randomize('One', '1', { sex: 'F' });
    const revision = written.headers.get('urn-revision') ?? '';
    expect((await at(b).list('One', { 'urn.min_revision': revision })).results).toEqual(written.results);
    expect((await at(b).randomize('One', '1', { sex: 'F' })).message).toContain('already assigned');
    await at(a).randomize('One', '1b', { sex: 'M' });
    await soon(async () => (await at(b).list('One')).results.length === 2);

    const key = (await log.cli('keys', 'add', 'visitor')).trimEnd();
    const keyId = /^(\S+).*visitor/m.exec(await log.cli('keys', 'list'))?.[1] ?? '';
    const status = (service: Served) => async () =>
      (await ask(service.url, '/study_config', { key, parameters: { study: 'One' } })).status;
    for (const service of [a, b]) await soon(async () => (await status(service)()) === 200);
    await log.cli('keys', 'revoke', keyId);
    for (const service of [a, b]) await soon(async () => (await status(service)()) === 401);

    await log.cli('studies', 'pause', 'One', '--reason', 'audit');
    for (const service of [a, b])
      await soon(async () => (await at(service).randomize('One', '2', { sex: 'F' })).status === 409);
    await log.cli('studies', 'resume', 'One', '--reason', 'done');
    await soon(async () => (await at(b).randomize('One', '2', { sex: 'F' })).status === 200);

    const file = join(log.folder, 'later.yaml');
    writeFileSync(file, 'Later:\n  mode: test\n  treatments: [a, b]\n  factors: {sex: [F, M]}\n');
    await log.cli('studies', 'register', '--studies', file);
    for (const [i, service] of [a, b].entries())
      await soon(async () => (await at(service).randomize('Later', String(i), { sex: 'F' })).status === 200);
    expect(tookMs.toSorted((x, y) => x - y)[tookMs.length >> 1]).toBeLessThan(FOLLOWED_WITHIN_MS);
    await Promise.all([a.stop(), b.stop()]);
    await expectVerified(log);
  });

  it('support every command that reads a log: list, show, explain, bundle, operations', async () => {
    const log = newLog();
    const keys = await log.keysOf();
    const service = await log.startHere('a');
    const { results } = await clientOf(service.url, keys.work).randomize('One', '1', { sex: 'F' });
    await service.stop();
    expect(await log.cli('studies', 'list')).toContain('One');
    expect(await log.cli('studies', 'show', 'One')).toMatch(/participants +1 participant/);
    expect(await log.cli('explain', '--study', 'One', '--id', '1')).toContain(results[0].trt);
    const bundle = join(log.folder, 'one.zip');
    await log.cli('bundle', '--study', 'One', '--content', 'blinded', '--out', bundle);
    expect((await command(['verify', '--bundle', bundle])).code).toBe(0);
    const operations = await commandOk(['operations', '--store', log.store, '--stream-prefix', log.prefix]);
    expect(operations).toMatch(/started.*\n(.*\n)*.*stopped/);
    const elsewhere = await command(['verify', '--store', log.store, '--stream-prefix', 'nobody']);
    expect(elsewhere.code).toBe(2);
    expect(elsewhere.stderr).toMatch(/there is no log in .*stream prefix nobody.*--stream-prefix/);
  });

  it('never show the store’s password', async () => {
    const refused = await command([
      'studies',
      'list',
      '--store',
      'esdb://admin:changeit7@127.0.0.1:1?tls=true',
    ]);
    expect(refused.code).toBe(2);
    expect(refused.stderr + refused.stdout).not.toContain('changeit7');
  });
});

describe('services on a server that fails', () => {
  it('neither lose nor duplicate anything when it crashes under load and comes back', async () => {
    const log = newLog(server.connectionString());
    const keys = await log.keysOf();
    const choices = seededChoices();
    const account = new Account(choices);
    const instances = await Promise.all([log.start('a'), log.start('b')]);
    const targets = instances.map(({ url }) => ({ url, key: keys.work }));
    const clients = startClients(account, choices, targets, 16);
    await delay(700);
    for (let crash = 0; crash < 3; crash++) {
      await server.stop();
      await delay(300);
      await server.start();
      server.appends.next('writes-and-drops', 'none', 'times-out', 'drops', { lateMs: 200 });
      await delay(1200);
    }
    clients.stop();
    const failures = await clients.done;
    expect(failures.filter((error) => !isConnectionError(error))).toEqual([]);
    const [a] = targets;
    if (a) await account.settle(a.url, a.key);
    for (const study of STUDY_NAMES) {
      const count = account.acknowledgedIn(study);
      for (const one of instances) {
        await within(
          FOLLOWED_AT_LAST_MS,
          async () => (await listOf(one, keys.audit, study)).length === count,
        );
        account.agreesWithList(study, await listOf(one, keys.audit, study));
      }
    }
    for (const service of instances) await service.stop();
    await expectVerified(log);
    // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
    console.info('a server that fails', { acknowledged: account.acknowledged, repeats: account.repeats });
  });

  it('notice that it was restored from a backup, and continue once the loss is declared', async () => {
    const own = await new EventStoreDbServer().start();
    const log = newLog(own.connectionString());
    const keys = await log.keysOf();
    const first = await log.start('a');
    await clientOf(first.url, keys.work).randomize('One', '1', { sex: 'F' });
    const backup = own.log.all.slice();
    await clientOf(first.url, keys.work).randomize('One', '2', { sex: 'M' });
    const kept = join(log.data('a'), 'last-checkpoints');
    await within(15_000, async () => existsSync(kept) && /study-\S+\n3\n/.test(readFileSync(kept, 'utf8')));
    await first.kill();
    await own.stop();
    const restored = await new EventStoreDbServer({ log: logOf(backup), port: own.port }).start();
    try {
      const again = await log.startHere('a');
      expect((await clientOf(again.url, keys.work).randomize('One', '3', { sex: 'F' })).status).toBe(503);
      await again.stop();
      const recover = (...args: string[]) =>
        command(['recover', '--reason', 'a test', '--data', log.data('a'), ...log.where, ...args]);
      const careful = await recover();
      expect(careful.code).toBe(2);
      expect(careful.stderr).toContain('--stopped');
      expect((await recover('--stopped')).stdout).toMatch(/study-\S+ +2 +3 +at least 1 +One/);
      const after = await log.startHere('a');
      expect((await clientOf(after.url, keys.work).randomize('One', '3', { sex: 'F' })).status).toBe(200);
      await after.stop();
      await expectVerified(log);
    } finally {
      await restored.stop();
    }
  });
});

/** A server's log with nothing but these events in it. */
function logOf(events: readonly ServerEvent[]): ServerLog {
  const log = new ServerLog();
  for (const event of events) log.append(event.stream, event.revision - 1, [event]);
  return log;
}
