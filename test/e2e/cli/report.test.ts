import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BundleFiles } from '../../../src/evidence/bundle/bundle-files.ts';
import { commandsOn, enrol } from '../../support/cli-log.ts';
import { registerIn } from '../../support/importing.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const { run, ok, said } = commandsOn(data, '--study', 'Sleep');

beforeAll(async () => {
  await registerIn(data, TRIALS);
  await enrol(data, 'Sleep', { 1: [COOK.sex, COOK.local_site] }, 'Dr. <b>Müller</b>');
  await enrol(data, 'Sleep', { 2: [DUPAGE.sex, DUPAGE.local_site] });
  await commandsOn(data).ok`studies pause Sleep --reason DSMB`;
});

describe('urn report', () => {
  it.each(['open', 'blinded'])(
    'writes what a bundle with content %s contains, as a separate file',
    async (content) => {
      const folder = newFolder();
      const [out, zip] = [join(folder, 'report.html'), join(folder, 'bundle.zip')];
      const { code, stdout, stderr } = await run`report --content ${content} --out ${out}`;
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${out}\n` });
      expect(statSync(out).mode & 0o777).toBe(0o600);
      await ok`bundle --content ${content} --out ${zip}`;
      const html = readFileSync(out, 'utf8');
      const bundle = await BundleFiles.open(zip);
      expect(html).toBe((await bundle.readWhole('report.html')).toString());
      bundle.close();
      const charts = html.match(/<svg [\s\S]*?<\/svg>/g) ?? [];
      // Of enrolment, and of each of the two factors.
      expect(charts).toHaveLength(3);
      expect(charts.join()).not.toMatch(/ style=|http/);
      const isBlinded = content === 'blinded';
      expect(/ZZTREAT[AB]/.test(html)).toBe(!isBlinded);
      expect(/UNBLINDING MATERIAL/.test(stderr)).toBe(!isBlinded);
      const rows = html.match(/<tr>.*<\/tr>/g) ?? [];
      const last = (text: string) =>
        rows.find((row) => row.includes(text))?.match(/<td[^>]*>[^<]*<\/td><\/tr>/)?.[0];
      expect(last('"number">1</td><td>2')).toBe(
        '<td>site, on behalf of Dr. &lt;b&gt;Müller&lt;/b&gt;</td></tr>',
      );
      expect(last('"number">2</td><td>2')).toBe('<td>site</td></tr>');
      expect(last('paused: DSMB')).toMatch(/^<td>.* \(command line\)<\/td><\/tr>$/);
    },
  );

  it('is recorded as a balance disclosure with arms, and not recorded without them', async () => {
    const folder = newFolder();
    const disclosed = () => storedLog(data).filter(({ record }) => record.type === 'EvidenceDisclosed');
    const before = disclosed().length;
    await ok`report --content blinded --out ${join(folder, 'blinded.html')}`;
    expect(disclosed()).toHaveLength(before);
    const about = { study: 'Sleep', content: 'open', participants: 2, revision: 3 };
    const told = await ok`report --content open --json --out ${join(folder, 'open.html')}`;
    expect(JSON.parse(told)).toMatchObject(about);
    const [one, ...more] = disclosed().slice(before);
    expect([one?.record.data, more]).toMatchObject([{ what: 'balance', study: 'Sleep', toRevision: 3 }, []]);
  });

  it('overwrites no file, and requires a study that exists', async () => {
    const out = join(newFolder(), 'report.html');
    writeFileSync(out, 'mine');
    expect(await said`report --out ${out}`).toMatch(/^2 .*already exists/);
    expect(readFileSync(out, 'utf8')).toBe('mine');
    const other = commandsOn(data, '--study', 'Slep');
    expect(await other.said`report --out ${`${out}.new`}`).toMatch(/^2 .*no study "Slep"/);
  });
});

it('the person who uses a shared key is named in an explanation', async () => {
  const who = 'Dr. <b>Müller</b>';
  expect(await ok`explain --id 1`).toContain(` by site, on behalf of ${who}, as revision 1 `);
  expect(JSON.parse(await ok`explain --id 1 --json`).on_behalf_of).toBe(who);
  expect(await ok`explain --id 2`).toContain(' by site, as revision 2 ');
  expect(JSON.parse(await ok`explain --id 2 --json`)).not.toHaveProperty('on_behalf_of');
});

it('a verification of a sound log ends by saying that nothing is wrong', async () => {
  expect((await commandsOn(data).ok`verify`).trimEnd().split('\n').at(-1)).toMatch(
    /^RESULT: no fault was found in \d+ records of \d+ streams\. That nothing from outside was compared \(SELF-CONSISTENT ONLY\) is no failure\.$/,
  );
});
