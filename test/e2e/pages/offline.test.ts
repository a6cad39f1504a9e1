/** The page that checks receipts without the service, in a real browser. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeInBrowser, sitDown } from '../../support/browser.ts';
import { ask, clientOf } from '../../support/client.ts';
import { recordsOf, type ServiceHere, serveInMemory } from '../../support/service-here.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });

describeInBrowser('offline verification', () => {
  let service: ServiceHere;
  let receipt: string;
  let checkpoint: string;
  let proof: string;
  let verifierKey: string;

  beforeAll(async () => {
    const served = await serveInMemory(TRIALS, {
      edc: ['edc', '--scope', 'read,randomize'],
      auditor: ['auditor', '--scope', 'audit'],
    });
    ({ service } = served);
    const edc = clientOf(service.url, served.keys.edc);
    receipt = (await edc.randomize('Sleep', '001', COOK)).headers.get('urn-receipt') ?? '';
    await edc.randomize('Sleep', '002', DUPAGE);
    const about = async (path: string, parameters = {}) =>
      ask(service.url, path, { key: served.keys.auditor, parameters: { study: 'Sleep', ...parameters } });
    ({ checkpoint } = (await about('/checkpoint')).results);
    proof = (await about('/consistency_proof', { first: '2' })).text;
    const created = (await recordsOf(service)).find(({ record }) => record.type === 'LogCreated');
    verifierKey = created?.record.data.publicKey;
  });
  afterAll(() => service?.stop());

  it('says what a receipt covers, without a key of the service and without asking it', async () => {
    const person = await sitDown();
    const { page } = person;
    await page.goto(`${service.url}/pages/studies`);
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

    await choose(file('receipt.txt', receipt), file('checkpoint.txt', checkpoint));
    await person.sees('It is about the first 2 records');
    await person.sees('Whether it agrees with checkpoint.txt:1 (3 records) is not shown');
    expect(await person.countOf('text', 'signature not checked')).toBe(2);
    await choose(file('proof.json', proof));
    await person.sees('It agrees with checkpoint.txt:1 (3 records).');
    await person.fill({ 'Verifier key': verifierKey.replace('+', '+0') });
    await person.sees('This is not a verifier key');
    await person.fill({ 'Verifier key': verifierKey });
    await expect.poll(() => person.countOf('text', 'signed by this key')).toBe(2);
    await person.sees('It covers the first 2 records');
    await choose(file('other.zip', 'PK'));
    await person.sees('other.zip cannot be read');
    await person.lookTwice('offline');

    expect(asked).toEqual([]);
    expect(await person.kept()).toBe('[{},{}]');
  });
});
