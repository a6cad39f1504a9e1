/** Options of the real `urn serve` that decide how it answers; what they decide is tested with the service in a process. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ask, clientOf, within } from '../../support/client.ts';
import { CookieClient } from '../../support/cookie-client.ts';
import { endedAmong, openMany } from '../../support/hostile.ts';
import { issueKey, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const [data, own] = [newFolder(), newFolder()];

it('the program does as its options and variables say', async () => {
  const [witness, sessionKey] = [join(own, 'checkpoints'), join(own, 'session-key')];
  const key = await issueKey(data, 'edc');
  const service = await serve({
    ...{ data, studies: TRIALS },
    args: [
      ...['--datetime-format', 'sql', '--public-url', 'https://urn.example.org', '--witness', witness],
      ...['--connections-per-address', '12', '--session-key', sessionKey],
    ],
    env: { URN_METRICS_PORT: '[::1]:0' },
  });
  onTestFinished(() => service.stop());
  const before = Math.floor(Date.now() / 1000) * 1000;
  const [{ datetime }] = (await clientOf(service.url, key).randomize('Sleep', '1', COOK)).results;
  expect(datetime).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  expect(Date.parse(`${datetime}Z`)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(`${datetime}Z`)).toBeLessThanOrEqual(Date.now());

  const browser = new CookieClient(service.url, undefined, 'https://urn.example.org');
  expect((await browser.signIn(key, { Host: 'app:8080' })).status).toBe(200);
  expect(browser.cookie).toMatch(/^__Host-/);
  expect(existsSync(sessionKey)).toBe(true);

  const [, metrics] = /"metricsAddress":"([^"]+)"/.exec(service.output.stderr) ?? [];
  expect(metrics).toMatch(/^http:\/\/\[::1\]:\d+$/);
  expect((await fetch(`${metrics}/metrics`)).status).toBe(200);
  expect((await ask(service.url, '/metrics')).status).toBe(404);
  await within(10_000, async () => existsSync(witness));

  const sockets = await openMany(service.url, 40);
  const ended = endedAmong(sockets);
  await within(8_000, async () => ended.size >= 28);
  // A proxy holds the connections of everybody.
  const proxied = ['--connections-per-address', '3', '--trust-proxy', '1'];
  const other = await serve({ data, studies: TRIALS, args: proxied });
  onTestFinished(() => other.stop());
  sockets.push(...(await openMany(other.url, 10)));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  expect((await ask(other.url, '/healthz')).status).toBe(200);
  const warning = '--connections-per-address has no effect behind --trust-proxy';
  expect(other.output.stderr).toContain(warning);
});
