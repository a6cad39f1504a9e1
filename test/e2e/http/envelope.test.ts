import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf, rawAnswer, rawRequest, talk } from '../../support/client.ts';
import { type ServiceHere, serveInMemory } from '../../support/service-here.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

let service: ServiceHere;
let key: string;

beforeAll(async () => {
  ({
    service,
    keys: { key },
  } = await serveInMemory(TRIALS, { key: ['edc'] }));
});
afterAll(() => service.stop());

const raw = (bytes: string | Uint8Array) => rawAnswer(service.url, bytes);

describe('every response is an envelope of exactly message, results and status', () => {
  it('on success: results is an object for the configuration, an array for participants', async () => {
    const { config, list, randomize } = clientOf(service.url, key);
    expect((await config('Sleep')).results).toHaveProperty('treatments');
    expect((await list('Sleep')).results).toEqual([]);
    expect((await randomize('Sleep', '001', COOK)).results).toHaveLength(1);
  });

  it.each(['/healthz', '/readyz'])('on %s, which needs no key', async (path) => {
    expect((await ask(service.url, path)).status).toBe(200);
  });

  it.each([
    ['GET', '/study_config', '{}'],
    ['POST', '/study_config', '{}'],
    ['GET', '/study_participants', '[]'],
    ['POST', '/study_participants', '[]'],
    ['DELETE', '/study_participants', '[]'],
    ['POST', '/healthz', '[]'],
    ['PUT', '/metrics', '[]'],
    ['PUT', '/openapi.json', '[]'],
    ['POST', '/docs', '[]'],
    ['GET', '/docs/nothing', '[]'],
    ['GET', '/nothing', '[]'],
    ['POST', '/', '[]'],
    ['POST', '/pages/studies', '[]'],
    ['GET', '/assets/nothing.js', '[]'],
    ['PATCH', '/nothing', '[]'],
  ])('on an error of %s %s, results is %s', async (method, path, empty) => {
    const answer = await ask(service.url, path, { method });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).toContain(`"results":${empty}`);
  });

  it.each([
    '/study_config/',
    '/Study_config',
    '/study_participants/001',
    '//study_config',
    '/docsx',
    '/pages',
    '/Pages/studies',
    '/assets',
    '/index.html',
    '/pages%2fstudies',
  ])('on %s, which is not a path of the service: 404', async (path) => {
    expect((await ask(service.url, path, { key })).status).toBe(404);
  });

  it('and does not repeat an unknown path', async () => {
    const { text } = await ask(service.url, `/${key}`);
    expect(text).not.toContain(key);
  });
});

describe('a malformed request is answered in the envelope, too', () => {
  it.each([
    ['bytes that are not HTTP', Buffer.from('160301020001fc0303ff00', 'hex')],
    ['a control character in the URL', 'GET /study_participants?study=a\u0001b HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a space in the URL', 'GET /study_participants?study=a b HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an unknown method', 'RANDOMIZE /study_participants HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a header without a colon', 'GET /healthz HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n'],
    [
      'two ways of giving the length of the body',
      'POST /study_participants HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
    ['a request without Host', 'GET /study_participants HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ])('%s: 400', async (_, bytes) => {
    expect(await raw(bytes)).toMatchObject({ status: 400, results: [] });
  });

  it.each([
    ['a header', rawRequest('GET', '/study_participants', [`X-Large: ${'x'.repeat(70_000)}`])],
    ['a URL', rawRequest('GET', `/study_participants?study=${'x'.repeat(70_000)}`)],
  ])('%s of more than 64 KiB: 431', async (_, bytes) => {
    expect(await raw(bytes)).toMatchObject({ status: 431, results: [] });
  });

  it('a malformed request to the configuration has its empty results', async () => {
    const bytes = 'GET /study_config?study=a b HTTP/1.1\r\nHost: x\r\n\r\n';
    expect(await raw(bytes)).toMatchObject({ status: 400, results: {} });
  });

  it('a body of more than 64 KiB: 413, with the empty results of its path', async () => {
    const large = ['Content-Length: 70000'];
    expect(await raw(rawRequest('POST', '/study_participants', large))).toMatchObject({
      status: 413,
      message: expect.stringMatching(/^The body is longer than 64 KiB/),
      results: [],
    });
    expect(await raw(rawRequest('GET', '/study_config', large))).toMatchObject({ status: 413, results: {} });
  });

  it('a small, unexpected body is ignored', async () => {
    const target = `/study_participants?study=Ward&ward=a&id=body&api_key=${key}`;
    const request = rawRequest('POST', target, ['Content-Type: application/json', 'Content-Length: 14']);
    expect((await raw(`${request}{"id":"other"}`)).results[0].id).toBe('body');
  });

  it('an unknown expectation is ignored', async () => {
    expect((await raw(rawRequest('GET', '/healthz', ['Expect: wonders']))).status).toBe(200);
  });

  it('a request that does not arrive within ten seconds: 408', async () => {
    expect(await raw('GET /study_config HTTP/1.1\r\nHost: x\r\n')).toMatchObject({ status: 408 });
  });

  it('an error never takes the place of the answer to the previous request', async () => {
    const target = `/study_participants?study=Ward&ward=a&id=pipelined&api_key=${key}`;
    const answers = await talk(
      service.url,
      `POST ${target} HTTP/1.1\r\nHost: x\r\n\r\nGARBAGE\u0000\r\n\r\n`,
    );
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    expect(answers).toContain('"id":"pipelined"');
  });

  it('pipelined requests are answered in order', async () => {
    const get = (id: string, more = '') =>
      `GET /study_participants?study=Ward&id=${id}&api_key=${key} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
    const answers = await talk(
      service.url,
      get('none') + get('also-none') + get('last', 'Connection: close\r\n'),
    );
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(Array(3).fill('HTTP/1.1 200'));
  });
});

describe('methods', () => {
  it.each([
    ['/study_config', 'GET, HEAD'],
    ['/study_participants', 'GET, HEAD, POST'],
    ['/healthz', 'GET, HEAD'],
    ['/readyz', 'GET, HEAD'],
    ['/metrics', 'GET, HEAD'],
    ['/openapi.json', 'GET, HEAD'],
    ['/docs', 'GET, HEAD'],
  ])('any other method on %s is 405, and Allow lists %s', async (path, allowed) => {
    for (const method of [
      'DELETE',
      'PUT',
      'PATCH',
      'OPTIONS',
      ...(allowed.includes('POST') ? [] : ['POST']),
    ]) {
      const { status, headers } = await ask(service.url, path, { method, key });
      expect({ method, status, allow: headers.get('allow') }).toEqual({
        method,
        status: 405,
        allow: allowed,
      });
    }
  });

  it.each(['/study_config', '/study_participants'])(
    'HEAD %s has the headers of GET and no body',
    async (path) => {
      const target = `${path}?study=Sleep&api_key=${key}`;
      const [head, body] = (await talk(service.url, rawRequest('HEAD', target))).split('\r\n\r\n');
      const get = (await talk(service.url, rawRequest('GET', target))).split('\r\n\r\n')[0];
      expect(head?.replace(/Date: .*/, '')).toBe(get?.replace(/Date: .*/, ''));
      expect(head).toMatch(/^HTTP\/1\.1 200/);
      expect(body).toBe('');
    },
  );
});

describe('exempt from the envelope are', () => {
  it('/openapi.json, which describes the three operations', async () => {
    const response = await fetch(`${service.url}/openapi.json`);
    expect(response.headers.get('content-type')).toBe('application/json');
    const { openapi, paths } = (await response.json()) as { openapi: string; paths: Record<string, object> };
    expect(openapi).toMatch(/^3\.1/);
    expect(Object.keys(paths['/study_participants'] ?? {})).toEqual(['get', 'post']);
    expect(Object.keys(paths['/study_config'] ?? {})).toEqual(['get']);
  });

  it('/docs, which loads nothing from other hosts', async () => {
    const response = await fetch(`${service.url}/docs`);
    expect(response.headers.get('content-type')).toMatch(/^text\/html/);
    const page = await response.text();
    const assets = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address ?? '');
    expect(assets.length).toBeGreaterThan(3);
    for (const asset of assets) {
      expect(asset).toMatch(/^\/[a-z]/);
      expect((await fetch(`${service.url}${asset}`)).status, asset).toBe(200);
    }
  });

  it('/metrics, for Prometheus', async () => {
    const response = await fetch(`${service.url}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await response.text()).toContain('urn_http_request_duration_seconds_count{');
  });
});

it('responses tell caches to keep nothing and browsers to run nothing', async () => {
  const { headers } = await clientOf(service.url, key).list('Sleep');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('x-powered-by')).toBeNull();
});

it('an absolute URL, as sent by proxies, is understood', async () => {
  const answer = await raw(rawRequest('GET', `http://test/study_config?study=Ward&api_key=${key}`));
  expect(answer.status).toBe(200);
});
