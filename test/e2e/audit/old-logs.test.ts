/**
 * What earlier versions wrote (test/vectors) is opened, continued, verified, explained and bundled by this version. A log that was
 * moved, then and now: both verifiers find what must not surround a move, at the same place.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../events/catalogue.ts';
import { canonicalJson, encodeRecord, leafHash } from '../../../events/record.ts';
import { systemTools } from '../../../src/base/tools.ts';
import type { Report, StreamReport, Warning } from '../../../src/evidence/verify/report/report.ts';
import { hasPython, verifyBoth } from '../../support/altered-bundles.ts';
import { altered } from '../../support/altered-record.ts';
import { type Answer, ask, clientOf, exactJson, exactResults } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { OPERATOR, paused } from '../../support/facts.ts';
import { bundleFiles } from '../../support/files-in.ts';
import { LogCheck } from '../../support/log-check.ts';
import { OldLog } from '../../support/old-log.ts';
import { postJson } from '../../support/post-json.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { referenceHistories } from '../../support/vectors.ts';
import { firstDivergence } from '../../support/verifier.ts';
import { type Row, streamOfStudy } from './database.ts';

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
const COOK = { sex: 'Male', local_site: '11-Cook County – Chicago', only: 'one' };
const DUPAGE = { sex: 'Female', local_site: '30-Dupage County', only: 'one' };

const copyOf = (old: OldLog, database?: string) => old.copyTo(newFolder(), database);
/** The first key has endorsed those after it, which both verifiers follow. */
const trusting = ({ keys }: OldLog) => ['--trust', keys[0] ?? ''];
const checkpoints = (...files: string[]) => files.flatMap((file) => ['--checkpoint', file]);

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
  if (!hasPython) return;
  const both = await verifyBoth(await bundleOf(old, data, 'full'), args);
  expect(both.code, both.stdout).toBe(0);
}

describe.each(LOGS)('a log %s', (_, old) => {
  const args = [...trusting(old), ...checkpoints(old.file('receipts.txt'))];

  it('verifies, with its receipts and with what it last signed, and is explained as it was then', async () => {
    const data = copyOf(old);
    const last = checkpoints(old.file('last-checkpoints'));
    const { report } = await verify('--data', data, ...args, ...last);
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: false, unusedCheckpoints: [] });
    expect(report.log?.laterKeys).toEqual(old.keys.slice(1));
    expect(reportOf(report, old)?.evidence).not.toHaveProperty('uncovered');
    const { study, explanation } = old;
    const of = ['--study', study, '--id', explanation.id, '--json', '--data', data];
    expect(exactJson(await commandOk(['explain', ...of]))).toMatchObject(explanation);
  });

  it.skipIf(!hasPython).each(['full', 'blinded'])(
    'is bundled with the records of its own bundle, which both verifiers accept, content %s',
    async (content) => {
      const data = copyOf(old);
      const made = await bundleOf(old, data, content);
      const before = old.file(`${content}.zip`);
      const isKept = existsSync(before);
      const { code, stdout, own } = await verifyBoth(isKept ? before : made, args);
      expect(code, stdout).toBe(0);
      expect(stdout.includes('NOT REPLAYED')).toBe(content !== 'full');
      expect(stdout).not.toMatch(/FAILED|LOSS|SELF-CONSISTENT ONLY/);
      const report = own.report as Report;
      expect(report.bundle).toMatchObject({ content, files: [] });
      expect(report).toMatchObject({ ok: true, selfConsistentOnly: false, unusedCheckpoints: [] });
      const study = reportOf(report, old);
      expect(study?.evidence).not.toHaveProperty('uncovered');
      const last = (study?.records ?? 0) - 1;
      expect(stdout).toContain(`revisions 0 to ${last}: as signed: by checkpoints that were kept elsewhere`);
      if (!isKept) return;
      const stream = streamOfStudy(data, old.study);
      const [now, then] = [await bundleFiles(made), await bundleFiles(before)];
      expect(now.rows(stream)).toEqual(then.rows(stream));
      const isRecovered = now.rows(stream).some(({ record }) => record.includes('"type":"StudyRecovered"'));
      const isTold = /recovery \d+ of the log, .* were lost/.test(`${now.files.get('report.html')}`);
      expect(isTold, 'the report tells of a recovery').toBe(isRecovered);
    },
  );
});

it.each(LOGS.slice(1, 3))(
  'a log %s reports receipts for declared losses as such, in the log and in its bundles',
  async (_, old) => {
    const kept = checkpoints(old.file('receipts.txt'), old.file('lost-receipts.txt'));
    const { code, report } = await verify('--data', copyOf(old), ...trusting(old), ...kept);
    expect(code).toBe(1);
    const { evidence, divergence } = reportOf(report, old) ?? {};
    expect(evidence?.lost.map(({ because }) => because)).toEqual(['declared-loss', 'declared-loss']);
    expect([evidence?.failing, divergence]).toEqual([0, undefined]);
    if (!hasPython) return;
    const { stdout, own } = await verifyBoth(old.file('full.zip'), [...trusting(old), ...kept]);
    expect(stdout).toContain('DECLARED LOSS');
    expect(stdout).not.toContain('UNDECLARED');
    expect(own.report?.bundle?.notKnown).toContainEqual(expect.stringContaining('the recoveries of the log'));
    expect(own.report && reportOf(own.report, old)?.evidence.lost).toEqual(evidence?.lost);
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
  const rest = history.participants.slice(50, 62);
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
});

it('a log with every event continues for the keys that it issued, after a recovery, a rotation and a move', async () => {
  const data = copyOf(everyEvent);
  const log = new LogCheck(data).check();
  await goOn(everyEvent, data, async (url) => {
    await listed(everyEvent, log, url);
    const of = (name: string) => clientOf(url, everyEvent.apiKey(name));
    const { study } = everyEvent;
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
      await of('site').randomize(study, 'p-16', DUPAGE),
      await of('predicting').randomize(study, 'p-17', COOK),
    ];
  });
  log.check();
});

it.each([
  ['moved-away.sqlite', everyEvent],
  ['given-up.sqlite', everyEvent],
  ['given-up.sqlite', everyAct],
])('left %s behind, which is sound and accepts no participants', async (database, old) => {
  const data = copyOf(old, database);
  expect((await verify('--data', data, ...trusting(old))).code).toBe(0);
  if (old !== everyEvent) return;
  const { url, stop } = await serveHere(data, old.text('studies.yaml'));
  const { randomize, list } = clientOf(url, old.apiKey('user'));
  expect((await randomize(old.study, 'p-15', COOK)).status).toBe(503);
  expect((await list(old.study)).status).toBe(200);
  await stop();
});

it('the log of 0.2.0 continues in every study, for the keys that it issued, and shows its move among the operations', async () => {
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
    expect((await of('nurse').list(study)).results[0]).not.toHaveProperty('trt');
    for (const name of ['left', 'expired']) expect((await of(name).list(study)).status).toBe(401);
    for (const [other, id, levels] of [
      ['Amended', 'p-new', { ward: 'three' }],
      ['Harvest (2) Trial', 'h-new', { site: '02-Süd', sex: 'Male', 'prior (1+) lines': '1' }],
      ['Mapped', 'm-new', { site: 'y' }],
    ] as const)
      expect(await of('user').randomize(other, id, levels)).toMatchObject({ status: 200 });
    return [await of('nurse').randomize(study, 'A017', { site: 'Nord', sex: 'Female' })];
  });
});

it('the log of 0.3.0 with packs at visits accounts for its packs as it did then, answers a request of then again, and gives packs to those of then', async () => {
  const { study } = visits;
  const data = copyOf(visits);
  const csv = await commandOk(['codes', 'accountability', '--study', study, '--csv', '--data', data]);
  expect(csv.trimEnd()).toBe(visits.text('accountability.csv').trimEnd());
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

/** What the verifier in Python says on the line of the stream, or not at all: the seed is sealed in most bundles. */
const ELSEWHERE_IN_PYTHON: ReadonlySet<Warning['code']> = new Set(['recovered', 'weak-seed']);
const FINDINGS_OF_0_2_0: Readonly<Record<string, readonly StreamReport[]>> = JSON.parse(
  everyAct.text('findings.json'),
);

it
  .skipIf(!hasPython)
  .for([
    ...Object.entries(FINDINGS_OF_0_2_0).map(([name, streams]) => [name, everyAct, streams] as const),
    ['full.zip', visits, JSON.parse(visits.text('findings.json')) as StreamReport[]] as const,
  ])(
  'both verifiers find in %s what was found in it then, warnings included',
  async ([name, old, streams]) => {
    const { code, stdout, own } = await verifyBoth(old.file(name));
    expect(code, stdout).toBe(0);
    expect(own.report?.streams).toMatchObject(streams);
    const places = streams.flatMap(({ stream, warnings }) =>
      warnings.flatMap(({ code, revision, count }) =>
        ELSEWHERE_IN_PYTHON.has(code) ? [] : [`${stream} ${revision}: ${count}`],
      ),
    );
    const printed = stdout.matchAll(
      /^WARNING {2}(\S+), revision (\d+): .*?(?: \(and (\d+) times more\))?$/gm,
    );
    expect(
      [...printed]
        .map(([, stream, revision, more = '0']) => `${stream} ${revision}: ${Number(more) + 1}`)
        .sort(),
    ).toEqual(places.sort());
    if (old === everyAct)
      expect(stdout).toMatch(/^ {2}study-.* RECOVERED from a backup after the first \d+$/m);
  },
);

describe.skipIf(!hasPython)('a bundle of a log that was moved', () => {
  /** Where LogMoved and LogArrived are: until 0.3.0, they were in every stream. */
  const [STUDY, LOG] = [
    { moved: 22, arrived: 23 },
    { moved: 5, arrived: 6 },
  ] as const;
  const OTHER = '0193a8e0-0000-7000-8000-0000000000ff';
  const { newId, newSalt, now } = systemTools();
  const fact = (like: Row | undefined, said: Fact): Row => {
    const { log, stream } = JSON.parse(`${like?.record}`);
    const header = { id: newId(), log, stream, revision: 0, at: now().toISOString(), actor: OPERATOR };
    return { ...like, ...encodeRecord(header, said, newSalt) } as Row;
  };
  const reopened = (rows: Row[]): Fact => ({
    ...{ type: 'LogReopened', data: { move: moveOf(rows, STUDY.moved) }, sections: {} },
  });
  const aborted = (move: string): Fact => ({ type: 'CopyAborted', data: { move }, sections: {} });
  const data = { publicKey: 'x', endorsement: 'x', reason: 'x' };
  const rotated: Fact = { type: 'SigningKeyRotated', data, sections: {} };
  const moveOf = (rows: Row[], at: number) => JSON.parse(`${rows[at]?.record}`).data.move as string;
  type Changed = (rows: Row[], revision: number) => Row[];
  const inserted = (rows: Row[], at: number, said: Fact) => rows.toSpliced(at, 0, fact(rows[at], said));
  const replaced = (rows: Row[], at: number, said: Fact) => rows.with(at, fact(rows[at], said));
  const movedTo = (rows: Row[], at: number) =>
    rows.toSpliced(at, 0, ...rows.slice(STUDY.moved, STUDY.arrived + 1));
  /** The event there is of another move. */
  const ofOther = (rows: Row[], at: number) => {
    const row = altered(rows[at] as Row, ({ data }) => Object.assign(data, { move: OTHER }));
    return rows.with(at, row);
  };
  const renumbered = (row: Row, revision: number): Row => {
    const record = Buffer.from(canonicalJson({ ...JSON.parse(`${row.record}`), revision }));
    return { ...row, record, leaf: leafHash(record) };
  };

  it.each<[string, 'study' | 'log', number, Changed]>([
    [
      'an event between the move and its end',
      'study',
      STUDY.arrived,
      (rows, at) => inserted(rows, at, paused),
    ],
    ['no end of the move', 'study', STUDY.arrived, (rows, at) => rows.toSpliced(at, 1)],
    ['an end of no move', 'study', STUDY.moved, (rows, at) => rows.toSpliced(at, 1)],
    ['an end of another move', 'study', STUDY.arrived, ofOther],
    [
      'a move that log does not have',
      'study',
      STUDY.moved,
      (rows, at) => ofOther(ofOther(rows, STUDY.arrived), at),
    ],
    ['an end of another kind', 'study', STUDY.arrived, (rows, at) => replaced(rows, at, reopened(rows))],
    ['the same move again', 'study', STUDY.arrived + 1, movedTo],
    ['the move before the registration', 'study', 0, movedTo],
    [
      'another event in place of the end in log',
      'log',
      LOG.arrived,
      (rows, at) => replaced(rows, at, rotated),
    ],
    ['an end of another move in log', 'log', LOG.arrived, ofOther],
    ['another move given up in log', 'log', LOG.arrived, (rows, at) => replaced(rows, at, aborted(OTHER))],
    ['an end without the move in log', 'log', LOG.moved, (rows, at) => rows.toSpliced(at, 1)],
    [
      'an end in log of a move given up',
      'log',
      LOG.arrived + 1,
      (rows) => inserted(rows, LOG.arrived, aborted(moveOf(rows, LOG.moved))),
    ],
  ])('is not sound with %s', async (_, stream, revision, change) => {
    const files = await bundleFiles(everyEvent.file('full.zip'));
    const name = stream === 'study' ? streamOfStudy(copyOf(everyEvent), everyEvent.study) : stream;
    files.setRows(name, change(files.rows(name), revision).map(renumbered));
    // Signatures do not count.
    files.set('checkpoints.txt', '');
    const { own } = await verifyBoth(await files.pack(join(newFolder(), 'tampered.zip')));
    expect(firstDivergence(own)).toMatchObject({ stream: name, revision });
  });
});
