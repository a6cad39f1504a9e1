import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/service/http/openapi.ts';
import { ask, clientOf, rawRequest, talk } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { type Service, serve, urn } from '../../support/service.ts';
import { type ServiceHere, serveInMemory } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const PATHS = [
  ...Object.keys(openApiDocument('0')['paths'] as object),
  ...[
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/docs',
    '/docs/start.js',
    '/docs/nothing',
    '/nowhere',
  ],
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'M-SEARCH', 'LINK'];

describe('whatever clients request,', () => {
  let service: ServiceHere;
  let text: string;
  beforeAll(async () => {
    const { service: here, keys } = await serveInMemory(TRIALS, {
      full: ['edc', '--scope', 'read,randomize,audit', '--allow-prediction'],
      blinded: ['monitor', '--scope', 'blinded'],
      limited: ['site', '--study', 'Ward'],
    });
    service = here;
    const { randomize } = clientOf(service.url, keys.full);
    for (let id = 1; id <= 2; id++)
      expect((await randomize('Sleep', '1', COOK)).status).toBe(id === 1 ? 200 : 400);
    for (const path of PATHS)
      for (const method of METHODS) {
        const queries = [
          '',
          'api_key=no',
          ...Object.values(keys).map((key) => `study=Sleep&id=1&api_key=${key}`),
        ];
        for (const query of queries)
          await fetch(`${service.url}${path}?${query}`, { method }).then((r) => r.text());
        await talk(service.url, rawRequest(method, path, ['Content-Length: 99999']));
        await talk(service.url, `${method} ${path}?%ff HTTP/1.1\r\nConnection: close\r\n\r\n`);
      }
    text = await (await fetch(`${service.url}/metrics`)).text();
  });
  afterAll(() => service.stop());

  it('/metrics stays below 150 kB', () => {
    expect(text.length).toBeLessThan(150_000);
  });

  it('the only methods in labels are those that routes serve and "other", and all unknown routes share one set of labels', () => {
    const requests = text.split('\n').filter((line) => line.startsWith('urn_http_requests_total{'));
    const methods = requests.map((line) => /method="([^"]+)"/.exec(line)?.[1]);
    expect([...new Set(methods)].toSorted()).toEqual(['DELETE', 'GET', 'HEAD', 'POST', 'other']);
    const unserved = requests.filter(
      (line) => line.includes('method="other"') || line.includes('route="unknown"'),
    );
    expect(unserved).toEqual([
      expect.stringMatching(
        /^urn_http_requests_total\{method="other",route="unknown",status="4xx"\} \d{3,}$/,
      ),
    ]);
  });

  it('successes are timed and refusals counted, by route', () => {
    const labels = '{method="POST",route="/study_participants",status=';
    expect(text).toContain(`urn_http_request_duration_seconds_count${labels}"200"} 1`);
    expect(text).not.toContain(`urn_http_request_duration_seconds_count${labels}"401"}`);
    expect(text).toMatch(
      /urn_http_requests_total\{method="POST",route="\/study_participants",status="401"\} [1-9]/,
    );
  });
});

describe('--metrics-port', () => {
  const metricsOf = ({ output }: Service) => /"metricsAddress":"([^"]+)"/.exec(output.stderr)?.[1] ?? '';

  it.each([
    ['0', /^http:\/\/127\.0\.0\.1:\d+$/],
    ['127.0.0.2:0', /^http:\/\/127\.0\.0\.2:\d+$/],
    ['[::1]:0', /^http:\/\/\[::1\]:\d+$/],
  ])('%s puts /metrics on a separate port, and removes it from the public one', async (port, address) => {
    const service = await serve({ data: newFolder(), studies: TRIALS, env: { URN_METRICS_PORT: port } });
    try {
      const metrics = metricsOf(service);
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

  it.each(['x', '99999', '10.0.0.7', '10.0.0.7:', 'fe80::1:9464', '[10.0.0.7]:1', ''])(
    'refuses %j',
    async (port) => {
      // An empty variable counts as unset, but an empty option is a mistake.
      const { code, stderr } = await command([
        'serve',
        '--data',
        newFolder(),
        '--port',
        '0',
        `--metrics-port=${port}`,
      ]);
      expect(code).toBe(2);
      expect(stderr).toContain('is not a port (hint: 9464');
    },
  );

  it('reports a port that is in use, and nothing is served', async () => {
    const taken = await new Promise<Server>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
    });
    const { port } = taken.address() as AddressInfo;
    const finished = await urn([
      'serve',
      '--data',
      newFolder(),
      '--port',
      '0',
      '--metrics-port',
      String(port),
    ]);
    taken.close();
    expect(finished.code).toBe(2);
    expect(finished.stderr).toContain(`urn: cannot listen on --metrics-port ${port}:`);
  });
});
