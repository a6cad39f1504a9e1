/**
 * A page of another origin, in the browser of somebody who is signed in. It is served from another port of the same host: to
 * the browser that is the same site, so it sends the cookie along, as it would to a sibling subdomain.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { comeIn, describeInBrowser, type Person, signIn } from '../../support/browser.ts';
import { ask, clientOf } from '../../support/client.ts';
import { type ServiceHere, serveInMemory } from '../../support/service-here.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const LIST = '/study_participants?study=Sleep';
const STATE = JSON.stringify({ study: 'Sleep', state: 'paused', reason: 'hostile' });

describeInBrowser('a hostile page on another origin', () => {
  let service: ServiceHere;
  let hostile: Server;
  let victim: Person;
  let page: Page;
  let keys: Record<'all' | 'auditor', string>;
  /** What the hostile page asked of the service, method and path by the id of the request, and the status of each answer. */
  let asked: Map<string, string>;
  let statuses: { requestId: string; statusCode: number }[];
  let cookies: string[];

  beforeAll(async () => {
    ({ service, keys } = await serveInMemory(TRIALS, {
      all: ['everybody', '--scope', 'read,randomize,manage'],
      auditor: ['auditor', '--scope', 'audit'],
    }));
    await clientOf(service.url, keys.all).randomize('Sleep', '001', COOK);
    hostile = createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Prize</title>');
    });
    await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
    victim = await comeIn();
    await victim.page.goto(`${service.url}/pages/studies`);
    await signIn(victim, keys.all);
  });
  afterAll(async () => {
    await victim?.leave();
    hostile?.close();
    await service?.stop();
  });

  // Each test has a window of its own: the last one may still be on its way to where a form sent it.
  afterEach(() => page.close());

  /** The hostile page, opened. */
  async function visit(): Promise<void> {
    asked = new Map();
    statuses = [];
    cookies = [];
    page = await victim.page.context().newPage();
    // What a page may not read, Playwright does not show either; the protocol beneath does.
    const network = await page.context().newCDPSession(page);
    network.on('Network.requestWillBeSent', ({ requestId, request }) => {
      const { origin, pathname } = new URL(request.url);
      if (origin === service.url) asked.set(requestId, `${request.method} ${pathname}`);
    });
    network.on('Network.requestWillBeSentExtraInfo', ({ headers }) => cookies.push(headers['Cookie'] ?? ''));
    network.on('Network.responseReceivedExtraInfo', (answer) => statuses.push(answer));
    await network.send('Network.enable');
    await page.goto(`http://127.0.0.1:${(hostile.address() as AddressInfo).port}/`);
  }
  /** Runs a script of the hostile page, which knows the address of the service as `service`. */
  const run = <T>(script: string): Promise<T> =>
    page.evaluate<T>(`(async () => { const service = ${JSON.stringify(service.url)}; ${script} })()`);
  /**
   * What the service answered to the hostile page: method, path and status. Requests and answers are reported by two
   * processes of the browser, so an answer may be reported first.
   */
  const answers = () =>
    statuses
      .filter(({ requestId }) => asked.has(requestId))
      .map(({ requestId, statusCode }) => `${asked.get(requestId)} ${statusCode}`);
  /** 415 is for a body that is not said to be JSON, which a page of another origin cannot say. */
  const refused = () => expect.poll(() => answers().filter((one) => / (403|415)$/.test(one)).length);

  it('is of the same site, so that the browser sends it the cookie, and an auditor sees what it asks', async () => {
    await visit();
    // Otherwise the tests below would prove nothing.
    await run(`new Image().src = service + ${JSON.stringify(LIST)};`);
    await refused().toBe(1);
    expect(cookies.at(-1)).toContain('urn-');
    const { results } = await ask(service.url, '/operations', { key: keys.auditor });
    const refusals = results.filter(
      ({ type, actor, data: said }: { type: string; actor: { user: string }; data: { reason?: string } }) =>
        type === 'RequestRefused' && actor.user === 'everybody' && said.reason === 'not-permitted',
    );
    expect(refusals.length).toBeGreaterThan(0);
  });

  it('reads nothing, hears of no change, and runs no answer as a script', async () => {
    await visit();
    const outcomes = await run<string[]>(`
      const init = { credentials: 'include', mode: 'no-cors' };
      const source = new EventSource(service + '/changes?study=Sleep', { withCredentials: true });
      const script = document.createElement('script');
      script.src = service + '/studies';
      document.head.append(script);
      return Promise.all([
        fetch(service + ${JSON.stringify(LIST)}, init).then(async (r) => r.type + (await r.text()), () => 'refused'),
        ...[[source, 'message'], [script, 'load']].map(([one, success]) => new Promise((resolve) => {
          one.addEventListener(success, () => resolve(success));
          one.addEventListener('error', () => resolve('refused'));
        })),
      ]);
    `);
    expect(outcomes).toEqual(['refused', 'refused', 'refused']);
  });

  it.each([
    ['randomizes nobody', `${LIST}&id=666&sex=Male&local_site=30-Dupage+County`, 'text/plain', ''],
    ['pauses no study', '/study_state', 'text/plain', STATE],
  ])('%s, by a form or by a request that needs no permission', async (_, path, type, body) => {
    await visit();
    await run(`await fetch(service + ${JSON.stringify(path)}, {
      method: 'POST', mode: 'no-cors', credentials: 'include', body: ${JSON.stringify(body)},
      headers: { 'Content-Type': ${JSON.stringify(type)} },
    }).catch(() => undefined);`);
    await refused().toBe(1);
    await run(`
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', enctype: 'text/plain', action: service + ${JSON.stringify(path)} });
      const field = document.createElement('input');
      Object.assign(field, { type: 'hidden', name: '{"a":"', value: '"}' });
      form.append(field);
      document.body.append(form);
      form.submit();
    `);
    await refused().toBe(2);
    const { headers } = await clientOf(service.url, keys.all).list('Sleep');
    expect(headers.get('urn-revision')).toBe('1');
    await victim.page.reload();
    await victim.page.getByRole('link', { name: 'Sleep' }).waitFor();
  });

  it('may not ask for more, by a request that needs permission', async () => {
    await visit();
    const outcome = await run<string>(`
      const init = { method: 'DELETE', credentials: 'include', headers: { 'Idempotency-Key': 'x' } };
      return fetch(service + '/session', init).then(() => 'answered', () => 'failed');`);
    expect(outcome).toBe('failed');
    // The browser asks for permission, which is refused; the request itself is never sent.
    await expect.poll(() => answers()).toEqual([expect.stringMatching(/^OPTIONS /)]);
  });

  it('frames nothing', async () => {
    for (const path of ['/pages/studies', LIST]) {
      await visit();
      await run(`
        const frame = document.createElement('iframe');
        frame.src = service + ${JSON.stringify(path)};
        const loaded = new Promise((resolve) => { frame.onload = resolve; });
        document.body.append(frame);
        await loaded;
      `);
      const [, frame] = page.frames();
      expect(await frame?.locator('body').textContent(), path).not.toMatch(/Sleep|Sign in|001|swagger/i);
      expect(frame?.url(), path).toContain('chrome-error:');
    }
  });

  it('has no control over a window that it opens', async () => {
    await visit();
    const opening = page.context().waitForEvent('page');
    await run(`window.opened = window.open(service + '/pages/studies');`);
    const opened = await opening;
    await opened.getByRole('link', { name: 'Sleep' }).waitFor();
    expect(await run(`return [window.opened.closed, window.opened.length];`)).toEqual([true, 0]);
    expect(await opened.evaluate('window.opener')).toBeNull();
    await opened.close();
  });
});
