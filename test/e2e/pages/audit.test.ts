/** The page of an auditor, in a real browser. */
import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeInBrowser, NARROW, openAs, type Person } from '../../support/browser.ts';
import { ask, clientOf } from '../../support/client.ts';
import { type InMemory, serveInMemory } from '../../support/service-here.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

interface Operation {
  readonly type: string;
  readonly actor: { readonly user: string };
  readonly data: { readonly what: string };
}
const GRANTS = {
  edc: ['site-11', '--scope', 'read,randomize'],
  auditor: ['m.weber', '--scope', 'audit'],
  second: ['a.second', '--scope', 'audit'],
  ward: ['ward', '--scope', 'audit', '--study', 'Ward'],
} as const;
const TABS = ['Operations', 'Records', 'Checkpoint', 'Verification', 'Bundle'];

describeInBrowser('the audit', () => {
  let service: InMemory<keyof typeof GRANTS>['service'];
  let keys: InMemory<keyof typeof GRANTS>['keys'];

  const disclosuresTo = async (user: string) => {
    const { results } = await ask(service.url, '/operations', { key: keys.auditor });
    return results
      .filter(({ type, actor }: Operation) => type === 'EvidenceDisclosed' && actor.user === user)
      .map(({ data }: Operation) => data.what);
  };

  beforeAll(async () => {
    ({ service, keys } = await serveInMemory(TRIALS, GRANTS));
    const edc = clientOf(service.url, keys.edc);
    for (const [id, levels] of [
      ['001', COOK],
      ['002', DUPAGE],
      ['002', COOK],
    ] as const)
      await edc.randomize('Sleep', id, levels);
  });
  afterAll(() => service?.stop());

  const atAudit = (key = keys.auditor, study = 'Sleep') =>
    openAs(key, `${service.url}/pages/audit#study=${study}`);
  const openTab = ({ page }: Person, name: string) => page.getByRole('tab', { name }).click();

  it('lists who was refused and who signed in', async () => {
    const auditor = await atAudit();
    const { page } = auditor;
    const list = page.getByRole('list', { name: 'Operations' });
    await list.getByText('Refused: the participant had already been assigned').waitFor();
    await list.getByText('Signed in to the pages').first().waitFor();
    await auditor.select({ Show: 'Sign-ins and sign-outs' });
    expect(await list.getByText('Refused').count()).toBe(0);
    await auditor.select({ Show: 'Everything' });
    await page.getByLabel('Only what is about this study').check();
    await expect.poll(() => list.getByText('Signed in').count()).toBe(0);
    expect(await list.getByText('Refused').count()).toBe(1);
  });

  it('shows records on a press only, which is recorded', async () => {
    const auditor = await atAudit(keys.second);
    const { page } = auditor;
    // By keyboard only.
    await page.getByRole('tab', { name: 'Operations' }).focus();
    await page.keyboard.press('ArrowRight');
    await auditor.sees('Seeing them is recorded');
    expect(await disclosuresTo('a.second')).toEqual([]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await auditor.sees('Study registered');
    expect(await disclosuresTo('a.second')).toEqual(['records']);
  });

  it('shows, saves and verifies all there is, wide and narrow, light and dark', async () => {
    const auditor = await atAudit();
    const { page } = auditor;
    await page.getByLabel('Only what is about this study').check();
    await openTab(auditor, 'Records');
    await auditor.press('Show the newest records');
    await auditor.sees('Study registered');
    expect(await auditor.countOf('text', 'Participant randomized')).toBe(2);
    await page.getByText('The whole record').first().click();
    await page.getByText('"type": "ParticipantRandomized"').first().waitFor();

    await openTab(auditor, 'Checkpoint');
    const checkpoint = await auditor.save('Save the checkpoint as a file');
    expect(checkpoint.name).toBe('checkpoint-3.txt');
    expect(checkpoint.bytes.toString()).toMatch(/\/study-[^\n]+\n3\n/);
    await auditor.fill({ 'Records of your earlier receipt': '2' });
    const proof = await auditor.save('Save the proof as a file');
    const { first, second } = JSON.parse(proof.bytes.toString());
    expect([first, second]).toEqual([2, 3]);

    await openTab(auditor, 'Verification');
    await auditor.press('Verify this study now');
    await auditor.sees('Everything agrees');
    await page.getByText('The service has verified itself').first().waitFor();

    await openTab(auditor, 'Bundle');
    const bundle = await auditor.save('Download the blinded bundle');
    expect(bundle.name).toBe('Sleep-TEST-blinded.zip');
    // The digest that is recorded.
    await auditor.sees(hash('sha256', bundle.bytes));
    expect(await disclosuresTo('m.weber')).toContain('bundle');

    const look = async (name: string) => {
      for (const tab of TABS) {
        await openTab(auditor, tab);
        await page.getByRole('tabpanel', { name: tab }).waitFor();
        await auditor.look(`audit-${tab.toLowerCase()}-${name}`);
      }
    };
    await look('wide');
    await page.setViewportSize(NARROW);
    await page.emulateMedia({ colorScheme: 'dark' });
    await look('narrow-dark');
  });

  it('is without bundles for a key that is limited to studies', async () => {
    const { page } = await atAudit(keys.ward, 'Ward');
    await page.getByRole('tab').first().waitFor();
    expect(await page.getByRole('tab').allTextContents()).toEqual(TABS.slice(0, -1));
  });
});
