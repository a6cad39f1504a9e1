/** What comes with the list for statisticians, in names that break a careless script; and exports for the reference, against what it wrote. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BgState, DesignChange, StudyConfiguration } from '../../../events/study.ts';
import { guarded } from '../../../src/base/text.ts';
import { allocate } from '../../../src/core/methods/urn.ts';
import { changedDesign, registeredDesign } from '../../../src/core/model/design.ts';
import type { Participant } from '../../../src/core/model/participants.ts';
import { NONE } from '../../../src/core/model/participants.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import {
  columnsOf,
  csvLine,
  dictionary,
  headLine,
  rowLines,
  rScript,
  sasScript,
} from '../../../src/evidence/export/columns.ts';
import {
  byCounting,
  checkReference,
  eatenNames,
  notCountedCsv,
  problemsOfReference,
  readReference,
  referenceCsv,
  trueTimes,
} from '../../../src/evidence/export/reference.ts';
import { readBgState } from '../../../src/evidence/import/read-history.ts';
import { parseCsv } from '../../support/csv.ts';
import { CONFIGURATION, SEED } from '../../support/facts.ts';
import { REFERENCE_EXPORT, referenceNext, referenceStudy } from '../../support/reference.ts';
import { urnDesignOf } from '../../support/urn-study.ts';

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
  const { at } = PARTICIPANT;
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

it('the guard for spreadsheets is in the rows and in what reads them, and only if it is wanted', () => {
  expect(rowLines(columns, [PARTICIPANT])).toContain(',=Mâle,=Mâle,MART,');
  expect(rowLines(columns, [PARTICIPANT])).toContain(',-x,');
  expect(rowLines(excel, [PARTICIPANT])).toContain(",'=Mâle,'=Mâle,MART,");
  expect(rowLines(excel, [PARTICIPANT])).toContain(",'-x,");
  expect(dictionary(excel, true)).toContain(`""'=Mâle""`);
  expect(rScript(excel, 'a.csv')).toContain(`"'=M\\U{e2}le"`);
  expect(headLine(excel)).toBe(headLine(columns));
});

it('the R script is ASCII and keeps texts as they are', () => {
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

const STUDY = registeredDesign(referenceStudy());
const [HEAD = [], ...ROWS] = parseCsv(REFERENCE_EXPORT);

/** The rows of the reference's file as participants of this service, whose clock has milliseconds. */
function asParticipants(): Participant[] {
  return ROWS.map((row, i) => {
    const cell = (name: string) => row[HEAD.indexOf(name)] ?? '';
    const at = new Date(`${cell('datetime')}Z`).toISOString();
    const levels = STUDY.factors.map(({ name }) => cell(`f_${name}`));
    return {
      ...{ participantId: cell('id'), sequence: i + 1, revision: i + 1, levels, at, user: cell('user') },
      ...{ treatment: cell('trt'), slot: STUDY.slots.indexOf(cell('trt')), onBehalfOf: undefined },
      bgStateAfter: readBgState(cell('bg_state')),
    };
  });
}
const PARTICIPANTS = asParticipants();
const LAST = PARTICIPANTS.at(-1)?.bgStateAfter as BgState;
const counted = (participants: readonly Participant[]) => byCounting(participants, STUDY).counted;
const at = (times: readonly string[]) =>
  PARTICIPANTS.slice(0, times.length).map((one, i): Participant => ({ ...one, at: times[i] ?? '' }));
const datetimes = (csv: string) =>
  parseCsv(csv)
    .slice(1)
    .map((row) => row[HEAD.indexOf('datetime')]);
/** As if the participant were voided. */
const voided = (one: Participant, isRemoved: boolean): Participant => ({
  ...one,
  corrected: {
    ...{ id: `${one.participantId}-x`, levels: one.levels, countedLevels: one.levels },
    voided: { revision: 99, cause: 'never-enrolled', isRemoved, duplicateOf: undefined },
  },
});

describe('the file for the reference', () => {
  it('is byte for byte what the reference writes, up to the microseconds', () => {
    const cut = (csv: string) => csv.replaceAll(/(:\d\d\.\d{3})\d{3},/g, '$1000,');
    expect(referenceCsv(STUDY, counted(PARTICIPANTS))).toBe(cut(REFERENCE_EXPORT));
  });

  it('has times that increase strictly, also where the clock stood still or was set back', () => {
    const times = ['09:30:00.999', '09:30:00.999', '09:30:00.999', '09:29:00.000', '09:30:01.000'];
    const participants = at(times.map((time) => `2026-03-01T${time}Z`));
    expect(datetimes(referenceCsv(STUDY, counted(participants)))).toEqual([
      '2026-03-01 09:30:00.999000',
      '2026-03-01 09:30:00.999001',
      '2026-03-01 09:30:00.999002',
      '2026-03-01 09:30:00.999003',
      '2026-03-01 09:30:01.000000',
    ]);
    expect(parseCsv(trueTimes(counted(participants))).map(([, , time]) => time)).toEqual([
      'at',
      ...participants.map((one) => one.at),
    ]);
  });

  it('has those who are counted, under the id in use, at the levels at which they are counted', () => {
    const [one, two, three] = at(Array<string>(3).fill(PARTICIPANT.at));
    if (!one || !two || !three) throw new Error('too few');
    const moved: Participant = {
      ...three,
      corrected: { id: '300', levels: ['03-West', 'Male', '0'], countedLevels: ['02-Süd', 'Male', '1'] },
    };
    const { counted: kept, others } = byCounting([voided(one, true), voided(two, false), moved], STUDY);
    const rows = parseCsv(referenceCsv(STUDY, kept)).slice(1);
    expect(rows.map((row) => row.slice(0, 4))).toEqual([
      [`${two.participantId}-x`, ...two.levels],
      ['300', '02-Süd', 'Male', '1'],
    ]);
    const [head = [], ...left] = parseCsv(notCountedCsv(STUDY, others));
    expect(head.at(-1)).toBe('voided_cause');
    expect(left.map((row) => [row[0], row.at(-1)])).toEqual([[`${one.participantId}-x`, 'never-enrolled']]);
  });
});

describe('a study cannot go to the reference', () => {
  const problems = (participants: readonly Participant[], state = LAST) =>
    problemsOfReference(STUDY, participants, state);
  const [first] = PARTICIPANTS;
  const changed = (change: Partial<Participant>) => [
    { ...first, ...change } as Participant,
    ...PARTICIPANTS.slice(1),
  ];

  it('unless the last row has the present state of its generator', () => {
    expect(problems(PARTICIPANTS)).toEqual([]);
    expect(problems(PARTICIPANTS, { ...LAST, uinteger: 7 })).toEqual([
      expect.stringContaining('by a recovery'),
    ]);
    expect(problems([])).toEqual([expect.stringContaining('nobody is counted')]);
    const last = PARTICIPANTS.at(-1) as Participant;
    expect(problems([...PARTICIPANTS.slice(0, -1), voided(last, true)])).toEqual([
      expect.stringContaining('"03-0059-x", randomized last, is not counted'),
    ]);
    expect(problems([...PARTICIPANTS.slice(0, -1), voided(last, false)])).toEqual([]);
  });

  it('with texts that pandas reads as missing, all of which are named', () => {
    expect(
      problems(
        changed({ participantId: 'NA', user: 'null', treatment: 'None', levels: ['n/a', 'nan', '1'] }),
      ),
    ).toEqual([
      'pandas reads "NA" (id) as missing',
      'pandas reads "n/a" (f_site) as missing',
      'pandas reads "nan" (f_sex) as missing',
      'pandas reads "None" (trt) as missing',
      'pandas reads "null" (user) as missing',
    ]);
    expect(problems(changed({ participantId: 'NAN', user: ' NA' }))).toEqual([]);
  });

  it('without a warning where versions of the reference eat the beginning of names of arms', () => {
    const treatments = ['standard', 'A', 'Control', 'tablets', 'x'];
    const eaten = Object.fromEntries(eatenNames({ ...STUDY, treatments }));
    expect(eaten).toEqual({ standard: 'ndard', tablets: 'ets' });
  });
});

describe('the check of the file', () => {
  it('goes on from a file of the reference as the reference went on', () => {
    const { counts, bgState } = readReference(STUDY, REFERENCE_EXPORT);
    let state = bgState;
    for (const { levels, trt, bg_state } of referenceNext()) {
      const indexes = STUDY.factors.map((factor) => factor.levels.indexOf(levels[factor.name] ?? ''));
      const { treatment, slot, draw } = allocate(urnDesignOf(STUDY), counts, indexes, state);
      expect([treatment, draw.bgStateAfter]).toEqual([trt, bg_state]);
      counts.add(indexes, slot);
      state = draw.bgStateAfter;
    }
  });

  it('finds a row that is missing, at another level, on another arm, or with another state', () => {
    const csv = referenceCsv(STUDY, counted(PARTICIPANTS));
    const study = readReference(STUDY, csv);
    const check = (text: string) => checkReference(STUDY, text, study);
    check(csv);
    const lines = csv.split('\n');
    for (const [text, why] of [
      [[...lines.slice(0, 5), ...lines.slice(6)].join('\n'), 'other counts'],
      [csv.replace(',Female,', ',Male,'), 'other counts'],
      [csv.replace('Control', 'Low dose'), 'other counts'],
      [csv.replace(/'state': \d+(?=[^\n]*\n$)/, "'state': 1"), 'does not go on'],
      [csv.replace(/'uinteger': \d+(?=[^\n]*\n$)/, "'uinteger': 1"), 'does not go on'],
    ] as const)
      expect(() => check(text)).toThrow(why);
    expect(() => check(csv.replace('f_sex', 'sex'))).toThrow('no column "f_sex"');
  });
});
