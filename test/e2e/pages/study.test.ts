/** The page of a study, as seen by those who may read arms, those who may not, and those limited to a site. */
import { expect, it, vi } from 'vitest';
import { describeInBrowser, openAs, type Person, signIn, sitDown } from '../../support/browser.ts';
import { parseCsv } from '../../support/csv.ts';
import { served } from '../../support/served.ts';

const STUDY = 'CHS JCOIN';
const ARMS = ['ZZTREATA', 'ZZTREATB', 'ZZTREATC'];
const SITES = ['11-Cook', '30-Dupage', '40-Grundy', '70-Will'];
/** Studies that have three participants, until a test randomizes others. */
const GROWING = ['Followed', 'Polled'];
const studyText = (name: string) => `
"${name}":
  mode: live
  treatments: [${ARMS.join(', ')}]
  target_enrollment: 200
  protocol: {version: "3.0"}
  factors:
    site: [${SITES.map((site) => `"${site}"`).join(', ')}]
    sex: [Male, Female]
`;
const STUDIES = `${[STUDY, ...GROWING].map(studyText).join('')}
Later:
  mode: test
  treatments: [Left, Right]
  factors: {ward: [a, b]}
`;
const GRANTS = {
  reader: ['Trial statistics', '--scope', 'read'],
  auditor: ['Auditor', '--scope', 'audit'],
  manager: ['data-manager', '--scope', 'read,correct,unblind,manage'],
  blinded: ['Monitor', '--scope', 'blinded'],
  site: ['=Sites', '--scope', 'blinded,randomize'],
  pharmacy: ['Pharmacy', '--scope', 'supply'],
} as const;
const PARTICIPANTS = 60;
const DAY_MS = 86_400_000;

const post = (path: string, body: object) => http.done('manager', path, { study: STUDY, ...body });

async function randomize(id: string, place: number, study = STUDY): Promise<void> {
  const levels = { site: SITES[place % 4] ?? '', sex: place % 3 === 0 ? 'Male' : 'Female' };
  const { status, message } = await http.as('site').randomize(study, id, levels);
  expect(status, message).toBe(200);
}

async function filled(): Promise<void> {
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'] });
  for (let i = 0; i < PARTICIPANTS; i++) {
    vi.setSystemTime(now - (PARTICIPANTS - i) * (1.2 - i / 400) * DAY_MS);
    await randomize(`${String(i + 1).padStart(4, '0')}`, i * i + (i % 5));
  }
  vi.useRealTimers();
  for (const study of GROWING) for (const i of [1, 2, 3]) await randomize(`000${i}`, i, study);
  const changes = [{ factor: 'sex', from: 'Female', to: 'Male' }];
  await post('/level_corrections', { id: '0056', changes, cause: 'entry', note: 'typo' });
  await post('/code_breaks', { id: '0057', category: 'emergency', reason: 'anaphylaxis' });
  // The same participant, and another one: a report is no code-break.
  for (const id of ['0057', '0058'])
    await post('/unblindings', {
      id,
      how: 'envelope',
      occurred_at: new Date().toISOString(),
      reason: 'torn',
    });
  const duplicate = { cause: 'duplicate', duplicate_of: '0001', analysis: 'exclude', note: 'twice' };
  await post('/voids', { id: '0054', ...duplicate });
}
const http = served(STUDIES, GRANTS, { filled });

const address = (study: string) => `${http.url}/pages/study#${new URLSearchParams({ study })}`;

async function atStudy(key: string, study = STUDY): Promise<Person> {
  const person = await openAs(key, address(study));
  await person.page.getByRole('heading', { level: 1, name: study }).waitFor();
  return person;
}

/** In the browser: how many bytes of scripts and styles arrived, compressed. */
const LOADED = `performance.getEntriesByType('resource')
  .filter(({ name }) => name.includes('/assets/'))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

const idsOf = ({ page }: Person) => page.getByRole('rowheader').getByRole('link').allTextContents();
const chip = ({ page }: Person, text: string) => page.getByRole('status').getByText(text, { exact: true });
const image = ({ page }: Person, name: RegExp) => page.getByRole('img', { name });

describeInBrowser('the page of a study', () => {
  it('shows a reader of arms how far it is, who is in it, and how balanced once the service has computed that', async () => {
    const reader = await atStudy(http.keys.reader);
    const { page } = reader;
    await image(reader, /59 of 200 enrolled/).waitFor();
    await image(reader, /largest difference between the arms/).waitFor();
    const bySite = page.getByRole('table', { name: 'By Site' });
    await expect.poll(() => bySite.getByRole('row').count()).toBe(SITES.length + 1);
    expect(await reader.countOf('text', '1code-break: emergencypeople unblinded: 2')).toBe(1);
    const rowOf = (id: string) => page.getByRole('rowheader', { name: id }).locator('xpath=..');
    for (const [id, remarks] of Object.entries({
      ...{ '0057': 'code broken', '0056': 'corrected', '0054': 'void: randomized twice', '0060': '' },
    }))
      expect(await rowOf(id).locator('td').last().textContent(), id).toBe(remarks);
    expect(await rowOf('0060').textContent()).toMatch(/ZZTREAT[ABC]/);

    let refused = 0;
    const band = '**/expected_balance?*';
    await page.route(band, async (route) => {
      refused++;
      const body = JSON.stringify({ message: 'so far for 3 of 60', results: {}, status: 503 });
      const headers = { 'Retry-After': '1' };
      await route.fulfill({ status: 503, contentType: 'application/json', headers, body });
    });
    await page.reload();
    // The page is there without it.
    await reader.sees('is being worked out');
    await image(
      reader,
      /^The largest difference between the arms is \d+\. It was never more than \d+\.$/,
    ).waitFor();
    await expect.poll(() => refused, { timeout: 5000 }).toBeGreaterThan(1);
    await page.unroute(band);
    const chart = image(reader, /Expected now: between \d+ and \d+\./);
    await chart.waitFor();
    expect(await reader.countOf('text', 'is being worked out')).toBe(0);
    await reader.sees('1 in 20 points outside is no cause for alarm');
    const name = (await chart.getAttribute('aria-label')) ?? '';
    const [difference = -1, , low = -1, high = -1] = [...name.matchAll(/\d+/g)].map(Number);
    const { results } = await http.get('reader', '/expected_balance', { study: STUDY });
    const { actual, expected } = results.overall;
    expect([difference, low, high]).toEqual([actual.at(-1), expected.at(-1)[0], expected.at(-1)[4]]);
    // Those with remarks; to look at all rows takes as long as all the rest.
    await reader.fill({ 'Search by id': '005' });
    await reader.sees('1–11 of 11');
    await reader.lookTwice('study');
  });

  it('shows it to an auditor who reads no list, without names of arms', async () => {
    const auditor = await atStudy(http.keys.auditor);
    await image(auditor, /Expected now: between/).waitFor();
    for (const arm of ARMS) expect((await auditor.page.content()).includes(arm), arm).toBe(false);
  });

  it('asks for nothing that a supplier may not read', async () => {
    const pharmacy = await atStudy(http.keys.pharmacy);
    await pharmacy.sees('last allocation');
    await pharmacy.page.waitForLoadState('networkidle');
    expect(await pharmacy.page.getByRole('alert').count()).toBe(0);
    const asked = (await pharmacy.received()).map(({ url }) => new URL(url).pathname);
    expect(asked.filter((path) => /^\/(enrolment|code_breaks|study_participants)$/.test(path))).toEqual([]);
  });

  it('searches, filters, sorts and pages the list, and exports it as it is shown', async () => {
    const reader = await atStudy(http.keys.reader);
    const { page } = reader;
    const shows = (ids: readonly string[]) =>
      expect.poll(async () => (await idsOf(reader)).slice(0, ids.length)).toEqual(ids);
    await expect.poll(() => idsOf(reader)).toHaveLength(50);
    await shows(['0060', '0059']);
    await reader.press('Next');
    await reader.sees('51–60 of 60');
    await shows(['0010']);

    await reader.press('Participant');
    await reader.sees('1–50 of 60');
    await shows(['0001']);
    const column = page.getByRole('columnheader', { name: 'Participant' });
    expect(await column.getAttribute('aria-sort')).toBe('ascending');

    await reader.fill({ 'Search by id': '05' });
    await page.getByText('of 11', { exact: false }).waitFor();
    await reader.press('Filter');
    await page.getByRole('combobox', { name: 'Sex' }).selectOption('Male');
    const parameters = { 'urn.search': '05', 'urn.sort': 'id', sex: 'Male' };
    const { results } = await http.as('reader').list(STUDY, parameters);
    const wanted: string[] = results.map(({ id }: { id: string }) => id);
    expect(wanted.length).toBeGreaterThan(1);
    await expect.poll(() => idsOf(reader)).toEqual(wanted);

    const { name, bytes } = await reader.save('Export CSV');
    expect(name).toMatch(/^CHS-JCOIN-participants-\d{4}-\d\d-\d\d\.csv$/);
    const [heads = [], ...rows] = parseCsv(bytes.toString());
    expect(rows.map((row) => row[heads.indexOf('id')])).toEqual(wanted);
    // The user is "=Sites", which a spreadsheet would compute.
    expect(rows.filter((row) => row.includes("'=Sites"))).toHaveLength(wanted.length);

    // Coming back from a participant shows the list as it was left.
    await reader.follow(wanted[0] ?? '');
    await page.waitForURL(/participant/);
    await page.goBack();
    await expect.poll(() => idsOf(reader)).toEqual(wanted);

    await reader.fill({ 'Search by id': 'nobody' });
    await reader.sees('No participant matches.');
    await reader.press('Clear search and filters');
    await reader.sees('1–50 of 60');
  });

  it('has no arm anywhere for a blinded reader: not on the page, and not in what the browser received', async () => {
    const blinded = await atStudy(http.keys.blinded);
    await image(blinded, /59 of 200 enrolled/).waitFor();
    await expect.poll(() => idsOf(blinded)).toHaveLength(50);
    await blinded.press('randomized');
    const csv = (await blinded.save('Export CSV')).bytes.toString();
    const asked = (await blinded.received()).map(({ url }) => new URL(url).pathname);
    expect(asked).toContain('/enrolment');
    expect(asked).not.toContain('/expected_balance');
    const shown = await blinded.page.content();
    const everything = [csv, ...(await blinded.everything())].join('\n');
    // A failure would print megabytes.
    for (const tell of [...ARMS, '"trt"', '"treatments"'])
      expect(everything.includes(tell), tell).toBe(false);
    // The words of all pages are in one file.
    expect(shown.includes('difference between')).toBe(false);
    await blinded.fits('study-blinded');
  });

  it('shows who was randomized meanwhile in every tab, with one stream for all, and says when it cannot', async () => {
    const reader = await atStudy(http.keys.reader, 'Followed');
    const { page } = reader;
    const asked: { path: string; isAutomatic: boolean }[] = [];
    page.context().on('request', (request) => {
      const isAutomatic = request.headers()['urn-automatic'] === 'true';
      asked.push({ path: new URL(request.url()).pathname, isAutomatic });
    });
    await chip(reader, 'live').waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByRole('status').getByText('live', { exact: true }).waitFor();
    // The first event of the stream comes at once; the page has dealt with it when it sends no more requests.
    await page.waitForTimeout(2_500);
    asked.length = 0;
    await randomize('0061', 1, 'Followed');
    for (const tab of [page, other]) await tab.getByRole('link', { name: '0061' }).waitFor();
    await page.getByText('4 of 200', { exact: false }).first().waitFor();
    expect(asked.filter(({ path }) => path === '/study_participants').length).toBeGreaterThan(0);
    expect(asked.filter(({ path, isAutomatic }) => !isAutomatic || path === '/changes')).toEqual([]);

    asked.length = 0;
    await page.context().setOffline(true);
    await chip(reader, 'offline: this may be out of date').waitFor();
    expect((await idsOf(reader))[0]).toBe('0061');
    await page.context().setOffline(false);
    await chip(reader, 'offline: this may be out of date').waitFor({ state: 'detached' });
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    expect(asked.filter(({ path, isAutomatic }) => !isAutomatic && path !== '/changes')).toEqual([]);

    // The tab that listened is closed, and another one takes over.
    await page.close();
    await randomize('0062', 2, 'Followed');
    await other.getByRole('link', { name: '0062' }).waitFor();
    await other.getByRole('status').getByText('live', { exact: true }).waitFor();
  });

  it('is loaded with less than 200 kB before anybody signs in, and its charts; where it may not listen, it polls', async () => {
    const reader = await sitDown();
    await reader.page.route('**/changes?*', (route) => route.fulfill({ status: 429, body: '' }));
    await reader.page.goto(address('Polled'));
    await reader.page.getByLabel('API key').waitFor();
    const loaded = await reader.page.evaluate<number>(LOADED);
    expect(loaded).toBeGreaterThan(50_000);
    expect(loaded).toBeLessThan(200_000);
    await signIn(reader, http.keys.reader);
    await chip(reader, 'checked every 10 s').waitFor();
    await expect.poll(() => idsOf(reader)).toEqual(['0003', '0002', '0001']);
    await randomize('0063', 3, 'Polled');
    await reader.page.getByRole('link', { name: '0063' }).waitFor();
  });

  it('says why nobody can be randomized, when nobody is there yet, and when there is no such study', async () => {
    const reason = 'DSMB meeting';
    await post('/study_state', { action: 'pause', reason });
    const site = await atStudy(http.keys.site);
    await site.sees('nobody can be randomized now', reason);
    expect(await site.countOf('link', 'Randomize a participant')).toBe(0);
    await site.picture('study-paused');
    await post('/study_state', { action: 'resume', reason: 'over' });
    await site.page.getByText('nobody can be randomized now').waitFor({ state: 'detached' });
    const link = site.page.getByRole('link', { name: 'Randomize a participant' });
    expect(await link.getAttribute('href')).toBe('/pages/randomize#study=CHS+JCOIN');

    await site.page.goto(address('Later'));
    await site.sees('Nobody has been randomized yet.', /TEST STUDY/);
    await site.look('study-empty');
    await site.page.goto(address('Elsewhere'));
    await site.sees('There is no such study, or your key may not see it.');
  });
});
