import { describe, expect, it } from 'vitest';
import { quoted } from '../../../src/cli/simulate-command-line.ts';
import { parted } from '../../../src/statistics/assessment/names.ts';
import { figureText } from '../../../src/statistics/assessment/shown.ts';

describe('the name of a figure', () => {
  it.each([
    ['overall.range@300.mean', 'overall.range.mean', 300],
    ['difference.sd@20', 'difference.sd', 20],
    ['loss@300', 'loss', 300],
    ['level.site.x@5.range@300.p95', 'level.site.x@5.range.p95', 300],
    ['course.range.mean', 'course.range.mean', undefined],
    ['guess.naive', 'guess.naive', undefined],
    ['drawn.site@5', 'drawn.site@5', undefined],
  ])('%s is split at the number of participants', (full, name, n) => {
    expect(parted(full)).toEqual({ name, n });
  });
});

describe('a figure', () => {
  it.each([
    ['overall.range.mean', { value: 9.2384, low: 9.1, high: 9.3 }, '9.24 [9.10, 9.30]'],
    ['overall.range.p95', { value: 18, low: 18, high: 18 }, '18'],
    ['overall.range.p95', { value: 1.5, low: 0.75, high: 2.25 }, '1.5 [0.75, 2.25]'],
    ['guess.known', { value: 0.5512, low: 0.55, high: 0.5524 }, '55.12 % [55.00, 55.24]'],
    ['overall.range.ge10', { value: 0.25, low: 0.2, high: 0.3 }, '25.00 % [20.00, 30.00]'],
    ['certain.90', { value: 1e-7, low: -1e-7, high: 3e-7 }, '< 0.01 % [< 0.01, < 0.01]'],
    ['drift', { value: 1, low: 1, high: 1 }, '1.000'],
  ])('%s is shown in a readable form', (name, figure, text) => {
    expect(figureText(name, figure)).toBe(text);
  });
});

describe('a word on a command line', () => {
  it.each([
    ['block:4+6@local_site', 'block:4+6@local_site'],
    ['CHS JCOIN', "'CHS JCOIN'"],
    ["St. Mary's", "'St. Mary'\\''s'"],
    ['', "''"],
  ])('is quoted if necessary: %s', (word, text) => {
    expect(quoted(word)).toBe(text);
  });
});
