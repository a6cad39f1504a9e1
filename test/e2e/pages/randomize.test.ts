/** Randomizing at the page, in a real browser: from the form to the confirmation, and through everything that can break. */
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
import { clientOf } from '../../support/client.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { type SwallowingProxy, swallowingProxy } from '../../support/swallowing-proxy.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDIES = `
CHS JCOIN:
  mode: test
  id_pattern: "[0-9]{2}-[0-9]{4}"
  treatments: [ZZMART, ZZRMC]
  factors:
    local_site: ["11-Cook County – Chicago", "30-Dupage County", "45-Kane (3+)"]
    sex: [Female, Male]
    age_group: ["18–39", "40–60", "60 +"]

Packed:
  mode: live
  blinding: blinded
  treatments: [ZZMART, ZZRMC]
  factors:
    sex: [Female, Male]
`;
const ARMS = /ZZMART|ZZRMC/;
const PACKS = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => ({
  code: `407-31${n}`,
  treatment: n % 2 === 0 ? 'ZZMART' : 'ZZRMC',
}));
const STUDY = 'CHS JCOIN';
const SITE = '11-Cook County – Chicago';
const NARROW: BrowserContextOptions = { viewport: { width: 360, height: 740 } };

describeInBrowser('randomizing', () => {
  const data = temporaryFolders()();
  let service: ServiceHere;
  let connection: SwallowingProxy;
  let keys: Record<'open' | 'cook' | 'blinded' | 'writer' | 'manager', string>;

  beforeAll(async () => {
    keys = await issueKeys(data, {
      open: ['Site 11', '--scope', 'read,randomize'],
      cook: ['Cook', '--scope', 'blinded,randomize', '--where', `local_site=${SITE}`, '--force'],
      blinded: ['Ward B', '--scope', 'blinded,randomize'],
      writer: ['Clinic', '--scope', 'randomize'],
      manager: ['manager', '--scope', 'manage'],
    });
    service = await serveHere(data, STUDIES);
    await registerPacks(data, 'Packed', [{ entries: PACKS }]);
    connection = await swallowingProxy(service.url);
  });
  afterAll(async () => {
    await connection?.close();
    await service?.stop();
  });

  /** Somebody signed in, at the form of a study. */
  async function atForm(
    key: keyof typeof keys,
    study = STUDY,
    options: BrowserContextOptions & { acting?: string } = {},
  ): Promise<Person> {
    connection.posts = 'pass';
    const { acting, ...browserOptions } = options;
    const person = await sitDown(browserOptions);
    await person.page.goto(`${connection.url}/pages/randomize#${new URLSearchParams({ study })}`);
    await signIn(person, keys[key], acting);
    await person.page.getByLabel('Participant id').waitFor();
    return person;
  }

  async function fillIn({ page }: Person, id: string): Promise<void> {
    await page.getByLabel('Participant id').fill(id);
    await page.getByLabel('Local site').selectOption(SITE);
    await page.getByText('Female', { exact: true }).click();
    await page.getByText('40–60', { exact: true }).click();
  }

  /** Resolves when the service has answered the dry run, so that what happens to the next POST happens to the real one. */
  async function review(person: Person, id: string) {
    await fillIn(person, id);
    await person.page.getByRole('button', { name: 'Review' }).click();
    const go = person.page.getByRole('button', { name: `Randomize ${id} now` });
    await go.waitFor();
    return go;
  }

  const recorded = async (id: string, study = STUDY) =>
    (await clientOf(service.url, keys.open).list(study, { id })).results;
  const written = ({ page }: Person) => page.evaluate<string>('JSON.stringify({ ...sessionStorage })');

  /** Light and dark, wide and narrow. */
  async function look({ page }: Person, name: string): Promise<void> {
    await picture(page, `randomize-${name}`);
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture(page, `randomize-${name}-dark`);
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'light' });
    const size = page.viewportSize();
    await page.setViewportSize({ width: 360, height: 740 });
    await picture(page, `randomize-${name}-narrow`);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    if (size) await page.setViewportSize(size);
  }

  it('goes from the form through the review to the result, which can be saved and printed', async () => {
    const person = await atForm('open', STUDY, { acting: 'M. Okafor' });
    await person.page.locator('.head').getByText(STUDY).waitFor();
    const { page } = person;
    await page.getByRole('button', { name: 'Review' }).click();
    const problems = page.getByRole('alert').getByRole('button');
    await expect.poll(() => problems.count()).toBe(4);
    await problems.first().click();
    expect(await page.evaluate('document.activeElement.id')).toBe('participant-id');
    await look(person, 'incomplete');

    const id = page.getByLabel('Participant id');
    await id.fill('11-018');
    await page.getByText('The ids of this study match').waitFor();
    await id.fill('11-0188');
    await page.getByText('looks like the ids of this study').waitFor();
    await fillIn(person, '11-0188');
    await look(person, 'form');

    await page.getByRole('button', { name: 'Review' }).click();
    const go = page.getByRole('button', { name: 'Randomize 11-0188 now' });
    await go.waitFor();
    const shown = await page.locator('dl').textContent();
    for (const text of [
      STUDY,
      'a TEST',
      '11-0188',
      SITE,
      'Female',
      '40–60',
      'Site 11, on behalf of M. Okafor',
    ])
      expect(shown).toContain(text);
    await look(person, 'review');
    expect(await recorded('11-0188')).toEqual([]);
    // Back to the form with everything in it, and forward again.
    await page.goBack();
    expect(await id.inputValue()).toBe('11-0188');
    await page.getByRole('button', { name: 'Review' }).click();

    const answered = page.waitForResponse((response) => 'idempotency-key' in response.request().headers());
    await go.click();
    const receipt = (await answered).headers()['urn-receipt'] ?? '';
    await page.getByRole('heading', { name: 'Randomized' }).waitFor();
    const [record] = await recorded('11-0188');
    await page.getByText(record.trt, { exact: true }).waitFor();
    expect(await written(person)).not.toContain('urn.pending');
    expect(await written(person)).not.toMatch(ARMS);
    await page.getByRole('img', { name: 'QR code of the receipt' }).waitFor();
    await look(person, 'result');

    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save receipt' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toMatch(/^receipt-CHS-JCOIN-\d+\.txt$/);
    const chunks: Buffer[] = [];
    for await (const chunk of await saved.createReadStream()) chunks.push(Buffer.from(chunk));
    expect(Buffer.concat(chunks).toString('base64')).toBe(receipt);
    expect(receipt).not.toBe('');

    await page.emulateMedia({ media: 'print' });
    // As wide as a page of A4 between its margins.
    await page.setViewportSize({ width: 674, height: 960 });
    await picture(page, 'randomize-print');
    const pdf = await page.pdf({ format: 'A4', preferCSSPageSize: true });
    expect(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)).toHaveLength(1);
    expect(await page.getByRole('button').count()).toBe(0);
    await page.emulateMedia({ media: 'screen' });
    await page.getByRole('button', { name: 'Next participant' }).click();
    expect(await id.inputValue()).toBe('');
    expect(person.complaints).toEqual([]);
  }, 120_000);

  it('asks a key of one site only what it may choose, and works by keyboard only', async () => {
    const { page, complaints } = await atForm('cook', STUDY, NARROW);
    const sites = page.getByLabel('Local site');
    expect(await sites.locator('option').allTextContents()).toEqual(['Choose …', SITE]);
    expect(await sites.inputValue()).toBe(SITE);
    await page.getByLabel('Participant id').focus();
    await page.keyboard.type('11-0001');
    for (const key of ['Tab', 'Tab', 'Space', 'Tab', 'ArrowRight', 'Tab', 'Enter'])
      await page.keyboard.press(key);
    await page.getByRole('button', { name: 'Randomize 11-0001 now' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Recorded', { exact: true }).first().waitFor();
    expect(await recorded('11-0001')).toMatchObject([{ f_sex: 'Female' }]);
    expect(complaints).toEqual([]);
  }, 60_000);

  it('shows a pack to the blinded and nothing to those who may see neither, and no arm reaches their browsers', async () => {
    const unblinded = await atForm('open', 'Packed');
    const blinded = await atForm('blinded', 'Packed');
    const neither = await atForm('writer', STUDY);
    for (const [person, id] of [
      [unblinded, 'P-1'],
      [blinded, 'P-2'],
    ] as const) {
      await person.page.getByLabel('Participant id').fill(id);
      await person.page.getByText('Male', { exact: true }).click();
      await person.page.getByRole('button', { name: 'Review' }).click();
      await person.page.getByRole('button', { name: `Randomize ${id} now` }).click();
      const [{ 'urn.code': code }] = await expect
        .poll(() => recorded(id, 'Packed'))
        .toHaveLength(1)
        .then(() => recorded(id, 'Packed'));
      await person.page.getByText(`Pack ${code}`).waitFor();
    }
    expect(await unblinded.page.locator('main').textContent()).toMatch(ARMS);
    await look(blinded, 'pack');
    await (await review(neither, '11-0002')).click();
    await neither.page.getByRole('heading', { name: 'Randomized' }).waitFor();
    await neither.page.getByText('Recorded', { exact: true }).first().waitFor();
    for (const person of [blinded, neither]) {
      const everything = [
        ...(await person.received()).map(({ url, body }) => url + body),
        await person.page.content(),
        await written(person),
        await person.page.evaluate<string>('JSON.stringify({ ...localStorage })'),
      ];
      expect(everything.filter((text) => ARMS.test(text))).toEqual([]);
      expect(person.complaints).toEqual([]);
    }
  }, 90_000);

  it('leads to the studies where none is named', async () => {
    const { page } = await atForm('open');
    await page.goto(`${connection.url}/pages/randomize`);
    await page.getByText('Choose a study first.').waitFor();
    await page.getByRole('link', { name: 'Go to the studies' }).click();
    await page.getByRole('heading', { name: 'Studies' }).waitFor();
  });

  it('sends once, however fast somebody clicks', async () => {
    const person = await atForm('open');
    const go = await review(person, '11-0100');
    await go.waitFor();
    const before = connection.received;
    await go.dblclick();
    await person.page.getByRole('heading', { name: 'Randomized' }).waitFor();
    expect(connection.received - before).toBe(1);
  }, 60_000);

  it('says that the answer was lost, and asks again with the same request: at once after a reload, or on demand', async () => {
    const person = await atForm('open');
    const { page } = person;
    const go = await review(person, '11-0200');
    connection.posts = 'answer-lost';
    await go.click();
    await page.getByText('The connection was lost before the answer about 11-0200 arrived').waitFor();
    await look(person, 'lost');
    expect(await written(person)).toMatch(/urn\.pending.*11-0200/);
    expect(await recorded('11-0200')).toHaveLength(1);
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByText('The connection was lost').waitFor();
    connection.posts = 'pass';
    await page.reload();
    await page.getByText('This had already been recorded').waitFor();
    await picture(page, 'randomize-repeated');
    expect(await written(person)).not.toContain('urn.pending');

    await page.getByRole('button', { name: 'Next participant' }).click();
    await fillIn(person, '11-0201');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByText('The service did not answer').waitFor();
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Review' }).click();
    const second = page.getByRole('button', { name: 'Randomize 11-0201 now' });
    await second.waitFor();
    await page.context().setOffline(true);
    await second.click();
    await page.getByText('The connection was lost').waitFor();
    await page.context().setOffline(false);
    expect(await recorded('11-0201')).toEqual([]);
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByRole('heading', { name: 'Randomized' }).waitFor();
    expect(await page.getByText('This had already been recorded').count()).toBe(0);
    expect(await recorded('11-0201')).toHaveLength(1);
  }, 90_000);

  it('finds a request that is on its way again, after a reload, on coming back, and by the back button', async () => {
    const person = await atForm('open');
    const { page } = person;
    const go = await review(person, '11-0300');
    connection.posts = 'held';
    await page.clock.install();
    await go.click();
    await page.getByText('Randomizing 11-0300 …').waitFor();
    await page.clock.fastForward('00:21');
    await page.getByText('The connection was lost before the answer about 11-0300 arrived').waitFor();
    await page.reload();
    await page.getByText('Asking again about 11-0300 …').waitFor();
    await page.getByRole('link', { name: 'Studies' }).click();
    await page.getByRole('heading', { name: 'Studies' }).waitFor();
    expect(await recorded('11-0300')).toEqual([]);
    connection.posts = 'pass';
    await page.goBack();
    await page.getByRole('heading', { name: 'Randomized' }).waitFor();
    expect(await recorded('11-0300')).toHaveLength(1);
    const before = connection.received;
    // Behind the result is the form, empty.
    await page.goBack();
    expect(await page.getByLabel('Participant id').inputValue()).toBe('');
    await page.goto('about:blank');
    await page.goBack();
    await page.getByLabel('Participant id').waitFor();
    expect(connection.received).toBe(before);
  }, 60_000);

  it('asks again when the session ended in between, for the same key and nobody else', async () => {
    const person = await atForm('open');
    const { page } = person;
    const go = await review(person, '11-0400');
    connection.posts = 'answer-lost';
    await go.click();
    await page.getByText('The connection was lost').waitFor();
    connection.posts = 'pass';
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByText('Your session has ended').waitFor();
    await signIn(person, keys.writer);
    await page.getByText('Somebody with another key').waitFor();
    expect(await page.content()).not.toContain('11-0400');
    await page.context().clearCookies();
    await page.reload();
    await signIn(person, keys.open);
    await page.getByText('This had already been recorded').waitFor();
  }, 60_000);

  it('shows what is recorded for an id that is taken, and says why nobody can be randomized', async () => {
    await clientOf(service.url, keys.open).randomize(STUDY, '11-0500', {
      ...{ local_site: '30-Dupage County', sex: 'Male', age_group: '60 +' },
    });
    const person = await atForm('open');
    const { page } = person;
    await fillIn(person, '11-0500');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByText('11-0500 had already been recorded').waitFor();
    await page.locator('dd', { hasText: '30-Dupage County' }).waitFor();
    await look(person, 'duplicate');

    const state = (action: string) =>
      postJson(service.url, '/study_state', keys.manager, { study: STUDY, action, reason: 'DSMB meeting' });
    const go = await review(person, '11-0501');
    await go.waitFor();
    await state('pause');
    await go.click();
    await page.getByText('The study is paused').waitFor();
    await page.getByText('DSMB meeting').waitFor();
    await look(person, 'paused');
    expect(await written(person)).not.toContain('urn.pending');
    await state('resume');
    expect(person.complaints).toEqual([]);
  }, 60_000);
});
