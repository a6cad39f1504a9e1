/** Options whose text means more than itself. */
import express from 'express';
import { describe, expect, it } from 'vitest';
import { parseApproval, parseProtocol } from '../../../src/cli/approvals.ts';
import { trustOf } from '../../../src/cli/serve.ts';
import { readRenamings } from '../../../src/cli/studies-amend.ts';
import { locate } from '../../../src/service/open/store-location.ts';
import { thrownBy } from '../../support/thrown.ts';

describe('--approved-by', () => {
  it.each([
    [' Ana ,  DSMB,2028-02-29 ', { name: 'Ana', role: 'DSMB', on: '2028-02-29' }],
    [
      'Dr. A. Ruiz, sponsor, 2027-03-01, Amendment 3, page 2',
      { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-03-01', reference: 'Amendment 3, page 2' },
    ],
  ])('reads %j', (text, value) => {
    expect(parseApproval(text)).toEqual({ value });
  });

  it.each([
    ['2027-09-01', ['the name is missing', 'the role is missing']],
    ['', ['the name is missing', 'the role is missing', 'the date is missing']],
    ['Dr. A. Ruiz, sponsor, ', ['the date is missing']],
    ['Dr. A. Ruiz, sponsor, 1 March 2027', ['"1 March 2027" is not a date of the form YYYY-MM-DD']],
    ['Dr. A. Ruiz, sponsor, 2027-02-29', ['2027-02-29 is not a day of the calendar']],
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

const factor = (name: string, ...levels: string[]) => ({
  ...{ name, levels, closed: [], isRetired: false, earlierNames: [] },
});
const DESIGN = { factors: [factor('sex', 'Male', 'Female'), factor('a:b', 'x', 'x=y', 'z')] };
const read = (texts: string[], levels: string[], hasAlias = false) =>
  readRenamings(
    texts,
    hasAlias,
    DESIGN,
    [DESIGN.factors[0], { name: 'a:b', levels }].flatMap((one) => one ?? []),
  );

describe('--rename', () => {
  it('reads the factor, the old name and the new one, whatever characters they contain', () => {
    expect(read(['a:b:x=y=new'], ['x', 'new', 'z'])).toEqual({
      renamings: [{ kind: 'level-renamed', factor: 'a:b', level: 'x=y', to: 'new' }],
      problems: [],
    });
    expect(read(['a:b:x=y=new'], ['x=y', 'y=new', 'z']).renamings).toEqual([
      { kind: 'level-renamed', factor: 'a:b', level: 'x', to: 'y=new' },
    ]);
  });

  it('allows the old names too if --alias is given, and reports everything that is wrong', () => {
    expect(read(['a:b:z=Z'], ['x', 'x=y', 'Z'], true).renamings).toEqual([
      { kind: 'level-renamed', factor: 'a:b', level: 'z', to: 'Z', alias: true },
    ]);
    expect(read([], [], true).problems).toEqual(['--alias belongs to --rename']);
    expect(read(['foo', 'sex:Male=M', 'a:b:z=Z'], ['x', 'x=y', 'Z'])).toMatchObject({
      renamings: [{ to: 'Z' }],
      problems: [expect.stringContaining('foo'), expect.stringContaining('still has')],
    });
  });

  it.each([
    ['age:1=2', 'it is not FACTOR:OLD=NEW (factors: "sex", "a:b")'],
    ['sex:male=M', '"sex" has no such level (levels: "Male", "Female")'],
    ['sex:Male=M', 'the file still has the level "Male" in "sex"'],
    ['a:b:z=Z', 'the file has no level "Z" in "a:b" (hint: write the new name into the file)'],
    ['a:b:z=', 'the file has no level "" in "a:b" (hint: write the new name into the file)'],
  ])('refuses %s', (text, why) => {
    expect(read([text], ['x', 'x=y'])).toEqual({
      renamings: [],
      problems: [`--rename ${JSON.stringify(text)}: ${why}`],
    });
  });
});

describe('--trust-proxy accepts what Express accepts, and refuses the rest with a hint:', () => {
  const GOOD = [
    ...['10.0.0.7', '10.0.0.0/8', 'loopback, uniquelocal,10.0.0.0/8', 'fd00::/8'],
    ...['::ffff:10.0.0.1', '::ffff:10.0.0.0/104'],
  ];
  const BAD = [
    ...['10.0.0.0/33', '10.0.0.0/0', '10.0.0/8', '10.0.0.7, 10.0.0.0/99', '10.0.0.7,,10.0.0.8'],
    ...['loopback/8', 'fd00::/129', 'proxy.example', ''],
  ];
  it.each([...GOOD, ...BAD])('%j', (given) => {
    const expected = GOOD.includes(given);
    const app = express();
    expect(thrownBy(() => app.set('trust proxy', given)) === undefined).toBe(expected);
    expect(thrownBy(() => trustOf(given)) === undefined).toBe(expected);
    if (!expected) expect(() => trustOf(given)).toThrow(/--trust-proxy .*\(hint: 1, or 10\.0\.0\.7/);
  });

  it('accepts a number of proxies', () => {
    expect([trustOf(true), trustOf('true'), trustOf('2'), trustOf(undefined)]).toEqual([1, 1, 2, undefined]);
  });
});

const located = (store: string) => locate({ data: '/nowhere', store });

describe('--store', () => {
  it.each(['esdb', 'kurrentdb', 'kdb', 'esdb+discover', 'kdb+discover'])('may begin with %s://', (scheme) => {
    expect(located(`${scheme}://db:2113`)).toEqual({ kind: 'eventstoredb', url: `${scheme}://db:2113` });
  });

  it.each([
    ['kurrent://urn:SECRET@db:2113', /addresses begin with kurrentdb:\/\/\)$/],
    ['kurrent+discover://db', /addresses begin with kurrentdb\+discover:\/\/\)$/],
    ['kafka://db', /esdb:\/\/<host>:2113, kurrentdb:\/\/<host>:2113 or memory:\)$/],
  ])('%s is refused, and the hint names the right one', (store, hint) => {
    expect(() => located(store)).toThrow(hint);
    expect(() => located(store)).not.toThrow(/SECRET/);
  });
});
