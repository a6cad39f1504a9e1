/** Packs at visits, in the browser: a site gives them out, corrects a visit and replaces one, and learns no arm and no stock. */
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
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDY = 'Relief';
const ARMS = ['ZZVERUM', 'ZZPLACEBO'] as const;
const studyText = (name: string, more = '') => `
${name}:
  mode: live
  blinding: blinded
  treatments: [${ARMS.join(', ')}]
  factors: {site: [Cook, Kane]}
${more}`;
const STUDIES =
  studyText(STUDY, '  visits: [V2, V3, Week 12]') +
  studyText('Plain') +
  studyText('Scarce', '  visits: [V2]');
const TELEPHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } as const;

const data = temporaryFolders()();
let service: ServiceHere;
let keys: Record<'edc' | 'cook' | 'writer' | 'desk' | 'supplier' | 'pharmacy' | 'auditor', string>;

const packs = (count: number) =>
  ARMS.flatMap((treatment, arm) =>
    Array.from({ length: count }, (_, i) => ({ code: `P-${100 + arm + 2 * i}`, treatment })),
  );

const address = (id: string, more: Record<string, string> = {}) =>
  `${service.url}/pages/participant#${new URLSearchParams({ study: STUDY, id, ...more })}`;

async function open(
  key: string,
  url: string,
  { acting, ...options }: BrowserContextOptions & { acting?: string } = {},
): Promise<Person> {
  const person = await sitDown(options);
  await person.page.goto(url);
  await signIn(person, key, acting);
  return person;
}

const recordOf = async (id: string, study = STUDY) =>
  (await ask(service.url, '/study_participants', { key: keys.edc, parameters: { study, id } })).results[0];
const packsOf = async (id: string): Promise<string[]> =>
  ((await recordOf(id))['urn.packs'] ?? []).map(
    ({ visit, code }: Record<string, string>) => `${visit}=${code}`,
  );
async function dispense(id: string, visit: string): Promise<string> {
  const { status, results } = await postJson(service.url, '/dispensations', keys.cook, {
    study: STUDY,
    id,
    visit,
  });
  expect(status).toBe(200);
  return results.code;
}

async function lookAhead(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'See what will happen' }).click();
  await page.getByRole('heading', { name: 'What will happen' }).waitFor();
}

async function choose(page: Page, group: string, option: string): Promise<void> {
  await page.getByRole('radiogroup', { name: group }).getByText(option, { exact: true }).click();
}

const isNarrow = async (page: Page) => {
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
};

describeInBrowser('a site with visits', () => {
  beforeAll(async () => {
    keys = await issueKeys(data, {
      edc: ['edc', '--scope', 'randomize,blinded'],
      cook: ['Site Cook', '--scope', 'randomize,blinded', '--study', STUDY, '--where', 'site=Cook'],
      writer: ['writer', '--scope', 'randomize'],
      desk: ['Data desk', '--scope', 'blinded,correct'],
      supplier: ['Supply', '--scope', 'read,supply'],
      pharmacy: ['Pharmacy', '--scope', 'supply'],
      auditor: ['auditor', '--scope', 'read,audit'],
    });
    service = await serveHere(data, STUDIES);
    await registerPacks(data, STUDY, [{ where: undefined, entries: packs(40) }]);
    await registerPacks(data, 'Plain', [{ where: undefined, entries: packs(10) }]);
    await registerPacks(data, 'Scarce', [{ where: undefined, entries: packs(3) }]);
    const { randomize } = clientOf(service.url, keys.edc);
    for (let i = 1; i <= 9; i++) expect((await randomize(STUDY, `c${i}`, { site: 'Cook' })).status).toBe(200);
    expect((await randomize('Plain', 'p1', { site: 'Cook' })).status).toBe(200);
    expect((await randomize('Scarce', 's1', { site: 'Cook' })).status).toBe(200);
  });
  afterAll(async () => {
    await service?.stop();
  });

  it('gives out a pack, on a telephone: the number is large, and nothing tells the arm or the stock', async () => {
    const site = await open(keys.cook, address('c1'), { ...TELEPHONE, acting: 'M. Jones' });
    const { page, complaints } = site;
    const card = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Packs', exact: true }) });
    await card.getByText((await recordOf('c1'))['urn.code']).waitFor();
    await picture(page, 'visits-narrow');
    await isNarrow(page);
    await expectAccessible(page);
    await card.getByRole('link', { name: 'Give out a pack' }).tap();
    const visits = page.getByLabel('Visit', { exact: true });
    await visits.waitFor();
    expect(await visits.locator('option').allTextContents()).toEqual(['', 'V2', 'V3', 'Week 12']);
    await visits.selectOption('V2');
    await lookAhead(page);
    await page.getByText('c1 gets a pack for V2.').waitFor();
    await picture(page, 'dispense-review-narrow');
    await expectAccessible(page);
    expect(await packsOf('c1')).toEqual([]);
    await page.getByRole('button', { name: 'Give c1 a pack' }).tap();
    await page.getByRole('heading', { name: 'Pack given out' }).waitFor();
    const [given = ''] = await packsOf('c1');
    const number = page.getByText(given.replace('V2=', ''), { exact: true }).first();
    expect((await number.boundingBox())?.height).toBeGreaterThan(40);
    await isNarrow(page);
    await expectAccessible(page);
    await picture(page, 'dispensed-narrow');
    await page.getByRole('link', { name: 'Back to the participant' }).tap();
    await page.getByText(given.replace('V2=', 'Pack for V2: ')).waitFor();
    await picture(page, 'visits-one-narrow');
    for (const { url, body } of await site.received()) {
      expect(url).not.toMatch(/\/(codes|pack_accountability)/);
      for (const arm of ARMS) expect(body).not.toContain(arm);
    }
    expect(complaints).toEqual([]);
  });

  it('prints a line for the file, and says when an answer was given before', async () => {
    const { page, complaints } = await open(keys.cook, address('c2', { act: 'dispense' }), {
      acting: 'M. Jones',
    });
    await page.getByLabel('Visit', { exact: true }).selectOption('Week 12');
    await lookAhead(page);
    // It is recorded, and the answer is lost.
    await page.route('**/dispensations', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Give c2 a pack' }).click();
    await page.getByText('it is recorded at most once').waitFor();
    await page.unroute('**/dispensations');
    await page.getByRole('button', { name: 'Give c2 a pack' }).click();
    await page.getByText('Nothing was recorded a second time.').waitFor();
    const [{ code, datetime }] = (await recordOf('c2'))['urn.packs'];
    await page.locator(`time[datetime="${new Date(datetime).toISOString()}"]`).waitFor();
    expect(await page.getByRole('button', { name: 'Print a line for the file' }).count()).toBe(1);
    await picture(page, 'dispensed');
    await page.emulateMedia({ media: 'print' });
    for (const text of [STUDY, 'c2', 'Week 12', code, 'Site Cook on behalf of M. Jones'])
      expect(await page.getByRole('definition').getByText(text, { exact: true }).isVisible()).toBe(true);
    expect(await page.getByRole('button', { name: 'Print a line for the file' }).isVisible()).toBe(false);
    await picture(page, 'dispensed-print');
    expect(complaints).toEqual([]);
  });

  it('is told in plain words that there is a pack already', async () => {
    const { page } = await open(keys.cook, address('c3', { act: 'dispense' }));
    await page.getByLabel('Visit', { exact: true }).selectOption('V3');
    // A colleague is faster.
    const code = await dispense('c3', 'V3');
    await page.getByRole('button', { name: 'See what will happen' }).click();
    await page.getByRole('alert').getByText('There is a pack for this visit already').waitFor();
    await page.getByText(`The pack for V3 is ${code}.`).waitFor();
    await picture(page, 'dispense-duplicate');
    await expectAccessible(page);
    // Then the form offers the others.
    await page
      .getByLabel('Visit', { exact: true })
      .locator('option', { hasText: 'V3' })
      .waitFor({ state: 'detached' });
  });

  it('is told in plain words that somebody gets no packs, or had too many', async () => {
    const voided = {
      study: STUDY,
      id: 'c7',
      cause: 'duplicate',
      analysis: 'exclude',
      note: 'screened twice',
    };
    expect((await postJson(service.url, '/voids', keys.desk, voided)).status).toBe(200);
    const { page } = await open(keys.cook, address('c7'));
    await page.getByRole('heading', { name: 'Packs', exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'Give out a pack' }).count()).toBe(0);
    // From an earlier page.
    await page.goto(address('c7', { act: 'dispense' }));
    await page.getByLabel('Visit', { exact: true }).selectOption('V2');
    await page.getByRole('button', { name: 'See what will happen' }).click();
    await page.getByRole('alert').getByText('This participant gets no packs').waitFor();

    for (let i = 0; i < 3; i++) {
      const { 'urn.code': code } = await recordOf('c8');
      const replaced = { study: STUDY, id: 'c8', code, cause: 'lost' };
      expect((await postJson(service.url, '/code_replacements', keys.cook, replaced)).status).toBe(200);
    }
    await page.goto(address('c8', { act: 'pack' }));
    await choose(page, 'Cause', 'lost');
    await page.getByRole('button', { name: 'See what will happen' }).click();
    await page.getByRole('alert').getByText('This participant had too many further packs').waitFor();
    await picture(page, 'replace-refused');
  });

  it('may be a system that only randomizes, and is told no more than the number', async () => {
    const { page } = await open(
      keys.writer,
      `${service.url}/pages/randomize#${new URLSearchParams({ study: STUDY })}`,
    );
    await page.getByRole('link', { name: 'Participant' }).click();
    await page.getByLabel('Participant id').fill('c6');
    await page.getByRole('button', { name: 'Show the participant' }).click();
    await page.getByText('Your key may not read').waitFor();
    expect(await page.getByRole('link', { name: 'Correct the visit of a pack' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Give out a pack' }).click();
    await page.getByLabel('Visit', { exact: true }).selectOption('V3');
    await lookAhead(page);
    await page.getByRole('button', { name: 'Give c6 a pack' }).click();
    await page.getByRole('heading', { name: 'Pack given out' }).waitFor();
    const given = (await packsOf('c6')).find((pack) => pack.startsWith('V3='));
    await page
      .getByText(given?.slice(3) ?? '', { exact: true })
      .first()
      .waitFor();

    await page.getByRole('link', { name: 'Back to the participant' }).click();
    await page.getByRole('link', { name: 'Give out a pack' }).click();
    await page.getByLabel('Visit', { exact: true }).selectOption('V3');
    await page.getByRole('button', { name: 'See what will happen' }).click();
    await page.getByText('There is a pack for this visit already').waitFor();
    expect(await page.getByText('The pack for V3 is').count()).toBe(0);
    await page.goto(`${service.url}/pages/randomize#${new URLSearchParams({ study: 'Plain' })}`);
    await page.getByLabel('Participant id').waitFor();
    expect(await page.getByRole('link', { name: 'Participant' }).count()).toBe(0);
  });

  it('sees it in German and in the dark, too, and on paper', async () => {
    await dispense('c9', 'V2');
    const { page, complaints } = await open(keys.cook, address('c9'), { colorScheme: 'dark' });
    await page.getByRole('button', { name: 'Deutsch' }).click();
    await page.getByRole('link', { name: 'Packung ausgeben' }).waitFor();
    await picture(page, 'visits-german-dark');
    await expectAccessible(page);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('link').filter({ visible: true }).count()).toBe(0);
    await picture(page, 'visits-print');
    await page.emulateMedia({ media: 'screen' });
    await page.getByRole('link', { name: 'Packung ausgeben' }).click();
    await page.getByLabel('Visite', { exact: true }).selectOption('V3');
    await page.getByRole('button', { name: 'Zeigen, was geschehen wird' }).click();
    await page.getByRole('button', { name: 'Packung an c9 ausgeben' }).click();
    await page.getByRole('heading', { name: 'Packung ausgegeben' }).waitFor();
    await picture(page, 'dispensed-german-dark');
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  it('is told nothing of arms when there are not enough packs', async () => {
    const url = `${service.url}/pages/participant#${new URLSearchParams({ study: 'Scarce', id: 's1', act: 'dispense' })}`;
    const { page } = await open(keys.edc, url);
    await page.getByRole('button', { name: 'Deutsch' }).click();
    await page.getByLabel('Visite', { exact: true }).selectOption('V2');
    await page.getByRole('button', { name: 'Zeigen, was geschehen wird' }).click();
    await page.getByRole('alert').getByText('Es sind nicht genug Packungen da').waitFor();
    await picture(page, 'dispense-refused-german');
  });

  it('has a visit corrected by the data desk, then a pack taken back, and given back', async () => {
    const code = await dispense('c4', 'V2');
    const { page, complaints } = await open(keys.desk, address('c4'));
    const correct = async (to: string, cause: string) => {
      await page.getByRole('link', { name: 'Correct the visit of a pack' }).click();
      await page.getByLabel('Which pack?').selectOption(code);
      await page.getByLabel('For which visit was it?').selectOption({ label: to });
      await choose(page, 'Cause', cause);
      await page.getByLabel('Note').fill('wrong line of the plan');
      await lookAhead(page);
    };
    const record = async () => {
      await page.getByRole('button', { name: 'Record the correction' }).click();
      await page.getByRole('link', { name: 'Back to the participant' }).click();
      await page.getByRole('heading', { name: 'History' }).waitFor();
    };
    // Whoever does not give out packs sees them, and no button.
    expect(await page.getByRole('link', { name: 'Give out a pack' }).count()).toBe(0);
    await correct('V3', 'data entry error');
    await page.getByText(`The pack ${code} counts for V3 from now on.`).waitFor();
    await picture(page, 'correct-visit-review');
    await expectAccessible(page);
    await record();
    expect(await packsOf('c4')).toEqual([`V3=${code}`]);
    await page.getByText(`Pack ${code} was for V3, not V2`).waitFor();

    await correct('for none: they never got this pack', 'not handed out');
    await page.getByText(`c4 never got the pack ${code}.`).waitFor();
    await record();
    expect(await packsOf('c4')).toEqual([]);
    await page.getByText(`Pack ${code} was never theirs`).waitFor();

    await correct('Week 12', 'other');
    await record();
    expect(await packsOf('c4')).toEqual([`Week 12=${code}`]);
    await page.getByText(`Pack ${code} was for Week 12, after all`).waitFor();
    await picture(page, 'visits-history');
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  it('chooses which of several packs is replaced', async () => {
    const code = await dispense('c5', 'V3');
    const { page, complaints } = await open(keys.cook, address('c5'), TELEPHONE);
    await page.getByRole('link', { name: 'Replace the pack' }).tap();
    const first = (await recordOf('c5'))['urn.code'];
    const which = page.getByLabel('Which pack is replaced?');
    await which.waitFor();
    expect(await which.locator('option').allTextContents()).toEqual([
      '',
      `Enrolment: ${first}`,
      `V3: ${code}`,
    ]);
    await which.selectOption(code);
    await choose(page, 'Cause', 'damaged');
    await lookAhead(page);
    await page.getByText(`${code} is not given to anybody again.`).waitFor();
    await page.getByRole('button', { name: 'Assign another pack' }).tap();
    await page.getByRole('heading', { name: 'Hand out this pack' }).waitFor();
    const [now = ''] = await packsOf('c5');
    expect(now).not.toBe(`V3=${code}`);
    expect((await recordOf('c5'))['urn.code']).toBe(first);
    await page.getByText(now.replace('V3=', ''), { exact: true }).waitFor();
    await picture(page, 'visit-replaced-narrow');
    await isNarrow(page);
    expect(complaints).toEqual([]);
  });

  it('leaves other visits to whoever supplies packs, who needs no right to read', async () => {
    const { page, complaints } = await open(keys.pharmacy, address('c6'));
    await page.getByText('Your key may not read').waitFor();
    await page.getByRole('link', { name: 'Give out a pack' }).click();
    await page.getByLabel('Visit', { exact: true }).fill('U1');
    await lookAhead(page);
    await page.getByRole('button', { name: 'Give c6 a pack' }).click();
    await page.getByRole('heading', { name: 'Pack given out' }).waitFor();
    const given = (await packsOf('c6')).find((pack) => pack.startsWith('U1='));
    await page
      .getByText(given?.slice(3) ?? '', { exact: true })
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Back to the participant' }).click();
    await picture(page, 'visits-unread');
    await expectAccessible(page);

    const reader = await open(keys.supplier, address('c6', { act: 'dispense' }));
    const visit = reader.page.getByLabel('Visit', { exact: true });
    await visit.selectOption('another visit');
    await reader.page.getByLabel('Name of the visit').fill('U2');
    await lookAhead(reader.page);
    await reader.page.getByText('The study does not have the visit U2.').waitFor();
    await picture(reader.page, 'dispense-undeclared');
    expect([...complaints, ...reader.complaints]).toEqual([]);
  });

  it('sees no packs of visits where a study has none', async () => {
    const url = `${service.url}/pages/participant#${new URLSearchParams({ study: 'Plain', id: 'p1' })}`;
    const { page } = await open(keys.edc, url);
    await page.getByRole('heading', { name: 'History' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Packs', exact: true }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Give out a pack' }).count()).toBe(0);
  });
});
