/**
 * Commands and services on an EventStoreDB, on one that fails or is restored from a backup, and on a cluster that loses its
 * leader, under load. support/eventstoredb/target.ts says which server the commands meet; the tests' own ones fail on demand.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NO_STREAM } from '../../../src/store/event-store.ts';
import { EventStoreDbStore } from '../../../src/store/eventstoredb/store.ts';
import { withoutFormat } from '../../support/altered-record.ts';
import { seededChoices } from '../../support/choices.ts';
import { clientOf, within } from '../../support/client.ts';
import { command, commandOk, refusal } from '../../support/command.ts';
import { TestCluster } from '../../support/eventstoredb/cluster.ts';
import { type ServerEvent, ServerLog } from '../../support/eventstoredb/log.ts';
import { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { eventStoreDb } from '../../support/eventstoredb/target.ts';
import { freePorts } from '../../support/free-ports.ts';
import { Account, isConnectionError, STUDY_NAMES, startClients } from '../../support/load.ts';
import { begunWith } from '../../support/moving.ts';
import { launch } from '../../support/service.ts';
import {
  expectVerified,
  listOf,
  type Served,
  type SharedLog,
  sharedLogs,
} from '../../support/shared-logs.ts';
import { lines, readAll } from '../../support/store-contract.ts';

const target = await eventStoreDb();
const begin = sharedLogs();
function begun<T extends { start(): Promise<T>; stop(): Promise<void> }>(made: T): Promise<T> {
  onTestFinished(() => made.stop());
  return made.start();
}

describe('a log in EventStoreDB', () => {
  it('is refused to a service with another signing key, which is told what to do', async () => {
    const log = begin(target.connectionString);
    await log.cli('init');
    const elsewhere = ['--data', log.data('b'), '--store', log.store, '--stream-prefix', log.prefix];
    const { code, stderr } = await command(['serve', '--port', '0', ...elsewhere]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/signing key .*is missing \(hint: .*--signing-key/);
  });

  it('is refused by name if it was written before 1.0.0, whoever opens it, and stays as it was', async () => {
    const log = begin(target.connectionString);
    const store = new EventStoreDbStore(log.store, log.prefix);
    onTestFinished(() => store.close());
    await store.append('log', NO_STREAM, [withoutFormat((await readAll(await begunWith()))[0])]);
    const before = lines(await readAll(store));
    const fresh = `sqlite:${join(log.folder, 'fresh.sqlite')}`;
    const where = ['--data', log.data('a'), '--store', log.store, '--stream-prefix', log.prefix];
    for (const args of [
      ['serve', '--port', '0'],
      ['relay', '--kafka-brokers', '127.0.0.1:1'],
      ['keys', 'list'],
      ['verify'],
      ['copy', '--to', fresh],
    ]) {
      const said = await refusal(command([...args, ...where]));
      expect(said).toContain('this log was written before 1.0.0; nothing was changed (hint: ');
    }
    expect(readdirSync(log.folder)).toEqual([]);
    expect(lines(await readAll(store))).toEqual(before);
    const from = ['--from', fresh, '--to', log.store, '--to-stream-prefix', log.prefix];
    await commandOk(['init', '--data', log.folder, '--store', fresh]);
    expect(await refusal(command(['copy', '--data', log.folder, ...from]))).toContain('before 1.0.0');
    expect(lines(await readAll(store))).toEqual(before);
  });

  it('is read by commands that read a log: explain, bundle, operations', async () => {
    const log = begin(target.connectionString);
    const keys = await log.keysOf();
    const service = await log.startHere('a');
    const { results } = await clientOf(service.url, keys.work).randomize('One', '1', { sex: 'F' });
    await service.stop();
    expect(await log.cli('explain', '--study', 'One', '--id', '1')).toContain(results[0].trt);
    const bundle = join(log.folder, 'one.zip');
    await log.cli('bundle', '--study', 'One', '--content', 'blinded', '--out', bundle);
    expect((await command(['verify', '--bundle', bundle])).code).toBe(0);
    const operations = await commandOk(['operations', '--store', log.store, '--stream-prefix', log.prefix]);
    expect(operations).toMatch(/started.*\n(.*\n)*.*stopped/);
  });

  it('is never named with the store’s password, nor waited for if a certificate is missing', async () => {
    const { port } = await begun(new EventStoreDbServer());
    const store = `esdb://admin:changeit7@127.0.0.1:${port}?tls=true`;
    const { code, stdout, stderr } = await command(['studies', 'list', '--store', store]);
    expect(code).toBe(2);
    expect(stderr).toContain('tlsCAFile');
    expect(stderr + stdout).not.toMatch(/changeit7|waiting for the store/);
  });
});

/**
 * Two services under load: whatever happens, nothing is lost or there twice. How soon appends are accepted again:
 * test/integration/store/eventstoredb-cluster.test.ts.
 */
async function surviving(log: SharedLog, happen: () => Promise<unknown>) {
  const keys = await log.keysOf();
  const choices = seededChoices();
  const account = new Account(choices);
  const instances = await Promise.all(['a', 'b'].map((name) => log.startHere(name)));
  const targets = instances.map(({ url }) => ({ url, key: keys.work }));
  const clients = startClients(account, choices, targets, 6, { pauseMs: 50 });
  await happen();
  clients.stop();
  expect((await clients.done).filter((error) => !isConnectionError(error))).toEqual([]);
  for (const { url } of instances.slice(0, 1)) await account.settle(url, keys.work);
  for (const study of STUDY_NAMES)
    for (const one of instances) {
      const list = () => listOf(one, keys.audit, study);
      const count = account.acknowledgedIn(study);
      await within(30_000, async () => (await list()).length === count);
      account.agreesWithList(study, await list());
    }
  for (const service of instances) await service.stop();
  await expectVerified(log);
  // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
  console.info('a store that fails', { acknowledged: account.acknowledged, repeats: account.repeats });
  return instances;
}

describe('services neither lose nor duplicate anything', () => {
  it('when their server crashes under load and comes back', async () => {
    const server = await begun(new EventStoreDbServer());
    await surviving(begin(server.connectionString()), async () => {
      await delay(700);
      for (let crash = 0; crash < 3; crash++) {
        await server.stop();
        await delay(300);
        await server.start();
        server.appends.next('writes-and-drops', 'none', 'times-out', 'drops', { lateMs: 200 });
        await delay(1200);
      }
    });
  });

  it('when leaders of their cluster hang, are cut off and resign under load', async () => {
    const cluster = await begun(new TestCluster({ noticeMs: 800, electMs: 400 }));
    const instances = await surviving(begin(cluster.connectionString()), async () => {
      await delay(1000);
      const frozen = cluster.leader;
      await cluster.freezeLeader();
      await delay(1500);
      await cluster.thaw(frozen);
      const join = await cluster.splitLeader();
      await delay(1500);
      join();
      await cluster.resignLeader();
      await delay(1000);
    });
    // An election is no alarm.
    for (const { output } of instances)
      expect(output.stderr).not.toMatch(
        /hint: stop all instances|has lost records|cannot be read any further/,
      );
  });
});

describe('a store that is out of reach is waited for', () => {
  it('by a service that starts: it says so at /readyz, goes on once the store is there, and ends at SIGTERM', async () => {
    const server = await begun(new EventStoreDbServer());
    await server.stop();
    const log = begin(server.connectionString());
    const [port = 0] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const starting = () => launch({ data: log.data('a'), args: [...log.where, '--port', String(port)] });
    const ask = async (path: string) => {
      const response = await fetch(url + path).catch(() => undefined);
      return [response?.status, await response?.text()];
    };
    const stopped = starting();
    onTestFinished(() => void stopped.child.kill('SIGKILL'));
    await within(60_000, async () => (await ask('/healthz'))[0] === 200);
    expect(await ask('/readyz')).toEqual([
      503,
      expect.stringContaining('is starting and waits for its store'),
    ]);
    expect((await ask('/study_participants'))[0]).toBe(503);
    stopped.child.kill('SIGTERM');
    expect(await stopped.exited).toBe(0);
    expect(stopped.output.stderr).toMatch(/ECONNREFUSED.*waiting for it/);

    const service = starting();
    onTestFinished(() => void service.child.kill('SIGKILL'));
    await within(60_000, async () => (await ask('/healthz'))[0] === 200);
    await server.start();
    await within(60_000, async () => (await ask('/readyz'))[0] === 200);
    service.child.kill('SIGTERM');
    expect(await service.exited).toBe(0);
  });

  it('by one that reads its log when the leader falls silent or nobody leads, and by commands', async () => {
    const cluster = await begun(new TestCluster());
    const log = begin(cluster.connectionString());
    const keys = await log.keysOf();
    const { leader } = cluster;
    // After what opens the log.
    leader.reads.next('none', 'none', 'none');
    leader.reads.always = 'never-answers';
    const starting = log.startHere('a');
    await within(60_000, async () => leader.lookedAt > 0);
    for (const node of cluster.nodes) node.leader = 'unknown';
    const listed = log.run('keys', 'list');
    await delay(6000);
    leader.reads.clear();
    for (const node of cluster.nodes) node.leader = node === leader ? undefined : leader;
    const service = await starting;
    expect(service.output.stderr).toContain('the store is out of reach: waiting for it');
    expect((await clientOf(service.url, keys.work).randomize('One', '1', { sex: 'F' })).status).toBe(200);
    const { code, stdout, stderr } = await listed;
    expect([code, stdout]).toEqual([0, expect.stringContaining('edc')]);
    expect(stderr).toContain('waiting for the store, for at most 60 s');
  });
});

it('a subscription that the server ends is a line at debug and counted; an error only if the store stays away', async () => {
  const server = await begun(new EventStoreDbServer());
  const service = await begin(server.connectionString()).startHere('a', 'debug');
  const level = (text: string) =>
    service.output.stderr.split('\n').flatMap((line) => (line.includes(text) ? JSON.parse(line).level : []));
  server.endSubscriptions('as-too-slow');
  await within(30_000, async () => level('Consumer too slow').length > 0);
  expect(level('Consumer too slow')).toEqual([20]);
  await within(30_000, async () => (await fetch(`${service.url}/readyz?urn.for=writing`)).status === 200);
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).toContain('\nurn_follow_interruptions_total 1\n');
  expect(level('cannot be followed')).toEqual([]);
  await server.stop();
  await within(60_000, async () => level('cannot be followed').includes(50));
  await server.start();
});

/** A log with two participants in One, all of it noted as signed, and the server that has it. */
async function signed() {
  const server = await begun(new EventStoreDbServer());
  const log = begin(server.connectionString());
  const keys = await log.keysOf();
  const service = await log.startHere('a');
  const enrol = (of: Served, study: string, id: string) => {
    const levels = study === 'One' ? { sex: 'F' } : { sex: 'F', site: '11' };
    return clientOf(of.url, keys.work).randomize(study, id, levels);
  };
  expect((await enrol(service, 'Two', '1')).status).toBe(200);
  expect((await enrol(service, 'One', '1')).status).toBe(200);
  const before = server.log.all.slice();
  expect((await enrol(service, 'One', '2')).status).toBe(200);
  const kept = join(log.data('a'), 'last-checkpoints');
  await within(15_000, async () => existsSync(kept) && /study-\S+\n3\n/.test(readFileSync(kept, 'utf8')));
  return { server, log, service, enrol, before, last: before.at(-1)?.position };
}

describe('a service whose store knows less than it did', () => {
  it('for a moment, at its start, reads again and accepts participants', async () => {
    const { server, log, service, enrol, last } = await signed();
    await service.stop();
    server.knowUpTo(last);
    const starting = log.startHere('a');
    // It has read all that is known, and what was signed last is missing.
    await within(30_000, async () => server.lookedAt > 0);
    await delay(1000);
    server.knowUpTo(undefined);
    const again = await starting;
    expect(again.output.stderr).not.toContain('this log takes no participants');
    expect((await enrol(again, 'One', '3')).status).toBe(200);
    await again.stop();
    await expectVerified(log);
  });

  it('permanently, while it runs, refuses all writes and signatures with the reason, as after a restart', async () => {
    const { server, log, service, enrol, last } = await signed();
    server.knowUpTo(last);
    await within(40_000, async () => service.output.stderr.includes('has lost records'));
    for (const study of ['One', 'Two']) {
      const message = expect.stringMatching(/^Not done: the log lacks records that it had/);
      expect(await enrol(service, study, '9')).toMatchObject({ status: 503, message });
    }
    expect(service.output.stderr).toMatch(/ends before what was read from it/);
    expect(service.output.stderr).toContain('restore the newest copy, or declare the loss with urn recover');
    expect(service.output.stderr.match(/has lost records/g)).toHaveLength(1);
    await service.stop();
    const again = await log.startHere('a');
    expect((await enrol(again, 'Two', '9')).status).toBe(503);
    expect(again.output.stderr).toContain('this log takes no participants');
  });

  it('since it was restored from a backup, continues once the loss is declared', async () => {
    const { server, log, service, enrol, before } = await signed();
    await service.stop();
    await server.stop();
    await begun(new EventStoreDbServer({ log: logOf(before), port: server.port }));
    const again = await log.startHere('a');
    expect((await enrol(again, 'One', '3')).status).toBe(503);
    await again.stop();
    const recover = (...args: string[]) =>
      command(['recover', '--reason', 'a test', '--data', log.data('a'), ...log.where, ...args]);
    const careful = await recover();
    expect([careful.code, careful.stderr]).toEqual([2, expect.stringContaining('--stopped')]);
    expect((await recover('--stopped')).stdout).toMatch(/study-\S+ +2 +3 +at least 1 +One/);
    const after = await log.startHere('a');
    expect((await enrol(after, 'One', '3')).status).toBe(200);
    await after.stop();
    await expectVerified(log);
  });
});

/** A server's log with nothing but these events in it. */
function logOf(events: readonly ServerEvent[]): ServerLog {
  const log = new ServerLog();
  for (const event of events) log.append(event.stream, event.revision - 1, [event]);
  return log;
}
