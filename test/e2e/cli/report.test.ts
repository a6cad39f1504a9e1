import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { requiredPython } from '../../support/numpy.ts';
import { issueKeys, urnOk } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';
import { BundleFiles } from '../audit/bundle-file.ts';

const newFolder = temporaryFolders();
const python = requiredPython('zipfile') ?? '';
const data = newFolder();
const BEHALF = { 'X-On-Behalf-Of': Buffer.from('Dr. <b>Müller</b>').toString('latin1') };
let service: ServiceHere;
let auditor: string;

beforeAll(async () => {
  const keys = await issueKeys(data, { edc: ['edc'], auditor: ['auditor', '--scope', 'audit'] });
  auditor = keys.auditor;
  service = await serveHere(data, TRIALS);
  const { randomize } = clientOf(service.url, keys.edc);
  expect((await randomize('Sleep', '1', COOK, BEHALF)).status).toBe(200);
  expect((await randomize('Sleep', '2', DUPAGE)).status).toBe(200);
  await commandOk(['studies', 'pause', 'Sleep', '--reason', 'DSMB', '--data', data]);
});
afterAll(() => service.stop());

const REPORT = ['report', '--study', 'Sleep', '--data', data];
const report = (...args: string[]) => command([...REPORT, ...args]);

describe('urn report', () => {
  it.skipIf(python === '').each(['full', 'open', 'blinded'] as const)(
    'writes what a bundle with content %s contains, as a separate file',
    async (content) => {
      const folder = newFolder();
      const [out, zip] = [join(folder, 'report.html'), join(folder, 'bundle.zip')];
      const written = await report('--content', content, '--out', out);
      expect(written).toMatchObject({ code: 0, stdout: `${out}\n` });
      expect(statSync(out).mode & 0o777).toBe(0o600);
      await commandOk(['bundle', '--study', 'Sleep', '--content', content, '--out', zip, '--data', data]);
      const html = readFileSync(out, 'utf8');
      expect(html).toBe(BundleFiles.unpack(python, zip).text('report.html'));
      const charts = html.match(/<svg [\s\S]*?<\/svg>/g) ?? [];
      // Of enrolment, and of each of the two factors.
      expect(charts).toHaveLength(3);
      expect(charts.join()).not.toMatch(/ style=|http/);
      const isBlinded = content === 'blinded';
      expect(/ZZTREAT[AB]/.test(html)).toBe(!isBlinded);
      expect(/UNBLINDING MATERIAL/.test(written.stderr)).toBe(!isBlinded);
    },
  );

  it('shows who made it, and on whose behalf', async () => {
    const out = join(newFolder(), 'report.html');
    await urnOk([...REPORT, '--content', 'blinded', '--out', out]);
    const rows = readFileSync(out, 'utf8').match(/<tr>.*<\/tr>/g) ?? [];
    const last = (text: string) =>
      rows.find((row) => row.includes(text))?.match(/<td[^>]*>[^<]*<\/td><\/tr>/)?.[0];
    expect(last('"number">1</td><td>2')).toBe(
      '<td>edc, on behalf of Dr. &lt;b&gt;Müller&lt;/b&gt;</td></tr>',
    );
    expect(last('"number">2</td><td>2')).toBe('<td>edc</td></tr>');
    expect(last('paused: DSMB')).toMatch(/^<td>.* \(command line\)<\/td><\/tr>$/);
  });

  it('is recorded as a balance disclosure with arms, and not recorded without them', async () => {
    const folder = newFolder();
    const disclosed = () => storedLog(data).filter(({ record }) => record.type === 'EvidenceDisclosed');
    const before = disclosed().length;
    await report('--content', 'blinded', '--out', join(folder, 'blinded.html'));
    expect(disclosed()).toHaveLength(before);
    const { stdout } = await report('--content', 'open', '--json', '--out', join(folder, 'open.html'));
    expect(JSON.parse(stdout)).toMatchObject({
      study: 'Sleep',
      content: 'open',
      participants: 2,
      revision: 3,
    });
    expect(
      disclosed()
        .slice(before)
        .map(({ record }) => record.data),
    ).toMatchObject([{ what: 'balance', study: 'Sleep', toRevision: 3 }]);
  });

  it('overwrites no file, and requires a study that exists', async () => {
    const out = join(newFolder(), 'report.html');
    writeFileSync(out, 'mine');
    expect(await report('--out', out)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('already exists'),
    });
    expect(readFileSync(out, 'utf8')).toBe('mine');
    const unknown = await command(['report', '--study', 'Slep', '--data', data, '--out', `${out}.new`]);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('no study "Slep"') });
  });
});

describe('the person who uses a shared key', () => {
  it('is named in an explanation, on the command line and over HTTP', async () => {
    const explain = (...args: string[]) =>
      commandOk(['explain', '--study', 'Sleep', '--data', data, ...args]);
    expect(await explain('--id', '1')).toContain(' by edc, on behalf of Dr. <b>Müller</b>, as revision 1 ');
    expect(JSON.parse(await explain('--id', '1', '--json')).on_behalf_of).toBe('Dr. <b>Müller</b>');
    expect(await explain('--id', '2')).toContain(' by edc, as revision 2 ');
    const { results } = await clientOf(service.url, auditor).explain('Sleep', '1');
    expect(results).toMatchObject({ user: 'edc', on_behalf_of: 'Dr. <b>Müller</b>' });
    expect((await clientOf(service.url, auditor).explain('Sleep', '2')).results).not.toHaveProperty(
      'on_behalf_of',
    );
  });
});

it('a verification of a sound log ends by saying that nothing is wrong', async () => {
  const { code, stdout } = await command(['verify', '--data', data]);
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(
    /^RESULT: no fault was found in \d+ records of \d+ streams\. That nothing from outside was compared \(SELF-CONSISTENT ONLY\) is no failure\.$/,
  );
});
