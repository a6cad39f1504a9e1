import { describe, expect, it } from 'vitest';
import { IdPattern } from '../../../src/core/model/id-pattern.ts';

describe('a pattern that RE2 can run', () => {
  // ECMAScript's own engine backtracks through these, twice as long or more for each further character.
  it.each(['(a+)+b', '(a|a|a)*b', '(?:a*)*b', '([ab]*a)*[ab]{60}c', '^(a?){100}a{100}$'])(
    '%s is finished quickly with the longest possible id',
    (text) => {
      const pattern = new IdPattern(text);
      expect([pattern.isLinear, pattern.matches('a'.repeat(128))]).toEqual([true, text.endsWith('$')]);
    },
  );

  it('matches whole ids only', () => {
    const pattern = new IdPattern('[0-9]{3}|X');
    expect(['123', 'X', '1234', 'aX', 'X\n', ''].map(pattern.matches)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('a pattern that only ECMAScript can run', () => {
  it('keeps its meaning', () => {
    const pattern = new IdPattern('(?!p-0).+');
    expect(pattern.isLinear).toBe(false);
    expect(['p-1', 'p-0', 'a\u2028b'].map(pattern.matches)).toEqual([true, false, false]);
  });

  it.each([20, 128])('gives up on an id of %i characters that would take too long', (length) => {
    expect(new IdPattern('(?=a)(a|a|a|a|a)*b').matches('a'.repeat(length))).toBeUndefined();
  });

  it.each(['[', '(?<x>', 'a'.repeat(1001), '('.repeat(100_000)])(
    'gives no answer if it cannot be used',
    (text) => {
      expect(new IdPattern(text).matches('a')).toBeUndefined();
    },
  );
});
