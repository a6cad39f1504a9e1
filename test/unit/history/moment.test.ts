import { describe, expect, it } from 'vitest';
import { isBeyond, parseDay, parseInstant, parseRevision } from '../../../src/evidence/history/moment.ts';

it('a revision is a whole number of at most 15 digits', () => {
  for (const text of ['0', '17', '9'.repeat(15)]) expect(parseRevision(text), text).toBe(Number(text));
  for (const text of ['', '-1', '01', '1.0', '1e3', ' 1', '+1', '0x1', '9'.repeat(16), '１'])
    expect(parseRevision(text), text).toBeUndefined();
});

describe('an instant', () => {
  it.each([
    ['2026-03-01T09:00Z', '2026-03-01T09:00:00.000Z'],
    ['2026-03-01T09:00:01.5Z', '2026-03-01T09:00:01.500Z'],
    ['2026-03-01T09:00:01.123999Z', '2026-03-01T09:00:01.123Z'],
    ['2028-02-29T23:59:59.999Z', '2028-02-29T23:59:59.999Z'],
  ])('is read from %s, to the millisecond', (text, at) => {
    expect(parseInstant(text)).toBe(at);
  });

  it.each([
    ...['', 'now', '2026-03-01', 'T09:00Z', '2026-03-01T09:00', '2026-03-01T09:00:00+01:00'],
    ...['2026-03-01 09:00:00Z', '2026-03-01t09:00:00z', '2026-03-01T09:00.5Z'],
    ...['2026-02-29T09:00Z', '2026-13-01T09:00Z'],
    ...['2026-03-01T24:00Z', '2026-03-01T09:60Z', '2026-03-01T09:00:60Z'],
  ])('is not read from %j', (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  it('is a whole day, in UTC, where a day is accepted', () => {
    expect(parseDay('2026-11-22', 'first')).toBe('2026-11-22T00:00:00.000Z');
    expect(parseDay('2026-11-22', 'last')).toBe('2026-11-22T23:59:59.999Z');
    for (const edge of ['first', 'last'] as const)
      expect(parseDay('2026-11-22T09:00Z', edge)).toBe('2026-11-22T09:00:00.000Z');
    for (const text of ['', '2026-02-29', '2026-11', '2026-11-22T', '22.11.2026', '2026-11-22 '])
      expect(parseDay(text, 'last'), text).toBeUndefined();
  });
});

it('an event is beyond a revision if it comes after it, and beyond an instant if its timestamp is later', () => {
  const at = '2026-03-01T09:00:00.000Z';
  const beyond = isBeyond({ type: 'revision', revision: 3 });
  expect([2, 3, 4].map((revision) => beyond({ revision, at }))).toEqual([false, false, true]);
  const later = isBeyond({ type: 'instant', at });
  const times = ['2026-03-01T08:59:59.999Z', at, '2026-03-01T09:00:00.001Z'];
  expect(times.map((time) => later({ revision: 0, at: time }))).toEqual([false, false, true]);
});
