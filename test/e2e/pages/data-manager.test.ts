/** What a data manager does in the browser: each act is a form, a dry run in words, and one confirmation. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
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

/** One for each test. */
const NAMES = ['ABC-2', 'ABC-3', 'ABC-4', 'ABC-5', 'ABC-6', 'ABC-7', 'ABC-8'];
const STUDIES = NAMES.map(
  (name) => `
${name}:
  mode: live
  blinding: blinded
  id_pattern: "[0-9]{3}"
  target_enrollment: 60
  limits:
    total: 60
    levels:
      ward: { b: 20 }
  treatments: [Left, Right]
  factors:
    sex: [Female, Male]
    ward: [a, b, c]
`,
).join('');
const PACKS = ['Left', 'Right'].flatMap((treatment) =>
  Array.from({ length: 10 }, (_, i) => ({
    code: `P-${treatment === 'Left' ? 10 + i : 30 + i}`,
    treatment,
  })),
);

const data = temporaryFolders()();
let service: ServiceHere;
/** Of this test, with packs and six participants. */
let study: string;
let keys: Record<'edc' | 'auditor' | 'manager' | 'pharmacist', string>;

const address = (page: string, more: Record<string, string> = {}) =>
  `${service.url}/pages/${page}#${new URLSearchParams({ study, ...more })}`;

async function open(key: string, url: string, options: BrowserContextOptions = {}): Promise<Person> {
  const person = await sitDown(options);
  await person.page.goto(url);
  await signIn(person, key);
  return person;
}

const history = async (id: string) =>
  (await ask(service.url, '/participant_history', { key: keys.auditor, parameters: { study, id } })).results;
const design = async () =>
  (await ask(service.url, '/study_design', { key: keys.manager, parameters: { study } })).results;

/** Fills in the reason, looks at what will happen, and confirms. @returns what the page said would happen */
async function confirm(page: Page, button: string): Promise<string> {
  await page.getByRole('button', { name: 'See what will happen' }).click();
  const review = page.locator('section').filter({ hasText: 'What will happen' });
  const said = (await review.locator('.notice').textContent()) ?? '';
  await page.getByRole('button', { name: button }).click();
  return said;
}

async function choose(page: Page, group: string, option: string): Promise<void> {
  await page.getByRole('radiogroup', { name: group }).getByText(option, { exact: true }).click();
}

async function approve(page: Page): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill('Dr. A. Ruiz');
  await page.getByLabel('Role, such as sponsor').fill('sponsor');
  await page.getByLabel('Day').fill('2026-03-01');
}

/** Nothing can have been given to anybody before the study was registered. */
async function registerAnHourAgo(): Promise<void> {
  vi.useFakeTimers({ now: Date.now() - 3_600_000, toFake: ['Date'] });
  try {
    await (await serveHere(data, STUDIES)).stop();
  } finally {
    vi.useRealTimers();
  }
}

describeInBrowser('a data manager', () => {
  beforeAll(async () => {
    await registerAnHourAgo();
    keys = await issueKeys(data, {
      edc: ['edc', '--scope', 'randomize,read'],
      auditor: ['auditor', '--scope', 'read,audit'],
      manager: ['Data management', '--scope', 'blinded,manage,correct'],
      pharmacist: ['Pharmacy', '--scope', 'read,supply,force'],
    });
    service = await serveHere(data, STUDIES);
  });
  beforeEach(async () => {
    study = NAMES.shift() ?? '';
    await registerPacks(data, study, [{ where: undefined, entries: PACKS }]);
    const { randomize } = clientOf(service.url, keys.edc);
    for (let i = 1; i <= 6; i++)
      expect((await randomize(study, `00${i}`, { sex: 'Female', ward: i % 2 ? 'a' : 'b' })).status).toBe(200);
  });
  afterAll(async () => {
    await service?.stop();
  });

  it('corrects a level, once, though the confirmation was lost and pressed again', async () => {
    const { page, complaints } = await open(keys.manager, address('participant', { id: '001' }));
    await page.getByRole('link', { name: 'Correct a level' }).click();
    await page.getByRole('button', { name: 'See what will happen' }).click();
    await page.getByText('Please check: Correct level of Sex, Cause, Note').waitFor();
    await picture(page, 'correct-problems');
    await page.getByLabel('Correct level of Sex').selectOption('Male');
    await choose(page, 'Cause', 'data entry error');
    await page.getByLabel('Note').fill('source record of 14 July');
    await page.getByRole('button', { name: 'See what will happen' }).click();
    await page.getByText('Later allocations count this participant as Male.').waitFor();
    expect(await history('001')).toHaveLength(1);
    await expectAccessible(page);
    await picture(page, 'correct-review');
    await page.route('**/level_corrections', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Record the correction' }).click();
    await page.getByText('it is recorded at most once').waitFor();
    await page.unroute('**/level_corrections');
    await page.getByRole('button', { name: 'Record the correction' }).click();
    await page.getByRole('heading', { name: 'The correction is recorded' }).waitFor();
    expect(await page.locator('.head').textContent()).toContain(study);
    expect(await history('001')).toHaveLength(2);
    await page.getByRole('link', { name: 'Back to the participant' }).click();
    await page.getByText('Sex corrected: Female → Male').waitFor();
    await page.getByText('(Female as randomized)').waitFor();
    await picture(page, 'participant-corrected');
    expect(complaints).toEqual([]);
  });

  it('voids a duplicate, takes it back, and corrects an id', async () => {
    const { page, complaints } = await open(keys.manager, address('participant', { id: '002' }));
    await page.getByRole('link', { name: 'Mark as randomized in error' }).click();
    await choose(page, 'Cause', 'randomized twice');
    await page.getByLabel('Id of the record that stays').fill('001');
    await choose(page, 'Analysis, as far as you know', 'not to be analysed');
    await page.getByLabel('Note').fill('screened twice');
    expect(await confirm(page, 'Void the participant')).toContain('still count this participant');
    await page.getByRole('link', { name: 'Back to the participant' }).click();
    await page.getByText('the same person as 001').waitFor();
    await page.getByRole('link', { name: 'Undo the voiding' }).click();
    await page.getByLabel('Note').fill('was another person');
    await confirm(page, 'Undo the voiding');
    await page.getByRole('link', { name: 'Back to the participant' }).click();
    await page.getByRole('link', { name: 'Correct the id' }).click();
    await page.getByLabel('The correct id').fill('1234');
    await choose(page, 'Cause', 'data entry error');
    await page.getByRole('button', { name: 'See what will happen' }).click();
    // The service says why it is refused.
    await page
      .getByRole('alert')
      .getByText(/pattern/)
      .waitFor();
    await page.getByLabel('The correct id').fill('702');
    await confirm(page, 'Correct the id');
    await page.getByRole('link', { name: 'Back to the participant' }).click();
    await page.getByRole('heading', { name: '702', level: 1 }).waitFor();
    expect((await history('702')).map(({ type }: { type: string }) => type)).toEqual([
      'ParticipantRandomized',
      'AllocationVoided',
      'AllocationReinstated',
      'ParticipantIdCorrected',
    ]);
    await picture(page, 'participant-life');
    expect(complaints).toEqual([]);
  });

  it('reports an unblinding, whose record names no treatment', async () => {
    const { page } = await open(keys.manager, address('participant', { id: '003' }));
    await page.getByRole('link', { name: 'Report an unblinding' }).click();
    await choose(page, 'How did the treatment become known?', 'envelope opened');
    await page.getByLabel('When').fill('2026-11-22T23:30');
    await page.getByLabel('It was not intended').check();
    await page.getByLabel('Reason').fill('torn in the post');
    await confirm(page, 'Record the report');
    await page.getByRole('link', { name: 'Back to the participant' }).click();
    await page.getByText('Unblinding reported: envelope opened').waitFor();
    const [, { data: reported }] = await history('003');
    // The field is in the reader's zone, Berlin.
    expect(reported).toMatchObject({ occurredAt: '2026-11-22T22:30:00.000Z', inadvertent: true });
  });

  it('pauses and resumes a study, with the reason that everybody sees', async () => {
    const { page, complaints } = await open(keys.manager, address('manage'));
    await page.getByRole('link', { name: 'Pause the study' }).click();
    await page.getByLabel('Reason').fill('drug supply is being checked');
    expect(await confirm(page, 'Pause the study')).toContain('Nobody can be randomized');
    await page.getByRole('link', { name: 'Back to' }).click();
    await page.getByText('drug supply is being checked').waitFor();
    expect((await design()).state).toBe('paused');
    await picture(page, 'manage-paused');
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Resume the study' }).click();
    await page.getByLabel('Reason').fill('supplied again');
    await confirm(page, 'Resume the study');
    await page.getByRole('heading', { name: 'takes participants again' }).waitFor();
    expect((await design()).state).toBe('open');
    expect(complaints).toEqual([]);
  });

  it('amends a live study with an approval: closes a level, raises limits; a stale amendment is refused', async () => {
    const { page, complaints } = await open(keys.manager, address('manage'), { colorScheme: 'dark' });
    await page.getByRole('link', { name: 'Close a level' }).click();
    await page.getByLabel('Which level?').selectOption({ label: 'Ward: b' });
    await page.getByLabel('Reason').fill('no staff');
    await page.getByRole('button', { name: 'See what will happen' }).click();
    await page.getByText('Please check: Name, Role, such as sponsor, Day').waitFor();
    await approve(page);
    const said = await confirm(page, 'Amend the study');
    expect(said).toContain('No new participant gets b. The 3 participants who have it keep it');
    await page.getByRole('link', { name: 'Back to' }).click();
    await page.getByText('1 amendment so far').waitFor();
    await picture(page, 'manage-dark');
    await expectAccessible(page);

    await page.getByRole('link', { name: 'Change limits and target' }).click();
    await page.getByLabel('Target').fill('80');
    await page.getByLabel('Most participants in the whole study').fill('80');
    await page.getByLabel('Reason').fill('more are needed');
    await approve(page);
    await page.getByRole('button', { name: 'See what will happen' }).click();
    await page.getByText('At most 80 participants; 6 so far.').waitFor();
    await page.getByText('At most 20 with Ward b; 3 so far.').waitFor();
    // Meanwhile somebody else is faster.
    const other = await postJson(service.url, '/amendments', keys.manager, {
      ...{ study, amendment: 2, reason: 'a fourth ward' },
      changes: [{ kind: 'level-added', factor: 'ward', level: 'd' }],
      approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01' }],
    });
    expect(other.status).toBe(200);
    await page.getByRole('button', { name: 'Amend the study' }).click();
    await page
      .getByRole('alert')
      .getByText(/Nothing was recorded/)
      .waitFor();
    expect((await design()).design).toMatchObject({ amendment: 2, target: 60 });
    expect(complaints).toEqual([]);
  });

  it('stops a treatment that is closed, and says at which visits packs are given out', async () => {
    const before = await postJson(service.url, '/amendments', keys.manager, {
      ...{ study, amendment: 1, reason: 'a third arm, for a moment' },
      changes: [
        { kind: 'arm-added', treatment: 'Third' },
        { kind: 'arm-closed', treatment: 'Third' },
      ],
      approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01' }],
    });
    expect(before.status).toBe(200);
    const { page, complaints } = await open(keys.manager, address('manage'));
    await page.getByText('Third · closed').waitFor();
    await page.getByRole('link', { name: 'Stop a closed treatment' }).click();
    await page.getByLabel('Which treatment?').selectOption('Third');
    await page.getByLabel('Reason').fill('unsafe');
    await approve(page);
    expect(await confirm(page, 'Amend the study')).toContain('Nobody on Third gets a pack any more');
    await page.getByRole('link', { name: 'Back to' }).click();
    await page.getByText('Third · stopped').waitFor();
    expect(await page.getByRole('link', { name: 'Stop a closed treatment' }).count()).toBe(0);

    await page.getByRole('link', { name: 'Change visits' }).click();
    await page.getByLabel('Visits at which participants get another pack').fill(' V2\n\nWeek 12 ');
    await page.getByLabel('Reason').fill('treatment goes on');
    await approve(page);
    expect(await confirm(page, 'Amend the study')).toContain('packs at V2, Week 12.');
    await page.getByRole('link', { name: 'Back to' }).click();
    await page.getByText('V2, Week 12', { exact: true }).waitFor();
    await picture(page, 'manage-visits');
    await expectAccessible(page);
    expect((await design()).design).toMatchObject({
      ...{ amendment: 3, visits: ['V2', 'Week 12'], stopped_treatments: ['Third'] },
    });
    expect(complaints).toEqual([]);
  });

  it('lets a pharmacist enter an allocation from an outage, replace a pack and withdraw others, on a telephone', async () => {
    const { page, complaints } = await open(keys.pharmacist, address('manage'), {
      ...{ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
    });
    expect(await page.getByRole('link', { name: 'Pause the study' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Enter an allocation made outside' }).tap();
    await page.getByLabel('Participant id').fill('010');
    await page.getByLabel('Sex').selectOption('Male');
    await page.getByLabel('Ward').selectOption('a');
    await page.getByLabel('Treatment that was given').selectOption('Right');
    const given = new Date(Date.now() - 600_000);
    const inBerlin = given.toLocaleString('sv-SE', {
      ...{ timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'short' },
    });
    await page.getByLabel('When it was given').fill(inBerlin.replace(' ', 'T'));
    await choose(page, 'Cause', 'the service could not be reached');
    // It has to be said whether there was a pack.
    await choose(page, 'Was a pack given?', 'a pack of the study');
    await page.getByLabel('Pack that was given').waitFor();
    await choose(page, 'Was a pack given?', 'none');
    expect(await page.getByLabel('Pack that was given').count()).toBe(0);
    await page.getByLabel('Note').fill('envelope 12');
    await picture(page, 'force-narrow');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    expect(await confirm(page, 'Enter the allocation')).toContain('010 is entered with the treatment Right');
    await page.getByRole('link', { name: 'Back to' }).tap();
    const [{ data: entered }] = await history('010');
    expect(Date.parse(entered.occurredAt)).toBe(given.setUTCSeconds(0, 0));
    await picture(page, 'manage-narrow');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await page.getByRole('link', { name: 'Withdraw packs that nobody has' }).tap();
    const { codes } = (await ask(service.url, '/codes', { key: keys.pharmacist, parameters: { study } }))
      .results;
    const free = codes.filter(({ state }: { state: string }) => state === 'free').slice(0, 2);
    await page
      .getByLabel('Numbers of the packs')
      .fill(free.map(({ code }: { code: string }) => code).join('\n'));
    await page.getByLabel('Reason').fill('the cold chain was broken');
    expect(await confirm(page, 'Withdraw the packs')).toContain('2 packs are withdrawn');
    await page.getByRole('heading', { name: 'The packs are withdrawn' }).waitFor();
    await page.goto(address('participant', { id: '004' }));
    await page.getByRole('link', { name: 'Replace the pack' }).tap();
    await choose(page, 'Cause', 'damaged');
    await confirm(page, 'Assign another pack');
    await page.getByRole('heading', { name: 'Hand out this pack' }).waitFor();
    const [, { data: replaced }] = await history('004');
    await page.getByText(replaced.by).waitFor();
    await picture(page, 'pack-replaced-narrow');
    expect(complaints).toEqual([]);
  });
});
