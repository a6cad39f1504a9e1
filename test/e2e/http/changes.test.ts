/** GET /changes, as used by browsers and programs. When a stream speaks and ends: test/unit/http. */
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { clientOf, within } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { CookieClient } from '../../support/cookie-client.ts';
import { served } from '../../support/served.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

interface Listening {
  readonly status: number;
  readonly type: string | undefined;
  /** The raw text received so far. */
  readonly text: () => string;
  /** The revisions so far. */
  readonly heard: () => number[];
  readonly hasEnded: () => boolean;
  close(): void;
}

type Headers = Readonly<Record<string, string>>;
const open: Listening[] = [];
afterAll(() => {
  for (const one of open) one.close();
});

/** Listens to the changes of a study. */
function listen(url: string, headers: Headers, study = 'Sleep', method = 'GET'): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const target = `${url}/changes?${new URLSearchParams({ study })}`;
    const asked = request(target, { method, headers, agent: false }, (response) => {
      let [text, hasEnded] = ['', false];
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      const end = () => {
        hasEnded = true;
      };
      response.once('end', end).once('error', end);
      const listening = {
        status: response.statusCode ?? 0,
        type: response.headers['content-type'],
        text: () => text,
        heard: () => [...text.matchAll(/^id: (\d+)\ndata:\n\n/gm)].map(([, id]) => Number(id)),
        hasEnded: () => hasEnded,
        close: () => asked.destroy(),
      };
      open.push(listening);
      resolve(listening);
    });
    asked.once('error', reject).end();
  });
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
    cook: ['cook', '--scope', 'blinded,unblind', '--where', `local_site=${COOK.local_site}`],
    blind: ['blind', '--scope', 'blinded'],
    many: ['many', '--scope', 'read'],
    leaver: ['leaver', '--scope', 'read'],
  },
  { data },
);
type Name = keyof typeof http.keys;
const withKey = (name: Name) => ({ Authorization: `Bearer ${http.keys[name]}` });
const listenAs = (name: Name, headers: Headers = {}) => listen(http.url, { ...withKey(name), ...headers });
const revision = async () => Number((await http.as('edc').config('Sleep')).headers.get('urn-revision'));
const randomize = async (id: string, levels: Headers) => {
  const { status, headers } = await http.as('edc').randomize('Sleep', id, levels);
  expect(status).toBe(200);
  return Number(headers.get('urn-revision'));
};

describe('the changes of a study', () => {
  it('are only revisions, the first of them sent at once, and no more than one a second', async () => {
    const one = await listenAs('blind');
    expect([one.status, one.type]).toEqual([200, 'text/event-stream']);
    await hears(one, await revision());
    expect(await hears(one, await randomize('a1', COOK))).toBeLessThan(3000);
    const started = performance.now();
    let last = 0;
    for (let i = 0; i < 20; i++) last = await randomize(`b${i}`, COOK);
    await hears(one, last);
    expect(one.text()).toMatch(/^retry: \d+\n\n(?:id: \d+\ndata:\n\n)+$/);
    const heard = one.heard();
    expect(heard.length).toBeLessThan(5 + (performance.now() - started) / 1000);
    expect(heard).toEqual([...new Set(heard)].toSorted((a, b) => a - b));
  });

  it('are not sent again to a browser that has them', async () => {
    const now = await revision();
    const knowing = await listenAs('edc', { 'Last-Event-ID': String(now) });
    await hears(await listenAs('edc', { 'Last-Event-ID': String(now - 1) }), now);
    expect(knowing.heard()).toEqual([]);
    await hears(knowing, await randomize('c1', COOK));
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
    await hears(await listenAs('cook'), mine);

    const body = { study: 'Sleep', id: 'd1', category: 'emergency', reason: 'anaphylaxis' };
    const { headers } = await http.post('cook', '/code_breaks', body);
    await hears(one, Number(headers.get('urn-revision')));
    await run('studies', 'pause', 'Sleep', '--reason', 'data review');
    await hears(one, mine + 4);
    await run('studies', 'resume', 'Sleep', '--reason', 'review done');
  });

  it('need a key or a session that may see the study; HEAD ends at once', async () => {
    expect((await listen(http.url, {})).status).toBe(401);
    expect((await listen(http.url, withKey('edc'), 'None')).status).toBe(404);
    const head = await listen(http.url, withKey('edc'), 'Sleep', 'HEAD');
    expect([head.status, head.type]).toEqual([200, 'text/event-stream']);
    await ends(head);
  });

  it('end with the key', async () => {
    const one = await listenAs('leaver');
    await hears(one, await revision());
    const [, keyId = ''] = /(k[0-9a-f]{12})\s+leaver/.exec(await run('keys', 'list')) ?? [];
    await run('keys', 'revoke', keyId);
    await ends(one);
    expect((await listenAs('leaver')).status).toBe(401);
  });

  it('go to at most 3 streams per session, do not renew it, and end on sign-out', async () => {
    const [browser, other] = [new CookieClient(http.url), new CookieClient(http.url)];
    for (const one of [browser, other]) await one.signIn(http.keys.blind);
    const headers = () => ({ Cookie: browser.cookie ?? '', 'Sec-Fetch-Site': 'same-origin' });
    await delay(1100);
    const three = await Promise.all([1, 2, 3].map(() => listen(http.url, headers())));
    expect(three.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { cookie } = browser;
    const fourth = await browser.ask('/changes?study=Sleep');
    expect([fourth.status, fourth.headers.get('retry-after')]).toEqual([429, '10']);
    expect(browser.cookie).toBe(cookie);
    // Another browser with the same key has its own.
    const theirs = await listen(http.url, { Cookie: other.cookie ?? '' });
    expect(theirs.status).toBe(200);
    const foreign = { ...headers(), Origin: 'http://evil.example.org' };
    expect((await listen(http.url, foreign)).status).toBe(403);

    three[0]?.close();
    await within(5000, async () => (await listen(http.url, headers())).status === 200);
    await browser.signOut();
    for (const one of three.slice(1)) await ends(one);
    expect(theirs.hasEnded()).toBe(false);
  });
});

it('each of two instances sends changes that the other wrote', async () => {
  const other = await serveHere(data, TRIALS);
  const listening = await listenAs('edc');
  const { headers } = await clientOf(other.url, http.keys.edc).randomize('Sleep', 'x', COOK);
  expect(await hears(listening, Number(headers.get('urn-revision')))).toBeLessThan(3000);
  await other.stop();
});

it('fifty open streams do not delay a stop, and each of them ends', async () => {
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
