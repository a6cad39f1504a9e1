/**
 * Several services on one log: two processes on one SQLite file, and services on several machines, as far as one machine can
 * show it: separate data folders, one EventStoreDB, one signing key. support/eventstoredb/target.ts says which server that is.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { ask, clientOf, metric, within } from '../../support/client.ts';
import { eventStoreDb } from '../../support/eventstoredb/target.ts';
import { Account, isConnectionError, STUDIES, STUDY_NAMES, startClients } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import {
  expectVerified,
  listOf,
  type Served,
  type SharedLog,
  sharedLogs,
} from '../../support/shared-logs.ts';

/** How soon a service shows what another one wrote, in ms. Single times may be longer on a machine that is busy. */
const FOLLOWED_WITHIN_MS = 1000;
const FOLLOWED_AT_LAST_MS = 15_000;
/** Studies whose seed is drawn, so that two services propose two. */
const DRAWN = Array.from(
  { length: 6 },
  (_, i) => `Drawn ${i}: {mode: test, treatments: [A, B], factors: {sex: [F, M]}}\n`,
);

const target = await eventStoreDb();
const begin = sharedLogs();

describe.each([
  ['an SQLite file', undefined],
  ['an EventStoreDB', target.connectionString],
])('services on %s', (_, store) => {
  const newLog = () => begin(store, `${STUDIES}${DRAWN.join('')}`);

  type Start = (log: SharedLog) => Promise<Served>[];
  it.each<[string, Start]>([
    ['at the same moment', (log) => [log.startHere('a'), log.startHere('b')]],
    // Processes share nothing but a file.
    ...(store === undefined
      ? [['in two processes', ({ start }: SharedLog) => [start('a'), start('b')]] as [string, Start]]
      : []),
  ])('begin one log and register each study once, whichever is first: %s', async (_, start) => {
    const log = newLog();
    // Both exit with 2 if their signing key were not the log's.
    const both: Served[] = await Promise.all(start(log));
    const [one, other] = both.map(idOf);
    expect([one, other]).toEqual([expect.stringMatching(/^[-0-9a-f]{36}$/), one]);
    expect(both.map(({ output }) => output.stderr.includes('suspended'))).toEqual([false, false]);
    const registered = both.flatMap(({ output }) => output.stderr.match(/"msg":"study registered"/g) ?? []);
    expect(registered).toHaveLength(STUDY_NAMES.length + DRAWN.length);
    for (const service of both) await service.stop();
    const files = readdirSync(log.data('a')).toSorted();
    await expectVerified(log);
    if (store !== undefined) return;
    const left = ['last-checkpoints', 'session-key', 'signing-key', 'urn.sqlite', 'urn.sqlite.reserve'];
    expect(files.filter((name) => !name.startsWith('studies-'))).toEqual(left);
    const check = new LogCheck(log.data('a')).check();
    expect(check.events('log').map(({ type }) => type)).toEqual(['LogCreated']);
    expect(check.studies().size).toBe(STUDY_NAMES.length + DRAWN.length);
    expect(check.records - check.events('operations').length).toBe(1 + STUDY_NAMES.length + DRAWN.length);
  });

  it('allocate serially, and killing one does not harm the other', async () => {
    const log = newLog();
    const keys = await log.keysOf();
    const choices = seededChoices();
    const account = new Account(choices);
    const [a, b] = await Promise.all([log.start('a'), log.startHere('b')]);
    const targets = [a, b].map(({ url }) => ({ url, key: keys.work }));

    // One study that both write, then all of them.
    for (const studies of [['One'], STUDY_NAMES]) {
      const clients = startClients(account, choices, targets, 8, { studies, pauseMs: 20 });
      await delay(400);
      clients.stop();
      expect(await clients.done).toEqual([]);
      expect(account.open).toEqual([]);
      for (const study of STUDY_NAMES) {
        const count = account.acknowledgedIn(study);
        // Each may have to follow the other first.
        for (const service of [a, b]) {
          const list = () => listOf(service, keys.audit, study);
          await within(FOLLOWED_AT_LAST_MS, async () => (await list()).length === count);
          account.agreesWithList(study, await list());
        }
        expect(await listOf(a, keys.audit, study)).toEqual(await listOf(b, keys.audit, study));
      }
    }
    const conflicts = await Promise.all([a, b].map((one) => metric(one, 'urn_append_conflicts_total')));
    expect(Math.max(...conflicts), 'they were in each other’s way').toBeGreaterThan(0);

    const clients = startClients(account, choices, targets, 8, { pauseMs: 5 });
    await delay(250);
    a.child.kill('SIGKILL');
    await delay(250);
    clients.stop();
    const failures = await clients.done;
    expect(failures.filter((error) => !isConnectionError(error))).toEqual([]);
    expect(failures.length).toBeLessThanOrEqual(4);
    await account.settle(b.url, keys.work);
    const again = await log.startHere('a');
    for (const study of STUDY_NAMES) account.agreesWithList(study, await listOf(again, keys.audit, study));
    await Promise.all([b.stop(), again.stop()]);
    await expectVerified(log);
    if (store === undefined) expect(account.agreesWith(new LogCheck(log.data('a')).check())).toBe(0);
    // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
    console.info('two services', { acknowledged: account.acknowledged, conflicts, repeats: account.repeats });
  });

  it('follow each other’s participants, keys and pauses, and at once with urn.min_revision', async () => {
    const log = newLog();
    const keys = await log.keysOf();
    const [a, b] = await Promise.all([log.startHere('a'), log.startHere('b')]);
    const tookMs: number[] = [];
    const soon = async (isSo: () => Promise<boolean>) => tookMs.push(await within(FOLLOWED_AT_LAST_MS, isSo));
    const at = ({ url }: Served) => clientOf(url, keys.work);

    const written = await at(a).randomize('One', '1', { sex: 'F' });
    const revision = written.headers.get('urn-revision') ?? '';
    expect((await at(b).list('One', { 'urn.min_revision': revision })).results).toEqual(written.results);
    expect((await at(b).randomize('One', '1', { sex: 'F' })).message).toContain('already assigned');
    await at(a).randomize('One', '1b', { sex: 'M' });
    await soon(async () => (await at(b).list('One')).results.length === 2);

    const retry = { 'Idempotency-Key': randomUUID() };
    const [one, same] = await Promise.all(
      [a, b].map((service) => at(service).randomize('Two', 'once', { sex: 'F', site: '11' }, retry)),
    );
    expect([one?.status, same?.text]).toEqual([200, one?.text]);

    const key = (await log.cli('keys', 'add', 'visitor')).trimEnd();
    const keyId = /^(\S+).*visitor/m.exec(await log.cli('keys', 'list'))?.[1] ?? '';
    const status = ({ url }: Served) =>
      ask(url, '/study_config', { key, parameters: { study: 'One' } }).then((answer) => answer.status);
    for (const service of [a, b]) await soon(async () => (await status(service)) === 200);
    await log.cli('keys', 'revoke', keyId);
    for (const service of [a, b]) await soon(async () => (await status(service)) === 401);

    await log.cli('studies', 'pause', 'One', '--reason', 'audit');
    for (const service of [a, b])
      await soon(async () => (await at(service).randomize('One', '2', { sex: 'F' })).status === 409);
    await log.cli('studies', 'resume', 'One', '--reason', 'done');
    await soon(async () => (await at(b).randomize('One', '2', { sex: 'F' })).status === 200);
    await soon(async () => (await at(a).randomize('One', '3', { sex: 'F' })).status === 200);

    const file = join(log.folder, 'later.yaml');
    writeFileSync(file, 'Later:\n  mode: test\n  treatments: [a, b]\n  factors: {sex: [F, M]}\n');
    await log.cli('studies', 'register', '--studies', file);
    for (const [i, service] of [a, b].entries())
      await soon(async () => (await at(service).randomize('Later', String(i), { sex: 'F' })).status === 200);
    expect(tookMs.toSorted((x, y) => x - y)[tookMs.length >> 1]).toBeLessThan(FOLLOWED_WITHIN_MS);
    const ids = (await listOf(a, keys.work, 'One')).map(({ id }: { id: string }) => id);
    expect(ids).toEqual(['1', '1b', '2', '3']);
    await Promise.all([a.stop(), b.stop()]);
    await expectVerified(log);
  });
});

it('a service loses nothing if another program opens its file', async () => {
  const log = begin(undefined);
  const keys = await log.keysOf();
  const service = await log.start('a');
  const data = log.data('a');
  const { records } = new LogCheck(data).check();
  const file = join(data, 'urn.sqlite');
  const script = join(import.meta.dirname, '../../support/other-program.py');
  for (const id of ['1', '2', '3']) {
    expect((await clientOf(service.url, keys.work).randomize('One', id, { sex: 'F' })).status).toBe(200);
    const seen = JSON.parse(execFileSync('python3', [script, file]).toString());
    expect(seen).toEqual({ records: records + Number(id), locked: true });
    expect((await log.run('keys', 'list')).code).toBe(0);
    expect(existsSync(`${file}-wal`), 'nobody took the write-ahead log away').toBe(true);
  }
  await service.kill();
  expect([...new LogCheck(data).check().participants('One').keys()]).toEqual(['1', '2', '3']);
});

function idOf(service: Served): string | undefined {
  if ('log' in service) return service.log.identity.logId;
  return /"logId":"([^"]+)"/.exec(service.output.stderr)?.[1];
}
