/** The stream `operations` under verification: nothing can be decided again, but not everything is possible there. */
import { describe, expect, it } from 'vitest';
import type { OperationsFact } from '../../../events/operations.ts';
import type { Actor } from '../../../events/record.ts';
import type { AccessCommand, Grant } from '../../../src/core/access/keys.ts';
import { UnknownStudyError } from '../../../src/evidence/verify/verify.ts';
import type { Change } from '../../support/altered-record.ts';
import { CONFIGURATION, OPERATOR } from '../../support/facts.ts';
import { change, divergenceOf, HISTORY, KEYS, logOf, nurse, STUDY, streamOf, verify } from './support.ts';

const AT = '2026-03-01T09:30:00.000Z';
const tally = { count: 2, firstAt: AT, lastAt: AT };
const RUN = { runId: '7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4', version: '0.1.0', nodeVersion: 'v20.20.0' };
const SESSION = { sessionId: 'yzObQH5PXuXXhAOEv8oClw', keyId: 'k0011' };
const DIGEST = { sha256: 'ab'.repeat(32) };

const said = (type: OperationsFact['type'], data: object, sections = {}) =>
  ({ type, data, sections }) as OperationsFact;
const disclosed = (what: string, more: object = {}, sections = {}) =>
  said('EvidenceDisclosed', { what, study: CONFIGURATION.name, toRevision: 3, ...tally, ...more }, sections);
const started = said('ServiceStarted', RUN);
const stopped = said('ServiceStopped', RUN);
const refused = said('RequestRefused', { operation: 'GET /balance', reason: 'not-permitted', ...tally });
const shown = disclosed('balance');
const band = disclosed('expected-balance');
const exported = disclosed('export', { content: 'open' }, { file: DIGEST });
const tested = disclosed('rerandomization', DIGEST);
const signedIn = said('SessionBegan', SESSION);
const signedOut = said('SessionEnded', SESSION);

const issued = (digit: string, grant: Grant): AccessCommand => ({
  ...{ type: 'issue', keyId: `k00${digit}${digit}`, sha256: digit.repeat(64), grant },
});
/** Revisions 3 to 8 of `access`. */
const MORE: readonly AccessCommand[] = [
  issued('3', { user: 'auditor', scopes: ['audit'] }),
  issued('4', { user: 'limited', scopes: ['read', 'audit'], studies: ['Another'] }),
  issued('5', { user: 'gone', scopes: ['audit'] }),
  { type: 'revoke', keyId: 'k0055' },
  issued('6', { user: 'reader', scopes: ['read'] }),
  issued('7', { user: 'pharmacy', scopes: ['supply'] }),
];
const auditor = (accessRevision = 3): Actor => ({ keyId: 'k0033', user: 'auditor', accessRevision });
const limited: Actor = { keyId: 'k0044', user: 'limited', accessRevision: 4 };
const gone = (accessRevision: number): Actor => ({ keyId: 'k0055', user: 'gone', accessRevision });
const reader: Actor = { keyId: 'k0066', user: 'reader', accessRevision: 7 };
const pharmacy: Actor = { keyId: 'k0077', user: 'pharmacy', accessRevision: 8 };

type Said = readonly [OperationsFact, Actor];
const byPerson = (fact: OperationsFact): Said => [fact, OPERATOR];

function logWith(...all: readonly Said[]) {
  const log = logOf(HISTORY, [...KEYS, ...MORE]);
  for (const [fact, actor] of all) log.append('operations', fact, actor);
  return log;
}

describe('the stream operations is sound', () => {
  it('with runs, refusals and disclosures, of keys and on the command line', async () => {
    const ofKeys: Said[] = [
      [refused, nurse()],
      [shown, auditor()],
    ];
    const log = logWith(byPerson(started), ...ofKeys, byPerson(shown), byPerson(stopped));
    const report = await verify(log, { checkpoints: [log.checkpoint('operations', 4)] });
    expect(report.ok).toBe(true);
    expect(streamOf(report, 'operations')).toMatchObject({
      ...{ sound: true, records: 5, notReplayed: 0 },
      evidence: { matchingSize: 4, uncovered: { from: 4, to: 4 } },
    });
  });

  const runAgain = said('ServiceStarted', { ...RUN, runId: '11111111-5b0a-4d0c-9a53-0b1de2f6a8c4' });
  const otherEnd = said('SessionEnded', { ...SESSION, sessionId: 'AAAAAAAAAAAAAAAAAAAAAA' });
  it.each<[string, ...Said[]]>([
    ['an expected balance that was shown to a reader or an auditor', [band, reader], [band, auditor()]],
    ['packs that were shown to the pharmacy', [disclosed('codes'), pharmacy]],
    ['a run that was killed', byPerson(started), byPerson(runAgain)],
    ['what a key did before it was revoked, and its refusals after it', [shown, gone(5)], [refused, gone(6)]],
    [
      'exports: the digest of a file without arms is in the clear',
      ...[exported, disclosed('export', { content: 'blinded', ...DIGEST })].map(byPerson),
    ],
    [
      're-randomization tests, of which one was an interim look',
      ...[tested, disclosed('rerandomization', { ...DIGEST, interim: 'asked by the DMC' })].map(byPerson),
    ],
    [
      'sessions, of which some have no recorded end and some no recorded beginning',
      ...[signedIn, signedOut, signedIn, otherEnd].map((fact): Said => [fact, nurse()]),
    ],
  ])('with %s', async (_, ...all) => {
    expect((await verify(logWith(...all))).ok).toBe(true);
  });

  it('and is omitted if one study was asked for', async () => {
    const log = logWith([shown, nurse()]);
    const report = await verify(log, { studies: [CONFIGURATION.name] });
    expect(report.ok).toBe(true);
    expect(report.streams.map(({ stream }) => stream)).toEqual(['log', 'access', STUDY]);
    await expect(verify(log, { studies: ['another'] })).rejects.toThrow(UnknownStudyError);
  });
});

describe('the stream operations cannot contain', () => {
  it.each<[string, string, OperationsFact, Actor]>([
    ['a key that was never issued', 'actor.keyId', refused, { ...nurse(), keyId: 'k9999' } as Actor],
    ['a refusal on the command line', 'actor', refused, OPERATOR],
    ['a disclosure to a key without audit', 'actor.keyId', shown, reader],
    ['an expected balance for a key that reads nothing', 'actor.keyId', band, nurse()],
    ['a disclosure to a key that was revoked', 'actor.accessRevision', shown, gone(6)],
    ['a disclosure to a key of other studies', 'actor.keyId', shown, limited],
    ['an export by a key', 'actor', exported, auditor()],
    [
      'the digest of an export with arms',
      'data.sha256',
      ...byPerson(disclosed('export', { content: 'full', ...DIGEST }, { file: DIGEST })),
    ],
    [
      'a sealed digest of anything but an export',
      'sections.file',
      ...byPerson(disclosed('balance', {}, { file: DIGEST })),
    ],
    ['a re-randomization test by a key', 'actor', tested, auditor()],
    [
      'a reason for an interim look at anything else',
      'data.interim',
      ...byPerson(disclosed('bundle', { ...DIGEST, interim: 'curious' })),
    ],
    ['a sign-in on the command line', 'actor', signedIn, OPERATOR],
    ['a session of another key than its actor', 'data.keyId', signedOut, auditor()],
    [
      'a sign-in with a revoked key',
      'actor.accessRevision',
      said('SessionBegan', { ...SESSION, keyId: 'k0055' }),
      gone(6),
    ],
    ['a start by a key', 'actor', started, nurse()],
    ['a stop without its start', 'data.runId', stopped, OPERATOR],
  ])('%s', async (_, field, fact, actor) => {
    const report = await verify(logWith([shown, auditor()], [fact, actor]));
    expect(report.ok).toBe(false);
    expect(streamOf(report, 'operations').divergence).toMatchObject({ revision: 1, field });
  });

  it.each([
    ['start', 1, [started, started, stopped]],
    ['stop', 2, [started, stopped, stopped]],
  ] as const)('the same %s twice', async (_, revision, facts) => {
    expect(await divergenceOf(logWith(...facts.map(byPerson)), 'operations')).toMatchObject({ revision });
  });

  it.each<[string, Change, object]>([
    ['a number that was changed', ({ data }) => Object.assign(data, { count: 0 }), { field: 'data.count' }],
    ['something that none of its events says', ({ data }) => Object.assign(data, { treatment: 'MART' }), {}],
  ])('%s', async (_, how, expected) => {
    const log = change(logWith(byPerson(started), [refused, nurse()]), 1, how, 'operations');
    expect(await divergenceOf(log, 'operations')).toMatchObject({ revision: 1, ...expected });
  });
});
