/** An insider could reuse the salts of sealed sections, or backdate records. */
import { describe, expect, it } from 'vitest';
import { CONTENTS, type Content } from '../../../events/content.ts';
import { parseLine, studyLine } from '../../../src/evidence/bundle/record-lines.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import type { SourceRecord } from '../../../src/evidence/verify/source.ts';
import { randomize } from '../../support/facts.ts';
import {
  altered,
  enrol,
  HISTORY,
  type Json,
  KEYS,
  type Log,
  logOf,
  nurse,
  REGISTERED,
  STUDY,
  step,
  streamOf,
  verify,
} from './support.ts';

const SALT = 'ab'.repeat(16);

/** Every record of the study from that revision on with one salt for all sections, or for those that are named. */
function saltedAlike(from: number, names?: readonly string[]): Log {
  const log = logOf(HISTORY);
  const records = log.of(STUDY);
  for (const [i, record] of records.entries())
    if (i >= from)
      records[i] = altered(record, (_, sealed) => {
        for (const [name, section] of Object.entries<Json>(sealed))
          if (!names || names.includes(name)) section.salt = SALT;
      });
  return log;
}

/** The log as a bundle with that content has it. */
const told = (log: Log, content: Content) => ({
  content,
  streams: () => log.streams(),
  async *read(stream: string) {
    for await (const page of log.read(stream))
      yield page.map((stored) =>
        stream === STUDY
          ? { ...stored, ...parseLine(studyLine(stored, content).subarray(0, -1), false) }
          : { ...stored, sealed: Buffer.from('{}') },
      );
  },
});

describe('a salt shared by several sections', () => {
  it('is a failure in a log, reported at the first section that reuses the salt', async () => {
    // Revision 5 is an allocation without an idempotency key.
    const report = await verify(saltedAlike(5, ['allocation']));
    expect(report.ok).toBe(false);
    expect(streamOf(report).divergence).toMatchObject({ revision: 6, field: 'allocation.salt' });
    expect(reportText(report)).toContain('another section has this salt');
  });

  it('is a failure within one record', async () => {
    expect(streamOf(await verify(saltedAlike(8))).divergence).toMatchObject({
      revision: 8,
      field: 'draw.salt',
    });
  });

  it('is a failure across the streams of a log', async () => {
    const log = logOf(HISTORY);
    const [key] = log.of('access');
    const { salt } = JSON.parse(Buffer.from((key as SourceRecord).sealed).toString()).credential;
    log.of(STUDY)[8] = altered(log.of(STUDY)[8] as SourceRecord, (_, sealed) => {
      sealed.draw.salt = salt;
    });
    expect(streamOf(await verify(log)).divergence).toMatchObject({ revision: 8, field: 'draw.salt' });
  });

  it.each(CONTENTS)(
    'is a failure in a bundle with content %s, even if only equal seals show it',
    async (content) => {
      const report = await verify(told(saltedAlike(0, ['allocation']), content));
      expect(report.ok).toBe(false);
      const { divergence } = streamOf(report);
      expect(divergence?.field).toBe(content === 'blinded' ? 'seals.allocation' : 'allocation.salt');
      // Both arms were drawn before one of them was drawn again, so equal seals show it only then.
      expect(divergence?.revision).toBeGreaterThan(1);
    },
  );

  it.each(CONTENTS)('does not occur if each section has its own, with content %s', async (content) => {
    expect((await verify(told(logOf(HISTORY), content))).ok).toBe(true);
  });
});

describe('a backdated record', () => {
  const codes = async (log: Log) => streamOf(await verify(log)).warnings.map(({ code }) => code);

  it('is older than the access record that it names, which is a warning', async () => {
    const log = logOf([REGISTERED, step(randomize('1'), nurse(2), '2026-02-28T09:00:00.000Z')]);
    const { warnings, sound } = streamOf(await verify(log));
    expect(sound).toBe(true);
    expect(warnings).toMatchObject([
      { code: 'older-than-access', revision: 1, text: expect.stringContaining('dated back') },
      { code: 'clock-stepped-back' },
    ]);
  });

  it('is distinguished from one whose clock differs by a second', async () => {
    const log = logOf([], KEYS);
    const at = JSON.parse(Buffer.from((log.of('access')[2] as SourceRecord).record).toString()).at;
    const earlier = (ms: number) => new Date(Date.parse(at) - ms).toISOString();
    const enrolled = (ms: number) =>
      logOf([step(REGISTERED.command, REGISTERED.actor, at), step(randomize('1'), nurse(2), earlier(ms))]);
    expect(await codes(enrolled(1000))).toEqual([]);
    expect(await codes(enrolled(1001))).toContain('older-than-access');
  });

  it('has an id from another time, which is a warning', async () => {
    const dated = (ms: number) => {
      const log = logOf([REGISTERED, enrol(1)]);
      log.of(STUDY)[1] = altered(log.of(STUDY)[1] as SourceRecord, (record) => {
        record.at = new Date(Date.parse(record.at) + ms).toISOString();
      });
      return log;
    };
    expect(await codes(dated(5000))).toEqual([]);
    expect(await codes(dated(5001))).toEqual(['id-of-another-time']);
  });

  it('may have an id without any time, which is also a warning', async () => {
    const log = logOf([REGISTERED]);
    log.of(STUDY)[0] = altered(log.of(STUDY)[0] as SourceRecord, (record) => {
      record.id = '5a1e0f6c-30f7-4d21-9c3e-6a0f5d2b7c12';
    });
    expect(await codes(log)).toEqual(['id-of-another-time']);
  });
});
