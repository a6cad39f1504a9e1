/** Verifies what a bundle contains of a log: the same failures, as far as they can be seen, and no claim beyond that. */
import { describe, expect, it } from 'vitest';
import { CONTENTS, type Content } from '../../../events/content.ts';
import { parseLine } from '../../../src/evidence/bundle/record-lines.ts';
import type { GivenCheckpoint } from '../../../src/evidence/verify/evidence.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import type { RecordSource, SourceRecord } from '../../../src/evidence/verify/source.ts';
import { altered, type Change } from '../../support/altered-record.ts';
import { CONFIGURATION, randomize } from '../../support/facts.ts';
import {
  appendCopy,
  bundled,
  change,
  divergenceOf,
  enrol,
  HISTORY,
  KEYS,
  logOf,
  nurse,
  PAUSED,
  REGISTERED,
  STUDY,
  step,
  streamOf,
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
    expect(streamOf(report, 'access')).toMatchObject({
      records: 3,
      withheld: 2,
      notReplayed: 0,
      evidence: { matchingSize: 3 },
    });
  });

  it('a checkpoint of another stream proves nothing against it', async () => {
    const log = logOf(HISTORY);
    const other = logOf(HISTORY).checkpoint('operations', 0);
    const own = log.checkpoint(STUDY, 1);
    expect(await verify(bundled(log, 'full'), { checkpoints: [other, own] })).toMatchObject({
      ok: true,
      unusedCheckpoints: [{ because: 'not-asked-for' }],
    });
    // Those in the bundle were not given by anybody.
    expect(await verify(bundled(log, 'full'), { checkpoints: [cameAlong(other)] })).toMatchObject({
      ok: true,
    });
  });
});

describe('even without its draws a study diverges', () => {
  const data =
    (members: object): Change =>
    (record) =>
      Object.assign(record.data, members);
  const sealedAs =
    (members: object): Change =>
    (record) =>
      Object.assign(record.seals, members);
  const level: Change = ({ data: { levels } }) => Object.assign(levels[0], { level: 'Other' });
  const placebo: Change = (_, { allocation }) => Object.assign(allocation, { treatment: 'Placebo' });
  const twice = { field: 'type', why: 'a participant with that id is randomized already' };

  it.each<[string, number, Change, { field: string; why?: string }, Content?]>([
    ['an id occurs twice', 5, data({ participantId: '001' }), twice],
    ['an id is invalid', 5, data({ participantId: ' 9' }), { field: 'data.participantId' }],
    ['a level is not configured', 5, level, { field: 'data.levels[0].level' }],
    ['a factor is missing', 5, (record) => record.data.levels.pop(), { field: 'data.levels' }],
    ['a treatment is none of the study', 2, placebo, { field: 'allocation.treatment' }, 'open'],
    ['a seal cannot be there', 2, sealedAs({ extra: '0'.repeat(64) }), { field: 'seals.extra' }],
  ])('if %s', async (_, at, how, expected, content = 'blinded') => {
    const divergence = await divergenceOf(bundled(change(logOf(HISTORY), at, how), content));
    expect(divergence).toMatchObject({ revision: at, ...expected });
  });

  it('if it was paused, is registered twice, or not at all', async () => {
    const late = HISTORY.length + 1;
    const log = logOf([...HISTORY, PAUSED]);
    appendCopy(log, late - 2, data({ participantId: 'late' }));
    expect(await divergenceOf(bundled(log, 'open'))).toMatchObject({
      ...{ revision: late, why: 'the study is paused and takes no participants' },
    });
    const twice = appendCopy(logOf([REGISTERED]), 0, () => undefined);
    expect(await divergenceOf(bundled(twice, 'open'))).toMatchObject({
      ...{ revision: 1, why: 'the study is registered already' },
    });
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

  it('if the key of an allocation was not allowed to make it', async () => {
    const unknown = { keyId: 'k0033', user: 'nurse', accessRevision: 0 };
    const log = logOf([REGISTERED, enrol(1), enrol(2, nurse(1)), enrol(3, unknown)]);
    expect(await divergenceOf(bundled(log, 'blinded', [1, 2]))).toMatchObject({
      ...{ revision: 3, field: 'actor.keyId', why: 'no record that is included issued such a key' },
    });
    const revoked = logOf(
      [REGISTERED, step(randomize('1'), nurse(1))],
      [...KEYS.slice(0, 1), { type: 'revoke', keyId: 'k0011' }],
    );
    const found = await divergenceOf(bundled(revoked, 'blinded'));
    expect(found).toMatchObject({ revision: 1, why: 'the key was revoked by then' });
  });

  it('but not if a draw was changed, which only the full content shows', async () => {
    const log = change(logOf(HISTORY), 5, (_, sealed) => Object.assign(sealed.draw, { uniform53: 1 }));
    expect((await verify(bundled(log, 'full'))).ok).toBe(false);
    for (const content of ['open', 'blinded'] as const)
      expect((await verify(bundled(log, content))).ok).toBe(true);
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
