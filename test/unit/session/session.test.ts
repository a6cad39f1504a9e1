import { describe, expect, it } from 'vitest';
import { isCurrent, newSession, renewed, type Session } from '../../../src/service/session/session.ts';

const MINUTE = 60_000;
const NOW = Date.parse('2026-11-23T12:00:00.000Z');
const session = (beganAt: number, usedAt = beganAt): Session => ({
  sessionId: 'yzObQH5PXuXXhAOEv8oClw',
  keyId: 'k0011',
  beganAt,
  usedAt,
});

describe('a session', () => {
  it('has an id of 128 random bits', () => {
    const ids = Array.from({ length: 100 }, () => newSession('k0011', NOW).sessionId);
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(Buffer.from(id, 'base64url')).toHaveLength(16);
    expect(newSession('k0011', NOW)).toMatchObject({ keyId: 'k0011', beganAt: NOW, usedAt: NOW });
  });

  it.each([
    ['that has just begun', session(NOW), true],
    ['whose last act is almost 30 minutes old', session(NOW - 30 * MINUTE + 1), true],
    ['whose last act is 30 minutes old', session(NOW - 30 * MINUTE), false],
    ['that has been in use for almost 12 hours', session(NOW - 720 * MINUTE + 1, NOW), true],
    ['that has been in use for 12 hours', session(NOW - 720 * MINUTE, NOW), false],
    ['begun by a clock that is 60 s ahead', session(NOW + MINUTE), true],
    ['begun more than 60 s from now', session(NOW + MINUTE + 1, NOW), false],
    ['used more than 60 s from now', session(NOW, NOW + MINUTE + 1), false],
  ])('%s', (_, one, isValid) => {
    expect(isCurrent(one, NOW)).toBe(isValid);
  });

  it('is renewed by an act a second later, and not before', () => {
    expect(renewed(session(NOW), NOW + 999)).toBeUndefined();
    expect(renewed(session(NOW), NOW + 1000)).toEqual(session(NOW, NOW + 1000));
    // Another instance may have a clock that is behind.
    expect(renewed(session(NOW), NOW - 5000)).toBeUndefined();
  });
});
