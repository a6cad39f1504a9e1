/** The page of a participant: what it shows to each reader, emergencies, and what a data manager does there. */
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { describeInBrowser, openAs, type Person, TELEPHONE } from '../../support/browser.ts';
import { hold } from '../../support/held-lock.ts';
import { registerPacksIn } from '../../support/pack-lists.ts';
import { served } from '../../support/served.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDY = 'CHS JCOIN';
const ARMS = ['ZZMART', 'ZZRMCQ', 'ZZRMCA'] as const;
const STUDIES = `
${STUDY}:
  starting_seed: 340282366920938463463374607431768211457
  mode: test
  blinding: blinded
  id_pattern: "[0-9]{2}-[0-9]{4}"
  treatments: [${ARMS.join(', ')}]
  factors:
    sex: [Female, Male]
    age_group: ["18–39", "40–60", "over 60"]
    local_site: ["11-Cook County – Chicago", "30-Dupage County", "40-Grundy County"]
`;
const COOK = { sex: 'Female', age_group: '40–60', local_site: '11-Cook County – Chicago' } as const;
const DUPAGE = { sex: 'Female', age_group: '18–39', local_site: '30-Dupage County' } as const;
const EMERGENCY = 'Emergency: break the code';
const SHOW = 'Show the treatment now';

const data = temporaryFolders()();
const GRANTS = {
  edc: ['edc', '--scope', 'randomize,read'],
  desk: ['Night desk', '--scope', 'unblind'],
  physician: ['Emergency desk', '--scope', 'blinded,unblind'],
  statistician: ['Trial statistics', '--scope', 'read,audit'],
  manager: ['Data management', '--scope', 'blinded,manage,correct'],
};
const http = served(STUDIES, GRANTS, { data, filled });
/** Arms and packs by id, as a key with `read` sees them. */
let records: Map<string, { trt: string; 'urn.code': string }>;
const armOf = (id: string) => records.get(id)?.trt ?? '';

const address = (id?: string) =>
  `${http.url}/pages/participant#${new URLSearchParams({ study: STUDY, ...(id !== undefined && { id }) })}`;

const codeBreaks = async () => (await http.get('statistician', '/code_breaks', { study: STUDY })).results;

/** @param except the address whose answer may name one */
async function expectNoArms(person: Person, except = /^$/): Promise<void> {
  const received = (await person.received()).filter(({ url }) => !except.test(url));
  for (const text of [...received.map(({ body }) => body), await person.page.content(), await person.kept()])
    for (const arm of ARMS) expect(text).not.toContain(arm);
}

async function filled(): Promise<void> {
  const entries = ARMS.flatMap((treatment, arm) =>
    Array.from({ length: 12 }, (_, i) => ({ code: `118-${200 + arm + 3 * i}`, treatment })),
  );
  await registerPacksIn(http.service.log, STUDY, [{ where: undefined, entries }]);
  const { randomize, list } = http.as('edc');
  for (let i = 0; i < 12; i++)
    expect((await randomize(STUDY, `30-01${70 + i}`, i % 2 === 0 ? COOK : DUPAGE)).status).toBe(200);
  records = new Map((await list(STUDY)).results.map((one: { id: string }) => [one.id, one]));
}

describeInBrowser('the page of a participant', () => {
  it('explains the arm to an auditor only on demand, because reading it is recorded', async () => {
    const auditor = await openAs(http.keys.statistician, address('30-0181'));
    await auditor.sees('ZZ');
    const readings = async () => (await auditor.received()).filter(({ url }) => url.includes('/explanation'));
    expect(await readings()).toEqual([]);
    await auditor.press('Show why this arm');
    await auditor.sees('The number drawn was');
    const [reading] = await readings();
    const { urns, trt, uniform } = JSON.parse(reading?.body ?? '').results;
    const urn = urns.find(({ selected }: { selected: boolean }) => selected);
    const row = auditor.page.getByRole('row').filter({ hasText: 'drawn from' });
    expect(await row.textContent()).toContain(`= ${urn.level}`);
    expect((await row.getByRole('cell').allInnerTexts()).slice(0, 3)).toEqual(urn.balls.map(String));
    expect(await auditor.countOf('img', `${uniform.toFixed(4)} falls on ${trt}`)).toBe(1);
    await auditor.look('participant-auditor');
  });

  it('breaks a code in an emergency, on a telephone, by two touches and a reason', async () => {
    const physician = await openAs(http.keys.physician, address(), {
      ...TELEPHONE,
      acting: 'Dr. K. Adeyemi',
    });
    const { page } = physician;
    await physician.fill({ 'Participant id': '30-0173' });
    await physician.press('Show the participant');
    await physician.seesHeading('30-0173');
    await expectNoArms(physician);
    await physician.press(EMERGENCY);
    const go = await page.getByRole('button', { name: SHOW }).boundingBox();
    expect((go?.y ?? 0) + (go?.height ?? 0)).toBeLessThan(TELEPHONE.viewport.height);
    // Nothing but the reason has to be given.
    await physician.press(SHOW);
    await physician.sees('Please check: Reason');
    await physician.fill({ Reason: 'anaphylaxis, ICU' });
    // At the end of the page, where the buttons that stay in sight cover no field.
    await page.evaluate('document.querySelector("dialog").scrollTo(0, 10_000)');
    await physician.look('break-narrow');
    const before = await codeBreaks();
    await physician.press(SHOW);
    const shown = page.getByRole('alert').getByText(armOf('30-0173'));
    await shown.waitFor();
    expect((await shown.boundingBox())?.height).toBeGreaterThan(38);
    await physician.look('broken-narrow');
    expect((await codeBreaks()).slice(before.length)).toMatchObject([
      { id: '30-0173', category: 'emergency', reason: 'anaphylaxis, ICU', on_behalf_of: 'Dr. K. Adeyemi' },
    ]);
    await physician.press('Hide it');
    await physician.sees('Code broken: emergency');
    await expectNoArms(physician, /\/code_breaks$/);
  });

  it('records a code-break once, though the answer was lost and it was asked for again', async () => {
    const physician = await openAs(http.keys.physician, address('30-0175'));
    const { page } = physician;
    await page.route('**/code_breaks', (route) => route.fetch().then(() => route.abort()));
    const before = await codeBreaks();
    await physician.press(EMERGENCY);
    await physician.fill({ Reason: 'status epilepticus' });
    await physician.press(SHOW);
    await physician.sees('The service did not answer', 'open the sealed envelope');
    await page.unroute('**/code_breaks');
    await physician.press(SHOW);
    await physician.isWarned(armOf('30-0175'));
    expect(await codeBreaks()).toHaveLength(before.length + 1);
    // The back button does not bring it back.
    await page.goto('about:blank');
    await page.goBack();
    await physician.sees('Code broken: emergency');
    expect(await physician.countOf('text', /ZZ/)).toBe(0);
  });

  it('shows the treatment though the log takes no writes, and says where it is recorded', async () => {
    const physician = await openAs(http.keys.physician, address('30-0177'));
    await physician.press(EMERGENCY);
    await physician.fill({ Reason: 'anaphylaxis' });
    onTestFinished(await hold(join(data, 'urn.sqlite')));
    await physician.press(SHOW);
    await physician.isWarned(armOf('30-0177'));
    await physician.sees('will go to the log by itself');
  });

  it('breaks the code of a pack when there is nothing else, for a key that may read nothing', async () => {
    const desk = await openAs(http.keys.desk, address('30-0174'));
    await desk.sees('Your key may not read');
    expect(await desk.countOf('heading', 'History')).toBe(0);
    await desk.page.goto(address());
    await desk.fill({ 'Number on the pack': records.get('30-0179')?.['urn.code'] ?? '' });
    await desk.press('Emergency: break the code of this pack');
    await desk.fill({ Reason: 'a child swallowed tablets' });
    await desk.press(SHOW);
    await desk.isWarned(armOf('30-0179'));
    await desk.page.getByText('30-0179').first().waitFor();
  });

  it('shows no button to those who may not use it, nor in German, and nothing of nobody', async () => {
    const manager = await openAs(http.keys.manager, address('30-0171'), TELEPHONE);
    await manager.seesHeading('History');
    expect(await manager.countOf('button', /break the code/)).toBe(0);
    expect(await manager.countOf('text', 'Why this arm')).toBe(0);
    await manager.press('Deutsch');
    await manager.seesHeading('Verlauf');
    await manager.fits('participant-narrow-german');
    await manager.page.goto(address('30-9999'));
    await manager.isWarned('There is no such participant');
  });
});
