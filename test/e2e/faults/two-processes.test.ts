/** Two services on one database file: one log, each study serial over both, and neither depends on the other. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { ask, clientOf, within } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { Account, isConnectionError, STUDIES, STUDY_NAMES, startClients } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

/** How soon a process shows what another one wrote, in ms. Single times may be longer on a machine that is busy. */
const FOLLOWED_WITHIN_MS = 1000;
const FOLLOWED_AT_LAST_MS = 15_000;
/** Studies whose seed is drawn, so that two processes propose two. */
const DRAWN = Array.from(
  { length: 6 },
  (_, i) => `Drawn ${i}: {mode: test, treatments: [A, B], factors: {sex: [F, M]}}`,
).join('\n');

const temporaryFolder = temporaryFolders();
const running: Service[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) await service.kill();
});

function newFolder(): { data: string; start(): Promise<Service> } {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  const studies = join(folder, 'studies.yaml');
  writeFileSync(studies, `${STUDIES}${DRAWN}\n`);
  const start = async () => {
    const service = await serve({ data, args: ['--studies', studies] });
    running.push(service);
    return service;
  };
  return { data, start };
}

const KEYS = { work: ['edc'], audit: ['auditor', '--scope', 'read,audit'] } as const;

describe('two services on one file', () => {
  it('begin a single log, whichever is first', async () => {
    for (let round = 0; round < 3; round++) {
      const { data, start } = newFolder();
      // Both exit with 2 if their signing key were not the log's.
      const both = await Promise.all([start(), start()]);
      const log = new LogCheck(data).check();
      expect(log.events('log').map(({ type }) => type)).toEqual(['LogCreated']);
      expect(log.studies().size).toBe(STUDY_NAMES.length + 6);
      expect(log.records - log.events('operations').length).toBe(1 + STUDY_NAMES.length + 6);
      const identities = both.map(({ output }) => /"logId":"[^"]+"/.exec(output.stderr)?.[0]);
      expect(identities[0]).toBe(identities[1]);
      expect(both.map(({ output }) => output.stderr.includes('suspended'))).toEqual([false, false]);
      for (const service of both) await service.stop();
      expect(readdirSync(data).toSorted()).toEqual([
        'last-checkpoints',
        'session-key',
        'signing-key',
        'urn.sqlite',
        'urn.sqlite.reserve',
      ]);
    }
  });

  it('allocate serially, and killing one does not harm the other', async () => {
    const choices = seededChoices();
    const { data, start } = newFolder();
    const keys = await issueKeys(data, KEYS);
    const [a, b] = await Promise.all([start(), start()]);
    const account = new Account(choices);
    const targets = [a, b].map(({ url }) => ({ url, key: keys.work }));
    const log = new LogCheck(data);

    // One study that both write, then all of them.
    for (const names of [['One'], STUDY_NAMES]) {
      const clients = startClients(account, choices, targets, 64, { studies: names });
      await delay(1500);
      clients.stop();
      expect(await clients.done).toEqual([]);
      expect(account.open).toEqual([]);
      expect(account.agreesWith(log.check())).toBe(0);
      for (const study of STUDY_NAMES) {
        const count = log.participants(study).size;
        const shown = ({ url }: Service) => clientOf(url, keys.audit).list(study);
        for (const service of [a, b]) {
          await within(FOLLOWED_AT_LAST_MS, async () => (await shown(service)).results.length === count);
          account.agreesWithList(study, (await shown(service)).results);
        }
        expect((await shown(a)).text).toBe((await shown(b)).text);
      }
    }
    const conflicts = await Promise.all([a, b].map(conflictsOf));
    expect(Math.max(...conflicts), 'they were in each other’s way').toBeGreaterThan(0);

    const clients = startClients(account, choices, targets, 64);
    await delay(500);
    a.child.kill('SIGKILL');
    await delay(700);
    clients.stop();
    const failures = await clients.done;
    expect(failures.filter((error) => !isConnectionError(error))).toEqual([]);
    expect(failures.length).toBeLessThanOrEqual(32);
    await account.settle(b.url, keys.work);
    expect(account.agreesWith(log.check())).toBe(0);
    const again = await start();
    for (const study of STUDY_NAMES)
      account.agreesWithList(study, (await clientOf(again.url, keys.audit).list(study)).results);
    await Promise.all([b.stop(), again.stop()]);
    expect(account.agreesWith(log.check())).toBe(0);
    // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
    console.info('two processes', {
      acknowledged: account.acknowledged,
      conflicts,
      repeats: account.repeats,
    });
  });

  it('follow each other’s participants, keys and pauses', async () => {
    const { data, start } = newFolder();
    const keys = await issueKeys(data, KEYS);
    const [a, b] = await Promise.all([start(), start()]);
    const tookMs: number[] = [];
    const soon = async (isSo: () => Promise<boolean>) => tookMs.push(await within(FOLLOWED_AT_LAST_MS, isSo));
    const at = ({ url }: Service, key = keys.work) => clientOf(url, key);

    const { results } = await at(a).randomize('One', '1', { sex: 'F' });
    // A client that names the revision it wrote need not wait for the other process to follow.
    const own = await at(b).list('One', { 'urn.min_revision': '1' });
    expect(own.results).toEqual(results);
    await soon(async () => (await at(b).list('One')).results.length === 1);
    expect((await at(b).list('One')).results).toEqual(results);
    expect((await at(b).randomize('One', '1', { sex: 'F' })).message).toContain('already assigned');

    const key = (await commandOk(['keys', 'add', 'visitor', '--data', data])).trimEnd();
    const list = await commandOk(['keys', 'list', '--data', data]);
    const keyId =
      list
        .split('\n')
        .find((line) => line.includes('visitor'))
        ?.split(' ')[0] ?? '';
    const status = (service: Service) => async () =>
      (await ask(service.url, '/study_config', { key, parameters: { study: 'One' } })).status;
    for (const service of [a, b]) await soon(async () => (await status(service)()) === 200);
    await commandOk(['keys', 'revoke', keyId, '--data', data]);
    for (const service of [a, b]) await soon(async () => (await status(service)()) === 401);

    await commandOk(['studies', 'pause', 'One', '--reason', 'audit', '--data', data]);
    for (const service of [a, b])
      await soon(async () => (await at(service).randomize('One', '2', { sex: 'F' })).status === 409);
    await commandOk(['studies', 'resume', 'One', '--reason', 'done', '--data', data]);
    await soon(async () => (await at(b).randomize('One', '2', { sex: 'F' })).status === 200);
    await soon(async () => (await at(a).randomize('One', '3', { sex: 'F' })).status === 200);
    expect(tookMs.toSorted((x, y) => x - y)[tookMs.length >> 1]).toBeLessThan(FOLLOWED_WITHIN_MS);
    await Promise.all([a.stop(), b.stop()]);
    const log = new LogCheck(data).check();
    expect([...log.participants('One').keys()]).toEqual(['1', '2', '3']);
  });

  it('lose nothing if another program opens the file', async () => {
    const { data, start } = newFolder();
    const keys = await issueKeys(data, KEYS);
    const service = await start();
    const client = clientOf(service.url, keys.work);
    const { records } = new LogCheck(data).check();
    const file = join(data, 'urn.sqlite');
    const script = join(import.meta.dirname, '../../support/other-program.py');
    for (const id of ['1', '2', '3']) {
      expect((await client.randomize('One', id, { sex: 'F' })).status).toBe(200);
      const seen = JSON.parse(execFileSync('python3', [script, file]).toString());
      expect(seen).toEqual({ records: records + Number(id), locked: true });
      expect((await command(['keys', 'list', '--data', data])).code).toBe(0);
      expect(existsSync(`${file}-wal`), 'nobody took the write-ahead log away').toBe(true);
    }
    await service.kill();
    expect([...new LogCheck(data).check().participants('One').keys()]).toEqual(['1', '2', '3']);
  });
});

async function conflictsOf({ url }: Service): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^urn_append_conflicts_total (\d+)$/m.exec(metrics)?.[1]);
}
