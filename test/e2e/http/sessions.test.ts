/** People sign in, and their browsers keep a cookie instead of the key. Rules of time, cookies and origins: test/unit. */
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ServiceSettings } from '../../../src/service/start-service.ts';
import { ask, within } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { CookieClient, send } from '../../support/cookie-client.ts';
import { certificate } from '../../support/hostile.ts';
import { served } from '../../support/served.ts';
import { issueKey } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const running: ServiceHere[] = [];
afterAll(async () => {
  for (const service of running) await service.stop();
});

async function started(data: string, more: Partial<ServiceSettings> = {}): Promise<ServiceHere> {
  const service = await serveHere(data, TRIALS, more);
  running.push(service);
  return service;
}

const operations = (data: string) =>
  storedLog(data).flatMap(({ stream, record }) => (stream === 'operations' ? [record] : []));
const eventsOf = (data: string, user: string) =>
  operations(data).flatMap(({ type, actor, data: details }) =>
    actor.user === user ? [{ type, ...details }] : [],
  );

const CONFIG = '/study_config?study=Sleep';
const ENDED = { status: 401, message: 'The session has ended; sign in again' };
const NONE = { status: 401, message: 'There is no session; sign in' };

const allocation = (id: string) =>
  `/study_participants?${new URLSearchParams({ study: 'Sleep', id, ...COOK })}`;
const randomize = (one: CookieClient, id: string, headers = {}) =>
  one.ask(allocation(id), { method: 'POST', headers });

/** Once the session key has been read again, which a request of a later second does. */
const whenKeyIsReadAgain = () => delay(1100);

describe('on the same machine', () => {
  const data = newFolder();
  const limits = ['--study', 'Sleep', '--where', 'sex=Male', '--expires', '2099-01-01'];
  const http = served(
    TRIALS,
    {
      site: ['site', '--scope', 'read,randomize'],
      limited: ['limited', '--scope', 'blinded', ...limits],
      leaver: ['leaver', '--scope', 'read'],
      stranger: ['stranger', '--scope', 'read'],
      lured: ['lured', '--scope', 'read'],
      ward: ['ward', '--scope', 'read'],
    },
    { data },
  );
  const browser = () => new CookieClient(http.url);
  const signedIn = async (name: keyof typeof http.keys = 'site') => {
    const one = browser();
    expect((await one.signIn(http.keys[name])).status).toBe(200);
    return one;
  };
  /** With exactly these headers, and the cookie of a session. */
  const sendWith = (
    cookie: string | undefined,
    path: string,
    headers: Record<string, string> = {},
    more = {},
  ) => send(`${http.url}${path}`, { headers: { ...headers, Cookie: cookie ?? '' }, ...more });

  it('signing in says who has signed in, and sets an HTTP-only cookie', async () => {
    const one = browser();
    const { status, results, headers } = await one.signIn(http.keys.limited);
    expect(status).toBe(200);
    const later = (ms: number) => new Date(Date.parse(results.began_at) + ms).toISOString();
    expect(results).toEqual({
      user: 'limited',
      key_id: expect.stringMatching(/^k[0-9a-f]{12}$/),
      scopes: ['blinded'],
      studies: ['Sleep'],
      limits: [{ factor: 'sex', levels: ['Male'] }],
      began_at: expect.any(String),
      ...{ ends_at: later(12 * 3_600_000), idle_ends_at: later(30 * 60_000) },
      log: 'urn',
    });
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^urn-[0-9a-f]{8}=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    expect((await one.ask('/session')).results).toEqual(results);
  });

  it('a session may do what its key may do, as the same user', async () => {
    const one = await signedIn();
    const { status, results } = await randomize(one, 's1');
    expect([status, results[0]]).toEqual([200, expect.objectContaining({ id: 's1', user: 'site' })]);
    const body = { study: 'Sleep', id: 's1', category: 'emergency', reason: 'none at all' };
    expect((await one.ask('/code_breaks', { method: 'POST', body })).status).toBe(403);
    const limited = await signedIn('limited');
    expect((await limited.ask('/study_participants?study=Ward')).status).toBe(404);
    expect((await limited.ask('/study_participants?study=Sleep')).text).not.toContain('ZZTREAT');
  });

  it('the key is in no cookie, record, log or answer', async () => {
    const one = browser();
    const answer = await one.signIn(http.keys.site);
    const [, , , contents = ''] = (one.cookie ?? '').split('.');
    const places = [answer.text, one.cookie, Buffer.from(contents, 'base64url').toString('latin1')];
    places.push(http.service.output.stderr, JSON.stringify(storedLog(data).map(({ record }) => record)));
    for (const place of places) expect(place).not.toContain(http.keys.site);
  });

  it('sign-in and sign-out are recorded, with the key and the person who used it', async () => {
    const one = browser();
    await one.signIn(http.keys.ward, { 'X-On-Behalf-Of': 'Ada' });
    const out = await one.signOut();
    expect(out).toMatchObject({ status: 200, message: 'Success', results: { recorded: true } });
    expect(out.headers.get('clear-site-data')).toBe('"cache", "storage"');
    expect(one.cookie).toBeUndefined();
    const [began, ended, ...more] = eventsOf(data, 'ward');
    expect(began).toEqual({
      type: 'SessionBegan',
      sessionId: expect.stringMatching(/^[\w-]{22}$/),
      keyId: expect.stringMatching(/^k/),
    });
    expect([ended, more]).toEqual([{ ...began, type: 'SessionEnded' }, []]);
    const record = operations(data).find(({ data: { keyId } }) => keyId === began.keyId);
    expect(record.actor).toMatchObject({ user: 'ward', onBehalfOf: 'Ada' });
    expect(await commandOk(['operations', '--data', data, '--user', 'ward'])).toMatch(
      /signed in \(session .*\n.*signed out \(session /,
    );
  });

  describe('the person who signs in with a shared key', () => {
    const person = 'M. Ökafor';
    const latin1 = (text: string) => Buffer.from(text).toString('latin1');
    const signInAs = async (name: unknown, headers = {}) => {
      const one = browser();
      return { one, answer: await one.signIn(http.keys.site, headers, { on_behalf_of: name }) };
    };
    const actorOf = (id: string) =>
      storedLog(data).find(({ record }) => record.data.participantId === id)?.record.actor;

    it('is recorded with everything that the session does, and shown by it', async () => {
      const { one, answer } = await signInAs(person);
      expect(answer.results.on_behalf_of).toBe(person);
      expect((await one.ask('/session')).results.on_behalf_of).toBe(person);
      expect((await randomize(one, 'p1')).status).toBe(200);
      // A renewed cookie, as in any other tab.
      expect((await randomize(one, 'p2', { 'X-On-Behalf-Of': latin1(person) })).status).toBe(200);
      const { key_id: keyId } = answer.results;
      expect(actorOf('p1')).toMatchObject({ user: 'site', keyId, onBehalfOf: person });
      expect(actorOf('p2').onBehalfOf).toBe(person);
      await one.signOut();
      const about = operations(data).filter(({ actor }) => actor.onBehalfOf === person);
      expect(about.map(({ type }) => type)).toEqual(['SessionBegan', 'SessionEnded']);
      for (const { data: details } of about) expect(Object.keys(details)).toEqual(['keyId', 'sessionId']);
    });

    it('is nobody else, whatever a header says', async () => {
      const { one } = await signInAs(person);
      for (const header of ['Ada', ` ${latin1(person)}x`])
        expect(await randomize(one, 'p3', { 'X-On-Behalf-Of': header })).toMatchObject({
          ...{ status: 400, message: expect.stringContaining('sign in again') },
        });
      const headers = { 'X-On-Behalf-Of': 'Ada' };
      expect((await one.ask('/studies', { headers })).status).toBe(400);
      expect((await one.ask('/session', { method: 'DELETE', headers })).status).toBe(400);
      expect(actorOf('p3')).toBeUndefined();
      expect((await one.signIn(http.keys.site, {}, { on_behalf_of: 'Ada' })).status).toBe(200);
      expect((await randomize(one, 'p3')).status).toBe(200);
      expect(actorOf('p3').onBehalfOf).toBe('Ada');
    });

    it('may be named by the header of each request if nobody was named before', async () => {
      const one = await signedIn();
      expect((await one.ask('/session')).results).not.toHaveProperty('on_behalf_of');
      expect((await randomize(one, 'p4', { 'X-On-Behalf-Of': 'Ada' })).status).toBe(200);
      expect((await randomize(one, 'p5')).status).toBe(200);
      expect(actorOf('p4').onBehalfOf).toBe('Ada');
      expect(actorOf('p5')).not.toHaveProperty('onBehalfOf');
    });

    it('is named as the header names them, in 1 to 128 characters that no other name looks like', async () => {
      const byHeader = browser();
      await byHeader.signIn(http.keys.site, { 'X-On-Behalf-Of': latin1(person) });
      expect((await byHeader.ask('/session')).results.on_behalf_of).toBe(person);
      const two = 'on_behalf_of and the header X-On-Behalf-Of name two people; send one of them';
      expect((await signInAs(person, { 'X-On-Behalf-Of': 'Ada' })).answer.message).toBe(two);
      expect((await signInAs(` ${'😀'.repeat(128)} `)).one.cookie?.length).toBeLessThan(2048);
      const bad = ['', ' ', '=1', 'x'.repeat(129), 'a\tb', 'Ada\n', 'Mu\u0308ller', 'a\u200bb', 1, null];
      for (const name of bad) {
        const { one, answer } = await signInAs(name);
        expect(answer.status, JSON.stringify(name)).toBe(400);
        expect(answer.message).toContain('on_behalf_of');
        expect(one.cookie).toBeUndefined();
      }
      for (const name of [http.keys.stranger, '\ud800'])
        expect((await signInAs(name)).answer.status).toBe(400);
    });
  });

  it('signing in again ends the browser’s earlier session', async () => {
    const one = await signedIn();
    const { cookie } = one;
    await one.signIn(http.keys.limited);
    expect((await one.ask('/session')).results.user).toBe('limited');
    one.cookie = cookie;
    expect((await one.ask('/session')).status).toBe(401);
  });

  it('neither an ended session nor the question who is signed in counts as a failed attempt', async () => {
    const one = await signedIn();
    const { cookie } = one;
    await one.signOut();
    for (let i = 0; i < 31; i++) {
      const answer = await sendWith(cookie, CONFIG);
      expect(answer).toMatchObject(ENDED);
      expect(answer.headers.getSetCookie()).toEqual([
        expect.stringMatching(/^urn-[0-9a-f]{8}=; .*Max-Age=0$/),
      ]);
      expect(await browser().ask('/session')).toMatchObject(NONE);
    }
    expect((await browser().signOut()).status).toBe(401);
    expect((await ask(http.url, '/study_config', { key: 'urn_unknown' })).status).toBe(401);
    for (const value of ['', 'a.b.c.d.e'])
      expect(await sendWith(`${cookie?.split('=')[0]}=${value}`, '/session')).toMatchObject(ENDED);
  });

  it('a revoked key ends its sessions within a second, and the refusal is recorded', async () => {
    const one = await signedIn('leaver');
    const { results } = await one.ask('/session');
    await commandOk(['keys', 'revoke', results.key_id, '--data', data]);
    const { cookie } = one;
    const isRefused = async () => {
      one.cookie = cookie;
      return (await one.ask(CONFIG)).status === 401;
    };
    expect(await within(15_000, isRefused)).toBeLessThan(1000);
    expect(one.cookie).toBeUndefined();
    one.cookie = cookie;
    expect((await one.ask(CONFIG)).message).toBe(
      'The API key of this session is revoked or has expired; sign in with another',
    );
    expect((await one.signIn(http.keys.leaver)).status).toBe(401);
    for (const operation of ['GET /study_config', 'POST /session'])
      await expect
        .poll(() => eventsOf(data, 'leaver'))
        .toContainEqual(expect.objectContaining({ operation, reason: 'revoked-key' }));
  });

  it('the cookie is renewed by what a person does, and by nothing else', async () => {
    const one = await signedIn();
    const before = (await one.ask('/session')).results;
    await delay(1100);
    const { cookie } = one;
    await one.ask('/session');
    await one.ask(CONFIG, { headers: { 'Urn-Automatic': 'true' } });
    expect(one.cookie).toBe(cookie);
    await one.ask(CONFIG);
    expect(one.cookie).not.toBe(cookie);
    const after = (await one.ask('/session')).results;
    expect(Date.parse(after.idle_ends_at)).toBeGreaterThan(Date.parse(before.idle_ends_at) + 1000);
    expect({ ...after, idle_ends_at: '' }).toEqual({ ...before, idle_ends_at: '' });
    const { cookie: renewed } = one;
    await one.ask(CONFIG);
    expect(one.cookie).toBe(renewed);
  });

  describe('a page of another site', () => {
    const EVIL = { Origin: 'http://evil.example.org' };

    it('can use no session, and sign nobody in; it is refused as a request of the key', async () => {
      const { cookie } = await signedIn('lured');
      for (const [method, path] of [
        ['GET', CONFIG],
        ['GET', '/session'],
        ['DELETE', '/session'],
        ['POST', allocation('evil')],
      ] as const)
        for (const foreign of [EVIL, { 'Sec-Fetch-Site': 'cross-site' }]) {
          const { status, results, headers } = await sendWith(cookie, path, foreign, { method });
          expect({ method, path, status }).toEqual({ method, path, status: 403 });
          expect([Object.values(results), headers.getSetCookie()]).toEqual([[], []]);
        }
      const signIn = { method: 'POST', headers: EVIL, body: { key: http.keys.stranger } };
      expect((await send(`${http.url}/session`, signIn)).status).toBe(403);
      expect((await sendWith(cookie, '/session')).status).toBe(200);
      expect(eventsOf(data, 'stranger')).toEqual([]);
      const refused = { operation: 'GET /study_config', reason: 'not-permitted' };
      await expect.poll(() => eventsOf(data, 'lured')).toContainEqual(expect.objectContaining(refused));
    });

    it('cannot change anything by leaving the headers out', async () => {
      const { cookie } = await signedIn();
      const body = { key: http.keys.site };
      for (const [method, path] of [
        ['POST', '/session'],
        ['DELETE', '/session'],
        ['POST', allocation('e2')],
      ] as const)
        expect((await sendWith(cookie, path, {}, { method, body })).status, `${method} ${path}`).toBe(403);
      expect((await sendWith(cookie, '/session')).status).toBe(200);
    });

    it('is refused under a host name that points to this machine', async () => {
      const { cookie } = await signedIn();
      const headers = { Host: 'evil.example.org', ...EVIL, 'Sec-Fetch-Site': 'same-origin' };
      expect((await sendWith(cookie, '/session', headers)).status).toBe(401);
      const signIn = { method: 'POST', headers, body: { key: http.keys.site } };
      const { status, message } = await send(`${http.url}/session`, signIn);
      expect([status, message]).toEqual([403, expect.stringContaining('Signing in needs HTTPS')]);
    });
  });

  it('a cookie and a key, or two cookies, are 400; cookies of other names do not matter', async () => {
    const { cookie = '' } = await signedIn();
    const withKey = { 'X-API-Key': http.keys.site };
    expect((await sendWith(cookie, CONFIG, withKey)).status).toBe(400);
    expect(await sendWith(`${cookie}; a=b; ${cookie}`, CONFIG)).toMatchObject({
      ...{ status: 400, message: 'The cookie of the session is given twice' },
    });
    const [name = '', value] = cookie.split('=');
    const others = ['urn-00000000=x', `__Host-${name}=${value}`, `${name}x=${value}`, `x${name}=1`, 'a'];
    expect((await sendWith(others.join('; '), CONFIG, withKey)).status).toBe(200);
    expect((await sendWith([...others, cookie].join('; '), CONFIG)).status).toBe(200);
  });

  it('a sign-in that is not as described is refused, and a key in the wrong place not repeated', async () => {
    const { site } = http.keys;
    const signIn = (body: unknown, path = '/session', headers = {}) =>
      browser().ask(path, { method: 'POST', body, headers });
    const key = { key: site };
    for (const [status, body] of [
      ...['{"key":1}', '{}', '[]', '"urn_x"', 'key=urn_x'].map((text) => [400, text]),
      [400, '{"key":"a","key":"b"}'],
      [400, { key: 'x', more: 1 }],
      ...[{ [site]: 1 }, { key: site, other: site }, [site]].map((misplaced) => [400, misplaced]),
      [401, { key: '' }],
      [401, { key: `urn_${'A'.repeat(43)}` }],
      [413, { key: 'x'.repeat(20_000) }],
    ]) {
      const answer = await signIn(body);
      expect(answer.status, JSON.stringify(body).slice(0, 80)).toBe(status);
      expect(answer.text).not.toContain(site);
    }
    for (const method of ['GET', 'POST', 'DELETE'])
      expect((await browser().ask(`/session?api_key=${site}`, { method, body: key })).status).toBe(400);
    expect((await signIn(key, '/session', { 'X-API-Key': site })).status).toBe(400);
    const { status, headers } = await browser().ask('/session', { method: 'PUT' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, DELETE']);
  });

  it('failed sign-ins count as failed attempts', async () => {
    const one = browser();
    const statuses = new Set<number>();
    for (let i = 0; i < 31; i++) statuses.add((await one.signIn('urn_guess')).status);
    expect([...statuses].at(-1)).toBe(429);
    expect((await one.signIn(http.keys.site)).status).toBe(200);
  });

  it('the log with all of this is sound', async () => {
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });
});

describe('over HTTPS', () => {
  const data = newFolder();
  const PUBLIC = 'https://urn.example.org';
  let key: string;
  beforeAll(async () => {
    key = await issueKey(data, 'site', '--scope', 'read');
  });

  it('the cookie is bound to the host, and a plain one from a sibling domain does not count', async () => {
    const { cert: ca, key: keyFile } = certificate(newFolder());
    const { url } = await started(data, { tls: { certFile: ca, keyFile } });
    const one = new CookieClient(url, ca);
    const answer = await one.signIn(key);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-urn-[0-9a-f]{8}=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
    ]);
    expect((await one.ask(CONFIG)).status).toBe(200);
    const { cookie = '' } = one;
    const planted = { Cookie: cookie.replace('__Host-', '') };
    expect(await send(`${url}/session`, { headers: planted, ca })).toMatchObject(NONE);
    const plain = { Cookie: cookie, Origin: url.replace('https', 'http') };
    expect((await send(`${url}/session`, { headers: plain, ca })).status).toBe(403);
    expect((await one.signOut()).status).toBe(200);
  });

  it('people sign in behind a trusted proxy that reports HTTPS', async () => {
    const { url } = await started(data, { trustProxy: 1 });
    const one = new CookieClient(url, undefined, PUBLIC);
    const headers = { Host: 'urn.example.org', 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '192.0.2.1' };
    expect((await one.signIn(key, headers)).status).toBe(200);
    expect(one.cookie).toMatch(/^__Host-/);
    expect((await one.ask('/session', { headers })).status).toBe(200);
    const plain = { ...headers, 'X-Forwarded-Proto': 'http' };
    expect((await one.signIn(key, plain)).message).toContain('Signing in needs HTTPS');
    // Without --trust-proxy, anybody could claim to use HTTPS.
    const direct = new CookieClient((await started(data)).url, undefined, PUBLIC);
    expect((await direct.signIn(key, headers)).status).toBe(403);
  });

  it('people sign in at the public address, which is one of HTTPS', async () => {
    const { url } = await started(data, { publicUrl: PUBLIC });
    const named = new CookieClient(url, undefined, PUBLIC);
    expect((await named.signIn(key, { Host: 'app:8080' })).status).toBe(200);
    expect(named.cookie).toMatch(/^__Host-/);
    const foreign = { Origin: 'https://evil.example.org' };
    expect((await named.ask('/session', { headers: foreign })).status).toBe(403);
    for (const other of ['http://urn.example.org', 'urn.example.org', `${PUBLIC}/urn`, 'https://a@b']) {
      const { code, stderr } = await command(['serve', '--data', newFolder(), '--public-url', other]);
      expect([code, stderr], other).toEqual([2, expect.stringContaining('--public-url')]);
    }
  });
});

describe('by the clock', () => {
  afterEach(() => vi.useRealTimers());

  it('a session ends 30 minutes after the last action, and 12 hours after the sign-in', async () => {
    const data = newFolder();
    const key = await issueKey(data, 'site', '--scope', 'read');
    const began = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: began });
    const setTo = (minutes: number) => vi.setSystemTime(began + minutes * 60_000);
    const one = new CookieClient((await started(data)).url);
    const asks = async (headers = {}) => (await one.ask(CONFIG, { headers })).status;
    await one.signIn(key);
    const { cookie } = one;
    setTo(29);
    expect(await asks({ 'Urn-Automatic': 'true' })).toBe(200);
    for (const minutes of [31, -2]) {
      setTo(minutes);
      expect(await asks(), `after ${minutes} minutes`).toBe(401);
      one.cookie = cookie;
    }
    for (let minutes = 25; minutes < 720; minutes += 25) {
      setTo(minutes);
      expect(await asks(), `after ${minutes} minutes`).toBe(200);
    }
    setTo(721);
    expect(await asks()).toBe(401);
  });
});

describe('several instances of one log', () => {
  const data = newFolder();
  let both: readonly [ServiceHere, ServiceHere];
  let key: string;
  beforeAll(async () => {
    key = await issueKey(data, 'site', '--scope', 'read');
    both = [await started(data), await started(data)];
  });
  const holding = (service: ServiceHere, cookie: string | undefined) => {
    const one = new CookieClient(service.url);
    one.cookie = cookie;
    return one;
  };
  const browsers = async () => {
    const one = new CookieClient(both[0].url);
    await one.signIn(key);
    return { one, other: holding(both[1], one.cookie) };
  };
  const statusOf = async (one: CookieClient) => (await one.ask('/session')).status;

  it('share sessions, and a sign-out at one reaches the other within a second', async () => {
    const { one, other } = await browsers();
    const { cookie } = other;
    expect(await statusOf(other)).toBe(200);
    expect((await one.signOut()).results).toEqual({ recorded: true });
    const isSignedOut = async () => (await statusOf(holding(both[1], cookie))) === 401;
    expect(await within(15_000, isSignedOut)).toBeLessThan(1000);
    await both[1].stop();
    both = [both[0], await started(data)];
    expect(await statusOf(holding(both[1], cookie))).toBe(401);
  });

  it('take a new session key without a restart, and still open what the previous one sealed', async () => {
    const { one, other } = await browsers();
    const file = join(data, 'session-key');
    const before = readFileSync(file, 'utf8');
    await commandOk(['session-key', 'replace', '--data', data]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toContain(`\n${before.trim()} replaced 20`);
    await whenKeyIsReadAgain();
    for (const browser of [one, other]) await browser.ask('/session');
    const fresh = (await browsers()).one;
    for (const browser of [one, other, fresh]) expect(await statusOf(browser)).toBe(200);

    await commandOk(['session-key', 'replace', '--end-sessions', '--data', data]);
    expect(readFileSync(file, 'utf8')).not.toContain('replaced');
    await whenKeyIsReadAgain();
    for (const browser of [one, other, fresh]) expect(await statusOf(browser)).toBe(401);
    expect((await one.signIn(key)).status).toBe(200);
  });

  it('share sessions across folders if given the same key', async () => {
    const { one } = await browsers();
    const own = join(newFolder(), 'key');
    copyFileSync(join(data, 'session-key'), own);
    expect(await statusOf(holding(await started(data, { sessionKey: own }), one.cookie))).toBe(200);
    const stranger = await started(data, { sessionKey: join(newFolder(), 'new') });
    expect(await statusOf(holding(stranger, one.cookie))).toBe(401);
  });

  it('keep using a session key that is lost or damaged while they run', async () => {
    const { one } = await browsers();
    const file = join(data, 'session-key');
    const kept = readFileSync(file);
    for (const change of [() => writeFileSync(file, 'nonsense'), () => rmSync(file)]) {
      change();
      await whenKeyIsReadAgain();
      expect(await statusOf(one)).toBe(200);
      const said = 'the session key has changed and cannot be read';
      await expect.poll(() => both[0].output.stderr).toContain(said);
    }
    writeFileSync(file, kept, { mode: 0o600 });
  });
});

describe('while the log cannot be written', () => {
  it('people can sign in, and are told that a sign-out applies only to their browser', async () => {
    const data = newFolder();
    const key = await issueKey(data, 'night', '--scope', 'read');
    await (await started(data)).stop();
    await commandOk(['copy', '--data', data, '--to', `sqlite:${join(newFolder(), 'urn.sqlite')}`]);
    const service = await started(data);
    const one = new CookieClient(service.url);
    expect((await ask(service.url, '/readyz', { parameters: { 'urn.for': 'writing' } })).status).toBe(503);
    const { status, headers } = await one.signIn(key);
    expect([status, headers.getSetCookie().length]).toEqual([200, 1]);
    const { cookie } = one;
    expect((await one.ask(CONFIG)).status).toBe(200);
    await expect.poll(() => service.output.stderr).toContain('"type":"SessionBegan"');
    const out = await one.signOut();
    expect(out).toMatchObject({ status: 200, results: { recorded: false } });
    expect(out.message).toContain('in this browser only');
    expect(out.headers.get('clear-site-data')).toBe('"cache", "storage"');
    one.cookie = cookie;
    expect((await one.ask('/session')).status).toBe(401);
    expect(eventsOf(data, 'night')).toEqual([]);
  });
});
