/** The page of whoever supplies packs: the stock, what became of each pack, and the accountability on paper and as a file. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeInBrowser, openAs, type Person, TELEPHONE } from '../../support/browser.ts';
import { ask, clientOf } from '../../support/client.ts';
import { parseCsv } from '../../support/csv.ts';
import { registerPacksIn } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { type InMemory, serveInMemory } from '../../support/service-here.ts';

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
const GRANTS = {
  edc: ['edc', '--scope', 'randomize,blinded'],
  desk: ['Data desk', '--scope', 'blinded,correct'],
  pharmacy: ['Pharmacy', '--scope', 'supply'],
  auditor: ['auditor', '--scope', 'read,audit'],
} as const;

let service: InMemory<keyof typeof GRANTS>['service'];
let keys: InMemory<keyof typeof GRANTS>['keys'];
let codes: Record<'held' | 'replaced' | 'by' | 'void', string>;

const address = () => `${service.url}/pages/packs#${new URLSearchParams({ study: STUDY })}`;

async function post(path: string, key: string, body: object) {
  const { status, message, results } = await postJson(service.url, path, key, { study: STUDY, ...body });
  expect([status, message]).toEqual([200, 'Success']);
  return results;
}

/** The requests whose answers are recorded as disclosures. */
const readings = async (person: Person) =>
  (await person.received())
    .map(({ url }) => new URL(url).pathname)
    .filter((path) => /codes|pack_acc/.test(path));

const rows = ({ page }: Person) => page.getByRole('table').last().locator('tbody tr');
const numbersShown = (person: Person) => rows(person).locator('th').allTextContents();

describeInBrowser('whoever supplies packs', () => {
  beforeAll(async () => {
    ({ service, keys } = await serveInMemory(STUDIES, GRANTS));
    await registerPacksIn(service.log, STUDY, PACKS);
    const { randomize } = clientOf(service.url, keys.edc);
    for (const [id, site] of Object.entries({ c1: 'Cook', c2: 'Cook', k1: 'Kane' }))
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
  afterAll(() => service?.stop());

  it('is told what packs hold, and where they run low, only after asking, because that is recorded', async () => {
    const pharmacy = await openAs(keys.pharmacy, `${service.url}/pages/studies`);
    const { page } = pharmacy;
    await pharmacy.follow(STUDY);
    await page.getByRole('main').getByRole('link', { name: 'Packs' }).click();
    await pharmacy.sees('Reading it is recorded.');
    await pharmacy.look('packs-asking');
    expect(await readings(pharmacy)).toEqual([]);

    await pharmacy.press('Show the stock');
    await page.getByRole('heading', { name: 'Stock' }).and(page.locator(':focus')).waitFor();
    const low = page.getByRole('row').filter({ hasText: 'Site: ' }).filter({ hasText: 'low' });
    expect(await low.filter({ hasText: 'Kane' }).count()).toBe(2);
    expect(await low.filter({ hasText: 'Cook' }).count()).toBe(0);
    expect(await readings(pharmacy)).toEqual(['/codes']);
    const { results } = await ask(service.url, '/operations', { key: keys.auditor });
    expect(JSON.stringify(results)).toContain('"what":"codes"');
    await page.emulateMedia({ colorScheme: 'dark' });
    await pharmacy.look('packs-stock-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await pharmacy.press('Show the packs');
    await pharmacy.sees('124 of 124 packs');
    await page.getByRole('columnheader', { name: 'Holds' }).waitFor();
    await pharmacy.look('packs');
  });

  it('sees what became of each pack, without treatments, and searches and filters, on a telephone', async () => {
    const pharmacy = await openAs(keys.pharmacy, address(), TELEPHONE);
    const { page } = pharmacy;
    await pharmacy.press('Show the packs');
    await pharmacy.sees('124 of 124 packs');
    // A part of them, until more are wanted.
    expect(await rows(pharmacy).count()).toBe(100);
    await pharmacy.press('Show more');
    expect(await rows(pharmacy).count()).toBe(124);
    for (const [state, row] of Object.entries({
      replaced: `${codes.replaced}replaced by ${codes.by}, lost`,
      void: `${codes.void}void not handed out`,
    })) {
      await pharmacy.select({ State: state });
      await pharmacy.sees('1 of 124 packs');
      await expect.poll(() => rows(pharmacy).allTextContents()).toEqual([expect.stringContaining(row)]);
    }
    await pharmacy.select({ State: 'held' });
    await pharmacy.sees('5 of 124 packs');
    await pharmacy.look('packs-narrow');
    await pharmacy.fill({ 'Pack or participant': codes.held });
    await pharmacy.sees('1 of 124 packs');
    const [row = ''] = await rows(pharmacy).allTextContents();
    expect(row).toMatch(new RegExp(`^${codes.held}heldV2c1`));
    for (const { body } of await pharmacy.received()) expect(body).not.toMatch(/ZZ/);
    await pharmacy.follow('c1');
    await page.getByRole('heading', { name: 'c1', level: 1 }).waitFor();
  });

  it('withdraws packs by their numbers, and comes back to the packs', async () => {
    const pharmacy = await openAs(keys.pharmacy, address());
    await pharmacy.follow('Withdraw packs that nobody has');
    const parameters = { study: STUDY };
    const { results } = await ask(service.url, '/study_participants', { key: keys.edc, parameters });
    const taken = new Set([
      ...Object.values(codes),
      ...results.map((one: Record<string, string>) => one['urn.code']),
    ]);
    const free = PACKS[0]?.entries.map(({ code }) => code).filter((code) => !taken.has(code)) ?? [];
    const recalled = free.slice(0, 2);
    await pharmacy.fill({ 'Numbers of the packs': recalled.join('\n'), Reason: 'the cold chain was broken' });
    await pharmacy.press('See what will happen', 'Withdraw the packs');
    await pharmacy.follow('Back to the packs');
    // What was read before is gone: reading it again is recorded again.
    await pharmacy.press('Show the packs');
    await pharmacy.select({ State: 'withdrawn' });
    await pharmacy.sees('2 of 124 packs');
    expect((await numbersShown(pharmacy)).toSorted()).toEqual(recalled.toSorted());
  });

  it('prints the accountability on its side, with columns to fill in, and saves it as CSV; neither names a treatment', async () => {
    const pharmacy = await openAs(keys.pharmacy, address());
    const { page } = pharmacy;
    await pharmacy.press('Show the packs');
    await pharmacy.sees('124 of 124 packs');
    const { name, bytes } = await pharmacy.save('Save as CSV');
    expect(name).toMatch(/^Relief-accountability-\d{4}-\d\d-\d\d\.csv$/);
    expect(bytes.toString()).not.toMatch(/ZZ/);
    // The first line names the columns.
    expect(parseCsv(bytes.toString())).toHaveLength(125);

    await pharmacy.press('Print the accountability');
    await pharmacy.seesHeading('Accountability of packs');
    const heads = await page.getByRole('columnheader').allTextContents();
    expect(heads.slice(-4)).toEqual(['Received', 'Returned', 'Destroyed', 'Initials']);
    expect(await rows(pharmacy).count()).toBe(124);
    const numbers = await numbersShown(pharmacy);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })));
    expect(await page.getByRole('main').textContent()).not.toMatch(/ZZ/);
    await pharmacy.look('packs-accountability');
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('button').filter({ visible: true }).count()).toBe(0);
    await pharmacy.picture('packs-print');
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
    const [, width = '0', height = '0'] = /\/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]/.exec(pdf) ?? [];
    expect(Number(width)).toBeGreaterThan(Number(height));
    // What was read is printed, and not read again. Only the file was.
    expect(await readings(pharmacy)).toEqual(['/pack_accountability', '/pack_accountability']);
  });

  it('speaks German, on a telephone, too', async () => {
    const pharmacy = await openAs(keys.pharmacy, address(), TELEPHONE);
    await pharmacy.press('Deutsch', 'Bestand zeigen');
    await pharmacy.page.getByText('knapp').first().waitFor();
    await pharmacy.press('Packungen zeigen');
    await pharmacy.select({ Zustand: 'held' });
    await pharmacy.fits('packs-narrow-german');
    await pharmacy.press('Verbleib drucken');
    await pharmacy.fits('packs-print-narrow-german');
  });

  it('is the only one: a site has no link there, and no page', async () => {
    const site = await openAs(keys.edc, address());
    await site.sees('Your key may not do this');
    expect(await site.countOf('link', 'Packs')).toBe(0);
  });
});
