/** urn export --format csv: the list of participants for statisticians. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandsOn, enrol } from '../../support/cli-log.ts';
import { command, commandOk } from '../../support/command.ts';
import { registerIn } from '../../support/importing.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
let service: ServiceHere;
let keys: Record<'reader' | 'monitor', string>;

beforeAll(async () => {
  await registerIn(data, TRIALS);
  const [cook, dupage] = [COOK, DUPAGE].map(({ sex, local_site }) => [sex, local_site]);
  await enrol(data, 'Sleep', { '01': cook ?? [], '002': dupage ?? [] }, '=edc');
  await commandsOn(data)
    .ok`participants correct --study Sleep --id 01 --level sex=Female --cause entry --note typo`;
  keys = await issueKeys(data, {
    reader: ['reader', '--scope', 'read'],
    monitor: ['monitor', '--scope', 'blinded'],
  });
  service = await serveHere(data, TRIALS);
});
afterAll(() => service.stop());

const exported = (...args: string[]) =>
  command(['export', '--study', 'Sleep', '--format', 'csv', '--data', data, ...args]);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const listed = async (key: string) => {
  const headers = { 'X-API-Key': key, Accept: 'text/csv' };
  return (await fetch(`${service.url}/study_participants?study=Sleep`, { headers })).text();
};
/** The last disclosure in the log. */
const disclosed = () => storedLog(data).findLast(({ record }) => record.type === 'EvidenceDisclosed');

describe('urn export --format csv', () => {
  it('writes the same to stdout as HTTP gives, and nothing else; without arms for blinded readers', async () => {
    const { code, stdout, stderr } = await exported();
    expect({ code, stdout }).toEqual({ code: 0, stdout: await listed(keys.reader) });
    expect(stdout).toMatch(/ZZTREAT[AB]/);
    expect(stderr).toContain('UNBLINDING MATERIAL');
    expect(stderr).toContain(`2 participants, revision 3, sha256 ${sha256(stdout)}`);
    const blinded = await exported('--blinded');
    expect(blinded.stdout).toBe(await listed(keys.monitor));
    expect(blinded.stderr).not.toContain('UNBLINDING');
  });

  it('records the digest in the clear without arms, and seals it with them', async () => {
    const blinded = sha256((await exported('--blinded')).stdout);
    expect(disclosed()?.record).toMatchObject({
      ...{ version: 2, actor: { cli: true }, seals: {} },
      data: { what: 'export', study: 'Sleep', content: 'blinded', toRevision: 3, sha256: blinded },
    });
    const open = sha256((await exported()).stdout);
    const { record, sealed = '' } = disclosed() ?? {};
    expect(record.data).toMatchObject({ what: 'export', content: 'open', toRevision: 3 });
    expect(JSON.stringify(record)).not.toContain(open);
    expect(JSON.parse(sealed)).toMatchObject({ file: { sha256: open } });
    const told = await commandOk(['operations', '--study', 'Sleep', '--data', data]);
    expect(told).toContain(`was shown an export up to revision 3 (blinded, SHA-256 ${blinded}) of Sleep`);
    expect(told).toContain('was shown an export up to revision 3 (open) of Sleep');
    expect(told).not.toContain(open);
  });

  it('writes a dictionary and scripts beside the file, which only its owner can read', async () => {
    const folder = newFolder();
    const out = join(folder, "it's.csv");
    const { stdout } = await exported('--out', out, '--json');
    const text = readFileSync(out, 'utf8');
    expect(JSON.parse(stdout)).toEqual({
      files: ['', '.dictionary.csv', '.R', '.sas'].map((suffix) => `${out}${suffix}`),
      ...{ format: 'csv', content: 'open', study: 'Sleep', mode: 'test', participants: 2, revision: 3 },
      sha256: sha256(text),
    });
    expect(readdirSync(folder)).toHaveLength(4);
    for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    expect(text).toBe(await listed(keys.reader));
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
    const { code, stderr } = await exported('--out', out);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${out}.sas already exists`)]);
    expect([existsSync(out), readFileSync(`${out}.sas`, 'utf8')]).toEqual([false, 'mine']);
    const nowhere = await exported('--out', join(out, 'list.csv'));
    expect([nowhere.code, nowhere.stderr]).toEqual([2, `urn: there is no folder ${out}\n`]);
    expect(storedLog(data)).toHaveLength(before);
  });

  it('shows the study as it was at a revision, and guards texts that look like formulas if it is asked to', async () => {
    const { stdout, stderr } = await exported('--revision', '1', '--blinded', '--excel');
    expect(stdout.split('\r\n')[1]).toMatch(/^1,1,01,01,Male,[^,]+,Male,.*,'=edc,drawn,/);
    expect(stdout.split('\r\n')).toHaveLength(3);
    expect(stderr).toContain('1 participant, revision 1,');
    expect(disclosed()?.record.data.toRevision).toBe(1);
  });

  it.each([
    [['--revision', '9'], 'Sleep is at revision 3'],
    [['--revision', '-1'], 'is not a whole number from 0 on'],
    [['--study', 'None'], 'no study "None" is registered'],
    [['--json'], '--json describes the files that --out writes'],
    [['--format', 'pdf'], 'Allowed choices are'],
  ])('%j ends with a sentence', async (args, sentence) => {
    const { code, stdout, stderr } = await exported(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });
});
