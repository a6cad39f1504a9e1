/** Files of packs: what is wrong in them, by line, how much a record holds, and what is warned of. */
import { describe, expect, it } from 'vitest';
import type { UrnConfiguration } from '../../events/study.ts';
import type { ImportError } from '../../src/evidence/import/csv-file.ts';
import { readCodeFile, readCodes } from '../../src/evidence/import/pack-file.ts';
import { KEYS } from '../support/life.ts';
import { temporaryFiles } from '../support/temporary-folder.ts';
import { thrownBy } from '../support/thrown.ts';
import { TrialRun } from '../support/trial-run.ts';

const codesFile = temporaryFiles('codes.csv');
const [ACTIVE, CONTROL] = ['Melatonin', 'Control'] as const;
const OF_ALL = 'code,treatment';
const OF_SITES = 'code,treatment,site';

const trialWith = (more: Partial<UrnConfiguration> = {}) =>
  new TrialRun({
    treatments: [ACTIVE, CONTROL],
    factors: [
      { name: 'sex', levels: ['Male', 'Female'] },
      { name: 'site', levels: ['North', 'South'] },
      { name: 'age', levels: ['old'] },
    ],
    ...more,
  });
type Trial = ReturnType<typeof trialWith>;

const read = ({ registered }: Trial, rows: readonly string[], header = OF_ALL) =>
  readCodeFile(codesFile([header, ...rows].join('\n')), registered);

/** Registers the packs of a file. @returns what is warned of */
function add(trial: Trial, rows: readonly string[], header?: string): readonly string[] {
  const { lists, findings } = read(trial, rows, header);
  for (const one of lists) {
    const list = trial.registered.lists + 1;
    const asked = { type: 'register-packs', list, key: KEYS[0], ...one } as const;
    expect(trial.ask(asked)).toEqual({ type: 'codes-registered' });
  }
  return findings.map(({ text }) => text);
}
const problems = (...of: Parameters<typeof read>): readonly string[] =>
  (thrownBy(() => read(...of)) as ImportError | undefined)?.problems ?? [];

/** So many packs, of the arms in turn as in an honest file. */
const shuffled = (count: number, name = 'P') =>
  Array.from({ length: count }, (_, i) => `${name}${i},${'ABBABBAAABAB'[i % 12] === 'A' ? ACTIVE : CONTROL}`);

it('packs may be more than a record holds, in number or in bytes', () => {
  const lengths = (rows: readonly string[]) => {
    const all = read(trialWith(), rows).lists.map(({ entries }) => entries);
    for (const one of all) expect(Buffer.byteLength(JSON.stringify(one))).toBeLessThanOrEqual(200_000);
    return all.map(({ length }) => length);
  };
  expect(lengths(shuffled(8001))).toEqual([4000, 4000, 1]);
  // Of about 60 characters each, 4000 would take more bytes than a record may.
  expect(lengths(shuffled(3000, 'x'.repeat(58)))).toHaveLength(2);
});

it('a file is refused with all that is wrong, by line', () => {
  const trial = trialWith();
  add(trial, shuffled(4));
  add(trial, ['R1,Control,North'], OF_SITES);
  const elsewhere = 'is registered already, with another treatment or level (hint: urn codes list)';
  const rows = [
    ...['Q1,Melatonin,North', 'Q 2,Melatonin,North', 'Q1,Control,North'],
    ...['P1,Melatonin,North', 'Control,Control,North', 'xmelatonin1,Melatonin,North'],
    ...['Q5,Control,', 'Q6,Control', ''],
    ...['"Q7",Placebo,West', 'R1,Control,South', 'R1,Control,North'],
  ];
  expect(problems(trial, rows, OF_SITES)).toEqual([
    'line 3: "Q 2" is not a code: 1 to 64 of A–Z a–z 0–9 - _ . /',
    'line 4: the code Q1 is also in line 2',
    `line 5: the code P1 ${elsewhere}`,
    'line 6: the code Control is, or contains, the name of an arm',
    'line 7: the code xmelatonin1 is, or contains, the name of an arm',
    'line 8: no level of site (hint: packs for all levels go into a file without this column)',
    'line 9: 2 fields instead of 3 (hint: code,treatment or code,treatment,<factor>)',
    'line 11: the study has no arm "Placebo" (allowed: "Melatonin", "Control"); site has no level "West" (allowed: "North", "South")',
    `line 12: the code R1 ${elsewhere}`,
    'line 13: the code R1 is also in line 12',
  ]);
});

it.each([
  ['', 'codes.csv is empty'],
  [OF_ALL, 'the file has no codes'],
  ['Q1,Control', 'the first line is "Q1,Control" (expected: '],
  ['code,treatment,site,sex', '(expected: code,treatment or'],
  ['code,treatment,town', 'the study has no factor "town" (allowed: "sex", "site", "age")'],
  ['code,treatment\n"Q1,Control', 'the file is not CSV'],
])('a file is refused that begins with %j', (header, why) => {
  expect(problems(trialWith(), [], header)).toEqual([expect.stringContaining(why)]);
});

it('a recall list that names a code twice is refused with both lines', () => {
  const found = thrownBy(() => readCodes(codesFile('lot,code\n7,K1\n7,K2\n8,K1\n8,K 3\n'))) as ImportError;
  expect(found.problems).toEqual([
    'line 4: the code K1 is also in line 2',
    'line 5: "K 3" is not a code: 1 to 64 of A–Z a–z 0–9 - _ . /',
  ]);
});

it('packs of a closed arm are registered, which is said under seal; those of a stopped arm are not', () => {
  const trial = trialWith({ treatments: [ACTIVE, CONTROL, 'Placebo'] });
  trial.amend({ kind: 'arm-closed', treatment: 'Placebo' });
  expect(add(trial, ['Q1,Control', 'Q2,Placebo', 'Q3,Melatonin'])).toEqual([]);
  expect(add(trial, ['R1,Melatonin,North', 'R2,Control,South'], OF_SITES)).toEqual([
    expect.stringMatching(/^the packs for site = North include none of Control, Placebo:/),
    expect.stringMatching(/^the packs for site = South include none of Melatonin, Placebo:/),
  ]);
  trial.amend(
    { kind: 'level-renamed', factor: 'site', level: 'South', to: 'Coast' },
    { kind: 'factor-retired', factor: 'age' },
    { kind: 'arm-stopped', treatment: 'Placebo' },
  );
  expect(add(trial, ['S1,Melatonin', 'S2,Control'])).toEqual([]);
  for (const [row, header, why] of [
    ['T1,Control,old', 'code,treatment,age', /^the factor "age" is retired/],
    ['T1,Control,South', OF_SITES, /^line 2: site has no level "South": it is called "Coast" now/],
    ['T1,Placebo', OF_ALL, /^line 2: the arm "Placebo" is stopped/],
  ] as const)
    expect(problems(trial, [row], header)).toEqual([expect.stringMatching(why)]);
  const lists = trial.facts.flatMap((one) => (one.type === 'CodesRegistered' ? [one.sections.codes] : []));
  expect(lists.map(({ closedArms }) => closedArms)).toEqual([true, undefined, undefined, undefined]);
});

describe('a warning', () => {
  it('is given of codes that tell the arm, with the rule, and a live study then needs --yes', () => {
    // By which rules: test/unit/import/telling-codes.test.ts.
    const odd = Array.from({ length: 60 }, (_, i) => `K${1000 + i},${i % 2 ? ACTIVE : CONTROL}`);
    const text =
      'the arm of a pack can be told by whether the number is odd or even: that is right for 60 of 60 packs (100 %), and always guessing the commonest arm for 30 (50 %) (hint: have the codes assigned to the packs at random)';
    for (const mode of ['live', 'test'] as const)
      expect(read(trialWith({ mode }), odd).findings).toEqual([{ text, needsYes: mode === 'live' }]);
    // The same for a file that was interrupted.
    const trial = trialWith();
    add(trial, odd.slice(0, 56));
    expect(read(trial, odd).findings.map((one) => one.text)).toEqual([text]);
    expect(read(trial, odd.slice(0, 56)).findings).toEqual([]);
    const many = Array.from({ length: 5002 }, (_, i) => `K${10_000 + i},${i % 2 ? ACTIVE : CONTROL}`);
    expect(read(trialWith(), many).findings[0]?.text).toContain(
      'right for 5000 of 5000 packs, drawn at random from 5002 (100 %)',
    );
  });

  it('is given of codes of an arm that can be taken for each other; those of different arms are refused', () => {
    const trial = trialWith();
    add(trial, [`K012,${ACTIVE}`, `O7,${CONTROL}`, `L-1,${ACTIVE}`]);
    const taken = (row: string) => problems(trial, [`Q,${ACTIVE}`, row]);
    for (const [code, other] of [
      ...[
        ['k012', 'K012'],
        ['K12', 'K012'],
        ['K0012', 'K012'],
        ['KO12', 'K012'],
        ['Kl2', 'K012'],
        ['KOI2', 'K012'],
      ],
      ...[
        ['K01Z', 'K012'],
        ['l-1', 'L-1'],
        ['L-I', 'L-1'],
        ['L-01', 'L-1'],
        ['L-l', 'L-1'],
      ],
    ] as const)
      expect(taken(`${code},${CONTROL}`)).toEqual([
        `line 3: the code ${code} can be taken for ${other} (registered already), which holds another arm`,
      ]);
    for (const [code, arm] of [
      ['007', ACTIVE],
      ['o7', ACTIVE],
    ] as const)
      expect(taken(`${code},${arm}`)).toEqual([expect.stringContaining('can be taken for O7')]);
    // A lot with another letter, another number, another sign.
    const others = ['I-1', 'K0120', 'K102', 'K-012'].map((code) => `${code},${CONTROL}`);
    expect(add(trial, [...others, `R,${ACTIVE}`])).toEqual([]);
    const pairs = ['S5', '55', 'B8', '88', 'A1', 'a1', 'Z2', '22'].map((code) => `${code},${ACTIVE}`);
    expect(problems(trialWith(), [...pairs, `SS,${CONTROL}`])).toEqual([
      'line 10: the code SS can be taken for S5 (line 2), which holds another arm',
    ]);
    expect(add(trialWith(), [...pairs, `R,${CONTROL}`])).toEqual([
      'codes that can be taken for each other: S5 (line 2) and 55 (line 3), B8 (line 4) and 88 (line 5), A1 (line 6) and a1 (line 7), Z2 (line 8) and 22 (line 9)',
    ]);
  });

  it('is given of fewer packs of an arm than 1.2 times its share of a limit', () => {
    const limits = { total: 20, levels: [{ factor: 'site', level: 'North', max: 8 }] };
    const trial = trialWith({ limits, ratio: [3, 1] });
    // 18 and 6 of all, 8 and 3 for the North (7.2 and 2.4, rounded up) are enough.
    const packs = (arm: string, count: number, level: string, name: string) =>
      Array.from({ length: count }, (_, i) => `${name}${i},${arm},${level}`);
    const first = [
      ...[packs(CONTROL, 2, 'North', 'a'), packs(ACTIVE, 8, 'North', 'b')].flat(),
      ...[packs(ACTIVE, 9, 'South', 'c'), packs(CONTROL, 4, 'South', 'd')].flat(),
    ];
    const advisable = (rows: readonly string[]) =>
      add(trial, rows, OF_SITES).filter((text) => text.includes('advisable'));
    const atLeast = (min: number) => `at least ${min} are advisable (1.2 times the expected share)`;
    expect(advisable(first)).toEqual([
      `17 packs of Melatonin for a limit of 20 participants: ${atLeast(18)}`,
      `2 packs of Control for a limit of 8 participants with site = North: ${atLeast(3)}`,
    ]);
    expect(advisable(['e1,Melatonin,South', 'e2,Control,North'])).toEqual([]);
  });
});
