/** The beginning and the end of a session, as people see them in a real browser. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import {
  describeInBrowser,
  expectAccessible,
  type Person,
  picture,
  signIn,
  sitDown,
} from '../../support/browser.ts';
import { commandOk } from '../../support/command.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const clock = join(data, 'clock');
const MINUTE = 60_000;

/** The addresses of what a page has asked for from now on and not received. The stream of changes never ends. */
function requestsUnderWay(page: Page): ReadonlySet<string> {
  const urls = new Set<string>();
  page.on('request', (request) => !request.url().includes('/changes?') && urls.add(request.url()));
  for (const end of ['requestfinished', 'requestfailed'] as const)
    page.on(end as 'requestfinished', (request) => urls.delete(request.url()));
  return urls;
}

describeInBrowser('a session', () => {
  let service: Service;
  let keys: Record<'site' | 'ward' | 'leaver' | 'all', string>;

  beforeAll(async () => {
    keys = await issueKeys(data, {
      site: ['site', '--scope', 'read,randomize'],
      ward: ['ward', '--scope', 'read', '--study', 'Ward'],
      leaver: ['leaver', '--scope', 'read'],
      all: ['everybody', '--scope', 'read,randomize,audit,manage,unblind', '--allow-prediction'],
    });
    writeFileSync(clock, '0');
    const shifted = pathToFileURL(join(import.meta.dirname, '../../support/shifted-clock.mjs'));
    const env = { NODE_OPTIONS: `--import=${shifted}`, SHIFTED_CLOCK: clock };
    service = await serve({ data, studies: TRIALS, env });
  });
  afterAll(async () => {
    await service?.kill();
  });

  async function signedIn(key: string, path = '/pages/studies'): Promise<Person> {
    const person = await sitDown();
    await person.page.goto(service.url + path);
    await signIn(person, key);
    return person;
  }
  const leave = async ({ page, complaints }: Person) => {
    expect(complaints).toEqual([]);
    await page.context().close();
  };
  /** Nothing but the form is on the page. */
  const expectSignedOut = async ({ page }: Person, why: string) => {
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByText(why).waitFor();
    expect(await page.locator('body').textContent()).not.toContain('Sleep');
  };

  it('begins and ends by keyboard only', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.goto(`${service.url}/pages/studies`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.insertText(keys.site);
    await page.keyboard.press('Tab');
    await page.keyboard.type('Dr. Example');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Sleep' }).waitFor();
    await page.getByText('site · Dr. Example').waitFor();
    // From the heading, which has the focus, backwards to the button.
    await page.getByRole('heading', { name: 'Studies' }).waitFor();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await expectSignedOut(person, 'You are signed out.');
    expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).toBe(
      '[{},{}]',
    );
    await leave(person);
  });

  it('ends in every tab of the browser, and the back button shows nothing of it', async () => {
    const person = await signedIn(keys.site);
    const other = await person.page.context().newPage();
    await other.goto(`${service.url}/pages/studies`);
    await other.getByRole('link', { name: 'Sleep' }).click();
    await other.getByRole('heading').first().waitFor();
    await person.page.getByRole('button', { name: 'Sign out' }).click();
    await expectSignedOut(person, 'You are signed out.');
    await expectSignedOut({ ...person, page: other }, 'You are signed out.');
    // The address does not name it either.
    await expect.poll(() => other.url()).toBe(`${service.url}/pages/studies`);
    await other.goBack();
    await expectSignedOut({ ...person, page: other }, 'You are signed out.');
    await other.goto(`${service.url}/docs`);
    await other.goBack();
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await other.locator('body').textContent()).not.toContain('Sleep');
    await leave(person);
  });

  it('is of the same person in every tab, also in one opened later and after a reload', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.goto(`${service.url}/pages/studies`);
    await signIn(person, keys.site, 'Dr. Example');
    const other = await page.context().newPage();
    await other.goto(`${service.url}/pages/randomize#study=Ward`);
    await other.getByText('site · Dr. Example').waitFor();
    await other.reload();
    await other.getByLabel('Participant id').fill('tab-2');
    await other.getByText('a', { exact: true }).click();
    await other.getByRole('button', { name: 'Review' }).click();
    await other.getByText('site, on behalf of Dr. Example').waitFor();
    await other.getByRole('button', { name: 'Randomize tab-2 now' }).click();
    await other.getByRole('button', { name: 'Next participant' }).waitFor();
    const [event] = storedLog(data).filter(({ record }) => record.data.participantId === 'tab-2');
    expect(event?.record.actor).toMatchObject({ user: 'site', onBehalfOf: 'Dr. Example' });

    // Somebody else signs in there: the first tab acts as them, and says so.
    await other.getByRole('button', { name: 'Sign out' }).click();
    await signIn({ ...person, page: other }, keys.site, 'Nurse J. Okafor');
    await page.getByText('site · Nurse J. Okafor').waitFor();
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
    await leave(person);
  });

  it('leaves nothing for the next session, begun in another tab', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.goto(`${service.url}/pages/studies`);
    await signIn(person, keys.site, 'Dr. Example');
    const unanswered = requestsUnderWay(page);
    await page.getByRole('link', { name: 'Sleep' }).click();
    await page.getByRole('heading', { name: 'Sleep' }).waitFor();
    const other = await page.context().newPage();
    // The session goes on: an answer that is still on its way would set its cookie again.
    await expect.poll(() => [...unanswered]).toEqual([]);
    await page.context().clearCookies();
    await other.goto(`${service.url}/pages/studies`);
    await signIn({ ...person, page: other }, keys.ward);
    await page.getByText('There is no such study, or your key may not see it.').waitFor();
    expect(await page.getByRole('banner').textContent()).toContain('ward');
    expect(await page.locator('body').textContent()).not.toMatch(/Dr\. Example|enrolled/);
    await leave(person);
  });

  it('says two minutes in advance that it will end, and is extended by a press', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.clock.install();
    await page.goto(`${service.url}/pages/studies`);
    await signIn(person, keys.site);
    await page.getByRole('link', { name: 'Sleep' }).waitFor();
    const warning = page.getByRole('alert').filter({ hasText: 'signed out in less than two minutes' });
    await page.clock.fastForward('27:00');
    expect(await warning.count()).toBe(0);
    await page.clock.fastForward('02:00');
    await warning.waitFor();
    const isAct = page.waitForRequest((request) => request.headers()['urn-automatic'] === undefined);
    await page.getByRole('button', { name: 'Stay signed in' }).click();
    await isAct;
    await page.clock.runFor(10_000);
    await warning.waitFor({ state: 'detached' });
    await leave(person);
  });

  it('ends when the key is revoked', async () => {
    const person = await signedIn(keys.leaver);
    const { page } = person;
    await page.getByRole('link', { name: 'Sleep' }).waitFor();
    const list = JSON.parse(await commandOk(['keys', 'list', '--json', '--data', data]));
    const { keyId } = list.find(({ user }: { user: string }) => user === 'leaver');
    await commandOk(['keys', 'revoke', keyId, '--data', data]);
    // Every request looks the key up, so going back and forth asks again.
    const goTo = (name: string) =>
      page.getByRole('link', { name, exact: true }).first().click({ timeout: 1000 });
    await expect
      .poll(async () => {
        await goTo('Sleep').catch(() => undefined);
        await goTo('Studies').catch(() => undefined);
        return page.getByLabel('API key').isVisible();
      })
      .toBe(true);
    await expectSignedOut(person, 'Your session has ended.');
    await leave(person);
  });

  it('speaks the chosen language, also after a reload', async () => {
    const person = await signedIn(keys.site);
    const { page } = person;
    await page.getByRole('button', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { name: 'Studien' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Studien' }).waitFor();
    expect(await page.evaluate('document.documentElement.lang')).toBe('de');
    await expectAccessible(page);
    await leave(person);
  });

  it.each([
    ['360 px', { width: 360, height: 740 }, 1],
    ['200 % zoom', { width: 640, height: 450 }, 2],
    ['1920 px', { width: 1920, height: 1080 }, 1],
  ])('scrolls no page sideways at %s', async (name, viewport, deviceScaleFactor) => {
    const person = await sitDown({ viewport, deviceScaleFactor });
    const { page } = person;
    await page.goto(`${service.url}/pages/studies`);
    await signIn(person, keys.all);
    for (const path of ['studies', 'study', 'randomize', 'participant', 'manage', 'audit', 'no-such']) {
      await page.goto(`${service.url}/pages/${path}#study=Ordered`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const { inner, scroll } = await page.evaluate<{ inner: number; scroll: number }>(
        '({ inner: window.innerWidth, scroll: document.documentElement.scrollWidth })',
      );
      expect(scroll, `${path} at ${name}`).toBeLessThanOrEqual(inner);
    }
    await leave(person);
  });

  it('is printed without what only a screen needs', async () => {
    const person = await signedIn(keys.all);
    const { page } = person;
    await page.getByRole('link', { name: 'Sleep' }).waitFor();
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.getByRole('banner').isVisible()).toBe(false);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
    await picture(page, 'studies-print');
    await leave(person);
  });

  it('is extended if somebody answers, and ends after half an hour if nobody does', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.clock.install();
    await page.goto(`${service.url}/pages/studies`);
    await signIn(person, keys.site);
    await page.getByRole('link', { name: 'Sleep' }).waitFor();

    await page.clock.fastForward(28.5 * MINUTE);
    await page.getByText('You will be signed out in less than two minutes').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Stay signed in' }).click();
    await page.getByText('You will be signed out').waitFor({ state: 'detached' });

    writeFileSync(clock, String(31 * MINUTE));
    onTestFinished(() => writeFileSync(clock, '0'));
    await page.clock.fastForward(31 * MINUTE);
    await expectSignedOut(person, 'Your session has ended.');
    await picture(page, 'session-ended');
    await leave(person);
  });
});
