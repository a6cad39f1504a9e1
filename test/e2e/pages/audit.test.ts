/** The page of an auditor, in a real browser. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  describeInBrowser,
  expectAccessible,
  openBrowser,
  type Person,
  picture,
  signIn,
  sitDown,
} from '../../support/browser.ts';
import { ask, clientOf } from '../../support/client.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const TABS = ['Operations', 'Records', 'Checkpoint', 'Verification', 'Bundle'];

describeInBrowser('the audit', () => {
  let service: Service;
  let browser: Browser;
  let auditor: Person;
  let page: Page;
  let keys: Record<'edc' | 'auditor' | 'ward', string>;

  const disclosures = async () => {
    const { results } = await ask(service.url, '/operations', { key: keys.auditor });
    return results
      .filter(({ type }: { type: string }) => type === 'EvidenceDisclosed')
      .map(({ data }: { data: { what: string } }) => data.what);
  };

  beforeAll(async () => {
    keys = await issueKeys(data, {
      edc: ['site-11', '--scope', 'read,randomize'],
      auditor: ['m.weber', '--scope', 'audit'],
      ward: ['ward', '--scope', 'audit', '--study', 'Ward'],
    });
    service = await serve({ data, studies: TRIALS });
    const edc = clientOf(service.url, keys.edc);
    for (const [id, levels] of [
      ['001', COOK],
      ['002', DUPAGE],
      ['002', COOK],
    ] as const)
      await edc.randomize('Sleep', id, levels);
    browser = await openBrowser();
    auditor = await sitDown(browser);
    ({ page } = auditor);
    await page.goto(`${service.url}/pages/audit#study=Sleep`);
    await signIn(auditor, keys.auditor);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.kill();
  });

  it('lists who was refused and who signed in', async () => {
    const list = page.getByRole('list', { name: 'Operations' });
    await list.getByText('Refused: the participant had already been assigned').waitFor();
    await list.getByText('Signed in to the pages').first().waitFor();
    await page.getByLabel('Show').selectOption('Sign-ins and sign-outs');
    expect(await list.getByText('Refused').count()).toBe(0);
    await page.getByLabel('Show').selectOption('Everything');
    await page.getByLabel('Only what is about this study').check();
    await list.getByText('Signed in').waitFor({ state: 'detached' });
    expect(await list.getByText('Refused').count()).toBe(1);
  });

  it('shows records on a press only, which is recorded', async () => {
    // By keyboard only.
    await page.getByRole('tab', { name: 'Operations' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText('Seeing them is recorded').waitFor();
    expect(await disclosures()).toEqual([]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Study registered').waitFor();
    expect(await page.getByText('Participant randomized').count()).toBe(2);
    expect(await disclosures()).toEqual(['records']);
    await page.getByText('The whole record').first().click();
    await page.getByText('"type": "ParticipantRandomized"').first().waitFor();
  });

  it('saves the checkpoint, and the proof that an earlier one is its beginning', async () => {
    await page.getByRole('tab', { name: 'Checkpoint' }).click();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the checkpoint as a file' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('checkpoint-3.txt');
    expect(readFileSync(await saved.path(), 'utf8')).toMatch(/\/study-[^\n]+\n3\n/);

    await page.getByLabel('Records of your earlier receipt').fill('2');
    const [proof] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the proof as a file' }).click(),
    ]);
    const { first, second } = JSON.parse(readFileSync(await proof.path(), 'utf8'));
    expect([first, second]).toEqual([2, 3]);
  });

  it('verifies, and says what was found', async () => {
    await page.getByRole('tab', { name: 'Verification' }).click();
    await page.getByRole('button', { name: 'Verify this study now' }).click();
    await page.getByText('Everything agrees').waitFor();
    await page.getByText('The service has verified itself').first().waitFor();
  });

  it('saves the bundle whose digest is recorded', async () => {
    await page.getByRole('tab', { name: 'Bundle' }).click();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the blinded bundle' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('Sleep-TEST-blinded.zip');
    await page.getByText(hash('sha256', readFileSync(await saved.path()))).waitFor();
    expect(await disclosures()).toContain('bundle');
  });

  it('is accessible, wide and narrow, light and dark', async () => {
    for (const [name, width, colorScheme] of [
      ['wide', 1280, 'light'],
      ['narrow', 360, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      for (const tab of TABS) {
        await page.getByRole('tab', { name: tab }).click();
        await page.getByRole('tabpanel', { name: tab }).waitFor();
        await expectAccessible(page);
        const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
        expect(overflow, `${tab} ${name}`).toBeLessThanOrEqual(0);
        await picture(page, `audit-${tab.toLowerCase()}-${name}`);
      }
    }
    expect(auditor.complaints).toEqual([]);
  });

  it('is without bundles for a key that is limited to studies', async () => {
    const ward = await sitDown(browser);
    await ward.page.goto(`${service.url}/pages/audit#study=Ward`);
    await signIn(ward, keys.ward);
    await ward.page.getByRole('tab').first().waitFor();
    expect(await ward.page.getByRole('tab').allTextContents()).toEqual(TABS.slice(0, -1));
    await ward.page.context().close();
  });
});
