/** People sign in, and their browsers keep a cookie instead of the key. Rules of time, cookies and origins: test/unit. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { ServiceSettings } from '../../../src/service/start-service.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { ask, within } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { CookieClient, send } from '../../support/cookie-client.ts';
import { served } from '../../support/served.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
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
    night: ['night', '--scope', 'read'],
  },
  { data },
);
type Name = keyof typeof http.keys;

const others: ServiceHere[] = [];
afterAll(() => Promise.all(others.map((service) => service.stop())));
/** Another instance of the log, or of one in another folder. */
async function started(more: Partial<ServiceSettings> = {}, folder = data): Promise<ServiceHere> {
  const service = await serveHere(folder, TRIALS, more);
  others.push(service);
  return service;
}

const operations = () =>
  storedLog(data).flatMap(({ stream, record }) => (stream === 'operations' ? [record] : []));
const eventsOf = (user: string) => operations().filter(({ actor }) => actor.user === user);

const CONFIG = '/study_config?study=Sleep';
const ENDED = { status: 401, message: 'The session has ended; sign in again' };
const NONE = { status: 401, message: 'There is no session; sign in' };
const EVIL = { Origin: 'http://evil.example.org' };

const allocation = (id: string) =>
  `/study_participants?${new URLSearchParams({ study: 'Sleep', id, ...COOK })}`;
const randomize = (one: CookieClient, id: string, headers = {}) =>
  one.ask(allocation(id), { method: 'POST', headers });
const actorOf = (id: string) =>
  storedLog(data).find(({ record }) => record.data.participantId === id)?.record.actor;

const browser = (cookie?: string, { url } = http as Pick<ServiceHere, 'url'>) => {
  const one = new CookieClient(url);
  one.cookie = cookie;
  return one;
};
const signedIn = async (name: Name = 'site') => {
  const one = browser();
  expect((await one.signIn(http.keys[name])).status).toBe(200);
  return one;
};
const statusOf = async (one: CookieClient) => (await one.ask('/session')).status;
/** With exactly these headers, and the cookie of a session. */
const sendWith = (cookie: string | undefined, path: string, headers = {}, more = {}) =>
  send(`${http.url}${path}`, { headers: { ...headers, Cookie: cookie ?? '' }, ...more });

describe('signing in', () => {
  it('says who has signed in, and sets an HTTP-only cookie, in which the key is not', async () => {
    const one = browser();
    const { status, text, results, headers } = await one.signIn(http.keys.limited);
    const later = (ms: number) => new Date(Date.parse(results.began_at) + ms).toISOString();
    expect(status).toBe(200);
    expect(results).toEqual({
      ...{ user: 'limited', key_id: expect.stringMatching(/^k[0-9a-f]{12}$/), log: 'urn' },
      ...{ scopes: ['blinded'], studies: ['Sleep'], limits: [{ factor: 'sex', levels: ['Male'] }] },
      began_at: expect.any(String),
      ...{ ends_at: later(12 * 3_600_000), idle_ends_at: later(30 * 60_000) },
    });
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^urn-[0-9a-f]{8}=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    expect((await one.ask('/session')).results).toEqual(results);
    expect((await one.ask('/study_participants?study=Ward')).status).toBe(404);
    const [, , , contents = ''] = (one.cookie ?? '').split('.');
    const places = [text, one.cookie, Buffer.from(contents, 'base64url').toString('latin1')];
    places.push(http.service.output.stderr, JSON.stringify(storedLog(data).map(({ record }) => record)));
    for (const place of places) expect(place).not.toContain(http.keys.limited);
  });

  it('again ends the browser’s earlier session', async () => {
    const one = await signedIn();
    const { cookie } = one;
    await one.signIn(http.keys.limited);
    expect((await one.ask('/session')).results.user).toBe('limited');
    expect(await statusOf(browser(cookie))).toBe(401);
  });

  it('is refused if it is not as described, and a key in the wrong place is not repeated', async () => {
    const { site } = http.keys;
    const signIn = (body: unknown, path = '/session', headers = {}) =>
      browser().ask(path, { method: 'POST', body, headers });
    for (const [status, body] of [
      [400, { key: 'x', more: 1 }],
      ...[{ [site]: 1 }, { key: site, other: site }, [site]].map((misplaced) => [400, misplaced]),
      [401, { key: '' }],
      [401, { key: `urn_${'A'.repeat(43)}` }],
    ]) {
      const answer = await signIn(body);
      expect([answer.status, answer.text.includes(site)], JSON.stringify(body)).toEqual([status, false]);
    }
    const key = { key: site };
    for (const method of ['GET', 'POST', 'DELETE'])
      expect((await browser().ask(`/session?api_key=${site}`, { method, body: key })).status).toBe(400);
    expect((await signIn(key, '/session', { 'X-API-Key': site })).status).toBe(400);
  });
});

describe('the person who signs in with a shared key', () => {
  const person = 'M. Ökafor';
  const latin1 = (text: string) => Buffer.from(text).toString('latin1');
  const signInAs = async (name: unknown, headers = {}) => {
    const one = browser();
    return { one, answer: await one.signIn(http.keys.site, headers, { on_behalf_of: name }) };
  };

  it('is recorded with everything that the session does, from the sign-in to the sign-out, and nobody else', async () => {
    const { one, answer } = await signInAs(person);
    const { key_id: keyId } = answer.results;
    expect((await one.ask('/session')).results.on_behalf_of).toBe(person);
    // A renewed cookie, as in any other tab.
    expect((await randomize(one, 'p2', { 'X-On-Behalf-Of': latin1(person) })).status).toBe(200);
    expect(actorOf('p2')).toMatchObject({ user: 'site', keyId, onBehalfOf: person });
    const headers = { 'X-On-Behalf-Of': 'Ada' };
    const message = expect.stringContaining('sign in again');
    expect(await randomize(one, 'p3', headers)).toMatchObject({ status: 400, message });
    expect((await one.ask('/session', { method: 'DELETE', headers })).status).toBe(400);
    expect(actorOf('p3')).toBeUndefined();
    const out = await one.signOut();
    expect(out).toMatchObject({ status: 200, message: 'Success', results: { recorded: true } });
    expect([out.headers.get('clear-site-data'), one.cookie]).toEqual(['"cache", "storage"', undefined]);
    const about = eventsOf('site').filter(({ actor }) => actor.onBehalfOf === person);
    const details = { sessionId: expect.stringMatching(/^[\w-]{22}$/), keyId };
    expect(about.map(({ type }) => type)).toEqual(['SessionBegan', 'SessionEnded']);
    expect(about.map(({ data: said }) => said)).toEqual([details, about[0]?.data]);
  });

  it('may be named by the header of each request if nobody was named before', async () => {
    const one = await signedIn();
    expect((await one.ask('/session')).results).not.toHaveProperty('on_behalf_of');
    for (const [id, headers] of [['p4', { 'X-On-Behalf-Of': 'Ada' }], ['p5']] as const)
      expect((await randomize(one, id, headers)).status).toBe(200);
    expect([actorOf('p4').onBehalfOf, 'onBehalfOf' in actorOf('p5')]).toEqual(['Ada', false]);
  });

  it('is named as the header names them, in 1 to 128 characters that no other name looks like', async () => {
    const byHeader = browser();
    await byHeader.signIn(http.keys.site, { 'X-On-Behalf-Of': latin1(person) });
    expect((await byHeader.ask('/session')).results.on_behalf_of).toBe(person);
    const two = 'on_behalf_of and the header X-On-Behalf-Of name two people; send one of them';
    expect((await signInAs(person, { 'X-On-Behalf-Of': 'Ada' })).answer.message).toBe(two);
    expect((await signInAs(` ${'😀'.repeat(128)} `)).answer.status).toBe(200);
    for (const name of [' ', '=1', 'x'.repeat(129), 'a\tb', 'a\u200bb', '\ud800', http.keys.stranger, 1]) {
      const { one, answer } = await signInAs(name);
      expect([answer.status, one.cookie], JSON.stringify(name)).toEqual([400, undefined]);
    }
  });
});

describe('a session', () => {
  it('is renewed by what a person does, and by nothing else', async () => {
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
  });

  it('that has ended counts as no failed attempt, nor does the question who is signed in', async () => {
    const one = await signedIn();
    const { cookie } = one;
    await one.signOut();
    for (let i = 0; i < 31; i++) {
      expect(await sendWith(cookie, CONFIG)).toMatchObject(ENDED);
      expect(await browser().ask('/session')).toMatchObject(NONE);
    }
    const { headers } = await sendWith(cookie, CONFIG);
    expect(headers.getSetCookie()).toEqual([expect.stringMatching(/^urn-[0-9a-f]{8}=; .*Max-Age=0$/)]);
    expect((await browser().signOut()).status).toBe(401);
    expect((await ask(http.url, '/study_config', { key: 'urn_unknown' })).status).toBe(401);
    expect(await sendWith(`${cookie?.split('=')[0]}=a.b.c.d.e`, '/session')).toMatchObject(ENDED);
  });

  it('ends within a second when its key is revoked, and the refusal is recorded', async () => {
    const { cookie } = await signedIn('leaver');
    const { results } = await browser(cookie).ask('/session');
    await commandOk(['keys', 'revoke', results.key_id, '--data', data]);
    const isRefused = async () => (await browser(cookie).ask(CONFIG)).status === 401;
    expect(await within(15_000, isRefused)).toBeLessThan(1000);
    expect((await browser(cookie).ask(CONFIG)).message).toBe(
      'The API key of this session is revoked or has expired; sign in with another',
    );
    expect((await browser().signIn(http.keys.leaver)).status).toBe(401);
    for (const operation of ['GET /study_config', 'POST /session'])
      await expect
        .poll(() => eventsOf('leaver').map((event) => event.data))
        .toContainEqual(expect.objectContaining({ operation, reason: 'revoked-key' }));
  });

  it('is one: with a key or another cookie beside it, it is 400; cookies of other names do not matter', async () => {
    const { cookie = '' } = await signedIn();
    const withKey = { 'X-API-Key': http.keys.site };
    expect((await sendWith(cookie, CONFIG, withKey)).status).toBe(400);
    const message = 'The cookie of the session is given twice';
    expect(await sendWith(`${cookie}; a=b; ${cookie}`, CONFIG)).toMatchObject({ status: 400, message });
    const [name = '', value] = cookie.split('=');
    const foreign = ['urn-00000000=x', `__Host-${name}=${value}`, `${name}x=${value}`, `x${name}=1`, 'a'];
    expect((await sendWith(foreign.join('; '), CONFIG, withKey)).status).toBe(200);
    expect((await sendWith([...foreign, cookie].join('; '), CONFIG)).status).toBe(200);
  });

  it('is of no use to a page of another site, whose requests are refused and recorded', async () => {
    const { cookie } = await signedIn('lured');
    const signIn = { method: 'POST', body: { key: http.keys.stranger } };
    const host = { Host: 'evil.example.org', ...EVIL, 'Sec-Fetch-Site': 'same-origin' };
    for (const [path, more, headers, status] of [
      [CONFIG, {}, EVIL, 403],
      ['/session', { method: 'DELETE' }, EVIL, 403],
      ['/session', signIn, EVIL, 403],
      // Nor by leaving the headers out, or under a host name that points to this machine.
      [allocation('evil'), { method: 'POST' }, {}, 403],
      ['/session', {}, host, 401],
    ] as const) {
      const { results, headers: given, ...answer } = await sendWith(cookie, path, headers, more);
      expect({ path, ...more, status: answer.status }).toEqual({ path, ...more, status });
      expect([Object.values(results), given.getSetCookie()]).toEqual([[], []]);
    }
    expect((await sendWith(cookie, '/session')).status).toBe(200);
    expect(eventsOf('stranger')).toEqual([]);
    const refused = { operation: 'GET /study_config', reason: 'not-permitted' };
    await expect
      .poll(() => eventsOf('lured').map((event) => event.data))
      .toContainEqual(expect.objectContaining(refused));
  });
});

describe('over HTTPS', () => {
  it('the cookie is bound to the host, and a plain one from a sibling domain does not count', async () => {
    const { certFile: ca, keyFile } = makeCertificate(newFolder(), 'IP:127.0.0.1');
    const { url } = await started({ tls: { certFile: ca, keyFile } });
    const one = new CookieClient(url, ca);
    const { headers } = await one.signIn(http.keys.site);
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-urn-[0-9a-f]{8}=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
    ]);
    const { cookie = '' } = one;
    const planted = { Cookie: cookie.replace('__Host-', '') };
    expect(await send(`${url}/session`, { headers: planted, ca })).toMatchObject(NONE);
    const plain = { Cookie: cookie, Origin: url.replace('https', 'http') };
    expect((await send(`${url}/session`, { headers: plain, ca })).status).toBe(403);
    expect((await one.signOut()).status).toBe(200);
  });

  it.each([
    ['behind a trusted proxy that reports HTTPS', { trustProxy: 1 }, 200],
    ['but not because somebody says so', {}, 403],
  ])('people sign in %s', async (_, settings, status) => {
    const { url } = await started(settings);
    const one = new CookieClient(url, undefined, 'https://urn.example.org');
    const headers = { Host: 'urn.example.org', 'X-Forwarded-Proto': 'https' };
    const answer = await one.signIn(http.keys.site, headers);
    expect([answer.status, one.cookie?.startsWith('__Host-')]).toEqual([status, status === 200 || undefined]);
    if (status === 403) expect(answer.message).toContain('Signing in needs HTTPS');
  });
});

describe('several instances of one log', () => {
  it('share sessions, and a sign-out at one reaches the other within a second', async () => {
    const other = await started();
    const one = await signedIn();
    const { cookie } = one;
    expect(await statusOf(browser(cookie, other))).toBe(200);
    await one.signOut();
    const isSignedOut = async () => (await statusOf(browser(cookie, other))) === 401;
    expect(await within(15_000, isSignedOut)).toBeLessThan(1000);
    expect(await statusOf(browser(cookie, await started()))).toBe(401);
  });

  it('share them across folders if given the same key, which is replaced without a restart', async () => {
    const [one, file, own] = [await signedIn(), join(data, 'session-key'), join(newFolder(), 'key')];
    copyFileSync(file, own);
    expect(await statusOf(browser(one.cookie, await started({ sessionKey: own })))).toBe(200);
    const stranger = await started({ sessionKey: join(newFolder(), 'new') });
    expect(await statusOf(browser(one.cookie, stranger))).toBe(401);

    await commandOk(['session-key', 'replace', '--data', data]);
    // A request of a later second reads it again.
    await delay(1100);
    const fresh = await signedIn();
    const kept = readFileSync(file);
    writeFileSync(file, 'nonsense');
    await delay(1100);
    for (const each of [one, fresh]) expect(await statusOf(each)).toBe(200);
    const said = 'the session key has changed and cannot be read';
    await expect.poll(() => http.service.output.stderr).toContain(said);
    writeFileSync(file, kept);
    await commandOk(['session-key', 'replace', '--end-sessions', '--data', data]);
    await delay(1100);
    for (const each of [one, fresh]) expect(await statusOf(each)).toBe(401);
  });
});

it('while the log cannot be written, people sign in, and are told that a sign-out is of their browser only', async () => {
  for (const one of [http.service, ...others.splice(0)]) await one.stop();
  await commandOk(['copy', '--data', data, '--to', `sqlite:${join(newFolder(), 'urn.sqlite')}`]);
  const service = await started();
  const one = browser(undefined, service);
  expect((await one.signIn(http.keys.night)).status).toBe(200);
  const { cookie } = one;
  await expect.poll(() => service.output.stderr).toContain('"type":"SessionBegan"');
  const out = await one.signOut();
  expect(out).toMatchObject({ status: 200, results: { recorded: false } });
  expect(out.message).toContain('in this browser only');
  expect(out.headers.get('clear-site-data')).toBe('"cache", "storage"');
  expect(await statusOf(browser(cookie, service))).toBe(401);
  expect(eventsOf('night')).toEqual([]);
});
