/** The page of a study, as those who read arms, those who may not, and those limited to a site see it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContextOptions } from 'playwright-core';
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
import { clientOf } from '../../support/client.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDY = 'CHS JCOIN';
const ARMS = ['ZZTREATA', 'ZZTREATB', 'ZZTREATC'];
const SITES = ['11-Cook', '30-Dupage', '40-Grundy', '70-Will'];
const STUDIES = `
"${STUDY}":
  mode: live
  treatments: [${ARMS.join(', ')}]
  target_enrollment: 200
  protocol: {version: "3.0"}
  factors:
    site: [${SITES.map((site) => `"${site}"`).join(', ')}]
    sex: [Male, Female]

Later:
  mode: test
  treatments: [Left, Right]
  factors:
    ward: [a, b]
`;
const PARTICIPANTS = 120;
const DAY_MS = 86_400_000;

const folder = temporaryFolders()();
const data = join(folder, 'data');
const clock = join(folder, 'clock');
const shifted = pathToFileURL(join(import.meta.dirname, '../../support/shifted-clock.mjs'));
let service: Service;
let browser: Browser;
let keys: Record<'reader' | 'manager' | 'blinded' | 'site' | 'cook', string>;

const post = (path: string, body: object) =>
  postJson(service.url, path, keys.manager, { study: STUDY, ...body });

/** @param days since then, on the clock of the service */
async function randomize(id: string, place: number, days = 0): Promise<void> {
  writeFileSync(clock, String(-days * DAY_MS));
  const levels = { site: SITES[place % 4] ?? '', sex: place % 3 === 0 ? 'Male' : 'Female' };
  const { status, message } = await clientOf(service.url, keys.site).randomize(STUDY, id, levels);
  expect(status, message).toBe(200);
}

beforeAll(async () => {
  keys = await issueKeys(data, {
    reader: ['Trial statistics', '--scope', 'read'],
    manager: ['data-manager', '--scope', 'read,correct,unblind,manage'],
    blinded: ['Monitor', '--scope', 'blinded'],
    site: ['Sites', '--scope', 'blinded,randomize'],
    cook: ['Site 11', '--scope', 'blinded,randomize', '--where', 'site=11-Cook', '--study', STUDY],
  });
  writeFileSync(clock, '0');
  const env = { NODE_OPTIONS: `--import=${shifted}`, SHIFTED_CLOCK: clock };
  [service, browser] = await Promise.all([serve({ data, studies: STUDIES, env }), openBrowser()]);
  for (let i = 0; i < PARTICIPANTS; i++)
    await randomize(`${String(i + 1).padStart(4, '0')}`, i * i + (i % 5), (PARTICIPANTS - i) * (1.2 - i / 400));
  writeFileSync(clock, '0');
  const changes = [{ factor: 'sex', from: 'Male', to: 'Female' }];
  await post('/level_corrections', { id: '0118', changes: [], cause: 'entry', note: 'typo' });
  for (const id of ['0118', '0116', '0115', '0113'])
    await post('/level_corrections', { id, changes, cause: 'entry', note: 'typo' });
  const breaking = { id: '0117', category: 'emergency', reason: 'anaphylaxis' };
  expect((await post('/code_breaks', breaking)).status).toBe(200);
  const voided = { id: '0114', cause: 'duplicate', duplicate_of: '0001', analysis: 'exclude', note: 'twice' };
  const answer = await post('/voids', voided);
  expect(answer.status, answer.message).toBe(200);
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

async function atStudy(key: string, options: BrowserContextOptions = {}, study = STUDY): Promise<Person> {
  const person = await sitDown(browser, options);
  await person.page.goto(`${service.url}/pages/study#${new URLSearchParams({ study })}`);
  await signIn(person, key);
  await person.page.getByRole('heading', { level: 1, name: study }).waitFor();
  return person;
}

const NARROW = { viewport: { width: 360, height: 780 } };
const DARK = { colorScheme: 'dark' } as const;

describeInBrowser('the page of a study', () => {
  it('shows a reader of arms how far it is, how balanced, and who is in it', async () => {
    const reader = await atStudy(keys.reader);
    const { page } = reader;
    await page.getByRole('img', { name: /120 of 200 enrolled/ }).waitFor();
    await page.getByRole('img', { name: /largest difference between the arms/ }).waitFor();
    await page.getByRole('table', { name: 'By site' }).waitFor();
    await page.getByRole('link', { name: '0120' }).waitFor();
    await picture(page, 'study');
    await expectAccessible(page);
    await page.setViewportSize(NARROW.viewport);
    await picture(page, 'study-narrow');
    await page.emulateMedia(DARK);
    await picture(page, 'study-narrow-dark');
    await page.setViewportSize({ width: 1920, height: 1080 });
    await picture(page, 'study-dark');
    await expectAccessible(page);
    expect(reader.complaints).toEqual([]);
  });
});
void readFileSync;
