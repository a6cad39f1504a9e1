import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StudyConfiguration } from '../../../events/study.ts';
import { StudiesFileError } from '../../../src/core/configuration/finding.ts';
import { parseStudiesFile } from '../../../src/core/configuration/studies-file.ts';
import { bareStudy, onlyStudyOf, studyWith, warningsOf } from './support.ts';

const REFERENCE_FORMAT = `"CHS JCOIN":
  starting_seed: 100          # optional; any non-negative integer of any size; better left out (below)
  mode: live                  # test | live                        (default live)
  id_pattern: "[0-9]{3}-[0-9]{4}"   # optional regular expression that the whole id must match
  D: chisquare                # range | variance | chisquare       (default chisquare)
  urn_selection: method1      # the only method                    (default method1)
  w: 1                        # balls per treatment at the start   (default 1)
  alpha: 0                    # balls added for the assigned arm   (default 0)
  beta: 1                     # balls added for every other arm    (default 1)
  target_enrollment: 300      # optional
  treatments: [MART, RMC-Q, RMC-A]
  factors:
    sex: [Male, Female]
    local_site: ["11-Cook County – Chicago", "30-Dupage County"]
`;

/** What is read besides the configuration. */
const BESIDES = {
  ...{ levelCounts: undefined, parameters: {}, file: 'studies.yaml', lineOf: expect.any(Function) },
  ...{ urn: { D: 'chisquare', w: 1, alpha: 0, beta: 1 }, refusedIfNew: [] },
};
const URN = { mode: 'live', D: 'chisquare', urnSelection: 'method1', w: 1, alpha: 0, beta: 1 };

describe('a studies file in the format of the reference', () => {
  it('loads unchanged', () => {
    expect(onlyStudyOf(REFERENCE_FORMAT)).toEqual({
      ...{ ...BESIDES, seed: 100n },
      configuration: {
        ...{ ...URN, name: 'CHS JCOIN', treatments: ['MART', 'RMC-Q', 'RMC-A'] },
        factors: [
          { name: 'sex', levels: ['Male', 'Female'] },
          { name: 'local_site', levels: ['11-Cook County – Chicago', '30-Dupage County'] },
        ],
        ...{ idPattern: '[0-9]{3}-[0-9]{4}', targetEnrollment: 300 },
      },
    });
  });

  it('may name the reference’s database, which is ignored without a warning', () => {
    for (const db of ['db: sqlite:///urn.db', 'db:']) expect(warningsOf(`${db}\n${studyWith()}`)).toEqual([]);
  });

  it('may be JSON', () => {
    const json = JSON.stringify({
      S: { treatments: ['A', 'B'], factors: { sex: ['Male', 'Female'] }, w: 2, D: 'range' },
    });
    const read = { name: 'S', w: 2, D: 'range', treatments: ['A', 'B'] };
    expect(onlyStudyOf(json).configuration).toMatchObject(read);
    const { lineOf } = onlyStudyOf(JSON.stringify(JSON.parse(json), null, '\t'));
    // The last one has no line of its own, so it gets that of the study.
    const settings = ['treatments', 'factors.sex', 'factors.age', 'D', 'beta'];
    expect(settings.map(lineOf)).toEqual([3, 8, 7, 14, 2]);
  });

  it('may begin with a byte order mark and have Windows line endings', () => {
    const text = `\ufeff# studies\r\n${studyWith('w: 3').replaceAll('\n', '\r\n')}\r\n`;
    expect(onlyStudyOf(text)).toMatchObject({ configuration: { name: 'S', w: 3 } });
    expect(onlyStudyOf(text).lineOf('mode')).toBe(2);
  });
});

it('the shipped example loads without a warning, gives no seed, and has only test studies', () => {
  const file = new URL('../../../studies.yaml', import.meta.url);
  const { studies, warnings } = parseStudiesFile(readFileSync(file, 'utf8'), 'studies.yaml');
  expect(warnings).toEqual([]);
  for (const { configuration, seed } of studies) {
    expect([seed, configuration.mode]).toEqual([undefined, 'test']);
    // It fits the schema of the registration event.
    expect(StudyConfiguration.parse(configuration)).toEqual(configuration);
  }
  const documented = { name: 'CHS JCOIN', treatments: ['MART', 'RMC-Q', 'RMC-A'] };
  expect(studies[0]?.configuration).toMatchObject(documented);
});

describe('settings that are omitted', () => {
  it('take the built-in defaults', () => {
    const factors = [{ name: 'sex', levels: ['Male', 'Female'] }];
    const configuration = { ...URN, name: 'S', treatments: ['A', 'B'], factors };
    expect(onlyStudyOf(studyWith())).toEqual({ ...BESIDES, seed: undefined, configuration });
  });

  it('take the defaults of the file, wherever those appear in it, which override no setting of a study', () => {
    const text = `w: 2\n${studyWith('D: range')}\nD: variance\nalpha: 1\nbeta: 3\nurn_selection: method1\n`;
    expect(onlyStudyOf(text).configuration).toMatchObject({ w: 2, alpha: 1, beta: 3, D: 'range' });
  });
});

it.each(['w', 'db', '__proto__', '1'])(
  'a top-level key whose value is a mapping is a study, even if it is called %s',
  (name) => {
    expect(onlyStudyOf(studyWith().replace('S:', `${name}:`)).configuration.name).toBe(name);
  },
);

it('the order of the file is kept in everything, even if names look like numbers', () => {
  const text = [
    '"10": {treatments: [10, 9, 1], factors: {"10": [b, a], "9": ["2", "1"], 1: [x]}}',
    '"9": {treatments: [B, A], factors: {z: [y], a: [b]}}',
  ].join('\n');
  const { studies } = parseStudiesFile(text, 'studies.yaml');
  expect(studies.map(({ configuration, lineOf }) => [configuration.name, lineOf('mode')])).toEqual([
    ['10', 1],
    ['9', 2],
  ]);
  expect(studies[0]?.configuration.treatments).toEqual(['10', '9', '1']);
  expect(studies[0]?.configuration.factors).toEqual([
    { name: '10', levels: ['b', 'a'] },
    { name: '9', levels: ['2', '1'] },
    { name: '1', levels: ['x'] },
  ]);
});

describe('names', () => {
  it.each([
    [
      'exactly as written, also in a file that asks for YAML 1.1',
      ['treatments: [1.0, 1, "1.00", 0x1F, 1e3]', 'factors: {yes: [no, 010, 1_000, null, 2021-02-10]}'],
      ['1.0', '1', '1.00', '0x1F', '1e3'],
      { name: 'yes', levels: ['no', '010', '1_000', 'null', '2021-02-10'] },
    ],
    [
      'as the value of a quoted or !!str scalar',
      [`treatments: ["a\\u0062", 'it''s', !!str 5]`, 'factors: {sex: [" Male", "Fem\\xe1le"]}'],
      ['ab', "it's", '5'],
      { name: 'sex', levels: [' Male', 'Femále'] },
    ],
  ])('are kept %s', (_, lines, treatments, factor) => {
    for (const version of ['', '%YAML 1.1\n---\n'])
      expect(onlyStudyOf(`${version}${bareStudy(...lines)}`).configuration).toMatchObject({
        ...{ treatments, factors: [factor] },
      });
  });

  it('may be any text without control characters', () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .filter((text) => text.trim() !== '' && !text.includes('\ufffd'));
    const names = (minLength: number) => fc.uniqueArray(name, { minLength, maxLength: 6 });
    const factors = fc.uniqueArray(
      fc.tuple(
        name.map((text) => `x${text}`),
        names(1),
      ),
      { minLength: 1, maxLength: 5, selector: ([factor]) => factor },
    );
    fc.assert(
      fc.property(name, names(2), factors, (study, treatments, wanted) => {
        const list = (texts: string[]) => `[${texts.map((text) => JSON.stringify(text)).join(', ')}]`;
        const text = [
          `${JSON.stringify(study)}:`,
          `  treatments: ${list(treatments)}`,
          '  factors:',
          ...wanted.map(([factor, levels]) => `    ${JSON.stringify(factor)}: ${list(levels)}`),
        ].join('\n');
        const { configuration } = onlyStudyOf(text);
        expect(configuration).toMatchObject({
          name: study,
          treatments,
          factors: wanted.map(([factor, levels]) => ({ name: factor, levels })),
        });
        StudyConfiguration.parse(configuration);
      }),
      { seed: 20210210, numRuns: 200 },
    );
  });
});

it('an alias is replaced by the value it refers to', () => {
  const text = [
    'A: {treatments: &arms [X, Y], factors: &factors {sex: &sex [Male, Female]}, w: &one 1}',
    'B: {treatments: *arms, factors: {gender: *sex}, w: *one}',
    'C: {treatments: *arms, factors: *factors}',
  ].join('\n');
  const { studies } = parseStudiesFile(text, 'studies.yaml');
  const levels = ['Male', 'Female'];
  expect(studies.map(({ configuration: { treatments, factors } }) => [treatments, factors])).toEqual(
    ['sex', 'gender', 'sex'].map((name) => [['X', 'Y'], [{ name, levels }]]),
  );
});

it.each([
  ['0', 0n],
  ['9007199254740993', 9007199254740993n],
  [`1${'0'.repeat(400)}`, 10n ** 400n],
  ['0xFFFFffffFFFFffffFFFFffffFFFFffff', 2n ** 128n - 1n],
  ['0x00ff', 255n],
])('starting_seed keeps every digit of %s', (written, seed) => {
  expect(onlyStudyOf(studyWith(`starting_seed: ${written}`)).seed).toBe(seed);
});

describe('settings for the life of a study', () => {
  const of = (...lines: string[]) => onlyStudyOf(studyWith(...lines)).configuration;

  it('are read, with limits and ratio in the order of factors and arms', () => {
    const limits = 'limits: {levels: {sex: {Female: 20, Male: 10}}, total: 25}';
    const counts = 'level_counts: as-randomized, void_counts: removed, forced_counts: not-counted';
    const policies = `policies: {stop_at_limit: true, ${counts}}`;
    const protocol = 'protocol: {version: "2.0", date: "2027-01-10"}';
    expect(of('blinding: blinded', 'start: paused', limits, policies, protocol)).toMatchObject({
      ...{ blinding: 'blinded', start: 'paused', protocol: { version: '2.0', date: '2027-01-10' } },
      limits: {
        total: 25,
        levels: [
          { factor: 'sex', level: 'Male', max: 10 },
          { factor: 'sex', level: 'Female', max: 20 },
        ],
      },
      policies: {
        ...{ stopAtLimit: true, levelCounts: 'as-randomized' },
        ...{ voidCounts: 'removed', forcedCounts: 'not-counted' },
      },
    });
    for (const [written, read] of [
      ['{A: 2, B: 1}', [2, 1]],
      ['{B: 1, A: 2}', [2, 1]],
      ['[3, 20]', [3, 20]],
    ] as const)
      expect(of(`ratio: ${written}`).ratio).toEqual(read);
  });

  it('are left out if they have their default values, so that a registration has only one form', () => {
    for (const lines of [
      ['blinding: open', 'start: open', 'limits: {}'],
      ['policies: {stop_at_limit: false, level_counts: as-randomized, void_counts: kept}'],
      ['policies: {forced_counts: counted}'],
    ])
      expect(of(...lines)).toEqual(of());
    const written = onlyStudyOf(studyWith('blinding: blinded', 'policies: {level_counts: as-corrected}'));
    expect(written.configuration.policies).toBeUndefined();
    expect(written.levelCounts).toBe('as-corrected');
    for (const name of ['ratio', 'visits']) expect(of()).not.toHaveProperty(name);
  });

  it.each([
    ['in their order', ['V3', 'V2', 'Week 12']],
    ['as they are written', ['1', '1.0', '01', 'a_b-c.d']],
    ['with a short name of an arm within', ['V2 A']],
    ['100 at most', Array.from({ length: 100 }, (_, i) => `V${i}`)],
  ])('visits are taken %s', (_, visits) => {
    expect(of(`visits: [${visits.join(', ')}]`).visits).toEqual(visits);
  });
});

describe('warnings', () => {
  const SEED = 2n ** 96n;
  const arms = (count: number, ...more: string[]) =>
    bareStudy(
      'factors: {sex: [Male, Female]}',
      `treatments: [${Array.from({ length: count }, (_, arm) => `arm ${arm}`).join(', ')}]`,
      ...more,
    );
  const crossed = (list: string, ...more: string[]) =>
    bareStudy(`treatments: [${list}]`, 'factors: {x: [a, b], y: [a, b]}', ...more);
  const alike = ['factors:', '  site: [Cook, "Cook ", cook, "C\\u200book", Kane]', '  Site: [a, b]'];

  it.each<[what: string, text: string, ...warnings: RegExp[]]>([
    ['none of a sound design', studyWith(`starting_seed: ${SEED}`, 'alpha: 1', 'beta: 1')],
    [
      'a seed below 2^96 can be found',
      studyWith('w: 1', `starting_seed: ${SEED - 1n}`),
      /^5: study "S": starting_seed is below 2\^96: .*\(hint: leave starting_seed out/,
    ],
    [
      'alpha above beta drives the arms apart',
      studyWith('alpha: 2'),
      /^4: study "S": alpha \(2\) is greater than beta \(1\): .* apart .*\(hint: choose beta/,
    ],
    ['the line of a default', `${studyWith('w: 1')}\nbeta: 40`, /^5: .* 42 balls/],
    ['no certain draw if w/(w*K + beta*(K-1)) is 0.05', studyWith('beta: 18')],
    [
      'a nearly certain draw if it is below',
      studyWith('beta: 19'),
      /^4: study "S": after one assignment .* w = 1 of .* = 21 balls .*\(hint: choose a larger w/,
    ],
    ['none with ten arms', arms(10)],
    ['a nearly certain draw with eleven', arms(11), /^3: .* 21 balls \(K = 11/],
    ['that at the line of w', arms(11, 'w: 1'), /^4: .* 21 balls/],
    ['no certain draw without a ratio', studyWith('beta: 9')],
    ['that with one', studyWith('beta: 9', 'ratio: [2, 1]'), /^4: .* balls \(K = 3 slots of the ratio/],
    ['limits that stop nobody', studyWith('limits: {total: 3}'), /information only/],
    ['none if they do', studyWith('limits: {total: 3}', 'policies: {stop_at_limit: true}')],
    [
      'names that people would mistake for each other',
      bareStudy('treatments: [A, a, "B\\u00a0"]', ...alike, 'D: range'),
      /^2: study "S": treatment 1 and treatment 2 differ only in case, leading or trailing blanks, or/,
      /^2: study "S": treatment 3 contains U\+00A0, a space other than/,
      /^3: study "S": factor "site" and factor "Site" differ only in/,
      /^3: study "S": level "Cook" of "site" and level "Cook " of "site" differ only in/,
      /^3: .*and level "cook" of "site" differ only in/,
      /^3: .*and level "C\u200book" of "site" differ only in/,
      /^3: .*level "C\u200book" of "site" contains U\+200B, which nobody sees/,
    ],
    [
      'a factor with one level alone',
      bareStudy('treatments: [A, B]', 'factors: {x: [y]}'),
      /^3: .* factor "x" has one level.*\(hint: right for a trial without stratification/,
    ],
    [
      'one beside others',
      bareStudy('treatments: [A, B]', 'factors: {x: [y], z: [a, b]}'),
      /^3: .* factor "x" has one level.*\(hint: list the levels that are missing/,
    ],
    [
      'another D than range for three arms on several factors',
      crossed('A, B, C'),
      /^1: study "S": with 3 arms and 2 factors, D: chisquare does not give .*\(hint: write D: range for a new/,
    ],
    ['not of range', crossed('A, B, C', 'D: range')],
    ['nor of two arms', crossed('A, B')],
    ['nor with a ratio', crossed('A, B, C', 'ratio: [2, 1, 1]')],
    ['nor of one factor', bareStudy('treatments: [A, B, C]', 'factors: {x: [a, b]}')],
  ])('say: %s', (_, text, ...expected) => {
    const warnings = warningsOf(text);
    expect(warnings).toEqual(expected.map((one) => expect.stringMatching(one)));
    expect(warnings.join()).not.toContain(String(SEED - 1n));
  });

  it('are in the order of the file, with its name', () => {
    const text = `${studyWith('starting_seed: 1')}\n${studyWith('starting_seed: 2').replace('S:', 'T:')}\nalpha: 9`;
    const { warnings } = parseStudiesFile(text, 'trial/studies.yml');
    expect(warnings.map(({ file, line }) => `${file} ${line}`)).toEqual(
      [4, 8, 9, 9].map((line) => `trial/studies.yml ${line}`),
    );
  });
});

const pieces = [
  ...['S:', '\n', '  ', 'treatments: ', 'factors: ', '[', ']', '{', '}', 'a', ', ', '&x ', '*x', '"', "'"],
  ...['<<: ', '- ', '? ', ': ', '!t ', '---\n', '|', '>', '#', '%', '\t', '\ud800', '\u0000', '0', '~'],
];

it('any file is either loaded, or refused with line numbers that exist', () => {
  const text = fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((all) => all.join(''));
  fc.assert(
    fc.property(text, (given) => {
      try {
        for (const { configuration } of parseStudiesFile(given, 'f').studies)
          StudyConfiguration.parse(configuration);
      } catch (error) {
        if (!(error instanceof StudiesFileError)) throw error;
        expect(error.findings.length).toBeGreaterThan(0);
        for (const { line, message } of error.findings) {
          expect(line).toBeGreaterThanOrEqual(1);
          expect(line).toBeLessThanOrEqual(given.split('\n').length);
          expect(message).toMatch(/\(hint: .+\)$/s);
        }
      }
    }),
    { seed: 1978, numRuns: 3000 },
  );
});
