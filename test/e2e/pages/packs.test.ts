/**
 * Packs in the browser. A site gives them out, corrects a visit and replaces one, and learns no arm and no stock. Whoever
 * supplies packs sees the stock, what became of each pack, and the accountability on paper and as a file.
 */
import { expect, it } from 'vitest';
import { describeInBrowser, openAs, type Person, TELEPHONE } from '../../support/browser.ts';
import { parseCsv } from '../../support/csv.ts';
import { registerPacksIn } from '../../support/pack-lists.ts';
import { served } from '../../support/served.ts';

const STUDY = 'Relief';
const ARMS = ['ZZVERUM', 'ZZPLACEBO'] as const;
const studyText = (name: string, visits = '') => `
${name}:
  mode: live
  blinding: blinded
  treatments: [${ARMS.join(', ')}]
  factors: {site: [Cook, Kane]}
${visits && `  visits: [${visits}]`}`;
const STUDIES = [
  studyText(STUDY, 'V2, V3, Week 12'),
  studyText('Plain'),
  studyText('Scarce', 'V2'),
  studyText('Supplies', 'V2, V3'),
].join('');
const GRANTS = {
  edc: ['edc', '--scope', 'randomize,blinded'],
  cook: ['Site Cook', '--scope', 'randomize,blinded', '--study', STUDY, '--where', 'site=Cook'],
  writer: ['writer', '--scope', 'randomize'],
  desk: ['Data desk', '--scope', 'blinded,correct'],
  supplier: ['Supply', '--scope', 'read,supply'],
  pharmacy: ['Pharmacy', '--scope', 'supply'],
  auditor: ['auditor', '--scope', 'read,audit'],
} as const;

const packs = (count: number, letter = 'P') =>
  ARMS.flatMap((treatment, arm) =>
    Array.from({ length: count }, (_, i) => ({ code: `${letter}-${100 + arm + 2 * i}`, treatment })),
  );
const of = (site: string, count: number) => {
  return { where: { factor: 'site', level: site }, entries: packs(count, site) };
};

const address = (id: string, more: Record<string, string> = {}) =>
  `${http.url}/pages/participant#${new URLSearchParams({ study: STUDY, id, ...more })}`;
const recordOf = async (id: string) =>
  (await http.get('edc', '/study_participants', { study: STUDY, id })).results[0];
const packsOf = async (id: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    ((await recordOf(id))['urn.packs'] ?? []).map(({ visit, code }: Record<string, string>) => [visit, code]),
  );
const post = async (path: string, name: keyof typeof GRANTS, body: object) =>
  (await http.done(name, path, { study: STUDY, ...body })).results;
const stock = () => `${http.url}/pages/packs#${new URLSearchParams({ study: 'Supplies' })}`;
const dispense = async (id: string, visit: string, study = STUDY): Promise<string> =>
  (await post('/dispensations', 'edc', { study, id, visit })).code;

const visitOf = ({ page }: Person, label = 'Visit') => page.getByLabel(label, { exact: true });
/** Fills in the form that gives out a pack, and confirms. The number is shown. */
async function giveOut(person: Person, id: string, visit: string): Promise<void> {
  const isChosen = await visitOf(person).evaluate((field) => field.matches('select'));
  await (isChosen ? visitOf(person).selectOption(visit) : visitOf(person).fill(visit));
  await person.confirm(`Give ${id} a pack`);
  await person.seesHeading('Pack given out');
  const { [visit]: code = '' } = await packsOf(id);
  await person.page.getByText(code, { exact: true }).first().waitFor();
}

/** Of c1 in the study of whoever supplies packs. */
let held: string;
let replaced: string;
let by: string;

async function filled(): Promise<void> {
  const { randomize } = http.as('edc');
  for (const [study, lists, ...ids] of [
    [STUDY, [{ entries: packs(40) }], 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8'],
    ['Plain', [{ entries: packs(10) }], 'p1'],
    ['Scarce', [{ entries: packs(3) }], 's1'],
    ['Supplies', [of('Cook', 60), of('Kane', 2)], 'c1', 'c2'],
  ] as const) {
    await registerPacksIn(http.service.log, study, lists);
    for (const id of ids) expect((await randomize(study, id, { site: 'Cook' })).status).toBe(200);
  }
  held = await dispense('c1', 'V2', 'Supplies');
  replaced = await dispense('c1', 'V3', 'Supplies');
  const lost = { study: 'Supplies', id: 'c1', code: replaced, cause: 'lost' };
  ({ by } = await post('/code_replacements', 'edc', lost));
  await post('/dispensation_corrections', 'desk', {
    ...{ study: 'Supplies', id: 'c2', code: await dispense('c2', 'V2', 'Supplies'), to: null },
    ...{ cause: 'not-handed-out', note: 'the visit was cancelled' },
  });
}
const http = served(STUDIES, GRANTS, { filled });

describeInBrowser('a site with visits', () => {
  it('gives out a pack, on a telephone: the number is large, and nothing tells the arm or the stock', async () => {
    const site = await openAs(http.keys.cook, address('c1'), { ...TELEPHONE, acting: 'M. Jones' });
    await site.follow('Give out a pack');
    await visitOf(site).waitFor();
    const offered = await visitOf(site).locator('option').allTextContents();
    expect(offered).toEqual(['', 'V2', 'V3', 'Week 12']);
    await visitOf(site).selectOption('V2');
    expect(await site.lookAhead()).toContain('c1 gets a pack for V2.');
    expect(await packsOf('c1')).toEqual({});
    await site.press('Give c1 a pack');
    await site.seesHeading('Pack given out');
    const { V2: given = '' } = await packsOf('c1');
    const number = site.page.getByText(given, { exact: true }).first();
    expect((await number.boundingBox())?.height).toBeGreaterThan(40);
    await site.look('dispensed-narrow');
    await site.follow('Back to the participant');
    await site.sees(`Pack for V2: ${given}`);
    await site.look('visits-narrow');
    for (const { url, body } of await site.received()) {
      expect(url).not.toMatch(/\/(codes|pack_accountability)/);
      expect(body).not.toMatch(/ZZ/);
    }
  });

  it('prints a line for the file, and says when an answer was given before', async () => {
    const site = await openAs(http.keys.cook, address('c2', { act: 'dispense' }), { acting: 'M. Jones' });
    const { page } = site;
    await visitOf(site).selectOption('Week 12');
    await site.lookAhead();
    // It is recorded, and the answer is lost.
    await page.route('**/dispensations', (route) => route.fetch().then(() => route.abort()));
    await site.press('Give c2 a pack');
    await site.sees('it is recorded at most once');
    await page.unroute('**/dispensations');
    await site.press('Give c2 a pack');
    await site.sees('Nothing was recorded a second time.');
    const [{ code, datetime }, ...more] = (await recordOf('c2'))['urn.packs'];
    expect(more).toEqual([]);
    await page.locator(`time[datetime="${new Date(datetime).toISOString()}"]`).waitFor();
    const print = page.getByRole('button', { name: 'Print a line for the file' });
    expect(await print.isVisible()).toBe(true);
    await page.emulateMedia({ media: 'print' });
    for (const text of [STUDY, 'c2', 'Week 12', code, 'Site Cook on behalf of M. Jones'])
      expect(await page.getByRole('definition').getByText(text, { exact: true }).isVisible()).toBe(true);
    expect(await print.isVisible()).toBe(false);
  });

  it('is told in plain words that there is a pack already, that somebody gets none, or had too many', async () => {
    const site = await openAs(http.keys.cook, address('c3', { act: 'dispense' }));
    const { page } = site;
    await visitOf(site).selectOption('V3');
    // A colleague is faster.
    const code = await dispense('c3', 'V3');
    await site.press('See what will happen');
    await site.isWarned('There is a pack for this visit already');
    await site.sees(`The pack for V3 is ${code}.`);
    await site.fits('dispense-duplicate');
    // Then the form offers the others.
    await visitOf(site).locator('option', { hasText: 'V3' }).waitFor({ state: 'detached' });

    const duplicate = { cause: 'duplicate', analysis: 'exclude', note: 'screened twice' };
    await post('/voids', 'desk', { id: 'c7', ...duplicate });
    await page.goto(address('c7'));
    await page.getByRole('heading', { name: 'Packs', exact: true }).waitFor();
    expect(await site.countOf('link', 'Give out a pack')).toBe(0);
    // From an earlier page.
    await page.goto(address('c7', { act: 'dispense' }));
    await visitOf(site).selectOption('V2');
    await site.press('See what will happen');
    await site.isWarned('This participant gets no packs');

    for (let i = 0; i < 3; i++) {
      const { 'urn.code': held } = await recordOf('c8');
      await post('/code_replacements', 'cook', { id: 'c8', code: held, cause: 'lost' });
    }
    await page.goto(address('c8', { act: 'pack' }));
    await site.choose({ Cause: 'lost' });
    await site.press('See what will happen');
    await site.isWarned('This participant had too many further packs');
  });

  it('may be a system that only randomizes, and is told no more than the number', async () => {
    const randomizing = (study: string) => `${http.url}/pages/randomize#${new URLSearchParams({ study })}`;
    const writer = await openAs(http.keys.writer, randomizing(STUDY));
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

  it('sees no stock, and no packs where a study has no visits; in German and in the dark, that there are not enough', async () => {
    const site = await openAs(http.keys.edc, stock());
    const { page } = site;
    await site.sees('Your key may not do this');
    expect(await site.countOf('link', 'Packs')).toBe(0);
    await page.goto(address('p1', { study: 'Plain' }));
    await site.seesHeading('History');
    expect(await page.getByRole('heading', { name: 'Packs', exact: true }).count()).toBe(0);
    expect(await site.countOf('link', 'Give out a pack')).toBe(0);
    await page.emulateMedia({ colorScheme: 'dark' });
    await site.press('Deutsch');
    await page.goto(address('s1', { study: 'Scarce' }));
    await page.getByRole('link', { name: 'Packung ausgeben' }).waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('link').filter({ visible: true }).count()).toBe(0);
    await page.emulateMedia({ media: 'screen' });
    await site.follow('Packung ausgeben');
    await visitOf(site, 'Visite').selectOption('V2');
    await site.press('Zeigen, was geschehen wird');
    await site.isWarned('Es sind nicht genug Packungen da');
    await site.look('dispense-refused-german-dark');
  });

  it('has a visit corrected by the data desk, then a pack taken back, and given back', async () => {
    const code = await dispense('c4', 'V2');
    const desk = await openAs(http.keys.desk, address('c4'));
    const correct = async (label: string, cause: string, told: string, said: string) => {
      await desk.follow('Correct the visit of a pack');
      await desk.select({ 'Which pack?': code });
      await desk.page.getByLabel('For which visit was it?').selectOption({ label });
      await desk.choose({ Cause: cause });
      await desk.fill({ Note: 'wrong line of the plan' });
      expect(await desk.confirm('Record the correction')).toContain(told);
      await desk.follow('Back to the participant');
      await desk.seesHeading('History');
      await desk.sees(said);
      return packsOf('c4');
    };
    const counts = (visit: string) => `The pack ${code} counts for ${visit} from now on.`;
    // Whoever does not give out packs sees them, and no button.
    expect(await desk.countOf('link', 'Give out a pack')).toBe(0);
    const none = 'for none: they never got this pack';
    for (const [label, cause, told, said, packs] of [
      ['V3', 'data entry error', counts('V3'), 'was for V3, not V2', { V3: code }],
      [none, 'not handed out', `c4 never got the pack ${code}.`, 'was never theirs', {}],
      ['Week 12', 'other', counts('Week 12'), 'was for Week 12, after all', { 'Week 12': code }],
    ] as const)
      expect(await correct(label, cause, told, `Pack ${code} ${said}`), label).toEqual(packs);
    await desk.fits('visits-history');
  });

  it('chooses which of several packs is replaced', async () => {
    const code = await dispense('c5', 'V3');
    const site = await openAs(http.keys.cook, address('c5'), TELEPHONE);
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
    expect([now === code, (await recordOf('c5'))['urn.code']]).toEqual([false, first]);
    await site.page.getByText(now, { exact: true }).waitFor();
    await site.fits('visit-replaced-narrow');
  });

  it('leaves other visits to whoever supplies packs, who needs no right to read', async () => {
    const pharmacy = await openAs(http.keys.pharmacy, address('c6'));
    await pharmacy.sees('Your key may not read');
    await pharmacy.follow('Give out a pack');
    await giveOut(pharmacy, 'c6', 'U1');
    // Who may read as well is offered those of the study beside it.
    const reader = await openAs(http.keys.supplier, address('c6', { act: 'dispense' }));
    // It is a text until the visits of the study are known.
    await visitOf(reader).and(reader.page.locator('select')).selectOption('another visit');
    await reader.fill({ 'Name of the visit': 'U2' });
    expect(await reader.lookAhead()).toContain('The study does not have the visit U2.');
  });
});

describeInBrowser('whoever supplies packs', () => {
  /** The requests whose answers are recorded as disclosures. */
  const readings = async (person: Person) =>
    (await person.received())
      .map(({ url }) => new URL(url).pathname)
      .filter((path) => /codes|pack_acc/.test(path));
  const rows = ({ page }: Person) => page.getByRole('table').last().locator('tbody tr');
  it('is told where packs run low, and prints and saves the accountability, only after asking, because that is recorded', async () => {
    const pharmacy = await openAs(http.keys.pharmacy, `${http.url}/pages/studies`);
    const { page } = pharmacy;
    await pharmacy.follow('Supplies');
    await page.getByRole('main').getByRole('link', { name: 'Packs' }).click();
    await pharmacy.sees('Reading it is recorded.');
    expect(await readings(pharmacy)).toEqual([]);
    await pharmacy.press('Show the stock');
    await page.getByRole('heading', { name: 'Stock' }).and(page.locator(':focus')).waitFor();
    const low = page.getByRole('row').filter({ hasText: 'Site: ' }).filter({ hasText: 'low' });
    expect(await low.filter({ hasText: 'Kane' }).count()).toBe(2);
    expect(await low.filter({ hasText: 'Cook' }).count()).toBe(0);
    expect(await readings(pharmacy)).toEqual(['/codes']);
    const { results } = await http.get('auditor', '/operations');
    expect(JSON.stringify(results)).toContain('"what":"codes"');
    await pharmacy.press('Show the packs');
    await pharmacy.sees('124 of 124 packs');
    await page.getByRole('columnheader', { name: 'Holds' }).waitFor();
    await pharmacy.fits('packs');

    // What was read is printed, and not read again. Only the file is.
    const { name, bytes } = await pharmacy.save('Save as CSV');
    expect(name).toMatch(/^Supplies-accountability-\d{4}-\d\d-\d\d\.csv$/);
    // The first line names the columns.
    expect(parseCsv(bytes.toString())).toHaveLength(125);
    await pharmacy.press('Print the accountability');
    await pharmacy.seesHeading('Accountability of packs');
    const heads = await page.getByRole('columnheader').allTextContents();
    expect(heads.slice(-4)).toEqual(['Received', 'Returned', 'Destroyed', 'Initials']);
    expect(await rows(pharmacy).count()).toBe(124);
    const numbers = await rows(pharmacy).locator('th').allTextContents();
    expect(numbers).toEqual(numbers.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })));
    expect(`${bytes}${await page.getByRole('main').textContent()}`).not.toMatch(/ZZ/);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('button').filter({ visible: true }).count()).toBe(0);
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
    const [, width = '0', height = '0'] = /\/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]/.exec(pdf) ?? [];
    expect(Number(width)).toBeGreaterThan(Number(height));
    expect(await readings(pharmacy)).toEqual(['/codes', '/pack_accountability', '/pack_accountability']);
  });

  it('sees what became of each pack, without treatments, and searches and filters, on a telephone', async () => {
    const pharmacy = await openAs(http.keys.pharmacy, stock(), TELEPHONE);
    const { page } = pharmacy;
    await pharmacy.press('Show the packs');
    await pharmacy.sees('124 of 124 packs');
    // A part of them, until more are wanted.
    expect(await rows(pharmacy).count()).toBe(100);
    await pharmacy.press('Show more');
    expect(await rows(pharmacy).count()).toBe(124);
    for (const [state, row] of Object.entries({
      replaced: `${replaced}replaced by ${by}, lost`,
      void: 'void not handed out',
    })) {
      await pharmacy.select({ State: state });
      await pharmacy.sees('1 of 124 packs');
      await expect.poll(() => rows(pharmacy).allTextContents()).toEqual([expect.stringContaining(row)]);
    }
    await pharmacy.select({ State: 'held' });
    await pharmacy.fill({ 'Pack or participant': held });
    await pharmacy.sees('1 of 124 packs');
    const [row = ''] = await rows(pharmacy).allTextContents();
    expect(row).toMatch(new RegExp(`^${held}heldV2c1`));
    for (const { body } of await pharmacy.received()) expect(body).not.toMatch(/ZZ/);
    await pharmacy.follow('c1');
    await page.getByRole('heading', { name: 'c1', level: 1 }).waitFor();
    await page.goto(stock());
    await pharmacy.press('Deutsch', 'Bestand zeigen');
    await page.getByText('knapp').first().waitFor();
    await pharmacy.press('Packungen zeigen');
    await pharmacy.select({ Zustand: 'held' });
    await pharmacy.look('packs-narrow-german');
    await pharmacy.press('Verbleib drucken');
    await pharmacy.fits('packs-print-narrow-german');
  });
});
