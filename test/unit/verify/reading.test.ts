/** Verifies what a bundle contains of a log: the same failures, as far as they can be seen, and no claim beyond that. */
import { describe, expect, it } from 'vitest';
import { CONTENTS, type Content } from '../../../events/content.ts';
import { logDecider } from '../../../src/core/log/decide.ts';
import { otherLine, parseLine, studyLine, withheldLine } from '../../../src/evidence/bundle/record-lines.ts';
import type { GivenCheckpoint } from '../../../src/evidence/verify/evidence.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import type { RecordSource, SourceRecord } from '../../../src/evidence/verify/source.ts';
import { CONFIGURATION, OPERATOR, randomize } from '../../support/facts.ts';
import {
  altered,
  enrol,
  HISTORY,
  type Json,
  KEY,
  KEYS,
  type Log,
  logOf,
  nurse,
  PAUSED,
  REGISTERED,
  STUDY,
  step,
  streamOf,
  verify,
} from './support.ts';

/** The log as a bundle with that content has it, without the records of `access` at these revisions. */
function told(log: Log, content: Content, withheld: readonly number[] = []): RecordSource {
  const lineOf = (stored: SourceRecord): Buffer => {
    if (stored.stream === STUDY) return studyLine(stored, content);
    const isWithheld = stored.stream === 'access' && withheld.includes(stored.revision);
    return isWithheld ? withheldLine(stored) : otherLine(stored);
  };
  return {
    content,
    streams: () => log.streams(),
    async *read(stream) {
      for await (const page of log.read(stream))
        yield page.map((stored) => {
          const { revision } = stored;
          return { stream, revision, ...parseLine(lineOf(stored).subarray(0, -1), stream === 'access') };
        });
    },
  };
}

/** No two events have the same id, so a copy of one needs another. */
const OTHER_ID = '0193a8e0-0000-7000-8000-0000000000ff';
const change = (log: Log, at: number, how: (record: Json, sealed: Json) => void, stream = STUDY) => {
  const records = log.of(stream);
  records[at] = altered(records[at] as SourceRecord, how);
  return log;
};
const divergenceOf = async (source: RecordSource, stream = STUDY) =>
  streamOf(await verify(source), stream).divergence;
const cameAlong = (one: GivenCheckpoint): GivenCheckpoint => ({ ...one, from: 'bundle' });

describe('of a sound log', () => {
  it.each(CONTENTS)('a source with content %s is sound, with the roots of the log', async (content) => {
    const log = logOf(HISTORY);
    const [whole, part] = [await verify(log), await verify(told(log, content))];
    expect(part).toMatchObject({ ok: true, log: whole.log });
    const rootsOf = ({ streams }: typeof whole) => streams.map(({ stream, root }) => [stream, root]);
    expect(rootsOf(part)).toEqual(rootsOf(whole));
    expect(streamOf(part)).toMatchObject({ study: CONFIGURATION.name, participants: 6, notReplayed: 0 });
  });

  it('withheld keys are counted, are in the tree, and are not a failure', async () => {
    const log = logOf(HISTORY);
    const report = await verify(told(log, 'full', [1, 2]), { checkpoints: [log.checkpoint('access', 3)] });
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
    expect(await verify(told(log, 'full'), { checkpoints: [other, own] })).toMatchObject({
      ok: true,
      unusedCheckpoints: [{ because: 'not-asked-for' }],
    });
    // Those in the bundle were not given by anybody.
    expect(await verify(told(log, 'full'), { checkpoints: [cameAlong(other)] })).toMatchObject({ ok: true });
  });
});

describe('even without its draws a study diverges', () => {
  const diverges = async (
    how: Parameters<typeof change>[2],
    at: number,
    expected: { field: string; why?: unknown },
    content: Content = 'blinded',
  ) => {
    const divergence = await divergenceOf(told(change(logOf(HISTORY), at, how), content));
    expect(divergence).toMatchObject({ revision: at, ...expected });
  };

  it('if an id occurs twice or is invalid', async () => {
    const twice = (record: Json) => Object.assign(record.data, { participantId: '001' });
    await diverges(twice, 5, { field: 'type', why: 'a participant with that id is randomized already' });
    await diverges((record) => Object.assign(record.data, { participantId: ' 9' }), 5, {
      field: 'data.participantId',
    });
  });

  it('if a level is not configured or a factor is missing', async () => {
    await diverges((record) => Object.assign(record.data.levels[0], { level: 'Other' }), 5, {
      field: 'data.levels[0].level',
    });
    await diverges((record) => record.data.levels.pop(), 5, { field: 'data.levels' });
  });

  it('if it was paused, is registered twice, or not at all', async () => {
    const at = HISTORY.length;
    const log = logOf([...HISTORY, PAUSED]);
    const last = log.of(STUDY)[at - 1] as SourceRecord;
    log.of(STUDY).push(
      altered({ ...last, revision: at + 1 }, (record) => {
        record.revision = at + 1;
        record.id = OTHER_ID;
        record.data.participantId = 'late';
      }),
    );
    expect(await divergenceOf(told(log, 'open'))).toMatchObject({
      revision: at + 1,
      why: 'the study is paused and takes no participants',
    });
    log.of(STUDY)[1] = altered({ ...(log.of(STUDY)[0] as SourceRecord), revision: 1 }, (record) => {
      record.revision = 1;
      record.id = OTHER_ID;
    });
    expect(await divergenceOf(told(log, 'open'))).toMatchObject({
      revision: 1,
      why: 'the study is registered already',
    });
    log.of(STUDY).splice(
      0,
      2,
      altered({ ...(log.of(STUDY)[2] as SourceRecord), revision: 0 }, (record) => {
        record.revision = 0;
        record.id = OTHER_ID;
      }),
    );
    expect(await divergenceOf(told(log, 'open'))).toMatchObject({
      revision: 0,
      why: 'no study is registered in this stream before it',
    });
  });

  it('if the study has another name, or a record belongs to another log', async () => {
    await diverges((record) => Object.assign(record.data.configuration, { name: 'X' }), 0, {
      field: 'data.studyId',
    });
    await diverges((record) => Object.assign(record, { log: record.id }), 3, { field: 'log' });
  });

  it('if a disclosed treatment is not one of the study, or not the sealed one', async () => {
    const none = (_: Json, sealed: Json) => Object.assign(sealed.allocation, { treatment: 'Placebo' });
    await diverges(none, 2, { field: 'allocation.treatment' }, 'open');
    const log = logOf(HISTORY);
    log.of(STUDY)[2] = altered(log.of(STUDY)[2] as SourceRecord, none, { reseal: false });
    expect(await divergenceOf(told(log, 'open'))).toMatchObject({ revision: 2, field: 'seals.allocation' });
    // Nothing shows it where nothing is disclosed.
    expect((await verify(told(log, 'blinded'))).ok).toBe(true);
  });

  it('if a seal is missing, or an event has a seal that it cannot have', async () => {
    await diverges((record) => Reflect.deleteProperty(record.seals, 'draw'), 2, { field: 'seals.draw' });
    await diverges((record) => Object.assign(record.seals, { extra: '0'.repeat(64) }), 2, {
      field: 'seals.extra',
    });
  });

  it('if a section is included that the content does not disclose', async () => {
    const log = logOf(HISTORY);
    const source: RecordSource = { ...told(log, 'blinded'), read: told(log, 'full').read };
    expect(await divergenceOf(source)).toMatchObject({ revision: 0, field: 'seals' });
  });

  it('if the key of an allocation was not allowed to make it', async () => {
    const log = logOf([
      REGISTERED,
      enrol(1),
      enrol(2, nurse(1)),
      enrol(3, { keyId: 'k0033', user: 'nurse', accessRevision: 0 }),
    ]);
    expect(await divergenceOf(told(log, 'blinded', [1, 2]))).toMatchObject({
      revision: 3,
      field: 'actor.keyId',
      why: 'no record that is included issued such a key',
    });
    const revoked = logOf(
      [REGISTERED, step(randomize('1'), nurse(1))],
      [...KEYS.slice(0, 1), { type: 'revoke', keyId: 'k0011' }],
    );
    expect(await divergenceOf(told(revoked, 'blinded'))).toMatchObject({
      revision: 1,
      why: 'the key was revoked by then',
    });
  });

  it('but not if a draw was changed, which only the full content shows', async () => {
    const log = change(logOf(HISTORY), 5, (_, sealed) => Object.assign(sealed.draw, { uniform53: 1 }));
    expect((await verify(told(log, 'full'))).ok).toBe(false);
    for (const content of ['open', 'blinded'] as const)
      expect((await verify(told(log, content))).ok).toBe(true);
  });
});

describe('of access and log, whose sections are always withheld,', () => {
  it('a key that is issued twice diverges, although no credential is disclosed', async () => {
    const log = logOf(HISTORY);
    log.of('access').push(
      altered({ ...(log.of('access')[0] as SourceRecord), revision: 3 }, (record) => {
        record.revision = 3;
        record.id = OTHER_ID;
      }),
    );
    expect(await divergenceOf(told(log, 'full'), 'access')).toMatchObject({
      revision: 3,
      field: 'data.keyId',
    });
  });

  it('a record outside access cannot be withheld', async () => {
    const { record, sealed } = parseLine(Buffer.from(`${'0'.repeat(64)}\t\t`), false);
    expect([record.length, sealed.length]).toEqual([0, 0]);
    const log = logOf(HISTORY);
    const [first] = log.of('log');
    log.of('log')[0] = { ...(first as SourceRecord), record: Buffer.alloc(0) };
    expect(await verify(told(log, 'full'))).toMatchObject({ ok: false, log: undefined });
  });

  const recovered = (kept: number) => {
    const SEED = 2n ** 127n + 3n;
    const recover = step({ type: 'recover', recovery: 1, kept, seed: SEED }, OPERATOR);
    const log = logOf([...HISTORY.slice(0, 5), recover, enrol(7)]);
    const streams = [
      { stream: 'log', kept: 1 },
      { stream: STUDY, kept: 5 },
    ];
    const { fact } = logDecider.decide(
      { publicKeys: [KEY.publicKey], recoveries: [] },
      { type: 'recover', reason: 'disk failure', recovery: 1, streams },
    );
    if (!fact) throw new Error('not decided');
    log.append('log', fact, OPERATOR);
    return log;
  };

  it.each(CONTENTS)('a recovery is taken from the study, in %s', async (content) => {
    const log = recovered(5);
    const lost = logOf(HISTORY).checkpoint(STUDY, 8);
    const checkpoints = [log.checkpoint(STUDY, 7, { recovery: 1 }), logOf(HISTORY).checkpoint(STUDY, 4)];
    const sound = await verify(told(log, content), { checkpoints });
    expect(sound).toMatchObject({ ok: true, log: { recoveries: [{ recovery: 1 }] } });
    expect(streamOf(sound)).toMatchObject({
      evidence: { matching: 2 },
      warnings: [{ code: 'recovered', revision: 5 }],
    });
    const report = await verify(told(log, content), { checkpoints: [lost] });
    expect(streamOf(report).evidence).toMatchObject({
      failing: 0,
      lost: [{ size: 8, kept: 5, because: 'undeclared-loss' }],
    });
  });

  it.each(CONTENTS)('and one that claims another position diverges, in %s', async (content) => {
    expect(await divergenceOf(told(recovered(4), content))).toMatchObject({ revision: 4, field: 'type' });
    const log = recovered(5);
    log.of('log').pop();
    expect(await divergenceOf(told(log, content))).toMatchObject({
      revision: 5,
      why: expect.stringContaining('no recovery of the log'),
    });
  });
});

describe('checkpoints included in the bundle', () => {
  it('are distinguished from those that were kept', async () => {
    const log = logOf(HISTORY);
    const [size4, size9] = [log.checkpoint(STUDY, 4), log.checkpoint(STUDY, 9)];
    const alone = await verify(told(log, 'full'), { checkpoints: [cameAlong(size4), cameAlong(size9)] });
    expect(alone).toMatchObject({ ok: true, selfConsistentOnly: true });
    expect(streamOf(alone).evidence).toMatchObject({
      ...{ matching: 0, matchingSize: 0, uncovered: { from: 0, to: 8 } },
      cameAlong: { matching: 2, matchingSize: 9 },
    });
    expect(reportText(alone)).toContain('SIGNED, AND NO MORE');
    const kept = await verify(told(log, 'full'), {
      checkpoints: [size4, cameAlong(size4), cameAlong(size9)],
    });
    expect(streamOf(kept).evidence).toMatchObject({
      ...{ matching: 1, matchingSize: 4, uncovered: { from: 4, to: 8 } },
      cameAlong: { matching: 1, matchingSize: 9 },
    });
    expect(reportText(kept)).toContain('OK as far as the');
  });

  it('prove nothing without a trusted key', async () => {
    const log = logOf(HISTORY);
    const report = await verify(told(log, 'full'), {
      trusted: [],
      checkpoints: [cameAlong(log.checkpoint(STUDY, 9))],
    });
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: true });
    expect(reportText(report)).not.toMatch(/proven unchanged|^OK/m);
  });

  it('narrow down a change, and do not hide what a kept one shows', async () => {
    const before = logOf(HISTORY);
    const log = logOf([
      ...HISTORY.slice(0, 3),
      ...HISTORY.slice(3, 6).reverse().slice(0, 1),
      enrol(4),
      enrol(5),
    ]);
    const along = [log.checkpoint(STUDY, 3), log.checkpoint(STUDY, 6)].map(cameAlong);
    const report = await verify(told(log, 'full'), { checkpoints: [before.checkpoint(STUDY, 4), ...along] });
    expect(report.ok).toBe(false);
    expect(streamOf(report).evidence.rewritten).toEqual({ afterSize: 0, upToSize: 4 });
    expect(streamOf(report).warnings).toMatchObject([{ code: 'two-histories-signed' }]);
    const damaged = await verify(told(log, 'full'), {
      checkpoints: [...along.slice(0, 1), cameAlong(before.checkpoint(STUDY, 4))],
    });
    expect(streamOf(damaged).evidence.rewritten).toEqual({ afterSize: 3, upToSize: 4 });
    expect(reportText(damaged)).toContain('up to size 3 is as a trusted key signed it');
  });
});
