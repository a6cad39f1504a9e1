import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, checked, clientOf, rawAnswer, rawRequest } from '../../support/client.ts';
import { recordsOf, type ServiceHere, serveInMemory } from '../../support/service-here.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

let service: ServiceHere;
let keys: Record<'full' | 'other', string>;

beforeAll(async () => {
  ({ service, keys } = await serveInMemory(TRIALS, { full: ['edc'], other: ['other'] }));
});
afterAll(() => service.stop());

const post = (query: string, headers: readonly string[] = []) =>
  rawAnswer(service.url, rawRequest('POST', `/study_participants?${query}`, headers));

/** Text as UTF-8 with one character per byte, which is how `rawRequest` takes bytes. */
const bytesOf = (text: string) => Buffer.from(text).toString('latin1');

describe('two different byte strings never become the same id: 400 for', () => {
  it.each([
    ['a stray percent sign', 'id=100%'],
    ['half a percent-encoding', 'id=%4'],
    ['letters that are not hexadecimal digits', 'id=%zz'],
    ['a byte that cannot begin a character', 'id=%FF'],
    ['a truncated character', 'id=%E2%80'],
    ['an overlong form', 'id=%C0%AF'],
    ['an overlong NUL', 'id=%C0%80'],
    ['an encoded surrogate', 'id=%ED%A0%80'],
    ['a code point beyond the last', 'id=%F4%90%80%80'],
    ['a raw byte that is Latin-1', 'id=caf\u00e9'],
    ['raw bytes that are UTF-8', `id=${bytesOf('café')}`],
    ['an overlong form in the name of a parameter', 'id=1&%C0%AF=1'],
    ['an invalid byte in a parameter that nothing reads', 'id=1&extra=%FF'],
  ])('%s', async (_, query) => {
    const answer = await post(`study=Ward&ward=a&api_key=${keys.full}&${query}`);
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining('not valid') });
  });

  it('a replacement character, which stands for lost text and is named', async () => {
    const answer = await post(`study=Ward&ward=a&api_key=${keys.full}&id=%EF%BF%BD`);
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining('id contains U+FFFD') });
  });

  it.each(['/study_config%ff', '/%zz', '/caf\u00e9'])('a path that cannot be decoded: %j', async (path) => {
    expect((await rawAnswer(service.url, rawRequest('GET', path))).status).toBe(400);
  });
});

describe('a request that can be read in two ways, or is not HTTP/1, is 400:', () => {
  const lines = (...all: string[]) => [...all, 'Connection: close', '', ''].join('\r\n');

  it.each([
    ['two Host headers', lines('GET /healthz HTTP/1.1', 'Host: a', 'Host: b'), 'more than one Host'],
    [
      'the same Host twice, in HTTP/1.0',
      lines('GET /healthz HTTP/1.0', 'Host: a', 'hOST: a'),
      'more than one Host',
    ],
    ['no Host header', lines('GET /healthz HTTP/1.1'), 'no Host'],
    ['HTTP/2.0', lines('GET /healthz HTTP/2.0', 'Host: a'), 'version'],
    ['HTTP/0.9', lines('GET /healthz HTTP/0.9', 'Host: a'), 'version'],
    ['a raw # in the path', lines('GET /healthz#x HTTP/1.1', 'Host: a'), '%23'],
    ['a raw # in an unknown path', lines('GET /nowhere#x HTTP/1.1', 'Host: a'), '%23'],
    ['a raw # in the path of the documentation', lines('GET /docs#x HTTP/1.1', 'Host: a'), '%23'],
    ['a raw # in an absolute URL', lines('GET http://a/healthz#x HTTP/1.1', 'Host: a'), '%23'],
    ['a raw # in the query', lines('GET /healthz?a=b#c HTTP/1.1', 'Host: a'), '%23'],
    [
      'two lengths',
      lines('POST /healthz HTTP/1.1', 'Host: a', 'Content-Length: 1', 'Content-Length: 2'),
      'valid HTTP',
    ],
    [
      'a length and chunks',
      lines('POST /healthz HTTP/1.1', 'Host: a', 'Content-Length: 1', 'Transfer-Encoding: chunked'),
      'valid HTTP',
    ],
  ])('%s', async (_, request, message) => {
    expect(await rawAnswer(service.url, request)).toMatchObject({
      status: 400,
      message: expect.stringContaining(message),
      results: [],
    });
  });
});

it('a plus sign is a space, and %2B is a plus sign, as in forms', async () => {
  const ids = [];
  for (const id of ['a+b', 'a%20c', 'a%2Bb'])
    ids.push((await post(`study=Ward&ward=a&api_key=${keys.full}&id=${id}`)).results[0].id);
  expect(ids).toEqual(['a b', 'a c', 'a+b']);
});

describe('a parameter given twice is 400, and the message names it', () => {
  const twice = async (extra: readonly (readonly [string, string])[], method = 'POST') => {
    const parameters = [['study', 'Sleep'], ['id', 'twice'], ...Object.entries(COOK), ...extra] as [
      string,
      string,
    ][];
    return ask(service.url, '/study_participants', { method, parameters, key: keys.full });
  };

  it.each([
    ['id', 'other'],
    ['study', 'Ward'],
    ['sex', 'Female'],
    ['a parameter that nothing reads', 'x'],
  ])('%s', async (name, value) => {
    const extra = name === 'a parameter that nothing reads' ? [[name, value] as const] : [];
    const answer = await twice([...extra, [name, value]]);
    expect(answer).toMatchObject({
      status: 400,
      message: expect.stringContaining(`more than once: ${name}`),
    });
  });

  it('even with the same value, and even when reading', async () => {
    expect((await twice([['sex', COOK.sex]])).status).toBe(400);
    expect((await twice([['sex', COOK.sex]], 'GET')).status).toBe(400);
  });

  it('including the key', async () => {
    expect((await twice([['api_key', keys.full]])).status).toBe(400);
  });

  it('including all of them at once', async () => {
    const { message } = await twice([
      ['sex', 'Male'],
      ['id', 'twice'],
    ]);
    expect(message).toContain('sex, id');
  });

  it('including one that is spelled in two ways', async () => {
    const answer = await post(`study=Ward&ward=a&id=1&i%64=1&api_key=${keys.full}`);
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining('id') });
  });
});

describe('parameters that the contract does not know', () => {
  it('f_sex is 400 with the hint that the prefix belongs to records only', async () => {
    const { randomize, list } = clientOf(service.url, keys.full);
    const hint = 'f_sex: the prefix f_ belongs to records only; send sex';
    expect(await randomize('Sleep', '1', { ...COOK, f_sex: 'Male' })).toMatchObject({
      status: 400,
      message: hint,
    });
    expect(await list('Sleep', { f_sex: 'Male' })).toMatchObject({ status: 400, message: hint });
  });

  it('are ignored by POST', async () => {
    const { randomize } = clientOf(service.url, keys.full);
    const answer = await randomize('Sleep', 'extra', { ...COOK, phase: '2', '': '' });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.results[0])).toEqual([
      'id',
      'f_sex',
      'f_local_site',
      'trt',
      'datetime',
      'user',
    ]);
  });

  it('are named by POST if one that it needs is missing', async () => {
    const { randomize } = clientOf(service.url, keys.full);
    const { local_site } = COOK;
    const { status, message } = await randomize('Sleep', 'misspelt', { Sex: 'Male', local_site, phase: '2' });
    expect(status).toBe(400);
    expect(message).toBe(
      'Sex is not a parameter (hint: did you mean sex?); sex is missing (allowed: "Male", "Female")',
    );
    const nowhere = await ask(service.url, '/study_participants', {
      ...{ method: 'POST', key: keys.full, parameters: { Study: 'Sleep' } },
    });
    expect(nowhere.message).toBe('study is missing (hint: Study is given; did you mean study?)');
  });

  it('are refused by GET: a misspelt filter would silently list everybody', async () => {
    const { list, config } = clientOf(service.url, keys.full);
    expect(await list('Sleep', { Sex: 'Male', sexx: 'Male' })).toMatchObject({
      status: 400,
      message:
        'Sex is not a parameter of this study (hint: did you mean sex?); sexx is not a parameter of this study (hint: did you mean sex?)',
    });
    expect((await list('Sleep', { ward: 'a' })).message).toBe(
      'ward is not a parameter of this study (there are: id, sex, local_site)',
    );
    expect((await list('Sleep', { limit: '5' })).message).toContain('did you mean urn.limit?');
    expect(await config('Sleep', { id: '1' })).toMatchObject({ status: 400, results: {} });
  });
});

describe('credentials', () => {
  const query = { study: 'Ward' };
  const read = (headers: Record<string, string>, key?: string) =>
    ask(service.url, '/study_participants', { parameters: query, headers, key });

  it.each([
    ['the parameter api_key', () => read({}, keys.full)],
    ['Authorization: Bearer', () => read({ Authorization: `Bearer ${keys.full}` })],
    ['authorization: bearer, in any case', () => read({ authorization: `bEARER ${keys.full}` })],
    ['X-API-Key', () => read({ 'X-API-Key': keys.full })],
    [
      'all three, when they are the same',
      () => read({ Authorization: `Bearer ${keys.full}`, 'X-API-Key': keys.full }, keys.full),
    ],
  ])('are taken from %s', async (_, request) => {
    expect((await request()).status).toBe(200);
  });

  it.each([
    ['api_key and Bearer', () => read({ Authorization: `Bearer ${keys.other}` }, keys.full)],
    ['api_key and X-API-Key', () => read({ 'X-API-Key': keys.other }, keys.full)],
    ['Bearer and X-API-Key', () => read({ Authorization: `Bearer ${keys.other}`, 'X-API-Key': keys.full })],
    ['a valid and an unknown one', () => read({ 'X-API-Key': 'guess' }, keys.full)],
    [
      'two headers with the same name',
      () =>
        rawAnswer(
          service.url,
          rawRequest('GET', '/study_participants?study=Ward', [
            `X-API-Key: ${keys.full}`,
            `X-API-Key: ${keys.other}`,
          ]),
        ),
    ],
    [
      'two Authorization headers',
      () =>
        rawAnswer(
          service.url,
          rawRequest('GET', '/study_participants?study=Ward', [
            `Authorization: Bearer ${keys.full}`,
            `Authorization: Bearer ${keys.other}`,
          ]),
        ),
    ],
  ])('two different keys in one request are 400: %s', async (_, request) => {
    expect(await request()).toMatchObject({ status: 400, message: expect.stringContaining('Two different') });
  });

  it('in another Authorization scheme are not a key: 401, with a challenge', async () => {
    const answer = await read({ Authorization: 'Basic dXNlcjpwYXNzd29yZA==' });
    expect(answer).toMatchObject({ status: 401, message: expect.stringContaining('missing') });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="urn"');
  });

  it('count as missing if empty, and a key is never trimmed or case-folded', async () => {
    expect((await read({}, '')).message).toContain('missing');
    expect((await read({}, `${keys.full} `)).status).toBe(401);
    expect((await read({}, keys.full.toUpperCase())).status).toBe(401);
  });

  it.each([
    ['the value of a parameter', () => ({ parameters: { study: 'Ward', ward: 'a', id: keys.full } })],
    ['the name of the study', () => ({ parameters: { study: keys.full } })],
    ['the name of a parameter', () => ({ parameters: { study: 'Ward', [keys.full]: 'a' } })],
    ['a parameter given twice', () => ({ parameters: [[keys.full, ''] as const, [keys.full, ''] as const] })],
    [
      'the Idempotency-Key',
      () => ({
        parameters: { study: 'Ward', ward: 'a', id: 'x' },
        headers: { 'Idempotency-Key': keys.full },
      }),
    ],
    [
      'X-On-Behalf-Of',
      () => ({ parameters: { study: 'Ward', ward: 'a', id: 'x' }, headers: { 'X-On-Behalf-Of': keys.full } }),
    ],
  ])('are refused and not quoted in %s, where they would be recorded or quoted: 400', async (_, request) => {
    const answer = await ask(service.url, '/study_participants', {
      method: 'POST',
      key: keys.full,
      ...request(),
    });
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining('API key was sent where') });
    expect(answer.text).not.toContain(keys.full);
  });
});

describe('a POST with its parameters in the body', () => {
  const fields = { study: 'Ward', ward: 'a', id: 'in-the-body' };
  const bodies: Record<string, [body: string | URLSearchParams | FormData, type?: string]> = {
    'a form': [new URLSearchParams(fields)],
    JSON: [JSON.stringify(fields), 'application/json'],
    'a form of several parts': [formOf(fields)],
    'a form with the key in it': [new URLSearchParams({ ...fields, api_key: 'urn_x' })],
  };
  function formOf(entries: Readonly<Record<string, string>>): FormData {
    const form = new FormData();
    for (const [name, value] of Object.entries(entries)) form.set(name, value);
    return form;
  }
  const send = async (query: string, body: string | URLSearchParams | FormData, type?: string) => {
    const headers = { 'X-API-Key': keys.full, ...(type !== undefined && { 'Content-Type': type }) };
    const response = await fetch(`${service.url}/study_participants?${query}`, {
      method: 'POST',
      headers,
      body,
    });
    return checked(response.status, response.headers, await response.text());
  };

  it.each(Object.entries(bodies))('is refused with the reason: %s', async (_, [body, type]) => {
    const { status, message } = await send('', body, type);
    expect(status).toBe(400);
    expect(message).toMatch(
      /^The parameters are missing, and the body of the request is not read: .*curl: -G/,
    );
    expect((await send('study=Ward', body, type)).message).toBe(message);
  });

  it('is refused along with what is missing if only some are there', async () => {
    const { status, message } = await send('study=Ward&id=in-the-body', ...(bodies['JSON'] ?? ['']));
    expect(status).toBe(400);
    expect(message).toMatch(/^ward is missing \(allowed: "a", "b"\); the body of the request is not read: /);
  });

  it('is answered as if it had no body if the query has them all', async () => {
    const { status, results } = await send(
      'study=Ward&id=in-the-query&ward=a',
      '{"id": "other"}',
      'application/json',
    );
    expect([status, results[0].id]).toEqual([200, 'in-the-query']);
    expect((await send('study=Ward&id=in-the-query&ward=a', '{}', 'application/json')).message).toBe(
      'Participant in-the-query is already assigned',
    );
  });
});

describe('X-On-Behalf-Of', () => {
  const target = (id: string) => `/study_participants?study=Ward&ward=a&id=${id}&api_key=${keys.full}`;
  const behalf = (id: string, value: string) =>
    rawAnswer(service.url, rawRequest('POST', target(id), [`X-On-Behalf-Of: ${bytesOf(value)}`]));

  it.each([
    ['plain', 'Dr. Example'],
    ['utf8', 'Dr. Grün – 緑'],
    ['astral', '😀'.repeat(128)],
  ])('accepts up to 128 characters of UTF-8, and is recorded (%s)', async (id, value) => {
    expect((await behalf(id, value)).status).toBe(200);
    const { record } =
      (await recordsOf(service)).find((stored) => stored.record.data.participantId === id) ?? {};
    expect(record.actor).toMatchObject({ user: 'edc', onBehalfOf: value });
  });

  it.each([
    ['129 characters', 'x'.repeat(129)],
    ['an empty value', ''],
    ['a control character', 'a\u0085b'],
  ])('refuses %s', async (_, value) => {
    expect(await behalf('refused', value)).toMatchObject({
      status: 400,
      message: expect.stringContaining('X-On-'),
    });
  });

  it('refuses a value that is not UTF-8, and a second header', async () => {
    const header = (lines: string[]) => rawAnswer(service.url, rawRequest('POST', target('refused'), lines));
    expect((await header(['X-On-Behalf-Of: caf\u00e9'])).status).toBe(400);
    expect((await header(['X-On-Behalf-Of: a', 'X-On-Behalf-Of: b'])).status).toBe(400);
  });
});

describe('Idempotency-Key', () => {
  const retry = (id: string, lines: readonly string[]) =>
    post(`study=Ward&ward=a&id=${id}&api_key=${keys.full}`, lines);

  it('accepts 1 to 255 visible ASCII characters', async () => {
    expect((await retry('one', ['Idempotency-Key: !'])).status).toBe(200);
    expect((await retry('many', [`Idempotency-Key: ${'~'.repeat(255)}`])).status).toBe(200);
  });

  it.each([
    ['256 characters', [`Idempotency-Key: ${'x'.repeat(256)}`]],
    ['an empty value', ['Idempotency-Key: ']],
    ['a space', ['Idempotency-Key: a b']],
    ['other characters', ['Idempotency-Key: caf\u00e9']],
    ['two headers', ['Idempotency-Key: a', 'Idempotency-Key: b']],
  ])('refuses %s', async (_, lines) => {
    expect(await retry('refused', lines)).toMatchObject({
      status: 400,
      message: expect.stringContaining('Idempotency-Key'),
    });
  });
});
