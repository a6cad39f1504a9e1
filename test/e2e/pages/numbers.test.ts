/** How many are enrolled: the same number on every page, from one answer of the service, and never more than a key may know. */
import { beforeAll, expect, it } from 'vitest';
import { describeInBrowser, GERMAN_AT_NIGHT, openAs } from '../../support/browser.ts';
import { served } from '../../support/served.ts';

const STUDY = 'ABC-2';
const STUDIES = `
${STUDY}:
  mode: test
  target_enrollment: 9
  limits: {total: 10, levels: {site: {"11-Cook": 5}}}
  policies: {stop_at_limit: true}
  treatments: [Left, Right]
  factors: {site: ["11-Cook", "30-Dupage"], sex: [Female, Male]}
`;
/** At 11-Cook four are listed, one of them twice; at 30-Dupage three, of whom one never came and one is not eligible. */
const SITES = { '11-Cook': ['01', '02', '03', '04'], '30-Dupage': ['05', '06', '07'] };
const VOIDS = [
  { id: '04', cause: 'duplicate', duplicate_of: '01' },
  { id: '06', cause: 'never-enrolled' },
  { id: '07', cause: 'ineligible' },
];
const AT_COOK = ['--where', 'site=11-Cook', '--study', STUDY];
const AT_DUPAGE = ['--where', 'site=30-Dupage', '--study', STUDY];

describeInBrowser('the numbers on the pages', () => {
  const http = served(STUDIES, {
    edc: ['edc', '--scope', 'randomize'],
    manager: ['Data management', '--scope', 'read,correct,manage,force'],
    cook: ['Site 11', '--scope', 'blinded,randomize', ...AT_COOK],
    dupage: ['Site 30', '--scope', 'blinded', ...AT_DUPAGE],
  });
  beforeAll(async () => {
    const { randomize } = http.as('edc');
    for (const [site, ids] of Object.entries(SITES))
      for (const id of ids) expect((await randomize(STUDY, id, { site, sex: 'Male' })).status).toBe(200);
    const post = (path: string, body: object) => http.done('manager', path, { study: STUDY, ...body });
    for (const one of VOIDS) await post('/voids', { analysis: 'exclude', note: 'seen at a visit', ...one });
    // A wrong entry, and the one that replaced it.
    const entry = {
      ...{ id: '08', levels: { site: '30-Dupage', sex: 'Female' }, cause: 'outage', note: 'envelope 1' },
      ...{ occurred_at: new Date().toISOString(), treatment: 'Left' },
    };
    const { headers } = await post('/forced_allocations', entry);
    await post('/voids', { id: '08', cause: 'entry', analysis: 'exclude', note: 'wrong arm' });
    await post('/forced_allocations', { ...entry, replaces: Number(headers.get('urn-revision')) });
  });

  const at = (name: keyof typeof http.keys, path: string, options = {}) =>
    openAs(http.keys[name], `${http.url}/pages/${path}`, options);

  it('are those of a site for its key, and measured against its own limit, if it has one', async () => {
    const cook = await at('cook', 'studies');
    const card = cook.page.getByRole('listitem').filter({ hasText: STUDY });
    await card.getByText('3 of at most 5 enrolled at 11-Cook').waitFor();
    const bar = card.getByRole('progressbar');
    expect([await bar.getAttribute('value'), await bar.getAttribute('max')]).toEqual(['3', '5']);
    await cook.follow(STUDY);
    await cook.sees('enrolled at 11-Cook4 in the list, 1 of them void');
    const chart = /^3 of at most 5 enrolled at 11-Cook, the first/;
    await cook.page.getByRole('img', { name: chart }).waitFor();
  });

  it('are without a bar where a site has no limit of its own, and in the language of the browser', async () => {
    const other = await at('dupage', 'studies', GERMAN_AT_NIGHT);
    await other.sees('3 eingeschlossen an 30-Dupage');
    expect(await other.page.getByRole('progressbar').count()).toBe(0);
  });

  it('are the same in the list of studies, on the page of a study and where it is managed', async () => {
    const manager = await at('manager', 'studies');
    const { page } = manager;
    await page.getByText('6 of 9 enrolled', { exact: true }).waitFor();
    await manager.fits('numbers-studies');
    await manager.follow(STUDY);
    const glance = page.getByRole('region', { name: 'At a glance' });
    await glance.getByText('8 in the list, 3 of them void').waitFor();
    expect(await glance.innerText()).toMatch(/^6 of 9\s+enrolled/);
    await page.getByRole('img', { name: /^6 of 9 enrolled, the first/ }).waitFor();
    await manager.sees('1–8 of 8');
    await page.getByText('Everybody in the list, also those who are void.').first().waitFor();
    await manager.fits('numbers-study');
    await page.getByRole('link', { name: 'Manage', exact: true }).click();
    await manager.sees('6 / 10', '6 / 9');
    const rowOf = (level: string) =>
      page.getByRole('row', { name: level }).getByRole('cell').allTextContents();
    await expect.poll(() => rowOf('11-Cook')).toEqual(['Site', '11-Cook', 'open', '3', '5']);
    expect(await rowOf('30-Dupage')).toEqual(['', '30-Dupage', 'open', '3', '']);
    await manager.sees('8 in the list, 3 of them void.');
  });
});
