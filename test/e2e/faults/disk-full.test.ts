/** A full disk: allocations are refused, reading goes on, nothing is half recorded, and it needs only room to continue. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { ask, clientOf, within } from '../../support/client.ts';
import { Account, post, type Sent, STUDIES, STUDY_NAMES } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKeys, type Service, serve, urn } from '../../support/service.ts';
import { fill, mountSmallDisk, notTested } from '../../support/small-disk.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const temporaryFolder = temporaryFolders();
const folder = temporaryFolder();
const disk = join(folder, 'disk');
mkdirSync(disk);
const why = mountSmallDisk(disk);
const filler = join(disk, 'filler');
const running: Service[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: 32 });

afterAll(async () => {
  agent.destroy();
  for (const service of running) await service.kill();
});

it('a service on a full disk refuses allocations until there is room, and then continues', async (test) => {
  if (why !== undefined) {
    notTested('what happens when the disk is full', why);
    test.skip(`mount is refused here: ${why}`);
  }
  const choices = seededChoices();
  const data = join(disk, 'data');
  const studies = join(folder, 'studies.yaml');
  writeFileSync(studies, STUDIES);
  const start = async () => {
    const service = await serve({ data, args: ['--studies', studies] });
    running.push(service);
    return service;
  };
  const keys = await issueKeys(data, {
    work: ['edc'],
    read: ['reader', '--scope', 'read'],
    audit: ['auditor', '--scope', 'read,audit'],
  });
  const account = new Account(choices);
  const log = new LogCheck(data);
  const service = await start();
  const send = async (sent: Sent, url = service.url) => {
    account.sending(sent);
    const answer = await post(agent, url, keys.work, sent);
    account.told(sent, answer);
    return answer;
  };
  for (let i = 0; i < 20; i++) await send(account.fresh(choices.pick(STUDY_NAMES)));

  fill(filler);
  // What is left in blocks that are allocated already may still hold a few.
  await within(20_000, async () => (await send(account.fresh('One'))).status === 503);
  const refused = await Promise.all(
    Array.from({ length: 40 }, () => send(account.fresh(choices.pick(STUDY_NAMES)))),
  );
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
  expect(refused[0]?.message).toContain('the disk is full');
  expect((await ask(service.url, '/healthz')).status).toBe(200);
  const mayWrite = async () =>
    (await ask(service.url, '/readyz', { parameters: { 'urn.for': 'writing' } })).status;
  expect(await mayWrite()).toBe(503);
  expect((await ask(service.url, '/readyz')).status).toBe(200);
  expect(await (await fetch(`${service.url}/metrics`)).text()).toMatch(
    /^urn_append_failures_total\{reason="full"\} [1-9]/m,
  );
  for (const study of STUDY_NAMES) {
    const { status, results } = await clientOf(service.url, keys.read).list(study);
    expect(status).toBe(200);
    account.agreesWithList(study, results);
  }
  // What would leave no trace is not shown.
  const unrecorded = () => {
    const parameters = { study: choices.pick(STUDY_NAMES), from: String(choices.between(0, 2)) };
    return ask(service.url, '/records', { key: keys.audit, parameters });
  };
  let message = '';
  await within(20_000, async () => {
    const answer = await unrecorded();
    message = answer.message;
    return answer.status === 503;
  });
  expect(message).toMatch(/it cannot be recorded that you see this: .*the disk is full/);
  expect(account.agreesWith(log.check()), 'what was refused is not in the log').toBe(0);
  // A command that cannot write says why.
  const issuing = await urn(['keys', 'add', 'late', '--data', data]);
  expect(issuing).toMatchObject({ code: 2, stdout: '' });
  expect(issuing.stderr).toMatch(/^urn: .*the disk is full/);

  rmSync(filler);
  await expect.poll(mayWrite, { timeout: 20_000 }).toBe(200);
  await account.settle(service.url, keys.work);
  expect(account.open).toEqual([]);
  expect(account.agreesWith(log.check())).toBe(0);

  fill(filler);
  await within(20_000, async () => (await send(account.fresh('One'))).status === 503);
  await service.stop();
  fill(filler);
  // It starts for reading and for emergencies. A new study waits for room.
  writeFileSync(studies, `${STUDIES}Late: {mode: test, treatments: [A, B], factors: {sex: [F, M]}}\n`);
  const onFullDisk = await start();
  account.agreesWithList('One', (await clientOf(onFullDisk.url, keys.read).list('One')).results);
  expect((await send(account.fresh('One'), onFullDisk.url)).status).toBe(503);
  const late = async () => (await clientOf(onFullDisk.url, keys.read).list('Late')).status;
  expect(await late()).toBe(404);

  rmSync(filler);
  await account.settle(onFullDisk.url, keys.work);
  await expect.poll(late, { timeout: 20_000 }).toBe(200);
  await onFullDisk.stop();
  expect(account.agreesWith(log.check())).toBe(0);
});
