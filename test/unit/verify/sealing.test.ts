/** An insider could reuse the salts of sealed sections, or backdate records. */
import { describe, expect, it } from 'vitest';
import { CONTENTS } from '../../../events/content.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import type { SourceRecord } from '../../../src/evidence/verify/source.ts';
import { randomize } from '../../support/facts.ts';
import {
  bundled,
  change,
  divergenceOf,
  enrol,
  HISTORY,
  type Json,
  KEYS,
  type Log,
  logOf,
  nurse,
  REGISTERED,
  step,
  streamOf,
  verify,
} from './support.ts';

const SALT = 'ab'.repeat(16);

/** Every record of the study from that revision on with one salt for all sections, or for those that are named. */
function saltedAlike(from: number, names?: readonly string[]): Log {
  const log = logOf(HISTORY);
  for (let revision = from; revision < HISTORY.length; revision++)
    change(log, revision, (_, sealed) => {
      for (const [name, section] of Object.entries<Json>(sealed))
        if (!names || names.includes(name)) section.salt = SALT;
    });
  return log;
}

describe('a salt shared by several sections', () => {
  it('is a failure in a log, reported at the first section that reuses the salt', async () => {
    // Revision 5 is an allocation without an idempotency key.
    const report = await verify(saltedAlike(5, ['allocation']));
    expect(report.ok).toBe(false);
    expect(streamOf(report).divergence).toMatchObject({ revision: 6, field: 'allocation.salt' });
    expect(reportText(report)).toContain('another section has this salt');
  });

  it('is a failure within one record', async () => {
    expect(await divergenceOf(saltedAlike(8))).toMatchObject({ revision: 8, field: 'draw.salt' });
  });

  it('is a failure across the streams of a log', async () => {
    const log = logOf(HISTORY);
    const [key] = log.of('access');
    const { salt } = JSON.parse(Buffer.from((key as SourceRecord).sealed).toString()).credential;
    change(log, 8, (_, sealed) => Object.assign(sealed.draw, { salt }));
    expect(await divergenceOf(log)).toMatchObject({ revision: 8, field: 'draw.salt' });
  });

  it.each(CONTENTS)(
    'is a failure in a bundle with content %s, even if only equal seals show it',
    async (content) => {
      const report = await verify(bundled(saltedAlike(0, ['allocation']), content));
      expect(report.ok).toBe(false);
      const { divergence } = streamOf(report);
      expect(divergence?.field).toBe(content === 'blinded' ? 'seals.allocation' : 'allocation.salt');
      // Both arms were drawn before one of them was drawn again, so equal seals show it only then.
      expect(divergence?.revision).toBeGreaterThan(1);
    },
  );
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
    const dated = (ms: number) =>
      change(logOf([REGISTERED, enrol(1)]), 1, (record) => {
        record.at = new Date(Date.parse(record.at) + ms).toISOString();
      });
    expect(await codes(dated(5000))).toEqual([]);
    expect(await codes(dated(5001))).toEqual(['id-of-another-time']);
  });

  it('may have an id without any time, which is also a warning', async () => {
    const id = '5a1e0f6c-30f7-4d21-9c3e-6a0f5d2b7c12';
    const log = change(logOf([REGISTERED]), 0, (record) => Object.assign(record, { id }));
    expect(await codes(log)).toEqual(['id-of-another-time']);
  });
});
