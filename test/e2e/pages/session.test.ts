/** The beginning and the end of a session, as people see them in a real browser. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import {
  describeInBrowser,
  GERMAN_AT_NIGHT,
  openAs,
  type Person,
  signIn,
  sitDown,
} from '../../support/browser.ts';
import { clientOf } from '../../support/client.ts';
import { type InMemory, serveInMemory } from '../../support/service-here.ts';
import { TRIALS } from '../../support/trials.ts';

const MINUTE = 60_000;
const GRANTS = {
  site: ['Site 11', '--scope', 'blinded,randomize'],
  limited: ['Ward a', '--scope', 'blinded', '--study', 'Ward', '--where', 'ward=a'],
  ward: ['ward', '--scope', 'read', '--study', 'Ward'],
  all: ['everybody', '--scope', 'read,randomize,audit,manage,unblind', '--allow-prediction'],
} as const;

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
  let service: InMemory<keyof typeof GRANTS>['service'];
  let keys: InMemory<keyof typeof GRANTS>['keys'];
  let studies: string;

  beforeAll(async () => {
    // The clock of the service, which a test sets.
    vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true });
    ({ service, keys } = await serveInMemory(TRIALS, GRANTS));
    studies = `${service.url}/pages/studies`;
    const { randomize } = clientOf(service.url, keys.site);
    for (const [i, ward] of ['a', 'b'].entries()) await randomize('Ward', `00${i}`, { ward });
  });
  afterAll(async () => {
    await service?.stop();
    vi.useRealTimers();
  });

  /** At the form, where a test signs in. */
  async function atForm(path = '/pages/studies'): Promise<Person> {
    const person = await sitDown();
    await person.page.goto(`${service.url}${path}`);
    return person;
  }
  async function signedIn(key: string, acting: string): Promise<Person> {
    const person = await atForm();
    await signIn(person, key, acting);
    return person;
  }

  it('shows the studies of the key, and whose key it is, and keeps the key nowhere', async () => {
    const person = await atForm('/');
    const { page } = person;
    await person.look('sign-in');
    await person.fill({ 'API key': `urn_${'x'.repeat(43)}` });
    await person.press('Sign in');
    await person.isWarned('API key is not valid');
    await signIn(person, keys.site, 'M. Ökafor');
    await page.getByRole('heading', { name: 'Studies', level: 1 }).waitFor();
    expect(await page.getByRole('banner').innerText()).toMatch(/blinded\s+randomize\s+Site 11 · M\. Ökafor/);
    const card = page.getByRole('listitem').filter({ hasText: 'Ward' });
    expect(await card.innerText()).toMatch(/TEST\s+open\s+2 enrolled/);
    await person.look('studies');

    const cookies = await page.context().cookies();
    expect(cookies.map(({ httpOnly, sameSite, expires }) => ({ httpOnly, sameSite, expires }))).toEqual([
      { httpOnly: true, sameSite: 'Strict', expires: -1 },
    ]);
    expect(await person.kept()).toBe('[{},{}]');
    const everything = [JSON.stringify(cookies), page.url(), await page.content()].join('\n');
    expect(everything).not.toContain(keys.site);
  });

  it('of a limited key shows its study, counting only its own participants, in the chosen language at night', async () => {
    const person = await sitDown(GERMAN_AT_NIGHT);
    const { page } = person;
    await page.goto(studies);
    await person.fill({ 'API-Schlüssel': keys.limited });
    await person.press('Anmelden');
    await page.getByRole('heading', { name: 'Studien', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Ward' }).waitFor();
    expect(await page.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringContaining('1 eingeschlossen an a'),
    ]);
    expect(await page.getByRole('banner').innerText()).toContain('nur a');
    await person.look('studies-narrow-dark');
    await person.press('English');
    await person.seesHeading('Studies');
    await page.reload();
    await person.seesHeading('Studies');
    expect(await page.evaluate('document.documentElement.lang')).toBe('en');
  });

  it('begins and ends by keyboard only', async () => {
    const person = await atForm();
    const { page } = person;
    await person.seesHeading('Sign in');
    await page.keyboard.press('Tab');
    await page.keyboard.insertText(keys.site);
    await page.keyboard.press('Tab');
    await page.keyboard.type('Dr. Example');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Sleep' }).waitFor();
    await person.sees('Site 11 · Dr. Example');
    // From the heading, which has the focus, backwards to the button.
    await person.seesHeading('Studies');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await expectSignedOut(page, 'You are signed out.');
    expect(await person.kept()).toBe('[{},{}]');
  });

  it('is of the same person in every tab, and ends in each; the back button shows nothing of it', async () => {
    const person = await signedIn(keys.site, 'Dr. Example');
    const other = await person.page.context().newPage();
    await other.goto(studies);
    await other.getByText('Site 11 · Dr. Example').waitFor();
    await other.getByRole('link', { name: 'Sleep' }).click();
    await other.getByRole('heading').first().waitFor();
    await person.press('Sign out');
    for (const page of [person.page, other]) await expectSignedOut(page, 'You are signed out.');
    // The address does not name it either.
    await expect.poll(() => other.url()).toBe(studies);
    await other.goBack();
    await expectSignedOut(other, 'You are signed out.');
  });

  it('leaves nothing for the next session, begun in another tab', async () => {
    const person = await signedIn(keys.site, 'Dr. Example');
    const { page } = person;
    const unanswered = requestsUnderWay(page);
    await person.follow('Sleep');
    await person.seesHeading('Sleep');
    const other = await page.context().newPage();
    // The session goes on: an answer that is still on its way would set its cookie again.
    await expect.poll(() => [...unanswered]).toEqual([]);
    await page.context().clearCookies();
    await other.goto(studies);
    await other.getByLabel('API key').fill(keys.ward);
    await other.getByLabel('Who is acting?').fill('Nurse J. Okafor');
    await other.getByRole('button', { name: 'Sign in' }).click();
    await person.sees('There is no such study, or your key may not see it.');
    expect(await page.getByRole('banner').textContent()).toContain('ward · Nurse J. Okafor');
    expect(await page.locator('body').textContent()).not.toMatch(/Dr\. Example|enrolled/);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
  });

  it('prints none of what only a screen needs, and scrolls no page sideways, narrow, wide or enlarged', async () => {
    const person = await openAs(keys.all, studies, { deviceScaleFactor: 2 });
    const { page } = person;
    await page.getByRole('link', { name: 'Sleep' }).waitFor();
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.getByRole('banner').isVisible()).toBe(false);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
    await person.picture('studies-print');
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
    await page.goto(`${service.url}/pages/manage#study=Ordered`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    // The second one is a screen of 1280 pixels at 200 %.
    for (const width of [360, 640, 1920]) {
      await page.setViewportSize({ width, height: 740 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    }
  });

  it('warns two minutes in advance, goes on if somebody answers, and ends after half an hour if nobody does', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.clock.install();
    await page.goto(studies);
    await signIn(person, keys.site);
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
