/** What checkpoints show, kept ones and the log's own note, which checkpoints and studies are asked for, and what people are told. */
import { describe, expect, it } from 'vitest';
import type { KeptCheckpoint } from '../../../src/core/log/formats.ts';
import { makeSigningKey } from '../../../src/core/log/signing.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import type { Verification } from '../../../src/evidence/verify/verify.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import {
  change,
  enrol,
  HISTORY,
  LOG_NAME,
  type Log,
  logOf,
  REGISTERED,
  STUDY,
  STUDY_ID,
  streamOf,
  trust,
  verify,
} from './support.ts';

const before = logOf(HISTORY);
/** A history that is self-consistent, and differs from revision 5 on. */
const after = logOf([...HISTORY.slice(0, 5), ...HISTORY.slice(5).toReversed()]);

const TWIN = 'study-5a1e0f6c-30f7-5d21-9c3e-6a0f5d2b7c12';
/** With another study, which has one record. */
function twins(): Log {
  const two = logOf(HISTORY);
  two.byStream.set(TWIN, [...logOf([REGISTERED]).of(STUDY)]);
  return two;
}

describe('the checkpoints of a history that was rewritten consistently', () => {
  it('reveal the change and narrow it down if one covers it', async () => {
    expect(await verify(after)).toMatchObject({ ok: true, selfConsistentOnly: true });
    const checkpoints = [9, 3, 4, 7].map((size) => before.checkpoint(STUDY, size));
    const report = await verify(after, { checkpoints });
    expect(report.ok).toBe(false);
    const { divergence, evidence } = streamOf(report);
    expect(divergence).toBeUndefined();
    expect(evidence).toMatchObject({
      matching: 2,
      matchingSize: 4,
      failing: 2,
      failed: [
        { size: 7, because: 'other-root' },
        { size: 9, because: 'other-root' },
      ],
      rewritten: { afterSize: 4, upToSize: 7 },
      uncovered: { from: 4, to: 8 },
    });
    expect(reportText(report)).toContain(
      'the history up to size 4 is proven unchanged; between size 5 and 7 it is not what was signed, although it agrees with itself',
    );
  });

  it('do not reveal the change if none covers it, and the report says so', async () => {
    const report = await verify(after, { checkpoints: [before.checkpoint(STUDY, 5)] });
    expect(report.ok).toBe(true);
    expect(streamOf(report).evidence.uncovered).toEqual({ from: 5, to: 8 });
    expect(reportText(report)).toContain('no given checkpoint covers revisions 5 to 8');
    expect(reportText(report)).not.toMatch(/^OK: /m);
  });

  it('show that the tail is missing, and no more', async () => {
    const checkpoints = [6, 9].map((size) => before.checkpoint(STUDY, size));
    const report = await verify(logOf(HISTORY.slice(0, 6)), { checkpoints });
    expect(report.ok).toBe(false);
    expect(streamOf(report).evidence).toEqual({
      matching: 1,
      matchingSize: 6,
      failing: 1,
      failed: [{ where: `${STUDY}-9:1`, size: 9, because: 'missing-tail', signedRoot: expect.any(String) }],
      lost: [],
      tailCutOff: { size: 6, signedSize: 9 },
    });
    expect(reportText(report)).toContain('at least 3 at the end are gone');
  });

  it('are not compared with anything after a gap', async () => {
    const log = logOf(HISTORY);
    const checkpoints = [2, 5, 9].map((size) => log.checkpoint(STUDY, size));
    log.of(STUDY).splice(4, 1);
    const { evidence, root } = streamOf(await verify(log, { checkpoints }));
    expect(root).toBeUndefined();
    expect(evidence).toMatchObject({
      matchingSize: 2,
      failed: [{ size: 5, because: 'gap' }, { because: 'gap' }],
    });
    expect(evidence).not.toHaveProperty('rewritten');
    expect(evidence).not.toHaveProperty('tailCutOff');
  });

  it('are all counted, and ten of them listed', async () => {
    const ids = [...Array(12).keys()];
    const log = logOf([REGISTERED, ...ids.map((n) => enrol(n))]);
    const checkpoints = ids.map((n) => log.checkpoint(STUDY, n + 2));
    log.of(STUDY).splice(1, 1);
    const { failing, failed } = streamOf(await verify(log, { checkpoints })).evidence;
    expect([failing, failed.map(({ size }) => size)]).toEqual([12, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]]);
  });

  it('that contradict each other prove that the key signed two histories', async () => {
    const checkpoints = [7, 9].map((size) => before.checkpoint(STUDY, size));
    const report = await verify(before, { checkpoints: [after.checkpoint(STUDY, 7), ...checkpoints] });
    expect(report.ok).toBe(false);
    expect(streamOf(report).evidence).toMatchObject({ matchingSize: 9, failing: 1 });
    expect(streamOf(report).evidence).not.toHaveProperty('rewritten');
    expect(streamOf(report).warnings).toMatchObject([{ code: 'two-histories-signed' }]);
  });
});

describe('a checkpoint that cannot be compared is reported:', () => {
  const log = before;
  const genuine = log.checkpoint(STUDY, 4);
  const key = makeSigningKey(LOG_NAME);
  /** Of the same records under another name. */
  const named = (stream: string) => {
    const other = logOf([]);
    other.byStream.set(stream, log.of(STUDY));
    return other.checkpoint(stream, 4);
  };
  const gone = named('study-gone');

  it.each<[what: string, because: string, checkpoint: KeptCheckpoint, more?: Partial<Verification>]>([
    ['its text was changed', 'forged', { ...genuine, note: genuine.note.replace('\n4\n', '\n9\n') }],
    ['another key signed it, although it names the log', 'not-trusted', log.checkpoint(STUDY, 4, { key })],
    ['another key is trusted', 'not-trusted', genuine, { trusted: [trust(key)] }],
    ['it is of another log', 'other-log', log.checkpoint(STUDY, 4, { logName: 'another' })],
    ['it is of a log of a longer name', 'other-log', log.checkpoint(STUDY, 4, { logName: `${LOG_NAME}x` })],
    ['there is no such stream', 'no-such-stream', gone],
    ['there is none, and one study was asked for', 'no-such-stream', gone, { studies: [CONFIGURATION.name] }],
    ['that recovery did not take place', 'other-recovery', named(`${STUDY}/1`)],
  ])('%s', async (_, because, checkpoint, more = {}) => {
    const report = await verify(log, { checkpoints: [checkpoint], ...more });
    expect(report.ok).toBe(false);
    expect(report.unusedCheckpoints.map((unused) => unused.because)).toEqual([because]);
  });

  it('but not that the log now calls itself something else: it is of the log of the trusted key', async () => {
    const renamed = logOf(HISTORY);
    change(renamed, 0, ({ data }) => Object.assign(data, { logName: 'another' }), 'log');
    const report = await verify(renamed, { checkpoints: [genuine] });
    expect(report).toMatchObject({ ok: false, untrustedKey: true, unusedCheckpoints: [] });
    expect(streamOf(report).evidence).toMatchObject({ matching: 1, matchingSize: 4 });
  });

  it('of a study that was not asked for, which is a failure if none covers the one that was', async () => {
    const two = twins();
    const studies = [CONFIGURATION.name];
    const others = [two.checkpoint(TWIN, 1), two.checkpoint(TWIN, 0)];
    const report = await verify(two, { checkpoints: [...others, two.checkpoint(STUDY, 4)], studies });
    expect(report.ok).toBe(true);
    expect(report).not.toHaveProperty('othersOnly');
    expect(report.unusedCheckpoints.map(({ because }) => because)).toEqual(Array(2).fill('not-asked-for'));
    expect(reportText(report)).toContain(
      '2 given checkpoints could not be compared: of a stream that was not',
    );
    // These say nothing about a study.
    const shared = [two.checkpoint('log', 1), two.checkpoint('access', 3)];
    expect((await verify(two, { checkpoints: shared, studies })).ok).toBe(true);
    const failed = await verify(two, { checkpoints: [...others, ...shared], studies });
    expect(failed).toMatchObject({
      ok: false,
      othersOnly: [{ origin: `${LOG_NAME}/${TWIN}`, checkpoints: 2 }],
    });
    expect(reportText(failed)).toContain(
      `FAILED: none of the given checkpoints is of the studies that were verified; they are of ${LOG_NAME}/${TWIN} (2)`,
    );
  });
});

describe('the report for people', () => {
  it('claims nothing that was not verified', async () => {
    const log = before;
    const untrusted = reportText(await verify(log, { trusted: [], checkpoints: [log.checkpoint(STUDY, 9)] }));
    expect(untrusted).toContain('SELF-CONSISTENT ONLY');
    expect(untrusted).toMatch(
      /\nRESULT: no fault was found in \d+ records of \d+ streams\. That nothing .* is no failure\.[^\n]*$/,
    );
    expect(untrusted).toContain('no trusted key was given');
    expect(untrusted).not.toMatch(/^OK|proven unchanged/m);
    const kept = [4, 7].map((size) => before.checkpoint(STUDY, size));
    const doubted = reportText(await verify(after, { trusted: [], checkpoints: kept }));
    expect(doubted).toContain(
      "the history up to size 4 is as the log's own key signed it; between size 5 and 7",
    );
    expect(doubted).not.toContain('proven unchanged');
    const trusted = reportText(await verify(log));
    expect(trusted).toContain('SELF-CONSISTENT ONLY');
    const part = reportText(await verify(log, { checkpoints: [log.checkpoint(STUDY, 9)] }));
    expect(part).toContain('OK as far as the checkpoints reach');
    const checkpoints = [log.checkpoint('log', 1), log.checkpoint('access', 3), log.checkpoint(STUDY, 9)];
    expect(reportText(await verify(log, { checkpoints }))).toMatch(/^OK: every event/m);
  });

  it('cannot be made to control a terminal', async () => {
    const report = await verify(before);
    if (!report.log) throw new Error('no log');
    const text = reportText({ ...report, log: { ...report.log, id: 'x', name: 'a\u001b[31mb\nFAILED' } });
    expect(text).toContain('log a [31mb FAILED (x)');
  });
});

it('the id of the study to find selects the study, and matches no other', async () => {
  const found = await verify(before, { studyId: STUDY_ID });
  expect(found.ok).toBe(true);
  expect(found.streams.map(({ stream }) => stream)).toEqual(['log', 'access', STUDY]);
  const studyId = TWIN.slice('study-'.length);
  const missing = await verify(before, { studyId, studies: [CONFIGURATION.name] });
  expect(missing).toMatchObject({ ok: false, missingStudyId: studyId });
  expect(reportText(missing)).toContain(`FAILED: the study ${studyId} was expected`);
});

describe('the log’s own note of what it last signed', () => {
  const log = before;
  const noted = (...checkpoints: KeptCheckpoint[]) => ({
    lastSigned: { file: 'data/last-checkpoints', checkpoints },
  });

  it('proves nothing if it agrees', async () => {
    const checkpoints = [log.checkpoint(STUDY, 9), log.checkpoint('log', 1)];
    const report = await verify(log, noted(...checkpoints));
    expect(report).toMatchObject({
      ...{ ok: true, selfConsistentOnly: true },
      lastCheckpoints: { file: 'data/last-checkpoints', agree: true },
    });
    expect(streamOf(report).evidence).toMatchObject({
      ...{ matching: 0, matchingSize: 0, uncovered: { from: 0, to: 8 } },
      lastSigned: { matching: 1, matchingSize: 9, failing: 0 },
    });
    const says = "last-checkpoints, where this log noted what it signed last, agrees; it is the operator's";
    expect(reportText(report)).toContain(says);
    const kept = await verify(log, { ...noted(...checkpoints), checkpoints: checkpoints.slice(0, 1) });
    expect(kept).toMatchObject({ ok: true, selfConsistentOnly: false });
  });

  it('is a failure if the stream is shorter, different or missing', async () => {
    const shorter = logOf(HISTORY.slice(0, 7));
    const other = logOf([...HISTORY.slice(0, 8), enrol(7)]);
    for (const present of [shorter, other]) {
      const report = await verify(present, noted(log.checkpoint(STUDY, 9)));
      expect(report).toMatchObject({ ok: false, lastCheckpoints: { agree: false } });
      expect(streamOf(report).evidence).toMatchObject({ failing: 1, lastSigned: { failing: 1 } });
      expect(reportText(report)).toContain('--no-last-checkpoints');
    }
    const gone = logOf(HISTORY);
    gone.byStream.delete(STUDY);
    expect(await verify(gone, noted(log.checkpoint(STUDY, 9)))).toMatchObject({
      ...{ ok: false, lastCheckpoints: { agree: false } },
      unusedCheckpoints: [{ because: 'no-such-stream' }],
    });
  });

  it('is a failure if it belongs to another log', async () => {
    for (const more of [{ logName: 'another' }, { key: makeSigningKey(LOG_NAME) }])
      expect(await verify(log, noted(log.checkpoint(STUDY, 9, more)))).toMatchObject({
        ...{ ok: false, lastCheckpoints: { agree: false } },
      });
  });

  it('is not consulted for a study that is not verified', async () => {
    const two = twins();
    const more = noted(two.checkpoint(STUDY, 9), two.checkpoint(TWIN, 1), two.checkpoint('operations', 0));
    two.of(TWIN).pop();
    expect((await verify(two, more)).ok).toBe(false);
    const report = await verify(two, { ...more, studies: [CONFIGURATION.name] });
    expect(report).toMatchObject({ ok: true, unusedCheckpoints: [], lastCheckpoints: { agree: true } });
  });
});
