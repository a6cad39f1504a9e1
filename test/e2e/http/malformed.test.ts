/** Requests that are not as described, to every route; what all answers have in common, and how the pages are sent. */

import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/service/http/openapi.ts';
import { ask, checked, rawAnswer, rawRequest, talk } from '../../support/client.ts';
import { served } from '../../support/served.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const SCOPES = 'read,randomize,audit,supply,unblind,manage,correct,force';
const http = served(TRIALS, {
  edc: ['edc'],
  other: ['other'],
  all: ['all', '--scope', SCOPES, '--allow-prediction'],
  ward: ['ward', '--scope', SCOPES, '--allow-prediction', '--study', 'Ward', '--force'],
});

const raw = (bytes: string | Uint8Array) => rawAnswer(http.url, bytes);
/** A POST about Ward, with its query and headers byte for byte. */
const postRaw = (query: string, headers: readonly string[] = []) =>
  raw(rawRequest('POST', `/study_participants?study=Ward&ward=a&api_key=${http.keys.edc}&${query}`, headers));
/** Text as UTF-8 with one character per byte, which is how `rawRequest` takes bytes. */
const bytesOf = (text: string) => Buffer.from(text).toString('latin1');
const containing = (text: string) => expect.stringContaining(text);

/** The routes with an envelope, by the `results` of their errors and their methods. */
const ROUTES: readonly [results: '{}' | '[]', methods: string, names: string][] = [
  ['{}', 'GET, HEAD', 'changes study_config study_design study_form enrolment codes verification_progress'],
  ['{}', 'GET, HEAD', 'checkpoint inclusion_proof consistency_proof expected_balance'],
  ['{}', 'POST', 'amendments code_replacements dispensations dispensation_corrections code_withdrawals'],
  ['{}', 'POST', 'study_state'],
  ['{}', 'GET, HEAD, POST, DELETE', 'session'],
  ['[]', 'GET, HEAD', 'studies pack_accountability participant_history records operations verification'],
  ['[]', 'GET, HEAD', 'bundle explanation balance healthz readyz'],
  ['[]', 'POST', 'forced_allocations level_corrections voids reinstatements id_corrections unblindings'],
  ['[]', 'GET, HEAD, POST', 'study_participants code_breaks'],
];
const ALL = ROUTES.flatMap(([results, methods, names]) =>
  names.split(' ').map((name) => ({ name, results, methods })),
);
/** Their answers have no envelope, but their errors do. */
const PLAIN = ['metrics', 'openapi.json', 'docs', 'pages/studies'].map((name) => ({
  ...{ name, results: '[]', methods: 'GET, HEAD' },
}));

describe('every route', () => {
  it('is among these, as the OpenAPI document has them', () => {
    const paths = Object.keys(openApiDocument('0')['paths'] as object);
    expect(ALL.map(({ name }) => `/${name}`).toSorted()).toEqual(paths.toSorted());
  });

  it.each([...ALL, ...PLAIN])('$name takes $methods; the results of an error are $results', async (route) => {
    const { name, results, methods } = route;
    for (const method of ['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS']) {
      if (methods.includes(method)) continue;
      const { status, headers, text } = await ask(http.url, `/${name}`, { method, key: http.keys.edc });
      expect([method, status, headers.get('allow')]).toEqual([method, 405, methods]);
      expect(text).toContain(`"results":${results}`);
    }
  });

  // Probes are asked by other programs, which may add to the query.
  const READ = ALL.filter(({ name, methods }) => /^GET/.test(methods) && !/^(session|.*z)$/.test(name));
  it.each(READ)('GET $name needs a key for the study, and refuses an unknown parameter', async (route) => {
    const { name, results } = route;
    expect((await http.get(undefined, `/${name}`, { study: 'Sleep' })).status).toBe(401);
    if (name !== 'studies') expect((await http.get('ward', `/${name}`, { study: 'Sleep' })).status).toBe(404);
    const subject = { study_participants: 'this study', expected_balance: 'expected-balance' }[name] ?? name;
    const parameters = { ...(!/^(studies|operations)$/.test(name) && { study: 'Sleep' }), 'urn.limitt': '1' };
    const { status, message, text } = await http.get('all', `/${name}`, parameters);
    expect([status, message]).toEqual([400, containing(`urn.limitt is not a parameter of ${subject}`)]);
    expect(text).toContain(`"results":${results}`);
  });

  it.each([
    ...['/study_config/', '/Study_config', '/study_participants/001', '//study_config', '/nothing'],
    ...['/docsx', '/docs/nothing', '/pages', '/Pages/studies', '/assets', '/assets/nothing.js'],
    ...['/index.html', '/pages%2fstudies'],
  ])('is not %s: 404', async (path) => {
    expect(await ask(http.url, path, { key: http.keys.edc })).toMatchObject({ status: 404, results: [] });
  });

  it('is looked for before its methods are', async () => {
    expect(await ask(http.url, '/nothing', { method: 'PATCH' })).toMatchObject({ status: 404, results: [] });
  });

  it('answers HEAD with the headers of GET and no body', async () => {
    const target = `/study_participants?study=Sleep&api_key=${http.keys.edc}`;
    const [head, body] = (await talk(http.url, rawRequest('HEAD', target))).split('\r\n\r\n');
    const [get] = (await talk(http.url, rawRequest('GET', target))).split('\r\n\r\n');
    expect(head?.replace(/Date: .*/, '')).toBe(get?.replace(/Date: .*/, ''));
    expect([head, body]).toEqual([expect.stringMatching(/^HTTP\/1\.1 200/), '']);
  });

  it('tells browsers to run nothing', async () => {
    const { headers } = await http.as('edc').list('Sleep');
    expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-powered-by')).toBeNull();
  });

  it('is documented, in a page that loads nothing from other hosts', async () => {
    const page = await fetch(`${http.url}/docs`);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const assets = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, one]) => `${one}`);
    expect(assets.length).toBeGreaterThan(3);
    for (const asset of assets) {
      expect(asset).toMatch(/^\/[a-z]/);
      expect((await fetch(`${http.url}${asset}`)).status, asset).toBe(200);
    }
    const described = await fetch(`${http.url}/openapi.json`);
    expect(described.headers.get('content-type')).toBe('application/json');
    const { openapi, paths } = (await described.json()) as { openapi: string; paths: Record<string, object> };
    expect(openapi).toMatch(/^3\.1/);
    expect(Object.keys(paths['/study_participants'] ?? {})).toEqual(['get', 'post']);
  });
});

describe('a request that is not HTTP/1, or can be read in two ways, is', () => {
  const lines = (...all: string[]) => [...all, 'Connection: close', '', ''].join('\r\n');
  const get = (target: string, ...headers: string[]) =>
    lines(`GET ${target} HTTP/1.1`, 'Host: a', ...headers);
  const TWO = 'The request has more than one Host header';
  const SHARP = 'The URL contains a "#": percent-encode it as %23';
  const NOT_HTTP = 'The request is not valid HTTP';
  const VERSION = 'The version of HTTP is not 1.0 or 1.1';
  const post = (...headers: string[]) => lines('POST /healthz HTTP/1.1', 'Host: a', ...headers);

  it.each<[string, number, string, string | Uint8Array, object?]>([
    ['bytes', 400, NOT_HTTP, Buffer.from('160301020001fc0303ff00', 'hex')],
    ['a control character in the URL', 400, NOT_HTTP, get('/study_participants?study=a\u0001b')],
    ['an unknown method', 400, NOT_HTTP, lines('RANDOMIZE /study_participants HTTP/1.1', 'Host: a')],
    ['the preface of HTTP/2', 400, NOT_HTTP, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['two lengths', 400, NOT_HTTP, post('Content-Length: 1', 'Content-Length: 2')],
    ['a length and chunks', 400, NOT_HTTP, post('Content-Length: 5', 'Transfer-Encoding: chunked')],
    ['two Host headers', 400, TWO, get('/healthz', 'Host: b')],
    ['the same Host twice, in HTTP/1.0', 400, TWO, lines('GET /healthz HTTP/1.0', 'Host: a', 'hOST: a')],
    ['no Host header', 400, 'The request has no Host header', lines('GET /healthz HTTP/1.1')],
    ['a target that is no URL', 400, NOT_HTTP, get('http://[::1')],
    ['HTTP/2.0', 400, VERSION, lines('GET /healthz HTTP/2.0', 'Host: a')],
    ['a raw # in the path', 400, SHARP, get('http://a/healthz#x')],
    ['a raw # in the query', 400, SHARP, get('/healthz?a=b#c')],
    ['a path that cannot be decoded', 400, 'The path is not valid', get('/study_config%ff')],
    ['a header of more than 64 KiB', 431, 'at most 65536 bytes', get('/healthz', `X: ${'x'.repeat(70_000)}`)],
    ['a URL of more than 64 KiB', 431, 'at most 65536 bytes', get(`/healthz?study=${'x'.repeat(70_000)}`)],
    ['a body over 64 KiB', 413, 'longer than 64 KiB', get('/study_config', 'Content-Length: 70000'), {}],
    ['one of over 10 s', 408, 'too long to arrive', 'GET /study_config HTTP/1.1\r\nHost: x\r\n', {}],
  ])('refused in the envelope: %s: %i', async (_, status, message, bytes, results = []) => {
    expect(await raw(bytes)).toMatchObject({ status, message: containing(message), results });
  });

  it('not one with a small body, an unknown expectation, or an absolute URL, as sent by proxies', async () => {
    const target = `/study_participants?study=Ward&ward=a&id=body&api_key=${http.keys.edc}`;
    const request = rawRequest('POST', target, ['Content-Type: application/json', 'Content-Length: 14']);
    expect((await raw(`${request}{"id":"other"}`)).results[0].id).toBe('body');
    expect((await raw(rawRequest('GET', '/healthz', ['Expect: wonders']))).status).toBe(200);
    const absolute = `http://test/study_config?study=Ward&api_key=${http.keys.edc}`;
    expect((await raw(rawRequest('GET', absolute))).status).toBe(200);
  });
});

describe('two different byte strings never become the same id: 400 for', () => {
  it.each([
    ...['100%', '%4', '%zz', '%FF', '%E2%80', '%C0%AF', '%C0%80', '%ED%A0%80', '%F4%90%80%80'],
    ...['caf\u00e9', bytesOf('café'), '1&%C0%AF=1', '1&extra=%FF'],
  ])('id=%s', async (id) => {
    // Raw bytes above ASCII are not even HTTP.
    const message = /^The (query string is not valid: percent-encode it as UTF-8|request is not valid HTTP)$/;
    expect(await postRaw(`id=${id}`)).toMatchObject({ status: 400, message: expect.stringMatching(message) });
  });

  it('nothing else: a plus sign is a space, and %2B is a plus sign, as in forms', async () => {
    const ids = [];
    for (const id of ['a+b', 'a%20c', 'a%2Bb']) ids.push((await postRaw(`id=${id}`)).results[0].id);
    expect(ids).toEqual(['a b', 'a c', 'a+b']);
  });
});

describe('a parameter given twice is 400, and the message names it:', () => {
  it.each([
    ['POST', 'id', [['id', 'other']]],
    ['GET', 'sex', [['sex', COOK.sex]]],
    ['POST', 'api_key', [['api_key', 'x']]],
    ['POST', 'sex, extra', Object.entries({ sex: 'Male', extra: 'x' }).concat([['extra', 'x']])],
  ] as const)('%s %s', async (method, names, extra) => {
    const parameters = [...Object.entries({ study: 'Sleep', id: 'twice', ...COOK }), ...extra] as const;
    const answer = await ask(http.url, '/study_participants', { method, parameters, key: http.keys.edc });
    const message = `Given more than once: ${names} (each parameter may be given once)`;
    expect(answer).toMatchObject({ status: 400, message });
  });

  it('even if it is spelled in two ways', async () => {
    expect(await postRaw('id=1&i%64=1')).toMatchObject({ status: 400, message: containing('once: id ') });
  });
});

describe('parameters in the body of POST /study_participants are refused with the reason:', () => {
  const fields = { study: 'Ward', ward: 'a', id: 'in-the-body' };
  const json = JSON.stringify(fields);
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  const ALL = /^The parameters are missing, and the body of the request is not read: .*curl: -G/;
  const ONE = /^ward is missing \(allowed: "a", "b"\); the body of the request is not read: /;

  it.each<[string, string | FormData | URLSearchParams, string, RegExp]>([
    ['JSON, with the study in the query', json, 'study=Ward', ALL],
    ['JSON, with the id in the query, too', json, 'study=Ward&id=in-the-body', ONE],
    ['a form of several parts', form, '', ALL],
    ['a form with the key in it', new URLSearchParams({ ...fields, api_key: 'urn_x' }), '', ALL],
  ])('%s', async (_, body, query, why) => {
    const type = typeof body === 'string' && { 'Content-Type': 'application/json' };
    const headers = { 'X-API-Key': http.keys.edc, ...type };
    const target = `${http.url}/study_participants?${query}`;
    const response = await fetch(target, { method: 'POST', headers, body });
    const { status, message } = checked(response.status, response.headers, await response.text());
    expect([status, message]).toEqual([400, expect.stringMatching(why)]);
  });
});

describe('an API key', () => {
  const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

  it('is in api_key, in Authorization: Bearer or in X-API-Key; it is one, and never trimmed or case-folded', async () => {
    const { edc, other } = http.keys;
    const TWO = 'Two different API keys are given; send one';
    const [MISSING, WRONG] = [containing('API key is missing'), containing('is not valid')];
    for (const [status, message, headers, key] of [
      [200, 'Success', {}, edc],
      [200, 'Success', bearer(edc)],
      [200, 'Success', { authorization: `bEARER ${edc}` }],
      [200, 'Success', { 'X-API-Key': edc }],
      [200, 'Success', { ...bearer(edc), 'X-API-Key': edc }, edc],
      [400, TWO, bearer(other), edc],
      [400, TWO, { 'X-API-Key': other }, edc],
      [400, TWO, { ...bearer(other), 'X-API-Key': edc }],
      [401, MISSING, { Authorization: 'Basic dXNlcjpwYXNzd29yZA==' }],
      [401, MISSING, {}, ''],
      [401, WRONG, {}, `${edc} `],
      [401, WRONG, {}, edc.toUpperCase()],
    ] as const) {
      const parameters = { study: 'Ward' };
      const answer = await ask(http.url, '/study_participants', { parameters, headers: { ...headers }, key });
      expect(answer, JSON.stringify([headers, key])).toMatchObject({ status, message });
      if (message === MISSING) expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="urn"');
    }
    for (const [name, before] of Object.entries({ 'X-API-Key': '', Authorization: 'Bearer ' })) {
      const twice = [edc, other].map((key) => `${name}: ${before}${key}`);
      const answer = await raw(rawRequest('GET', '/study_participants?study=Ward', twice));
      expect(answer).toMatchObject({ status: 400, message: TWO });
    }
  });

  it('is refused and not quoted where it would be recorded or quoted', async () => {
    const { edc } = http.keys;
    for (const [more, headers] of [
      [{ id: edc }],
      [{ study: edc }],
      [{ [edc]: 'a' }],
      [{}, { 'Idempotency-Key': edc }],
      [{}, { 'X-On-Behalf-Of': edc }],
    ] as const) {
      const parameters = { study: 'Ward', ward: 'a', id: 'x', ...more };
      const request = { method: 'POST', key: edc, parameters, ...(headers && { headers }) };
      const answer = await ask(http.url, '/study_participants', request);
      expect(answer).toMatchObject({ status: 400, message: containing('An API key was sent where') });
      expect(answer.text).not.toContain(edc);
    }
  });
});

describe('the header', () => {
  it.each([
    ['utf8', 'Dr. Grün – 緑', '!'],
    ['astral', '😀'.repeat(128), '~'.repeat(255)],
  ])('X-On-Behalf-Of takes 128 characters, Idempotency-Key 255 (%s)', async (id, value, key) => {
    const headers = [`X-On-Behalf-Of: ${bytesOf(value)}`, `Idempotency-Key: ${key}`];
    expect((await postRaw(`id=${id}`, headers)).status).toBe(200);
    const found = (await http.records()).find(({ record }) => record.data.participantId === id);
    expect(found?.record.actor).toMatchObject({ user: 'edc', onBehalfOf: value });
  });

  const PERSON = 'The header X-On-Behalf-Of takes 1 to 128 characters in UTF-8, and no control characters';
  const FORMULA = 'a spreadsheet takes for the beginning of a formula';
  const VISIBLE = 'The header Idempotency-Key takes 1 to 255 visible ASCII characters';
  const bad = (name: string, values: readonly string[], message: string) =>
    values.map((value): [string, string[], string] => [name, [value], message]);
  it.each([
    ...bad('X-On-Behalf-Of', ['x'.repeat(129), '', bytesOf('a\u0085b'), 'caf\u00e9'], PERSON),
    ['X-On-Behalf-Of', ['=1+1'], `The header X-On-Behalf-Of begins with "=", which ${FORMULA}`],
    ['X-On-Behalf-Of', ['a', 'b'], 'The header X-On-Behalf-Of is given more than once'],
    ...bad('Idempotency-Key', ['x'.repeat(256), '', 'a b', 'caf\u00e9'], VISIBLE),
    ['Idempotency-Key', ['a', 'b'], 'The header Idempotency-Key is given more than once'],
  ] satisfies [string, string[], string][])('%s is not %j', async (name, values, message) => {
    const headers = values.map((value) => `${name}: ${value}`);
    expect(await postRaw('id=refused', headers)).toMatchObject({ status: 400, message });
  });

  it.each(['URN-IGNORED', 'Urn-Automatically'])(
    '%s, which there is not, is refused everywhere',
    async (name) => {
      const headers = { [name]: 'true' };
      const message = expect.stringMatching(new RegExp(`^${name} is not a header of this service`, 'i'));
      const refused = await http.as('edc').randomize('Ward', 'h', { ward: 'a' }, headers);
      expect(refused).toMatchObject({ status: 400, message });
      expect((await http.as('edc').list('Ward', { id: 'h' })).results).toEqual([]);
      for (const path of ['/healthz', '/pages/studies', '/nowhere'])
        expect((await fetch(`${http.url}${path}`, { headers })).status, path).toBe(400);
    },
  );
});

/** As received, without decompression. */
async function getRaw(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') {
  const request = httpRequest(`${http.url}${path}`, { headers, method }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

describe('the pages', () => {
  it.each(['/', '/pages/', '/pages/anything/below?it=1'])('%s is the document', async (path) => {
    const { status, headers, body } = await getRaw(path);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['cache-control']).toBe('no-cache');
    expect(body.toString()).toContain('<div id="root"></div>');
  });

  it('run only their own scripts and styles, cannot be framed, and send no referrer', async () => {
    const { headers, body } = await getRaw('/');
    expect(headers).toMatchObject({
      'content-security-policy':
        "default-src 'none';script-src 'self';style-src 'self';img-src 'self';connect-src 'self';base-uri 'none';form-action 'none';frame-ancestors 'none'",
      ...{ 'referrer-policy': 'no-referrer', 'cross-origin-opener-policy': 'same-origin' },
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(body.toString()).not.toMatch(/<style|style=|<script(?![^>]* src=)/);
  });

  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const)('are sent as the build compressed them: %s', async (encoding, decompress) => {
    // That the document loads.
    const [script = ''] = /\/assets\/index-[\w-]+\.js/.exec((await getRaw('/')).body.toString()) ?? [];
    const { status, headers: given, body: plain } = await getRaw(script);
    expect([status, given['content-type']]).toEqual([200, 'text/javascript; charset=utf-8']);
    // Their names change with their content.
    expect(given['cache-control']).toBe('public, max-age=31536000, immutable');
    const { headers, body } = await getRaw(script, { 'Accept-Encoding': encoding });
    expect(headers['content-encoding']).toBe(encoding);
    expect(headers['content-length']).toBe(String(body.length));
    expect(headers['vary']).toBe('Accept-Encoding');
    expect(body.length).toBeLessThan(plain.length / 2);
    expect(decompress(body).equals(plain)).toBe(true);
  });

  it('are not sent again to a browser that has them, nor to HEAD', async () => {
    const { headers } = await getRaw('/');
    const again = await getRaw('/', { 'If-None-Match': String(headers['etag']) });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    const head = await getRaw('/pages/study', {}, 'HEAD');
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(500);
  });
});
