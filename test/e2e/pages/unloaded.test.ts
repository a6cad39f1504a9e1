/** Pages whose files are out of reach, because there is no connection, or gone, because the service was upgraded. */
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  describeInBrowser,
  expectAccessible,
  type Person,
  picture,
  signIn,
  sitDown,
} from '../../support/browser.ts';
import { clientOf } from '../../support/client.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const LINKS = ['Studies', 'Study', 'Participant', 'Randomize', 'Manage', 'Audit'];
const NOT_LOADED = 'This page could not be loaded';

describeInBrowser('pages that cannot be loaded', () => {
  let service: ServiceHere;
  let key: string;

  beforeAll(async () => {
    const scopes = 'read,randomize,audit,manage,unblind';
    ({ key } = await issueKeys(data, { key: ['everybody', '--scope', scopes, '--allow-prediction'] }));
    service = await serveHere(data, TRIALS);
    const { status } = await clientOf(service.url, key).randomize('Ward', '001', { ward: 'a' });
    expect(status).toBe(200);
  });
  afterAll(async () => {
    await service?.stop();
  });

  /** In the list of studies, when the pages that nobody can wait for have been fetched. */
  async function atStudies(options = {}): Promise<Person> {
    const person = await sitDown(options);
    const { page } = person;
    await page.goto(`${service.url}/pages/studies`);
    const ahead = ['study', 'participant', 'randomize'].map((name) =>
      page.waitForResponse((response) => new RegExp(`/assets/${name}-[^/]*\\.js$`).test(response.url())),
    );
    await signIn(person, key);
    await Promise.all(ahead);
    await page.waitForLoadState('networkidle');
    return person;
  }
  /** The service was upgraded: the file has another name now. */
  const withoutFile = (page: Page, name: string) =>
    page.route(`**/assets/${name}-*.js`, (route) => route.fulfill({ status: 404, body: 'no such file' }));
  const navigation = (page: Page) => page.getByRole('navigation', { name: 'Pages', exact: true });
  const go = (page: Page, name: string) => navigation(page).getByRole('link', { name, exact: true }).click();
  /** Resolves when the page knows that the service is there, and could be loaded again. */
  const serviceAsked = (page: Page) =>
    page.waitForResponse((response) => response.request().method() === 'HEAD');
  /** How often the document was loaded from now on. */
  const loadsOf = (page: Page) => {
    const loads: string[] = [];
    page.on('request', (request) => request.isNavigationRequest() && loads.push(request.url()));
    return loads;
  };

  it('keeps the navigation without a connection, whatever link is followed, and repairs itself with one', async () => {
    const person = await atStudies();
    const { page, complaints } = person;
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Ward' }).click();
    const titles = {
      ...{ Study: 'Ward', Participant: 'Find a participant', Randomize: 'Randomize a participant' },
      ...{ Manage: NOT_LOADED, Audit: NOT_LOADED },
    };
    for (const [link, heading] of [...Object.entries(titles), ...Object.entries(titles)]) {
      await go(page, link);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      expect(await navigation(page).getByRole('link').allTextContents()).toEqual(LINKS);
    }
    await page.getByRole('link', { name: 'Check a receipt' }).click();
    await page.getByRole('heading', { name: NOT_LOADED }).waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Studies' }).click();
    await page.getByRole('link', { name: 'Ward' }).click();

    await go(page, 'Audit');
    await page.getByRole('heading', { name: NOT_LOADED }).waitFor();
    await page.getByText('An emergency cannot wait').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('The service still does not answer.').waitFor();
    expect(page.url()).toContain('/pages/audit#study=Ward');
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: 'Audit of Ward' }).waitFor();
    await go(page, 'Manage');
    await page.getByRole('heading', { name: 'Manage Ward' }).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('is read in German, and on a telephone at night', async () => {
    const person = await sitDown({
      viewport: { width: 360, height: 740 },
      colorScheme: 'dark',
      locale: 'de-DE',
    });
    const { page } = person;
    await page.goto(`${service.url}/pages/study#study=Ward`);
    await page.getByLabel('API-Schlüssel').fill(key);
    await page.getByRole('button', { name: 'Anmelden' }).click();
    await page.getByRole('link', { name: 'Prüfen', exact: true }).waitFor();
    await page.route('**/*', (route) => route.abort());
    await page.getByRole('link', { name: 'Prüfen', exact: true }).click();
    await page.getByRole('heading', { name: 'Diese Seite konnte nicht geladen werden' }).waitFor();
    await page.getByRole('button', { name: 'Noch einmal versuchen' }).click();
    await page.getByText('Der Dienst antwortet noch nicht.').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await expectAccessible(page);
    await picture(page, 'not-loaded-narrow-dark');
    await page.unroute('**/*');
    await page.getByRole('button', { name: 'Noch einmal versuchen' }).click();
    await page.getByRole('heading', { name: 'Ward' }).waitFor();
    await page.context().close();
  });

  it('is loaded again by itself after an upgrade, at the same address', async () => {
    const { page } = await atStudies();
    await page.getByRole('link', { name: 'Ward' }).click();
    await withoutFile(page, 'manage');
    const loads = loadsOf(page);
    page.on('request', (request) => {
      if (request.isNavigationRequest()) void page.unroute('**/assets/manage-*.js');
    });
    await go(page, 'Manage');
    await page.getByRole('heading', { name: 'Manage Ward' }).waitFor();
    expect(loads).toEqual([`${service.url}/pages/manage`]);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
    await page.context().close();
  });

  it('is loaded again only once if that does not help, and whenever somebody asks for it', async () => {
    const { page } = await atStudies();
    await page.getByRole('link', { name: 'Ward' }).click();
    await withoutFile(page, 'audit');
    const loads = loadsOf(page);
    await go(page, 'Audit');
    await expect.poll(() => loads.length).toBe(1);
    await page.getByRole('heading', { name: NOT_LOADED }).waitFor();
    await page.waitForLoadState('networkidle');
    await go(page, 'Study');
    await page.getByRole('heading', { name: 'Ward' }).waitFor();
    await go(page, 'Audit');
    await page.getByRole('heading', { name: NOT_LOADED }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(loads.length).toBe(1);
    await expectAccessible(page);
    await picture(page, 'not-loaded');
    await page.unroute('**/assets/audit-*.js');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Audit of Ward' }).waitFor();
    expect(loads.length).toBe(2);
    await page.context().close();
  });

  it('is not loaded again by itself while a randomization is unanswered', async () => {
    const { page } = await atStudies();
    await page.getByRole('link', { name: 'Ward' }).click();
    await withoutFile(page, 'manage');
    await go(page, 'Randomize');
    await page.getByLabel('Participant id').fill('002');
    await page.getByText('a', { exact: true }).click();
    await page.getByRole('button', { name: 'Review' }).click();
    const button = page.getByRole('button', { name: 'Randomize 002 now' });
    await button.waitFor();
    await page.route('**/study_participants**', () => undefined);
    const loads = loadsOf(page);
    await button.click();
    await page.getByText('Randomizing 002').waitFor();
    const asked = serviceAsked(page);
    await go(page, 'Manage');
    await page.getByText('A randomization that you sent has not been answered yet.').waitFor();
    await asked;
    expect(loads).toEqual([]);
    await expectAccessible(page);
    await picture(page, 'not-loaded-unanswered');
    await page.unroute('**/study_participants**');
    await page.getByRole('link', { name: 'Back to the randomization' }).click();
    await page.getByRole('button', { name: 'Next participant' }).waitFor();
    expect(loads).toEqual([]);
    await page.context().close();
  });

  it('is not loaded again by itself while another act is unanswered', async () => {
    const { page } = await atStudies();
    await page.goto(`${service.url}/pages/manage#study=Patterned&act=pause`);
    await page.getByLabel('Reason').fill('DSMB meeting');
    await page.getByRole('button', { name: 'See what will happen' }).click();
    const button = page.getByRole('button', { name: 'Pause the study' });
    await button.waitFor();
    await withoutFile(page, 'audit');
    const held: Route[] = [];
    await page.route('**/study_state', (route) => void held.push(route));
    const loads = loadsOf(page);
    await button.click();
    const asked = serviceAsked(page);
    await go(page, 'Audit');
    await page.getByText('Something that you sent has not been answered yet.').waitFor();
    await asked;
    expect(loads).toEqual([]);
    await Promise.all(held.map((route) => route.continue()));
    await go(page, 'Studies');
    await page.getByText('paused', { exact: true }).waitFor();
    expect(loads).toEqual([]);
    await page.context().close();
  });

  it('a part that is missing leaves the rest of the page, and an emergency, as they are', async () => {
    const { page } = await atStudies();
    await withoutFile(page, 'why');
    await withoutFile(page, 'figures');
    await page.getByRole('link', { name: 'Ward' }).click();
    await page.getByText('A part of this page could not be loaded').waitFor();
    await picture(page, 'part-not-loaded');
    await page.getByRole('link', { name: '001' }).click();
    await page.getByText('A part of this page could not be loaded').waitFor();
    await page.getByRole('button', { name: /Emergency/ }).click();
    await page.getByRole('button', { name: 'Show the treatment now' }).waitFor();
    await page.context().close();
  });
});
