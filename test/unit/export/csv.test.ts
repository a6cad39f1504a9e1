import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { guarded } from '../../../src/base/formula.ts';
import { csvLine } from '../../../src/evidence/export/csv.ts';
import { parseCsv } from '../../support/csv.ts';

const cells = fc.array(fc.oneof(fc.string(), fc.stringMatching(/^[",\r\n a]*$/)), {
  minLength: 2,
  maxLength: 4,
});

describe('comma-separated values', () => {
  it('have quotes only where they are needed, and double them inside', () => {
    expect(csvLine(['', 'a b', '01', 'a,b', 'say "x"', 'two\nlines', '\r'])).toBe(
      ',a b,01,"a,b","say ""x""","two\nlines","\r"\r\n',
    );
    expect(csvLine(['a'], '\n')).toBe('a\n');
  });

  it('are read by another program as they were written, with either end of line', () => {
    fc.assert(
      fc.property(fc.array(cells), fc.constantFrom('\r\n' as const, '\n' as const), (lines, end) => {
        expect(parseCsv(lines.map((line) => csvLine(line, end)).join(''))).toEqual(lines);
      }),
    );
  });
});

describe('the guard against formulas', () => {
  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx'])('makes %j text', (cell) => {
    expect(guarded(cell)).toBe(`'${cell}`);
  });

  it.each(['', '1-2', "'=1", ' =1', 'a@b'])('leaves %j alone', (cell) => {
    expect(guarded(cell)).toBe(cell);
  });
});
