/** What is written about a study: the list of participants for statisticians, and the report. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BundleFiles } from '../../../src/evidence/bundle/bundle-files.ts';
import { commandsOn, enrol } from '../../support/cli-log.ts';
import { command, refusal } from '../../support/command.ts';
import { registerIn } from '../../support/importing.ts';
import { served } from '../../support/served.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const WHO = '=Dr. <b>Müller</b>';
const { run, ok, said } = commandsOn(data, '--study', 'Sleep');

beforeAll(async () => {
  await registerIn(data, TRIALS);
  await enrol(data, 'Sleep', { '01': [COOK.sex, COOK.local_site] }, WHO);
  await enrol(data, 'Sleep', { '002': [DUPAGE.sex, DUPAGE.local_site] });
  await ok`participants correct --id 01 --level sex=Female --cause entry --note typo`;
  await commandsOn(data).ok`studies pause Sleep --reason DSMB`;
});
const keys = { reader: ['reader', '--scope', 'read'], monitor: ['monitor', '--scope', 'blinded'] };
const http = served(TRIALS, keys, { data });

const exported = (...args: string[]) =>
  command(['export', '--study', 'Sleep', '--format', 'csv', '--data', data, ...args]);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const listed = async (name: keyof typeof keys) =>
  (await http.text(name, '/study_participants', { study: 'Sleep' })).text;
/** The last disclosure in the log. */
const disclosed = () => storedLog(data).findLast(({ record }) => record.type === 'EvidenceDisclosed');

describe('urn export --format csv', () => {
  it('writes the same to stdout as HTTP gives, and nothing else; without arms for blinded readers', async () => {
    const { code, stdout, stderr } = await exported();
    expect({ code, stdout }).toEqual({ code: 0, stdout: await listed('reader') });
    expect(stdout).toMatch(/ZZTREAT[AB]/);
    expect(stderr).toContain('UNBLINDING MATERIAL');
    expect(stderr).toContain(`2 participants, revision 4, sha256 ${sha256(stdout)}`);
    const blinded = await exported('--blinded');
    expect(blinded.stdout).toBe(await listed('monitor'));
    expect(blinded.stderr).not.toContain('UNBLINDING');
  });

  it('records the digest in the clear without arms, and seals it with them', async () => {
    const blinded = sha256((await exported('--blinded')).stdout);
    expect(disclosed()?.record).toMatchObject({
      ...{ actor: { cli: true }, seals: {} },
      data: { what: 'export', study: 'Sleep', content: 'blinded', toRevision: 4, sha256: blinded },
    });
    const open = sha256((await exported()).stdout);
    const { record, sealed = '' } = disclosed() ?? {};
    expect(record.data).toMatchObject({ what: 'export', content: 'open', toRevision: 4 });
    expect(JSON.stringify(record)).not.toContain(open);
    expect(JSON.parse(sealed)).toMatchObject({ file: { sha256: open } });
    // Which words say so: test/unit/operations/recorder.test.ts.
    expect(await commandsOn(data).ok`operations`).not.toContain(open);
  });

  it('writes a dictionary and scripts beside the file, which only its owner can read', async () => {
    const folder = newFolder();
    const out = join(folder, "it's.csv");
    const { stdout } = await exported('--out', out, '--json');
    const text = readFileSync(out, 'utf8');
    expect(JSON.parse(stdout)).toEqual({
      files: ['', '.dictionary.csv', '.R', '.sas'].map((suffix) => `${out}${suffix}`),
      ...{ format: 'csv', content: 'open', study: 'Sleep', mode: 'test', participants: 2, revision: 4 },
      sha256: sha256(text),
    });
    expect(readdirSync(folder)).toHaveLength(4);
    for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    expect(text).toBe(await listed('reader'));
    expect(readFileSync(`${out}.R`, 'utf8')).toContain('"it\'s.csv"');
    expect(readFileSync(`${out}.sas`, 'utf8')).toContain("'it''s.csv'");
    // In a folder, it has a name of its own.
    await exported('--blinded', '--out', folder);
    expect(readdirSync(folder)).toContain('Sleep-TEST-blinded.csv');
  });

  it('overwrites nothing, and records nothing then', async () => {
    const out = join(newFolder(), 'list.csv');
    writeFileSync(`${out}.sas`, 'mine');
    const before = storedLog(data).length;
    expect(await refusal(exported('--out', out))).toContain(`${out}.sas already exists`);
    expect([existsSync(out), readFileSync(`${out}.sas`, 'utf8')]).toEqual([false, 'mine']);
    const nowhere = await refusal(exported('--out', join(out, 'list.csv')));
    expect(nowhere).toBe(`urn: there is no folder ${out}\n`);
    expect(storedLog(data)).toHaveLength(before);
  });

  it('shows the study as it was at a revision, and guards texts that look like formulas if it is asked to', async () => {
    const { stdout, stderr } = await exported('--revision', '1', '--blinded', '--excel');
    expect(stdout.split('\r\n')[1]).toMatch(/^1,1,01,01,Male,[^,]+,Male,.*,'=Dr\. <b>Müller<\/b>,drawn,/);
    expect(stdout.split('\r\n')).toHaveLength(3);
    expect(stderr).toContain('1 participant, revision 1,');
    expect(disclosed()?.record.data.toRevision).toBe(1);
  });

  it.each([
    [['--revision', '9'], 'Sleep is at revision 4'],
    [['--revision', '-1'], 'is not a whole number from 0 on'],
    [['--study', 'None'], 'no study "None" is registered'],
    [['--json'], '--json describes the files that --out writes'],
    [['--format', 'pdf'], 'Allowed choices are'],
  ])('%j ends with a sentence', async (args, sentence) => {
    expect(await refusal(exported(...args))).toContain(sentence);
  });
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
      expect(html).toContain('<td>site, on behalf of =Dr. &lt;b&gt;Müller&lt;/b&gt;</td></tr>');
    },
  );

  it('goes to standard output with --out -, alone, and then what is said about it to stderr; likewise an export', async () => {
    const out = join(newFolder(), 'report.html');
    await ok`report --content open --out ${out}`;
    const { code, stdout, stderr } = await run`report --content open --out -`;
    expect({ code, stdout }).toEqual({ code: 0, stdout: readFileSync(out, 'utf8') });
    expect(stderr).toContain('UNBLINDING MATERIAL');
    expect((await run`report --out - --json`).code).toBe(2);
    expect((await exported('--blinded', '--out', '-')).stdout).toBe(await listed('monitor'));
  });

  it('is recorded as a balance disclosure with arms, and not recorded without them, or if the file is there', async () => {
    const folder = newFolder();
    const disclosed = () => storedLog(data).filter(({ record }) => record.type === 'EvidenceDisclosed');
    const before = disclosed().length;
    await ok`report --content blinded --out ${join(folder, 'blinded.html')}`;
    expect(disclosed()).toHaveLength(before);
    const about = { study: 'Sleep', content: 'open', participants: 2, revision: 4 };
    const told = await ok`report --content open --json --out ${join(folder, 'open.html')}`;
    expect(JSON.parse(told)).toMatchObject(about);
    const [one, ...more] = disclosed().slice(before);
    expect([one?.record.data, more]).toMatchObject([{ what: 'balance', study: 'Sleep', toRevision: 4 }, []]);
    expect(await said`report --out ${join(folder, 'open.html')}`).toMatch(/^2 .*already exists/);
    expect(disclosed()).toHaveLength(before + 1);
  });
});
