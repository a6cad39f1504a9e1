import { describe, expect, it } from 'vitest';
import { parseApproval, parseProtocol } from '../../../src/cli/approvals.ts';

describe('--approved-by', () => {
  it.each([
    ['Dr. A. Ruiz, sponsor, 2027-09-01', { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-09-01' }],
    [' Ana ,  DSMB,2028-02-29 ', { name: 'Ana', role: 'DSMB', on: '2028-02-29' }],
    [
      'Dr. A. Ruiz, sponsor, 2027-03-01, Amendment 3, page 2',
      { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-03-01', reference: 'Amendment 3, page 2' },
    ],
  ])('reads %j', (text, value) => {
    expect(parseApproval(text)).toEqual({ value });
  });

  it.each([
    ['Dr. A. Ruiz, 2027-09-01', ['the role is missing']],
    ['2027-09-01', ['the name is missing', 'the role is missing']],
    ['Dr. A. Ruiz', ['the role is missing', 'the date is missing']],
    ['', ['the name is missing', 'the role is missing', 'the date is missing']],
    ['Dr. A. Ruiz, sponsor', ['the date is missing']],
    ['Dr. A. Ruiz, sponsor, ', ['the date is missing']],
    ['Dr. A. Ruiz, sponsor, 1 March 2027', ['"1 March 2027" is not a date of the form YYYY-MM-DD']],
    ['Dr. A. Ruiz, sponsor, 2027-02-29', ['2027-02-29 is not a day of the calendar']],
    ['Dr. A. Ruiz, 2027-02-30', ['the role is missing', '2027-02-30 is not a day of the calendar']],
    ['Ruiz, MD, sponsor, 2027-09-01', ['name and role cannot contain a comma']],
    ['Ruiz, sponsor, 2027-09-01,', ['the reference is empty: leave out the last comma']],
    ['Ru\u0007iz, sponsor, 2027-09-01', ['"Ru\\u0007iz" contains a control character']],
    [`${'x'.repeat(201)}, sponsor, 2027-09-01`, ['a part has more than 200 characters']],
  ])('refuses %j, and reports everything that is wrong', (text, wrong) => {
    expect(parseApproval(text)).toEqual({
      problems: wrong.map(
        (problem) =>
          `--approved-by ${JSON.stringify(text)}: ${problem} (write 'NAME, ROLE, DATE[, REFERENCE]', such as 'Dr. A. Ruiz, sponsor, 2026-09-01')`,
      ),
    });
  });
});

describe('--protocol', () => {
  it('is a version with or without a date', () => {
    expect(parseProtocol('3.0')).toEqual({ value: { version: '3.0' } });
    expect(parseProtocol('3.0 final, 2027-02-20')).toEqual({
      value: { version: '3.0 final', date: '2027-02-20' },
    });
  });

  it.each([
    ['', ['the version is missing']],
    [',2027-13-01', ['the version is missing', '2027-13-01 is not a day of the calendar']],
    ['3.0,', ['the date is missing']],
    ['3.0,soon', ['"soon" is not a date of the form YYYY-MM-DD']],
    ['3.0,2027-02-20,b', ['unexpected text after the date']],
  ])('is refused as %j', (text, wrong) => {
    const read = parseProtocol(text);
    const problems = 'problems' in read ? read.problems : [];
    expect(problems.map((problem) => problem.slice(problem.indexOf(': ') + 2))).toEqual(
      wrong.map((problem) => `${problem} (write 'VERSION[,DATE]', such as '3.0,2027-02-20')`),
    );
  });
});
