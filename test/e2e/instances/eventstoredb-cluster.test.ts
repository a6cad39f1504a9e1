/** Services on a cluster of EventStoreDB that loses its leader, or is restored from a backup, under load. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { clientOf, within } from '../../support/client.ts';
import { TestCluster } from '../../support/eventstoredb/cluster.ts';
import {
  eventStoreDbLogs,
  expectVerified,
  listOf,
  type Served,
} from '../../support/eventstoredb/instances.ts';
import { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { Account, isConnectionError, STUDY_NAMES, startClients } from '../../support/load.ts';

const FOLLOWED_AT_LAST_MS = 30_000;
/** The aim is eight seconds; the rest is for a machine that is busy with other tests. */
const TAKEN_AGAIN_WITHIN_MS = 12_000;
const CONFIRMED_WITHIN_MS = 40_000;

const begin = eventStoreDbLogs();
const opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop();
});

/** Lines of the service's log that must not come from an election. */
function expectNoAlarm(service: Served): void {
  expect(service.output.stderr).not.toMatch(
    /hint: stop all instances|has lost records|cannot be read any further/,
  );
}

describe('services on a cluster', () => {
  it('neither lose nor duplicate anything when leaders hang, are cut off and resign under load', async () => {
    const cluster = await new TestCluster({ noticeMs: 800, electMs: 400 }).start();
    opened.push(cluster);
    const log = begin(cluster.connectionString());
    const keys = await log.keysOf();
    const choices = seededChoices();
    const account = new Account(choices);
    const instances = await Promise.all([log.start('a'), log.start('b')]);
    const targets = instances.map(({ url }) => ({ url, key: keys.work }));
    const clients = startClients(account, choices, targets, 12);
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
    clients.stop();
    expect((await clients.done).filter((error) => !isConnectionError(error))).toEqual([]);
    const [a] = targets;
    if (a) await account.settle(a.url, a.key);
    for (const study of STUDY_NAMES) {
      const counts = async () =>
        Promise.all(instances.map(async (one) => (await listOf(one, keys.audit, study)).length));
      await within(FOLLOWED_AT_LAST_MS, async () => new Set(await counts()).size === 1);
      for (const one of instances) account.agreesWithList(study, await listOf(one, keys.audit, study));
    }
    for (const one of instances) expectNoAlarm(one);
    for (const service of instances) await service.stop();
    await expectVerified(log);
    // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
    console.info('a cluster that fails', { acknowledged: account.acknowledged, repeats: account.repeats });
  });

  it('accept participants again in time when the leader hangs, with the timings of a real election', async () => {
    const cluster = await new TestCluster().start();
    opened.push(cluster);
    const log = begin(cluster.connectionString());
    const keys = await log.keysOf();
    const service = await log.startHere('a');
    const enrol = (id: string) => clientOf(service.url, keys.work).randomize('One', id, { sex: 'F' });
    expect((await enrol('1')).status).toBe(200);
    const began = performance.now();
    const electing = cluster.freezeLeader();
    for (let id = 2; (await enrol(String(id))).status !== 200; id++) await delay(50);
    const tookMs = performance.now() - began;
    // biome-ignore lint/suspicious/noConsole: the figure is what the test is about
    console.info('a silent leader', { tookMs: Math.round(tookMs) });
    expect(tookMs).toBeLessThan(TAKEN_AGAIN_WITHIN_MS);
    await electing;
    expectNoAlarm(service);
    await service.stop();
    await expectVerified(log);
  });
});

/** A log with two participants in One, all of it noted as signed, and the server that has it. */
async function signed() {
  const server = await new EventStoreDbServer().start();
  opened.push(server);
  const log = begin(server.connectionString());
  const keys = await log.keysOf();
  const service = await log.start('a');
  const enrol = (of: Served, study: string, id: string) =>
    clientOf(of.url, keys.work).randomize(
      study,
      id,
      study === 'One' ? { sex: 'F' } : { sex: 'F', site: '11' },
    );
  expect((await enrol(service, 'Two', '1')).status).toBe(200);
  expect((await enrol(service, 'One', '1')).status).toBe(200);
  const before = server.log.all.at(-1)?.position;
  expect((await enrol(service, 'One', '2')).status).toBe(200);
  const kept = join(log.data('a'), 'last-checkpoints');
  await within(15_000, async () => existsSync(kept) && /study-\S+\n3\n/.test(readFileSync(kept, 'utf8')));
  return { server, log, service, enrol, before };
}

describe('a service whose store knows less than it did', () => {
  it('for a moment, at its start, reads again and accepts participants', async () => {
    const { server, log, service, enrol, before } = await signed();
    await service.kill();
    server.knowUpTo(before);
    const starting = log.start('a');
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
    const { server, log, service, enrol, before } = await signed();
    server.knowUpTo(before);
    await within(CONFIRMED_WITHIN_MS, async () => service.output.stderr.includes('has lost records'));
    for (const study of ['One', 'Two']) {
      const refused = await enrol(service, study, '9');
      expect([refused.status, refused.message]).toEqual([
        503,
        expect.stringMatching(/^Not done: The log lacks records that it had/),
      ]);
    }
    expect(service.output.stderr).toMatch(/ends before what was read from it/);
    expect(service.output.stderr).toMatch(
      /hint: restore the newest copy, or declare the loss with urn recover/,
    );
    expect(service.output.stderr.match(/has lost records/g)).toHaveLength(1);
    await service.kill();
    const again = await log.startHere('a');
    expect((await enrol(again, 'Two', '9')).status).toBe(503);
    expect(again.output.stderr).toContain('this log takes no participants');
  });
});
