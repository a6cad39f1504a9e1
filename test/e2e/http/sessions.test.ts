/** People sign in, and their browsers keep a cookie instead of the key. */
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServiceSettings } from '../../../src/service/start-service.ts';
import { ask, within } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { CookieClient, send } from '../../support/cookie-client.ts';
import { certificate } from '../../support/hostile.ts';
import { issueKey, issueKeys, type Service, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const running: { stop(): Promise<void> }[] = [];
afterAll(async () => {
  for (const service of running) await service.stop();
});

async function started(data: string, more: Partial<ServiceSettings> = {}): Promise<ServiceHere> {
  const service = await serveHere(data, TRIALS, more);
  running.push(service);
  return service;
}

/** With the real program. */
async function startedApart(data: string, ...args: string[]): Promise<Service> {
  const service = await serve({ data, studies: TRIALS, args });
  running.push({ stop: service.kill });
  return service;
}

const operations = (data: string) =>
  storedLog(data).flatMap(({ stream, record }) => (stream === 'operations' ? [record] : []));
const eventsOf = (data: string, user: string) =>
  operations(data).flatMap(({ type, actor, data: details }) =>
    actor.user === user ? [{ type, ...details }] : [],
  );
const recorded = (data: string, user: string, wanted: object) =>
  within(2000, async () => {
    try {
      expect(eventsOf(data, user)).toContainEqual(expect.objectContaining(wanted));
      return true;
    } catch {
      return false;
    }
  });

/** What the service logs takes a moment to arrive. */
const logged = ({ output }: ServiceHere, text: string) =>
  within(5000, async () => output.stderr.includes(text));

describe('on the same machine', () => {
  const data = newFolder();
  let service: ServiceHere;
  let keys: Record<'site' | 'limited' | 'leaver' | 'stranger', string>;
  const browser = () => new CookieClient(service.url);
  const signedIn = async (key = keys.site) => {
    const one = browser();
    expect((await one.signIn(key)).status).toBe(200);
    return one;
  };

  beforeAll(async () => {
    keys = await issueKeys(data, {
      site: ['site', '--scope', 'read,randomize'],
      limited: [
        'limited',
        '--scope',
        'blinded',
        '--study',
        'Sleep',
        '--where',
        'sex=Male',
        '--expires',
        '2099-01-01',
      ],
      leaver: ['leaver', '--scope', 'read'],
      stranger: ['stranger', '--scope', 'read'],
    });
    service = await started(data);
  });

  it('signing in says who has signed in, and sets an HTTP-only cookie', async () => {
    const one = browser();
    const { status, results, headers } = await one.signIn(keys.limited);
    expect(status).toBe(200);
    expect(results).toEqual({
      user: 'limited',
      key_id: expect.stringMatching(/^k[0-9a-f]{12}$/),
      scopes: ['blinded'],
      studies: ['Sleep'],
      limits: [{ factor: 'sex', levels: ['Male'] }],
      began_at: expect.any(String),
      ends_at: new Date(Date.parse(results.began_at) + 12 * 3_600_000).toISOString(),
      idle_ends_at: new Date(Date.parse(results.began_at) + 30 * 60_000).toISOString(),
      log: 'urn',
    });
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^urn-[0-9a-f]{8}=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    expect((await one.ask('/session')).results).toEqual(results);
  });

  it('a session may do what its key may do, as the same user', async () => {
    const one = await signedIn();
    const path = `/study_participants?${new URLSearchParams({ study: 'Sleep', id: 's1', ...COOK })}`;
    const { status, results } = await one.ask(path, { method: 'POST' });
    expect(status).toBe(200);
    expect(results[0]).toMatchObject({ id: 's1', user: 'site' });
    const body = { study: 'Sleep', id: 's1', category: 'emergency', reason: 'none at all' };
    expect((await one.ask('/code_breaks', { method: 'POST', body })).status).toBe(403);
    const limited = await signedIn(keys.limited);
    expect((await limited.ask('/study_participants?study=Ward')).status).toBe(404);
    expect((await limited.ask('/study_participants?study=Sleep')).text).not.toContain('ZZTREAT');
  });

  it('the key is in no cookie, record, log or answer', async () => {
    const one = browser();
    const answer = await one.signIn(keys.site);
    const [, , , contents = ''] = (one.cookie ?? '').split('.');
    const places = [answer.text, one.cookie, Buffer.from(contents, 'base64url').toString('latin1')];
    places.push(service.output.stderr, JSON.stringify(storedLog(data).map(({ record }) => record)));
    for (const place of places) expect(place).not.toContain(keys.site);
  });

  it('sign-in and sign-out are recorded, with the key and the person who used it', async () => {
    const key = await issueKey(data, 'ward', '--scope', 'read');
    const one = browser();
    await within(2000, async () => (await one.signIn(key, { 'X-On-Behalf-Of': 'Ada' })).status === 200);
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
    expect(ended).toEqual({ ...began, type: 'SessionEnded' });
    expect(more).toEqual([]);
    const [{ actor }] = operations(data).filter(
      ({ type, data: details }) => type === 'SessionBegan' && details.keyId === began.keyId,
    );
    expect(actor).toMatchObject({ user: 'ward', onBehalfOf: 'Ada' });
    expect(await commandOk(['operations', '--data', data, '--user', 'ward'])).toMatch(
      /signed in \(session .*\n.*signed out \(session /,
    );
  });

  describe('the person who signs in with a shared key', () => {
    const person = 'M. Ökafor';
    const latin1 = (text: string) => Buffer.from(text).toString('latin1');
    const signInAs = async (name: unknown, headers = {}) => {
      const one = browser();
      return { one, answer: await one.signIn(keys.site, headers, { on_behalf_of: name }) };
    };
    const randomize = (one: CookieClient, id: string, headers = {}) =>
      one.ask(`/study_participants?${new URLSearchParams({ study: 'Sleep', id, ...COOK })}`, {
        method: 'POST',
        headers,
      });
    const actorOf = (id: string) =>
      storedLog(data).find(({ record }) => record.data.participantId === id)?.record.actor;

    it('is recorded with everything that the session does, and shown by it', async () => {
      const { one, answer } = await signInAs(person);
      expect(answer.results.on_behalf_of).toBe(person);
      expect((await one.ask('/session')).results.on_behalf_of).toBe(person);
      expect((await randomize(one, 'p1')).status).toBe(200);
      // A renewed cookie, as in any other tab.
      expect((await randomize(one, 'p2', { 'X-On-Behalf-Of': latin1(person) })).status).toBe(200);
      const { user, keyId } = actorOf('p1');
      expect([user, keyId]).toEqual(['site', answer.results.key_id]);
      expect([actorOf('p1').onBehalfOf, actorOf('p2').onBehalfOf]).toEqual([person, person]);
      await one.signOut();
      const about = operations(data).filter(({ actor }) => actor.onBehalfOf === person);
      expect(about.map(({ type }) => type)).toEqual(['SessionBegan', 'SessionEnded']);
      for (const { data: details } of about) expect(Object.keys(details)).toEqual(['keyId', 'sessionId']);
    });

    it('is nobody else, whatever a header says', async () => {
      const { one } = await signInAs(person);
      for (const header of ['Ada', ` ${latin1(person)}x`]) {
        const answer = await randomize(one, 'p3', { 'X-On-Behalf-Of': header });
        expect([answer.status, answer.message]).toEqual([400, expect.stringContaining('sign in again')]);
      }
      expect((await one.ask('/studies', { headers: { 'X-On-Behalf-Of': 'Ada' } })).status).toBe(400);
      expect(
        (await one.ask('/session', { method: 'DELETE', headers: { 'X-On-Behalf-Of': 'Ada' } })).status,
      ).toBe(400);
      expect(actorOf('p3')).toBeUndefined();
      expect((await one.signIn(keys.site, {}, { on_behalf_of: 'Ada' })).status).toBe(200);
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

    it('is named as the header names them', async () => {
      const byHeader = browser();
      await byHeader.signIn(keys.site, { 'X-On-Behalf-Of': latin1(person) });
      expect((await byHeader.ask('/session')).results.on_behalf_of).toBe(person);
      expect((await signInAs(person, { 'X-On-Behalf-Of': 'Ada' })).answer.status).toBe(400);
      expect((await signInAs(` ${'😀'.repeat(128)} `)).one.cookie?.length).toBeLessThan(2048);
      for (const bad of [
        '',
        ' ',
        '=1',
        'x'.repeat(129),
        'a\tb',
        'Ada\n',
        'Mu\u0308ller',
        'a\u200bb',
        1,
        null,
      ]) {
        const { one, answer } = await signInAs(bad);
        expect([answer.status, answer.message], JSON.stringify(bad)).toEqual([
          400,
          expect.stringContaining('on_behalf_of'),
        ]);
        expect(one.cookie).toBeUndefined();
      }
      for (const bad of [keys.stranger, '\ud800']) expect((await signInAs(bad)).answer.status).toBe(400);
    });
  });

  it('signing in again ends the browser’s earlier session', async () => {
    const one = browser();
    await one.signIn(keys.site);
    const { cookie } = one;
    await one.signIn(keys.limited);
    expect((await one.ask('/session')).results.user).toBe('limited');
    one.cookie = cookie;
    expect((await one.ask('/session')).status).toBe(401);
  });

  it('an ended session is 401 even if the cookie was kept, and does not count as a failed attempt', async () => {
    const one = await signedIn();
    const { cookie = '' } = one;
    await one.signOut();
    for (let i = 0; i < 40; i++) {
      const { status, message, headers } = await send(`${service.url}/study_config?study=Sleep`, {
        headers: { Cookie: cookie },
      });
      expect({ status, message }).toEqual({ status: 401, message: 'The session has ended; sign in again' });
      expect(headers.getSetCookie()).toEqual([expect.stringMatching(/^urn-[0-9a-f]{8}=; .*Max-Age=0$/)]);
    }
    expect((await ask(service.url, '/study_config', { key: 'urn_unknown' })).status).toBe(401);
  });

  it.each(['x', 'a.b.c.d.e', '', 'e30..e30.e30.e30'])('a cookie of %j is 401', async (value) => {
    const name = (await signedIn()).cookie?.split('=')[0];
    const { status, message } = await send(`${service.url}/session`, {
      headers: { Cookie: `${name}=${value}` },
    });
    expect({ status, message }).toEqual({ status: 401, message: 'The session has ended; sign in again' });
  });

  it('asking who is signed in before anybody has does not count as a failed attempt', async () => {
    for (let i = 0; i < 40; i++) {
      const { status, message } = await browser().ask('/session');
      expect({ status, message }).toEqual({ status: 401, message: 'There is no session; sign in' });
    }
    expect((await browser().signOut()).status).toBe(401);
  });

  it('a revoked key ends its sessions within a second, and the refusal is recorded', async () => {
    const one = await signedIn(keys.leaver);
    const { results } = await one.ask('/session');
    await commandOk(['keys', 'revoke', results.key_id, '--data', data]);
    const { cookie } = one;
    const isRefused = async () => {
      one.cookie = cookie;
      return (await one.ask('/study_config?study=Sleep')).status === 401;
    };
    expect(await within(15_000, isRefused)).toBeLessThan(1000);
    expect(one.cookie).toBeUndefined();
    await recorded(data, 'leaver', { operation: 'GET /study_config', reason: 'revoked-key' });
    const again = await one.signIn(keys.leaver);
    expect(again.status).toBe(401);
    await recorded(data, 'leaver', { operation: 'POST /session', reason: 'revoked-key' });
  });

  it('the cookie is renewed by what a person does, and by nothing else', async () => {
    const one = await signedIn();
    const before = (await one.ask('/session')).results;
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const { cookie } = one;
    await one.ask('/session');
    await one.ask('/study_config?study=Sleep', { headers: { 'Urn-Automatic': 'true' } });
    expect(one.cookie).toBe(cookie);
    await one.ask('/study_config?study=Sleep');
    expect(one.cookie).not.toBe(cookie);
    const after = (await one.ask('/session')).results;
    expect(Date.parse(after.idle_ends_at)).toBeGreaterThan(Date.parse(before.idle_ends_at) + 1000);
    expect({ ...after, idle_ends_at: '' }).toEqual({ ...before, idle_ends_at: '' });
    const { cookie: renewed } = one;
    await one.ask('/study_config?study=Sleep');
    expect(one.cookie).toBe(renewed);
  });

  describe('a page of another site', () => {
    it.each([
      { Origin: 'http://evil.example.org' },
      { Origin: 'null' },
      { Origin: 'http://localhost:1' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://evil.example.org' },
    ])('can use no session: %o', async (foreign) => {
      const { cookie = '' } = await signedIn();
      const headers = { ...foreign, Cookie: cookie };
      for (const [method, path] of [
        ['GET', '/study_participants?study=Sleep'],
        ['GET', '/session'],
        ['DELETE', '/session'],
        ['POST', `/study_participants?${new URLSearchParams({ study: 'Sleep', id: 'evil', ...COOK })}`],
      ] as const) {
        const { status, results, headers: given } = await send(`${service.url}${path}`, { method, headers });
        expect({ method, path, status }).toEqual({ method, path, status: 403 });
        expect(Object.values(results)).toEqual([]);
        expect(given.getSetCookie()).toEqual([]);
      }
      // Nor can it sign anybody in.
      const body = { key: keys.stranger };
      expect((await send(`${service.url}/session`, { method: 'POST', headers: foreign, body })).status).toBe(
        403,
      );
      expect((await send(`${service.url}/session`, { headers: { Cookie: cookie } })).status).toBe(200);
      expect(eventsOf(data, 'stranger')).toEqual([]);
    });

    it('is recorded as a refusal of the key', async () => {
      const key = await issueKey(data, 'lured', '--scope', 'read');
      const one = browser();
      await within(2000, async () => (await one.signIn(key)).status === 200);
      await send(`${service.url}/study_config?study=Sleep`, {
        headers: { Cookie: one.cookie ?? '', Origin: 'http://evil.example.org' },
      });
      await recorded(data, 'lured', { operation: 'GET /study_config', reason: 'not-permitted' });
    });

    it('cannot change anything by leaving the headers out', async () => {
      const { cookie = '' } = await signedIn();
      for (const method of ['POST', 'DELETE']) {
        const headers = { Cookie: cookie };
        expect(
          (await send(`${service.url}/session`, { method, headers, body: { key: keys.site } })).status,
        ).toBe(403);
      }
      const path = `/study_participants?${new URLSearchParams({ study: 'Sleep', id: 'e2', ...COOK })}`;
      expect(
        (await send(`${service.url}${path}`, { method: 'POST', headers: { Cookie: cookie } })).status,
      ).toBe(403);
      expect((await send(`${service.url}/session`, { headers: { Cookie: cookie } })).status).toBe(200);
    });

    it('is refused under a host name that points to this machine', async () => {
      const { cookie = '' } = await signedIn();
      const headers = {
        Host: 'evil.example.org',
        Origin: 'http://evil.example.org',
        'Sec-Fetch-Site': 'same-origin',
      };
      expect((await send(`${service.url}/session`, { headers: { ...headers, Cookie: cookie } })).status).toBe(
        401,
      );
      const answer = await send(`${service.url}/session`, {
        method: 'POST',
        headers,
        body: { key: keys.site },
      });
      expect(answer.status).toBe(403);
      expect(answer.message).toContain('Signing in needs HTTPS');
    });
  });

  it.each([
    ['cookie and key', (cookie: string, key: string) => ({ Cookie: cookie, 'X-API-Key': key })],
    ['two cookies', (cookie: string) => ({ Cookie: `${cookie}; a=b; ${cookie}` })],
  ])('%s together are 400', async (_, headers) => {
    const { cookie = '' } = await signedIn();
    const answer = await send(`${service.url}/study_config?study=Sleep`, {
      headers: headers(cookie, keys.site),
    });
    expect(answer.status).toBe(400);
  });

  it('cookies of other names do not matter', async () => {
    const { cookie = '' } = await signedIn();
    const [name = '', value] = cookie.split('=');
    const others = ['urn-00000000=x', `__Host-${name}=${value}`, `${name}x=${value}`, `x${name}=1`, 'a'];
    const url = `${service.url}/study_config?study=Sleep`;
    const headers = { Cookie: others.join('; '), 'X-API-Key': keys.site };
    expect((await send(url, { headers })).status).toBe(200);
    expect((await send(url, { headers: { Cookie: [...others, cookie].join('; ') } })).status).toBe(200);
  });

  it.each([
    [400, '{"key":1}'],
    [400, '{}'],
    [400, '[]'],
    [400, '"urn_x"'],
    [400, 'key=urn_x'],
    [400, '{"key":"a","key":"b"}'],
    [400, { key: 'x', more: 1 }],
    [401, { key: '' }],
    [401, { key: `urn_${'A'.repeat(43)}` }],
    [413, { key: 'x'.repeat(20_000) }],
  ])('sign-in: %i for %j', async (status, body) => {
    expect((await browser().ask('/session', { method: 'POST', body })).status).toBe(status);
  });

  it('a key in the wrong place is refused, and not repeated', async () => {
    const one = browser();
    for (const body of [{ [keys.site]: 1 }, { key: keys.site, other: keys.site }, [keys.site]]) {
      const { status, text } = await one.ask('/session', { method: 'POST', body });
      expect(status).toBe(400);
      expect(text).not.toContain(keys.site);
    }
    const path = `/session?api_key=${keys.site}`;
    for (const method of ['GET', 'POST', 'DELETE'])
      expect((await one.ask(path, { method, body: { key: keys.site } })).status).toBe(400);
    const headers = { 'X-API-Key': keys.site };
    expect((await one.ask('/session', { method: 'POST', body: { key: keys.site }, headers })).status).toBe(
      400,
    );
  });

  it('takes no other method', async () => {
    const { status, headers } = await browser().ask('/session', { method: 'PUT' });
    expect({ status, allow: headers.get('allow') }).toEqual({
      status: 405,
      allow: 'GET, HEAD, POST, DELETE',
    });
  });

  it('failed sign-ins count as failed attempts', async () => {
    const one = browser();
    const statuses = new Set<number>();
    for (let i = 0; i < 35; i++) statuses.add((await one.signIn('urn_guess')).status);
    expect([...statuses].at(-1)).toBe(429);
    expect((await one.signIn(keys.site)).status).toBe(200);
  });

  it('the log with all of this is sound', async () => {
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });
});

describe('over HTTPS', () => {
  it('the cookie is bound to the host, and a plain one from a sibling domain does not count', async () => {
    const data = newFolder();
    const key = await issueKey(data, 'site', '--scope', 'read');
    const { cert, key: certKey } = certificate(newFolder());
    const { url } = await startedApart(data, '--tls-cert', cert, '--tls-key', certKey);
    const one = new CookieClient(url, cert);
    const answer = await one.signIn(key);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-urn-[0-9a-f]{8}=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
    ]);
    expect((await one.ask('/study_config?study=Sleep')).status).toBe(200);
    const planted = (one.cookie ?? '').replace('__Host-', '');
    expect((await send(`${url}/session`, { headers: { Cookie: planted }, ca: cert })).message).toBe(
      'There is no session; sign in',
    );
    const { port } = new URL(url);
    const plain = { Cookie: one.cookie ?? '', Origin: `http://127.0.0.1:${port}` };
    expect((await send(`${url}/session`, { headers: plain, ca: cert })).status).toBe(403);
    expect((await one.signOut()).status).toBe(200);
  });

  it('people sign in behind a trusted proxy that reports HTTPS, or at the public address', async () => {
    const data = newFolder();
    const key = await issueKey(data, 'site', '--scope', 'read');
    const proxied = await startedApart(data, '--trust-proxy', '1');
    const one = new CookieClient(proxied.url, undefined, 'https://urn.example.org');
    const headers = { Host: 'urn.example.org', 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '192.0.2.1' };
    expect((await one.signIn(key, headers)).status).toBe(200);
    expect(one.cookie).toMatch(/^__Host-/);
    expect((await one.ask('/session', { headers })).status).toBe(200);
    const plain = { ...headers, 'X-Forwarded-Proto': 'http' };
    expect((await one.signIn(key, plain)).message).toContain('Signing in needs HTTPS');

    // Without --trust-proxy, anybody could claim to use HTTPS.
    const direct = new CookieClient((await started(data)).url, undefined, 'https://urn.example.org');
    expect((await direct.signIn(key, headers)).status).toBe(403);

    const named = new CookieClient(
      (await startedApart(data, '--public-url', 'https://urn.example.org')).url,
      undefined,
      'https://urn.example.org',
    );
    expect((await named.signIn(key, { Host: 'app:8080' })).status).toBe(200);
    expect(named.cookie).toMatch(/^__Host-/);
    const foreign = { Origin: 'https://evil.example.org' };
    expect((await named.ask('/session', { headers: foreign })).status).toBe(403);
  });

  it.each(['http://urn.example.org', 'urn.example.org', 'https://urn.example.org/urn', 'https://a@b'])(
    '%s is not a public address',
    async (url) => {
      const { code, stderr } = await command(['serve', '--data', newFolder(), '--public-url', url]);
      expect(code).toBe(2);
      expect(stderr).toContain('--public-url');
    },
  );
});

describe('by the clock', () => {
  it('a session ends 30 minutes after the last action, and 12 hours after the sign-in', async () => {
    const data = newFolder();
    const clock = join(newFolder(), 'clock');
    const module = pathToFileURL(join(import.meta.dirname, '../../support/shifted-clock.mjs'));
    const key = await issueKey(data, 'site', '--scope', 'read');
    const setTo = (minutes: number) => writeFileSync(clock, String(minutes * 60_000));
    setTo(0);
    const env = { NODE_OPTIONS: `--import=${module}`, SHIFTED_CLOCK: clock };
    const service = await serve({ data, studies: TRIALS, env });
    running.push(service);
    const one = new CookieClient(service.url);
    const asks = async (headers = {}) => (await one.ask('/study_config?study=Sleep', { headers })).status;
    await one.signIn(key);
    const { cookie } = one;
    setTo(29);
    expect(await asks({ 'Urn-Automatic': 'true' })).toBe(200);
    setTo(31);
    expect(await asks()).toBe(401);
    one.cookie = cookie;
    setTo(-2);
    expect(await asks()).toBe(401);
    one.cookie = cookie;
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
  let both: readonly [ServiceHere, Service];
  let key: string;
  beforeAll(async () => {
    key = await issueKey(data, 'site', '--scope', 'read');
    both = [await started(data), await startedApart(data)];
  });
  const browsers = async () => {
    const one = new CookieClient(both[0].url);
    await one.signIn(key);
    const other = new CookieClient(both[1].url);
    other.cookie = one.cookie;
    return { one, other };
  };

  it('share sessions, and a sign-out at one reaches the other within a second', async () => {
    const { one, other } = await browsers();
    const { cookie } = other;
    expect((await other.ask('/session')).status).toBe(200);
    expect((await one.signOut()).results).toEqual({ recorded: true });
    const isSignedOut = async () => {
      other.cookie = cookie;
      return (await other.ask('/session')).status === 401;
    };
    expect(await within(15_000, isSignedOut)).toBeLessThan(1000);
    await both[1].kill();
    both = [both[0], await startedApart(data)];
    other.cookie = cookie;
    const restarted = new CookieClient(both[1].url);
    restarted.cookie = cookie;
    expect((await restarted.ask('/session')).status).toBe(401);
  });

  it('take a new session key without a restart, and still open what the previous one sealed', async () => {
    const { one, other } = await browsers();
    const file = join(data, 'session-key');
    const before = readFileSync(file, 'utf8');
    await commandOk(['session-key', 'replace', '--data', data]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toContain(`\n${before.trim()} replaced 20`);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    // The first request after the change makes the service read the key.
    for (const browser of [one, other]) await browser.ask('/session');
    const fresh = new CookieClient(both[0].url);
    await fresh.signIn(key);
    for (const browser of [one, other, fresh]) expect((await browser.ask('/session')).status).toBe(200);

    await commandOk(['session-key', 'replace', '--end-sessions', '--data', data]);
    expect(readFileSync(file, 'utf8')).not.toContain('replaced');
    await new Promise((resolve) => setTimeout(resolve, 1100));
    for (const browser of [one, other, fresh]) expect((await browser.ask('/session')).status).toBe(401);
    expect((await one.signIn(key)).status).toBe(200);
  });

  it('share sessions across folders if given the same key', async () => {
    const { one } = await browsers();
    const own = join(newFolder(), 'key');
    copyFileSync(join(data, 'session-key'), own);
    const third = new CookieClient((await started(data, { sessionKey: own })).url);
    third.cookie = one.cookie;
    expect((await third.ask('/session')).status).toBe(200);
    const stranger = new CookieClient((await started(data, { sessionKey: join(newFolder(), 'new') })).url);
    stranger.cookie = one.cookie;
    expect((await stranger.ask('/session')).status).toBe(401);
  });

  it('keep using a session key that is lost or damaged while they run', async () => {
    const { one } = await browsers();
    const file = join(data, 'session-key');
    const kept = readFileSync(file);
    for (const change of [() => writeFileSync(file, 'nonsense'), () => rmSync(file)]) {
      change();
      await new Promise((resolve) => setTimeout(resolve, 1100));
      expect((await one.ask('/session')).status).toBe(200);
      await logged(both[0], 'the session key has changed and cannot be read');
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
    expect(status).toBe(200);
    expect(headers.getSetCookie()).toHaveLength(1);
    const { cookie } = one;
    expect((await one.ask('/study_config?study=Sleep')).status).toBe(200);
    await logged(service, '"type":"SessionBegan"');
    const out = await one.signOut();
    expect(out.status).toBe(200);
    expect(out.results).toEqual({ recorded: false });
    expect(out.message).toContain('in this browser only');
    expect(out.headers.get('clear-site-data')).toBe('"cache", "storage"');
    one.cookie = cookie;
    expect((await one.ask('/session')).status).toBe(401);
    expect(eventsOf(data, 'night')).toEqual([]);
  });
});
