/**
 * What surrounds a service fails. Its clock is set back: the order of the log does not depend on it, and its operator is told. Its
 * disk is full: allocations are refused, reading goes on, nothing is half recorded, and it needs only room to continue. Another
 * process keeps the database's write lock: requests wait, then are refused, and later continue; none counts twice.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { ask, clientOf, within } from '../../support/client.ts';
import { hold } from '../../support/held-lock.ts';
import { Account, post, type Sent, STUDIES, STUDY_NAMES } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKey, issueKeys, type Service, serve, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { fill, mountSmallDisk, notTested } from '../../support/small-disk.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const HOUR_MS = 3_600_000;
const newFolder = temporaryFolders();
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const running: { end(): Promise<unknown> }[] = [];
const folder = newFolder();
const disk = join(folder, 'disk');
mkdirSync(disk);
const whyNoDisk = mountSmallDisk(disk);

afterEach(async () => {
  for (const service of running.splice(0)) await service.end();
});
afterAll(() => agent.destroy());

async function start(options: Parameters<typeof serve>[0]): Promise<Service> {
  const service = await serve(options);
  running.push({ end: service.kill });
  return service;
}

/** Sends it, and notes what came of it. */
async function send(account: Account, sent: Sent, url: string, key: string) {
  account.sending(sent);
  const answer = await post(agent, url, key, sent);
  account.told(sent, answer);
  return answer;
}

function warnings({ output }: Service): { stream: string; before: string; now: string }[] {
  const lines = output.stderr.split('\n').filter((line) => line.includes('"level":40'));
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ msg, stream }) => msg.includes('clock was set back') && stream !== 'operations');
}

it('a service whose clock steps allocates in the right order, reports it once, and expires keys by the current clock', async () => {
  const data = newFolder();
  const clock = join(newFolder(), 'clock');
  const setClock = (ms: number) => writeFileSync(clock, String(ms));
  const module = pathToFileURL(join(import.meta.dirname, '../../support/shifted-clock.mjs'));
  const env = { NODE_OPTIONS: `--import=${module}`, SHIFTED_CLOCK: clock };
  setClock(0);
  const inHalfAnHour = new Date(Date.now() + HOUR_MS / 2).toISOString().replace(/\.\d+Z$/, 'Z');
  const keys = await issueKeys(data, {
    work: ['edc'],
    audit: ['auditor', '--scope', 'read,audit'],
    brief: ['visitor', '--expires', inHalfAnHour],
  });
  const account = new Account(seededChoices());
  const log = new LogCheck(data);
  /** Ids in the order in which they were randomized, with the span of the clock within which each was. */
  const order: { id: string; from: string; to: string }[] = [];
  const enrol = async (service: Service, shiftMs: number, count: number) => {
    for (let i = 0; i < count; i++) {
      const sent = account.fresh('One');
      const from = new Date(Date.now() + shiftMs).toISOString();
      await send(account, sent, service.url, keys.work);
      order.push({ id: sent.id, from, to: new Date(Date.now() + shiftMs).toISOString() });
    }
  };
  const statusOfBriefKey = async ({ url }: Service) =>
    (await ask(url, '/study_config', { key: keys.brief, parameters: { study: 'One' } })).status;

  const service = await start({ data, studies: STUDIES, env });
  expect(await statusOfBriefKey(service)).toBe(200);
  setClock(HOUR_MS);
  await enrol(service, HOUR_MS, 5);
  expect(await statusOfBriefKey(service), 'expired by the clock').toBe(401);
  expect(warnings(service)).toEqual([]);

  setClock(0);
  await enrol(service, 0, 5);
  expect(await statusOfBriefKey(service)).toBe(200);
  setClock(-HOUR_MS);
  await enrol(service, -HOUR_MS, 5);
  setClock(HOUR_MS);
  await enrol(service, HOUR_MS, 5);
  await service.stop();
  const stream = log.check().studies().get('One');
  const told = warnings(service);
  expect(told.map((warning) => warning.stream)).toEqual([stream, stream]);
  for (const { before, now } of told)
    expect(Date.parse(before) - Date.parse(now)).toBeGreaterThan(0.99 * HOUR_MS);

  // The same holds for a service that starts with a clock behind its log.
  setClock(-2 * HOUR_MS);
  const later = await start({ data, studies: STUDIES, env });
  await enrol(later, -2 * HOUR_MS, 5);
  const { results } = await clientOf(later.url, keys.audit).list('One');
  expect(results.map(({ id }: Sent) => id)).toEqual(order.map(({ id }) => id));
  await later.stop();
  expect(warnings(later).map((warning) => warning.stream)).toEqual([stream]);

  expect(account.agreesWith(log.check())).toBe(0);
  const randomized = log.events(stream ?? '').slice(1);
  expect(randomized).toHaveLength(order.length);
  for (const [i, { at }] of randomized.entries()) {
    const { from = '', to = '' } = order[i] ?? {};
    expect(at >= from && at <= to, `${at} is the clock as it was read`).toBe(true);
  }
  expect(results.map(({ datetime }: { datetime: string }) => datetime)).toEqual(
    randomized.map(({ at }) => new Date(at).toUTCString()),
  );
});

it('a service on a full disk refuses allocations until there is room, and then continues', async (test) => {
  if (whyNoDisk !== undefined) {
    notTested('what happens when the disk is full', whyNoDisk);
    test.skip(`mount is refused here: ${whyNoDisk}`);
  }
  const filler = join(disk, 'filler');
  const choices = seededChoices();
  const data = join(disk, 'data');
  const begin = async (studies: string) => {
    const service = await serveHere(data, studies);
    running.push({ end: service.stop });
    return service;
  };
  const keys = await issueKeys(data, {
    work: ['edc'],
    read: ['reader', '--scope', 'read'],
    audit: ['auditor', '--scope', 'read,audit'],
  });
  const account = new Account(choices);
  const log = new LogCheck(data);
  const service = await begin(STUDIES);
  const sendTo = ({ url }: { url: string }, study = 'One') =>
    send(account, account.fresh(study), url, keys.work);
  const isRefused = async () => (await sendTo(service)).status === 503;
  for (let i = 0; i < 20; i++) await sendTo(service, choices.pick(STUDY_NAMES));

  fill(filler);
  // What is left in blocks that are allocated already may still hold a few.
  await within(20_000, isRefused);
  const refused = await Promise.all(
    Array.from({ length: 40 }, () => sendTo(service, choices.pick(STUDY_NAMES))),
  );
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
  expect(refused[0]?.message).toContain('The disk is full: nothing was recorded');
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
  expect(message).toMatch(/^It cannot be recorded that you see this: .*the disk is full/);
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
  await within(20_000, isRefused);
  await service.stop();
  fill(filler);
  // It starts for reading and for emergencies. A new study waits for room.
  const late = 'Late: {mode: test, treatments: [A, B], factors: {sex: [F, M]}}\n';
  const onFullDisk = await begin(`${STUDIES}${late}`);
  account.agreesWithList('One', (await clientOf(onFullDisk.url, keys.read).list('One')).results);
  expect((await sendTo(onFullDisk)).status).toBe(503);
  const statusOfLate = async () => (await clientOf(onFullDisk.url, keys.read).list('Late')).status;
  expect(await statusOfLate()).toBe(404);

  rmSync(filler);
  await account.settle(onFullDisk.url, keys.work);
  await expect.poll(statusOfLate, { timeout: 20_000 }).toBe(200);
  await onFullDisk.stop();
  expect(account.agreesWith(log.check())).toBe(0);
});

it('a service with a frozen store makes requests wait, refuses those that wait too long, and counts none twice', async () => {
  const choices = seededChoices();
  const data = newFolder();
  const key = await issueKey(data, 'edc');
  const { url, stop } = await serveHere(data, STUDIES);
  const account = new Account(choices);
  const log = new LogCheck(data);
  const sendOne = async () =>
    (await send(account, account.fresh(choices.pick(STUDY_NAMES)), url, key)).status;
  const sendMany = () => Promise.all(Array.from({ length: 32 }, sendOne));
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
