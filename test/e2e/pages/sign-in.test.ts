import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeInBrowser, expectAccessible, picture, signIn, sitDown } from '../../support/browser.ts';
import { clientOf } from '../../support/client.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TRIALS } from '../../support/trials.ts';

/** What a page may load before anybody signs in, compressed. */
const FIRST_LOAD_BYTES = 200_000;

describeInBrowser('signing in', () => {
  const data = temporaryFolders()();
  let service: ServiceHere;
  let keys: Record<'site' | 'limited', string>;

  beforeAll(async () => {
    keys = await issueKeys(data, {
      site: ['Site 11', '--scope', 'blinded,randomize'],
      limited: ['Ward a', '--scope', 'blinded', '--study', 'Ward', '--where', 'ward=a'],
    });
    service = await serveHere(data, TRIALS);
    const { randomize } = clientOf(service.url, keys.site);
    await randomize('Ward', '001', { ward: 'a' });
    await randomize('Ward', '002', { ward: 'b' });
  });
  afterAll(async () => {
    await service.stop();
  });

  it('shows the studies of the key, and whose key it is', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.goto(`${service.url}/`);
    await expectAccessible(page);
    await picture(page, 'sign-in');
    await signIn(person, keys.site, 'M. Ökafor');
    await page.getByRole('heading', { name: 'Studies', level: 1 }).waitFor();
    expect(await page.getByRole('banner').innerText()).toMatch(/blinded\s+randomize\s+Site 11 · M\. Ökafor/);
    const card = page.getByRole('listitem').filter({ hasText: 'Ward' });
    expect(await card.innerText()).toMatch(/TEST\s+open\s+2 enrolled/);
    await expectAccessible(page);
    await picture(page, 'studies');
    expect(person.complaints).toEqual([]);
  });

  it('does not keep the key anywhere in the browser', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.goto(`${service.url}/`);
    await signIn(person, keys.site, 'M. Ökafor');
    const kept = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
    const cookies = await page.context().cookies();
    expect(cookies.map(({ httpOnly, sameSite, expires }) => ({ httpOnly, sameSite, expires }))).toEqual([
      { httpOnly: true, sameSite: 'Strict', expires: -1 },
    ]);
    const everything = [kept, JSON.stringify(cookies), page.url(), await page.content()].join('\n');
    expect(kept).toBe('[{},{}]');
    expect(everything).not.toContain(keys.site);
  });

  it('says that a key is not valid, and asks again', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.goto(`${service.url}/pages/studies`);
    await page.getByLabel('API key').fill(`urn_${'x'.repeat(43)}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.getByRole('alert').innerText()).toContain('API key is not valid');
    await signIn(person, keys.site);
  });

  it('shows a limited key its study, counting only its own participants, on a telephone at night', async () => {
    const person = await sitDown({
      viewport: { width: 360, height: 740 },
      colorScheme: 'dark',
      locale: 'de-DE',
    });
    const { page } = person;
    await page.goto(`${service.url}/`);
    await page.getByLabel('API-Schlüssel').fill(keys.limited);
    await page.getByRole('button', { name: 'Anmelden' }).click();
    await page.getByRole('heading', { name: 'Studien', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Ward' }).waitFor();
    expect(await page.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringContaining('1 eingeschlossen an a'),
    ]);
    expect(await page.getByRole('banner').innerText()).toContain('nur a');
    const isTooWide = await page.evaluate<boolean>(
      'document.documentElement.scrollWidth > window.innerWidth',
    );
    expect(isTooWide).toBe(false);
    await expectAccessible(page);
    await picture(page, 'studies-narrow-dark');
    expect(person.complaints).toEqual([]);
  });

  it('loads little before anybody signs in', async () => {
    const { page } = await sitDown();
    const sizes: Promise<number>[] = [];
    page.on('requestfinished', (request) => {
      if (request.resourceType() === 'script')
        sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    await page.goto(`${service.url}/`, { waitUntil: 'networkidle' });
    await page.getByLabel('API key').waitFor();
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(FIRST_LOAD_BYTES);
  });
});
