/** The page of a study, as seen by those who may read arms, those who may not, and those limited to a site. */
import { readFileSync } from 'node:fs';
import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  describeInBrowser,
  expectAccessible,
  type Person,
  picture,
  signIn,
  sitDown,
} from '../../support/browser.ts';
import { ask, clientOf } from '../../support/client.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDY = 'CHS JCOIN';
const ARMS = ['ZZTREATA', 'ZZTREATB', 'ZZTREATC'];
const SITES = ['11-Cook', '30-Dupage', '40-Grundy', '70-Will'];
/** Studies that have three participants, until a test randomizes others. */
const GROWING = ['Followed', 'Polled'] as const;
const STUDIES = `
${[STUDY, ...GROWING]
  .map(
    (study) => `
"${study}":
  mode: live
  treatments: [${ARMS.join(', ')}]
  target_enrollment: 200
  protocol: {version: "3.0"}
  factors:
    site: [${SITES.map((site) => `"${site}"`).join(', ')}]
    sex: [Male, Female]
`,
  )
  .join('')}

Later:
  mode: test
  treatments: [Left, Right]
  factors:
    ward: [a, b]
`;
const PARTICIPANTS = 120;
const DAY_MS = 86_400_000;

const data = temporaryFolders()();
let service: ServiceHere;
let keys: Record<'pharmacy' | 'reader' | 'auditor' | 'manager' | 'blinded' | 'site' | 'cook', string>;

const post = (path: string, body: object) =>
  postJson(service.url, path, keys.manager, { study: STUDY, ...body });

async function randomize(id: string, place: number, study = STUDY): Promise<void> {
  const levels = { site: SITES[place % 4] ?? '', sex: place % 3 === 0 ? 'Male' : 'Female' };
  const { status, message } = await clientOf(service.url, keys.site).randomize(study, id, levels);
  expect(status, message).toBe(200);
}

beforeAll(async () => {
  keys = await issueKeys(data, {
    reader: ['Trial statistics', '--scope', 'read'],
    auditor: ['Auditor', '--scope', 'audit'],
    manager: ['data-manager', '--scope', 'read,correct,unblind,manage'],
    blinded: ['Monitor', '--scope', 'blinded'],
    site: ['=Sites', '--scope', 'blinded,randomize'],
    pharmacy: ['Pharmacy', '--scope', 'supply'],
    cook: ['Site 11', '--scope', 'blinded,randomize', '--where', 'site=11-Cook', '--study', STUDY],
  });
  service = await serveHere(data, STUDIES);
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'] });
  for (let i = 0; i < PARTICIPANTS; i++) {
    vi.setSystemTime(now - (PARTICIPANTS - i) * (1.2 - i / 400) * DAY_MS);
    await randomize(`${String(i + 1).padStart(4, '0')}`, i * i + (i % 5));
  }
  vi.useRealTimers();
  for (const study of GROWING) for (const i of [1, 2, 3]) await randomize(`000${i}`, i, study);
  const changes = [{ factor: 'sex', from: 'Female', to: 'Male' }];
  const corrected = await post('/level_corrections', { id: '0116', changes, cause: 'entry', note: 'typo' });
  expect(corrected.status, corrected.message).toBe(200);
  const breaking = { id: '0117', category: 'emergency', reason: 'anaphylaxis' };
  expect((await post('/code_breaks', breaking)).status).toBe(200);
  const voided = { id: '0114', cause: 'duplicate', duplicate_of: '0001', analysis: 'exclude', note: 'twice' };
  const answer = await post('/voids', voided);
  expect(answer.status, answer.message).toBe(200);
});
afterAll(async () => {
  await service?.stop();
});

async function atStudy(key: string, options: BrowserContextOptions = {}, study = STUDY): Promise<Person> {
  const person = await sitDown(options);
  await person.page.goto(`${service.url}/pages/study#${new URLSearchParams({ study })}`);
  await signIn(person, key);
  await person.page.getByRole('heading', { level: 1, name: study }).waitFor();
  return person;
}

const NARROW = { width: 360, height: 780 };

/** In the browser: how many bytes of scripts and styles arrived, compressed. */
const LOADED = `performance.getEntriesByType('resource')
  .filter(({ name }) => name.includes('/assets/'))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

/** The ids on the list, in its order. */
const idsOf = ({ page }: Person) => page.getByRole('rowheader').getByRole('link').allTextContents();
const chip = ({ page }: Person, text: string) => page.getByRole('status').getByText(text, { exact: true });

describeInBrowser('the page of a study', () => {
  it('is loaded with less than 200 kB, before its charts', async () => {
    const { page } = await sitDown();
    await page.goto(`${service.url}/pages/study#${new URLSearchParams({ study: STUDY })}`);
    await page.getByLabel('API key').waitFor();
    const loaded = await page.evaluate<number>(LOADED);
    expect(loaded).toBeGreaterThan(50_000);
    expect(loaded).toBeLessThan(200_000);
  });

  it('shows a reader of arms how far it is, how balanced, and who is in it', async () => {
    const reader = await atStudy(keys.reader);
    const { page } = reader;
    await page.getByRole('img', { name: /119 of 200 enrolled/ }).waitFor();
    await page.getByRole('img', { name: /largest difference between the arms/ }).waitFor();
    const bySite = page.getByRole('table', { name: 'By Site' });
    await expect.poll(() => bySite.getByRole('row').count()).toBe(SITES.length + 1);
    expect(await page.getByText('code broken: emergency').count()).toBe(1);
    const remarksOf = (id: string) =>
      page.getByRole('row', { name: id }).getByRole('cell').last().textContent();
    expect(await remarksOf('0117')).toBe('code broken');
    expect(await remarksOf('0116')).toBe('corrected');
    expect(await remarksOf('0114')).toBe('void: randomized twice');
    expect(await remarksOf('0120')).toBe('');
    expect(await page.getByRole('row', { name: '0120' }).textContent()).toMatch(/ZZTREAT[ABC]/);

    await page.getByRole('img', { name: /Expected now: between/ }).waitFor();
    await picture(page, 'study');
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page);
    await page.setViewportSize(NARROW);
    await expectAccessible(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(NARROW.width);
    await page.emulateMedia({ colorScheme: 'light' });
    await picture(page, 'study-narrow');
    expect(reader.complaints).toEqual([]);
  });

  it('shows the balance within what was to be expected, once the service has computed that', async () => {
    const reader = await atStudy(keys.reader);
    const { page } = reader;
    let refused = 0;
    const band = '**/expected_balance?*';
    await page.route(band, async (route) => {
      refused++;
      const body = JSON.stringify({ message: 'so far for 3 of 120', results: {}, status: 503 });
      const headers = { 'Retry-After': '1' };
      await route.fulfill({ status: 503, contentType: 'application/json', headers, body });
    });
    await page.reload();
    // The page is there without it.
    await page.getByText('is being worked out').waitFor();
    await page
      .getByRole('img', {
        name: /^The largest difference between the arms is \d+\. It was never more than \d+\.$/,
      })
      .waitFor();
    await expect.poll(() => refused, { timeout: 5000 }).toBeGreaterThan(1);
    await page.unroute(band);
    const chart = page.getByRole('img', { name: /Expected now: between \d+ and \d+\./ });
    await chart.waitFor();
    expect(await page.getByText('is being worked out').count()).toBe(0);
    expect(await page.getByText('1 in 20 points outside is no cause for alarm').count()).toBe(1);
    const name = (await chart.getAttribute('aria-label')) ?? '';
    const [difference = -1, , low = -1, high = -1] = [...name.matchAll(/\d+/g)].map(Number);
    const { results } = await ask(service.url, '/expected_balance', {
      key: keys.reader,
      parameters: { study: STUDY },
    });
    const { actual, expected } = results.overall;
    expect([difference, low, high]).toEqual([actual.at(-1), expected.at(-1)[0], expected.at(-1)[4]]);
    await expectAccessible(page);
  });

  it('shows it to an auditor who reads no list, without names of arms', async () => {
    const auditor = await atStudy(keys.auditor);
    const { page } = auditor;
    await page.getByRole('img', { name: /Expected now: between/ }).waitFor();
    await picture(page, 'study-auditor');
    await expectAccessible(page);
    for (const arm of ARMS) expect((await page.content()).includes(arm), arm).toBe(false);
    expect(auditor.complaints).toEqual([]);
  });

  it('searches, filters, sorts and pages the list, and exports it as it is shown', async () => {
    const reader = await atStudy(keys.reader);
    const { page } = reader;
    await expect.poll(() => idsOf(reader)).toHaveLength(50);
    expect((await idsOf(reader)).slice(0, 2)).toEqual(['0120', '0119']);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('51–100 of 120').waitFor();
    await expect.poll(async () => (await idsOf(reader))[0]).toBe('0070');

    await page.getByRole('button', { name: 'Participant' }).click();
    await page.getByText('1–50 of 120').waitFor();
    await expect.poll(async () => (await idsOf(reader))[0]).toBe('0001');
    expect(await page.getByRole('columnheader', { name: 'Participant' }).getAttribute('aria-sort')).toBe(
      'ascending',
    );

    await page.getByLabel('Search by id').fill('11');
    await page.getByText('of 11', { exact: false }).waitFor();
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByRole('combobox', { name: 'Sex' }).selectOption('Male');
    const wanted = await shownBy({ 'urn.search': '11', 'urn.sort': 'id', sex: 'Male' });
    expect(wanted.length).toBeGreaterThan(1);
    await expect.poll(() => idsOf(reader)).toEqual(wanted);

    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/^CHS-JCOIN-participants-\d{4}-\d\d-\d\d\.csv$/);
    const lines = readFileSync(await file.path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    const column = lines[0]?.split(',').indexOf('id') ?? -1;
    expect(lines.slice(1).map((line) => line.split(',')[column])).toEqual(wanted);
    // The user is "=Sites", which a spreadsheet would compute.
    expect(lines.slice(1).filter((line) => line.includes(",'=Sites,"))).toHaveLength(wanted.length);

    // Coming back from a participant shows the list as it was left.
    await page.getByRole('link', { name: wanted[0] ?? '' }).click();
    await page.waitForURL(/participant/);
    await page.goBack();
    await expect.poll(() => idsOf(reader)).toEqual(wanted);

    await page.getByLabel('Search by id').fill('nobody');
    await page.getByText('No participant matches.').waitFor();
    await page.getByRole('button', { name: 'Clear search and filters' }).click();
    await page.getByText('1–50 of 120').waitFor();
    expect(reader.complaints).toEqual([]);
  });

  it('has no arm anywhere for a blinded reader: not on the page, and not in what the browser received', async () => {
    const blinded = await atStudy(keys.blinded);
    const { page } = blinded;
    await page.getByRole('img', { name: /119 of 200 enrolled/ }).waitFor();
    await expect.poll(() => idsOf(blinded)).toHaveLength(50);
    await page.getByRole('button', { name: 'randomized' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const csv = readFileSync(await (await download).path(), 'utf8');
    const received = await blinded.received();
    expect(received.some(({ url }) => url.includes('/enrolment?'))).toBe(true);
    const everything = [
      await page.content(),
      await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'),
      csv,
      ...received.map(({ body }) => body),
    ].join('\n');
    expect(received.some(({ url }) => url.includes('/expected_balance'))).toBe(false);
    for (const tell of [...ARMS, 'difference between', '"trt"', '"treatments"']) {
      // The words of all pages are in one file.
      const shown = tell.includes(' ') ? await page.content() : everything;
      // A failure would print megabytes.
      expect(shown.includes(tell), tell).toBe(false);
    }
    await picture(page, 'study-blinded');
    await expectAccessible(page);
    expect(blinded.complaints).toEqual([]);
  });

  it('shows a site only its own participants, and lets it randomize', async () => {
    const site = await atStudy(keys.cook);
    const { page } = site;
    const { results } = await clientOf(service.url, keys.cook).list(STUDY);
    // One of them was randomized twice.
    await page.getByRole('img', { name: `${results.length - 1} enrolled at 11-Cook` }).waitFor();
    expect(await page.getByRole('region', { name: 'At a glance' }).innerText()).toContain(
      'enrolled at 11-Cook',
    );
    expect(await page.getByText('of 200').count()).toBe(0);
    // It knows of no others, so that is not the same as nobody.
    expect(await page.getByText('30-Dupage').count()).toBe(0);
    await page.getByRole('table', { name: 'By Sex' }).waitFor();
    await expect.poll(() => idsOf(site)).toHaveLength(results.length);
    const randomizeLink = page.getByRole('link', { name: 'Randomize a participant' });
    expect(await randomizeLink.getAttribute('href')).toBe('/pages/randomize#study=CHS+JCOIN');
    await page.setViewportSize(NARROW);
    await picture(page, 'study-site-narrow');
  });

  it('shows who was randomized meanwhile in every tab, with one stream for all, and says when it cannot', async () => {
    const reader = await atStudy(keys.reader, {}, 'Followed');
    const { page } = reader;
    const asked: { path: string; isAutomatic: boolean }[] = [];
    page.context().on('request', (request) => {
      const isAutomatic = request.headers()['urn-automatic'] === 'true';
      asked.push({ path: new URL(request.url()).pathname, isAutomatic });
    });
    await chip(reader, 'live').waitFor();
    const other = { ...reader, page: await page.context().newPage() };
    await other.page.goto(page.url());
    await chip(other, 'live').waitFor();
    // The first event of the stream comes at once; the page has dealt with it when it sends no more requests.
    await page.waitForTimeout(2_500);
    asked.length = 0;
    await randomize('0121', 1, 'Followed');
    for (const tab of [reader, other])
      await tab.page.getByRole('link', { name: '0121' }).waitFor({ timeout: 10_000 });
    await page.getByText('4 of 200', { exact: false }).first().waitFor();
    expect(asked.filter(({ path }) => path === '/study_participants').length).toBeGreaterThan(0);
    expect(asked.filter(({ path, isAutomatic }) => !isAutomatic || path === '/changes')).toEqual([]);

    asked.length = 0;
    await page.context().setOffline(true);
    await chip(reader, 'offline: this may be out of date').waitFor();
    expect((await idsOf(reader))[0]).toBe('0121');
    await page.context().setOffline(false);
    await chip(reader, 'offline: this may be out of date').waitFor({ state: 'detached' });
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    expect(asked.filter(({ path, isAutomatic }) => !isAutomatic && path !== '/changes')).toEqual([]);

    // The tab that listened is closed, and another one takes over.
    await page.close();
    await randomize('0122', 2, 'Followed');
    await other.page.getByRole('link', { name: '0122' }).waitFor({ timeout: 20_000 });
    await chip(other, 'live').waitFor();
    expect(reader.complaints).toEqual([]);
  });

  it('polls every ten seconds where it may not listen', async () => {
    const reader = await sitDown();
    await reader.page.route('**/changes?*', (route) => route.fulfill({ status: 429, body: '' }));
    await reader.page.goto(`${service.url}/pages/study#${new URLSearchParams({ study: 'Polled' })}`);
    await signIn(reader, keys.reader);
    await chip(reader, 'checked every 10 s').waitFor();
    await expect.poll(() => idsOf(reader)).toEqual(['0003', '0002', '0001']);
    await randomize('0123', 3, 'Polled');
    await reader.page.getByRole('link', { name: '0123' }).waitFor({ timeout: 20_000 });
  });

  it('says why nobody can be randomized, when nobody is there yet, and when there is no such study', async () => {
    const reason = 'DSMB meeting';
    const paused = await post('/study_state', { action: 'pause', reason });
    expect(paused.status, paused.message).toBe(200);
    const site = await atStudy(keys.site);
    const notice = site.page.getByText('nobody can be randomized now');
    await notice.waitFor();
    expect(await site.page.getByText(reason).count()).toBe(1);
    expect(await site.page.getByRole('link', { name: 'Randomize a participant' }).count()).toBe(0);
    await picture(site.page, 'study-paused');
    expect((await post('/study_state', { action: 'resume', reason: 'over' })).status).toBe(200);
    await notice.waitFor({ state: 'detached', timeout: 30_000 });

    const early = await atStudy(keys.site, {}, 'Later');
    await early.page.getByText('Nobody has been randomized yet.').waitFor();
    await early.page.getByText('TEST STUDY', { exact: false }).waitFor();
    await picture(early.page, 'study-empty');
    await expectAccessible(early.page);
    expect(early.complaints).toEqual([]);
    const pharmacy = await atStudy(keys.pharmacy);
    await pharmacy.page.getByText('last allocation').waitFor();
    await pharmacy.page.waitForLoadState('networkidle');
    expect(await pharmacy.page.getByRole('alert').count()).toBe(0);
    const asked = (await pharmacy.received()).map(({ url }) => new URL(url).pathname);
    expect(asked.filter((path) => /^\/(enrolment|code_breaks|study_participants)$/.test(path))).toEqual([]);
    const lost = await atStudy(keys.site, {}, 'Elsewhere');
    await lost.page.getByText('There is no such study, or your key may not see it.').waitFor();
  });
});

/** The ids that the service itself gives for these parameters, in their order. */
async function shownBy(parameters: Record<string, string>): Promise<string[]> {
  const { results } = await clientOf(service.url, keys.reader).list(STUDY, parameters);
  return results.map(({ id }: { id: string }) => id);
}
