/** A clock that is set back: the order of the log does not depend on it, and its operator is told. */
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { ask, clientOf } from '../../support/client.ts';
import { Account, post, type Sent, STUDIES } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const HOUR_MS = 3_600_000;
const temporaryFolder = temporaryFolders();
const folder = temporaryFolder();
const data = join(folder, 'data');
const clock = join(folder, 'clock');
const module = pathToFileURL(join(import.meta.dirname, '../../support/shifted-clock.mjs'));
const env = { NODE_OPTIONS: `--import=${module}`, SHIFTED_CLOCK: clock };
const agent = new Agent({ keepAlive: true });
const running: Service[] = [];

afterAll(async () => {
  agent.destroy();
  for (const service of running) await service.kill();
});

function setClock(ms: number): void {
  writeFileSync(clock, String(ms));
}

async function start(): Promise<Service> {
  const service = await serve({ data, studies: STUDIES, env });
  running.push(service);
  return service;
}

function warnings({ output }: Service): { stream: string; before: string; now: string }[] {
  const lines = output.stderr.split('\n').filter((line) => line.includes('"level":40'));
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ msg, stream }) => msg.includes('clock was set back') && stream !== 'operations');
}

it('a service whose clock steps allocates in the right order, reports it once, and expires keys by the current clock', async () => {
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
      const sent: Sent = account.fresh('One');
      const from = new Date(Date.now() + shiftMs).toISOString();
      account.sending(sent);
      account.told(sent, await post(agent, service.url, keys.work, sent));
      order.push({ id: sent.id, from, to: new Date(Date.now() + shiftMs).toISOString() });
    }
  };
  const statusOfBriefKey = async ({ url }: Service) =>
    (await ask(url, '/study_config', { key: keys.brief, parameters: { study: 'One' } })).status;

  const service = await start();
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
  const later = await start();
  await enrol(later, -2 * HOUR_MS, 5);
  const { results } = await clientOf(later.url, keys.audit).list('One');
  expect(results.map(({ id }: Sent) => id)).toEqual(order.map(({ id }) => id));
  await later.stop();
  expect(warnings(later).map((warning) => warning.stream)).toEqual([stream]);

  expect(account.agreesWith(log.check())).toBe(0);
  const randomized = log.events(stream ?? '').slice(1);
  expect(randomized).toHaveLength(order.length);
  randomized.forEach(({ at }, i) => {
    expect(
      at >= (order[i]?.from ?? '') && at <= (order[i]?.to ?? ''),
      `${at} is the clock as it was read`,
    ).toBe(true);
  });
  expect(results.map(({ datetime }: { datetime: string }) => datetime)).toEqual(
    randomized.map(({ at }) => new Date(at).toUTCString()),
  );
});
