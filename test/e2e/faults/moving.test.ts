/** A log is moved by a program that is killed again and again. FAULT_ROUNDS sets how often. */
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { Database } from '../../../src/store/sqlite/library.ts';
import { seededChoices } from '../../support/choices.ts';
import { clientOf } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { Account, STUDIES, startClients } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKey, start as startProgram } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const KILLS = Number(process.env['FAULT_ROUNDS'] ?? 5);

const temporaryFolder = temporaryFolders();
const running: ServiceHere[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
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

async function closed(data: string): Promise<void> {
  while (!isClosed(data)) await delay(1);
}

it('a move loses nothing and gives nobody two arms, however often the mover is killed', {
  timeout: 120_000,
}, async () => {
  const choices = seededChoices();
  const folder = temporaryFolder();
  const [from, to] = [join(folder, 'from'), join(folder, 'to')];
  const start = async (data: string) => {
    const service = await serveHere(data, STUDIES);
    running.push(service);
    return service;
  };
  const key = await issueKey(from, 'edc');
  const service = await start(from);
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
  for (let code: number | null = null; code !== 0; ) {
    const copying = startProgram(copy);
    // It takes so long to start, and a little more each time: it gets further and further. Then it dies as soon as the source
    // is closed.
    if (kills < KILLS)
      void delay(choices.between(150, 400 + 60 * kills)).then(() => copying.child.kill('SIGKILL'));
    else if (killedWhenClosed === 0 && !isClosed(to, 3))
      void closed(from).then(() => copying.child.kill('SIGKILL'));
    code = await copying.exited;
    if (code !== 0)
      expect([copying.child.signalCode, copying.output.stderr]).toEqual([
        'SIGKILL',
        expect.not.stringContaining('urn: '),
      ]);
    if (code === 0) break;
    kills++;
    if (isClosed(from) && !isClosed(to, 3)) killedWhenClosed++;
  }
  const source = new LogCheck(from).check();
  // Started by mistake.
  const left = await start(from);
  const refused = await clientOf(left.url, key).randomize('One', 'late', { sex: 'F' });
  expect(refused.status).toBe(503);
  expect(refused.message).toMatch(
    /^Not done: The log is moved to another store, .*\(ask the operator which service records now\)$/,
  );
  expect(refused.headers.get('retry-after')).toBe('30');
  await left.stop();

  for (const file of ['signing-key', 'last-checkpoints']) copyFileSync(join(from, file), join(to, file));
  const moved = await start(to);
  const goneOn = await clientOf(moved.url, key).randomize('One', 'late', { sex: 'F' });
  expect(goneOn.status).toBe(200);
  account.sending({ study: 'One', id: 'late', levels: { sex: 'F' } });
  const open = account.open.length;
  await account.settle(moved.url, key);
  const log = new LogCheck(to).check();
  expect(account.agreesWith(log)).toBe(0);
  for (const study of ['One', 'Two', 'Three'])
    for (const [id, { id: eventId }] of source.participants(study))
      expect(log.participants(study).get(id)?.id, 'one record for one participant').toBe(eventId);
  for (const data of [from, to]) {
    const kept = ['--checkpoint', join(folder, 'receipt')];
    const { code, stdout } = await command(['verify', '--data', data, ...kept]);
    expect(code, stdout).toBe(0);
  }
  await moved.stop();
  // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
  console.info('moved', {
    kills,
    killedWhenClosed,
    acknowledged: account.acknowledged,
    open,
    records: log.records,
  });
});
