/** Matching ids never takes too long, and only studies of earlier versions have patterns that RE2 cannot run. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import type { Report } from '../../../src/evidence/verify/report/report.ts';
import { openLog } from '../../../src/service/open/open-log.ts';
import { clientOf } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { CONFIGURATION as ANY, OPERATOR } from '../../support/facts.ts';
import { OldLog } from '../../support/old-log.ts';
import { issueKey, urn } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const LONGEST = 'a'.repeat(128);
/** Each answer used to take a second or more with either. */
const EVIL = { Nested: '(a+)+b', Ahead: '(?=a)(a|a|a|a)*b' } as const;
const WARD = { ward: 'a' };
const study = (name: string, pattern: string) =>
  `${name}:\n  mode: test\n  treatments: [Left, Right]\n  factors: {ward: [a, b]}\n  id_pattern: '${pattern}'\n`;

const CONFIGURATION: StudyConfiguration = {
  ...{ ...ANY, mode: 'test', treatments: ['Left', 'Right'] },
  factors: [{ name: 'ward', levels: ['a', 'b'] }],
};

let service: ServiceHere | undefined;
afterEach(() => service?.stop());

/** A log with a study registered as by an earlier version, and a participant whose id cannot be matched in time. */
async function logWithPattern(name: string, idPattern: string): Promise<{ data: string; key: string }> {
  const data = newFolder();
  const key = await issueKey(data, 'edc');
  const { keyId } = JSON.parse((await command(['keys', 'list', '--json', '--data', data])).stdout)[0];
  const log = await openLog({ data }, OPERATOR);
  try {
    await log.rebuild();
    await log.studies.register({ ...CONFIGURATION, name, idPattern }, undefined, OPERATOR);
    const actor = { keyId, user: 'edc', accessRevision: log.runner.revision('access') };
    const command = { type: 'randomize', participantId: LONGEST, levels: ['a'], user: 'edc' } as const;
    await log.studies.submit(log.studies.streamOf(name), command, actor);
  } finally {
    await log.close();
  }
  return { data, key };
}

describe('a study with a pattern that RE2 can run', () => {
  it('answers requests with the worst possible id at once', async () => {
    const data = newFolder();
    const key = await issueKey(data, 'edc');
    service = await serveHere(data, study('Nested', EVIL.Nested));
    const { randomize } = clientOf(service.url, key);
    const started = performance.now();
    for (let i = 0; i < 20; i++) {
      const { status, message } = await randomize('Nested', LONGEST, WARD);
      expect([status, message]).toEqual([
        400,
        `id does not match this study's pattern ${EVIL.Nested} (an id of this form: ab)`,
      ]);
    }
    // With backtracking, they used to take a second each.
    expect(performance.now() - started).toBeLessThan(10_000);
    expect((await randomize('Nested', 'aab', WARD)).status).toBe(200);
  });
});

describe('a study that was registered with a pattern that RE2 cannot run', () => {
  it('is still served, and gives up on an id that takes too long', async () => {
    const { data, key } = await logWithPattern('Ahead', EVIL.Ahead);
    service = await serveHere(data, study('Ahead', EVIL.Ahead));
    const { randomize, list } = clientOf(service.url, key);
    expect((await randomize('Ahead', 'aab', WARD)).status).toBe(200);
    expect(await randomize('Ahead', 'xb', WARD)).toMatchObject({
      status: 400,
      message: `id does not match this study's pattern ${EVIL.Ahead}`,
    });
    const late = await randomize('Ahead', `${LONGEST.slice(1)}c`, WARD);
    expect(late).toMatchObject({ status: 503, message: expect.stringContaining('in time'), results: [] });
    expect(late.headers.get('retry-after')).toBe('1');
    expect((await list('Ahead')).results).toHaveLength(2);
  });

  it('verifies, in the log and as a bundle, with a warning about the ids that were not matched', async () => {
    const { data } = await logWithPattern('Ahead', EVIL.Ahead);
    const bundle = join(data, 'ahead.zip');
    expect((await command(['bundle', '--study', 'Ahead', '--data', data, '--out', bundle])).code).toBe(0);
    for (const what of [
      ['--data', data],
      ['--bundle', bundle],
    ]) {
      const { code, stdout } = await command(['verify', '--json', ...what]);
      expect(code, stdout).toBe(0);
      const report: Report = JSON.parse(stdout);
      expect(report.streams.find((one) => one.study === 'Ahead')).toMatchObject({
        sound: true,
        warnings: [{ code: 'id-not-compared', count: 1, revision: 1 }],
      });
    }
  });

  it('counts as registered for urn studies check', async () => {
    const old = new OldLog('0.1.0/every-event');
    const data = old.copyTo(newFolder());
    const { code, stdout } = await command([
      ...['studies', 'check', '--data', data, '--studies', old.file('studies.yaml')],
    ]);
    expect([code, stdout]).toEqual([0, 'Sleep: as registered\nWard: as registered\n']);
  });
});

describe('a new study with a pattern that RE2 cannot run', () => {
  it('is refused by urn studies check and urn serve, with its line number, and not registered', async () => {
    const data = newFolder();
    const file = join(data, 'studies.yaml');
    writeFileSync(file, `${study('Nested', EVIL.Nested)}${study('Ahead', EVIL.Ahead)}`);
    const refusal = `${file}:10: study "Ahead": id_pattern has (? before something other than a colon, which a new study cannot have (hint: `;
    const check = await command(['studies', 'check', '--data', join(data, 'none'), '--studies', file]);
    expect([check.code, check.stdout]).toEqual([2, '']);
    expect(check.stderr).toContain(refusal);
    expect(existsSync(join(data, 'none'))).toBe(false);
    const serving = await urn(['serve', '--port', '0', '--data', data, '--studies', file]);
    expect([serving.code, serving.stderr]).toEqual([2, expect.stringContaining(refusal)]);
    expect(storedLog(data).map(({ record }) => record.type)).not.toContain('StudyRegistered');
  });
});
