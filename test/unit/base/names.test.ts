import { describe, expect, it } from 'vitest';
import { namesIn } from '../../../src/base/names.ts';

describe('names in a list', () => {
  it.each([
    ['sex', ['sex']],
    ['sex, site', ['sex', 'site']],
    ['"C, high",A', ['C, high', 'A']],
    ['"a ""b""", c d ', ['a "b"', 'c d']],
    ['" spaced "', [' spaced ']],
  ])('%j are read', (text, names) => {
    expect(namesIn(text)).toEqual(names);
  });

  it.each(['', ',', 'a,', 'a,,b', '"a', 'a"b', '"a"b', '""'])('%j is not a list', (text) => {
    expect(namesIn(text)).toBeUndefined();
  });
});
