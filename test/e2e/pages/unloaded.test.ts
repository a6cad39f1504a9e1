/** Pages whose files are out of reach, because there is no connection, or gone, because the service was upgraded. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { describeInBrowser, openAs, type Person } from '../../support/browser.ts';
import { served } from '../../support/served.ts';
import { TRIALS } from '../../support/trials.ts';

const LINKS = ['Studies', 'Study', 'Participant', 'Randomize', 'Manage', 'Audit'];
const NOT_LOADED = 'This page could not be loaded';
/** In the browser: how many of the pages that nobody can wait for have arrived. */
const AHEAD = `performance.getEntriesByType('resource')
  .filter(({ name }) => /\\/assets\\/(study|participant|randomize)-[^/]{8}\\.js$/.test(name)).length`;

describeInBrowser('pages that cannot be loaded', () => {
  const http = served(TRIALS, {
    everybody: ['everybody', '--scope', 'read,randomize,audit,manage,unblind', '--allow-prediction'],
  });
  beforeAll(async () => {
    expect((await http.as('everybody').randomize('Ward', '001', { ward: 'a' })).status).toBe(200);
  });

  /** In the list of studies, on a page that has loaded nothing but the pages that nobody can wait for. */
  async function atStudies(): Promise<Person> {
    const person = await openAs(http.keys.everybody, `${http.url}/pages/studies`);
    await expect.poll(() => person.page.evaluate<number>(AHEAD)).toBe(3);
    await person.page.waitForLoadState('networkidle');
    return person;
  }
  /** The service was upgraded: the file has another name now. */
  const withoutFile = (page: Page, name: string) =>
    page.route(`**/assets/${name}-*.js`, (route) => route.fulfill({ status: 404, body: 'no such file' }));
  const navigation = (page: Page) => page.getByRole('navigation', { name: 'Pages', exact: true });
  const go = (page: Page, name: string) => navigation(page).getByRole('link', { name, exact: true }).click();
  /** How often the document was loaded from now on. */
  const loadsOf = (page: Page) => {
    const loads: string[] = [];
    page.on('request', (request) => request.isNavigationRequest() && loads.push(request.url()));
    return loads;
  };

  it('keeps the navigation without a connection, whatever link is followed, and repairs itself with one', async () => {
    const person = await atStudies();
    const { page } = person;
    await page.context().setOffline(true);
    await person.follow('Ward');
    const titles = {
      ...{ Study: 'Ward', Participant: 'Find a participant', Randomize: 'Randomize a participant' },
      ...{ Manage: NOT_LOADED, Audit: NOT_LOADED },
    };
    for (const [link, name] of [...Object.entries(titles), ['Study', 'Ward'] as const]) {
      await go(page, link);
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect(await navigation(page).getByRole('link').allTextContents()).toEqual(LINKS);
    }
    await go(page, 'Audit');
    await person.seesHeading(NOT_LOADED);
    await person.sees('An emergency cannot wait');
    await person.press('Try again');
    await person.sees('The service still does not answer.');
    await person.look('not-loaded');
    expect(page.url()).toContain('/pages/audit#study=Ward');
    await page.context().setOffline(false);
    await person.seesHeading('Audit of Ward');
    await go(page, 'Manage');
    await person.seesHeading('Manage Ward');
  });

  it('is loaded again by itself after an upgrade, but only once, and whenever somebody asks for it', async () => {
    const person = await atStudies();
    const { page } = person;
    await person.follow('Ward');
    await withoutFile(page, 'audit');
    const loads = loadsOf(page);
    await go(page, 'Audit');
    await expect.poll(() => loads).toEqual([`${http.url}/pages/audit`]);
    await person.seesHeading(NOT_LOADED);
    await page.waitForLoadState('networkidle');
    await go(page, 'Study');
    await person.seesHeading('Ward');
    await go(page, 'Audit');
    await person.seesHeading(NOT_LOADED);
    await page.waitForLoadState('networkidle');
    expect(loads.length).toBe(1);
    await page.unroute('**/assets/audit-*.js');
    await person.press('Try again');
    await person.seesHeading('Audit of Ward');
    expect(loads.length).toBe(2);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
  });

  it.each([
    ['a randomization', 'study_participants', 'A randomization that you sent has not been answered yet.'],
    ['another act', 'study_state', 'Something that you sent has not been answered yet.'],
  ])('is not loaded again by itself while %s is unanswered', async (act, path, said) => {
    const person = await atStudies();
    const { page } = person;
    if (act === 'another act') {
      await person.follow('Patterned');
      await go(page, 'Manage');
      await person.follow('Pause the study');
      await person.fill({ Reason: 'DSMB meeting' });
      await person.press('See what will happen');
    } else {
      await person.follow('Ward');
      await go(page, 'Randomize');
      await person.fill({ 'Participant id': '002' });
      await page.getByText('a', { exact: true }).click();
      await person.press('Review');
    }
    const button = page.getByRole('button', { name: /^(Randomize 002 now|Pause the study)$/ });
    await button.waitFor();
    await withoutFile(page, 'audit');
    await page.route(`**/${path}**`, () => undefined);
    const loads = loadsOf(page);
    await button.click();
    const asked = page.waitForResponse((response) => response.request().method() === 'HEAD');
    await go(page, 'Audit');
    await person.sees(said);
    await asked;
    expect(loads).toEqual([]);
  });

  it('a part that is missing leaves the rest of the page, and an emergency, as they are', async () => {
    const person = await atStudies();
    await withoutFile(person.page, 'why');
    await withoutFile(person.page, 'figures');
    await person.follow('Ward');
    await person.sees('A part of this page could not be loaded');
    await person.picture('part-not-loaded');
    await person.follow('001');
    await person.sees('A part of this page could not be loaded');
    await person.press(/Emergency/);
    await person.page.getByRole('button', { name: 'Show the treatment now' }).waitFor();
  });
});
