import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/service/http/openapi.ts';
import {
  collectProcessMetrics,
  makeMetrics,
  type RequestObserver,
  requestObserver,
} from '../../../src/service/monitoring/metrics.ts';

/** With the methods that each serves. */
const ROUTES: readonly (readonly [string, readonly string[]])[] = [
  ...Object.entries(openApiDocument('0')['paths'] as Record<string, object>).map(([path, operations]) => {
    const methods = Object.keys(operations).map((method) => method.toUpperCase());
    return [path, methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))] as const;
  }),
  ...['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs'].map(
    (path) => [path, ['GET', 'HEAD']] as const,
  ),
];
const STATUSES = [200, 400, 401, 403, 404, 409, 422, 429, 500, 503];

let registry: Registry;
let observe: RequestObserver;
beforeEach(() => {
  registry = new Registry();
  observe = requestObserver(registry);
});
const lines = async (start: string) =>
  (await registry.metrics()).split('\n').filter((line) => line.startsWith(start));

describe('the metrics of requests', () => {
  it('count every request by method, route and status, and time those that no route serves or that were not refused', async () => {
    observe('GET', '/study_config', 200, 0.002);
    observe('GET', '/study_config', 200, 0.02);
    observe('POST', '/study_participants', 401, 0.001);
    for (const method of ['PUT', 'GET']) observe(method, undefined, 404, 0.001);
    expect((await lines('urn_http_requests_total{')).toSorted()).toEqual([
      'urn_http_requests_total{method="GET",route="/study_config",status="200"} 2',
      'urn_http_requests_total{method="POST",route="/study_participants",status="401"} 1',
      'urn_http_requests_total{method="other",route="unknown",status="4xx"} 2',
    ]);
    expect((await lines('urn_http_request_duration_seconds_count')).toSorted()).toEqual([
      'urn_http_request_duration_seconds_count{method="GET",route="/study_config",status="200"} 2',
      'urn_http_request_duration_seconds_count{method="other",route="unknown",status="4xx"} 2',
    ]);
  });

  it('leave /metrics below 150 kB, whatever clients send', async () => {
    const metrics = makeMetrics({ lagSeconds: () => 0, studies: () => new Map() });
    for (let i = 0; i < 1_000; i++) metrics.observeRequest('BREW', undefined, 400 + (i % 100), 1e9 / 7);
    for (const [route, methods] of ROUTES)
      for (const method of methods)
        for (const status of STATUSES) metrics.observeRequest(method, route, status, 1e9 / 7);
    for (const method of ['GET', 'HEAD']) metrics.observeRequest(method, '/docs', 304, 1e9 / 7);
    const text = await metrics.registry.metrics();
    expect(text.length).toBeLessThan(150_000);
    expect(text).toContain('route="/inclusion_proof",status="503"');
  });
});

it('no process metric is more precise than a MiB, because it could reveal the length of a name', async () => {
  collectProcessMetrics(registry);
  const sizes = (await registry.metrics()).split('\n').filter((line) => /^\w+_bytes\b/.test(line));
  // Resident, virtual and heap memory, and each space of the heap in three ways.
  expect(sizes.length).toBeGreaterThan(20);
  for (const line of sizes) expect(Number(line.split(' ').at(-1)) % (1024 * 1024), line).toBe(0);
  const resident = /^process_resident_memory_bytes (\d+)$/m.exec(sizes.join('\n'))?.[1];
  expect(Number(resident)).toBeGreaterThan(10 * 1024 * 1024);
});
