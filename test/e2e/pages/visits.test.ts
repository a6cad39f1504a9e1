/** Packs at visits, in the browser: a site gives them out, corrects a visit and replaces one, and learns no arm and no stock. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeInBrowser, openAs, type Person, TELEPHONE } from '../../support/browser.ts';
import { ask, clientOf } from '../../support/client.ts';
import { registerPacksIn } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { type InMemory, serveInMemory } from '../../support/service-here.ts';

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
const GRANTS = {
  edc: ['edc', '--scope', 'randomize,blinded'],
  cook: ['Site Cook', '--scope', 'randomize,blinded', '--study', STUDY, '--where', 'site=Cook'],
  writer: ['writer', '--scope', 'randomize'],
  desk: ['Data desk', '--scope', 'blinded,correct'],
  supplier: ['Supply', '--scope', 'read,supply'],
  pharmacy: ['Pharmacy', '--scope', 'supply'],
} as const;

let service: InMemory<keyof typeof GRANTS>['service'];
let keys: InMemory<keyof typeof GRANTS>['keys'];

const packs = (count: number) =>
  ARMS.flatMap((treatment, arm) =>
    Array.from({ length: count }, (_, i) => ({ code: `P-${100 + arm + 2 * i}`, treatment })),
  );

const address = (id: string, more: Record<string, string> = {}) =>
  `${service.url}/pages/participant#${new URLSearchParams({ study: STUDY, id, ...more })}`;

const recordOf = async (id: string, study = STUDY) =>
  (await ask(service.url, '/study_participants', { key: keys.edc, parameters: { study, id } })).results[0];
/** By visit. */
const packsOf = async (id: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    ((await recordOf(id))['urn.packs'] ?? []).map(({ visit, code }: Record<string, string>) => [visit, code]),
  );
async function post(path: string, key: string, body: object) {
  const { status, message, results } = await postJson(service.url, path, key, { study: STUDY, ...body });
  expect(status, message).toBe(200);
  return results;
}
const dispense = async (id: string, visit: string): Promise<string> =>
  (await post('/dispensations', keys.cook, { id, visit })).code;

const visitOf = ({ page }: Person) => page.getByLabel('Visit', { exact: true });
/** Fills in the form that gives out a pack, and confirms. @returns the number, which is shown */
async function giveOut(person: Person, id: string, visit: string): Promise<string> {
  if (await visitOf(person).evaluate((field) => field.matches('select')))
    await visitOf(person).selectOption(visit);
  else await visitOf(person).fill(visit);
  await person.confirm(`Give ${id} a pack`);
  await person.seesHeading('Pack given out');
  const { [visit]: code = '' } = await packsOf(id);
  await person.page.getByText(code, { exact: true }).first().waitFor();
  return code;
}

describeInBrowser('a site with visits', () => {
  beforeAll(async () => {
    ({ service, keys } = await serveInMemory(STUDIES, GRANTS));
    const { randomize } = clientOf(service.url, keys.edc);
    for (const [study, count, ...ids] of [
      [STUDY, 40, 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9'],
      ['Plain', 10, 'p1'],
      ['Scarce', 3, 's1'],
    ] as const) {
      await registerPacksIn(service.log, study, [{ where: undefined, entries: packs(count) }]);
      for (const id of ids) expect((await randomize(study, id, { site: 'Cook' })).status).toBe(200);
    }
  });
  afterAll(() => service?.stop());

  it('gives out a pack, on a telephone: the number is large, and nothing tells the arm or the stock', async () => {
    const site = await openAs(keys.cook, address('c1'), { ...TELEPHONE, acting: 'M. Jones' });
    const { page } = site;
    const heading = page.getByRole('heading', { name: 'Packs', exact: true });
    const card = page.locator('section').filter({ has: heading });
    await card.getByText((await recordOf('c1'))['urn.code']).waitFor();
    await site.look('visits-narrow');
    await card.getByRole('link', { name: 'Give out a pack' }).tap();
    await visitOf(site).waitFor();
    const offered = await visitOf(site).locator('option').allTextContents();
    expect(offered).toEqual(['', 'V2', 'V3', 'Week 12']);
    await visitOf(site).selectOption('V2');
    expect(await site.lookAhead()).toContain('c1 gets a pack for V2.');
    await site.look('dispense-review-narrow');
    expect(await packsOf('c1')).toEqual({});
    await site.press('Give c1 a pack');
    await site.seesHeading('Pack given out');
    const { V2: given = '' } = await packsOf('c1');
    const number = page.getByText(given, { exact: true }).first();
    expect((await number.boundingBox())?.height).toBeGreaterThan(40);
    await site.look('dispensed-narrow');
    await site.follow('Back to the participant');
    await site.sees(`Pack for V2: ${given}`);
    await site.picture('visits-one-narrow');
    for (const { url, body } of await site.received()) {
      expect(url).not.toMatch(/\/(codes|pack_accountability)/);
      for (const arm of ARMS) expect(body).not.toContain(arm);
    }
  });

  it('prints a line for the file, and says when an answer was given before', async () => {
    const site = await openAs(keys.cook, address('c2', { act: 'dispense' }), { acting: 'M. Jones' });
    const { page } = site;
    await visitOf(site).selectOption('Week 12');
    await site.lookAhead();
    // It is recorded, and the answer is lost.
    await page.route('**/dispensations', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await site.press('Give c2 a pack');
    await site.sees('it is recorded at most once');
    await page.unroute('**/dispensations');
    await site.press('Give c2 a pack');
    await site.sees('Nothing was recorded a second time.');
    const [{ code, datetime }] = (await recordOf('c2'))['urn.packs'];
    await page.locator(`time[datetime="${new Date(datetime).toISOString()}"]`).waitFor();
    const print = page.getByRole('button', { name: 'Print a line for the file' });
    expect(await print.isVisible()).toBe(true);
    await page.emulateMedia({ media: 'print' });
    for (const text of [STUDY, 'c2', 'Week 12', code, 'Site Cook on behalf of M. Jones'])
      expect(await page.getByRole('definition').getByText(text, { exact: true }).isVisible()).toBe(true);
    expect(await print.isVisible()).toBe(false);
    await site.picture('dispensed-print');
  });

  it('is told in plain words that there is a pack already', async () => {
    const site = await openAs(keys.cook, address('c3', { act: 'dispense' }));
    await visitOf(site).selectOption('V3');
    // A colleague is faster.
    const code = await dispense('c3', 'V3');
    await site.press('See what will happen');
    await site.isWarned('There is a pack for this visit already');
    await site.sees(`The pack for V3 is ${code}.`);
    await site.look('dispense-duplicate');
    // Then the form offers the others.
    await visitOf(site).locator('option', { hasText: 'V3' }).waitFor({ state: 'detached' });
  });

  it('is told in plain words that somebody gets no packs, or had too many', async () => {
    const duplicate = { cause: 'duplicate', analysis: 'exclude', note: 'screened twice' };
    await post('/voids', keys.desk, { id: 'c7', ...duplicate });
    const site = await openAs(keys.cook, address('c7'));
    const { page } = site;
    await page.getByRole('heading', { name: 'Packs', exact: true }).waitFor();
    expect(await site.countOf('link', 'Give out a pack')).toBe(0);
    // From an earlier page.
    await page.goto(address('c7', { act: 'dispense' }));
    await visitOf(site).selectOption('V2');
    await site.press('See what will happen');
    await site.isWarned('This participant gets no packs');

    for (let i = 0; i < 3; i++) {
      const { 'urn.code': code } = await recordOf('c8');
      await post('/code_replacements', keys.cook, { id: 'c8', code, cause: 'lost' });
    }
    await page.goto(address('c8', { act: 'pack' }));
    await site.choose({ Cause: 'lost' });
    await site.press('See what will happen');
    await site.isWarned('This participant had too many further packs');
    await site.picture('replace-refused');
  });

  it('may be a system that only randomizes, and is told no more than the number', async () => {
    const randomizing = (study: string) => `${service.url}/pages/randomize#${new URLSearchParams({ study })}`;
    const writer = await openAs(keys.writer, randomizing(STUDY));
    await writer.follow('Participant');
    await writer.fill({ 'Participant id': 'c6' });
    await writer.press('Show the participant');
    await writer.sees('Your key may not read');
    expect(await writer.countOf('link', 'Correct the visit of a pack')).toBe(0);
    await writer.follow('Give out a pack');
    await giveOut(writer, 'c6', 'V3');

    await writer.follow('Back to the participant', 'Give out a pack');
    await visitOf(writer).selectOption('V3');
    await writer.press('See what will happen');
    await writer.sees('There is a pack for this visit already');
    expect(await writer.countOf('text', 'The pack for V3 is')).toBe(0);
    await writer.page.goto(randomizing('Plain'));
    await writer.page.getByLabel('Participant id').waitFor();
    expect(await writer.countOf('link', 'Participant')).toBe(0);
  });

  it('sees it in German and in the dark, too, and on paper', async () => {
    await dispense('c9', 'V2');
    const site = await openAs(keys.cook, address('c9'));
    const { page } = site;
    await page.emulateMedia({ colorScheme: 'dark' });
    await site.press('Deutsch');
    await page.getByRole('link', { name: 'Packung ausgeben' }).waitFor();
    await site.look('visits-german-dark');
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('link').filter({ visible: true }).count()).toBe(0);
    await page.emulateMedia({ media: 'screen' });
    await site.follow('Packung ausgeben');
    await page.getByLabel('Visite', { exact: true }).selectOption('V3');
    await site.press('Zeigen, was geschehen wird', 'Packung an c9 ausgeben');
    await site.seesHeading('Packung ausgegeben');
    await site.look('dispensed-german-dark');
  });

  it('is told nothing of arms when there are not enough packs', async () => {
    const site = await openAs(keys.edc, address('s1', { study: 'Scarce', act: 'dispense' }));
    await site.press('Deutsch');
    await site.page.getByLabel('Visite', { exact: true }).selectOption('V2');
    await site.press('Zeigen, was geschehen wird');
    await site.isWarned('Es sind nicht genug Packungen da');
    await site.picture('dispense-refused-german');
  });

  it('has a visit corrected by the data desk, then a pack taken back, and given back', async () => {
    const code = await dispense('c4', 'V2');
    const desk = await openAs(keys.desk, address('c4'));
    const { page } = desk;
    const correct = async (label: string, cause: string) => {
      await desk.follow('Correct the visit of a pack');
      await desk.select({ 'Which pack?': code });
      await page.getByLabel('For which visit was it?').selectOption({ label });
      await desk.choose({ Cause: cause });
      await desk.fill({ Note: 'wrong line of the plan' });
      return desk.lookAhead();
    };
    const record = async (said: string) => {
      await desk.press('Record the correction');
      await desk.follow('Back to the participant');
      await desk.seesHeading('History');
      await desk.sees(said);
    };
    // Whoever does not give out packs sees them, and no button.
    expect(await desk.countOf('link', 'Give out a pack')).toBe(0);
    const moved = await correct('V3', 'data entry error');
    expect(moved).toContain(`The pack ${code} counts for V3 from now on.`);
    await desk.look('correct-visit-review');
    await record(`Pack ${code} was for V3, not V2`);
    expect(await packsOf('c4')).toEqual({ V3: code });

    const taken = await correct('for none: they never got this pack', 'not handed out');
    expect(taken).toContain(`c4 never got the pack ${code}.`);
    await record(`Pack ${code} was never theirs`);
    expect(await packsOf('c4')).toEqual({});

    await correct('Week 12', 'other');
    await record(`Pack ${code} was for Week 12, after all`);
    expect(await packsOf('c4')).toEqual({ 'Week 12': code });
    await desk.look('visits-history');
  });

  it('chooses which of several packs is replaced', async () => {
    const code = await dispense('c5', 'V3');
    const site = await openAs(keys.cook, address('c5'), TELEPHONE);
    await site.follow('Replace the pack');
    const { 'urn.code': first } = await recordOf('c5');
    const which = site.page.getByLabel('Which pack is replaced?');
    await which.waitFor();
    const offered = await which.locator('option').allTextContents();
    expect(offered).toEqual(['', `Enrolment: ${first}`, `V3: ${code}`]);
    await which.selectOption(code);
    await site.choose({ Cause: 'damaged' });
    expect(await site.confirm('Assign another pack')).toContain(`${code} is not given to anybody again.`);
    await site.seesHeading('Hand out this pack');
    const { V3: now = '' } = await packsOf('c5');
    expect(now).not.toBe(code);
    expect((await recordOf('c5'))['urn.code']).toBe(first);
    await site.page.getByText(now, { exact: true }).waitFor();
    await site.fits('visit-replaced-narrow');
  });

  it('leaves other visits to whoever supplies packs, who needs no right to read', async () => {
    const pharmacy = await openAs(keys.pharmacy, address('c6'));
    await pharmacy.sees('Your key may not read');
    await pharmacy.follow('Give out a pack');
    await giveOut(pharmacy, 'c6', 'U1');
    await pharmacy.follow('Back to the participant');
    await pharmacy.look('visits-unread');

    const reader = await openAs(keys.supplier, address('c6', { act: 'dispense' }));
    await visitOf(reader).selectOption('another visit');
    await reader.fill({ 'Name of the visit': 'U2' });
    expect(await reader.lookAhead()).toContain('The study does not have the visit U2.');
    await reader.picture('dispense-undeclared');
  });

  it('sees no packs of visits where a study has none', async () => {
    const site = await openAs(keys.edc, address('p1', { study: 'Plain' }));
    await site.seesHeading('History');
    expect(await site.page.getByRole('heading', { name: 'Packs', exact: true }).count()).toBe(0);
    expect(await site.countOf('link', 'Give out a pack')).toBe(0);
  });
});
