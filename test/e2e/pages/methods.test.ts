/** What the pages show of a study that does not draw from urns: its method, why an arm was drawn, what an amendment does. */
import { beforeAll, expect, it, vi } from 'vitest';
import { describeInBrowser, openAs, type Person } from '../../support/browser.ts';
import { commandsOn } from '../../support/cli-log.ts';
import { served } from '../../support/served.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';

const data = temporaryFolders()();
const fileOf = temporaryFiles('list.csv');
const STUDIES = `
Blocks:
  mode: test
  starting_seed: 2026
  treatments: [A, B]
  factors: { local_site: ["1", "2"] }
  method: { name: blocks, by: [local_site], sizes: [4, 6] }

Central:
  mode: test
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
  treatments: [A, B, C]
  factors: { sex: [F, M] }
  method: { name: complete }

List:
  mode: test
  treatments: [A, B, C]
  factors: { sex: [F, M], local_site: ["11", "30"] }
  method: { name: list, by: [local_site] }
`;
const GRANTS = {
  edc: ['edc', '--scope', 'randomize,read'],
  auditor: ['auditor', '--scope', 'read,audit'],
  corrector: ['corrector', '--scope', 'read,correct'],
  watcher: ['watcher', '--scope', 'audit'],
  manager: ['manager', '--scope', 'blinded,manage'],
};
const http = served(STUDIES, GRANTS, { data });

const address = (page: string, parameters: Record<string, string>) =>
  `${http.url}/pages/${page}#${new URLSearchParams(parameters)}`;

/** Shows why somebody got their arm. @returns what it says, with cells of tables side by side */
async function why(person: Person, study: string, id: string): Promise<string> {
  await person.page.goto(address('participant', { study, id }));
  await person.press('Show why this arm');
  await person.sees(/The number drawn was|nothing was drawn/);
  return person.page.locator('main').innerText();
}

/** Whose arm is explained, and what is said. */
const SIZE = 'Block 1 of Local site = 1 has 6 places. Its size was drawn when it began, from 4, 6.';
const REASONS: readonly (readonly [study: string, id: string, ...said: string[]])[] = [
  ['Blocks', 'p9', SIZE, 'Places left: A 0, B 2, each equally likely.'],
  ['Central', 'p1', 'Block 1 of the whole study has 8 places. Places left: A 4, B 2, C 2,'],
  ['Minimized', 'p4', 'has the probability 0.8', 'Local site = 1 · weight 3', 'Score (variance)'],
  ['Complete', 'p1', 'Every draw has the same probabilities'],
  ['List', 'p1', 'Entry 1 of list 1: the first unused of Local site = 11; nothing was drawn. It holds A.'],
];

describeInBrowser('a study without urns', () => {
  beforeAll(async () => {
    const { randomize } = http.as('edc');
    const enrol = async (study: string, all: readonly Readonly<Record<string, string>>[]) => {
      for (const [i, levels] of all.entries())
        expect((await randomize(study, `p${i + 1}`, levels)).status).toBe(200);
    };
    // The worked sample of permuted blocks, and the first ones of that of minimization.
    const blocks = [...'121122121'].map((local_site) => ({ local_site }));
    await enrol('Blocks', blocks);
    await enrol('Central', [{ sex: 'F' }]);
    const patients = 'F3x M1y M2y F1y'.split(' ').map(([sex = '', local_site = '', stage = '']) => {
      return { sex, local_site, stage };
    });
    await enrol('Minimized', patients);
    await enrol('Complete', [{ sex: 'F' }]);
    const list = fileOf('treatment,local_site\nA,11\nB,30\nC,30\n');
    await commandsOn(data).ok`lists add --study List --from ${list}`;
    const first = () => randomize('List', 'p1', { sex: 'F', local_site: '11' });
    await vi.waitFor(async () => expect((await first()).status).toBe(200), 5000);
  });

  const UNKNOWN = 'how the list of this study was made is not recorded';
  it('says why an arm was drawn, or which entry of a list was used, and that what was to be expected is not known', async () => {
    const auditor = await openAs(http.keys.auditor, address('participant', { study: 'Blocks' }));
    for (const [study, id, ...said] of REASONS) {
      const text = await why(auditor, study, id);
      for (const words of said) expect(text).toContain(words);
      if (study === 'Minimized') await auditor.lookTwice('why-minimized');
      if (study === 'Central') expect(text).not.toContain('Its size');
      if (study === 'List') expect(text).not.toMatch(/probabilit|The number/i);
    }
    await auditor.page.goto(address('study', { study: 'List' }));
    await auditor.sees(UNKNOWN);
    // Who may not read the design is told it, too.
    const watcher = await openAs(http.keys.watcher, address('study', { study: 'List' }));
    await watcher.sees(UNKNOWN);
  });

  it('says of a correction that no later allocation depends on it, unless it does', async () => {
    const corrector = await openAs(http.keys.corrector, address('participant', { study: 'List' }));
    for (const [study, said] of Object.entries({
      List: 'Later allocations do not depend on it.',
      Minimized: 'Later allocations still count this participant.',
    })) {
      await corrector.page.goto(address('participant', { study, id: 'p1', act: 'void' }));
      for (const choice of ['never took part', 'not to be analysed'])
        await corrector.page.getByText(choice).click();
      await corrector.fill({ Note: 'x' });
      expect(await corrector.lookAhead(), study).toContain(said);
    }
  });

  it('shows its method to who manages it, and what closing and reopening an arm does, without a size', async () => {
    const manager = await openAs(http.keys.manager, address('manage', { study: 'Central' }));
    const { page } = manager;
    await manager.sees('permuted blocks over the whole study');
    for (const [study, act, said] of [
      ['Central', 'close-arm', 'All open blocks end, and new ones begin.'],
      ['List', 'close-arm', 'What is left of the lists so far is not used any more'],
      ['Minimized', 'close-arm', 'The other treatments are balanced among themselves.No count changes.'],
      ['Complete', 'close-arm', /^(?!.*balanced)/],
      ['Central', 'reopen-arm', 'C can be drawn again.All open blocks end'],
    ] as const) {
      await page.goto(address('manage', { study, act }));
      await manager.select({ 'Which treatment?': 'C' });
      await manager.fill({ Reason: 'protocol 2' });
      expect(await manager.confirm('Amend the study'), `${study}: ${act}`).toMatch(said);
      await manager.follow('Back to');
    }
    for (const [study, method] of Object.entries({
      Blocks: 'permuted blocks by Local site',
      Minimized: 'minimization',
      Complete: 'complete randomization',
      List: 'a list made elsewhere, by Local site',
    })) {
      await page.goto(address('manage', { study }));
      await page.getByText(method, { exact: true }).waitFor();
    }
    for (const { body } of await manager.received())
      expect(body).not.toMatch(/method_parameters|perSlot|"sizes"/);
  });
});
