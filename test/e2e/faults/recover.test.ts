/** A log that was restored from a real backup is recovered: the loss is declared, and nothing lost is drawn again. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/evidence/verify/report/report.ts';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { LogCheck } from '../../support/log-check.ts';
import { requiredPython } from '../../support/numpy.ts';
import { verifyOurselves } from '../../support/own-verifier.ts';
import { type Service, serve, urn } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TrialLog } from '../../support/trial-log.ts';
import { TRIALS } from '../../support/trials.ts';
import { runVerifier } from '../../support/verifier.ts';

const python = requiredPython('numpy, cryptography');
const newFolder = temporaryFolders();
let log: TrialLog;
let service: Service | ServiceHere;

const start = async () => {
  service = await log.start();
};
const randomize = (id: string, study = 'Sleep') => log.randomize(service, id, study);
/** Generator states after each allocation, as an auditor sees them. */
const states = async () =>
  (await clientOf(service.url, log.keys.audit).list('Sleep')).results.map((one: { bg_state: unknown }) =>
    JSON.stringify(one.bg_state),
  );
const recover = (...args: string[]) =>
  command(['recover', '--data', log.data, '--reason', 'disk failure', ...args]);
const keep = (...ids: string[]) => {
  const kept = log.file(`receipts-${ids.join('-')}`);
  writeFileSync(kept, ids.map((id) => log.receipts.get(id)).join('\n'));
  return kept;
};
async function verify(...args: string[]) {
  const { code, stdout } = await command(['verify', '--data', log.data, '--json', ...args]);
  const report: Report = JSON.parse(stdout);
  const study = report.streams.find((one) => one.study === 'Sleep');
  if (!study) throw new Error('no report of Sleep');
  return { code, report, study };
}

let begun: TrialLog;
beforeAll(async () => {
  begun = await TrialLog.begin(newFolder());
});
beforeEach(() => {
  log = begun.copyTo(newFolder());
});
afterEach(() => service?.stop());

describe('a log that lost its newest allocations', () => {
  let before: string[];
  let lost: TrialLog;
  beforeAll(async () => {
    lost = begun.copyTo(newFolder());
    await lost.run('a', 'b');
    lost.backUp();
    await lost.run('c', 'd');
    log = lost;
    await start();
    before = await states();
    await service.stop();
    lost.restore();
  });
  beforeEach(() => {
    log = lost.copyTo(newFolder());
  });

  it('accepts participants again once the loss is declared, with another generator', async () => {
    const { code, stdout, stderr } = await recover();
    expect(stderr).toContain('Restart the service');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^recovery 1 is declared:\n/);
    expect(stdout).toMatch(/^study-\S+ +3 +5 +at least 2 +Sleep$/m);
    await start();
    const again = await randomize('c');
    expect(again.status).toBe(200);
    expect(Buffer.from(again.headers.get('urn-receipt') ?? '', 'base64').toString()).toMatch(
      /^urn\/study-[-0-9a-f]+\/1\n5\n/,
    );
    expect((await randomize('d')).status).toBe(200);
    const after = await states();
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
    for (const state of after.slice(2)) expect(before).not.toContain(state);
    // Not even the generator of a study that is not known to have lost anything continues.
    expect((await randomize('w', 'Ward')).status).toBe(200);
    expect((await verify()).code).toBe(0);
    new LogCheck(log.data).check();
    await service.stop();
    await start();
    expect((await randomize('e')).status).toBe(200);
  });

  it('verifies, and a receipt of a lost record is a declared loss, never a rewrite', async () => {
    await recover();
    await log.run('c2', 'd2', 'e2');
    const { report, study } = await verify('--checkpoint', keep('a', 'b', 'd2', 'e2'));
    expect(report.ok).toBe(true);
    expect(study.evidence).toMatchObject({ matching: 4, matchingSize: 7, lost: [] });
    expect(study.warnings).toMatchObject([{ code: 'recovered', revision: 3 }]);
    expect(report.log?.recoveries).toMatchObject([{ recovery: 1, reason: 'disk failure' }]);

    const lost = await verify('--checkpoint', keep('b', 'c', 'd', 'e2'));
    expect(lost.code).toBe(1);
    expect(lost.study).toMatchObject({ sound: false, evidence: { matching: 2, failing: 0 } });
    expect(lost.study.divergence).toBeUndefined();
    expect(lost.study.evidence).not.toHaveProperty('rewritten');
    expect(lost.study.evidence.lost).toMatchObject([
      { size: 4, recovery: 1, kept: 3, because: 'declared-loss' },
      { size: 5, recovery: 1, kept: 3, because: 'declared-loss' },
    ]);
    const { stdout } = await command(['verify', '--data', log.data, '--checkpoint', keep('c')]);
    expect(stdout).toContain('DECLARED LOSS: 1 checkpoint up to size 4 is of records that recovery 1');
    expect(stdout).toContain('RECOVERED from a backup (recovery 1');
  });

  it('can be recovered a second time, with another origin', async () => {
    await recover();
    await log.run('c2');
    log.backUp('second');
    await log.run('d2');
    log.restore('second');
    await start();
    expect((await randomize('x')).status).toBe(503);
    await service.stop();
    expect((await recover()).stdout).toContain('recovery 2 is declared');
    await log.run('d3');
    const { report, study } = await verify('--checkpoint', keep('a', 'd', 'c2', 'd2', 'd3'));
    expect(report.log?.recoveries.map(({ recovery }) => recovery)).toEqual([1, 2]);
    expect(study.evidence.matching).toBe(3);
    expect(study.evidence.lost).toMatchObject([
      { size: 5, recovery: 1 },
      { size: 6, recovery: 2 },
    ]);
    // Back to before the first recovery, which is lost too: its number is not used again.
    log.restore();
    const doubtful = await recover();
    expect(doubtful.code).toBe(2);
    expect(doubtful.stderr).toContain('that the log was moved to another store');
    expect((await recover('--not-moved')).stdout).toContain('recovery 3 is declared');
    await log.run('c4');
    const last = await verify('--checkpoint', keep('b', 'd', 'd2', 'd3', 'c4'));
    expect(last.study.evidence.matching).toBe(2);
    expect(last.study.evidence.lost.map(({ because }) => because)).toEqual(Array(3).fill('declared-loss'));
  });

  it('declares losses that the receipts show beyond its own notes', async () => {
    // As if the service had been killed before it noted what it signed last.
    const noted = readFileSync(log.file('last-checkpoints'), 'utf8');
    rmSync(log.file('last-checkpoints'));
    expect((await recover()).stderr).toContain('nothing is missing that this log is known to have signed');
    const dry = await recover('--dry-run', '--checkpoint', keep('c'));
    expect(dry.stdout).toContain('would be declared:');
    expect((await recover('--checkpoint', keep('c'))).code).toBe(0);
    await log.run('x');
    expect(readFileSync(log.file('last-checkpoints'), 'utf8')).not.toBe(noted);
    const { study } = await verify('--checkpoint', keep('c', 'd'));
    expect(study.evidence.lost).toMatchObject([
      { size: 4, because: 'declared-loss' },
      { size: 5, because: 'undeclared-loss' },
    ]);
    const { stdout } = await command(['verify', '--data', log.data, '--checkpoint', keep('c', 'd')]);
    expect(stdout).toContain('LOST AND NOT DECLARED: 1 checkpoint up to size 5');
  });

  it('can be recovered although nothing shows the loss, if forced', async () => {
    rmSync(log.file('last-checkpoints'));
    expect((await recover('--unproven')).code).toBe(0);
    await log.run('c');
    expect((await verify()).study.warnings).toMatchObject([
      { code: 'recovered', text: expect.stringContaining('no lost record is known') },
    ]);
  });

  it.skipIf(python === undefined)(
    'can be bundled, and the Python verifier reports its recovery',
    async () => {
      await recover();
      await log.run('c2');
      const key = await commandOk(['signing-key', 'show', '--data', log.data]);
      const trust = ['--trust', key.trim()];
      expect(await commandOk(['studies', 'show', 'Sleep', '--data', log.data])).toMatch(
        /^recovered +recovery 1 of the log, \S+: at least 2 records after the first 3 were lost; the generator began anew$/m,
      );
      for (const content of ['full', 'blinded']) {
        const out = log.file(`${content}.zip`);
        const bundle = ['--study', 'Sleep', '--content', content, '--out', out];
        await commandOk(['bundle', ...bundle, '--data', log.data]);
        const sound = runVerifier(python ?? '', [out, ...trust, '--checkpoint', keep('a', 'c2')]);
        expect(sound.stdout + sound.stderr).toContain('RESULT  nothing wrong was found');
        expect(sound.stdout).toMatch(
          /^ {2}study-\S+: 5 records, .*RECOVERED from a backup after the first 3$/m,
        );
        expect(sound.stdout).toContain(
          'revisions 0 to 4: as signed: by checkpoints that were kept elsewhere',
        );
        const own = await verifyOurselves(out, [...trust, '--checkpoint', keep('a', 'c2')]);
        expect(own.code, own.text).toBe(0);
        const told = own.report?.streams.find((one) => one.study === 'Sleep');
        expect(told).toMatchObject({
          evidence: { matchingSize: 5 },
          warnings: [{ code: 'recovered', revision: 3 }],
        });
        expect(own.report?.bundle?.notKnown).toContainEqual(
          expect.stringContaining('the recoveries of the log'),
        );
        const missing = await verifyOurselves(out, [...trust, '--checkpoint', keep('d')]);
        expect(missing).toMatchObject({
          code: 1,
          text: expect.stringContaining('DECLARED LOSS: 1 checkpoint'),
        });
        expect(missing.text).not.toMatch(/DIVERGENCE|CHANGED SINCE/);
      }
      const lost = runVerifier(python ?? '', [log.file('full.zip'), ...trust, '--checkpoint', keep('d')]);
      expect(lost.code).toBe(1);
      expect(lost.stdout).toMatch(/^FAILED .* size 5: DECLARED LOSS: recovery 1 kept 3 records$/m);
      expect(lost.stdout).not.toMatch(/other records|Divergence/);
    },
  );
});

describe('urn recover', () => {
  it('completes a recovery that was interrupted after the loss was declared', async () => {
    await log.run('a');
    log.backUp();
    await log.run('b');
    log.restore();
    // Only the declaration, as if the process were killed right after it.
    const stopping = new URL('../../support/stop-after-declaring.mjs', import.meta.url);
    const child = await urn(['recover', '--data', log.data, '--reason', 'x'], {
      env: { NODE_OPTIONS: `--import ${stopping}` },
    });
    expect(child.code).not.toBe(0);
    expect((await verify()).study.records).toBe(2);
    // The service does it at its start.
    await log.run('c');
    const { study } = await verify();
    expect(study).toMatchObject({ sound: true, records: 4 });
    expect((await recover()).stderr).toContain('nothing is missing');
  });

  it('registers a study again that was lost completely, and does not repeat its draws', async () => {
    service = await serveHere(log.data);
    await service.stop();
    log.backUp();
    await start();
    expect((await randomize('a')).status).toBe(200);
    const [lost] = await states();
    await service.stop();
    log.restore();
    expect((await recover()).code).toBe(0);
    await start();
    expect((await randomize('a')).status).toBe(200);
    expect(await states()).not.toContain(lost);
    const { report, study } = await verify('--checkpoint', keep('a'));
    expect(study.warnings[0]).toMatchObject({ code: 'recovered', revision: 1 });
    expect(report.ok).toBe(true);
  });

  it('refuses at once while a service has the log open, and declares nothing', async () => {
    const other = await serve({ data: log.data, studies: TRIALS });
    service = { ...other, stop: other.kill };
    expect((await randomize('a')).status).toBe(200);
    const refused = await recover('--unproven');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('another process has this log open'),
    ]);
    expect((await recover('--unproven', '--dry-run')).stdout).toContain('would be declared');
    expect((await randomize('b')).status).toBe(200);
    await other.kill();
    // What a killed process left blocks nobody, and is not lost.
    expect((await recover('--unproven')).stdout).toMatch(/^study-\S+ +3 +\d/m);
    await log.run('c');
    expect((await verify()).study).toMatchObject({ sound: true, participants: 3 });
  });

  it('declares nothing for changed records, for a log that is complete, or without a reason', async () => {
    await log.run('a');
    expect((await recover()).code).toBe(2);
    expect((await recover('--reason', ' ')).stderr).toContain('--reason must not be empty');
    expect((await recover('--checkpoint', log.file('nowhere'))).stderr).toContain('cannot read');
    writeFileSync(
      log.file('foreign'),
      readFileSync(log.file('last-checkpoints'), 'utf8').replace(/— urn .*/, '— urn AAAAAAAA'),
    );
    expect((await recover('--checkpoint', log.file('foreign'))).code).toBe(2);
    log.backUp();
    const noted = readFileSync(log.file('last-checkpoints'));
    await log.run('b');
    const signed = readFileSync(log.file('last-checkpoints'));
    log.restore();
    writeFileSync(log.file('last-checkpoints'), noted);
    await log.run('other');
    writeFileSync(log.file('last-checkpoints'), signed);
    const refused = await recover();
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('holds other records than the 3 that the log signed'),
    ]);
    const nowhere = await command(['recover', '--reason', 'x', '--data', newFolder()]);
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining('there is no log in')]);
  });
});

it('a recovery invented to hide allocations is exposed by the receipts', async () => {
  await log.run('a', 'b');
  log.backUp();
  await log.run('c');
  log.restore();
  await commandOk(['recover', '--reason', 'an arm that nobody liked', '--data', log.data]);
  await log.run('c');
  const { code, study } = await verify('--checkpoint', keep('a', 'b'));
  expect([code, study.evidence.lost]).toEqual([0, []]);
  expect(study.warnings).toMatchObject([{ code: 'recovered' }]);
});
