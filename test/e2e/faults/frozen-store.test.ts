/** Another process keeps the database's write lock: requests wait, then are refused, and later continue; none counts twice. */
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { ask, clientOf } from '../../support/client.ts';
import { hold } from '../../support/held-lock.ts';
import { Account, post, STUDIES, STUDY_NAMES } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKey } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
afterAll(() => agent.destroy());

it('a service with a frozen store makes requests wait, refuses those that wait too long, and counts none twice', async () => {
  const choices = seededChoices();
  const data = newFolder();
  const key = await issueKey(data, 'edc');
  const { url, stop } = await serveHere(data, STUDIES);
  const account = new Account(choices);
  const log = new LogCheck(data);
  const send = async () => {
    const sent = account.fresh(choices.pick(STUDY_NAMES));
    account.sending(sent);
    const answer = await post(agent, url, key, sent);
    account.told(sent, answer);
    return answer.status;
  };
  const sendMany = () => Promise.all(Array.from({ length: 32 }, send));
  const reads = async () => {
    expect((await ask(url, '/healthz')).status).toBe(200);
    for (const study of STUDY_NAMES)
      account.agreesWithList(study, (await clientOf(url, key).list(study)).results);
  };
  expect(new Set(await sendMany())).toEqual(new Set([200]));

  const started = performance.now();
  let release = await hold(join(data, 'urn.sqlite'));
  const waiting = sendMany();
  await delay(300);
  await release();
  const statuses = new Set(await waiting);
  // On a busy machine the lock may have lasted longer than they wait.
  if (performance.now() - started < 1800) expect(statuses, 'they waited').toEqual(new Set([200]));
  await account.settle(url, key);

  release = await hold(join(data, 'urn.sqlite'));
  const refused = sendMany();
  await reads();
  expect(new Set(await refused), 'they waited in vain').toEqual(new Set([503]));
  expect(account.open).toHaveLength(32);
  expect(account.agreesWith(log.check())).toBe(0);
  // These may still be waiting when the others ask again.
  const late = sendMany();
  await release();
  await account.settle(url, key);
  await late;
  await account.settle(url, key);
  await stop();
  expect(account.agreesWith(log.check())).toBe(0);
  expect(account.acknowledged).toBe(4 * 32);
});
