/** What the pages show of a study that does not draw from urns: its method, why an arm was drawn, what an amendment does. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  describeInBrowser,
  expectAccessible,
  type Person,
  picture,
  signIn,
  sitDown,
} from '../../support/browser.ts';
import { clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } as const;

const data = temporaryFolders()();
const STUDIES = `
Blocks:
  mode: test
  starting_seed: 2026
  treatments: [A, B]
  factors: { local_site: ["1", "2"] }
  method: { name: blocks, by: [local_site], sizes: [4, 6] }

Central:
  mode: test
  starting_seed: 2026
  treatments: [A, B, C]
  ratio: [2, 1, 1]
  factors: { sex: [F, M] }
  method: { name: blocks, by: [], sizes: [8] }

Minimized:
  mode: test
  starting_seed: 2033
  treatments: [A, B, C]
  factors: { sex: [F, M], local_site: ["1", "2", "3"], stage: [x, y] }
  method: { name: minimization, measure: variance, weights: { sex: 1, local_site: 3, stage: 1 } }

Complete:
  mode: test
  starting_seed: 2026
  treatments: [A, B, C]
  factors: { sex: [F, M] }
  method: { name: complete }

List:
  mode: test
  treatments: [A, B, C]
  factors: { sex: [F, M], local_site: ["11", "30"] }
  method: { name: list, by: [local_site] }
`;
let service: ServiceHere;
let keys: Record<'edc' | 'auditor' | 'watcher' | 'corrector' | 'manager', string>;

const address = (page: string, parameters: Record<string, string>) =>
  `${service.url}/pages/${page}#${new URLSearchParams(parameters)}`;

/** Somebody who has signed in at a page. */
async function open(key: string, url: string, options: BrowserContextOptions = {}): Promise<Person> {
  const person = await sitDown(options);
  await person.page.goto(url);
  await signIn(person, key);
  return person;
}

interface Words {
  readonly show: string;
  readonly shown: string;
}
const ENGLISH: Words = { show: 'Show why this arm', shown: 'The number drawn was' };
const GERMAN: Words = { show: 'Zeigen, warum diese Behandlung', shown: 'Gezogen wurde die Zahl' };
const LISTED: Words = { ...ENGLISH, shown: 'nothing was drawn' };
const LISTED_IN_GERMAN: Words = { ...GERMAN, shown: 'nichts wurde gezogen' };

/** Shows why somebody got their arm. @returns what it says, with cells of tables side by side */
async function why({ page }: Person, study: string, id: string, { show, shown } = ENGLISH): Promise<string> {
  await page.goto(address('participant', { study, id }));
  await page.getByRole('button', { name: show }).click();
  await page.getByText(shown).waitFor();
  return page.locator('main').innerText();
}
describeInBrowser('a study without urns', () => {
  beforeAll(async () => {
    keys = await issueKeys(data, {
      edc: ['edc', '--scope', 'randomize,read'],
      auditor: ['auditor', '--scope', 'read,audit'],
      corrector: ['corrector', '--scope', 'read,correct'],
      watcher: ['watcher', '--scope', 'audit'],
      manager: ['manager', '--scope', 'blinded,manage'],
    });
    service = await serveHere(data, STUDIES);
    const { randomize } = clientOf(service.url, keys.edc);
    const enrol = async (study: string, all: readonly Readonly<Record<string, string>>[]) => {
      for (const [i, levels] of all.entries())
        expect((await randomize(study, `p${i + 1}`, levels)).status).toBe(200);
    };
    // The worked sample of permuted blocks, and the first ones of that of minimization.
    await enrol(
      'Blocks',
      [...'121122121'].map((local_site) => ({ local_site })),
    );
    await enrol('Central', [{ sex: 'F' }, { sex: 'F' }]);
    const patients = 'F3x M1y M2y F1y'.split(' ').map(([sex = '', local_site = '', stage = '']) => ({
      ...{ sex, local_site, stage },
    }));
    await enrol('Minimized', patients);
    await enrol('Complete', [{ sex: 'F' }]);
    const list = join(data, 'list.csv');
    writeFileSync(list, 'treatment,local_site\nA,11\nB,30\nC,11\nA,30\n');
    await commandOk(['lists', 'add', '--study', 'List', '--from', list, '--data', data]);
    const at = (local_site: string) => ({ sex: 'F', local_site });
    await vi.waitFor(async () => expect((await randomize('List', 'p1', at('30'))).status).toBe(200), 5000);
    for (const [i, site] of ['11', '11'].entries())
      expect((await randomize('List', `p${i + 2}`, at(site))).status).toBe(200);
  });
  afterAll(() => service?.stop());

  it('says why an arm was drawn', async () => {
    const auditor = await open(keys.auditor, address('studies', {}));
    const last = await why(auditor, 'Blocks', 'p9');
    expect(last).toContain(
      'Block 1 of Local site = 1 has 6 places. Its size was drawn when it began, from 4, 6.',
    );
    expect(last).toContain('Places left: A 0, B 2, each equally likely.');
    const withRatio = await why(auditor, 'Central', 'p1');
    expect(withRatio).toContain('Block 1 of the whole study has 8 places. Places left: A 4, B 2, C 2,');
    expect(withRatio).not.toContain('Its size');
    const tied = await why(auditor, 'Minimized', 'p2');
    expect(tied).toContain(
      'The least score occurs 3 times: one of them, at random, has the probability 0.8,',
    );
    const weighted = await why(auditor, 'Minimized', 'p4');
    expect(weighted).toContain('Local site = 1 · weight 3');
    expect(weighted).toContain('Score (variance)');
    await picture(auditor.page, 'participant-minimization');
    expect(await why(auditor, 'Complete', 'p1')).toContain('Every draw has the same probabilities');
    expect(auditor.complaints).toEqual([]);
  });

  it('says which entry of a list was used, and that what was to be expected is not known', async () => {
    const auditor = await open(keys.auditor, address('studies', {}));
    const { page } = auditor;
    const text = await why(auditor, 'List', 'p3', LISTED);
    expect(text).toContain(
      'Entry 3 of list 1: the first unused of Local site = 11; nothing was drawn. It holds C.',
    );
    expect(text).not.toMatch(/probabilit|The number/i);
    await page.goto(address('study', { study: 'List' }));
    await page.getByText('how the list of this study was made is not recorded').waitFor();
    // Who may not read the design learns it from the service.
    const watcher = await open(keys.watcher, address('study', { study: 'List' }));
    await watcher.page.getByText('how the list of this study was made is not recorded').waitFor();
    await page.goto(address('audit', { study: 'List' }));
    await page.getByRole('tab', { name: 'Records' }).click();
    await page.getByRole('button', { name: 'Show the newest records' }).click();
    await page.getByText('List registered').waitFor();
    expect(auditor.complaints).toEqual([]);
  });

  it('says that nobody with these levels can be randomized, and records nobody', async () => {
    const person = await open(keys.edc, address('randomize', { study: 'List' }));
    const { page } = person;
    await page.getByLabel('Participant id').fill('p4');
    await page.getByLabel('Sex').getByText('F', { exact: true }).click();
    await page.getByLabel('Local site').getByText('11', { exact: true }).click();
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByText('Nobody with these levels can be randomized now').waitFor();
    await page.getByText('Nobody was recorded. Ask whoever runs the randomization.').waitFor();
  });

  it('says of a correction that no later allocation depends on it, unless it does', async () => {
    const { page } = await open(keys.corrector, address('studies', {}));
    for (const [study, said] of [
      ['List', 'Later allocations do not depend on it.'],
      ['Complete', 'Later allocations do not depend on it.'],
      ['Minimized', 'Later allocations still count this participant.'],
    ] as const) {
      await page.goto(address('participant', { study, id: 'p1', act: 'void' }));
      await page.getByText('never took part').click();
      await page.getByText('not to be analysed').click();
      await page.getByLabel('Note').fill('x');
      await page.getByRole('button', { name: 'See what will happen' }).click();
      await page.getByText(said).waitFor();
    }
  });

  it('says so in German and on a telephone, where tables can be scrolled by keyboard', async () => {
    const auditor = await open(keys.auditor, address('studies', {}), PHONE);
    await auditor.page
      .getByRole('button', { name: 'Deutsch' })
      .or(auditor.page.getByRole('link', { name: 'Deutsch' }))
      .click();
    const text = await why(auditor, 'Minimized', 'p4', GERMAN);
    expect(text).toContain('hat die Wahrscheinlichkeit 0,8');
    await expectAccessible(auditor.page);
    expect(await why(auditor, 'Blocks', 'p9', GERMAN)).toContain('Noch frei: A 0, B 2;');
    await expectAccessible(auditor.page);
    expect(await why(auditor, 'List', 'p1', LISTED_IN_GERMAN)).toContain('Eintrag 2 der Liste 1');
    await expectAccessible(auditor.page);
    expect(auditor.complaints).toEqual([]);
  });

  it('shows its method to who manages it, and what closing and reopening an arm does, without a size', async () => {
    const manager = await open(keys.manager, address('manage', { study: 'Central' }));
    const { page } = manager;
    await page.getByText('permuted blocks over the whole study').waitFor();
    const amend = async (act: string, treatment: string, study = 'Central') => {
      await page.goto(address('manage', { study, act }));
      await page.getByLabel('Which treatment?').selectOption(treatment);
      await page.getByLabel('Reason').fill('protocol 2');
      await page.getByRole('button', { name: 'See what will happen' }).click();
      const said = (await page.locator('.notice').textContent()) ?? '';
      await page.getByRole('button', { name: 'Amend the study' }).click();
      await page.getByRole('link', { name: 'Back to' }).waitFor();
      return said;
    };
    expect(await amend('close-arm', 'C')).toContain('All open blocks end, and new ones begin.');
    expect(await amend('reopen-arm', 'C')).toContain('C can be drawn again.All open blocks end');
    expect(await amend('close-arm', 'C', 'List')).toContain(
      'What is left of the lists so far is not used any more',
    );
    expect(await amend('reopen-arm', 'C', 'List')).toContain('A new list can have C again.');
    const minimized = await amend('close-arm', 'C', 'Minimized');
    expect(minimized).toContain('The other treatments are balanced among themselves.No count changes.');
    expect(await amend('close-arm', 'C', 'Complete')).not.toContain('balanced');
    expect(await amend('reopen-arm', 'C', 'Minimized')).toContain('The method begins anew');
    for (const [study, method] of [
      ['Blocks', 'permuted blocks by Local site'],
      ['Minimized', 'minimization'],
      ['Complete', 'complete randomization'],
      ['List', 'a list made elsewhere, by Local site'],
    ] as const) {
      await page.goto(address('manage', { study }));
      await page.getByText(method, { exact: true }).waitFor();
    }
    for (const { body } of await manager.received())
      expect(body).not.toMatch(/method_parameters|perSlot|"sizes"/);
    expect(manager.complaints).toEqual([]);
  });
});
