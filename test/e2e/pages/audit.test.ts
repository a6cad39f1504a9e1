/** The pages of an auditor, and of whoever checks a receipt without the service, in a real browser. */
import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { leafHash } from '../../../events/record.ts';
import { MerkleTree } from '../../../src/core/log/merkle-tree.ts';
import { makeSigningKey, signCheckpoint } from '../../../src/core/log/signing.ts';
import { describeInBrowser, NARROW, openAs, type Person } from '../../support/browser.ts';
import { served } from '../../support/served.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const GRANTS = {
  edc: ['site-11', '--scope', 'read,randomize'],
  auditor: ['m.weber', '--scope', 'audit'],
  ward: ['ward', '--scope', 'audit', '--study', 'Ward'],
  desk: ['desk', '--scope', 'correct'],
} as const;
const TABS = ['Operations', 'Records', 'Checkpoint', 'Verification', 'Bundle'];

const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });

/** A file with a receipt of each size, and the proofs that the first ones are the beginnings of the last one. */
function keptLog(size: number) {
  const tree = new MerkleTree();
  const signer = makeSigningKey('other');
  const notes = Array.from({ length: size }, (_, i) => {
    tree.append(leafHash(Buffer.from(`record ${i}`)));
    return Buffer.from(signCheckpoint('other/study-1', i + 1, tree.root(i + 1), signer)).toString('base64');
  });
  const proofs = notes.slice(0, -1).map((_, i) => {
    const proof = tree.consistencyProof(i + 1, size).map((hashed) => hashed.toString('base64'));
    return file(`${i + 1}.json`, JSON.stringify({ first: i + 1, second: size, proof }));
  });
  return [file('many.txt', notes.join('\n')), ...proofs] as const;
}

describeInBrowser('the audit', () => {
  const disclosures = async () =>
    (await http.records()).flatMap(({ record: { type, actor, data } }) =>
      type === 'EvidenceDisclosed' && actor.user === 'm.weber' ? [data.what] : [],
    );

  let receipt = '';
  async function filled(): Promise<void> {
    for (const [id, levels] of [
      ['001', COOK],
      ['002', DUPAGE],
      ['002', COOK],
    ] as const) {
      const { headers } = await http.as('edc').randomize('Sleep', id, levels);
      receipt ||= headers.get('urn-receipt') ?? '';
    }
    for (const id of ['w1', 'w2']) await http.as('edc').randomize('Ward', id, { ward: 'a' });
    const why = { cause: 'never-enrolled', analysis: 'exclude', note: 'left' };
    await http.done('desk', '/voids', { study: 'Ward', id: 'w1', ...why });
  }
  const http = served(TRIALS, GRANTS, { filled });

  const atAudit = (name: keyof typeof GRANTS = 'auditor', study = 'Sleep') =>
    openAs(http.keys[name], `${http.url}/pages/audit#study=${study}`);
  const openTab = ({ page }: Person, name: string) => page.getByRole('tab', { name }).click();

  it('lists who was refused and who signed in; shows, saves and verifies all there is, and fits a telephone at night', async () => {
    const auditor = await atAudit();
    const { page } = auditor;
    const list = page.getByRole('list', { name: 'Operations' });
    await list.getByText('Refused: the participant had already been assigned').waitFor();
    await list.getByText('Signed in to the pages').first().waitFor();
    await page.getByLabel('Only what is about this study').check();
    await expect.poll(() => list.getByText('Signed in').count()).toBe(0);
    await auditor.select({ Show: 'Sign-ins and sign-outs' });
    await expect.poll(() => list.getByText('Refused').count()).toBe(0);

    // By keyboard only.
    await page.getByRole('tab', { name: 'Operations' }).focus();
    await page.keyboard.press('ArrowRight');
    await auditor.sees('Seeing them is recorded');
    expect(await disclosures()).toEqual([]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await auditor.sees('Study registered');
    expect(await disclosures()).toEqual(['records']);
    expect(await auditor.countOf('text', 'Participant randomized')).toBe(2);
    await page.getByText('The whole record').first().click();
    await page.getByText('"type": "ParticipantRandomized"').first().waitFor();
    await auditor.fits('audit-records-wide');

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
    expect(await disclosures()).toContain('bundle');

    await page.setViewportSize(NARROW);
    await page.emulateMedia({ colorScheme: 'dark' });
    for (const tab of TABS) {
      await openTab(auditor, tab);
      await page.getByRole('tabpanel', { name: tab }).waitFor();
      await auditor.look(`audit-${tab.toLowerCase()}-narrow-dark`);
    }
  });

  it('shows who was voided before somebody with the same levels, and what was drawn', async () => {
    const person = await atAudit('auditor', 'Ward');
    await openTab(person, 'Verification');
    await person.press('Verify this study now');
    await person.sees('1 participant whom site-11 randomized was voided', '; kept: 1 ');
    await person.sees('w1, voided by desk (revision 3); w2, randomized by site-11');
  });

  it('is without bundles for a key that is limited to studies; without a key and the service, a receipt is checked', async () => {
    const person = await atAudit('ward', 'Ward');
    const { page } = person;
    await page.getByRole('tab').first().waitFor();
    expect(await page.getByRole('tab').allTextContents()).toEqual(TABS.slice(0, -1));
    await person.press('Sign out');
    const about = (path: string, parameters = {}) =>
      http.get('auditor', path, { study: 'Sleep', ...parameters });
    const { checkpoint } = (await about('/checkpoint')).results;
    const proof = (await about('/consistency_proof', { first: '2' })).text;
    const created = (await http.records()).find(({ record }) => record.type === 'LogCreated');
    const verifierKey: string = created?.record.data.publicKey;
    await person.follow('Check a receipt');
    await person.seesHeading('Check a receipt or checkpoint');
    await page.waitForLoadState('networkidle');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    // Opened with a connection, the page has none from now on.
    await page.context().setOffline(true);
    const choose = async (...files: ReturnType<typeof file>[]) => {
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), person.press('Choose files')]);
      await chooser.setFiles(files);
    };

    await choose(file('receipt.txt', receipt));
    await person.sees('It is about the first 2 records');
    await choose(file('checkpoint.txt', checkpoint));
    await person.sees('The largest is about the first 3 records');
    const pair = 'receipt.txt:1 (2 records) agrees with checkpoint.txt:1 (3 records)';
    await person.sees(`Whether ${pair} is not shown`);
    await person.sees('signature not checked');
    await choose(file('proof.json', proof));
    await person.sees('They agree: what each says');
    await person.fill({ 'Verifier key': verifierKey.replace('+', '+0') });
    await person.sees('This is not a verifier key');
    await person.fill({ 'Verifier key': verifierKey });
    await person.sees('signed by this key');
    await person.sees('The largest covers the first 3 records');
    await choose(file('other.zip', 'PK'));
    await person.sees('other.zip cannot be read');
    await person.lookTwice('offline');
    // A site keeps a receipt of each participant: of many, there is as little to read.
    const [many, ...proofs] = keptLog(91);
    await choose(many);
    await person.sees('91 receipts and checkpoints');
    await person.sees('87 more');
    await choose(...proofs);
    await expect.poll(() => person.countOf('text', 'They agree')).toBe(2);
    // Each one was a card of its own, with a line for each later one.
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(2000);
    await person.picture('offline-many');

    expect(asked).toEqual([]);
    expect(await person.kept()).toBe('[{},{}]');
  });
});
