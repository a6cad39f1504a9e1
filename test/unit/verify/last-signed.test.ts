/** The study that must be in a log, and the log's own note of what it signed last. */
import { describe, expect, it } from 'vitest';
import type { KeptCheckpoint } from '../../../src/core/ledger/checkpoint-file.ts';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { enrol, HISTORY, LOG_NAME, logOf, STUDY, STUDY_ID, streamOf, verify } from './support.ts';

describe('the id of the study to find', () => {
  const log = logOf(HISTORY);

  it('selects the study, and matches no other', async () => {
    const found = await verify(log, { studyId: STUDY_ID });
    expect(found.ok).toBe(true);
    expect(found.streams.map(({ stream }) => stream)).toEqual(['log', 'access', STUDY]);
    const studyId = '5a1e0f6c-30f7-5d21-9c3e-6a0f5d2b7c12';
    const missing = await verify(log, { studyId, studies: [CONFIGURATION.name] });
    expect(missing).toMatchObject({ ok: false, missingStudyId: studyId });
    expect(reportText(missing)).toContain(`FAILED: the study ${studyId} was expected`);
  });
});

describe('the log’s own note of what it last signed', () => {
  const log = logOf(HISTORY);
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
    const two = logOf(HISTORY);
    two.byStream.set('operations', []);
    const report = await verify(two, {
      ...noted(log.checkpoint(STUDY, 9), log.checkpoint('operations', 0)),
      studies: [CONFIGURATION.name],
    });
    expect(report).toMatchObject({ ok: true, unusedCheckpoints: [], lastCheckpoints: { agree: true } });
  });
});
