/** urn explain. What it says: test/unit/explain. */
import { beforeAll, describe, expect, it } from 'vitest';
import { enrol, registered, studyRecords } from '../../support/cli-log.ts';
import { exactJson } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { urn } from '../../support/service.ts';
import { damageLastRecord } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { resealRecord } from '../audit/database.ts';

const data = temporaryFolders()();
const SITES = ['11-Cook County – Chicago', '30-Dupage County', '45-Kane (3+)'];
let sleep: string;

beforeAll(async () => {
  const factors = [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'local_site', levels: SITES },
  ];
  await registered(data, [
    { ...CONFIGURATION, name: 'Sleep', treatments: ['ZZTREATA', 'ZZTREATB'], factors },
  ]);
  const [cook = '', dupage = '', kane = ''] = SITES;
  const people = { '001': ['Male', cook], '002': ['Female', dupage], '003': ['Male', kane] };
  await enrol(data, 'Sleep', { ...people, '004': ['Male', cook] });
  sleep = studyRecords(data)[0]?.stream ?? '';
});

const explain = (study: string, id: string, ...args: string[]) =>
  command(['explain', '--study', study, '--id', id, '--data', data, ...args]);

it('urn explain describes the steps in the terms of the method', async () => {
  const { code, stdout, stderr } = await urn(['explain', '--study', 'Sleep', '--id', '003', '--data', data]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Why participant 003 was assigned to ZZTREAT[AB]\nStudy Sleep\. Randomized 20/);
  expect(stdout).toMatch(/^ {3}local_site = 45-Kane \(3\+\) +participants +0 +0 +0$/m);
  expect(stdout).toMatch(/^ {3}None was cast: sex is the only candidate\.$/m);
  expect(stdout).toContain('The record says the same');
  const json = (await explain('Sleep', '003', '--json')).stdout;
  expect(exactJson(json)).toMatchObject({ study: 'Sleep', id: '003', user: 'site', agrees: true });
  expect(json).toMatch(/"state":\{"inc":\d{20,39},/);
});

it.each([
  ['Dream', '001', /no study "Dream"/],
  ['Sleep', '999', /has no participant "999"/],
])('urn explain of what does not exist exits with 2: %s, %s', async (study, id, says) => {
  expect(await explain(study, id)).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(says) });
});

describe('urn explain, on a log that was altered,', () => {
  it('reports a resealed record that contradicts its history, and explains those before it', async () => {
    resealRecord(data, sleep, 3, ({ allocation }) => {
      allocation.treatment = allocation.treatment === 'ZZTREATA' ? 'ZZTREATB' : 'ZZTREATA';
    });
    const { code, stdout, stderr } = await explain('Sleep', '003');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^THE RECORD OF PARTICIPANT 003 DIFFERS/);
    expect(stderr).toContain('the record of 003 does not follow from the history before it');
    const { agrees, differences } = JSON.parse((await explain('Sleep', '003', '--json')).stdout);
    expect([agrees, differences]).toMatchObject([false, [{ field: 'treatment' }]]);
    expect((await explain('Sleep', '002')).code).toBe(0);
  });

  it('names a record that cannot be trusted: exit code 1', async () => {
    damageLastRecord(data, sleep);
    const { code, stdout, stderr } = await explain('Sleep', '004');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/cannot be explained: study-\S+\/4: the record does not match the leaf hash/);
  });
});
