/** GET /changes, as used by browsers and programs. When a stream speaks and ends: test/unit/http. */
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { within } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { CookieClient } from '../../support/cookie-client.ts';
import { served } from '../../support/served.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

type Headers = Readonly<Record<string, string>>;
type Listening = Awaited<ReturnType<typeof listen>>;

/** Listens to the changes of a study, and keeps the raw text and the revisions that it has received so far. */
async function listen(headers: Headers, method = 'GET') {
  const asked = request(`${http.url}/changes?study=Sleep`, { method, headers, agent: false }).end();
  onTestFinished(() => void asked.destroy());
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve).once('error', reject);
  });
  let [text, hasEnded] = ['', false];
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  response.once('close', () => {
    hasEnded = true;
  });
  return {
    ...{ status: response.statusCode, type: response.headers['content-type'], text: () => text },
    heard: () => [...text.matchAll(/^id: (\d+)\ndata:\n\n/gm)].map(([, id]) => Number(id)),
    ...{ hasEnded: () => hasEnded, close: () => asked.destroy() },
  };
}

const hears = (listening: Listening, revision: number) =>
  within(15_000, async () => listening.heard().at(-1) === revision);
const ends = (listening: Listening) => within(15_000, async () => listening.hasEnded());

const data = temporaryFolders()();
const run = (...args: string[]) => commandOk([...args, '--data', data]);
const http = served(
  TRIALS,
  {
    edc: ['edc', '--scope', 'read,randomize'],
    cook: ['cook', '--scope', 'blinded', '--where', `local_site=${COOK.local_site}`],
    blind: ['blind', '--scope', 'blinded'],
    many: ['many', '--scope', 'read'],
    leaver: ['leaver', '--scope', 'read'],
  },
  { data },
);
type Name = keyof typeof http.keys;
const withKey = (name: Name) => ({ Authorization: `Bearer ${http.keys[name]}` });
const listenAs = (name: Name, headers: Headers = {}) => listen({ ...withKey(name), ...headers });
const revision = async () => Number((await http.as('edc').config('Sleep')).headers.get('urn-revision'));
const randomize = async (id: string, levels: Headers) => {
  const { status, headers } = await http.as('edc').randomize('Sleep', id, levels);
  expect(status).toBe(200);
  return Number(headers.get('urn-revision'));
};

describe('the changes of a study', () => {
  it('are only revisions, the first of them sent at once, and not again to a browser that has them', async () => {
    const one = await listenAs('blind');
    expect([one.status, one.type]).toEqual([200, 'text/event-stream']);
    const now = await revision();
    await hears(one, now);
    const knowing = await listenAs('edc', { 'Last-Event-ID': String(now) });
    await hears(await listenAs('edc', { 'Last-Event-ID': String(now - 1) }), now);
    expect(knowing.heard()).toEqual([]);
    const next = await randomize('a1', COOK);
    expect(await hears(one, next)).toBeLessThan(3000);
    await hears(knowing, next);
    expect(one.text()).toMatch(/^retry: \d+\n\n(?:id: \d+\ndata:\n\n)+$/);
  });

  it('are not sent to a key that is limited to other levels', async () => {
    const mine = await randomize('d1', COOK);
    const one = await listenAs('cook');
    await hears(one, mine);
    await randomize('d2', DUPAGE);
    // Whenever the service checks, there is something new elsewhere.
    await delay(1500);
    const all = await listenAs('edc');
    await hears(all, await randomize('d3', DUPAGE));
    await delay(1500);
    expect(one.heard()).toEqual([mine]);
    await run('studies', 'pause', 'Sleep', '--reason', 'data review');
    await hears(one, mine + 3);
    await run('studies', 'resume', 'Sleep', '--reason', 'review done');
  });

  it('end with the key; HEAD ends at once', async () => {
    const head = await listen(withKey('edc'), 'HEAD');
    expect([head.status, head.type]).toEqual([200, 'text/event-stream']);
    await ends(head);

    const one = await listenAs('leaver');
    await hears(one, await revision());
    const [, keyId = ''] = /(k[0-9a-f]{12})\s+leaver/.exec(await run('keys', 'list')) ?? [];
    await run('keys', 'revoke', keyId);
    await ends(one);
    expect((await listenAs('leaver')).status).toBe(401);
  });

  it('go to at most 3 streams per session, do not renew it, and end on sign-out', async () => {
    const browser = new CookieClient(http.url);
    await browser.signIn(http.keys.blind);
    const headers = () => ({ Cookie: browser.cookie ?? '', 'Sec-Fetch-Site': 'same-origin' });
    await delay(1100);
    const three = await Promise.all([1, 2, 3].map(() => listen(headers())));
    expect(three.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { cookie } = browser;
    const fourth = await browser.ask('/changes?study=Sleep');
    expect([fourth.status, fourth.headers.get('retry-after')]).toEqual([429, '10']);
    expect(browser.cookie).toBe(cookie);
    const foreign = { ...headers(), Origin: 'http://evil.example.org' };
    expect((await listen(foreign)).status).toBe(403);

    three[0]?.close();
    await within(5000, async () => (await listen(headers())).status === 200);
    await browser.signOut();
    for (const one of three.slice(1)) await ends(one);
  });
});

it('open streams do not delay a stop of the service, and end with it', async () => {
  const names = ['edc', 'blind', 'many'] as const;
  const asked = Array.from({ length: 50 }, (_, i) => listenAs(names[i % names.length] ?? 'edc'));
  const streams = await Promise.all(asked);
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
  // They do not count as requests in progress: another one is answered meanwhile.
  expect((await http.as('edc').config('Sleep')).status).toBe(200);
  const started = performance.now();
  await http.service.stop();
  expect(performance.now() - started).toBeLessThan(5000);
  for (const one of streams) await ends(one);
});
