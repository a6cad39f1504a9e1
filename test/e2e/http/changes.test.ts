/** GET /changes, as used by browsers and programs. */
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf, within } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { CookieClient } from '../../support/cookie-client.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKey, issueKeys, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const running: { stop(): Promise<void> }[] = [];
afterAll(async () => {
  for (const service of running) await service.stop();
});

interface Listening {
  readonly status: number;
  readonly type: string | undefined;
  /** The revisions so far. */
  readonly heard: number[];
  /** The raw text received so far. */
  readonly text: () => string;
  readonly hasEnded: () => boolean;
  close(): void;
}

const open: Listening[] = [];
afterAll(() => {
  for (const one of open) one.close();
});

/** Listens to the changes of a study. */
function listen(
  url: string,
  headers: Readonly<Record<string, string>>,
  study = 'Sleep',
  method = 'GET',
): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${url}/changes?${new URLSearchParams({ study })}`,
      { method, headers, agent: false },
      (response) => {
        const heard: number[] = [];
        let [text, hasEnded] = ['', false];
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          heard.splice(
            0,
            heard.length,
            ...[...text.matchAll(/^id: (\d+)\ndata:\n\n/gm)].map(([, id]) => Number(id)),
          );
        });
        const end = () => {
          hasEnded = true;
        };
        response.once('end', end).once('error', end);
        const listening = {
          status: response.statusCode ?? 0,
          type: response.headers['content-type'],
          heard,
          text: () => text,
          hasEnded: () => hasEnded,
          close: () => asked.destroy(),
        };
        open.push(listening);
        resolve(listening);
      },
    );
    asked.once('error', reject);
    asked.end();
  });
}

const hears = (listening: Listening, revision: number) =>
  within(15_000, async () => listening.heard.at(-1) === revision);
const ends = (listening: Listening) => within(15_000, async () => listening.hasEnded());

describe('the changes of a study', () => {
  const data = newFolder();
  let service: ServiceHere;
  let keys: Record<'edc' | 'cook' | 'blind', string>;
  const revision = async () =>
    Number(
      (
        await ask(service.url, '/study_config', { key: keys.edc, parameters: { study: 'Sleep' } })
      ).headers.get('urn-revision'),
    );
  const randomize = async (id: string, levels: Readonly<Record<string, string>>) => {
    const { status, headers } = await clientOf(service.url, keys.edc).randomize('Sleep', id, levels);
    expect(status).toBe(200);
    return Number(headers.get('urn-revision'));
  };
  const withKey = (key: string) => ({ Authorization: `Bearer ${key}` });

  beforeAll(async () => {
    keys = await issueKeys(data, {
      edc: ['edc', '--scope', 'read,randomize'],
      cook: ['cook', '--scope', 'blinded,unblind', '--where', `local_site=${COOK.local_site}`],
      blind: ['blind', '--scope', 'blinded'],
    });
    service = await serveHere(data, TRIALS);
    running.push(service);
  });

  it('are only revisions, the first of them sent at once', async () => {
    const now = await revision();
    const one = await listen(service.url, withKey(keys.blind));
    expect({ status: one.status, type: one.type }).toEqual({ status: 200, type: 'text/event-stream' });
    await hears(one, now);
    const next = await randomize('a1', COOK);
    expect(await hears(one, next)).toBeLessThan(3000);
    expect(one.text()).toMatch(/^retry: \d+\n\n(?:id: \d+\ndata:\n\n)+$/);
    one.close();
  });

  it('are no more than one a second', async () => {
    const one = await listen(service.url, withKey(keys.edc));
    const started = performance.now();
    let last = 0;
    for (let i = 0; i < 60; i++) last = await randomize(`b${i}`, COOK);
    await hears(one, last);
    expect(one.heard.length).toBeLessThan(3 + (performance.now() - started) / 1000);
    expect(one.heard).toEqual([...new Set(one.heard)].toSorted((a, b) => a - b));
    one.close();
  });

  it('are not sent again to a browser that has them', async () => {
    const now = await revision();
    const knowing = await listen(service.url, { ...withKey(keys.edc), 'Last-Event-ID': String(now) });
    const behind = await listen(service.url, { ...withKey(keys.edc), 'Last-Event-ID': String(now - 1) });
    await hears(behind, now);
    expect(knowing.heard).toEqual([]);
    const next = await randomize('c1', COOK);
    await hears(knowing, next);
    knowing.close();
    behind.close();
  });

  it('are not sent to a key that is limited to other levels', async () => {
    const mine = await randomize('d1', COOK);
    const one = await listen(service.url, withKey(keys.cook));
    await hears(one, mine);
    await randomize('d2', DUPAGE);
    // Whenever the service checks, there is something new elsewhere.
    await delay(1500);
    const all = await listen(service.url, withKey(keys.edc));
    await randomize('d3', DUPAGE);
    await hears(all, await revision());
    await delay(1500);
    expect(one.heard).toEqual([mine]);
    const again = await listen(service.url, withKey(keys.cook));
    await hears(again, mine);

    const body = { study: 'Sleep', id: 'd1', category: 'emergency', reason: 'anaphylaxis' };
    const { headers } = await postJson(service.url, '/code_breaks', keys.cook, body);
    await hears(one, Number(headers.get('urn-revision')));
    await commandOk(['studies', 'pause', 'Sleep', '--reason', 'data review', '--data', data]);
    await hears(one, mine + 4);
    await commandOk(['studies', 'resume', 'Sleep', '--reason', 'review done', '--data', data]);
    for (const listening of [one, all, again]) listening.close();
  });

  it('need a key or a session that may see the study, and GET', async () => {
    expect((await listen(service.url, {})).status).toBe(401);
    expect((await listen(service.url, withKey(keys.edc), 'None')).status).toBe(404);
    const post = await ask(service.url, '/changes', { method: 'POST', key: keys.edc });
    expect({ status: post.status, allow: post.headers.get('allow') }).toEqual({
      status: 405,
      allow: 'GET, HEAD',
    });
    const unknown = await ask(service.url, '/changes', {
      key: keys.edc,
      parameters: { study: 'Sleep', x: '1' },
    });
    expect(unknown).toMatchObject({ status: 400, message: 'x is not a parameter of changes' });
    const head = await listen(service.url, withKey(keys.edc), 'Sleep', 'HEAD');
    expect({ status: head.status, type: head.type }).toEqual({ status: 200, type: 'text/event-stream' });
    await ends(head);
  });

  it('end with the key', async () => {
    const key = await issueKey(data, 'leaver', '--scope', 'read');
    await within(5000, async () => (await clientOf(service.url, key).config('Sleep')).status === 200);
    const one = await listen(service.url, withKey(key));
    await hears(one, await revision());
    const [, keyId = ''] =
      /(k[0-9a-f]{12})\s+leaver/.exec(await commandOk(['keys', 'list', '--data', data])) ?? [];
    await commandOk(['keys', 'revoke', keyId, '--data', data]);
    await ends(one);
    expect((await listen(service.url, withKey(key))).status).toBe(401);
  });

  it('go to at most 3 streams per session, do not renew it, and end on sign-out', async () => {
    const browser = new CookieClient(service.url);
    await browser.signIn(keys.blind);
    const headers = () => ({ Cookie: browser.cookie ?? '', 'Sec-Fetch-Site': 'same-origin' });
    await delay(1100);
    const three = await Promise.all([1, 2, 3].map(() => listen(service.url, headers())));
    expect(three.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { cookie } = browser;
    const fourth = await browser.ask('/changes?study=Sleep');
    expect(fourth.status).toBe(429);
    expect(fourth.headers.get('retry-after')).toBe('10');
    expect(browser.cookie).toBe(cookie);
    // Another browser with the same key has its own.
    const other = new CookieClient(service.url);
    await other.signIn(keys.blind);
    const theirs = await listen(service.url, { Cookie: other.cookie ?? '' });
    expect(theirs.status).toBe(200);
    expect((await listen(service.url, { ...headers(), Origin: 'http://evil.example.org' })).status).toBe(403);

    three[0]?.close();
    await within(5000, async () => {
      const one = await listen(service.url, headers());
      return one.status === 200;
    });
    await browser.signOut();
    for (const one of three.slice(1)) await ends(one);
    expect(theirs.hasEnded()).toBe(false);
    theirs.close();
  });

  it('go to at most 30 streams per key, however often it signs in, and leave room for other keys', async () => {
    const key = await issueKey(data, 'many', '--scope', 'read');
    await within(5000, async () => (await clientOf(service.url, key).config('Sleep')).status === 200);
    const browsers = Array.from({ length: 12 }, () => new CookieClient(service.url));
    await Promise.all(browsers.map((browser) => browser.signIn(key)));
    const cookies = browsers.flatMap(({ cookie = '' }) => [cookie, cookie, cookie]);
    const all = await Promise.all(cookies.map((Cookie) => listen(service.url, { Cookie })));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(30);
    expect(all.filter(({ status }) => status === 429)).toHaveLength(6);
    const refused = await ask(service.url, '/changes', { key, parameters: { study: 'Sleep' } });
    expect(refused).toMatchObject({
      status: 429,
      message: expect.stringMatching(/^This API key has its maximum of 30 streams/),
    });
    const theirs = await listen(service.url, withKey(keys.edc));
    expect(theirs.status).toBe(200);
    for (const one of [...all, theirs]) one.close();
  });
});

describe('a hundred open streams', () => {
  it('do not delay a stop, and each of them ends', async () => {
    const data = newFolder();
    const keys = await Promise.all(
      Array.from({ length: 4 }, (_, i) => issueKey(data, `tab${i}`, '--scope', 'read')),
    );
    const service = await serve({ data, studies: TRIALS });
    running.push(service);
    const streams = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        listen(service.url, { 'X-API-Key': keys[i % keys.length] ?? '' }),
      ),
    );
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
    // They do not count as requests in progress: another one is answered meanwhile.
    expect((await clientOf(service.url, keys[0] ?? '').config('Sleep')).status).toBe(200);
    const started = performance.now();
    await service.stop();
    expect(performance.now() - started).toBeLessThan(5000);
    for (const one of streams) await ends(one);
  });
});

describe('two instances', () => {
  it('each send changes that the other wrote', async () => {
    const data = newFolder();
    const key = await issueKey(data, 'edc', '--scope', 'read,randomize');
    const [one, other] = [await serveHere(data, TRIALS), await serve({ data, studies: TRIALS })];
    running.push(one, other);
    const listening = await listen(one.url, { 'X-API-Key': key });
    const { headers } = await clientOf(other.url, key).randomize('Sleep', 'x', COOK);
    expect(await hears(listening, Number(headers.get('urn-revision')))).toBeLessThan(3000);
  });
});
