/** The page of an auditor, in a real browser. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Download, Page } from 'playwright-core';
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
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
interface Operation {
  readonly type: string;
  readonly actor: { readonly user: string };
  readonly data: { readonly what: string };
}
const TABS = ['Operations', 'Records', 'Checkpoint', 'Verification', 'Bundle'];

describeInBrowser('the audit', () => {
  let service: ServiceHere;
  let keys: Record<'edc' | 'auditor' | 'second' | 'ward', string>;

  const disclosuresTo = async (user: string) => {
    const { results } = await ask(service.url, '/operations', { key: keys.auditor });
    return results
      .filter(({ type, actor }: Operation) => type === 'EvidenceDisclosed' && actor.user === user)
      .map(({ data }: Operation) => data.what);
  };

  beforeAll(async () => {
    keys = await issueKeys(data, {
      edc: ['site-11', '--scope', 'read,randomize'],
      auditor: ['m.weber', '--scope', 'audit'],
      second: ['a.second', '--scope', 'audit'],
      ward: ['ward', '--scope', 'audit', '--study', 'Ward'],
    });
    service = await serveHere(data, TRIALS);
    const edc = clientOf(service.url, keys.edc);
    for (const [id, levels] of [
      ['001', COOK],
      ['002', DUPAGE],
      ['002', COOK],
    ] as const)
      await edc.randomize('Sleep', id, levels);
  });
  afterAll(async () => {
    await service?.stop();
  });

  async function atAudit(key = keys.auditor): Promise<Person> {
    const auditor = await sitDown();
    await auditor.page.goto(`${service.url}/pages/audit#study=Sleep`);
    await signIn(auditor, key);
    return auditor;
  }

  /** What a press of the button saves. */
  async function saved(page: Page, button: string): Promise<Download> {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: button }).click();
    return download;
  }
  const openTab = (page: Page, name: string) => page.getByRole('tab', { name }).click();

  async function limitList(page: Page): Promise<void> {
    await page.getByLabel('Only what is about this study').check();
    const list = page.getByRole('list', { name: 'Operations' });
    await expect.poll(() => list.getByText('Signed in').count()).toBe(0);
  }
  async function openRecord(page: Page): Promise<void> {
    await page.getByText('Study registered').waitFor();
    expect(await page.getByText('Participant randomized').count()).toBe(2);
    await page.getByText('The whole record').first().click();
    await page.getByText('"type": "ParticipantRandomized"').first().waitFor();
  }
  async function saveProof(page: Page): Promise<Download> {
    await openTab(page, 'Checkpoint');
    await page.getByLabel('Records of your earlier receipt').fill('2');
    return saved(page, 'Save the proof as a file');
  }
  async function verify(page: Page): Promise<void> {
    await openTab(page, 'Verification');
    await page.getByRole('button', { name: 'Verify this study now' }).click();
    await page.getByText('Everything agrees').waitFor();
    await page.getByText('The service has verified itself').first().waitFor();
  }
  async function saveBundle(page: Page): Promise<Download> {
    await openTab(page, 'Bundle');
    const bundle = await saved(page, 'Download the blinded bundle');
    await page.getByText(hash('sha256', readFileSync(await bundle.path()))).waitFor();
    return bundle;
  }

  it('lists who was refused and who signed in', async () => {
    const { page, complaints } = await atAudit();
    const list = page.getByRole('list', { name: 'Operations' });
    await list.getByText('Refused: the participant had already been assigned').waitFor();
    await list.getByText('Signed in to the pages').first().waitFor();
    await page.getByLabel('Show').selectOption('Sign-ins and sign-outs');
    expect(await list.getByText('Refused').count()).toBe(0);
    await page.getByLabel('Show').selectOption('Everything');
    await limitList(page);
    expect(await list.getByText('Refused').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('shows records on a press only, which is recorded', async () => {
    const { page, complaints } = await atAudit(keys.second);
    // By keyboard only.
    await page.getByRole('tab', { name: 'Operations' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText('Seeing them is recorded').waitFor();
    expect(await disclosuresTo('a.second')).toEqual([]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Study registered').waitFor();
    expect(await disclosuresTo('a.second')).toEqual(['records']);
    await openRecord(page);
    expect(complaints).toEqual([]);
  });

  it('saves the checkpoint, and the proof that an earlier one is its beginning', async () => {
    const { page, complaints } = await atAudit();
    await openTab(page, 'Checkpoint');
    const checkpoint = await saved(page, 'Save the checkpoint as a file');
    expect(checkpoint.suggestedFilename()).toBe('checkpoint-3.txt');
    expect(readFileSync(await checkpoint.path(), 'utf8')).toMatch(/\/study-[^\n]+\n3\n/);

    const proof = await saveProof(page);
    const { first, second } = JSON.parse(readFileSync(await proof.path(), 'utf8'));
    expect([first, second]).toEqual([2, 3]);
    expect(complaints).toEqual([]);
  });

  it('verifies, and says what was found', async () => {
    const { page, complaints } = await atAudit();
    await verify(page);
    expect(complaints).toEqual([]);
  });

  it('saves the bundle whose digest is recorded', async () => {
    const { page, complaints } = await atAudit();
    const bundle = await saveBundle(page);
    expect(bundle.suggestedFilename()).toBe('Sleep-TEST-blinded.zip');
    expect(await disclosuresTo('m.weber')).toContain('bundle');
    expect(complaints).toEqual([]);
  });

  it('is accessible, wide and narrow, light and dark', async () => {
    const { page, complaints } = await atAudit();
    await limitList(page);
    await openTab(page, 'Records');
    await page.getByRole('button', { name: 'Show the newest records' }).click();
    await openRecord(page);
    await saveProof(page);
    await verify(page);
    await saveBundle(page);
    for (const [name, width, colorScheme] of [
      ['wide', 1280, 'light'],
      ['narrow', 360, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      for (const tab of TABS) {
        await openTab(page, tab);
        await page.getByRole('tabpanel', { name: tab }).waitFor();
        await expectAccessible(page);
        const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
        expect(overflow, `${tab} ${name}`).toBeLessThanOrEqual(0);
        await picture(page, `audit-${tab.toLowerCase()}-${name}`);
      }
    }
    expect(complaints).toEqual([]);
  });

  it('is without bundles for a key that is limited to studies', async () => {
    const ward = await sitDown();
    await ward.page.goto(`${service.url}/pages/audit#study=Ward`);
    await signIn(ward, keys.ward);
    await ward.page.getByRole('tab').first().waitFor();
    expect(await ward.page.getByRole('tab').allTextContents()).toEqual(TABS.slice(0, -1));
  });
});
