/** Logs that were recovered, or got another signing key: some are sound, others only claim to be. */
import { describe, expect, it } from 'vitest';
import { CONTENTS } from '../../../events/content.ts';
import { endorse } from '../../../src/core/ledger/endorsement.ts';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { logDecider } from '../../../src/core/log/decide.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import type { Change, Json } from '../../support/altered-record.ts';
import { CONFIGURATION, OPERATOR, randomize } from '../../support/facts.ts';
import { LOG_ID } from '../../support/fixed-tools.ts';
import {
  appendCopy,
  bundled,
  change,
  divergenceOf,
  enrol,
  HISTORY,
  KEY,
  LOG_NAME,
  type Log,
  logOf,
  nurse,
  PAUSED,
  STUDY,
  type Step,
  step,
  streamOf,
  trust,
  verify,
} from './support.ts';

const KEPT = 5;
const SEED = 2n ** 127n + 3n;
const before = logOf(HISTORY);
const lost = before.checkpoint(STUDY, 9);
const signed = { recovery: 0, size: 9, root: Buffer.from(lost.claims.root).toString('base64') };
const RECOVER = step({ type: 'recover', recovery: 1, kept: KEPT, signed, seed: SEED }, OPERATOR);
/** It knew of nothing that was signed. */
const UNSIGNED = step({ type: 'recover', recovery: 1, kept: KEPT, seed: SEED }, OPERATOR);

/** The first records of the history, the recovery, and what came after it. */
function recovered(
  after: readonly Step[] = [RECOVER, enrol(7), enrol(8)],
  of: { kept: number; signed?: typeof signed } = { kept: KEPT, signed },
): Log {
  const log = logOf([...HISTORY.slice(0, KEPT), ...after]);
  const { fact } = logDecider.decide(
    { publicKeys: [KEY.publicKey], recoveries: [] },
    {
      type: 'recover',
      reason: 'disk failure',
      recovery: 1,
      streams: [
        { stream: 'access', kept: 3 },
        { stream: 'log', kept: 1 },
        { stream: STUDY, ...of },
      ],
    },
  );
  if (!fact) throw new Error('not decided');
  log.append('log', fact, OPERATOR);
  return log;
}
describe('a recovered log', () => {
  it('is sound, and every report mentions the recovery', async () => {
    const report = await verify(recovered());
    expect(report.ok).toBe(true);
    expect(streamOf(report)).toMatchObject({
      participants: 4,
      warnings: [{ code: 'recovered', revision: KEPT }],
    });
    expect(streamOf(report).warnings[0]?.text).toContain('at least 4 records after the first 5 were lost');
    expect(reportText(report)).toContain('RECOVERED from a backup (recovery 1');
  });

  it('agrees with checkpoints from before and after, and reports those in between as a declared loss', async () => {
    const log = recovered();
    const checkpoints = [before.checkpoint(STUDY, 4), log.checkpoint(STUDY, 8, { recovery: 1 })];
    const sound = await verify(log, { checkpoints });
    expect(streamOf(sound).evidence).toMatchObject({ matching: 2, matchingSize: 8, lost: [] });
    const report = await verify(log, { checkpoints: [...checkpoints, before.checkpoint(STUDY, 7), lost] });
    expect([report.ok, streamOf(report).sound]).toEqual([false, false]);
    expect(streamOf(report).evidence).toMatchObject({
      matching: 2,
      failing: 0,
      lost: [7, 9].map((size) => ({ size, kept: KEPT, recovery: 1, because: 'declared-loss' })),
    });
    const text = reportText(report);
    expect(text).toContain(
      'DECLARED LOSS: 2 checkpoints up to size 9 are of records that recovery 1 declares lost',
    );
    for (const never of ['CHANGED SINCE', 'MISSING']) expect(text).not.toContain(never);
  });

  it('cannot hide that what it kept was rewritten', async () => {
    const log = recovered();
    const other = logOf([...HISTORY.slice(0, 3), enrol(9), enrol(10)]);
    const report = await verify(log, { checkpoints: [other.checkpoint(STUDY, 4)] });
    expect(streamOf(report).evidence).toMatchObject({ failing: 1, rewritten: { upToSize: 4 }, lost: [] });
  });

  it('agrees with the note of what it last signed only if that is declared lost', async () => {
    const lastSigned = { file: 'data/last-checkpoints', checkpoints: [lost] };
    const report = await verify(recovered(), { lastSigned });
    expect(report).toMatchObject({ ok: true, lastCheckpoints: { agree: true } });
    const undeclared = await verify(recovered([UNSIGNED], { kept: KEPT }), { lastSigned });
    expect(undeclared).toMatchObject({ ok: false, lastCheckpoints: { agree: false } });
  });

  it('says so if it lost a whole study', async () => {
    const log = recovered();
    log.byStream.delete(STUDY);
    change(log, 1, (_, { studies }) => Object.assign(studies.streams[0], { kept: 0 }), 'log');
    const { unusedCheckpoints, ok } = await verify(log, { checkpoints: [lost] });
    expect([ok, unusedCheckpoints]).toEqual([false, [expect.objectContaining({ because: 'declared-loss' })]]);
  });
});

describe('a bundle of a recovered log, which withholds what `log` has sealed,', () => {
  it.each(CONTENTS)('has the recovery from the study, in %s', async (content) => {
    const log = recovered();
    const checkpoints = [log.checkpoint(STUDY, 8, { recovery: 1 }), before.checkpoint(STUDY, 4)];
    const sound = await verify(bundled(log, content), { checkpoints });
    expect(sound).toMatchObject({ ok: true, log: { recoveries: [{ recovery: 1 }] } });
    expect(streamOf(sound)).toMatchObject({
      evidence: { matching: 2 },
      warnings: [{ code: 'recovered', revision: KEPT }],
    });
    const undeclared = bundled(recovered([UNSIGNED], { kept: KEPT }), content);
    expect(streamOf(await verify(undeclared, { checkpoints: [lost] })).evidence).toMatchObject({
      failing: 0,
      lost: [{ size: 9, kept: KEPT, because: 'undeclared-loss' }],
    });
  });

  it('is not sound if the recovery is at another position, or unknown to log', async () => {
    const elsewhere = step({ type: 'recover', recovery: 1, kept: 4, seed: SEED }, OPERATOR);
    expect(await divergenceOf(bundled(recovered([elsewhere]), 'blinded'))).toMatchObject({
      ...{ revision: 4, field: 'type' },
    });
    const log = recovered();
    log.of('log').pop();
    expect(await divergenceOf(bundled(log, 'blinded'))).toMatchObject({
      ...{ revision: KEPT, why: expect.stringContaining('no recovery of the log') },
    });
  });
});

describe('an invalid recovery is reported:', () => {
  it('the generator continues as if nothing had been lost', async () => {
    const after = HISTORY.slice(KEPT);
    expect(await divergenceOf(recovered(after))).toMatchObject({
      ...{ revision: KEPT, field: 'type' },
      ...{ expected: '"StudyRecovered"', found: '"ParticipantRandomized"' },
    });
    expect(await divergenceOf(recovered([PAUSED, RECOVER]))).toMatchObject({ revision: KEPT });
  });

  it('a generator is restarted although no recovery in the log says so', async () => {
    const log = logOf([...HISTORY.slice(0, KEPT), RECOVER]);
    expect((await divergenceOf(log))?.why).toContain('no recovery of the log says');
    const earlier = await divergenceOf(recovered(undefined, { kept: 4, signed }));
    expect(earlier).toMatchObject({ revision: 4, field: 'type' });
  });

  const generator =
    (members: object): Change =>
    (_, sections) =>
      Object.assign(sections.generator, members);
  const said =
    (members: object): Change =>
    ({ data }) =>
      Object.assign(data, members);
  const byKey: Change = (record) => Object.assign(record, { actor: nurse() });

  it.each<[string, string, Change]>([
    ['less than the log', 'data', said({ signed: { ...signed, size: 7 } })],
    ['another recovery', 'data', said({ recovery: 2 })],
    ['a seed of more bits', 'generator.seed', generator({ seed: `${2n ** 129n}` })],
    ['the state of another seed', 'generator.bgState', generator({ seed: '7' })],
    ['a key', 'actor', byKey],
  ])('it says %s', async (_, field, how) => {
    const divergence = await divergenceOf(change(recovered(), KEPT, how));
    expect(divergence?.revision).toBe(KEPT);
    expect(divergence?.field).toMatch(new RegExp(`^${field}`));
  });

  const clear =
    (place: number, members: object): Change =>
    ({ data }) =>
      Object.assign(data.streams[place], members);
  const underSeal =
    (change: (stream: Json) => unknown): Change =>
    (_, { studies }) =>
      change(studies.streams[0]);

  it.each<[string, Change]>([
    ['no valid number', said({ recovery: 0 })],
    ['another size of the log', clear(1, { kept: 2 })],
    ['a study in the clear', clear(0, { stream: STUDY })],
    ['a stream twice', clear(0, { stream: 'log' })],
    ['another stream under seal', underSeal((one) => Object.assign(one, { stream: 'access' }))],
    ['that its own checkpoints were lost', underSeal((one) => Object.assign(one.signed, { recovery: 1 }))],
    ['a key', byKey],
  ])('the log says %s', async (_, how) => {
    const log = change(recovered(), 1, how, 'log');
    expect(await divergenceOf(log, 'log')).toMatchObject({ revision: 1 });
  });

  it('the log gives the same number twice', async () => {
    const log = appendCopy(recovered(), 1, ({ data }) => Object.assign(data.streams[1], { kept: 2 }), 'log');
    expect(await divergenceOf(log, 'log')).toMatchObject({ revision: 2, field: 'data.recovery' });
  });

  it('but not a lost participant who is randomized again', async () => {
    const again = step(
      randomize('005', { levels: CONFIGURATION.factors.map(({ levels }) => levels[0] ?? '') }),
      nurse(),
    );
    expect((await verify(recovered([RECOVER, again]))).ok).toBe(true);
  });
});

describe('a rotated signing key', () => {
  const NEXT = makeSigningKey(LOG_NAME);
  const rotated = (
    endorsement = endorse({ logName: LOG_NAME, logId: LOG_ID, publicKey: NEXT.publicKey }, KEY),
    publicKey = NEXT.publicKey,
  ): Log => {
    const log = logOf(HISTORY);
    const data = { publicKey, endorsement, reason: 'new server' };
    log.append('log', { type: 'SigningKeyRotated', data, sections: {} }, OPERATOR);
    return log;
  };

  it('is followed from the trusted key, and old checkpoints stay valid', async () => {
    const log = rotated();
    const checkpoints = [log.checkpoint(STUDY, 4), log.checkpoint(STUDY, 9, { key: NEXT })];
    const report = await verify(log, { checkpoints });
    expect([report.ok, report.selfConsistentOnly, report.untrustedKey]).toEqual([true, false, false]);
    expect(streamOf(report).evidence).toMatchObject({ matching: 2, matchingSize: 9 });
    expect(report.log?.laterKeys).toEqual([NEXT.publicKey]);
    expect(reportText(report)).toContain(`later key   ${NEXT.publicKey}`);
  });

  it('does not vouch for what its predecessor signed, if it is the only trusted one', async () => {
    const log = rotated();
    const report = await verify(log, {
      trusted: [trust(NEXT)],
      checkpoints: [log.checkpoint(STUDY, 4), log.checkpoint(STUDY, 9, { key: NEXT })],
    });
    expect(report.untrustedKey).toBe(false);
    expect(streamOf(report).evidence).toMatchObject({ matching: 1, failing: 0 });
    expect(report.unusedCheckpoints).toMatchObject([{ because: 'not-trusted', size: 4 }]);
  });

  it('that its predecessor did not endorse signs nothing', async () => {
    const stranger = makeSigningKey(LOG_NAME);
    const successor = { logName: LOG_NAME, logId: LOG_ID, publicKey: NEXT.publicKey };
    const wrong: [string, Log][] = [
      ['endorsement', rotated(endorse(successor, stranger))],
      ['endorsement', rotated(endorse({ ...successor, publicKey: stranger.publicKey }, KEY))],
      ['endorsement', rotated(endorse({ ...successor, logId: STUDY }, KEY))],
      ['endorsement', rotated('nonsense')],
      ['publicKey', rotated(undefined, 'nonsense')],
      ['publicKey', rotated(undefined, KEY.publicKey)],
      ['publicKey', rotated(undefined, makeSigningKey('other').publicKey)],
    ];
    for (const [field, log] of wrong) {
      const report = await verify(log, { checkpoints: [log.checkpoint(STUDY, 9, { key: NEXT })] });
      expect(streamOf(report, 'log').divergence).toMatchObject({ revision: 1, field: `data.${field}` });
      expect(report.unusedCheckpoints).toMatchObject([{ because: 'not-trusted' }]);
    }
  });

  it('must be the decision of a person', async () => {
    const log = change(rotated(), 1, (record) => Object.assign(record, { actor: nurse() }), 'log');
    expect(await divergenceOf(log, 'log')).toMatchObject({ revision: 1, field: 'actor' });
  });
});
