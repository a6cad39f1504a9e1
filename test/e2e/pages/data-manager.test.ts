/** What a data manager does in the browser: each act is a form, a dry run in words, and one confirmation. */
import { beforeAll, expect, it, vi } from 'vitest';
import { describeInBrowser, openAs, type Person, TELEPHONE } from '../../support/browser.ts';
import { registerPacksIn } from '../../support/pack-lists.ts';
import { served } from '../../support/served.ts';

const study = 'ABC-2';
const STUDIES = `
${study}:
  mode: live
  blinding: blinded
  id_pattern: "[0-9]{3}"
  target_enrollment: 60
  limits: {total: 60, levels: {ward: {b: 20}}}
  treatments: [Left, Right]
  factors: {sex: [Female, Male], ward: [a, b, c]}
`;
const PACKS = ['Left', 'Right'].flatMap((treatment, arm) =>
  Array.from({ length: 10 }, (_, i) => ({ code: `P-${10 + 20 * arm + i}`, treatment })),
);
const GRANTS = {
  edc: ['edc', '--scope', 'randomize,read'],
  own: ['edc', '--scope', 'blinded,correct'],
  spelt: ['EDC', '--scope', 'blinded,correct'],
  auditor: ['auditor', '--scope', 'read,audit'],
  manager: ['Data management', '--scope', 'blinded,manage,correct'],
  pharmacist: ['Pharmacy', '--scope', 'read,supply,force'],
} as const;

// Nothing can have been given to anybody before the study was registered: an hour ago.
beforeAll(() => void vi.useFakeTimers({ now: Date.now() - 3_600_000, toFake: ['Date'] }));
async function filled(): Promise<void> {
  vi.useRealTimers();
  await registerPacksIn(http.service.log, study, [{ where: undefined, entries: PACKS }]);
  const { randomize } = http.as('edc');
  for (let i = 1; i <= 6; i++)
    expect((await randomize(study, `00${i}`, { sex: 'Female', ward: i % 2 ? 'a' : 'b' })).status).toBe(200);
}
const http = served(STUDIES, GRANTS, { filled });

const address = (page: string, more: Record<string, string> = {}) =>
  `${http.url}/pages/${page}#${new URLSearchParams({ study, ...more })}`;
const asManager = (page: string, more: Record<string, string> = {}) =>
  openAs(http.keys.manager, address(page, more));

const history = async (id: string) =>
  (await http.get('auditor', '/participant_history', { study, id })).results;
const design = async () => (await http.get('manager', '/study_design', { study })).results;

async function approve(person: Person): Promise<void> {
  await person.page.getByLabel('Name', { exact: true }).fill('Dr. A. Ruiz');
  await person.fill({ 'Role, such as sponsor': 'sponsor', Day: '2026-03-01' });
}

describeInBrowser('a data manager', () => {
  it('corrects a level', async () => {
    const manager = await asManager('participant', { id: '001' });
    await manager.follow('Correct a level');
    await manager.press('See what will happen');
    await manager.sees('Please check: Correct level of Sex, Cause, Note');
    await manager.select({ 'Correct level of Sex': 'Male' });
    await manager.choose({ Cause: 'data entry error' });
    await manager.fill({ Note: 'source record of 14 July' });
    expect(await manager.lookAhead()).toContain('Later allocations count this participant as Male.');
    expect(await history('001')).toHaveLength(1);
    await manager.look('correct-review');
    await manager.press('Record the correction');
    await manager.seesHeading('The correction is recorded');
    expect(await manager.page.locator('.head').textContent()).toContain(study);
    expect(await history('001')).toHaveLength(2);
    await manager.follow('Back to the participant');
    await manager.sees('Sex corrected: Female → Male', '(Female as randomized)');
  });

  it('voids a duplicate, takes it back, corrects an id, and reports an unblinding', async () => {
    const manager = await asManager('participant', { id: '002' });
    await manager.follow('Mark as randomized in error');
    await manager.choose({ Cause: 'randomized twice' });
    await manager.fill({ 'Id of the record that stays': '001', Note: 'screened twice' });
    await manager.choose({ 'Analysis, as far as you know': 'not to be analysed' });
    expect(await manager.confirm('Void the participant')).toContain('still count this participant');
    await manager.follow('Back to the participant');
    await manager.sees('the same person as 001');
    await manager.follow('Undo the voiding');
    await manager.fill({ Note: 'was another person' });
    await manager.confirm('Undo the voiding');
    await manager.follow('Back to the participant', 'Correct the id');
    await manager.fill({ 'The correct id': '1234' });
    await manager.choose({ Cause: 'data entry error' });
    await manager.press('See what will happen');
    // The service says why it is refused.
    await manager.isWarned(/pattern/);
    await manager.fill({ 'The correct id': '702' });
    await manager.confirm('Correct the id');
    await manager.follow('Back to the participant');
    await manager.page.getByRole('heading', { name: '702', level: 1 }).waitFor();
    await manager.follow('Report an unblinding');
    await manager.choose({ 'How did the treatment become known?': 'envelope opened' });
    await manager.fill({ When: '2026-11-22T23:30', Reason: 'torn in the post' });
    await manager.page.getByLabel('It was not intended').check();
    await manager.confirm('Record the report');
    await manager.follow('Back to the participant');
    await manager.sees('Unblinding reported: envelope opened');
    const events = await history('702');
    expect(events.map(({ type }: { type: string }) => type)).toEqual([
      ...['ParticipantRandomized', 'AllocationVoided', 'AllocationReinstated', 'ParticipantIdCorrected'],
      'UnblindingReported',
    ]);
    // The field is in the reader's zone, Berlin.
    expect(events[4].data).toMatchObject({ occurredAt: '2026-11-22T22:30:00.000Z', inadvertent: true });
  });

  it('is told to ask a second person about a participant whom the same user randomized', async () => {
    const toVoid = address('participant', { id: '003', act: 'void' });
    const own = await openAs(http.keys.own, toVoid);
    await own.isWarned(/The user of this key randomized this participant/);
    const spelt = await openAs(http.keys.spelt, toVoid);
    await spelt.choose({ Cause: 'randomized twice' });
    await spelt.fill({ Note: 'screened twice' });
    await spelt.choose({ 'Analysis, as far as you know': 'not to be analysed' });
    await spelt.press('See what will happen');
    await spelt.isWarned(/Ask a second person who may correct/);
    expect(await history('003')).toHaveLength(1);
  });

  it('pauses and resumes a study, and amends it with an approval; a stale amendment is refused', async () => {
    const manager = await asManager('manage');
    await manager.follow('Pause the study');
    await manager.fill({ Reason: 'drug supply is being checked' });
    expect(await manager.confirm('Pause the study')).toContain('Nobody can be randomized');
    await manager.follow('Back to');
    await manager.sees('drug supply is being checked');
    expect((await design()).state).toBe('paused');
    // Whatever the form, a refusal is told in the words of the page.
    await manager.page.goto(address('manage', { act: 'reopen' }));
    await manager.fill({ Reason: 'supplied again' });
    await approve(manager);
    await manager.press('See what will happen');
    await manager.isWarned('Nobody can be randomized until it is resumed.');
    await manager.look('manage-refused');
    await manager.page.goto(address('manage'));
    await manager.follow('Resume the study');
    await manager.fill({ Reason: 'supplied again' });
    await manager.confirm('Resume the study');
    await manager.seesHeading('takes participants again');
    await manager.follow('Back to', 'Close a level');
    await manager.page.getByLabel('Which level?').selectOption({ label: 'Ward: b' });
    await manager.fill({ Reason: 'no staff' });
    await manager.press('See what will happen');
    await manager.sees('Please check: Name, Role, such as sponsor, Day');
    await approve(manager);
    const said = await manager.confirm('Amend the study');
    expect(said).toContain('No new participant gets b. The 3 participants who have it keep it');
    await manager.follow('Back to');
    await manager.sees('1 amendment so far');
    await manager.lookTwice('manage');

    await manager.follow('Change limits and target');
    await manager.fill({ Target: '80', 'Most participants in the whole study': '80' });
    await manager.fill({ Reason: 'more are needed' });
    await approve(manager);
    await manager.press('See what will happen');
    await manager.sees('At most 80 participants; 6 so far.', 'At most 20 with Ward b; 3 so far.');
    // Meanwhile somebody else is faster.
    const third = ['arm-added', 'arm-closed'].map((kind) => ({ kind, treatment: 'Third' }));
    const approvals = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01' }];
    const body = { study, amendment: 2, reason: 'a third arm, for a moment', changes: third, approvals };
    await http.done('manager', '/amendments', body);
    await manager.press('Amend the study');
    await manager.isWarned(/Nothing was recorded/);
    expect((await design()).design).toMatchObject({ amendment: 2, target: 60 });

    await manager.page.goto(address('manage'));
    await manager.page.reload();
    await manager.sees('Third · closed');
    await manager.follow('Stop a closed treatment');
    await manager.select({ 'Which treatment?': 'Third' });
    await manager.fill({ Reason: 'unsafe' });
    await approve(manager);
    expect(await manager.confirm('Amend the study')).toContain('Nobody on Third gets a pack any more');
    await manager.follow('Back to');
    await manager.sees('Third · stopped');
    expect(await manager.countOf('link', 'Stop a closed treatment')).toBe(0);

    await manager.follow('Change visits');
    await manager.fill({ 'Visits at which participants get another pack': ' V2\n\nWeek 12 ' });
    await manager.fill({ Reason: 'treatment goes on' });
    await approve(manager);
    expect(await manager.confirm('Amend the study')).toContain('packs at V2, Week 12.');
    await manager.follow('Back to');
    await manager.page.getByText('V2, Week 12', { exact: true }).waitFor();
    expect((await design()).design).toMatchObject({
      ...{ amendment: 4, visits: ['V2', 'Week 12'], stopped_treatments: ['Third'] },
    });
  });

  it('lets a pharmacist enter an allocation from an outage, on a telephone', async () => {
    const pharmacist = await openAs(http.keys.pharmacist, address('manage'), TELEPHONE);
    const pack = pharmacist.page.getByLabel('Pack that was given');
    expect(await pharmacist.countOf('link', 'Pause the study')).toBe(0);
    await pharmacist.follow('Enter an allocation made outside');
    const given = new Date(Date.now() - 600_000);
    const inBerlin = given.toLocaleString('sv-SE', {
      ...{ timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'short' },
    });
    await pharmacist.fill({ 'Participant id': '010', Note: 'envelope 12' });
    await pharmacist.fill({ 'When it was given': inBerlin.replace(' ', 'T') });
    await pharmacist.select({ Sex: 'Male', Ward: 'a', 'Treatment that was given': 'Right' });
    await pharmacist.choose({ Cause: 'the service could not be reached' });
    // It has to be said whether there was a pack.
    await pharmacist.choose({ 'Was a pack given?': 'a pack of the study' });
    await pack.waitFor();
    await pharmacist.choose({ 'Was a pack given?': 'none' });
    expect(await pack.count()).toBe(0);
    await pharmacist.fits('force-narrow');
    const said = await pharmacist.confirm('Enter the allocation');
    expect(said).toContain('010 is entered with the treatment Right');
    await pharmacist.follow('Back to');
    const [{ data: entered }] = await history('010');
    expect(Date.parse(entered.occurredAt)).toBe(given.setUTCSeconds(0, 0));
  });
});
