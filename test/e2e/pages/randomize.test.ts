/** Randomizing at the page, in a real browser: from the form to the confirmation, and through everything that can break. */
import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { describeInBrowser, NARROW, openAs, type Person, signIn, sitDown } from '../../support/browser.ts';
import { registerPacksIn } from '../../support/pack-lists.ts';
import { type Served, served } from '../../support/served.ts';
import { type SwallowingProxy, swallowingProxy } from '../../support/swallowing-proxy.ts';

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
  factors: {sex: [Female, Male]}
`;
const ARMS = /ZZMART|ZZRMC/;
const PACKS = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => ({
  code: `407-31${n}`,
  treatment: n % 2 === 0 ? 'ZZMART' : 'ZZRMC',
}));
const STUDY = 'CHS JCOIN';
const SITE = '11-Cook County – Chicago';
const GRANTS = {
  open: ['Site 11', '--scope', 'read,randomize'],
  cook: ['Cook', '--scope', 'blinded,randomize', '--where', `local_site=${SITE}`, '--force'],
  blinded: ['Ward B', '--scope', 'blinded,randomize'],
  writer: ['Clinic', '--scope', 'randomize'],
  manager: ['manager', '--scope', 'manage'],
} as const;

describeInBrowser('randomizing', () => {
  let connection: SwallowingProxy;
  const filled = async ({ service }: Pick<typeof http, 'service'>) => {
    await registerPacksIn(service.log, 'Packed', [{ where: undefined, entries: PACKS }]);
    connection = await swallowingProxy(service.url);
  };
  const http: Served<keyof typeof GRANTS> = served(STUDIES, GRANTS, { filled });
  afterAll(() => connection?.close());

  const address = (study: string) => `${connection.url}/pages/randomize#${new URLSearchParams({ study })}`;

  /** Somebody signed in, at the form of a study. */
  async function atForm(
    key: keyof typeof GRANTS,
    study = STUDY,
    options: BrowserContextOptions & { acting?: string } = {},
  ): Promise<Person> {
    connection.posts = 'pass';
    const person = await openAs(http.keys[key], address(study), options);
    await person.page.getByLabel('Participant id').waitFor();
    return person;
  }

  async function fillIn(person: Person, id: string): Promise<void> {
    await person.fill({ 'Participant id': id });
    await person.select({ 'Local site': SITE });
    for (const level of ['Female', '40–60']) await person.page.getByText(level, { exact: true }).click();
  }

  /** Resolves when the service has answered the dry run, so that what happens to the next POST happens to the real one. */
  async function review(person: Person, id: string) {
    await fillIn(person, id);
    await person.press('Review');
    const go = person.page.getByRole('button', { name: `Randomize ${id} now` });
    await go.waitFor();
    return go;
  }

  const recorded = async (id: string, study = STUDY) => (await http.as('open').list(study, { id })).results;
  const expectNoArms = async (person: Person) =>
    expect((await person.everything()).filter((text) => ARMS.test(text))).toEqual([]);
  const isEmpty = async ({ page }: Person) =>
    expect(await page.getByLabel('Participant id').inputValue()).toBe('');

  it('goes from the form through the review to the result, which can be saved and printed', async () => {
    const person = await atForm('open', STUDY, { acting: 'M. Okafor' });
    const { page } = person;
    await page.locator('.head').getByText(STUDY).waitFor();
    await person.press('Review');
    const problems = page.getByRole('alert').getByRole('button');
    await expect.poll(() => problems.count()).toBe(4);
    await problems.first().click();
    expect(await page.evaluate('document.activeElement.id')).toBe('participant-id');
    await person.look('randomize-incomplete');

    await person.fill({ 'Participant id': '11-018' });
    await person.sees('The ids of this study match');
    const go = await review(person, '11-0188');
    const shown = await page.locator('dl').textContent();
    const levels = [SITE, 'Female', '40–60'];
    for (const text of ['a TEST', '11-0188', ...levels, 'Site 11, on behalf of M. Okafor', STUDY])
      expect(shown).toContain(text);
    await person.look('randomize-review');
    expect(await recorded('11-0188')).toEqual([]);

    const answered = page.waitForResponse((response) => 'idempotency-key' in response.request().headers());
    const before = connection.received;
    await go.dblclick();
    const receipt = (await answered).headers()['urn-receipt'] ?? '';
    await page.getByRole('heading', { name: 'Randomized' }).waitFor();
    // Sent once, however fast somebody clicks.
    expect(connection.received - before).toBe(1);
    const [record] = await recorded('11-0188');
    await page.getByText(record.trt, { exact: true }).waitFor();
    expect(await person.kept()).not.toContain('urn.pending');
    expect(await person.kept()).not.toMatch(ARMS);
    await page.getByRole('img', { name: 'QR code of the receipt' }).waitFor();
    await person.lookTwice('randomize-result');

    const { name, bytes } = await person.save('Save receipt');
    expect(name).toMatch(/^receipt-CHS-JCOIN-\d+\.txt$/);
    expect(bytes.toString('base64')).toBe(receipt);
    expect(receipt).not.toBe('');

    await page.emulateMedia({ media: 'print' });
    const pdf = await page.pdf({ format: 'A4', preferCSSPageSize: true });
    expect(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)).toHaveLength(1);
    await page.emulateMedia({ media: 'screen' });
    await person.press('Next participant');
    await isEmpty(person);
  });

  it('asks a key of one site only what it may choose, and works by keyboard only', async () => {
    const { page } = await atForm('cook');
    await page.setViewportSize(NARROW);
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
  });

  it.each([
    ['the arm, too, to those who may see it', 'open', 'P-1'],
    ['no arm to the blinded, and none reaches their browsers', 'blinded', 'P-2'],
  ] as const)('shows a pack, and %s', async (_, key, id) => {
    const person = await atForm(key, 'Packed');
    await person.fill({ 'Participant id': id });
    await person.page.getByText('Male', { exact: true }).click();
    await person.press('Review', `Randomize ${id} now`);
    await expect.poll(() => recorded(id, 'Packed')).toHaveLength(1);
    const [{ 'urn.code': code }] = await recorded(id, 'Packed');
    await person.sees(`Pack ${code}`);
    if (key === 'open') return expect(await person.page.locator('main').textContent()).toMatch(ARMS);
    await person.fits('randomize-pack');
    await expectNoArms(person);
  });

  it('shows neither to those who may see neither, and no arm reaches their browsers', async () => {
    const writer = await atForm('writer');
    await (await review(writer, '11-0002')).click();
    await writer.seesHeading('Randomized');
    await writer.page.getByText('Recorded', { exact: true }).first().waitFor();
    await expectNoArms(writer);
  });

  it('says that the answer was lost, and asks again with the same request: at once after a reload, or on demand', async () => {
    const person = await atForm('open');
    const { page } = person;
    const go = await review(person, '11-0200');
    connection.posts = 'answer-lost';
    await go.click();
    await person.sees('The connection was lost before the answer about 11-0200 arrived');
    await person.look('randomize-lost');
    expect(await person.kept()).toMatch(/urn\.pending.*11-0200/);
    expect(await recorded('11-0200')).toHaveLength(1);
    await person.press('Ask again');
    await person.sees('The connection was lost');
    connection.posts = 'pass';
    await page.reload();
    await person.sees('This had already been recorded');
    expect(await person.kept()).not.toContain('urn.pending');

    await person.press('Next participant');
    await fillIn(person, '11-0201');
    await page.context().setOffline(true);
    await person.press('Review');
    await person.sees('The service did not answer');
    await page.context().setOffline(false);
  });

  it('asks again when the service could not answer, although it said why: the participant may be recorded', async () => {
    const person = await atForm('open');
    const { page } = person;
    const go = await review(person, '11-0250');
    const posts = '**/study_participants?*';
    await page.route(posts, (route) => {
      const body = JSON.stringify({ message: 'The log does not answer', results: [], status: 503 });
      const headers = { 'Retry-After': '5', 'Urn-Refused': 'unavailable' };
      return route.fulfill({ status: 503, contentType: 'application/json', headers, body });
    });
    await go.click();
    await person.sees('There is no answer about 11-0250 yet', 'The log does not answer');
    expect(await person.kept()).toMatch(/urn\.pending.*11-0250/);
    await page.unroute(posts);
    await person.press('Ask again');
    await person.seesHeading('Randomized');
    expect(await recorded('11-0250')).toHaveLength(1);
  });

  it('finds a request that is on its way again, after a reload, on coming back, and by the back button', async () => {
    // In a browser of their own, whose clock nobody else reads.
    const person = await sitDown();
    const { page } = person;
    await page.goto(address(STUDY));
    await signIn(person, http.keys.open);
    const go = await review(person, '11-0300');
    connection.posts = 'held';
    await page.clock.install();
    await go.click();
    await person.sees('Randomizing 11-0300 …');
    await page.clock.fastForward('00:21');
    await person.sees('The connection was lost before the answer about 11-0300 arrived');
    await page.reload();
    await person.sees('Asking again about 11-0300 …');
    await person.follow('Studies');
    await person.seesHeading('Studies');
    expect(await recorded('11-0300')).toEqual([]);
    connection.posts = 'pass';
    await page.goBack();
    await person.seesHeading('Randomized');
    expect(await recorded('11-0300')).toHaveLength(1);
    // Behind the result is the form, empty.
    await page.goBack();
    await isEmpty(person);
  });

  it('asks again when the session ended in between, for the same key and nobody else', async () => {
    const person = await atForm('open');
    const { page } = person;
    const go = await review(person, '11-0400');
    connection.posts = 'answer-lost';
    await go.click();
    await person.sees('The connection was lost');
    connection.posts = 'pass';
    await page.context().clearCookies();
    await person.press('Ask again');
    await person.sees('Your session has ended');
    await signIn(person, http.keys.writer);
    await person.sees('Somebody with another key');
    expect(await page.content()).not.toContain('11-0400');
    await page.context().clearCookies();
    await page.reload();
    await signIn(person, http.keys.open);
    await person.sees('This had already been recorded');
  });

  it('shows what is recorded for an id that is taken, and says why nobody can be randomized', async () => {
    const levels = { local_site: '30-Dupage County', sex: 'Male', age_group: '60 +' };
    await http.as('open').randomize(STUDY, '11-0500', levels);
    const person = await atForm('open');
    await fillIn(person, '11-0500');
    await person.press('Review');
    await person.sees('11-0500 had already been recorded');
    await person.page.locator('dd', { hasText: '30-Dupage County' }).waitFor();

    const state = (action: string) =>
      http.post('manager', '/study_state', { study: STUDY, action, reason: 'DSMB meeting' });
    const go = await review(person, '11-0501');
    await state('pause');
    await go.click();
    await person.sees('The study is paused', 'DSMB meeting');
    expect(await person.kept()).not.toContain('urn.pending');
    await state('resume');
  });
});
