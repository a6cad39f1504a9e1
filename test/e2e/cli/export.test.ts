/** urn export --format csv: the list of participants for statisticians. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys, urn } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
let service: ServiceHere;
let keys: Record<'edc' | 'manager' | 'monitor', string>;

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['=edc', '--scope', 'randomize,read'],
    manager: ['manager', '--scope', 'correct,read'],
    monitor: ['monitor', '--scope', 'blinded'],
  });
  service = await serveHere(data, TRIALS);
  const { randomize } = clientOf(service.url, keys.edc);
  await randomize('Sleep', '01', COOK);
  await randomize('Sleep', '002', DUPAGE);
  const changes = [{ factor: 'sex', from: 'Male', to: 'Female' }];
  const body = { study: 'Sleep', id: '01', changes, cause: 'entry', note: 'typo' };
  await postJson(service.url, '/level_corrections', keys.manager, body);
});
afterAll(() => service.stop());

const EXPORT = ['export', '--study', 'Sleep', '--format', 'csv', '--data', data];
const exported = (...args: string[]) => command([...EXPORT, ...args]);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const listed = async (key: string) => {
  const headers = { 'X-API-Key': key, Accept: 'text/csv' };
  return (await fetch(`${service.url}/study_participants?study=Sleep`, { headers })).text();
};
/** The last disclosure in the log. */
const disclosed = () =>
  storedLog(data)
    .filter(({ record }) => record.type === 'EvidenceDisclosed')
    .at(-1);

describe('urn export --format csv', () => {
  it('writes the same to stdout as HTTP gives, and nothing else', async () => {
    const { code, stdout, stderr } = await urn(EXPORT);
    expect({ code, stdout }).toEqual({ code: 0, stdout: await listed(keys.edc) });
    expect(stdout).toMatch(/ZZTREAT[AB]/);
    expect(stderr).toContain('UNBLINDING MATERIAL');
    expect(stderr).toContain(`2 participants, revision 3, sha256 ${sha256(stdout)}`);
  });

  it('is without arms for blinded readers', async () => {
    const { stdout, stderr } = await exported('--blinded');
    expect(stdout).toBe(await listed(keys.monitor));
    expect(stderr).not.toContain('UNBLINDING');
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
    await commandOk(['verify', '--data', data]);
  });

  it('writes a dictionary and scripts beside the file, which only its owner can read', async () => {
    const folder = newFolder();
    const out = join(folder, "it's.csv");
    const { code, stdout } = await exported('--out', out, '--json');
    expect(code).toBe(0);
    const text = readFileSync(out, 'utf8');
    expect(JSON.parse(stdout)).toEqual({
      files: ['', '.dictionary.csv', '.R', '.sas'].map((suffix) => `${out}${suffix}`),
      ...{ format: 'csv', content: 'open', study: 'Sleep', mode: 'test', participants: 2, revision: 3 },
      sha256: sha256(text),
    });
    expect(readdirSync(folder)).toHaveLength(4);
    for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    expect(text).toBe(await listed(keys.edc));
    expect(readFileSync(`${out}.R`, 'utf8')).toContain('"it\'s.csv"');
    expect(readFileSync(`${out}.sas`, 'utf8')).toContain("'it''s.csv'");
  });

  it('names the file after a test study itself, in a folder', async () => {
    const folder = newFolder();
    const { stdout } = await exported('--blinded', '--out', folder);
    expect(stdout).toContain(join(folder, 'Sleep-TEST-blinded.csv.dictionary.csv'));
    expect(readdirSync(folder)).toContain('Sleep-TEST-blinded.csv');
  });

  it('overwrites nothing, and records nothing then', async () => {
    const out = join(newFolder(), 'list.csv');
    writeFileSync(`${out}.sas`, 'mine');
    const before = storedLog(data).length;
    const { code, stderr } = await exported('--out', out);
    expect(code).toBe(2);
    expect(stderr).toContain(`${out}.sas already exists`);
    expect([existsSync(out), readFileSync(`${out}.sas`, 'utf8')]).toEqual([false, 'mine']);
    const nowhere = await exported('--out', join(out, 'list.csv'));
    expect([nowhere.code, nowhere.stderr]).toEqual([2, `urn: there is no folder ${out}\n`]);
    expect(storedLog(data)).toHaveLength(before);
  });

  it('shows the study as it was at a revision', async () => {
    const { stdout, stderr } = await exported('--revision', '1', '--blinded');
    expect(stdout.split('\r\n')[1]).toMatch(/^1,1,01,01,Male,[^,]+,Male,/);
    expect(stdout.split('\r\n')).toHaveLength(3);
    expect(stderr).toContain('1 participant, revision 1,');
    expect(disclosed()?.record.data.toRevision).toBe(1);
  });

  it('guards texts that look like formulas if it is asked to', async () => {
    const { stdout } = await exported('--blinded', '--excel');
    expect(stdout).toMatch(/^1,1,01,01,Female,.*,'=edc,,drawn,/m);
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
