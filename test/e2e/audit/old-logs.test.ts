/** What earlier versions wrote (test/vectors) is opened, continued, verified, explained and bundled by this version. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RevealCategory, UnblindingWay } from '../../../events/code-break.ts';
import { ReplacementCause } from '../../../events/codes.ts';
import { LevelsCause, VoidCause } from '../../../events/corrections.ts';
import { ForcedCause } from '../../../events/forced.ts';
import { Disclosure, RefusalReason } from '../../../events/operations.ts';
import { ClosingCause } from '../../../events/study-state.ts';
import type { Report, StreamReport } from '../../../src/evidence/verify/report/report.ts';
import { bothVerifiers } from '../../support/both-verifiers.ts';
import { type Answer, ask, clientOf, exactJson, exactResults } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { LogCheck } from '../../support/log-check.ts';
import { requiredPython } from '../../support/numpy.ts';
import { CONTENTS, OldLog } from '../../support/old-log.ts';
import { postJson } from '../../support/post-json.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { referenceHistories } from '../../support/vectors.ts';
import { BundleFiles } from './bundle-file.ts';
import { streamOfStudy } from './database.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();
const ordinary = new OldLog('0.1.0/ordinary');
const everyEvent = new OldLog('0.1.0/every-event');
const everyAct = new OldLog('0.2.0/every-act');
const visits = new OldLog('0.3.0/visits');
const LOGS = [
  ['of 0.1.0, ordinary', ordinary],
  ['of 0.1.0 with every event', everyEvent],
  ['of 0.2.0 with every act', everyAct],
  ['of 0.3.0 with packs at visits', visits],
] as const;
const EVENTS_OF_0_1_0 =
  'ApiKeyIssued ApiKeyRevoked CopyAborted EvidenceDisclosed LogArrived LogCreated LogMoved LogRecovered LogReopened ParticipantRandomized RequestRefused ServiceStarted ServiceStopped SigningKeyRotated StudyPaused StudyRecovered StudyRegistered StudyResumed'.split(
    ' ',
  );
const EVENTS_OF_0_2_0 =
  'AllocationForced@1 AllocationReinstated@1 AllocationRevealed@1 AllocationVoided@1 ApiKeyIssued@1 ApiKeyIssued@2 ApiKeyRevoked@1 CodeReplaced@1 CodesRegistered@1 CodesWithdrawn@1 CopyAborted@1 EvidenceDisclosed@1 EvidenceDisclosed@2 HistoryImportEnded@1 HistoryImported@1 LevelsCorrected@1 LogArrived@1 LogCreated@1 LogMoved@1 LogRecovered@1 LogReopened@1 ParticipantIdCorrected@1 ParticipantImported@1 ParticipantRandomized@1 ParticipantRandomized@2 RequestRefused@1 RequestRefused@2 ServiceStarted@1 ServiceStopped@1 SessionBegan@1 SessionEnded@1 SigningKeyRotated@1 StudyAmended@1 StudyClosed@1 StudyPaused@1 StudyPaused@2 StudyRecovered@1 StudyRegistered@1 StudyRegistered@2 StudyReopened@1 StudyResumed@1 StudyResumed@2 UnblindingReported@1'.split(
    ' ',
  );
const EVENTS_OF_0_3_0 =
  'StudyRegistered@3 StudyAmended@2 CodesRegistered@2 PackDispensed@1 DispensationCorrected@1'.split(' ');
const KINDS_OF_CHANGE =
  'level-added level-closed level-reopened level-renamed arm-closed arm-reopened arm-added urn ratio factor-retired limits id-pattern target blinding policy'.split(
    ' ',
  );
const COOK = { sex: 'Male', local_site: '11-Cook County – Chicago', only: 'one' };
const DUPAGE = { sex: 'Female', local_site: '30-Dupage County', only: 'one' };

const copyOf = (old: OldLog, database?: string) => old.copyTo(newFolder(), database);
/** The first key has endorsed those after it, which both verifiers follow. */
const trusting = ({ keys }: OldLog) => ['--trust', keys[0] ?? ''];
const checkpoints = (...files: string[]) => files.flatMap((file) => ['--checkpoint', file]);
const verifyBoth = bothVerifiers(python);

async function verify(...args: string[]) {
  const { code, stdout, stderr } = await command(['verify', '--json', ...args]);
  expect(stdout, stderr).not.toBe('');
  const report: Report = JSON.parse(stdout);
  return { code, report };
}
const reportOf = ({ streams }: Report, old: OldLog) => streams.find(({ study }) => study === old.study);

async function bundleOf(old: OldLog, data: string, content: string): Promise<string> {
  const out = join(newFolder(), `${content}.zip`);
  await commandOk(['bundle', '--data', data, '--study', old.study, '--content', content, '--out', out]);
  return out;
}

const FINDINGS_OF_0_3_0: readonly StreamReport[] = JSON.parse(visits.text('findings.json'));
/** Of the warnings of the study, which is the last stream. */
const placesOf = (streams: readonly StreamReport[]) =>
  streams.at(-1)?.warnings.map(({ code, revision }) => [code, revision]);

/** What was recorded in either database of an old log. */
const recordsIn = (old: OldLog, ...databases: string[]) =>
  databases.flatMap((database) => storedLog(copyOf(old, database)).map(({ record }) => record));
const typesIn = (records: readonly { type: string; version: number }[]) => [
  ...new Set(records.map(({ type, version }) => `${type}@${version}`)),
];

/** Serves a copy, and verifies all of it with the receipts of both versions. */
async function goOn(
  old: OldLog,
  data: string,
  enrol: (url: string) => Promise<readonly Answer[]>,
): Promise<void> {
  const service = await serveHere(data, old.text('studies.yaml'));
  const answers = await enrol(service.url);
  await service.stop();
  expect(service.output.stderr).not.toMatch(/"level":(?:50|60)/);
  for (const { status, text } of answers) expect(status, text).toBe(200);
  const receipts = join(data, 'receipts-since.txt');
  writeFileSync(receipts, answers.map(({ headers }) => `${headers.get('urn-receipt')}\n`).join(''));
  const args = [...trusting(old), ...checkpoints(old.file('receipts.txt'), receipts)];
  const { code, report } = await verify('--data', data, ...args);
  expect(code).toBe(0);
  expect(reportOf(report, old)?.evidence).not.toHaveProperty('uncovered');
  if (found === undefined) return;
  const both = await verifyBoth(await bundleOf(old, data, 'full'), args);
  expect(both.code, both.stdout).toBe(0);
}

describe.each(LOGS)('a log %s', (_, old) => {
  const args = [...trusting(old), ...checkpoints(old.file('receipts.txt'))];

  it('verifies, with its receipts and with what it last signed', async () => {
    const last = checkpoints(old.file('last-checkpoints'));
    const { code, report } = await verify('--data', copyOf(old), ...args, ...last);
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: false, unusedCheckpoints: [] });
    expect(code).toBe(0);
    expect(report.log?.laterKeys).toEqual(old.keys.slice(1));
    for (const { stream, sound } of report.streams) expect([stream, sound]).toEqual([stream, true]);
    expect(reportOf(report, old)?.evidence).not.toHaveProperty('uncovered');
  });

  it('is explained as it was then', async () => {
    const { study, explanation } = old;
    const of = ['--study', study, '--id', explanation.id, '--json'];
    expect(exactJson(await commandOk(['explain', '--data', copyOf(old), ...of]))).toMatchObject(explanation);
  });

  it.skipIf(found === undefined).each(CONTENTS)(
    'is bundled with the records of its own bundle, and both verifiers accept either, content %s',
    async (content) => {
      const data = copyOf(old);
      const accepted = async (bundle: string, given: readonly string[]) => {
        const { code, stdout, own } = await verifyBoth(bundle, given);
        expect(code, stdout).toBe(0);
        expect(stdout.includes('NOT REPLAYED')).toBe(content !== 'full');
        expect(stdout).not.toMatch(/FAILED|LOSS/);
        expect(own.report?.bundle).toMatchObject({ content, files: [] });
        return { stdout, report: own.report as Report };
      };
      const made = await bundleOf(old, data, content);
      const before = old.file(`${content}.zip`);
      const isKept = existsSync(before);
      const { stdout, report } = await accepted(isKept ? before : made, args);
      expect(report).toMatchObject({ ok: true, selfConsistentOnly: false, unusedCheckpoints: [] });
      const study = reportOf(report, old);
      expect(study?.evidence).not.toHaveProperty('uncovered');
      const last = (study?.records ?? 0) - 1;
      expect(stdout).toContain(`revisions 0 to ${last}: as signed: by checkpoints that were kept elsewhere`);
      expect(stdout).not.toContain('SELF-CONSISTENT ONLY');
      if (old === visits) expect(placesOf(report.streams)).toEqual(placesOf(FINDINGS_OF_0_3_0));
      if (!isKept) return;
      // The new one is self-consistent without a checkpoint.
      const again = await accepted(made, []);
      expect(placesOf(again.report.streams)).toEqual(placesOf(report.streams));
      const stream = streamOfStudy(data, old.study);
      const [now, then] = [made, before].map((file) => BundleFiles.unpack(python, file).rows(stream));
      expect(now).toEqual(then);
    },
  );
});

it.each(LOGS.slice(1, 3))(
  'a log %s reports receipts for declared losses as such, in the log and in its bundles',
  async (_, old) => {
    const kept = checkpoints(old.file('receipts.txt'), old.file('lost-receipts.txt'));
    const bundle = old.file('full.zip');
    for (const what of [
      ['--data', copyOf(old)],
      ['--bundle', bundle],
    ]) {
      const { code, report } = await verify(...what, ...trusting(old), ...kept);
      expect(code).toBe(1);
      const { evidence, divergence } = reportOf(report, old) ?? {};
      expect(evidence?.lost.map(({ because }) => because)).toEqual(['declared-loss', 'declared-loss']);
      expect([evidence?.failing, divergence]).toEqual([0, undefined]);
    }
    if (found === undefined) return;
    const { code, stdout } = await verifyBoth(bundle, [...trusting(old), ...kept]);
    expect([code, stdout]).toEqual([1, expect.stringContaining('DECLARED LOSS')]);
    expect(stdout).not.toContain('UNDECLARED');
  },
);

/** Lists what was written, which the log then continues. */
async function listed(old: OldLog, log: LogCheck, url: string): Promise<void> {
  const { results } = await clientOf(url, old.apiKey('user')).list(old.study);
  expect(results.map(({ id, trt }: { id: string; trt: string }) => [id, trt])).toEqual(
    [...log.participants(old.study)].map(([id, { sections }]) => [id, sections.allocation.treatment]),
  );
}

it('a log of 0.1.0 is listed as it was written, and continues as the reference implementation does, bit for bit', async () => {
  const history = referenceHistories().find(({ configuration }) => configuration.name === ordinary.study);
  if (!history) throw new Error('the reference has no such study');
  const { factors } = history.configuration;
  const rest = history.participants.slice(50, 80);
  const data = copyOf(ordinary);
  const log = new LogCheck(data).check();
  await goOn(ordinary, data, async (url) => {
    await listed(ordinary, log, url);
    const [user, auditor] = ['user', 'auditor'].map((name) => clientOf(url, ordinary.apiKey(name)));
    const answers: Answer[] = [];
    for (const [i, { levelIndexes }] of rest.entries()) {
      const levels = factors.map(({ name, levels }, f) => [name, levels[levelIndexes[f] ?? -1] ?? '']);
      const id = String(50 + i);
      answers.push((await user?.randomize(ordinary.study, id, Object.fromEntries(levels))) as Answer);
    }
    const listedSince = exactResults((await auditor?.list(ordinary.study)) as Answer) as unknown[];
    expect(listedSince.slice(50)).toMatchObject(
      rest.map(({ treatment, bgStateAfter: { state, ...bgState } }) => ({
        trt: treatment,
        bg_state: { ...bgState, state: { state: BigInt(state.state), inc: BigInt(state.inc) } },
      })),
    );
    return answers;
  });
  // What was there is still there, and each draw since then follows from it.
  log.check();
  expect(rest).toHaveLength(30);
});

describe('the log of 0.1.0 with every event', () => {
  it('contains every type that 0.1.0 wrote', () => {
    const records = recordsIn(everyEvent, 'urn.sqlite', 'given-up.sqlite');
    expect([...new Set(records.map(({ type }) => type))].toSorted()).toEqual(EVENTS_OF_0_1_0);
  });

  it('continues after a recovery, a rotation and a move, for the keys that it issued', async () => {
    const data = copyOf(everyEvent);
    const log = new LogCheck(data).check();
    await goOn(everyEvent, data, async (url) => {
      await listed(everyEvent, log, url);
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
    log.check();
  });

  it.each(['moved-away.sqlite', 'given-up.sqlite'])(
    'left %s behind, which is sound and accepts no participants',
    async (database) => {
      const data = copyOf(everyEvent, database);
      expect((await verify('--data', data, ...trusting(everyEvent))).code).toBe(0);
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
  const records = recordsIn(everyAct, 'urn.sqlite', 'given-up.sqlite');
  const valuesOf = (type: string, member: string) =>
    new Set(records.flatMap(({ type: of, data }) => (of === type ? data[member] : [])));

  it('contains every type and version that 0.2.0 wrote', () => {
    // Later versions of this program may know more; 0.2.0 knew these.
    expect(typesIn(records).toSorted()).toEqual(EVENTS_OF_0_2_0);
  });

  it('contains every reason, disclosure, category and kind of change that 0.2.0 knew', () => {
    // `several` takes 121 refusals of one key (see the README of the vectors), and `no-entry` is younger.
    const unknown = new Set(['several', 'no-entry']);
    const reasons = RefusalReason.options.filter((reason) => !unknown.has(reason));
    for (const [type, member, known] of [
      ['RequestRefused', 'reason', reasons],
      ['EvidenceDisclosed', 'what', Disclosure.options],
      ['AllocationRevealed', 'category', RevealCategory.options],
      ['UnblindingReported', 'how', UnblindingWay.options],
      ['StudyClosed', 'cause', ClosingCause.options],
      ['AllocationForced', 'cause', ForcedCause.options],
      ['AllocationVoided', 'cause', VoidCause.options],
      ['LevelsCorrected', 'cause', LevelsCause.options],
      ['CodeReplaced', 'cause', ReplacementCause.options],
    ] as const)
      expect(valuesOf(type, member), type).toEqual(new Set<string>(known));
    const changes = [...valuesOf('StudyAmended', 'changes')] as { kind: string }[];
    expect(new Set(changes.map(({ kind }) => kind))).toEqual(new Set(KINDS_OF_CHANGE));
  });

  it('continues in every study, for the keys that it issued, and shows its move among the operations', async () => {
    const data = copyOf(everyAct);
    const operations = (await commandOk(['operations', '--json', '--data', data])).trim().split('\n');
    const packs = join(data, 'packs.csv');
    writeFileSync(packs, ['code,treatment', 'N-1,High dose', 'N-2,High dose', ''].join('\n'));
    await commandOk(['codes', 'add', '--data', data, '--study', everyAct.study, '--from', packs]);
    await goOn(everyAct, data, async (url) => {
      const { results } = await ask(url, '/operations', { key: everyAct.apiKey('auditor') });
      expect(results.slice(0, operations.length)).toEqual(operations.map((line) => JSON.parse(line)));
      expect(results.map(({ type }: { type: string }) => type)).toContain('LogArrived');
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
    expect((await verify('--data', data, ...trusting(everyAct))).code).toBe(0);
  });
});

describe('the log of 0.3.0 with packs at visits', () => {
  const { study } = visits;

  it('has every event and version that 0.2.0 did not know', () => {
    expect(typesIn(recordsIn(visits, 'urn.sqlite'))).toEqual(expect.arrayContaining(EVENTS_OF_0_3_0));
  });

  it('accounts for its packs as it did then', async () => {
    const data = copyOf(visits);
    const csv = await commandOk(['codes', 'accountability', '--study', study, '--csv', '--data', data]);
    expect(csv.trimEnd()).toBe(visits.text('accountability.csv').trimEnd());
  });

  it('goes on: a request of then is answered again, and packs are given out to those of then', async () => {
    const data = copyOf(visits);
    const before = storedLog(data);
    await goOn(visits, data, async (url) => {
      const dispense = (user: string, id: string, visit: string, headers = {}) =>
        postJson(url, '/dispensations', visits.apiKey(user), { study, id, visit }, headers);
      const first = before.find(({ record }) => record.type === 'PackDispensed')?.record;
      const again = await dispense('nurse', 'p1', 'v2', {
        ...{ 'Idempotency-Key': 'tablet-1', 'X-On-Behalf-Of': 'Dr. K.' },
      });
      expect([again.status, again.headers.get('urn-repeated'), again.results]).toEqual([
        ...[200, 'true', { visit: 'V2', code: first.data.code }],
      ]);
      const shown = await clientOf(url, visits.apiKey('auditor')).list(study, { id: 'q2' });
      const had = shown.results[0]['urn.packs'].map((pack: { visit: string }) => pack.visit);
      expect(had).toEqual(['V3', 'V2', 'Week 12']);
      expect((await dispense('nurse', 'q2', 'week 12')).status).toBe(400);
      // Of the arm that was stopped.
      expect((await dispense('pharmacy', 'p6', 'V2')).status).toBe(409);
      const next = await dispense('nurse', 'p1', 'Week 24');
      expect(next.results, next.text).toMatchObject({ visit: 'Week 24' });
      return [next];
    });
    const since = storedLog(data).slice(before.length);
    expect(since.filter(({ record }) => record.type === 'PackDispensed')).toHaveLength(1);
    const dispensed = async (of: string) => {
      const { report } = await verify('--data', of);
      return reportOf(report, visits)?.life?.packs;
    };
    expect(await dispensed(copyOf(visits))).toMatchObject({ dispensed: 18, corrected: 6 });
    expect(await dispensed(data)).toMatchObject({ dispensed: 19 });
  });

  it.skipIf(found === undefined)('has in its own bundle what 0.3.0 found there', async () => {
    const { own } = await verifyBoth(visits.file('full.zip'));
    expect(own.report?.streams).toMatchObject(FINDINGS_OF_0_3_0);
  });
});
