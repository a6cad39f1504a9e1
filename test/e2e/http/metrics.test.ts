/** GET /metrics: its labels, whatever clients request (all of them: test/unit/http), and --metrics-port. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { metricsPort } from '../../../src/cli/metrics-port.ts';
import { openApiDocument } from '../../../src/service/http/openapi.ts';
import { ask, rawRequest, talk } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { served } from '../../support/served.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();

describe('whatever clients request,', () => {
  const http = served(TRIALS, {
    full: ['edc', '--scope', 'read,randomize,audit', '--allow-prediction'],
    limited: ['site', '--study', 'Ward'],
  });
  const PATHS = [
    ...Object.keys(openApiDocument('0')['paths'] as object),
    ...['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/docs/start.js', '/docs/nothing'],
    '/nowhere',
  ];
  const METHODS = ['GET', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'];

  it('the only methods in labels are those that routes serve and "other", and unknown routes share them', async () => {
    const { randomize } = http.as('full');
    for (const status of [200, 400]) expect((await randomize('Sleep', '1', COOK)).status).toBe(status);
    for (const path of PATHS) {
      for (const method of METHODS)
        for (const key of ['no', ...Object.values(http.keys)]) {
          const url = `${http.url}${path}?study=Sleep&id=1&api_key=${key}`;
          await (await fetch(url, { method })).arrayBuffer();
        }
      await (await fetch(`${http.url}${path}`, { method: 'HEAD' })).arrayBuffer();
      await talk(http.url, rawRequest('POST', path, ['Content-Length: 99999']));
      await talk(http.url, `GET ${path}?%ff HTTP/1.1\r\nConnection: close\r\n\r\n`);
    }
    const text = await (await fetch(`${http.url}/metrics`)).text();
    expect(text.length).toBeLessThan(150_000);
    const requests = text.split('\n').filter((line) => line.startsWith('urn_http_requests_total{'));
    const methods = requests.map((line) => /method="([^"]+)"/.exec(line)?.[1]);
    expect([...new Set(methods)].toSorted()).toEqual(['DELETE', 'GET', 'HEAD', 'POST', 'other']);
    const unserved = requests.filter((line) => /method="other"|route="unknown"/.test(line));
    const all = /^urn_http_requests_total\{method="other",route="unknown",status="4xx"\} \d{3,}$/;
    expect(unserved).toEqual([expect.stringMatching(all)]);
    // Successes are timed and refusals counted, by route.
    const labels = '{method="POST",route="/study_participants",status=';
    expect(text).toContain(`urn_http_request_duration_seconds_count${labels}"200"} 1`);
    expect(text).not.toContain(`urn_http_request_duration_seconds_count${labels}"401"}`);
    expect(text).toMatch(
      /urn_http_requests_total\{method="POST",route="\/study_participants",status="401"\} \d/,
    );
  });
});

describe('--metrics-port', () => {
  it.each([
    ['0', /^http:\/\/127\.0\.0\.1:\d+$/],
    ['127.0.0.2:0', /^http:\/\/127\.0\.0\.2:\d+$/],
    ['[::1]:0', /^http:\/\/\[::1\]:\d+$/],
  ])('%s puts /metrics on a separate port, and removes it from the public one', async (port, address) => {
    const serveMetrics = metricsPort(port, '127.0.0.1');
    const service = await serveHere('', TRIALS, { store: 'memory:', serveMetrics });
    try {
      const { metricsAddress: metrics } = service;
      expect(metrics).toMatch(address);
      expect((await ask(service.url, '/metrics')).status).toBe(404);
      const response = await fetch(`${metrics}/metrics`);
      expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
      expect(await response.text()).toContain('urn_studies{state="open"} ');
      expect(await (await fetch(`${metrics}/healthz`)).text()).toBe('ok\n');
      for (const path of ['/', '/study_config', '/docs', '/%ff'])
        expect((await fetch(`${metrics}${path}`)).status).toBe(404);
    } finally {
      await service.stop();
    }
  });

  const serve = (port: string) =>
    command(['serve', '--data', newFolder(), '--port', '0', `--metrics-port=${port}`]);

  // An empty variable counts as unset, but an empty option is a mistake.
  it.each(['x', '99999', '10.0.0.7', '10.0.0.7:', 'fe80::1:9464', '[10.0.0.7]:1', ''])(
    'refuses %j',
    async (port) => {
      const stderr = expect.stringContaining('is not a port (hint: 9464');
      expect(await serve(port)).toMatchObject({ code: 2, stderr });
    },
  );

  it('reports a port that is in use, and nothing is served', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    const stderr = expect.stringContaining(`urn: cannot listen on --metrics-port ${port}:`);
    expect(await serve(String(port))).toMatchObject({ code: 2, stderr });
    taken.close();
  });
});
