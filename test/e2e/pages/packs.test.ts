/** The page of whoever supplies packs: the stock, what became of each pack, and the accountability on paper and as a file. */
import { readFile } from 'node:fs/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  describeInBrowser,
  expectAccessible,
  type Person,
  picture,
  signIn,
  sitDown,
} from '../../support/browser.ts';
import { ask, clientOf } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDY = 'Relief';
const ARMS = ['ZZVERUM', 'ZZPLACEBO'] as const;
const STUDIES = `
${STUDY}:
  mode: test
  blinding: blinded
  treatments: [${ARMS.join(', ')}]
  factors: {site: [Cook, Kane]}
  visits: [V2, V3]
`;
const TELEPHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } as const;
/** Kane has few. */
const PACKS = [
  { site: 'Cook', letter: 'C', count: 60 },
  { site: 'Kane', letter: 'K', count: 2 },
].map(({ site, letter, count }) => ({
  where: { factor: 'site', level: site },
  entries: ARMS.flatMap((treatment, arm) =>
    Array.from({ length: count }, (_, i) => ({ code: `${letter}-${100 + arm + 2 * i}`, treatment })),
  ),
}));

const data = temporaryFolders()();
let service: ServiceHere;
let keys: Record<'edc' | 'desk' | 'pharmacy' | 'auditor' | 'site', string>;
let codes: Record<'held' | 'replaced' | 'by' | 'void', string>;

const address = () => `${service.url}/pages/packs#${new URLSearchParams({ study: STUDY })}`;
async function open(key: string, url = address(), options: BrowserContextOptions = {}): Promise<Person> {
  const person = await sitDown(options);
  await person.page.goto(url);
  await signIn(person, key);
  return person;
}

async function post(path: string, key: string, body: object) {
  const { status, message, results } = await postJson(service.url, path, key, { study: STUDY, ...body });
  expect([status, message]).toEqual([200, 'Success']);
  return results;
}

/** The requests whose answers are recorded as disclosures. */
const readings = async ({ received }: Person) =>
  (await received()).map(({ url }) => new URL(url).pathname).filter((path) => /codes|pack_acc/.test(path));

const rows = (page: Page) => page.getByRole('table').last().locator('tbody tr');
const isNarrow = async (page: Page) => {
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
};

describeInBrowser('whoever supplies packs', () => {
  beforeAll(async () => {
    keys = await issueKeys(data, {
      edc: ['edc', '--scope', 'randomize,blinded'],
      desk: ['Data desk', '--scope', 'blinded,correct'],
      pharmacy: ['Pharmacy', '--scope', 'supply'],
      auditor: ['auditor', '--scope', 'read,audit'],
      site: ['Site', '--scope', 'randomize,blinded'],
    });
    service = await serveHere(data, STUDIES);
    await registerPacks(data, STUDY, PACKS);
    const { randomize } = clientOf(service.url, keys.edc);
    for (const [id, site] of [
      ['c1', 'Cook'],
      ['c2', 'Cook'],
      ['k1', 'Kane'],
    ] as const)
      expect((await randomize(STUDY, id, { site })).status).toBe(200);
    const { code: held } = await post('/dispensations', keys.edc, { id: 'c1', visit: 'V2' });
    const { code: replaced } = await post('/dispensations', keys.edc, { id: 'c1', visit: 'V3' });
    const { by } = await post('/code_replacements', keys.edc, { id: 'c1', code: replaced, cause: 'lost' });
    const { code: taken } = await post('/dispensations', keys.edc, { id: 'c2', visit: 'V2' });
    await post('/dispensation_corrections', keys.desk, {
      ...{ id: 'c2', code: taken, to: null, cause: 'not-handed-out', note: 'the visit was cancelled' },
    });
    codes = { held, replaced, by, void: taken };
  });
  afterAll(async () => {
    await service?.stop();
  });

  it('is told what packs hold, and where they run low, only after asking, because that is recorded', async () => {
    const person = await open(keys.pharmacy, `${service.url}/pages/studies`, { colorScheme: 'dark' });
    const { page, complaints } = person;
    await page.getByRole('link', { name: STUDY }).click();
    await page.getByRole('main').getByRole('link', { name: 'Packs' }).click();
    await page.getByText('Reading it is recorded.').waitFor();
    await picture(page, 'packs-asking');
    await expectAccessible(page);
    expect(await readings(person)).toEqual([]);

    await page.getByRole('button', { name: 'Show the stock' }).click();
    await page.getByRole('heading', { name: 'Stock' }).and(page.locator(':focus')).waitFor();
    const stock = page.getByRole('row').filter({ hasText: 'Site: ' });
    expect(await stock.filter({ hasText: 'Kane' }).filter({ hasText: 'low' }).count()).toBe(2);
    expect(await stock.filter({ hasText: 'Cook' }).filter({ hasText: 'low' }).count()).toBe(0);
    expect(await readings(person)).toEqual(['/codes']);
    const { results } = await ask(service.url, '/operations', { key: keys.auditor });
    expect(JSON.stringify(results)).toContain('"what":"codes"');
    await picture(page, 'packs-stock-dark');
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.getByRole('button', { name: 'Show the packs' }).click();
    await page.getByText('124 of 124 packs').waitFor();
    await page.getByRole('columnheader', { name: 'Holds' }).waitFor();
    await picture(page, 'packs');
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  it('sees what became of each pack, without treatments, and searches and filters, on a telephone', async () => {
    const person = await open(keys.pharmacy, address(), TELEPHONE);
    const { page, complaints } = person;
    await page.getByRole('button', { name: 'Show the packs' }).tap();
    await page.getByText('124 of 124 packs').waitFor();
    // A part of them, until more are wanted.
    expect(await rows(page).count()).toBe(100);
    await page.getByRole('button', { name: 'Show more' }).tap();
    expect(await rows(page).count()).toBe(124);
    await page.getByLabel('State').selectOption('replaced');
    await page.getByText('1 of 124 packs').waitFor();
    expect(await rows(page).allTextContents()).toEqual([
      expect.stringContaining(`${codes.replaced}replaced by ${codes.by}, lost`),
    ]);
    await page.getByLabel('State').selectOption('void');
    expect(await rows(page).allTextContents()).toEqual([
      expect.stringContaining(`${codes.void}void not handed out`),
    ]);
    await page.getByLabel('State').selectOption('held');
    await page.getByText('5 of 124 packs').waitFor();
    await picture(page, 'packs-narrow');
    await isNarrow(page);
    await expectAccessible(page);
    await page.getByLabel('Pack or participant').fill(codes.held);
    await page.getByText('1 of 124 packs').waitFor();
    const [row = ''] = await rows(page).allTextContents();
    expect(row).toMatch(new RegExp(`^${codes.held}heldV2c1`));
    for (const { body } of await person.received()) expect(body).not.toMatch(/ZZ/);
    await page.getByRole('link', { name: 'c1' }).tap();
    await page.getByRole('heading', { name: 'c1', level: 1 }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('withdraws packs by their numbers, and comes back to the packs', async () => {
    const { page, complaints } = await open(keys.pharmacy);
    await page.getByRole('link', { name: 'Withdraw packs that nobody has' }).click();
    const free = PACKS[0]?.entries
      .map(({ code }) => code)
      .filter((code) => !Object.values(codes).includes(code));
    const given = new Set(
      (
        await ask(service.url, '/study_participants', { key: keys.edc, parameters: { study: STUDY } })
      ).results.map((one: Record<string, string>) => one['urn.code']),
    );
    const recalled = (free ?? []).filter((code) => !given.has(code)).slice(0, 2);
    await page.getByLabel('Numbers of the packs').fill(recalled.join('\n'));
    await page.getByLabel('Reason').fill('the cold chain was broken');
    await page.getByRole('button', { name: 'See what will happen' }).click();
    await page.getByRole('button', { name: 'Withdraw the packs' }).click();
    await page.getByRole('link', { name: 'Back to the packs' }).click();
    // What was read before is gone: reading it again is recorded again.
    await page.getByRole('button', { name: 'Show the packs' }).click();
    await page.getByLabel('State').selectOption('withdrawn');
    await page.getByText('2 of 124 packs').waitFor();
    expect((await rows(page).locator('th').allTextContents()).toSorted()).toEqual(recalled.toSorted());
    expect(complaints).toEqual([]);
  });

  it('prints the accountability on its side, with columns to fill in, and saves it as CSV; neither names a treatment', async () => {
    const person = await open(keys.pharmacy);
    const { page, complaints } = person;
    await page.getByRole('button', { name: 'Show the packs' }).click();
    await page.getByText('124 of 124 packs').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^Relief-accountability-\d{4}-\d\d-\d\d\.csv$/);
    const file = await readFile(await download.path(), 'utf8');
    expect(file).not.toMatch(/ZZ/);
    // The first line names the columns.
    expect(parseCsv(file)).toHaveLength(125);

    await page.getByRole('button', { name: 'Print the accountability' }).click();
    await page.getByRole('heading', { name: 'Accountability of packs' }).waitFor();
    const heads = await page.getByRole('columnheader').allTextContents();
    expect(heads.slice(-4)).toEqual(['Received', 'Returned', 'Destroyed', 'Initials']);
    expect(await rows(page).count()).toBe(124);
    const numbers = await rows(page).locator('th').allTextContents();
    expect(numbers).toEqual(numbers.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })));
    expect(await page.getByRole('main').textContent()).not.toMatch(/ZZ/);
    await expectAccessible(page);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('button').filter({ visible: true }).count()).toBe(0);
    await picture(page, 'packs-print');
    const paper = await page.pdf({ preferCSSPageSize: true });
    const pdf = paper.toString('latin1');
    const [, width = '0', height = '0'] = /\/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]/.exec(pdf) ?? [];
    expect(Number(width)).toBeGreaterThan(Number(height));
    // What was read is printed, and not read again. Only the file was.
    expect(await readings(person)).toEqual(['/pack_accountability', '/pack_accountability']);
    expect(complaints).toEqual([]);
  });

  it('speaks German, on a telephone, too', async () => {
    const { page } = await open(keys.pharmacy, address(), TELEPHONE);
    await page.getByRole('button', { name: 'Deutsch' }).tap();
    await page.getByRole('button', { name: 'Bestand zeigen' }).tap();
    await page.getByText('knapp').first().waitFor();
    await page.getByRole('button', { name: 'Packungen zeigen' }).tap();
    await page.getByLabel('Zustand').selectOption('held');
    await picture(page, 'packs-narrow-german');
    await isNarrow(page);
    await page.getByRole('button', { name: 'Verbleib drucken' }).tap();
    await picture(page, 'packs-print-narrow-german');
    await isNarrow(page);
  });

  it('is the only one: a site has no link there, and no page', async () => {
    const { page } = await open(keys.site);
    await page.getByText('Your key may not do this').waitFor();
    expect(await page.getByRole('link', { name: 'Packs' }).count()).toBe(0);
  });
});
