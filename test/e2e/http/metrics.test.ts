/** GET /metrics: its labels, whatever clients request (all of them: test/unit/service/metrics.test.ts), and --metrics-port. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { metricsPort } from '../../../src/cli/service-options.ts';
import { ask, talk } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { served } from '../../support/served.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();

describe('whatever clients request,', () => {
  const http = served(TRIALS, { full: ['edc'] });
  it('the only methods in labels are those that routes serve and "other", and unknown routes share them', async () => {
    for (const path of ['/study_participants', '/session', '/docs/start.js', '/docs/nothing', '/nowhere']) {
      for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'])
        await (await fetch(`${http.url}${path}?api_key=no`, { method })).arrayBuffer();
      await talk(http.url, `GET ${path}?%ff HTTP/1.1\r\nConnection: close\r\n\r\n`);
    }
    const text = await (await fetch(`${http.url}/metrics`)).text();
    const requests = text.split('\n').filter((line) => line.startsWith('urn_http_requests_total{'));
    const methods = requests.map((line) => /method="([^"]+)"/.exec(line)?.[1]);
    expect([...new Set(methods)].toSorted()).toEqual(['DELETE', 'GET', 'HEAD', 'POST', 'other']);
    const all = /^urn_http_requests_total\{method="other",route="unknown",status="4xx"\} \d{2,}$/;
    const others = requests.filter((line) => /method="other"|route="unknown"/.test(line));
    expect(others).toEqual([expect.stringMatching(all)]);
  });

  it('an allocation is counted, and its append is counted and timed', async () => {
    const counts = async () => {
      const text = await (await fetch(`${http.url}/metrics`)).text();
      return ['allocations_total', 'events_appended_total', 'append_duration_seconds_count'].map((name) =>
        Number(new RegExp(`^urn_${name} (\\d+)$`, 'm').exec(text)?.[1]),
      );
    };
    const [allocations = 0, events = 0, appends = 0] = await counts();
    expect((await http.as('full').randomize('Sleep', '1', COOK)).status).toBe(200);
    const [allocated, appended, timed] = await counts();
    expect(allocated).toBe(allocations + 1);
    // Refusals, too, are recorded, a little later.
    expect(appended).toBeGreaterThan(events);
    expect(timed).toBeGreaterThan(appends);
  });
});

it('probes that succeed are logged at debug only: they would drown the log', async () => {
  const service = await serveHere('', TRIALS, { store: 'memory:' }, 'debug');
  onTestFinished(() => service.stop());
  for (const path of ['/healthz', '/readyz', '/readyz?urn.for=writing', '/metrics', '/readyz?urn.for=fun'])
    await (await fetch(`${service.url}${path}`)).arrayBuffer();
  const lines = () =>
    service.output.stderr
      .split('\n')
      .filter((line) => line.includes('"msg":"request"'))
      .map((line) => JSON.parse(line) as { level: number; status: number });
  await expect.poll(() => lines().length).toBe(5);
  expect(lines().map(({ level, status }) => [level, status])).toEqual([
    ...Array.from({ length: 4 }, () => [20, 200]),
    [30, 400],
  ]);
});

describe('--metrics-port', () => {
  // With an IPv6 address: options.test.ts.
  it('puts /metrics on a separate port, and removes it from the public one', async () => {
    const serveMetrics = metricsPort('127.0.0.2:0', '127.0.0.1');
    const service = await serveHere('', TRIALS, { store: 'memory:', serveMetrics });
    onTestFinished(() => service.stop());
    const { metricsAddress: metrics } = service;
    expect(metrics).toMatch(/^http:\/\/127\.0\.0\.2:\d+$/);
    expect((await ask(service.url, '/metrics')).status).toBe(404);
    const response = await fetch(`${metrics}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await response.text()).toContain('urn_studies{state="open"} ');
    expect(await (await fetch(`${metrics}/healthz`)).text()).toBe('ok\n');
    for (const path of ['/', '/study_config', '/docs', '/%ff'])
      expect((await fetch(`${metrics}${path}`)).status).toBe(404);
  });

  // An empty variable counts as unset, but an empty option is a mistake.
  it.each(['99999', '10.0.0.7', '10.0.0.7:', 'fe80::1:9464', '[10.0.0.7]:1', ''])(
    'refuses %j',
    async (port) => {
      const stderr = expect.stringContaining('is not a port (hint: 9464');
      const line = ['serve', '--data', newFolder(), '--port', '0', `--metrics-port=${port}`];
      expect(await command(line)).toMatchObject({ code: 2, stderr });
    },
  );
});
