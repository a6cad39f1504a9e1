/** Which parts of a verification report a key may see. */
import { describe, expect, it } from 'vitest';
import type { LifeReport, Report, StreamReport } from '../../../src/evidence/verify/report/report.ts';
import { verificationJson, verificationResult } from '../../../src/service/http/routes/verification.ts';

const STREAM = 'study-0fc46d39-d5da-5fbf-8d7d-4a9c1a2ae6b2';
const OTHER = 'study-5a1e0f6c-30f7-5d21-9c3e-6a0f5d2b7c11';
const SECRET = 'SECRET of another study';

const stream = (name: string, more: Partial<StreamReport> = {}): StreamReport => ({
  stream: name,
  sound: false,
  records: 9,
  root: 'n2mgJfq2Qe8mT8bVwEmmkDZ1qCPVJFyCJDQ1gZYyWLA=',
  notReplayed: 3,
  evidence: { matching: 0, matchingSize: 0, failing: 0, failed: [], lost: [], uncovered: { from: 0, to: 8 } },
  warnings: [],
  ...more,
});

const divergence = (field: string, value: string) => ({
  ...{ revision: 6, id: '0190b7a4-7a3c-7def-8123-456789abcdef', type: 'ParticipantRandomized' },
  ...{ participant: '001', field, expected: value, found: value, why: 'it differs' },
  alsoDiffer: ['data.other'],
});

const report = (...streams: readonly StreamReport[]): Report => ({
  ...{ ok: false, selfConsistentOnly: true },
  log: {
    ...{ id: '0190b7a4-7a3c-7def-8123-456789abcdef', name: 'urn', publicKey: 'urn+00000000+AQ==' },
    laterKeys: [],
    recoveries: [{ recovery: 1, at: '2027-04-21T10:00:00.000Z', reason: SECRET }],
  },
  ...{ trusted: [], untrustedKey: false, streams, unusedCheckpoints: [], seconds: 0.1 },
});

const limited = (...streams: readonly StreamReport[]) =>
  verificationResult(report(...streams), { stream: STREAM, isLimited: true });
const unlimited = (...streams: readonly StreamReport[]) =>
  verificationResult(report(...streams), { stream: STREAM, isLimited: false });

describe('a key that is limited to studies', () => {
  it('learns that log and access diverge and where, but not what their records contain, or why it was recovered', () => {
    expect(limited().log?.recoveries).toEqual([{ recovery: 1, at: '2027-04-21T10:00:00.000Z' }]);
    for (const name of ['log', 'access']) {
      const shown = limited(stream(name, { divergence: divergence('data.grant', SECRET) }));
      expect(JSON.stringify(shown)).not.toContain('SECRET');
      expect(shown.streams[0]?.divergence).toEqual({ revision: 6, why: expect.stringContaining('limited') });
      expect(shown.streams[0]).toMatchObject({ sound: false, records: 9, notReplayed: 3 });
    }
  });

  it('sees what its study should contain, but not the user or the studies of a key that acted in it', () => {
    const arms = limited(stream(STREAM, { divergence: divergence('allocation.treatment', '"MART"') }));
    expect(arms.streams[0]?.divergence).toEqual(divergence('allocation.treatment', '"MART"'));
    for (const field of ['actor', 'actor.keyId', 'actor.user']) {
      const shown = limited(stream(STREAM, { divergence: divergence(field, SECRET) }));
      expect(JSON.stringify(shown)).not.toContain('SECRET');
      expect(shown.streams[0]?.divergence).toMatchObject({ revision: 6, field, why: 'it differs' });
    }
  });
});

describe('any key', () => {
  it('sees only the study that it asked about, whatever else was verified', () => {
    const shown = unlimited(stream('log'), stream('access'), stream(OTHER), stream(STREAM));
    expect(shown.streams.map((one) => one.stream)).toEqual(['log', 'access', STREAM]);
    expect(shown.caution).toContain('The service has verified itself');
  });

  it('without a limit to studies sees the whole report', () => {
    const shown = unlimited(stream('access', { divergence: divergence('data.grant', SECRET) }));
    expect(shown.streams[0]?.divergence).toEqual(divergence('data.grant', SECRET));
    expect(shown.log?.recoveries[0]?.reason).toBe(SECRET);
  });

  it('gets every member that a report can have, and no others', () => {
    const evidence: StreamReport['evidence'] = {
      ...{ matching: 1, matchingSize: 2, failing: 1 },
      failed: [{ where: 'checkpoint', size: 5, because: 'other-root', signedRoot: 'AA==', root: 'AQ==' }],
      rewritten: { afterSize: 2, upToSize: 5 },
      tailCutOff: { size: 9, signedSize: 12 },
      lost: [{ where: 'checkpoint', size: 12, recovery: 1, kept: 9, because: 'declared-loss' }],
      uncovered: { from: 2, to: 8 },
    };
    const warnings = [{ code: 'weak-seed', count: 1, revision: 0, text: 'weak' }] as const;
    const life: Required<LifeReport> = {
      ...{ state: 'closed', method: 'blocks', certain: 3 },
      ...{ imported: { redrawn: 3, unproven: 1 }, forced: { outage: 2 } },
      packs: { registered: 40, replaced: 1, withdrawn: 2 },
      ...{ amendments: 2, corrected: 4, idsCorrected: 1 },
      ...{ voided: { duplicate: 1 }, changedAfterClosing: { AllocationVoided: 1 } },
      ...{ revealed: { emergency: 2 }, unblindingReported: 1, peopleUnblinded: 2 },
      secondDraws: [
        {
          ...{ user: 'edc', differed: 1, kept: [{ treatment: 'MART', count: 1 }] },
          draws: [{ participant: '1', revision: 3, voidedBy: 'desk', next: '2', nextBy: 'edc' }],
        },
      ],
      undoneAmendments: [
        { setting: 'ratio', amendment: 1, by: 'desk', undoneWith: 2, undoneBy: 'desk', randomized: ['2'] },
      ],
    };
    const full = stream(STREAM, { study: 'CHS JCOIN', participants: 7, life, evidence, warnings });
    const whole = report(full);
    const { trusted: _, untrustedKey: _u, ...expected } = whole;
    const { caution: _c, ...shown } = JSON.parse(
      verificationJson(whole, { stream: STREAM, isLimited: false }),
    );
    expect(shown).toEqual(expected);
  });
});
