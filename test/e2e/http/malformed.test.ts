/** Requests that are not as described, to every route; and what all answers have in common. */
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
const PLAIN = ['metrics', 'openapi.json', 'docs'].map((name) => ({
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
      expect({ method, status, allow: headers.get('allow') }).toEqual({
        method,
        status: 405,
        allow: methods,
      });
      expect(text).toContain(`"results":${results}`);
    }
  });

  // Probes are asked by other programs, which may add to the query.
  const READ = ALL.filter(({ name, methods }) => /^GET/.test(methods) && !/^(session|.*z)$/.test(name));
  it.each(READ)('GET $name needs a key, and refuses an unknown parameter', async ({ name, results }) => {
    expect((await http.get(undefined, `/${name}`, { study: 'Sleep' })).status).toBe(401);
    const subject = { study_participants: 'this study', expected_balance: 'expected-balance' }[name] ?? name;
    const parameters = { ...(!/^(studies|operations)$/.test(name) && { study: 'Sleep' }), 'urn.limitt': '1' };
    const { status, message, text } = await http.get('all', `/${name}`, parameters);
    expect([status, message]).toEqual([400, containing(`urn.limitt is not a parameter of ${subject}`)]);
    expect(text).toContain(`"results":${results}`);
  });

  it.each([
    ...['/study_config/', '/Study_config', '/study_participants/001', '//study_config', '/nothing'],
    ...[
      '/docsx',
      '/docs/nothing',
      '/pages',
      '/Pages/studies',
      '/assets',
      '/assets/nothing.js',
      '/index.html',
    ],
    '/pages%2fstudies',
  ])('is not %s: 404', async (path) => {
    expect(await ask(http.url, path, { key: http.keys.edc })).toMatchObject({ status: 404, results: [] });
  });

  it('is not repeated in the answer if it is unknown', async () => {
    expect((await ask(http.url, `/${http.keys.edc}`)).text).not.toContain(http.keys.edc);
    for (const [method, path, status] of [
      ['PATCH', '/nothing', 404],
      ['POST', '/', 405],
      ['POST', '/pages/studies', 405],
    ] as const)
      expect(await ask(http.url, path, { method })).toMatchObject({ status, results: [] });
  });

  it.each(['/study_config', '/study_participants'])(
    'HEAD %s has the headers of GET and no body',
    async (path) => {
      const target = `${path}?study=Sleep&api_key=${http.keys.edc}`;
      const [head, body] = (await talk(http.url, rawRequest('HEAD', target))).split('\r\n\r\n');
      const [get] = (await talk(http.url, rawRequest('GET', target))).split('\r\n\r\n');
      expect(head?.replace(/Date: .*/, '')).toBe(get?.replace(/Date: .*/, ''));
      expect([head, body]).toEqual([expect.stringMatching(/^HTTP\/1\.1 200/), '']);
    },
  );

  it('tells caches to keep nothing and browsers to run nothing', async () => {
    const { headers } = await http.as('edc').list('Sleep');
    expect(Object.fromEntries(headers)).toMatchObject({
      ...{ 'cache-control': 'no-store', 'content-security-policy': containing("default-src 'none'") },
      'x-content-type-options': 'nosniff',
    });
    expect(headers.get('x-powered-by')).toBeNull();
  });

  it('is documented: /docs loads nothing from other hosts; /metrics is for Prometheus', async () => {
    const page = await fetch(`${http.url}/docs`);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const assets = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, address]) => `${address}`,
    );
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
    const metrics = await fetch(`${http.url}/metrics`);
    expect(metrics.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await metrics.text()).toContain('urn_http_request_duration_seconds_count{');
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
    ['a space in the URL', 400, NOT_HTTP, get('/study_participants?study=a b')],
    ['a space in the URL, for the configuration', 400, NOT_HTTP, get('/study_config?study=a b'), {}],
    ['an unknown method', 400, NOT_HTTP, lines('RANDOMIZE /study_participants HTTP/1.1', 'Host: a')],
    ['the preface of HTTP/2', 400, NOT_HTTP, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a header without a colon', 400, NOT_HTTP, get('/healthz', 'nonsense')],
    ['two lengths', 400, NOT_HTTP, post('Content-Length: 1', 'Content-Length: 2')],
    ['a length and chunks', 400, NOT_HTTP, post('Content-Length: 5', 'Transfer-Encoding: chunked')],
    ['two Host headers', 400, TWO, get('/healthz', 'Host: b')],
    ['the same Host twice, in HTTP/1.0', 400, TWO, lines('GET /healthz HTTP/1.0', 'Host: a', 'hOST: a')],
    ['no Host header', 400, 'The request has no Host header', lines('GET /healthz HTTP/1.1')],
    ['HTTP/2.0', 400, VERSION, lines('GET /healthz HTTP/2.0', 'Host: a')],
    ['HTTP/0.9', 400, VERSION, lines('GET /healthz HTTP/0.9', 'Host: a')],
    ...['/healthz#x', '/nowhere#x', '/docs#x', 'http://a/healthz#x', '/healthz?a=b#c'].map(
      (target): [string, number, string, string] => [`a raw # in ${target}`, 400, SHARP, get(target)],
    ),
    ['raw Latin-1 in the path', 400, NOT_HTTP, get('/caf\u00e9')],
    ...['/study_config%ff', '/%zz'].map((target): [string, number, string, string] => [
      ...([`a path that cannot be decoded, ${target}`, 400, 'The path is not valid', get(target)] as const),
    ]),
    ['a header of more than 64 KiB', 431, 'at most 65536 bytes', get('/healthz', `X: ${'x'.repeat(70_000)}`)],
    ['a URL of more than 64 KiB', 431, 'at most 65536 bytes', get(`/healthz?study=${'x'.repeat(70_000)}`)],
    ['a body of more than 64 KiB', 413, 'The body is longer than 64 KiB', post('Content-Length: 70000')],
    [
      'such a body for the configuration',
      413,
      'The body is',
      get('/study_config', 'Content-Length: 70000'),
      {},
    ],
    [
      'one that does not arrive in 10 s',
      408,
      'too long to arrive',
      'GET /study_config HTTP/1.1\r\nHost: x\r\n',
      {},
    ],
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

  it('a replacement character, which stands for lost text and is named', async () => {
    const message = containing('id contains U+FFFD');
    expect(await postRaw('id=%EF%BF%BD')).toMatchObject({ status: 400, message });
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
    ['POST', 'study', [['study', 'Ward']]],
    ['POST', 'sex', [['sex', 'Female']]],
    ['POST', 'sex', [['sex', COOK.sex]]],
    ['GET', 'sex', [['sex', COOK.sex]]],
    ['POST', 'api_key', [['api_key', 'x']]],
    [
      'POST',
      'extra',
      [
        ['extra', 'x'],
        ['extra', 'x'],
      ],
    ],
    [
      'POST',
      'sex, id',
      [
        ['sex', 'Male'],
        ['id', 'twice'],
      ],
    ],
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

describe('POST /study_participants', () => {
  it('ignores what it does not know, but not the prefix of records', async () => {
    const { randomize } = http.as('edc');
    const answer = await randomize('Sleep', 'extra', { ...COOK, phase: '2', '': '' });
    const members = ['id', 'f_sex', 'f_local_site', 'trt', 'datetime', 'user'];
    expect([answer.status, Object.keys(answer.results[0])]).toEqual([200, members]);
    const message = 'f_sex: the prefix f_ belongs to records only; send sex';
    expect(await randomize('Sleep', '1', { ...COOK, f_sex: 'Male' })).toMatchObject({ status: 400, message });
  });

  it('names what it does not know if something that it needs is missing', async () => {
    const misspelt = { Sex: 'Male', local_site: COOK.local_site, phase: '2' };
    expect(await http.as('edc').randomize('Sleep', 'misspelt', misspelt)).toMatchObject({
      status: 400,
      message: 'Sex is not a parameter (hint: did you mean sex?); sex is missing (allowed: "Male", "Female")',
    });
    const nowhere = { method: 'POST', key: http.keys.edc, parameters: { Study: 'Sleep' } };
    const { message } = await ask(http.url, '/study_participants', nowhere);
    expect(message).toBe('study is missing (hint: Study is given; did you mean study?)');
  });

  describe('with its parameters in the body', () => {
    const fields = { study: 'Ward', ward: 'a', id: 'in-the-body' };
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    type Body = string | FormData | URLSearchParams;
    const send = async (query: string, body: Body, type?: string) => {
      const headers = { 'X-API-Key': http.keys.edc, ...(type !== undefined && { 'Content-Type': type }) };
      const url = `${http.url}/study_participants?${query}`;
      const response = await fetch(url, { method: 'POST', headers, body });
      return checked(response.status, response.headers, await response.text());
    };
    const JSON_TYPE = 'application/json';

    it.each<[string, Body, string?]>([
      ['a form', new URLSearchParams(fields)],
      ['JSON', JSON.stringify(fields), JSON_TYPE],
      ['a form of several parts', form],
      ['a form with the key in it', new URLSearchParams({ ...fields, api_key: 'urn_x' })],
    ])('is refused with the reason: %s', async (_, body, type) => {
      const { status, message } = await send('', body, type);
      expect(status).toBe(400);
      expect(message).toMatch(
        /^The parameters are missing, and the body of the request is not read: .*curl: -G/,
      );
      expect((await send('study=Ward', body, type)).message).toBe(message);
    });

    it('is refused along with what is missing if only some are there, and not if they all are', async () => {
      const some = await send('study=Ward&id=in-the-body', JSON.stringify(fields), JSON_TYPE);
      expect(some.status).toBe(400);
      expect(some.message).toMatch(
        /^ward is missing \(allowed: "a", "b"\); the body of the request is not read: /,
      );
      const all = 'study=Ward&id=in-the-query&ward=a';
      const { status, results } = await send(all, '{"id": "other"}', JSON_TYPE);
      expect([status, results[0].id]).toEqual([200, 'in-the-query']);
      const again = 'Participant in-the-query is already assigned';
      expect((await send(all, '{}', JSON_TYPE)).message).toBe(again);
    });
  });
});

describe('an API key', () => {
  const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
  const read = (headers: Record<string, string>, key?: string) =>
    ask(http.url, '/study_participants', { parameters: { study: 'Ward' }, headers, key });

  it('is taken from the parameter api_key, from Authorization: Bearer, or from X-API-Key', async () => {
    const { edc } = http.keys;
    for (const [headers, key] of [
      [{}, edc],
      [bearer(edc)],
      [{ authorization: `bEARER ${edc}` }],
      [{ 'X-API-Key': edc }],
      [{ ...bearer(edc), 'X-API-Key': edc }, edc],
    ] as const)
      expect((await read(headers, key)).status, Object.keys(headers).join()).toBe(200);
  });

  it('is one: two different ones in a request are 400', async () => {
    const { edc, other } = http.keys;
    const twice = (name: string, [one, two]: readonly string[]) =>
      raw(rawRequest('GET', '/study_participants?study=Ward', [`${name}: ${one}`, `${name}: ${two}`]));
    const message = 'Two different API keys are given; send one';
    for (const answer of [
      await read(bearer(other), edc),
      await read({ 'X-API-Key': other }, edc),
      await read({ ...bearer(other), 'X-API-Key': edc }),
      await read({ 'X-API-Key': 'guess' }, edc),
      await twice('X-API-Key', [edc, other]),
      await twice('Authorization', [`Bearer ${edc}`, `Bearer ${other}`]),
    ])
      expect(answer).toMatchObject({ status: 400, message });
  });

  it('is missing if it is empty or in another scheme, which is challenged, and never trimmed or case-folded', async () => {
    const { edc } = http.keys;
    for (const answer of [await read({ Authorization: 'Basic dXNlcjpwYXNzd29yZA==' }), await read({}, '')]) {
      expect(answer).toMatchObject({ status: 401, message: containing('API key is missing') });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="urn"');
    }
    for (const changed of [`${edc} `, edc.toUpperCase()])
      expect(await read({}, changed)).toMatchObject({ status: 401, message: containing('is not valid') });
  });

  it('is refused and not quoted where it would be recorded or quoted', async () => {
    const { edc } = http.keys;
    const ward = { study: 'Ward', ward: 'a' };
    for (const [parameters, headers] of [
      [{ ...ward, id: edc }],
      [{ study: edc }],
      [{ ...ward, [edc]: 'a' }],
      [[[edc, ''] as const, [edc, ''] as const]],
      [{ ...ward, id: 'x' }, { 'Idempotency-Key': edc }],
      [{ ...ward, id: 'x' }, { 'X-On-Behalf-Of': edc }],
    ] as const) {
      const request = { method: 'POST', key: edc, parameters, ...(headers && { headers }) };
      const answer = await ask(http.url, '/study_participants', request);
      expect(answer).toMatchObject({ status: 400, message: containing('An API key was sent where') });
      expect(answer.text).not.toContain(edc);
    }
  });
});

describe('the header', () => {
  it.each([
    ['plain', 'Dr. Example'],
    ['utf8', 'Dr. Grün – 緑'],
    ['astral', '😀'.repeat(128)],
  ])('X-On-Behalf-Of takes up to 128 characters of UTF-8, which are recorded (%s)', async (id, value) => {
    expect((await postRaw(`id=${id}`, [`X-On-Behalf-Of: ${bytesOf(value)}`])).status).toBe(200);
    const found = (await http.records()).find(({ record }) => record.data.participantId === id);
    expect(found?.record.actor).toMatchObject({ user: 'edc', onBehalfOf: value });
  });

  it('Idempotency-Key takes 1 to 255 visible ASCII characters', async () => {
    expect((await postRaw('id=one', ['Idempotency-Key: !'])).status).toBe(200);
    expect((await postRaw('id=many', [`Idempotency-Key: ${'~'.repeat(255)}`])).status).toBe(200);
  });

  const PERSON = 'The header X-On-Behalf-Of takes 1 to 128 characters in UTF-8, and no control characters';
  const VISIBLE = 'The header Idempotency-Key takes 1 to 255 visible ASCII characters';
  const bad = (name: string, values: readonly string[], message: string) =>
    values.map((value): [string, string[], string] => [name, [value], message]);
  it.each([
    ...bad('X-On-Behalf-Of', ['x'.repeat(129), '', bytesOf('a\u0085b'), 'caf\u00e9'], PERSON),
    ['X-On-Behalf-Of', ['a', 'b'], 'The header X-On-Behalf-Of is given more than once'],
    ...bad('Idempotency-Key', ['x'.repeat(256), '', 'a b', 'caf\u00e9'], VISIBLE),
    ['Idempotency-Key', ['a', 'b'], 'The header Idempotency-Key is given more than once'],
  ] satisfies [string, string[], string][])('%s is not %j', async (name, values, message) => {
    const headers = values.map((value) => `${name}: ${value}`);
    expect(await postRaw('id=refused', headers)).toMatchObject({ status: 400, message });
  });

  it.each(['Urn-Dry-Run', 'urn-dryrun', 'URN-IGNORED', 'Urn-Automatically'])(
    '%s, which the service does not have, is refused everywhere',
    async (name) => {
      const headers = { [name]: 'true' };
      const is = new RegExp(`^${name} is not a header of this service`, 'i');
      const before = (await http.as('edc').list('Ward')).results.length;
      expect(await http.as('edc').randomize('Ward', 'h', { ward: 'a' }, headers)).toMatchObject({
        ...{ status: 400, message: expect.stringMatching(is) },
      });
      expect((await http.as('edc').list('Ward')).results).toHaveLength(before);
      for (const path of ['/healthz', '/study_config?study=Ward', '/pages/studies', '/nowhere'])
        expect((await fetch(`${http.url}${path}`, { headers })).status, path).toBe(400);
    },
  );

  it('Urn-Automatic, which the pages send, is known', async () => {
    const automatic = { 'Urn-Automatic': 'true' };
    expect((await http.as('edc').randomize('Ward', 'h1', { ward: 'a' }, automatic)).status).toBe(200);
  });
});
