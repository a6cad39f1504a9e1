/** The page of a participant: what it shows to each reader, emergencies, and what a data manager does there. */
import { join } from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
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
import { hold } from '../../support/held-lock.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
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
const TELEPHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } as const;

const data = temporaryFolders()();
let service: ServiceHere;
let keys: Record<'edc' | 'desk' | 'physician' | 'cook' | 'statistician' | 'manager', string>;
/** Arms and packs by id, as a key with `read` sees them. */
let records: Map<string, { trt: string; 'urn.code': string }>;

const address = (id?: string) =>
  `${service.url}/pages/participant#${new URLSearchParams({ study: STUDY, ...(id !== undefined && { id }) })}`;

/** Somebody who has signed in at a page. */
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

const codeBreaks = async () =>
  (await ask(service.url, '/code_breaks', { key: keys.statistician, parameters: { study: STUDY } })).results;

async function expectNoArms({ page, received }: Person, except: RegExp): Promise<void> {
  const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
  const seen = (await received()).filter(({ url }) => !except.test(url)).map(({ body }) => body);
  for (const text of [await page.content(), String(stored), ...seen])
    for (const arm of ARMS) expect(text).not.toContain(arm);
}

describeInBrowser('the page of a participant', () => {
  beforeAll(async () => {
    const ofCook = ['--study', STUDY, '--where', `local_site=${COOK.local_site}`];
    keys = await issueKeys(data, {
      edc: ['edc', '--scope', 'randomize,read'],
      desk: ['Night desk', '--scope', 'unblind'],
      physician: ['Emergency desk', '--scope', 'blinded,unblind'],
      cook: ['Site 11', '--scope', 'blinded,unblind', ...ofCook],
      statistician: ['Trial statistics', '--scope', 'read,audit'],
      manager: ['Data management', '--scope', 'blinded,manage,correct'],
    });
    service = await serveHere(data, STUDIES);
    const entries = ARMS.flatMap((treatment, arm) =>
      Array.from({ length: 12 }, (_, i) => ({
        code: `118 ${200 + arm + 3 * i}`.replace(' ', '-'),
        treatment,
      })),
    );
    await registerPacks(data, STUDY, [{ where: undefined, entries }]);
    const { randomize, list } = clientOf(service.url, keys.edc);
    for (let i = 0; i < 12; i++) {
      const levels = i % 2 === 0 ? COOK : { ...DUPAGE, sex: i % 3 === 0 ? 'Male' : 'Female' };
      expect((await randomize(STUDY, `30-01${70 + i}`, levels)).status).toBe(200);
    }
    records = new Map((await list(STUDY)).results.map((one: { id: string }) => [one.id, one]));
  });
  afterAll(async () => {
    await service?.stop();
  });

  it('explains the arm to an auditor only on demand, because reading it is recorded', async () => {
    const auditor = await open(keys.statistician, address('30-0181'), { colorScheme: 'dark' });
    const { page } = auditor;
    await page.getByText('ZZ').waitFor();
    const readings = async () => (await auditor.received()).filter(({ url }) => url.includes('/explanation'));
    expect(await readings()).toEqual([]);
    await page.getByRole('button', { name: 'Show why this arm' }).click();
    await page.getByRole('heading', { name: 'Why this arm' }).and(page.locator(':focus')).waitFor();
    await page.getByText('The number drawn was').waitFor();
    expect(await readings()).toHaveLength(1);
    const [reading] = await readings();
    const { urns, trt, uniform, selected_factor, revision } = JSON.parse(reading?.body ?? '').results;
    const urn = urns.find(({ selected }: { selected: boolean }) => selected);
    const row = page.getByRole('row').filter({ hasText: 'drawn from' });
    expect(await row.textContent()).toMatch(new RegExp(`= ${urn.level}`));
    expect((await row.getByRole('cell').allInnerTexts()).slice(0, 3)).toEqual(urn.balls.map(String));
    expect(selected_factor).toBe(urn.factor);
    const line = page.getByRole('img', { name: `${uniform.toFixed(4)} falls on ${trt}` });
    expect(await line.count()).toBe(1);
    expect(revision).toBeGreaterThan(0);
    await expectAccessible(page);
    await picture(page, 'participant-auditor-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await expectAccessible(page);
    await picture(page, 'participant-auditor');
    expect(auditor.complaints).toEqual([]);
  });

  it('breaks a code in an emergency, on a telephone, by two touches and a reason', async () => {
    const physician = await open(keys.physician, address(), { ...TELEPHONE, acting: 'Dr. K. Adeyemi' });
    const { page } = physician;
    await page.getByLabel('Participant id').fill('30-0173');
    await page.getByRole('button', { name: 'Show the participant' }).tap();
    await page.getByRole('heading', { name: '30-0173' }).waitFor();
    await expectNoArms(physician, /^$/);
    await picture(page, 'participant-narrow');
    await page.getByRole('button', { name: 'Emergency: break the code' }).tap();
    const go = await page.getByRole('button', { name: 'Show the treatment now' }).boundingBox();
    expect((go?.y ?? 0) + (go?.height ?? 0)).toBeLessThan(TELEPHONE.viewport.height);
    // Nothing but the reason has to be given.
    await page.getByRole('button', { name: 'Show the treatment now' }).tap();
    await page.getByText('Please check: Reason').waitFor();
    await picture(page, 'break-narrow-problem');
    await page.getByLabel('Reason').fill('anaphylaxis, ICU');
    await picture(page, 'break-narrow');
    // At the end of the page, where the buttons that stay in sight cover no field.
    await page.evaluate('document.querySelector("dialog").scrollTo(0, 10_000)');
    await expectAccessible(page);
    const before = await codeBreaks();
    await page.getByRole('button', { name: 'Show the treatment now' }).tap();
    const arm = records.get('30-0173')?.trt ?? '';
    const shown = page.getByRole('alert').getByText(arm);
    await shown.waitFor();
    expect((await shown.boundingBox())?.height).toBeGreaterThan(38);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await expectAccessible(page);
    await picture(page, 'broken-narrow');
    expect((await codeBreaks()).slice(before.length)).toMatchObject([
      { id: '30-0173', category: 'emergency', reason: 'anaphylaxis, ICU', on_behalf_of: 'Dr. K. Adeyemi' },
    ]);
    await page.getByRole('button', { name: 'Hide it' }).tap();
    await page.getByText('Code broken: emergency').waitFor();
    await expectNoArms(physician, /\/code_breaks$/);
    expect(physician.complaints).toEqual([]);
  });

  it('records a code-break once, though the answer was lost and it was asked for again', async () => {
    const { page, complaints } = await open(keys.physician, address('30-0175'));
    await page.route('**/code_breaks', async (route) => {
      await route.fetch();
      await route.abort();
    });
    const before = await codeBreaks();
    await page.getByRole('button', { name: 'Emergency: break the code' }).click();
    await page.getByLabel('Reason').fill('status epilepticus');
    const show = page.getByRole('button', { name: 'Show the treatment now' });
    await show.click();
    await page.getByText('The service did not answer').waitFor();
    await page.getByText('open the sealed envelope').waitFor();
    await page.unroute('**/code_breaks');
    await show.click();
    await page
      .getByRole('alert')
      .getByText(records.get('30-0175')?.trt ?? '')
      .waitFor();
    expect(await codeBreaks()).toHaveLength(before.length + 1);
    await picture(page, 'broken');
    await page.emulateMedia({ media: 'print' });
    await picture(page, 'broken-print');
    await page.emulateMedia({ media: 'screen' });
    // The back button does not bring it back.
    await page.goto('about:blank');
    await page.goBack();
    await page.getByText('Code broken: emergency').waitFor();
    expect(await page.getByText(/ZZ/).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('shows the treatment though the log takes no writes, and says where it is recorded', async () => {
    const { page } = await open(keys.physician, address('30-0177'));
    await page.getByRole('button', { name: 'Emergency: break the code' }).click();
    await page.getByLabel('Reason').fill('anaphylaxis');
    const release = await hold(join(data, 'urn.sqlite'));
    try {
      await page.getByRole('button', { name: 'Show the treatment now' }).click();
      await page
        .getByRole('alert')
        .getByText(records.get('30-0177')?.trt ?? '')
        .waitFor();
      await page.getByText('will go to the log by itself').waitFor();
      await picture(page, 'broken-pending');
    } finally {
      await release();
    }
  });

  it('breaks the code of a pack when there is nothing else', async () => {
    const { page, complaints } = await open(keys.physician, address());
    const { trt = '', 'urn.code': code = '' } = records.get('30-0179') ?? {};
    await page.getByLabel('Number on the pack').fill(code);
    await page.getByRole('button', { name: 'Emergency: break the code of this pack' }).click();
    await page.getByLabel('Reason').fill('a child swallowed tablets');
    await page.getByRole('button', { name: 'Show the treatment now' }).click();
    await page.getByRole('alert').getByText(trt).waitFor();
    await page.getByText('30-0179').first().waitFor();
    expect(complaints).toEqual([]);
  });

  it('breaks a code for a key that may read nothing', async () => {
    const { page, complaints } = await open(keys.desk, address('30-0174'));
    await page.getByText('Your key may not read').waitFor();
    expect(await page.getByRole('heading', { name: 'History' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Emergency: break the code' }).click();
    await page.getByLabel('Reason').fill('anaphylaxis');
    await page.getByRole('button', { name: 'Show the treatment now' }).click();
    await page
      .getByRole('alert')
      .getByText(records.get('30-0174')?.trt ?? '')
      .waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows a key of one site nothing of the others, and no button to those who may not use it', async () => {
    const cook = await open(keys.cook, address('30-0171'));
    await cook.page.getByText('There is no such participant').waitFor();
    const { page } = await open(keys.manager, address('30-0171'), TELEPHONE);
    await page.getByRole('heading', { name: 'History' }).waitFor();
    expect(await page.getByRole('button', { name: /break the code/ }).count()).toBe(0);
    expect(await page.getByText('Why this arm').count()).toBe(0);
    await page.getByRole('button', { name: 'Deutsch' }).tap();
    await page.getByRole('heading', { name: 'Verlauf' }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await picture(page, 'participant-narrow-german');
  });
});
