import { describe, expect, it } from 'vitest';
import { decodeRecord } from '../../../events/record.ts';
import { describeOperation, studyOf } from '../../../src/service/operations/describe.ts';
import { event, OPERATOR, paused } from '../../support/facts.ts';
import { frozenSample } from '../../support/samples.ts';

const said = (name: string) => describeOperation(decodeRecord(frozenSample(`${name}@1`)));

describe('the description of an operation', () => {
  it('says when it happened, who did it and what it was', () => {
    const samples = ['ServiceStarted', 'RequestRefused', 'EvidenceDisclosed', 'ServiceStopped'];
    expect([...samples, 'SessionBegan', 'SessionEnded'].map(said)).toEqual([
      '2026-02-20T14:03:10.007Z  trial-ops (command line)  started the service version 0.1.0 on Node v20.20.0 (run 7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4)',
      '2026-02-21T08:17:01.330Z  site-11 (k5f1c09ab34d2)  was refused POST /study_participants of CHS JCOIN: the participant is assigned already; 1999 times, from 2026-02-21T08:16:01.298Z to 2026-02-21T08:17:00.911Z',
      '2026-03-16T10:30:05.518Z  auditor (k8d20e7713fa9)  was shown the explanation of participant 001-0001 of CHS JCOIN',
      '2026-04-30T18:00:00.250Z  trial-ops (command line)  stopped the service version 0.1.0 on Node v20.20.0 (run 7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4)',
      '2026-11-23T07:58:00.000Z  site-11 (k5f1c09ab34d2)  signed in (session yzObQH5PXuXXhAOEv8oClw)',
      '2026-11-23T16:02:00.000Z  site-11 (k5f1c09ab34d2)  signed out (session yzObQH5PXuXXhAOEv8oClw)',
    ]);
  });

  const sha256 = 'ab'.repeat(32);
  const test = { what: 'rerandomization', toRevision: 9, sha256 } as const;
  it.each([
    [{ what: 'balance', toRevision: 7 }, 'the balance up to revision 7 of A'],
    [{ what: 'records', fromRevision: 0, toRevision: 249 }, 'the records 0 to 249 of A'],
    [{ what: 'records', fromRevision: 3, content: 'open' }, 'a feed of the records from 3 on (open) of A'],
    [{ what: 'seed' }, 'the seed of A'],
    [{ what: 'codes', toRevision: 9 }, 'which treatment packs hold up to revision 9 of A'],
    [{ what: 'generator-states', toRevision: 9 }, 'states of the generator up to revision 9 of A'],
    [{ what: 'bundle', content: 'full', sha256 }, `a bundle (full, SHA-256 ${sha256}) of A`],
    [
      { ...test, interim: 'asked by the DMC' },
      `a re-randomization test up to revision 9 (outcomes with SHA-256 ${sha256}), as an interim look (asked by the DMC) of A`,
    ],
    [test, `a re-randomization test up to revision 9 (outcomes with SHA-256 ${sha256}) of A`],
    [{ what: 'export', content: 'open', toRevision: 9 }, 'an export up to revision 9 (open) of A'],
    [
      { what: 'export', content: 'blinded', toRevision: 9, sha256 },
      `an export up to revision 9 (blinded, SHA-256 ${sha256}) of A`,
    ],
  ] as const)('%o', (about, words) => {
    const at = '2026-03-01T09:00:00.000Z';
    const data = { ...about, study: 'A', count: 1, firstAt: at, lastAt: at };
    const one = event({ type: 'EvidenceDisclosed', data, sections: {} }, 0, { stream: 'operations' });
    expect(describeOperation(one)).toBe(`${at}  nurse (k0011)  was shown ${words}`);
    expect(studyOf(one)).toBe('A');
  });

  it('gives the time of an operation that was written later', () => {
    const at = '2026-03-01T08:59:10.000Z';
    const data = { reason: 'several', count: 1, firstAt: at, lastAt: at } as const;
    const one = event({ type: 'RequestRefused', data, sections: {} }, 0, { stream: 'operations' });
    expect(describeOperation(one)).toContain(
      `was refused requests: for several reasons, beyond what is recorded one by one; once, at ${at}`,
    );
    expect(studyOf(one)).toBeUndefined();
  });

  it('contains nothing that a terminal obeys, and is refused for an event of another stream', () => {
    const run = { runId: '7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4', version: '1\u001b[2J', nodeVersion: 'v20' };
    const one = event({ type: 'ServiceStarted', data: run, sections: {} }, 0, { actor: OPERATOR });
    expect(describeOperation(one)).toContain('version 1 [2J on');
    expect(() => describeOperation(event(paused, 3))).toThrow('does not belong');
  });
});
