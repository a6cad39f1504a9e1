/** The page that checks receipts without the service, in a real browser. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeInBrowser, expectAccessible, picture, sitDown } from '../../support/browser.ts';
import { ask, clientOf } from '../../support/client.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();

describeInBrowser('offline verification', () => {
  let service: ServiceHere;
  let receipt: string;
  let checkpoint: string;
  let proof: string;
  let verifierKey: string;

  beforeAll(async () => {
    const keys = await issueKeys(data, {
      edc: ['edc', '--scope', 'read,randomize'],
      auditor: ['auditor', '--scope', 'audit'],
    });
    service = await serveHere(data, TRIALS);
    const edc = clientOf(service.url, keys.edc);
    receipt = (await edc.randomize('Sleep', '001', COOK)).headers.get('urn-receipt') ?? '';
    await edc.randomize('Sleep', '002', DUPAGE);
    const about = async (path: string, parameters = {}) =>
      ask(service.url, path, { key: keys.auditor, parameters: { study: 'Sleep', ...parameters } });
    ({ checkpoint } = (await about('/checkpoint')).results);
    proof = (await about('/consistency_proof', { first: '2' })).text;
    const [created] = storedLog(data).flatMap(({ record }) => (record.type === 'LogCreated' ? [record] : []));
    verifierKey = created?.data.publicKey;
  });
  afterAll(async () => {
    await service?.stop();
  });

  /** At the page, which was opened with a connection and has none from now on. */
  async function withoutConnection() {
    const person = await sitDown();
    const { page } = person;
    await page.goto(`${service.url}/pages/studies`);
    await page.getByRole('link', { name: 'Check a receipt' }).click();
    await page.getByRole('heading', { name: 'Check a receipt or checkpoint' }).waitFor();
    await page.waitForLoadState('networkidle');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.context().setOffline(true);
    return { person, page, asked };
  }

  const file = (name: string, text: string) => ({
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(text),
  });
  async function choose(page: Page, ...files: ReturnType<typeof file>[]): Promise<void> {
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Choose files' }).click(),
    ]);
    await chooser.setFiles(files);
  }

  it('says what a receipt covers, without a key of the service and without asking it', async () => {
    const { person, page, asked } = await withoutConnection();
    await choose(page, file('receipt.txt', receipt), file('checkpoint.txt', checkpoint));
    await page.getByText('It is about the first 2 records').waitFor();
    await page.getByText('Whether it agrees with checkpoint.txt:1 (3 records) is not shown').waitFor();
    expect(await page.getByText('signature not checked').count()).toBe(2);

    await choose(page, file('proof.json', proof));
    await page.getByText('It agrees with checkpoint.txt:1 (3 records).').waitFor();
    await page.getByLabel('Verifier key').fill(verifierKey.replace('+', '+0'));
    await page.getByText('This is not a verifier key').waitFor();
    await page.getByLabel('Verifier key').fill(verifierKey);
    await expect.poll(() => page.getByText('signed by this key').count()).toBe(2);
    await page.getByText('It covers the first 2 records').waitFor();
    await choose(page, file('other.zip', 'PK'));
    await page.getByText('other.zip cannot be read').waitFor();

    expect(asked).toEqual([]);
    expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0);
    expect(person.complaints).toEqual([]);
  });

  it('is accessible, wide and narrow, light and dark', async () => {
    const { page } = await withoutConnection();
    const files = [
      file('receipt.txt', receipt),
      file('checkpoint.txt', checkpoint),
      file('proof.json', proof),
    ];
    await choose(page, ...files, file('other.zip', 'PK'));
    await page.getByLabel('Verifier key').fill(verifierKey);
    await expect.poll(() => page.getByText('signed by this key').count()).toBe(2);
    await page.getByText('other.zip cannot be read').waitFor();
    for (const [name, width, colorScheme] of [
      ['wide', 1280, 'light'],
      ['narrow', 360, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      await picture(page, `offline-${name}`);
    }
  });
});
