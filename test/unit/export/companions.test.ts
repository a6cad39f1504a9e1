/** What comes with the list for statisticians. Names are chosen to break a script that quotes them carelessly. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../../events/amendment.ts';
import type { StudyConfiguration } from '../../../events/study.ts';
import { changedDesign, registeredDesign } from '../../../projections/design.ts';
import { NONE } from '../../../projections/enrolled.ts';
import { guarded } from '../../../src/base/formula.ts';
import type { Participant } from '../../../src/core/model/participants.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { columnsOf, headLine, rowLines } from '../../../src/evidence/export/columns.ts';
import { dictionary, rScript, sasScript } from '../../../src/evidence/export/companions.ts';
import { csvLine } from '../../../src/evidence/export/csv.ts';
import { parseCsv } from '../../support/csv.ts';
import { CONFIGURATION, SEED } from '../../support/facts.ts';

const named = (...names: string[]): StudyConfiguration => ({
  ...CONFIGURATION,
  factors: names.map((name) => ({ name, levels: ['=Mâle', `it's "&x" \\n %y`] })),
});
const PARTICIPANT: Participant = {
  ...{ participantId: '007', levels: ['=Mâle'], treatment: 'MART', slot: 0, sequence: 1, revision: 1 },
  ...{ at: '2026-03-01T09:30:00.000Z', user: 'site', onBehalfOf: '-x' },
  bgStateAfter: Pcg64.fromSeed(SEED).snapshot(),
};
const columnsFor = (names: readonly string[], more: Partial<Parameters<typeof columnsOf>[1]> = {}) =>
  columnsOf(registeredDesign(named(...names)), { isBlinded: false, ...more });
const columns = columnsFor(['sex']);
const excel = columnsFor(['sex'], { isForExcel: true });

describe('the data dictionary', () => {
  it('says of each column what it means, its type and its levels', () => {
    const [head, ...lines] = parseCsv(dictionary(columns, false));
    expect(head).toEqual(['name', 'meaning', 'type', 'levels']);
    expect(lines.map(([name]) => name)).toEqual(columns.map(({ name }) => name));
    expect(lines.map((line) => line[1]).every((meaning) => meaning !== '')).toBe(true);
    const levelsOf = (name: string) => JSON.parse(lines.find(([one]) => one === name)?.[3] ?? '');
    expect(levelsOf('f_sex')).toEqual(['=Mâle', `it's "&x" \\n %y`]);
    expect(levelsOf('treatment')).toEqual(CONFIGURATION.treatments);
  });

  it('names no arm without the column of arms', () => {
    expect(dictionary(columnsFor(['sex'], { isBlinded: true }), false)).not.toMatch(/treatment|MART|RMC/);
  });
});

describe('an amended design', () => {
  const CHANGES: DesignChange[] = [
    { kind: 'arm-added', treatment: 'Ä new arm, long' },
    { kind: 'arm-closed', treatment: 'MART' },
    { kind: 'factor-retired', factor: 'site' },
  ];
  const before = registeredDesign(named('sex', 'site'));
  const amended = CHANGES.reduce(changedDesign, before);
  const all = columnsOf(amended, { isBlinded: false });
  const late = { ...PARTICIPANT, levels: ['=Mâle', NONE] };
  const cellsOf = (participant: Participant, name: string) =>
    parseCsv(rowLines(all, [participant]))[0]?.[all.findIndex((column) => column.name === name)];

  it('leaves the columns of a retired factor, which are empty for who came after it', () => {
    expect(headLine(all)).toBe(headLine(columnsOf(before, { isBlinded: false })));
    const early = { ...PARTICIPANT, levels: ['=Mâle', '=Mâle'] };
    for (const name of ['f_site', 'randomized_f_site'])
      expect([cellsOf(late, name), cellsOf(early, name)]).toEqual(['', '=Mâle']);
    const empty = '; empty for those who came after the factor was retired';
    const meant = parseCsv(dictionary(all, false)).filter(([, meaning]) => meaning?.endsWith(empty));
    expect(meant.map(([name]) => name)).toEqual(['f_site', 'randomized_f_site']);
  });

  it('has every arm there ever was, in the dictionary and for R and SAS', () => {
    const line = parseCsv(dictionary(all, false)).find(([name]) => name === 'treatment');
    expect(JSON.parse(line?.[3] ?? '')).toEqual([...CONFIGURATION.treatments, 'Ä new arm, long']);
    expect(rScript(all, 'a.csv')).toContain('"MART", "RMC-Q", "RMC-A", "\\U{c4} new arm, long"');
    expect(sasScript(all, [late], 'a.csv')).toContain('informat treatment $char16.');
  });
});

describe('the packs of a participant', () => {
  const at = '2026-03-01T09:30:00.000Z';
  const pack = { code: '-AF5/0017', treatment: 'MART', replacements: 1 };
  const dispensed = [
    { code: '104233', visit: 'V2', at, replacements: 1 },
    { code: '104517', visit: undefined, at, replacements: 0 },
    { code: '104518', visit: 'V3', at, replacements: 0 },
  ];
  const withPacks = { ...PARTICIPANT, pack, dispensed };
  const lasts = (lines: string) => parseCsv(lines).map((line) => line.slice(-2));

  it('are in the last columns, empty without them, in the order in which they were given out', () => {
    const shown = columnsFor(['sex'], { isBlinded: true, hasVisits: true, isForExcel: true });
    expect(lasts(headLine(shown))).toEqual([['pack_code', 'packs']]);
    const rows = rowLines(shown, [PARTICIPANT, withPacks]);
    expect(lasts(rows)).toEqual([
      ['', ''],
      ["'-AF5/0017", 'V2=104233; V3=104518'],
    ]);
    expect(rows).not.toContain('MART');
    expect(lasts(headLine(columns))).toEqual([['voided_cause', 'pack_code']]);
  });

  it('are texts for R and SAS, and in the dictionary', () => {
    const shown = columnsFor(['sex'], { hasVisits: true });
    expect(parseCsv(dictionary(shown, false)).slice(-2)).toEqual([
      ['pack_code', expect.stringContaining('empty without one'), 'text', ''],
      ['packs', expect.any(String), 'text', ''],
    ]);
    expect(rScript(shown, 'a.csv')).toMatch(/col\.names = c\(.*"pack_code", "packs"\)/);
    expect(rScript(shown, 'a.csv')).not.toContain('[["pack_code"]]');
    for (const text of ['informat pack_code $char9.;', 'informat packs $char20.'])
      expect(sasScript(shown, [withPacks], 'a.csv')).toContain(text);
  });
});

describe('the guard for spreadsheets', () => {
  it('is in the rows and in what reads them, and only if it is wanted', () => {
    expect(rowLines(columns, [PARTICIPANT])).toContain(',=Mâle,=Mâle,MART,');
    expect(rowLines(columns, [PARTICIPANT])).toContain(',-x,');
    expect(rowLines(excel, [PARTICIPANT])).toContain(",'=Mâle,'=Mâle,MART,");
    expect(rowLines(excel, [PARTICIPANT])).toContain(",'-x,");
    expect(dictionary(excel, true)).toContain(`""'=Mâle""`);
    expect(rScript(excel, 'a.csv')).toContain(`"'=M\\U{e2}le"`);
    expect(headLine(excel)).toBe(headLine(columns));
  });
});

describe('the R script', () => {
  it('is ASCII and keeps texts as they are', () => {
    const script = rScript(columns, 'é "1".csv');
    expect(script).toMatch(/^[\n\x20-\x7e]*$/);
    expect(script).toContain('"\\U{e9} \\"1\\".csv"');
    expect(script).toContain('levels = c("=M\\U{e2}le", "it\'s \\"&x\\" \\\\n %y")');
    expect(script).toContain('na.strings = character(0)');
    const [classes = ''] = /(?<=colClasses = c\().*(?=\))/.exec(script) ?? [];
    expect(classes.split(', ')).toEqual(
      columns.map(({ type }) => (type === 'integer' ? '"integer"' : '"character"')),
    );
  });
});

describe('the SAS script', () => {
  const scriptOf = (...names: string[]) =>
    sasScript(columnsFor(names, { isBlinded: true }), [PARTICIPANT], 'a.csv');
  const inputs = (...names: string[]) =>
    (/(?<=input ).*(?=;)/.exec(scriptOf(...names))?.[0] ?? '').split(' ');

  it('has texts as long as in the file, or as any level, in bytes', () => {
    const script = sasScript(columns, [PARTICIPANT], "it's o'clock.csv");
    expect(script).toContain("infile 'it''s o''clock.csv' dsd");
    expect(script).toContain('informat id $char3.;');
    expect(script).toContain('informat f_sex $char15.;');
    expect(script).toContain('informat on_behalf_of $char2.;');
    expect(script).toContain("label f_sex = 'f_sex';");
    expect(sasScript(columns, [], 'a.csv')).toContain('informat id $char1.;');
  });

  it('names variables after the columns if all of them can be names of SAS', () => {
    expect(inputs('sex', 'site')).toContain('randomized_f_site');
  });

  it.each([['a b'], ['Größe'], ['x'.repeat(20)], ['sex', 'SEX'], ["it's"]])(
    'numbers the factors if one is %s, and labels them',
    (...names) => {
      const numbered = names.flatMap((_, i) => [`f_${i + 1}`, `randomized_f_${i + 1}`]);
      expect(inputs(...names)).toEqual(expect.arrayContaining(numbered));
      expect(scriptOf(...names)).toContain(`label f_1 = 'f_${names[0]?.replaceAll("'", "''")}';`);
    },
  );
});

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
