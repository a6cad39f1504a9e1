/**
 * The beginning and the end of a session, as people see them in a real browser; then a page of another origin in the browser of
 * somebody who is signed in. It is served from another port of the same host: to the browser that is the same site, so it sends
 * the cookie along, as it would to a sibling subdomain.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { comeIn, describeInBrowser, openAs, type Person, signIn, sitDown } from '../../support/browser.ts';
import { served } from '../../support/served.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const MINUTE = 60_000;
const GRANTS = {
  site: ['Site 11', '--scope', 'blinded,randomize'],
  ward: ['ward', '--scope', 'read', '--study', 'Ward'],
  all: ['everybody', '--scope', 'read,randomize,manage', '--allow-prediction'],
  auditor: ['auditor', '--scope', 'audit'],
} as const;
async function filled(): Promise<void> {
  const { randomize } = http.as('all');
  for (const [i, ward] of ['a', 'b'].entries()) await randomize('Ward', `00${i}`, { ward });
  await randomize('Sleep', '001', COOK);
}
// The clock of the service, which a test sets.
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true }));
afterAll(() => void vi.useRealTimers());
const http = served(TRIALS, GRANTS, { filled });
const studies = () => `${http.url}/pages/studies`;

/** The addresses of what a page has asked for from now on and not received. The stream of changes never ends. */
function requestsUnderWay(page: Page): ReadonlySet<string> {
  const urls = new Set<string>();
  page.on('request', (request) => !request.url().includes('/changes?') && urls.add(request.url()));
  for (const end of ['requestfinished', 'requestfailed'] as const)
    page.on(end as 'requestfinished', (request) => urls.delete(request.url()));
  return urls;
}

/** Nothing but the form is on the page. */
async function expectSignedOut(page: Page, why?: string): Promise<void> {
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  if (why !== undefined) await page.getByText(why).waitFor();
  expect(await page.locator('body').textContent()).not.toContain('Sleep');
}

describeInBrowser('a session', () => {
  const asExample = () => openAs(http.keys.site, studies(), { acting: 'Dr. Example' });

  it('shows the studies of the key, and whose key it is, and keeps the key nowhere', async () => {
    const person = await openAs(undefined, `${http.url}/`);
    const { page } = person;
    await person.look('sign-in');
    await person.fill({ 'API key': `urn_${'x'.repeat(43)}` });
    await person.press('Sign in');
    await person.isWarned('API key is not valid');
    await signIn(person, http.keys.site, 'M. Ökafor');
    await page.getByRole('heading', { name: 'Studies', level: 1 }).and(page.locator(':focus')).waitFor();
    expect(await page.getByRole('banner').innerText()).toMatch(/blinded\s+randomize\s+Site 11 · M\. Ökafor/);
    const card = page.getByRole('listitem').filter({ hasText: 'Ward' });
    expect(await card.innerText()).toMatch(/TEST\s+open\s+2 enrolled/);
    await person.lookTwice('studies');
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('banner').isVisible()).toBe(false);
    await page.emulateMedia({ media: 'screen' });

    const cookies = await page.context().cookies();
    expect(cookies.map(({ httpOnly, sameSite, expires }) => ({ httpOnly, sameSite, expires }))).toEqual([
      { httpOnly: true, sameSite: 'Strict', expires: -1 },
    ]);
    expect(await person.kept()).toBe('[{},{}]');
    const everything = [JSON.stringify(cookies), page.url(), await page.content()].join('\n');
    expect(everything).not.toContain(http.keys.site);
    await person.press('Deutsch');
    await page.reload();
    await person.seesHeading('Studien');
    expect(await page.evaluate('document.documentElement.lang')).toBe('de');
  });

  it('begins and ends by keyboard only', async () => {
    const person = await openAs(undefined, studies());
    const { page } = person;
    await page.keyboard.press('Tab');
    await page.keyboard.insertText(http.keys.site);
    await page.keyboard.press('Tab');
    await page.keyboard.type('Dr. Example');
    await page.keyboard.press('Enter');
    await person.sees('Site 11 · Dr. Example');
    // From the heading, which has the focus, backwards to the button.
    await page.getByRole('heading', { name: 'Studies', level: 1 }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await expectSignedOut(page, 'You are signed out.');
    expect(await person.kept()).toBe('[{},{}]');
  });

  it('is of the same person in every tab, and ends in each; the back button shows nothing of it', async () => {
    const person = await asExample();
    const other = await person.page.context().newPage();
    await other.goto(studies());
    await other.getByText('Site 11 · Dr. Example').waitFor();
    await other.getByRole('link', { name: 'Sleep' }).click();
    await other.getByRole('heading').first().waitFor();
    await person.press('Sign out');
    for (const page of [person.page, other]) await expectSignedOut(page, 'You are signed out.');
    // The address does not name it either.
    await expect.poll(() => other.url()).toBe(studies());
    await other.goBack();
    await expectSignedOut(other, 'You are signed out.');
  });

  it('leaves nothing for the next session, begun in another tab', async () => {
    const person = await asExample();
    const { page } = person;
    const unanswered = requestsUnderWay(page);
    await person.follow('Sleep');
    await person.seesHeading('Sleep');
    const other = await page.context().newPage();
    // The session goes on: an answer that is still on its way would set its cookie again.
    await expect.poll(() => [...unanswered]).toEqual([]);
    await page.context().clearCookies();
    await other.goto(studies());
    await other.getByLabel('API key').fill(http.keys.ward);
    await other.getByLabel('Who is acting?').fill('Nurse J. Okafor');
    await other.getByRole('button', { name: 'Sign in' }).click();
    await person.sees('There is no such study, or your key may not see it.');
    expect(await page.getByRole('banner').textContent()).toContain('ward · Nurse J. Okafor');
    expect(await page.locator('body').textContent()).not.toMatch(/Dr\. Example|enrolled/);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
  });

  it('warns two minutes in advance, goes on if somebody answers, and ends after half an hour if nobody does', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.clock.install();
    await page.goto(studies());
    await signIn(person, http.keys.site);
    await page.getByRole('link', { name: 'Sleep' }).waitFor();
    const warning = page.getByRole('alert').filter({ hasText: 'signed out in less than two minutes' });
    await page.clock.fastForward('27:00');
    expect(await warning.count()).toBe(0);
    await page.clock.fastForward('02:00');
    await warning.waitFor();
    await person.look('session-ends');
    const isAct = page.waitForRequest((request) => request.headers()['urn-automatic'] === undefined);
    await person.press('Stay signed in');
    await isAct;
    await page.clock.runFor(10_000);
    await warning.waitFor({ state: 'detached' });

    vi.setSystemTime(Date.now() + 31 * MINUTE);
    onTestFinished(() => void vi.setSystemTime(Date.now() - 31 * MINUTE));
    await page.clock.fastForward(31 * MINUTE);
    await expectSignedOut(page, 'Your session has ended.');
    await person.picture('session-ended');
  });
});

const LIST = '/study_participants?study=Sleep';
const STATE = JSON.stringify({ study: 'Sleep', state: 'paused', reason: 'hostile' });

describeInBrowser('a hostile page on another origin', () => {
  let hostile: Server;
  let victim: Person;
  let page: Page;
  /** What the hostile page asked of the service, method and path by the id of the request, and the status of each answer. */
  let asked: Map<string, string>;
  let statuses: { requestId: string; statusCode: number }[];
  let cookies: string[];

  beforeAll(async () => {
    hostile = createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Prize</title>');
    });
    await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
    victim = await comeIn();
    await victim.page.goto(studies());
    await signIn(victim, http.keys.all);
  });
  afterAll(async () => {
    await victim?.leave();
    hostile?.close();
  });

  // Each test has a window of its own: the last one may still be on its way to where a form sent it.
  afterEach(() => page.close());

  async function visit(): Promise<void> {
    asked = new Map();
    statuses = [];
    cookies = [];
    page = await victim.page.context().newPage();
    // What a page may not read, Playwright does not show either; the protocol beneath does.
    const network = await page.context().newCDPSession(page);
    network.on('Network.requestWillBeSent', ({ requestId, request }) => {
      const { origin, pathname } = new URL(request.url);
      if (origin === http.url) asked.set(requestId, `${request.method} ${pathname}`);
    });
    network.on('Network.requestWillBeSentExtraInfo', ({ headers }) => cookies.push(headers['Cookie'] ?? ''));
    network.on('Network.responseReceivedExtraInfo', (answer) => statuses.push(answer));
    await network.send('Network.enable');
    await page.goto(`http://127.0.0.1:${(hostile.address() as AddressInfo).port}/`);
  }
  /** Runs a script of the hostile page, which knows the address of the service as `service`. */
  const run = <T>(script: string): Promise<T> =>
    page.evaluate<T>(`(async () => { const service = ${JSON.stringify(http.url)}; ${script} })()`);
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

  it('is of the same site, so that the browser sends it the cookie; it reads nothing, hears of no change, runs no answer as a script, and an auditor sees what it asks', async () => {
    await visit();
    // Otherwise the tests below would prove nothing.
    await run(`new Image().src = service + ${JSON.stringify(LIST)};`);
    await refused().toBe(1);
    expect(cookies.at(-1)).toContain('urn-');
    const { results } = await http.get('auditor', '/operations');
    const refusals = results.filter(
      ({ type, actor, data: said }: { type: string; actor: { user: string }; data: { reason?: string } }) =>
        type === 'RequestRefused' && actor.user === 'everybody' && said.reason === 'not-permitted',
    );
    expect(refusals.length).toBeGreaterThan(0);

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
    const { headers } = await http.as('all').list('Sleep');
    expect(headers.get('urn-revision')).toBe('1');
  });

  it('frames nothing, and has no control over a window that it opens', async () => {
    await visit();
    for (const [i, path] of ['/pages/studies', LIST].entries()) {
      await run(`
        const frame = document.createElement('iframe');
        frame.src = service + ${JSON.stringify(path)};
        const loaded = new Promise((resolve) => { frame.onload = resolve; });
        document.body.append(frame);
        await loaded;
      `);
      const frame = page.frames()[i + 1];
      expect(await frame?.locator('body').textContent(), path).not.toMatch(/Sleep|Sign in|001|swagger/i);
      expect(frame?.url(), path).toContain('chrome-error:');
    }

    const opening = page.context().waitForEvent('page');
    await run(`window.opened = window.open(service + '/pages/studies');`);
    const opened = await opening;
    await opened.getByRole('link', { name: 'Sleep' }).waitFor();
    expect(await run(`return [window.opened.closed, window.opened.length];`)).toEqual([true, 0]);
    expect(await opened.evaluate('window.opener')).toBeNull();
    await opened.close();
  });
});
