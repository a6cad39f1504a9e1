/** What earlier versions wrote (test/vectors/0.1.0, 0.2.0) is opened, continued, verified, explained and bundled by this version. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RevealCategory, UnblindingWay } from '../../../events/code-break.ts';
import { ReplacementCause } from '../../../events/codes.ts';
import { LevelsCause, VoidCause } from '../../../events/corrections.ts';
import { ForcedCause } from '../../../events/forced.ts';
import { Disclosure, RefusalReason } from '../../../events/operations.ts';
import { ClosingCause } from '../../../events/study-state.ts';
import type { Report } from '../../../src/evidence/verify/report/report.ts';
import { type Answer, ask, clientOf, exactJson, exactResults } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { LogCheck } from '../../support/log-check.ts';
import { requiredPython } from '../../support/numpy.ts';
import { CONTENTS, OldLog } from '../../support/old-log.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { referenceHistories } from '../../support/vectors.ts';
import { runVerifier } from '../../support/verifier.ts';
import { BundleFiles } from './bundle-file.ts';
import { streamOfStudy } from './database.ts';

const python = requiredPython('numpy, cryptography');
const newFolder = temporaryFolders();
const ordinary = new OldLog('0.1.0/ordinary');
const everyEvent = new OldLog('0.1.0/every-event');
const everyAct = new OldLog('0.2.0/every-act');
const LOGS_OF_0_1_0 = [
  ['of 0.1.0, ordinary', ordinary],
  ['of 0.1.0 with every event', everyEvent],
] as const;
const LOGS = [...LOGS_OF_0_1_0, ['of 0.2.0 with every act', everyAct]] as const;
const EVENTS_OF_0_2_0 =
  'AllocationForced@1 AllocationReinstated@1 AllocationRevealed@1 AllocationVoided@1 ApiKeyIssued@1 ApiKeyIssued@2 ApiKeyRevoked@1 CodeReplaced@1 CodesRegistered@1 CodesWithdrawn@1 CopyAborted@1 EvidenceDisclosed@1 EvidenceDisclosed@2 HistoryImportEnded@1 HistoryImported@1 LevelsCorrected@1 LogArrived@1 LogCreated@1 LogMoved@1 LogRecovered@1 LogReopened@1 ParticipantIdCorrected@1 ParticipantImported@1 ParticipantRandomized@1 ParticipantRandomized@2 RequestRefused@1 RequestRefused@2 ServiceStarted@1 ServiceStopped@1 SessionBegan@1 SessionEnded@1 SigningKeyRotated@1 StudyAmended@1 StudyClosed@1 StudyPaused@1 StudyPaused@2 StudyRecovered@1 StudyRegistered@1 StudyRegistered@2 StudyReopened@1 StudyResumed@1 StudyResumed@2 UnblindingReported@1'.split(
    ' ',
  );
const KINDS_OF_CHANGE =
  'level-added level-closed level-reopened level-renamed arm-closed arm-reopened arm-added urn ratio factor-retired limits id-pattern target blinding policy'.split(
    ' ',
  );
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

/** Randomizes in a copy of a log of 0.1.0, and verifies all of it with what was kept of both versions. */
async function goOn(old: OldLog, enrol: (url: string) => Promise<readonly Answer[]>): Promise<void> {
  const data = copyOf(old);
  const log = new LogCheck(data).check();
  await goOnIn(data, old, enrol);
  // What was there is still there, and each draw since then follows from it.
  log.check();
}

async function goOnIn(
  data: string,
  old: OldLog,
  enrol: (url: string) => Promise<readonly Answer[]>,
): Promise<void> {
  const service = await serveHere(data, old.text('studies.yaml'));
  const answers = await enrol(service.url);
  await service.stop();
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

describe.each(LOGS)('a log %s', (_, old) => {
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

  it('is explained as it was then', async () => {
    const { study, explanation } = old;
    const args = ['--study', study, '--id', explanation.id, '--json'];
    expect(exactJson(await commandOk(['explain', '--data', copyOf(old), ...args]))).toMatchObject(
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

it.each(LOGS.slice(1))(
  'a log %s reports receipts for declared losses as such, in the log and in its bundles',
  async (_, old) => {
    const kept = checkpoints(old.file('receipts.txt'), old.file('lost-receipts.txt'));
    const bundle = old.file('full.zip');
    for (const what of [
      ['--data', copyOf(old)],
      ['--bundle', bundle],
    ]) {
      const { code, reportOf } = await verify(...what, ...trustingFirst(old), ...kept);
      expect(code).toBe(1);
      const { evidence, divergence } = reportOf(old.study) ?? {};
      expect(evidence?.lost.map(({ because }) => because)).toEqual(['declared-loss', 'declared-loss']);
      expect([evidence?.failing, divergence]).toEqual([0, undefined]);
    }
    if (python === undefined) return;
    const { code, stdout } = runVerifier(python, [bundle, ...trustingAll(old), ...kept]);
    expect([code, stdout]).toEqual([1, expect.stringContaining('DECLARED LOSS')]);
    expect(stdout).not.toContain('UNDECLARED');
  },
);

it.each(LOGS_OF_0_1_0)('a log %s is listed as it was written', async (_, old) => {
  const data = copyOf(old);
  const service = await serveHere(data, old.text('studies.yaml'));
  const { results } = await clientOf(service.url, old.apiKey('user')).list(old.study);
  await service.stop();
  const written = [...new LogCheck(data).check().participants(old.study)];
  expect(results.map(({ id, trt }: { id: string; trt: string }) => [id, trt])).toEqual(
    written.map(([id, { sections }]) => [id, sections.allocation.treatment]),
  );
  expect(service.output.stderr).not.toMatch(/"level":(?:50|60)/);
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

describe('the log of 0.2.0 with every act', () => {
  const NORD = { site: 'Nord', sex: 'Female' };
  const records = ['urn.sqlite', 'given-up.sqlite'].flatMap((database) =>
    storedLog(copyOf(everyAct, database)).map(({ record }) => record),
  );
  const valuesOf = (type: string, member: string) =>
    new Set(records.flatMap(({ type: of, data }) => (of === type ? data[member] : [])));

  it('contains every type and version that 0.2.0 wrote', () => {
    // Later versions of this program may know more; 0.2.0 knew these.
    const written = new Set(records.map(({ type, version }) => `${type}@${version}`));
    expect([...written].toSorted()).toEqual(EVENTS_OF_0_2_0);
  });

  it('contains every reason, disclosure, category and kind of change that 0.2.0 knew', () => {
    // `several` takes 121 refusals of one key (see the README of the vectors), and `no-entry` is younger.
    const unknown = new Set(['several', 'no-entry']);
    const reasons = RefusalReason.options.filter((reason) => !unknown.has(reason));
    expect(valuesOf('RequestRefused', 'reason')).toEqual(new Set(reasons));
    expect(valuesOf('EvidenceDisclosed', 'what')).toEqual(new Set(Disclosure.options));
    expect(valuesOf('AllocationRevealed', 'category')).toEqual(new Set(RevealCategory.options));
    expect(valuesOf('UnblindingReported', 'how')).toEqual(new Set(UnblindingWay.options));
    expect(valuesOf('StudyClosed', 'cause')).toEqual(new Set(ClosingCause.options));
    expect(valuesOf('AllocationForced', 'cause')).toEqual(new Set(ForcedCause.options));
    expect(valuesOf('AllocationVoided', 'cause')).toEqual(new Set(VoidCause.options));
    expect(valuesOf('LevelsCorrected', 'cause')).toEqual(new Set(LevelsCause.options));
    expect(valuesOf('CodeReplaced', 'cause')).toEqual(new Set(ReplacementCause.options));
    const changes = [...valuesOf('StudyAmended', 'changes')] as { kind: string }[];
    expect(new Set(changes.map(({ kind }) => kind))).toEqual(new Set(KINDS_OF_CHANGE));
  });

  it('shows its move among the operations, over HTTP as at the command line', async () => {
    const data = copyOf(everyAct);
    const lines = (await commandOk(['operations', '--json', '--data', data])).trim().split('\n');
    const service = await serveHere(data, everyAct.text('studies.yaml'));
    const { results } = await ask(service.url, '/operations', { key: everyAct.apiKey('auditor') });
    await service.stop();
    expect(results.slice(0, lines.length)).toEqual(lines.map((line) => JSON.parse(line)));
    expect(results.map(({ type }: { type: string }) => type)).toContain('LogArrived');
  });

  it('continues in every study, for the keys that it issued', async () => {
    const data = copyOf(everyAct);
    const packs = join(data, 'packs.csv');
    writeFileSync(packs, ['code,treatment', 'N-1,High dose', 'N-2,High dose', ''].join('\n'));
    await commandOk(['codes', 'add', '--data', data, '--study', everyAct.study, '--from', packs]);
    await goOnIn(data, everyAct, async (url) => {
      const of = (name: string) => clientOf(url, everyAct.apiKey(name));
      const { study } = everyAct;
      // A corrected id, an entry that replaces a wrong one, and a participant whose id was lost with the disk.
      for (const id of ['A008', 'F003', 'A014'])
        expect((await of('pharmacy').list(study, { id })).results).toMatchObject([{ id }]);
      expect((await of('nurse').randomize(study, 'A002', NORD)).message).toContain('already assigned');
      expect((await of('nurse').list(study)).results[0]).not.toHaveProperty('trt');
      for (const name of ['left', 'expired']) expect((await of(name).list(study)).status).toBe(401);
      const repeated = { 'Idempotency-Key': 'visit-1', 'X-On-Behalf-Of': 'Dr. K.' };
      const again = await of('nurse').randomize(study, 'A001', NORD, repeated);
      expect([again.status, again.results.length], again.text).toEqual([200, 1]);
      for (const [other, id, levels] of [
        ['Amended', 'p-new', { ward: 'three' }],
        ['Harvest (2) Trial', 'h-new', { site: '02-Süd', sex: 'Male', 'prior (1+) lines': '1' }],
        ['Mapped', 'm-new', { site: 'y' }],
      ] as const)
        expect(await of('user').randomize(other, id, levels)).toMatchObject({ status: 200 });
      return [
        await of('nurse').randomize(study, 'A017', NORD),
        await of('user').randomize(study, 'A018', { site: 'Ost', sex: 'Male' }),
      ];
    });
  });

  it('left a copy behind that was given up, which is sound', async () => {
    const data = copyOf(everyAct, 'given-up.sqlite');
    expect((await verify('--data', data, ...trustingFirst(everyAct))).code).toBe(0);
  });
});
