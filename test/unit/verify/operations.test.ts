/** The stream `operations` under verification: nothing can be decided again, but not everything is possible there. */
import { describe, expect, it } from 'vitest';
import type { OperationsFact } from '../../../events/operations.ts';
import type { Actor } from '../../../events/record.ts';
import type { AccessCommand } from '../../../src/core/access/decide.ts';
import { CONFIGURATION, OPERATOR } from '../../support/facts.ts';
import { altered, HISTORY, KEYS, logOf, nurse, streamOf, verify } from './support.ts';

const AT = '2026-03-01T09:30:00.000Z';
const tally = { count: 2, firstAt: AT, lastAt: AT };
const RUN = { runId: '7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4', version: '0.1.0', nodeVersion: 'v20.20.0' };
const started: OperationsFact = { type: 'ServiceStarted', data: RUN, sections: {} };
const stopped: OperationsFact = { type: 'ServiceStopped', data: RUN, sections: {} };
const refused: OperationsFact = {
  type: 'RequestRefused',
  data: { operation: 'GET /balance', reason: 'not-permitted', ...tally },
  sections: {},
};
const shown = (study = CONFIGURATION.name): OperationsFact => ({
  type: 'EvidenceDisclosed',
  data: { what: 'balance', study, toRevision: 3, ...tally },
  sections: {},
});

const band: OperationsFact = {
  type: 'EvidenceDisclosed',
  data: { what: 'expected-balance', study: CONFIGURATION.name, toRevision: 3, ...tally },
  sections: {},
};

const SESSION = { sessionId: 'yzObQH5PXuXXhAOEv8oClw', keyId: 'k0011' };
const signedIn: OperationsFact = { type: 'SessionBegan', data: SESSION, sections: {} };
const signedOut: OperationsFact = { type: 'SessionEnded', data: SESSION, sections: {} };

const DIGEST = { sha256: 'ab'.repeat(32) };
const EXPORT = { what: 'export', study: CONFIGURATION.name, toRevision: 3, ...tally } as const;
const exported: OperationsFact = {
  type: 'EvidenceDisclosed',
  data: { ...EXPORT, content: 'open' },
  sections: { file: DIGEST },
};

const TEST = {
  what: 'rerandomization',
  study: CONFIGURATION.name,
  toRevision: 3,
  ...DIGEST,
  ...tally,
} as const;
const tested: OperationsFact = { type: 'EvidenceDisclosed', data: TEST, sections: {} };

/** Revisions 3 to 7 of `access`. */
const MORE: readonly AccessCommand[] = [
  { type: 'issue', keyId: 'k0033', sha256: '3'.repeat(64), grant: { user: 'auditor', scopes: ['audit'] } },
  {
    type: 'issue',
    keyId: 'k0044',
    sha256: '4'.repeat(64),
    grant: { user: 'limited', scopes: ['read', 'audit'], studies: ['Another'] },
  },
  { type: 'issue', keyId: 'k0055', sha256: '5'.repeat(64), grant: { user: 'gone', scopes: ['audit'] } },
  { type: 'revoke', keyId: 'k0055' },
  { type: 'issue', keyId: 'k0066', sha256: '6'.repeat(64), grant: { user: 'reader', scopes: ['read'] } },
];
const auditor = (accessRevision = 3): Actor => ({ keyId: 'k0033', user: 'auditor', accessRevision });
const reader: Actor = { keyId: 'k0066', user: 'reader', accessRevision: 7 };
const gone = (accessRevision: number): Actor => ({ keyId: 'k0055', user: 'gone', accessRevision });

function logWith(...said: readonly (readonly [OperationsFact, Actor])[]) {
  const log = logOf(HISTORY, [...KEYS, ...MORE]);
  for (const [fact, actor] of said) log.append('operations', fact, actor);
  return log;
}

describe('the stream operations is sound', () => {
  it('with runs, refusals and disclosures, of keys and on the command line', async () => {
    const log = logWith(
      [started, OPERATOR],
      [refused, nurse()],
      [shown(), auditor()],
      [shown(), OPERATOR],
      [stopped, OPERATOR],
    );
    const report = await verify(log, { checkpoints: [log.checkpoint('operations', 4)] });
    expect(report.ok).toBe(true);
    expect(streamOf(report, 'operations')).toMatchObject({
      sound: true,
      records: 5,
      notReplayed: 0,
      evidence: { matchingSize: 4, uncovered: { from: 4, to: 4 } },
    });
  });

  it('with an expected balance that was shown to a reader or an auditor', async () => {
    expect((await verify(logWith([band, reader], [band, auditor()]))).ok).toBe(true);
  });

  it('with a run that was killed, and with refusals of a revoked key', async () => {
    const again: OperationsFact = {
      ...started,
      data: { ...RUN, runId: '11111111-5b0a-4d0c-9a53-0b1de2f6a8c4' },
    };
    const log = logWith([started, OPERATOR], [again, OPERATOR], [refused, gone(6)], [shown(), gone(5)]);
    expect((await verify(log)).ok).toBe(true);
  });

  it('with exports: the digest of a file without arms is in the clear', async () => {
    const blinded = {
      ...exported,
      data: { ...EXPORT, content: 'blinded', ...DIGEST },
      sections: {},
    } as const;
    expect((await verify(logWith([exported, OPERATOR], [blinded, OPERATOR]))).ok).toBe(true);
  });

  it('with re-randomization tests, of which one was an interim look', async () => {
    const interim = { ...tested, data: { ...TEST, interim: 'asked by the DMC' } } as const;
    expect((await verify(logWith([tested, OPERATOR], [interim, OPERATOR]))).ok).toBe(true);
  });

  it('with sessions, of which some have no recorded end and some no recorded beginning', async () => {
    const other = { ...signedOut, data: { ...SESSION, sessionId: 'AAAAAAAAAAAAAAAAAAAAAA' } } as const;
    const log = logWith([signedIn, nurse()], [signedOut, nurse()], [signedIn, nurse()], [other, nurse()]);
    expect((await verify(log)).ok).toBe(true);
  });

  it('and is omitted if one study was asked for', async () => {
    const report = await verify(logWith([shown(), nurse()]), { studies: [CONFIGURATION.name] });
    expect(report.ok).toBe(true);
    expect(report.streams.map(({ stream }) => stream)).not.toContain('operations');
  });
});

describe('the stream operations cannot contain', () => {
  it.each([
    [
      'a key that was never issued',
      refused,
      { keyId: 'k9999', user: 'nurse', accessRevision: 0 },
      'actor.keyId',
    ],
    ['a key of another user', refused, { ...nurse(), user: 'somebody' }, 'actor.user'],
    ['a key that was issued later', refused, auditor(2), 'actor.accessRevision'],
    ['a revision that access does not have', refused, auditor(8), 'actor.accessRevision'],
    ['a refusal on the command line', refused, OPERATOR, 'actor'],
    ['a disclosure to a key without audit', shown(), reader, 'actor.keyId'],
    ['an expected balance for a key that reads nothing', band, nurse(), 'actor.keyId'],
    ['a disclosure to a key that was revoked', shown(), gone(6), 'actor.accessRevision'],
    [
      'a disclosure to a key of other studies',
      shown(),
      { keyId: 'k0044', user: 'limited', accessRevision: 4 },
      'actor.keyId',
    ],
    ['an export by a key', exported, auditor(), 'actor'],
    [
      'the digest of an export with arms',
      { ...exported, data: { ...EXPORT, content: 'full', ...DIGEST } },
      OPERATOR,
      'data.sha256',
    ],
    [
      'a sealed digest of anything but an export',
      { ...exported, data: { ...EXPORT, what: 'balance' } },
      OPERATOR,
      'sections.file',
    ],
    ['a re-randomization test by a key', tested, auditor(), 'actor'],
    [
      'a reason for an interim look at anything else',
      { ...tested, data: { ...TEST, what: 'bundle', interim: 'curious' } },
      OPERATOR,
      'data.interim',
    ],
    ['a sign-in on the command line', signedIn, OPERATOR, 'actor'],
    ['a session of another key than its actor', signedOut, auditor(), 'data.keyId'],
    [
      'a sign-in with a revoked key',
      { ...signedIn, data: { ...SESSION, keyId: 'k0055' } },
      gone(6),
      'actor.accessRevision',
    ],
    ['a start by a key', started, nurse(), 'actor'],
    ['a stop without its start', stopped, OPERATOR, 'data.runId'],
  ] as const)('%s', async (_, fact, actor, field) => {
    const report = await verify(logWith([shown(), auditor()], [fact, actor as Actor]));
    expect(report.ok).toBe(false);
    expect(streamOf(report, 'operations').divergence).toMatchObject({ revision: 1, field });
  });

  it('the same start or stop twice', async () => {
    const twice = [started, started, stopped].map((fact) => [fact, OPERATOR] as const);
    expect(streamOf(await verify(logWith(...twice)), 'operations').divergence).toMatchObject({ revision: 1 });
    const stops = [started, stopped, stopped].map((fact) => [fact, OPERATOR] as const);
    expect(streamOf(await verify(logWith(...stops)), 'operations').divergence).toMatchObject({ revision: 2 });
  });

  it.each([
    [
      'a number that was changed',
      (record: { data: { count: unknown } }) => {
        record.data.count = 0;
      },
      'data.count',
    ],
    [
      'something that none of its events says',
      (record: { data: { treatment?: unknown } }) => {
        record.data.treatment = 'MART';
      },
      undefined,
    ],
  ] as const)('%s', async (_, change, field) => {
    const log = logWith([started, OPERATOR], [refused, nurse()]);
    const records = log.of('operations');
    const [, second] = records;
    if (second) records[1] = altered(second, change);
    const { divergence } = streamOf(await verify(log), 'operations');
    expect(divergence).toMatchObject({ revision: 1, ...(field !== undefined && { field }) });
  });
});
