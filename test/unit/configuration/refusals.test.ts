import { describe, expect, it } from 'vitest';
import { StudiesFileError } from '../../../src/core/configuration/finding.ts';
import { parseStudiesFile } from '../../../src/core/configuration/studies-file.ts';
import { bareStudy, refusalsOf, studyWith } from './support.ts';

const S = 'study "S":';
const factors = 'factors: {sex: [Male, Female]}';
const treatments = 'treatments: [A, B]';

/** Each row: what is refused, the file, and how its only refusal begins. */
type Row = [what: string, text: string, refusal: string];

function refuses(rows: Row[]): void {
  it.each(rows)('%s', (_what, text, refusal) => {
    const refusals = refusalsOf(text);
    expect(refusals).toEqual([expect.stringMatching(/\(hint: .+\)$/s)]);
    expect(refusals[0]?.slice(0, refusal.length)).toBe(refusal);
  });
}

describe('a refusal', () => {
  const broken = [
    'w: 0',
    'S:',
    '  D: rnage',
    '  treatments: [A]',
    '  colour: red',
    '  factors: {id: [x]}',
  ].join('\n');

  it('lists every reason at once, in the order of the file', () => {
    expect(refusalsOf(broken).map((refusal) => refusal.replace(/ \(hint.*/, ''))).toEqual([
      '1: w is below 1',
      `3: ${S} D is "rnage", not one of range, variance, chisquare`,
      `4: ${S} it has fewer than two treatments`,
      `5: ${S} unknown key "colour"`,
      `6: ${S} factor "id" has the name of a parameter of every request`,
    ]);
  });

  it('formats each reason as file:line: reason (hint: what to do)', () => {
    const error = new StudiesFileError([
      { file: 'studies.yaml', line: 3, message: 'w is below 1 (hint: write at least 1)' },
      { file: 'studies.yaml', line: 8, message: 'no (hint: yes)' },
    ]);
    expect(error.message).toBe(
      'the studies file is refused:\n  studies.yaml:3: w is below 1 (hint: write at least 1)\n  studies.yaml:8: no (hint: yes)',
    );
    expect(() => parseStudiesFile(broken, 'my/studies.yml')).toThrow(
      /^the studies file is refused:\n {2}my\/studies\.yml:1: w is below 1 \(hint: .*\)\n/,
    );
  });

  it('shows no treatment and no seed, because it may end up in a log', () => {
    const text = bareStudy(
      factors,
      'treatments: [Secret, Secret, "Secret\\t", {Secret: 1}]',
      'starting_seed: -4242.5',
    );
    expect(refusalsOf(text)).toHaveLength(4);
    expect(refusalsOf(text).join()).not.toMatch(/Secret|4242/);
    for (const slip of ['treatments: [A, B] Secret', 'treatments: [A, B]] Secret', 'starting_seed: 4: 242']) {
      expect(refusalsOf(bareStudy(slip)).join()).not.toMatch(/Secret|242/);
    }
  });
});

describe('the parser refuses these files:', () => {
  refuses([
    ['an empty one', '', '1: the file names no study'],
    ['only a byte order mark', '\ufeff', '1: the file names no study'],
    ['only comments', '# to do\n', '1: the file names no study'],
    ['an empty document', '---\n', '1: the file names no study'],
    ['an empty mapping', '{}', '1: the file names no study'],
    ['null', 'null', '1: the file names no study'],
    ['only defaults', 'db: x\nw: 2\n', '1: the file names no study'],
    ['a list', '\n- S\n', '2: the file is not a mapping from names to studies'],
    ['a text', 'hello', '1: the file is not a mapping from names to studies'],
    ['a second document', `${studyWith()}\n---\n${studyWith()}`, '4: a second YAML document begins here'],
    ['more than a million characters', `${studyWith()}\n#${'x'.repeat(1_048_576)}`, '1: the file is longer'],
  ]);
});

describe('the parser refuses this YAML:', () => {
  refuses([
    [
      'a tab as indentation',
      `S:\n\ttreatments: [A, B]`,
      '2: not valid YAML: Tabs are not allowed as indentation',
    ],
    ['a bracket left open', bareStudy('treatments: [A, B', factors), '3: not valid YAML'],
    [
      'two colons',
      bareStudy(treatments, 'D: range: x'),
      '3: not valid YAML: Nested mappings are not allowed',
    ],
    ['a quotation mark left open', bareStudy('mode: "test'), '2: not valid YAML: Missing closing "quote'],
    ['a version it does not know', `%YAML 9.9\n---\n${studyWith()}`, '1: Unsupported YAML version 9.9'],
    ['a tag', studyWith('w: !!int 1'), '4: a YAML tag (!) is not supported here'],
    ['a tag of its own', studyWith('mode: !env test'), '4: a YAML tag (!) is not supported here'],
    ['a repeated key', studyWith('w: 1', 'w: 1'), '5: the key of line 4 is repeated here'],
    [
      'a repeated study',
      `${studyWith()}\n${studyWith().replace('S', '"S"')}`,
      '4: the key of line 1 is repeated here',
    ],
    [
      'a repeated factor',
      bareStudy(treatments, 'factors:', '  a: [x]', '  a: [y]'),
      '5: the key of line 4 is repeated here',
    ],
    [
      'a merge key',
      `A: &a {${treatments}, ${factors}}\nB:\n  <<: *a\n  ${treatments}\n  ${factors}`,
      '3: merge keys',
    ],
    ['a list as a key', `${studyWith()}\n? [a, b]\n: 1`, '4: a list or mapping is used as a key'],
    [
      'an alias to nothing',
      bareStudy(treatments, 'factors: {sex: [Male, *female]}'),
      '3: an alias (*) has no value above',
    ],
  ]);

  it('more than a hundred aliases', () => {
    const levels = (count: number) =>
      `factors: {a: [&x one, two], b: [${Array(count).fill('*x').join(', ')}]}`;
    const refusals = refusalsOf(bareStudy(treatments, levels(150)));
    expect(refusals.filter((refusal) => refusal.startsWith('3: more than 100 aliases'))).toHaveLength(1);
  });

  it('an alias inside the value it refers to', () => {
    expect(refusalsOf('S: &s {treatments: [A, B], factors: *s}')).toContainEqual(
      expect.stringMatching(/^1: study "S": factor "factors": the levels are not a list/),
    );
  });

  it.each([
    ['lists', '['.repeat(900) + ']'.repeat(900)],
    ['unclosed lists', '['.repeat(50_000)],
    ['mappings', '{a: '.repeat(900) + '}'.repeat(900)],
    ['indented mappings', Array.from({ length: 900 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
  ])('%s nested too deeply', (_what, text) => {
    expect(refusalsOf(`S: {}\nT:\n ${text.replaceAll('\n', '\n ')}`).length).toBeGreaterThan(0);
  });

  it('aliases of aliases that expand to a billion values', () => {
    const laughs = Array.from(
      { length: 9 },
      (_, n) => `l${n + 1}: &l${n + 1} [${Array(10).fill(`*l${n}`).join(', ')}]`,
    );
    expect(refusalsOf(['l0: &l0 [x, y]', ...laughs].join('\n')).length).toBeGreaterThanOrEqual(10);
  });
});

describe('the parser refuses this at the top level:', () => {
  refuses([
    ['an unknown scalar', `tile: x\n${studyWith()}`, '1: unknown key "tile" at the top level'],
    ['a list', `${studyWith()}\nothers: [a]`, '4: unknown key "others" at the top level'],
    ['a setting of a study', `${studyWith()}\nmode: test`, '4: mode is outside a study'],
    ['a study with nothing below it', `${studyWith()}\nT:`, '4: "T" has nothing below it'],
    ['a default without a value', `w:\n${studyWith()}`, '1: w has no value'],
    ['a default out of range', `${studyWith()}\nbeta: -1`, '4: beta is negative'],
    ['a default that is unknown', `D: chi\n${studyWith()}`, '1: D is "chi", not one of'],
    ['a default that is a list', `alpha: [1]\n${studyWith()}`, '1: alpha is not a number'],
  ]);

  it('treatments without a study around them, with a hint on how to fix it', () => {
    expect(refusalsOf('treatments: [A, B]')).toEqual([
      '1: treatments is outside a study (hint: indent it below the name of its study)',
    ]);
  });
});

describe('the parser refuses these study names:', () => {
  const named = (name: string) => studyWith().replace('S:', `${name}:`);
  refuses([
    ['none', named('""'), '1: study "": its name is empty'],
    ['white space', named('"  "'), '1: study "  ": its name is empty'],
    ['a line break', named('"a\\nb"'), '1: study "a\\nb": its name contains a control character'],
    ['a C1 control', named('"a\\x85b"'), '1: study "a\u0085b": its name contains a control character'],
    ['half a character', named('"a\\ud800"'), '1: study "a\\ud800": its name contains half a character'],
    [
      'the remains of text that was not UTF-8',
      named('"Caf\ufffd"'),
      '1: study "Caf\ufffd": its name contains the',
    ],
  ]);
});

describe('the parser refuses these treatments:', () => {
  const having = (...list: string[]) => bareStudy(factors, ...list);
  refuses([
    ['none', having(), `1: ${S} it has no treatments`],
    ['no value', having('treatments:'), `3: ${S} treatments has no value`],
    ['an empty list', having('treatments: []'), `3: ${S} it has fewer than two treatments`],
    ['a single one', having('treatments:', '  - A'), `3: ${S} it has fewer than two treatments`],
    ['a text', having('treatments: A, B'), `3: ${S} the treatments are not a list`],
    ['a mapping', having('treatments: {A: 1, B: 1}'), `3: ${S} the treatments are not a list`],
    [
      'a repeated one',
      having('treatments:', '  - A', '  - B', '  - "A"'),
      `6: ${S} treatment 3 is the same as treatment 1`,
    ],
    [
      'a number and the same text',
      having('treatments: [1, "1"]'),
      `3: ${S} treatment 2 is the same as treatment 1`,
    ],
    ['an empty name', having('treatments:', '  - A', '  - ""'), `5: ${S} treatment 2 is empty`],
    ['a name left out', having('treatments:', '  -', '  - B'), `4: ${S} treatment 1 is empty`],
    ['a tab', having('treatments: [A, "B\\t"]'), `3: ${S} treatment 2 contains a control character`],
    [
      'the line break of a text block',
      having('treatments:', '  - A', '  - |', '    B', ''),
      `5: ${S} treatment 2 contains a control`,
    ],
    [
      'half a character',
      having('treatments: ["\\udc00", B]'),
      `3: ${S} treatment 1 contains half a character`,
    ],
    ['a colon without quotes', having('treatments: [A, B: b]'), `3: ${S} treatment 2 is a list or a mapping`],
    ['a list in the list', having('treatments: [A, [B]]'), `3: ${S} treatment 2 is a list or a mapping`],
  ]);
});

describe('the parser refuses these factors and levels:', () => {
  const having = (...list: string[]) => bareStudy(treatments, ...list);
  refuses([
    ['none', having(), `1: ${S} it has no factors`],
    ['no value', having('factors:'), `3: ${S} factors has no value`],
    ['an empty mapping', having('factors: {}'), `3: ${S} it has no factor`],
    ['a list', having('factors:', '  - sex: [Male]'), `3: ${S} the factors are not a mapping`],
    ['a factor with an empty list', having('factors:', '  sex: []'), `4: ${S} factor "sex" has no level`],
    ['a factor with nothing', having('factors:', '  sex:'), `4: ${S} factor "sex" has no level`],
    [
      'a factor with a single text',
      having('factors:', '  sex: Male'),
      `4: ${S} factor "sex": the levels are not a list`,
    ],
    [
      'a repeated level',
      having('factors:', '  sex:', '    - M', '    - M'),
      `6: ${S} factor "sex": level 2 is the same as level 1`,
    ],
    ['an empty level', having('factors: {sex: [Male, ""]}'), `3: ${S} factor "sex": level 2 is empty`],
    [
      'a level with a control character',
      having('factors: {sex: ["M\\0"]}'),
      `3: ${S} factor "sex": level 1 contains a control`,
    ],
    [
      'a level with half a character',
      having('factors: {sex: ["\\ud83d"]}'),
      `3: ${S} factor "sex": level 1 contains half`,
    ],
    ['an empty factor name', having('factors: {"": [x]}'), `3: ${S} factor "" is empty`],
    [
      'a factor name with a control character',
      having('factors: {"a\\e": [x]}'),
      `3: ${S} factor "a\\u001b" contains a control`,
    ],
    ...['api_key', 'study', 'id'].map(
      (name): Row => [
        `a factor called ${name}`,
        having('factors:', '  sex: [Male]', `  ${name}: [x]`),
        `5: ${S} factor "${name}" has the name of a parameter of every request`,
      ],
    ),
    [
      'a factor that begins with f_',
      having('factors: {f_sex: [x]}'),
      `3: ${S} factor "f_sex" begins with "f_"`,
    ],
    [
      'a factor that begins with urn.',
      having('factors: {urn.at: [x]}'),
      `3: ${S} factor "urn.at" begins with "urn."`,
    ],
  ]);

  it('but accepts names that are merely similar', () => {
    const text = having('factors: {ID: [x], study_site: [x], f: [x], urn: [x], api_key2: [x], F_sex: [x]}');
    expect(parseStudiesFile(text, 'studies.yaml').studies).toHaveLength(1);
  });
});

describe('the parser refuses these numbers:', () => {
  const keys = ['starting_seed', 'w', 'alpha', 'beta', 'target_enrollment'];
  const cases: [string, string][] = [
    ['-1', 'is negative'],
    ['-0', 'is negative'],
    ['1.0', 'is not a whole number'],
    ['1e3', 'is not a whole number'],
    ['+1', 'is not a whole number'],
    ['.inf', 'is not a whole number'],
    ['one', 'is not a whole number'],
    ['true', 'is not a whole number'],
    ['1_000', 'is not a whole number'],
    ['0x', 'is not a whole number'],
    ['"1"', 'is text, not a number'],
    ['!!str 1', 'is text, not a number'],
    ['0100', 'begins with a zero, which some YAML readers take for octal'],
    ['0o144', 'begins with a zero'],
    ['00', 'begins with a zero'],
    ['[1]', 'is not a number'],
    ['{a: 1}', 'is not a number'],
    ['~', 'has no value'],
    ['null', 'has no value'],
    ['', 'has no value'],
  ];
  for (const key of keys) {
    refuses(
      cases.map(
        ([value, reason]): Row => [
          `${key}: ${value}`,
          studyWith(`${key}: ${value}`),
          `4: ${S} ${key} ${reason}`,
        ],
      ),
    );
  }
  refuses([
    [
      'w of 0, against ICH E9',
      studyWith('w: 0'),
      `4: ${S} w is below 1 (hint: write at least 1: with w 0 the second`,
    ],
    ...['w', 'alpha', 'beta'].map(
      (key): Row => [
        `${key} above a million`,
        studyWith(`${key}: 1000001`),
        `4: ${S} ${key} is above 1000000`,
      ],
    ),
    [
      'a target above 2^53',
      studyWith('target_enrollment: 9007199254740992'),
      `4: ${S} target_enrollment is above`,
    ],
  ]);

  it('but accepts the bounds themselves', () => {
    const text = studyWith('w: 1000000', 'alpha: 0', 'beta: 0', 'target_enrollment: 0');
    expect(parseStudiesFile(text, 'studies.yaml').studies[0]?.configuration).toMatchObject({
      w: 1_000_000,
      beta: 0,
    });
  });
});

describe('the parser refuses these other settings:', () => {
  refuses([
    [
      'an unknown measure',
      studyWith('D: entropy'),
      `4: ${S} D is "entropy", not one of range, variance, chisquare`,
    ],
    [
      'a measure in capitals',
      studyWith('D: Range'),
      `4: ${S} D is "Range", not one of range, variance, chisquare (hint: did you mean range?)`,
    ],
    [
      'an unknown method',
      studyWith('urn_selection: method2'),
      `4: ${S} urn_selection is "method2", not one of method1`,
    ],
    ['an unknown mode', studyWith('mode: production'), `4: ${S} mode is "production", not one of test, live`],
    [
      'a mode that is a list',
      studyWith('mode: [test]'),
      `4: ${S} mode is a list or mapping, not one of test, live`,
    ],
    ['a mode without a value', studyWith('mode:'), `4: ${S} mode has no value`],
    ['an unknown key', studyWith('colour: red'), `4: ${S} unknown key "colour" (hint: choose one of D, `],
    ['a misspelt key', studyWith('start_seed: 1'), `4: ${S} unknown key "start_seed"`],
    ['a key in small letters', studyWith('d: range'), `4: ${S} unknown key "d" (hint: did you mean D?)`],
    [
      'a key one letter off',
      studyWith('target_enrolment: 1'),
      `4: ${S} unknown key "target_enrolment" (hint: did you mean target_enrollment?)`,
    ],
    ['db inside a study', studyWith('db: x'), `4: ${S} db is inside the study`],
    [
      'a pattern that does not compile',
      studyWith("id_pattern: '[0-9'"),
      `4: ${S} id_pattern cannot be used: Invalid regular expression`,
    ],
    [
      'a pattern that breaks out of its group',
      studyWith("id_pattern: 'a)|(?:b'"),
      `4: ${S} id_pattern cannot be used`,
    ],
    [
      'a pattern in the syntax before 2015',
      studyWith("id_pattern: '\\-'"),
      `4: ${S} id_pattern cannot be used`,
    ],
    [
      'a pattern that YAML reads as a list',
      studyWith('id_pattern: [0-9]'),
      `4: ${S} id_pattern is not a regular expression`,
    ],
    ['an empty pattern', studyWith('id_pattern: ""'), `4: ${S} id_pattern is not a regular expression`],
    [
      'a pattern longer than any id needs',
      studyWith(`id_pattern: ${'x'.repeat(1001)}`),
      `4: ${S} id_pattern is longer than`,
    ],
    ['a pattern without a value', studyWith('id_pattern: null'), `4: ${S} id_pattern has no value`],
  ]);
});
