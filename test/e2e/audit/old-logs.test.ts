/** What version 0.1.0 wrote (test/vectors/0.1.0) is opened, continued, verified, explained and bundled by this version. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/verify/report.ts';
import { type Answer, clientOf, exactResults } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { LogCheck } from '../../support/log-check.ts';
import { requiredPython } from '../../support/numpy.ts';
import { CONTENTS, OldLog } from '../../support/old-log.ts';
import { serve } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { referenceHistories } from '../../support/vectors.ts';
import { runVerifier } from '../../support/verifier.ts';
import { BundleFiles } from './bundle-file.ts';
import { streamOfStudy } from './database.ts';

const python = requiredPython('numpy, cryptography');
const newFolder = temporaryFolders();
const ordinary = new OldLog('ordinary');
const everyEvent = new OldLog('every-event');
const LOGS = [
  ['ordinary', ordinary],
  ['with every event', everyEvent],
] as const;
const COOK = { sex: 'Male', local_site: '11-Cook County – Chicago', only: 'one' };
const DUPAGE = { sex: 'Female', local_site: '30-Dupage County', only: 'one' };

const copyOf = (old: OldLog, database?: string) => old.copyTo(newFolder(), database);
/** The first key has endorsed those after it, which both verifiers follow. */
const trustingFirst = ({ keys }: OldLog) => ['--trust', keys[0] ?? ''];
const trustingAll = ({ keys }: OldLog) => keys.flatMap((key) => ['--trust', key]);
const checkpoints = (...files: string[]) => files.flatMap((file) => ['--checkpoint', file]);

async function verify(...args: string[]) {
  const { code, stdout, stderr } = await command(['verify', '--json', ...args]);
  expect(stdout, stderr).not.toBe('');
  const report: Report = JSON.parse(stdout);
  const reportOf = (name: string) => report.streams.find(({ study, stream }) => (study ?? stream) === name);
  return { code, report, reportOf };
}

async function bundleOf(old: OldLog, data: string, content: string): Promise<string> {
  const out = join(newFolder(), `${content}.zip`);
  await commandOk(['bundle', '--data', data, '--study', old.study, '--content', content, '--out', out]);
  return out;
}

/** Randomizes in a copy of a log, and verifies all of it with what was kept of both versions. */
async function goOn(old: OldLog, enrol: (url: string) => Promise<readonly Answer[]>): Promise<void> {
  const data = copyOf(old);
  const log = new LogCheck(data).check();
  const service = await serveHere(data, old.text('studies.yaml'));
  const answers = await enrol(service.url);
  await service.stop();
  // What was there is still there, and each draw since then follows from it.
  log.check();
  for (const { status, text } of answers) expect(status, text).toBe(200);
  const receipts = join(data, 'receipts-since.txt');
  writeFileSync(receipts, answers.map(({ headers }) => `${headers.get('urn-receipt')}\n`).join(''));
  const kept = checkpoints(old.file('receipts.txt'), receipts);
  const { code, reportOf } = await verify('--data', data, ...trustingFirst(old), ...kept);
  expect(code).toBe(0);
  expect(reportOf(old.study)?.evidence).not.toHaveProperty('uncovered');
  if (python === undefined) return;
  const { code: verdict, stdout } = runVerifier(python, [
    await bundleOf(old, data, 'full'),
    ...trustingAll(old),
    ...kept,
  ]);
  expect(verdict, stdout).toBe(0);
}

describe.each(LOGS)('a log of 0.1.0, %s,', (_, old) => {
  it('verifies, with its receipts and with what it last signed', async () => {
    const data = copyOf(old);
    const kept = checkpoints(old.file('receipts.txt'), old.file('last-checkpoints'));
    const { code, report, reportOf } = await verify('--data', data, ...trustingFirst(old), ...kept);
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: false, unusedCheckpoints: [] });
    expect(code).toBe(0);
    expect(report.log?.laterKeys).toEqual(old.keys.slice(1));
    for (const { stream, sound } of report.streams) expect([stream, sound]).toEqual([stream, true]);
    expect(reportOf(old.study)?.evidence).not.toHaveProperty('uncovered');
  });

  it('is listed as it was written', async () => {
    const data = copyOf(old);
    const service = await serve({ data, studies: old.text('studies.yaml') });
    const { results } = await clientOf(service.url, old.apiKey('user')).list(old.study);
    await service.stop();
    const written = [...new LogCheck(data).check().participants(old.study)];
    expect(results.map(({ id, trt }: { id: string; trt: string }) => [id, trt])).toEqual(
      written.map(([id, { sections }]) => [id, sections.allocation.treatment]),
    );
    expect(service.output.stderr).not.toMatch(/"level":(?:50|60)/);
  });

  it('is explained as it was then', async () => {
    const { study, explanation } = old;
    const args = ['--study', study, '--id', explanation.participantId, '--json'];
    expect(JSON.parse(await commandOk(['explain', '--data', copyOf(old), ...args]))).toMatchObject(
      explanation,
    );
  });

  it.each(CONTENTS)('is bundled with the same records as its own bundle, content %s', async (content) => {
    const data = copyOf(old);
    const stream = streamOfStudy(data, old.study);
    const made = await bundleOf(old, data, content);
    if (python === undefined) return;
    const [before, now] = [old.file(`${content}.zip`), made].map((file) =>
      BundleFiles.unpack(python, file).rows(stream),
    );
    expect(now).toEqual(before);
  });

  it.each(CONTENTS)('has a bundle that is still accepted, content %s', async (content) => {
    const bundle = old.file(`${content}.zip`);
    const kept = checkpoints(old.file('receipts.txt'));
    const { code, report, reportOf } = await verify('--bundle', bundle, ...trustingFirst(old), ...kept);
    expect(code).toBe(0);
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: false, unusedCheckpoints: [] });
    expect(report.bundle).toMatchObject({ content, files: [] });
    expect(reportOf(old.study)?.evidence).not.toHaveProperty('uncovered');
    if (python === undefined) return;
    const verified = runVerifier(python, [bundle, ...trustingAll(old), ...kept]);
    expect(verified.code, verified.stdout).toBe(0);
    const last = (reportOf(old.study)?.records ?? 0) - 1;
    expect(verified.stdout).toContain(
      `revisions 0 to ${last}: as signed: by checkpoints that were kept elsewhere`,
    );
    expect(verified.stdout.includes('NOT REPLAYED')).toBe(content !== 'full');
    expect(verified.stdout).not.toMatch(/FAILED|LOSS|SELF-CONSISTENT ONLY/);
  });

  it('has bundles that are self-consistent without a checkpoint', async () => {
    for (const content of CONTENTS) {
      const bundle = old.file(`${content}.zip`);
      expect((await verify('--bundle', bundle)).code).toBe(0);
      if (python !== undefined) expect(runVerifier(python, [bundle]).code).toBe(0);
    }
  });
});

it('a log of 0.1.0 continues as the reference implementation does, bit for bit', async () => {
  const history = referenceHistories().find(({ configuration }) => configuration.name === ordinary.study);
  if (!history) throw new Error('the reference has no such study');
  const { factors } = history.configuration;
  const rest = history.participants.slice(50);
  await goOn(ordinary, async (url) => {
    const [user, auditor] = ['user', 'auditor'].map((name) => clientOf(url, ordinary.apiKey(name)));
    const answers: Answer[] = [];
    for (const [i, { levelIndexes }] of rest.entries()) {
      const levels = factors.map(({ name, levels }, f) => [name, levels[levelIndexes[f] ?? -1] ?? '']);
      const id = String(50 + i);
      answers.push((await user?.randomize(ordinary.study, id, Object.fromEntries(levels))) as Answer);
    }
    const listed = exactResults((await auditor?.list(ordinary.study)) as Answer) as unknown[];
    expect(listed.slice(50)).toMatchObject(
      rest.map(({ treatment, bgStateAfter: { state, ...bgState } }) => ({
        trt: treatment,
        bg_state: { ...bgState, state: { state: BigInt(state.state), inc: BigInt(state.inc) } },
      })),
    );
    return answers;
  });
  expect(rest).toHaveLength(100);
});

describe('the log of 0.1.0 with every event', () => {
  it('contains every type that 0.1.0 wrote', () => {
    const types = ['urn.sqlite', 'given-up.sqlite'].flatMap((database) =>
      storedLog(copyOf(everyEvent, database)).map(({ record }) => record.type),
    );
    expect([...new Set(types)].toSorted()).toEqual([
      'ApiKeyIssued',
      'ApiKeyRevoked',
      'CopyAborted',
      'EvidenceDisclosed',
      'LogArrived',
      'LogCreated',
      'LogMoved',
      'LogRecovered',
      'LogReopened',
      'ParticipantRandomized',
      'RequestRefused',
      'ServiceStarted',
      'ServiceStopped',
      'SigningKeyRotated',
      'StudyPaused',
      'StudyRecovered',
      'StudyRegistered',
      'StudyResumed',
    ]);
  });

  it('continues after a recovery, a rotation and a move, for the keys that it issued', async () => {
    await goOn(everyEvent, async (url) => {
      const of = (name: string) => clientOf(url, everyEvent.apiKey(name));
      const { study } = everyEvent;
      // Each of the look-alikes is a separate participant, found by exactly its id.
      for (const id of ['001', '001\u200b', 'caf\u00e9', 'cafe\u0301'])
        expect((await of('user').list(study, { id })).results).toMatchObject([{ id }]);
      expect((await of('user').randomize(study, 'p-1', COOK)).message).toContain('already assigned');
      const unlike = await of('user').randomize(study, 'p-0', COOK);
      expect([unlike.status, unlike.message]).toEqual([400, expect.stringContaining('(?!p-0).+')]);
      expect((await of('site').randomize(study, 'x', COOK)).status, 'the limit of the key').toBe(403);
      expect((await of('revoked').list(study)).status).toBe(401);
      expect((await of('monitor').list(study)).results[0]).not.toHaveProperty('trt');
      const repeated = {
        'Idempotency-Key': 'visit-5',
        'X-On-Behalf-Of': 'Dr. M\u00c3\u00bcller\u00e2\u0080\u008b',
      };
      const again = await of('site').randomize(study, 'p-5', DUPAGE, repeated);
      expect([again.status, again.results.length], again.text).toEqual([200, 1]);
      return [
        await of('user').randomize(study, 'p-15', COOK),
        await of('site').randomize(study, 'p-16', DUPAGE),
        await of('predicting').randomize(study, 'p-17', COOK),
      ];
    });
  });

  it('reports receipts for declared losses as such, in the log and in its bundles', async () => {
    const kept = checkpoints(everyEvent.file('receipts.txt'), everyEvent.file('lost-receipts.txt'));
    const bundle = everyEvent.file('full.zip');
    for (const what of [
      ['--data', copyOf(everyEvent)],
      ['--bundle', bundle],
    ]) {
      const { code, reportOf } = await verify(...what, ...trustingFirst(everyEvent), ...kept);
      expect(code).toBe(1);
      const { evidence, divergence } = reportOf(everyEvent.study) ?? {};
      expect(evidence?.lost.map(({ because }) => because)).toEqual(['declared-loss', 'declared-loss']);
      expect([evidence?.failing, divergence]).toEqual([0, undefined]);
    }
    if (python === undefined) return;
    const { code, stdout } = runVerifier(python, [bundle, ...trustingAll(everyEvent), ...kept]);
    expect([code, stdout]).toEqual([1, expect.stringContaining('DECLARED LOSS')]);
    expect(stdout).not.toContain('UNDECLARED');
  });

  it.each(['moved-away.sqlite', 'given-up.sqlite'])(
    'left %s behind, which is sound and accepts no participants',
    async (database) => {
      const data = copyOf(everyEvent, database);
      expect((await verify('--data', data, ...trustingFirst(everyEvent))).code).toBe(0);
      const { url, stop } = await serveHere(data, everyEvent.text('studies.yaml'));
      const { randomize, list } = clientOf(url, everyEvent.apiKey('user'));
      expect((await randomize(everyEvent.study, 'p-15', COOK)).status).toBe(503);
      expect((await list(everyEvent.study)).status).toBe(200);
      await stop();
    },
  );
});
