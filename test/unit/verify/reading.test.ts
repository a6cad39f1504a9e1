/** Bundles, logs that were recovered, and keys that were replaced: the same failures as far as they can be seen, and no claim beyond. */
import { describe, expect, it } from 'vitest';
import { CONTENTS, type Content } from '../../../events/record.ts';
import { logDecider } from '../../../src/core/log/log-stream.ts';
import { endorse, makeSigningKey } from '../../../src/core/log/signing.ts';
import { parseLine } from '../../../src/evidence/bundle/bundle-files.ts';
import type { GivenCheckpoint } from '../../../src/evidence/verify/kept-checkpoints.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import type { RecordSource, SourceRecord } from '../../../src/evidence/verify/source.ts';
import { altered, type Change, type Json } from '../../support/altered-record.ts';
import { CONFIGURATION, OPERATOR, randomize } from '../../support/facts.ts';
import { LOG_ID } from '../../support/fixed-tools.ts';
import {
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
  REGISTERED,
  STUDY,
  type Step,
  step,
  streamOf,
  trust,
  verify,
} from './support.ts';

const cameAlong = (one: GivenCheckpoint): GivenCheckpoint => ({ ...one, from: 'bundle' });

describe('of a sound log', () => {
  it.each(CONTENTS)('a source with content %s is sound, with the roots of the log', async (content) => {
    const log = logOf(HISTORY);
    const [whole, part] = [await verify(log), await verify(bundled(log, content))];
    expect(part).toMatchObject({ ok: true, log: whole.log });
    const rootsOf = ({ streams }: typeof whole) => streams.map(({ stream, root }) => [stream, root]);
    expect(rootsOf(part)).toEqual(rootsOf(whole));
    expect(streamOf(part)).toMatchObject({ study: CONFIGURATION.name, participants: 6, notReplayed: 0 });
  });

  it('withheld keys are counted, are in the tree, and are not a failure', async () => {
    const log = logOf(HISTORY);
    const report = await verify(bundled(log, 'full', [1, 2]), { checkpoints: [log.checkpoint('access', 3)] });
    expect(report.ok).toBe(true);
    const counted = { records: 3, withheld: 2, notReplayed: 0, evidence: { matchingSize: 3 } };
    expect(streamOf(report, 'access')).toMatchObject(counted);
  });

  it('a checkpoint of another stream proves nothing against it', async () => {
    const log = logOf(HISTORY);
    const other = logOf(HISTORY).checkpoint('operations', 0);
    const own = log.checkpoint(STUDY, 1);
    const report = await verify(bundled(log, 'full'), { checkpoints: [other, own] });
    expect(report).toMatchObject({ ok: true, unusedCheckpoints: [{ because: 'not-asked-for' }] });
    // Those in the bundle were not given by anybody.
    expect((await verify(bundled(log, 'full'), { checkpoints: [cameAlong(other)] })).ok).toBe(true);
  });
});

// What else is found without the draws: test/integration/bundles.
describe('even without its draws a study diverges', () => {
  const placebo: Change = (_, { allocation }) => Object.assign(allocation, { treatment: 'Placebo' });

  it.each<[string, Change, field: string, Content?]>([
    ['an id occurs twice', ({ data }) => Object.assign(data, { participantId: '001' }), 'type'],
    ['a level is not configured', ({ data }) => (data.levels[0].level = 'Other'), 'data.levels[0].level'],
    ['a factor is missing', ({ data }) => data.levels.pop(), 'data.levels'],
    ['a treatment is none of the study', placebo, 'allocation.treatment', 'open'],
  ])('if %s', async (_, how, field, content = 'blinded') => {
    const divergence = await divergenceOf(bundled(change(logOf(HISTORY), 5, how), content));
    expect(divergence).toMatchObject({ revision: 5, field });
  });

  it('if it does not begin with a registration', async () => {
    const none = logOf(HISTORY);
    const first = none.of(STUDY)[2] as SourceRecord;
    const moved = altered({ ...first, revision: 0 }, (record) => Object.assign(record, { revision: 0 }));
    none.byStream.set(STUDY, [moved]);
    expect(await divergenceOf(bundled(none, 'open'))).toMatchObject({
      ...{ revision: 0, why: 'no study is registered in this stream before it' },
    });
  });

  it('if a disclosed treatment is not the sealed one', async () => {
    const log = logOf(HISTORY);
    log.of(STUDY)[2] = altered(log.of(STUDY)[2] as SourceRecord, placebo, { reseal: false });
    const found = await divergenceOf(bundled(log, 'open'));
    expect(found).toMatchObject({ revision: 2, field: 'seals.allocation' });
    // Nothing shows it where nothing is disclosed.
    expect((await verify(bundled(log, 'blinded'))).ok).toBe(true);
  });

  it('if a section is included that the content does not disclose', async () => {
    const log = logOf(HISTORY);
    const source: RecordSource = { ...bundled(log, 'blinded'), read: bundled(log, 'full').read };
    expect(await divergenceOf(source)).toMatchObject({ revision: 0, field: 'seals' });
  });

  it('if nothing that is included issued the key of an allocation', async () => {
    const unknown = { keyId: 'k0033', user: 'nurse', accessRevision: 0 };
    const log = logOf([REGISTERED, enrol(1), enrol(2, nurse(1)), enrol(3, unknown)]);
    expect(await divergenceOf(bundled(log, 'blinded', [1, 2]))).toMatchObject({
      ...{ revision: 3, field: 'actor.keyId', why: 'no record that is included issued such a key' },
    });
  });
});

it('a record outside access cannot be withheld', async () => {
  const { record, sealed } = parseLine(Buffer.from(`${'0'.repeat(64)}\t\t`), false);
  expect([record.length, sealed.length]).toEqual([0, 0]);
  const log = logOf(HISTORY);
  const [first] = log.of('log');
  log.of('log')[0] = { ...(first as SourceRecord), record: Buffer.alloc(0) };
  expect(await verify(bundled(log, 'full'))).toMatchObject({ ok: false, log: undefined });
});

describe('checkpoints included in the bundle', () => {
  it('are distinguished from those that were kept', async () => {
    const log = logOf(HISTORY);
    const [size4, size9] = [log.checkpoint(STUDY, 4), log.checkpoint(STUDY, 9)];
    const alone = await verify(bundled(log, 'full'), { checkpoints: [cameAlong(size4), cameAlong(size9)] });
    expect(alone).toMatchObject({ ok: true, selfConsistentOnly: true });
    expect(streamOf(alone).evidence).toMatchObject({
      ...{ matching: 0, matchingSize: 0, uncovered: { from: 0, to: 8 } },
      cameAlong: { matching: 2, matchingSize: 9 },
    });
    expect(reportText(alone)).toContain('SIGNED, AND NO MORE');
    const checkpoints = [size4, cameAlong(size4), cameAlong(size9)];
    const kept = await verify(bundled(log, 'full'), { checkpoints });
    expect(streamOf(kept).evidence).toMatchObject({
      ...{ matching: 1, matchingSize: 4, uncovered: { from: 4, to: 8 } },
      cameAlong: { matching: 1, matchingSize: 9 },
    });
    expect(reportText(kept)).toContain('OK as far as the');
  });

  it('narrow down a change, and do not hide what a kept one shows', async () => {
    const before = logOf(HISTORY);
    const log = logOf([...HISTORY.slice(0, 3), enrol(3), enrol(4), enrol(5)]);
    const along = [log.checkpoint(STUDY, 3), log.checkpoint(STUDY, 6)].map(cameAlong);
    const report = await verify(bundled(log, 'full'), {
      checkpoints: [before.checkpoint(STUDY, 4), ...along],
    });
    expect(report.ok).toBe(false);
    expect(streamOf(report).evidence.rewritten).toEqual({ afterSize: 0, upToSize: 4 });
    expect(streamOf(report).warnings).toMatchObject([{ code: 'two-histories-signed' }]);
    const damaged = await verify(bundled(log, 'full'), {
      checkpoints: [...along.slice(0, 1), cameAlong(before.checkpoint(STUDY, 4))],
    });
    expect(streamOf(damaged).evidence.rewritten).toEqual({ afterSize: 3, upToSize: 4 });
    expect(reportText(damaged)).toContain('up to size 3 is as a trusted key signed it');
  });
});

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
    { records: 1, publicKeys: [KEY.publicKey], recoveries: [], moves: [] },
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
    const warnings = [{ code: 'recovered', revision: KEPT }];
    expect(streamOf(report)).toMatchObject({ participants: 4, warnings });
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
    const report = await verify(undeclared, { checkpoints: [lost] });
    const one = { size: 9, kept: KEPT, because: 'undeclared-loss' };
    expect(streamOf(report).evidence).toMatchObject({ failing: 0, lost: [one] });
    expect(reportText(report)).toContain('LOST AND NOT DECLARED: 1 checkpoint up to size 9');
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
    const log = recovered();
    const again = altered({ ...(log.of('log')[1] as SourceRecord), revision: 2 }, (record) => {
      Object.assign(record, { revision: 2, id: '0193a8e0-0000-7000-8000-0000000000ff' });
      Object.assign(record.data.streams[1], { kept: 2 });
    });
    log.of('log').push(again);
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
    const another = trust(makeSigningKey('another'));
    const among = await verify(log, { trusted: [trust(KEY), another], checkpoints });
    expect(streamOf(among).evidence).toMatchObject({ matching: 2, matchingSize: 9 });
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
