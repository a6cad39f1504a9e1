/** What can be wrong with a history file, and how that is reported: every problem of every row at once. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SourceFormat } from '../../events/from-outside.ts';
import { parseStudiesFile } from '../../src/core/configuration/studies-file.ts';
import { registeredDesign } from '../../src/core/model/design.ts';
import type { ImportError } from '../../src/evidence/import/csv-file.ts';
import { type HistoryRow, readHistory } from '../../src/evidence/import/read-history.ts';
import { openSource } from '../../src/evidence/import/source-file.ts';
import { Database } from '../../src/store/sqlite/library.ts';
import { changedExport, HARVEST, REFERENCE } from '../support/importing.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';
import { thrownBy } from '../support/thrown.ts';

const newFolder = temporaryFolders();
const [study] = parseStudiesFile(REFERENCE.studies, 'studies.yaml').studies;

function read(file: string, format: SourceFormat = 'reference'): HistoryRow[] {
  if (!study) throw new Error('no study');
  return readHistory(
    openSource(file).table(HARVEST),
    registeredDesign(study.configuration),
    format,
    new Map(),
  );
}

const problemsOf = (file: string, format?: SourceFormat): readonly string[] =>
  (thrownBy(() => read(file, format)) as ImportError | undefined)?.problems ?? [];

type Change = (text: string) => string;
const changed = (change: Change) => changedExport(newFolder(), change);
const problems = (change: Change) => problemsOf(changed(change));
/** Changes a line of the file; the first line is 0, the first row 1. */
const inLine =
  (row: number, change: (line: string) => string): Change =>
  (text) =>
    text
      .split('\n')
      .map((line, i) => (i === row ? change(line) : line))
      .join('\n');
const inRow = (row: number, from: string | RegExp, to: string): Change =>
  inLine(row, (line) => {
    expect(line).toMatch(from);
    return line.replace(from, to);
  });

const PLAIN = read(REFERENCE.csv);

describe('a file of the same rows', () => {
  it.each<[string, Change]>([
    ['with a byte order mark', (text) => `\ufeff${text}`],
    ['with the line ends of Windows', (text) => text.replaceAll('\n', '\r\n')],
    ['with both line ends', inLine(0, (line) => `${line}\r`)],
    ['with empty lines at its end', (text) => `${text}\n\n`],
    ['without a line end', (text) => text.trimEnd()],
    ['with every field quoted', (text) => text.replaceAll(',dummy,', ',"dummy",')],
    [
      'with instants in another form',
      (text) => text.replaceAll(/2026-11-22 (\d\d:\d\d:\d\d\.\d+)/g, '2026-11-22T$1Z'),
    ],
  ])('is read: %s', (_, change) => {
    const without = (rows: readonly HistoryRow[]) =>
      rows.map(({ original: { user }, ...row }) => ({
        ...{ ...row, original: user },
      }));
    expect(without(read(changed(change)))).toEqual(without(PLAIN));
  });

  it('is read with its columns in another order, and from the database of the reference', () => {
    expect(read(REFERENCE.database)).toEqual(PLAIN);
    // Its first column is the only one without quotes in it.
    const turned = changed((text) => text.trimEnd().replaceAll(/^([^,]*),(.*)$/gm, '$2,$1'));
    expect(read(turned)).toEqual(PLAIN);
  });

  it('is in the order of the instants, then of the rows', () => {
    const text = (line: string) => line.replace(/2026-11-22 [\d:.]+/, '2026-11-22 05:38:14.477949');
    const rows = read(changed((all) => inLine(40, text)(inLine(50, text)(all))));
    expect(rows.slice(0, 4).map(({ row }) => row)).toEqual([1, 40, 50, 2]);
  });

  it('keeps quotes, commas, line breaks and carriage returns in what people wrote', () => {
    const user = 'José "J." O\'Neil,\nsite 1';
    const rows = read(changed(inRow(1, ',dummy,', `,"${user.replaceAll('"', '""')}",`)));
    expect(rows[0]).toMatchObject({ row: 1, original: { user, datetime: '2026-11-22 05:38:14.477949' } });
    expect(rows).toHaveLength(60);
    expect(rows[0]?.levels).toContain('02-Süd');
    expect(PLAIN.some(({ levels }) => levels.includes('01-Nord, Haus "A"'))).toBe(true);
  });

  it('may lack states, and has none if it is from another system, whatever is in that column', () => {
    const without = read(changed(inRow(1, /"\{.*\}"/, '')));
    expect(without.map(({ bgState }) => bgState === undefined)).toEqual(PLAIN.map((_, i) => i === 0));
    const others = read(changed(inRow(1, /"\{.*\}"/, 'none of it')), 'csv');
    expect(others.filter(({ bgState }) => bgState !== undefined)).toEqual([]);
  });
});

describe('a file that cannot be used', () => {
  const folder = newFolder();
  const file = (name: string, content: string | Uint8Array) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  const big = Buffer.from('\ufeffid,trt\n', 'utf16le');
  it.each<[string, () => string, string]>([
    ['missing', () => join(folder, 'none'), 'none: there is no such file'],
    ['a folder', () => folder, 'it is a folder'],
    ['empty', () => file('empty.csv', ''), 'empty.csv is empty'],
    [
      'not UTF-8',
      () => file('latin.csv', Buffer.from('id,müller\n', 'latin1')),
      'the file is not UTF-8 (hint: save',
    ],
    ['UTF-16', () => file('wide.csv', big), 'the file is not UTF-8'],
    ['of another form', () => file('x.csv', 'a,b\n"x'), 'the file is not CSV: '],
    ['of semicolons', () => file('y.csv', 'id;trt\n1;Control\n'), 'the first line has no comma (hint: '],
  ])('is refused: %s', (_, path, expected) => {
    expect(problemsOf(path())).toEqual([expect.stringContaining(expected)]);
  });

  it('has columns that are missing, unknown, twice', () => {
    const header = (change: (line: string) => string) => problems(inLine(0, change));
    expect(header((line) => line.replace('f_sex', 'sex').replace('user', 'who'))).toEqual([
      'the file has no column "f_sex"',
      'the file has no column "user"',
      'the file has a column "sex", which the study does not know',
      'the file has a column "who", which the study does not know',
    ]);
    expect(header((line) => line.replace('user', 'trt').replace('f_sex', 'id'))).toEqual([
      'the file has the column "id" twice',
      'the file has the column "trt" twice',
    ]);
    expect(problems((text) => text.slice(0, text.indexOf('\n')))).toEqual(['the file has no rows']);
  });
});

describe('a row', () => {
  it('is named with all its problems, and so is every other', () => {
    const changes: readonly Change[] = [
      inLine(3, () => ' x ,01,,2 or more,Placebo,yesterday,,"{}"'),
      inRow(5, /^[^,]*/, '01-0000'),
      inRow(6, ',dummy,', ',,'),
      inLine(7, (line) => `${line},more`),
    ];
    const change: Change = (text) => changes.reduce((all, one) => one(all), text);
    expect(problems(change)).toEqual([
      'row 3: id begins or ends with white space; site has no level "01" (there are: "01-Nord, Haus \\"A\\"", "02-Süd", "03-West"); f_sex is empty; there is no treatment "Placebo" (there are: "Control", "Low dose", "High dose"); "yesterday" is not an instant, such as 2026-11-22 05:38:14.477949; user is empty; bg_state is not the state of a PCG64',
      'row 5: the id "01-0000" is in row 1 too',
      'row 6: user is empty',
      'row 7: it has 9 fields, and the first line has 8',
    ]);
  });

  it.each<[string | RegExp, string, string]>([
    ['01-0000', '01\0', 'id contains a control character'],
    [',dummy,', ',a\0b,', 'user contains a control character'],
    [',dummy,', `,${'x'.repeat(2001)},`, 'user must be 1 to 2000 characters'],
    [',1,Low', ',1.0,Low', 'prior (1+) lines has no level "1.0"'],
    ['Female', 'female', 'sex has no level "female"'],
    ['2026-11-22', '2026-02-30', '"2026-02-30 05:38:14.477949" is not an instant'],
    ['2026-11-22', '2999-11-22', '"2999-11-22 05:38:14.477949" is in the future (hint: '],
  ])('with %j in place of it, is refused: %#', (from, to, expected) => {
    expect(problems(inRow(1, from, to))).toEqual([expect.stringContaining(`row 1: ${expected}`)]);
  });

  it('is not printed whole if a field holds the rest of a file', () => {
    const [problem = ''] = problems(inRow(1, 'Female', 'x'.repeat(1_000_000)));
    expect(problem).toMatch(/sex has no level "x{59}"…/);
    expect(problem.length).toBeLessThan(500);
  });
});

describe("the reference's database", () => {
  const history = '"Harvest__2__Trial_history"';
  const written = (bytes: Buffer) => {
    const file = join(newFolder(), 'copy.db');
    writeFileSync(file, bytes);
    return file;
  };
  const BYTES = readFileSync(REFERENCE.database);
  const copied = (...changes: readonly string[]) => {
    const file = written(BYTES);
    const db = new Database(file);
    for (const sql of changes) db.exec(sql);
    db.close();
    return file;
  };
  const setting = (param: string, value: string) =>
    `UPDATE "Harvest__2__Trial_config" SET value = '${value}' WHERE param = '${param}'`;
  const stateOf = (row: number, value: string) =>
    `UPDATE ${history} SET bg_state = ${value} WHERE rowid = ${row}`;

  it.each<[string, readonly string[], readonly string[]]>([
    [
      'without a history of the study',
      [`ALTER TABLE ${history} RENAME TO other_history`],
      ['the database has no table Harvest__2__Trial_history (it has: other_history)'],
    ],
    [
      'with integers that doubles cannot hold',
      [stateOf(2, "json_set(bg_state, '$.uinteger', 1.5)")],
      ['row 2: bg_state is not the state of a PCG64'],
    ],
    [
      'with another design than that of the study',
      [setting('alpha', '2'), setting('D', 'variance'), setting('treatments', '["Control"]')],
      [
        'alpha is 2 in the database, and 0 in the study',
        'D is variance in the database, and "range" in the study',
        'treatments is ["Control"] in the database, and ["Control","Low dose","High dose"] in the study',
      ],
    ],
  ])('is refused %s', (_, changes, expected) => {
    expect(problemsOf(copied(...changes))).toEqual(expected);
  });

  it.each([
    ['in its header', (bytes: Buffer) => bytes.fill(0xff, 20, 90)],
    ['in its pages', (bytes: Buffer) => bytes.fill(0xff, 4096)],
    ['at its end', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ])('is refused if it is damaged %s', (_, damage) => {
    expect(problemsOf(written(damage(Buffer.from(BYTES))))).toEqual([
      expect.stringMatching(/^the database cannot be read: .* \(hint: was it copied completely/),
    ]);
  });

  it('is refused while changes wait in a file beside it, and read if it was written with a log beside it', () => {
    const file = copied();
    writeFileSync(`${file}-journal`, 'x');
    expect(problemsOf(file)).toEqual([expect.stringContaining('is in use or was not closed (hint: ')]);
    expect(read(copied('PRAGMA journal_mode = WAL'))).toEqual(PLAIN);
  });

  it('may lack states, as NULL or as a null of JSON', () => {
    const file = copied(stateOf(1, 'NULL'), stateOf(2, "'null'"));
    expect(read(file).map(({ bgState }) => bgState === undefined)).toEqual(PLAIN.map((_, i) => i < 2));
  });
});
