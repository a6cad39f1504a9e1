import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { resealRecord } from '../../support/altered-log.ts';
import { clientOf, exactJson, exactResults } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { issueKeys, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { damageLastRecord, storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const IDS = ['001', '002', '003', '004'];
const LEVELS = [COOK, DUPAGE, KANE, COOK];
/** What an auditor is shown over HTTP. */
const overHttp = new Map<string, unknown>();
let sleep: string;
let ward: string;

beforeAll(async () => {
  const keys = await issueKeys(data, { edc: ['edc'], auditor: ['auditor', '--scope', 'audit'] });
  const service = await serveHere(data, TRIALS);
  const { randomize } = clientOf(service.url, keys.edc);
  for (const [i, id] of IDS.entries()) await randomize('Sleep', id, LEVELS[i] ?? COOK);
  for (const id of IDS) await randomize('Ward', id, { ward: 'a' });
  for (const id of IDS) {
    overHttp.set(id, exactResults(await clientOf(service.url, keys.auditor).explain('Sleep', id)));
  }
  await service.stop();
  const streams = new Map(
    storedLog(data)
      .filter(({ record }) => record.type === 'StudyRegistered')
      .map(({ stream, record }) => [record.data.configuration.name, stream]),
  );
  sleep = streams.get('Sleep') ?? '';
  ward = streams.get('Ward') ?? '';
});

const explain = (study: string, id: string, ...args: string[]) =>
  command(['explain', '--study', study, '--id', id, '--data', data, ...args]);

describe('urn explain', () => {
  it('describes the steps in the terms of the method', async () => {
    const args = ['explain', '--study', 'Sleep', '--id', '003', '--data', data];
    const { code, stdout, stderr } = await urn(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Why participant 003 was assigned to ZZTREAT[AB]\nStudy Sleep\. Randomized 20/);
    expect(stdout).toMatch(/^ {3}sex = Male +participants +[01] +[01] +1$/m);
    expect(stdout).toMatch(/^ {3}local_site = 45-Kane \(3\+\) +participants +0 +0 +0$/m);
    expect(stdout).toMatch(/^ {3}None was cast: sex is the only candidate\.$/m);
    expect(stdout).toMatch(/u = \d+ x 2\^-53 = 0\.\d+$/m);
    expect(stdout).toMatch(/ZZTREAT[AB] .*<- u falls here$/m);
    expect(stdout).toContain('The record says the same');
  });

  it('--json prints what HTTP answers', async () => {
    for (const id of IDS) {
      const { stdout } = await explain('Sleep', id, '--json');
      expect(exactJson(stdout)).toEqual(overHttp.get(id));
      expect(exactJson(stdout)).toMatchObject({ study: 'Sleep', id, user: 'edc', agrees: true });
    }
  });

  it.each([
    ['a study', 'Dream', '001', /no study "Dream"/],
    ['a participant', 'Sleep', '999', /has no participant "999"/],
  ])('of %s that does not exist exits with 2', async (_, study, id, says) => {
    const { code, stdout, stderr } = await explain(study, id);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
  });

  it('without a study or id exits with 2', async () => {
    expect((await command(['explain', '--study', 'Sleep', '--data', data])).code).toBe(2);
    expect((await command(['explain', '--id', '001', '--data', data])).code).toBe(2);
  });

  it('begins no log', async () => {
    const empty = join(newFolder(), 'none');
    expect((await command(['explain', '--study', 'A', '--id', '1', '--data', empty])).code).toBe(2);
    expect(existsSync(empty)).toBe(false);
  });
});

describe('urn explain, on a log that was altered,', () => {
  it('reports a resealed record that contradicts its history: exit code 1', async () => {
    resealRecord(data, sleep, 3, ({ allocation }) => {
      allocation.treatment = allocation.treatment === 'ZZTREATA' ? 'ZZTREATB' : 'ZZTREATA';
    });
    const { code, stdout, stderr } = await explain('Sleep', '003');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^THE RECORD OF PARTICIPANT 003 DIFFERS/);
    expect(stdout).toMatch(/treatment\n +recorded: +"ZZTREAT[AB]"\n +worked out: +"ZZTREAT[AB]"/);
    expect(stderr).toContain('the record of 003 does not follow from the history before it');
    const { agrees, differences } = JSON.parse((await explain('Sleep', '003', '--json')).stdout);
    expect(agrees).toBe(false);
    expect(differences).toEqual([
      { field: 'treatment', recorded: expect.any(String), recomputed: expect.any(String) },
    ]);
  });

  it('still explains the participants before that record', async () => {
    expect((await explain('Sleep', '002')).code).toBe(0);
  });

  it('names a record that cannot be trusted: exit code 1', async () => {
    damageLastRecord(data, ward);
    expect((await explain('Ward', '003')).code).toBe(0);
    const { code, stdout, stderr } = await explain('Ward', '004');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/cannot be explained: study-\S+\/4: the record does not match the leaf hash/);
  });
});
