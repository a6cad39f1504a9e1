/**
 * kill -9 at random moments: what was acknowledged stays, and nothing is in the log twice, also of a log that is moved by a program
 * that is killed again and again; FAULT_ROUNDS sets how often. SIGTERM under load: every request that reached the service is
 * answered, and what was acknowledged is in the log.
 */

import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { Database } from '../../../src/store/sqlite/library.ts';
import { seededChoices } from '../../support/choices.ts';
import { clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { Account, isConnectionError, STUDIES, STUDY_NAMES, startClients } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKey, issueKeys, launch, serve, start as startProgram } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 5);
const TERMINATIONS = 4;
const STOOD_STILL_NS = 250_000_000;
const newFolder = temporaryFolders();

it('a service killed under load loses nothing that was acknowledged', {
  timeout: 60_000 + ROUNDS * 20_000,
}, async () => {
  const choices = seededChoices();
  const data = newFolder();
  const keys = await issueKeys(data, { work: ['edc'], audit: ['auditor', '--scope', 'read,audit'] });
  const account = new Account(choices);
  const log = new LogCheck(data);
  const seen = { kills: 0, killsAtStart: 0, open: 0, unheard: 0 };

  for (let round = 0; round <= ROUNDS; round++) {
    if (choices.chance(0.25)) {
      const starting = launch({ data, studies: STUDIES });
      await delay(choices.between(50, 700));
      starting.child.kill('SIGKILL');
      await starting.exited;
      seen.killsAtStart++;
    }
    const service = await serve({ data, studies: STUDIES });
    try {
      seen.unheard += account.agreesWith(log.check());
      seen.open += account.open.length;
      await account.settle(service.url, keys.work);
      for (const study of STUDY_NAMES)
        account.agreesWithList(study, (await clientOf(service.url, keys.audit).list(study)).results);
      expect(account.agreesWith(log.check()), 'each was asked again, so each is known').toBe(0);
      if (round === ROUNDS) {
        await service.stop();
        break;
      }
      const targets = [{ url: service.url, key: keys.work }];
      const clients = startClients(account, choices, targets, choices.between(16, 32));
      await delay(choices.between(20, 600));
      service.child.kill('SIGKILL');
      seen.kills++;
      const failures = await clients.done;
      expect(failures.filter((error) => !isConnectionError(error))).toEqual([]);
    } finally {
      await service.kill();
    }
  }
  expect(account.agreesWith(log.check())).toBe(0);
  // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
  console.info('killed under load', {
    ...{ ...seen, acknowledged: account.acknowledged, repeats: account.repeats, records: log.records },
  });
  expect(account.acknowledged).toBeGreaterThan(ROUNDS);
});

it('a service begins a log only once, however often it is killed while beginning it', async () => {
  const choices = seededChoices();
  for (let round = 0; round < 3; round++) {
    const data = newFolder();
    for (let kills = 0; kills < 3; kills++) {
      const starting = launch({ data, studies: STUDIES });
      await delay(choices.between(150, 600));
      starting.child.kill('SIGKILL');
      await starting.exited;
    }
    await (await serveHere(data, STUDIES)).stop();
    const log = new LogCheck(data).check();
    expect(log.events('log').map(({ type }) => type)).toEqual(['LogCreated']);
    expect([...log.studies().keys()].toSorted()).toEqual(STUDY_NAMES.toSorted());
    expect(log.records - log.events('operations').length).toBe(1 + STUDY_NAMES.length);
  }
});

/** The listener was closed before it took this connection. */
const isResetAtConnect = ({ code, syscall }: NodeJS.ErrnoException) =>
  code === 'ECONNRESET' && syscall === 'connect';

/** Watches how long a process waits for a processor (Linux). @returns how long it has been so far, in ns */
function waitOf(pid = 0): () => number {
  const read = () => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]);
  const before = read();
  let last = before;
  const timer = setInterval(() => {
    try {
      last = read();
    } catch {
      // It has ended.
      clearInterval(timer);
    }
  }, 20);
  return () => last - before;
}

it('a service that is terminated answers what it was sent, and exits with 0', async () => {
  const choices = seededChoices();
  const data = newFolder();
  const key = await issueKey(data, 'edc');
  const account = new Account(choices);
  const log = new LogCheck(data);
  const stalls = monitorEventLoopDelay();
  stalls.enable();
  onTestFinished(() => void stalls.disable());
  for (let round = 0, shown = 0; shown < TERMINATIONS; round++) {
    const service = await serve({ data, studies: STUDIES });
    try {
      await account.settle(service.url, key);
      // A client that is told of the shutdown sends nothing more; until then all of them continue.
      const clients = startClients(account, choices, [{ url: service.url, key }], 32, {
        eachUntilRefused: true,
      });
      await delay(choices.between(100, 500));
      stalls.reset();
      const waited = [service.child.pid, process.pid].map(waitOf);
      // It must not matter whether anybody still reads its log.
      if (round % 2 === 1) service.child.stderr?.destroy();
      await service.stop();
      // Over a connection that is reset before it is made, nothing was sent.
      const failures = (await clients.done).filter((error) => !isResetAtConnect(error));
      // A service leaves after half a second of silence. If it stood still, or this process with its clients, that shows nothing.
      const isCutOff = failures.length > 0 && failures.every(isConnectionError);
      const stood = waited.reduce((sum, ofOne) => sum + ofOne(), stalls.max);
      if (isCutOff && stood > STOOD_STILL_NS) continue;
      expect(failures).toEqual([]);
      shown++;
      expect(account.agreesWith(log.check()), 'what was written was also acknowledged').toBe(0);
    } finally {
      await service.kill();
    }
  }
  expect(account.acknowledged).toBeGreaterThan(TERMINATIONS);
});

/** Whether the stream `log` has this many records: 2 where it was moved, 3 where it has arrived. */
function isClosed(data: string, records = 2): boolean {
  if (!existsSync(join(data, 'urn.sqlite'))) return false;
  const db = new Database(join(data, 'urn.sqlite'), { readonly: true });
  try {
    const count = db.prepare<[], number>("SELECT count(*) FROM records WHERE stream = 'log'").pluck().get();
    return (count ?? 0) >= records;
  } finally {
    db.close();
  }
}

/** Kills the mover as soon as the source is closed. */
async function killWhenClosed({ child }: ReturnType<typeof startProgram>, source: string): Promise<void> {
  while (child.exitCode === null && !isClosed(source)) await delay(1);
  child.kill('SIGKILL');
}

it('a move loses nothing and gives nobody two arms, however often the mover is killed', {
  timeout: 120_000,
}, async () => {
  const choices = seededChoices();
  const folder = newFolder();
  const [from, to] = [join(folder, 'from'), join(folder, 'to')];
  const key = await issueKey(from, 'edc');
  const service = await serveHere(from, STUDIES);
  const { headers } = await clientOf(service.url, key).randomize('One', 'before', { sex: 'F' });
  writeFileSync(join(folder, 'receipt'), headers.get('urn-receipt') ?? '');
  const account = new Account(choices);
  account.sending({ study: 'One', id: 'before', levels: { sex: 'F' } });
  const clients = startClients(account, choices, [{ url: service.url, key }], 16);
  // A log that takes longer to copy than the mover to die.
  await delay(1000);
  clients.stop();
  await clients.done;
  await service.stop();

  const copy = ['copy', '--data', from, '--to', `sqlite:${join(to, 'urn.sqlite')}`, '--reason', 'a test'];
  let [kills, killedWhenClosed] = [0, 0];
  for (;;) {
    const copying = startProgram(copy);
    // It takes so long to start, and a little more each time: it gets further and further. Then it dies as soon as the source
    // is closed.
    if (kills < ROUNDS)
      void delay(choices.between(150, 400 + 60 * kills)).then(() => copying.child.kill('SIGKILL'));
    else if (killedWhenClosed === 0 && !isClosed(to, 3)) void killWhenClosed(copying, from);
    const code = await copying.exited;
    if (code === 0) break;
    // A mover wants the source for itself at first, and just then this test may have looked into it.
    if (copying.output.stderr.includes('another process has this log open')) continue;
    const unsaid = expect.not.stringContaining('urn: ');
    expect([copying.child.signalCode, copying.output.stderr]).toEqual(['SIGKILL', unsaid]);
    kills++;
    if (isClosed(from) && !isClosed(to, 3)) killedWhenClosed++;
  }
  const source = new LogCheck(from).check();
  // Started by mistake.
  const left = await serveHere(from, STUDIES);
  const refused = await clientOf(left.url, key).randomize('One', 'late', { sex: 'F' });
  expect(refused.status).toBe(503);
  expect(refused.message).toMatch(
    /^Not done: the log is moved to another store, .*\(hint: ask the operator which service records now\)$/,
  );
  expect(refused.headers.get('retry-after')).toBe('30');
  await left.stop();

  for (const file of ['signing-key', 'last-checkpoints']) copyFileSync(join(from, file), join(to, file));
  const moved = await serveHere(to, STUDIES);
  const goneOn = await clientOf(moved.url, key).randomize('One', 'late', { sex: 'F' });
  expect(goneOn.status).toBe(200);
  account.sending({ study: 'One', id: 'late', levels: { sex: 'F' } });
  const open = account.open.length;
  await account.settle(moved.url, key);
  const log = new LogCheck(to).check();
  expect(account.agreesWith(log)).toBe(0);
  for (const study of STUDY_NAMES)
    for (const [id, { id: eventId }] of source.participants(study))
      expect(log.participants(study).get(id)?.id, 'one record for one participant').toBe(eventId);
  for (const data of [from, to])
    await commandOk(['verify', '--data', data, '--checkpoint', join(folder, 'receipt')]);
  await moved.stop();
  // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
  console.info('moved', {
    ...{ kills, killedWhenClosed, acknowledged: account.acknowledged, open, records: log.records },
  });
});
