/** What a studies file cannot have: each row has the file, or what is written into one, and how its only refusal begins. What studies that are new to the log cannot have. And the setting `method`. */
import { describe, expect, it } from 'vitest';
import { StudiesFileError } from '../../../src/core/configuration/finding.ts';
import { parseStudiesFile, refuseNewStudies } from '../../../src/core/configuration/studies-file.ts';
import { bareStudy, onlyStudyOf, refusalsOf, studyWith, warningsOf } from './support.ts';

const FACTORS = 'factors: {sex: [Male, Female]}';
const TREATMENTS = 'treatments: [A, B]';
type Row = readonly [written: string, refusal: string];

/** @param refused the refusal in whole, from what the row says of it */
const refuses = (
  subject: string,
  rows: readonly Row[],
  written: (text: string) => string = (text) => text,
  refused: (refusal: string) => string = (refusal) => refusal,
) =>
  describe(`the parser refuses ${subject}:`, () => {
    it.each(rows.map(([text, refusal]) => [text.slice(0, 80), text, refusal] as const))(
      '%j',
      (_, text, refusal) => {
        const refusals = refusalsOf(written(text));
        expect(refusals).toEqual([expect.stringMatching(/\(hint: .+\)$/s)]);
        const expected = refused(refusal);
        expect(refusals[0]?.slice(0, expected.length)).toBe(expected);
      },
    );
  });
/** On the fourth line of a study. */
const refusesSetting = (subject: string, rows: readonly Row[]) =>
  refuses(
    subject,
    rows,
    (text) => studyWith(text),
    (refusal) => `4: study "S": ${refusal}`,
  );
/** From the second line of a study on, behind a line that is in order. */
const refusesBehind = (line: string, subject: string, rows: readonly Row[]) =>
  refuses(
    subject,
    rows,
    (text) => bareStudy(line, ...text.split('\n')),
    (refusal) => refusal.replace(/^\d+: /, '$&study "S": '),
  );

describe('a refusal', () => {
  const broken = 'w: 0\nS:\n  D: rnage\n  treatments: [A]\n  colour: red\n  factors: {id: [x]}';

  it('lists every reason at once, in the order of the file', () => {
    expect(refusalsOf(broken).map((refusal) => refusal.replace(/ \(hint.*/, ''))).toEqual([
      '1: w is below 1',
      '3: study "S": D is "rnage", not one of range, variance, chisquare',
      '4: study "S": it has fewer than two treatments',
      '5: study "S": unknown key "colour"',
      '6: study "S": factor "id" has the name of a parameter of every request',
    ]);
  });

  it('formats each reason as file:line: reason (hint: what to do)', () => {
    expect(() => parseStudiesFile(broken, 'my/studies.yml')).toThrow(
      /^the studies file is refused:\n {2}my\/studies\.yml:1: w is below 1 \(hint: .*\)\n {2}my\/studies\.yml:3: /,
    );
  });

  it('shows no treatment and no seed, because it may end up in a log', () => {
    const secrets = 'treatments: [Secret, Secret, "Secret\\t", {Secret: 1}]';
    const text = bareStudy(FACTORS, secrets, 'starting_seed: -4242.5');
    expect(refusalsOf(text)).toHaveLength(4);
    expect(refusalsOf(text).join()).not.toMatch(/Secret|4242/);
    for (const slip of ['treatments: [A, B] Secret', 'treatments: [A, B]] Secret', 'starting_seed: 4: 242'])
      expect(refusalsOf(bareStudy(slip)).join()).not.toMatch(/Secret|242/);
    const ratio = refusalsOf(studyWith('ratio:', '  A: 2', '  Zulu: 1', '  B: many'));
    expect(ratio).toEqual([
      expect.stringMatching(/^6: study "S": entry 2 of the ratio is not a treatment of the study/),
      expect.stringMatching(/^7: study "S": the ratio of treatment 2 is not a whole number/),
    ]);
    const visits = ['visits:', '  - V2', '  - after zulu', '  - v2', '  - ","'];
    const refused = refusalsOf(bareStudy('treatments: [Zulu, B]', FACTORS, ...visits));
    expect(refused).toEqual([
      expect.stringMatching(/^6: .* visit 2 is, or contains, the name of an arm/),
      expect.stringMatching(/^7: .* visit 3 is the same as visit 1/),
      expect.stringMatching(/^8: .* visit 4 has not the form/),
    ]);
    expect(`${ratio}${refused}`).not.toMatch(/zulu/i);
  });
});

const NO_STUDY = '1: the file names no study';
refuses('a file', [
  ['', NO_STUDY],
  ['{}', NO_STUDY],
  ['db: x\nw: 2\n', NO_STUDY],
  ['\n- S\n', '2: the file is not a mapping from names to studies'],
  ['hello', '1: the file is not a mapping from names to studies'],
  [`${studyWith()}\n---\n${studyWith()}`, '4: a second YAML document begins here'],
  [`${studyWith()}\n#${'x'.repeat(1_048_576)}`, '1: the file is longer'],
]);

refuses('YAML', [
  ['S:\n\ttreatments: [A, B]', '2: not valid YAML: Tabs are not allowed as indentation'],
  [bareStudy('treatments: [A, B', FACTORS), '3: not valid YAML'],
  [bareStudy(TREATMENTS, 'D: range: x'), '3: not valid YAML: Nested mappings are not allowed'],
  [bareStudy('mode: "test'), '2: not valid YAML: Missing closing "quote'],
  [`%YAML 9.9\n---\n${studyWith()}`, '1: Unsupported YAML version 9.9'],
  [studyWith('w: !!int 1'), '4: a YAML tag (!) is not supported here'],
  [studyWith('w: 1', 'w: 1'), '5: the key of line 4 is repeated here'],
  [`${studyWith()}\n${studyWith().replace('S', '"S"')}`, '4: the key of line 1 is repeated here'],
  [bareStudy(TREATMENTS, 'factors:', '  a: [x]', '  a: [y]'), '5: the key of line 4 is repeated here'],
  [`A: &a {${TREATMENTS}, ${FACTORS}}\nB:\n  <<: *a\n  ${TREATMENTS}\n  ${FACTORS}`, '3: merge keys'],
  [`${studyWith()}\n? [a, b]\n: 1`, '4: a list or mapping is used as a key'],
  [bareStudy(TREATMENTS, 'factors: {sex: [Male, *female]}'), '3: an alias (*) has no value above'],
]);

const LAUGHS = Array.from(
  { length: 9 },
  (_, n) => `l${n + 1}: &l${n + 1} [${Array(10).fill(`*l${n}`).join(', ')}]`,
);
const aliases = `factors: {a: [&x one, two], b: [${Array(150).fill('*x').join(', ')}]}`;
const nested = (text: string) => `S: {}\nT:\n ${text.replaceAll('\n', '\n ')}`;
const indented = Array.from({ length: 900 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n');
it.each([
  ['more than a hundred aliases', bareStudy(TREATMENTS, aliases), /^3: more than 100 aliases/],
  [
    'an alias inside the value it refers to',
    'S: &s {treatments: [A, B], factors: *s}',
    /the levels are not a/,
  ],
  ['aliases that expand to a billion values', ['l0: &l0 [x, y]', ...LAUGHS].join('\n'), /./],
  ['lists nested too deeply', nested('['.repeat(900) + ']'.repeat(900)), /./],
  ['unclosed lists', nested('['.repeat(50_000)), /./],
  ['mappings nested too deeply', nested('{a: '.repeat(900) + '}'.repeat(900)), /./],
  ['indented mappings', nested(indented), /./],
])('the parser refuses this, too, and ends %s', (_what, text, refusal) => {
  expect(refusalsOf(text)).toContainEqual(expect.stringMatching(refusal));
});

refuses(
  'at the top level',
  [
    ['tile: x', 'unknown key "tile" at the top level'],
    ['mode: test', 'mode is outside a study'],
    [TREATMENTS, 'treatments is outside a study (hint: indent it below the name of its study)'],
    ['T:', '"T" has nothing below it'],
    ['w:', 'w has no value'],
    ['beta: -1', 'beta is negative'],
    ['D: chi', 'D is "chi", not one of'],
    ['alpha: [1]', 'alpha is not a number'],
  ],
  (text) => `${studyWith()}\n${text}`,
  (refusal) => `4: ${refusal}`,
);

refuses(
  'a study by the name of',
  [
    ['""', 'study "": its name is empty'],
    ['"  "', 'study "  ": its name is empty'],
    ['"a\\nb"', 'study "a\\nb": its name contains a control character'],
    ['"a\\x85b"', 'study "a\u0085b": its name contains a control character'],
    ['"a\\ud800"', 'study "a\\ud800": its name contains half a character'],
    ['"Caf\ufffd"', 'study "Caf\ufffd": its name contains the'],
  ],
  (name) => studyWith().replace('S:', `${name}:`),
  (refusal) => `1: ${refusal}`,
);

refusesBehind(FACTORS, 'treatments', [
  ['mode: test', '1: it has no treatments'],
  ['treatments:', '3: treatments has no value'],
  ['treatments:\n  - A', '3: it has fewer than two treatments'],
  ['treatments: A, B', '3: the treatments are not a list'],
  ['treatments:\n  - A\n  - B\n  - "A"', '6: treatment 3 is the same as treatment 1'],
  ['treatments: [1, "1"]', '3: treatment 2 is the same as treatment 1'],
  ['treatments:\n  - A\n  - ""', '5: treatment 2 is empty'],
  ['treatments:\n  -\n  - B', '4: treatment 1 is empty'],
  ['treatments: [A, "B\\t"]', '3: treatment 2 contains a control character'],
  ['treatments: [A, B: b]', '3: treatment 2 is a list or a mapping'],
]);

refusesBehind(TREATMENTS, 'factors and levels', [
  ['mode: test', '1: it has no factors'],
  ['factors:', '3: factors has no value'],
  ['factors: {}', '3: it has no factor'],
  ['factors:\n  - sex: [Male]', '3: the factors are not a mapping'],
  ['factors:\n  sex: []', '4: factor "sex" has no level'],
  ['factors:\n  sex:', '4: factor "sex" has no level'],
  ['factors:\n  sex: Male', '4: factor "sex": the levels are not a list'],
  ['factors:\n  sex:\n    - M\n    - M', '6: factor "sex": level 2 is the same as level 1'],
  ['factors: {sex: [Male, ""]}', '3: factor "sex": level 2 is empty'],
  ['factors: {sex: ["\\ud83d"]}', '3: factor "sex": level 1 contains half'],
  ['factors: {"": [x]}', '3: factor "" is empty'],
  ['factors: {"a\\e": [x]}', '3: factor "a\\u001b" contains a control'],
  ...['api_key', 'study', 'id'].map(
    (name): Row => [
      `factors:\n  sex: [Male]\n  ${name}: [x]`,
      `5: factor "${name}" has the name of a parameter of every request`,
    ],
  ),
  ['factors: {f_sex: [x]}', '3: factor "f_sex" begins with "f_"'],
  ['factors: {urn.at: [x]}', '3: factor "urn.at" begins with "urn."'],
]);

refusesSetting('numbers', [
  ...Object.entries({
    ...{ '-1': 'is negative', '-0': 'is negative', '"1"': 'is text, not a number' },
    ...{ '!!str 1': 'is text, not a number', '0o144': 'begins with a zero', '00': 'begins with a zero' },
    ...{ '0100': 'begins with a zero, which some YAML readers take for octal', '[1]': 'is not a number' },
    ...{ '{a: 1}': 'is not a number', '~': 'has no value', null: 'has no value', '': 'has no value' },
  }).map(([value, why]): Row => [`w: ${value}`, `w ${why}`]),
  ...['1.0', '1e3', '+1', '.inf', 'one', 'true', '1_000', '0x'].map(
    (value): Row => [`w: ${value}`, 'w is not a whole number'],
  ),
  ...['starting_seed', 'alpha', 'beta', 'target_enrollment'].map(
    (key): Row => [`${key}: -1`, `${key} is negative`],
  ),
  // Against ICH E9.
  ['w: 0', 'w is below 1 (hint: write at least 1: with w 0 the second'],
  ...['w', 'alpha', 'beta'].map((key): Row => [`${key}: 1000001`, `${key} is above 1000000`]),
  ['target_enrollment: 9007199254740992', 'target_enrollment is above'],
  ['limits: {total: 0}', 'total is below 1'],
  ['limits: {levels: {sex: {Male: many}}}', 'Male is not a whole number'],
]);

refusesSetting('other settings', [
  ['D: entropy', 'D is "entropy", not one of range, variance, chisquare'],
  ['D: Range', 'D is "Range", not one of range, variance, chisquare (hint: did you mean range?)'],
  ['urn_selection: method2', 'urn_selection is "method2", not one of method1'],
  ['mode: production', 'mode is "production", not one of test, live'],
  ['mode: [test]', 'mode is a list or mapping, not one of test, live'],
  ['mode:', 'mode has no value'],
  ['colour: red', 'unknown key "colour" (hint: choose one of D, '],
  ['d: range', 'unknown key "d" (hint: did you mean D?)'],
  ['target_enrolment: 1', 'unknown key "target_enrolment" (hint: did you mean target_enrollment?)'],
  ['db: x', 'db is inside the study'],
  ["id_pattern: '[0-9'", 'id_pattern cannot be used: Invalid regular expression'],
  // In the syntax before 2015.
  ["id_pattern: '\\-'", 'id_pattern cannot be used'],
  ['id_pattern: [0-9]', 'id_pattern is not a regular expression'],
  ['id_pattern: ""', 'id_pattern is not a regular expression'],
  [`id_pattern: ${'x'.repeat(1001)}`, 'id_pattern is longer than'],
  ['id_pattern: null', 'id_pattern has no value'],
  ['blinding: double', 'blinding is "double", not one of open, blinded'],
  ['start: closed', 'start is "closed", not one of open, paused'],
  ['limits: 300', 'limits is not a mapping'],
  ['limits: {totl: 3}', 'limits has no "totl" (hint: did you mean total?)'],
  ['limits: {levels: {sx: {Male: 1}}}', 'levels has no "sx" (hint: did you mean sex?)'],
  ['limits: {levels: {sex: {Mal: 1}}}', 'sex has no "Mal" (hint: did you mean Male?)'],
  ['policies: {stop_at_limit: yes}', 'stop_at_limit is "yes", not one of true, false'],
  ['policies: {void_counts: gone}', 'void_counts is "gone", not one of kept, removed'],
  ['protocol: {date: "2027-01-10"}', 'the protocol has no version'],
  ['protocol: {version: "2", date: "2027-02-30"}', 'the protocol\'s date "2027-02-30" is not'],
]);

refusesSetting('a ratio', [
  ['ratio: [1, 1]', 'the ratio gives every treatment the same share (hint: leave it out)'],
  ['ratio: 2:1', 'the ratio is neither a mapping nor a list'],
  ['ratio: [2, 1, 1]', 'the ratio has 3 numbers for 2 treatments'],
  ['ratio: {A: 2}', 'the ratio leaves out treatment 2'],
  ['ratio: [2, 0]', 'the ratio of treatment 2 is below 1'],
  ['ratio: [21, 1]', 'the ratio of treatment 1 is above 20'],
  ['ratio: {A: , B: 1}', 'the ratio of treatment 1 has no value'],
  ['ratio:', 'ratio has no value'],
]);

refusesSetting('visits', [
  ['visits: [V1, "V2 "]', 'visit 2 has not the form of a visit (hint: write 1 to 20 '],
  ['visits:', 'visits has no value'],
  ['visits: V2', 'the visits are not a list'],
  ['visits: []', 'it has no visit (hint: leave visits out)'],
  ['visits: [V2, V3, v2]', 'visit 3 is the same as visit 1 (capital letters do not matter)'],
  ['visits: [V2, b]', 'visit 2 is, or contains, the name of an arm'],
  [
    `visits: [${Array.from({ length: 101 }, (_, i) => `V${i}`)}]`,
    'it has 101 visits (hint: list at most 100)',
  ],
]);

it('an id pattern that RE2 cannot run is refused for a new study alone', () => {
  const looksAhead = onlyStudyOf(studyWith("id_pattern: '(?!0)[0-9]{3}'"));
  const refuse = () => refuseNewStudies([looksAhead], () => true, []);
  expect(refuse).toThrow(StudiesFileError);
  expect(refuse).toThrow(
    /^the studies file is refused:\n {2}studies\.yaml:4: study "S": id_pattern has \(\? before .*, which a new study cannot have \(hint: groups are .*\)$/,
  );
  expect(looksAhead.configuration.idPattern).toBe('(?!0)[0-9]{3}');
  expect(() => refuseNewStudies([looksAhead], (name) => name !== 'S', [])).not.toThrow();
  expect(onlyStudyOf(studyWith("id_pattern: '[0-9]{3}'")).refusedIfNew).toEqual([]);
});

it.each([
  ['must be in its lowest terms', '[4, 2, 2]', '[2, 1, 1]', 'all its numbers can be divided by 2'],
  ['has at most 40 slots', '[20, 20, 1]', '[20, 19, 1]', 'there would be 41 slots'],
])('the ratio of a new study %s', (_, impossible, possible, why) => {
  const study = (ratio: string) =>
    onlyStudyOf(bareStudy('treatments: [A, B, C]', `ratio: ${ratio}`, 'factors: {sex: [M, F]}'));
  expect(() => refuseNewStudies([study(impossible)], () => true, [])).toThrow(
    `studies.yaml:3: study "S": the ratio is not possible: ${why}`,
  );
  expect(refuseNewStudies([study(possible)], () => true, [])).toEqual([]);
  // In a registered study it may be the ratio in force for the arms that are still open.
  expect(refuseNewStudies([study(impossible)], () => false, [])).toEqual([]);
});

describe('a seed that another study has', () => {
  const SEED = 2n ** 100n;
  const configured = (mode: string) => onlyStudyOf(studyWith(`mode: ${mode}`, `starting_seed: ${SEED}`));
  const registered = (mode: 'test' | 'live') => ({
    configuration: { ...configured(mode).configuration, name: 'Earlier' },
    seed: String(SEED),
    seedSource: 'configured' as const,
  });

  it.each([
    ['test', 'live'],
    ['live', 'test'],
  ] as const)('is refused for a new %s study if the other study is a %s', (mode, other) => {
    const refuse = () => refuseNewStudies([configured(mode)], () => true, [registered(other)]);
    expect(refuse).toThrow(
      `studies.yaml:5: study "S": starting_seed is that of the ${other} study "Earlier"`,
    );
    // What is in the log stays valid.
    expect(refuseNewStudies([configured(mode)], () => false, [registered(other)])).toEqual([]);
  });

  it('causes a warning between two test studies or two live studies', () => {
    for (const mode of ['test', 'live'] as const)
      expect(refuseNewStudies([configured(mode)], () => true, [registered(mode)])).toMatchObject([
        { line: 5, message: expect.stringContaining('both draw the same numbers') },
      ]);
  });

  it('is also refused within one file, and never shown', () => {
    const [live, test] = [configured('live'), configured('test')];
    const other = { ...test, configuration: { ...test.configuration, name: 'Rehearsal' } };
    const refuse = () => refuseNewStudies([live, other], () => true, []);
    expect(refuse).toThrow('that of the test study "Rehearsal"');
    expect(refuse).not.toThrow(String(SEED));
  });
});

it('names of a new study have at most 200 characters, and none that looks like another; treatments are not shown', () => {
  const long = (letter: string) => letter.repeat(201);
  const text = [`${long('n')}:`, `  treatments: [${long('t')}, ${'t'.repeat(200)}]`];
  const factors = `  factors: {${long('f')}: [x, ${long('l')}]}`;
  const said = onlyStudyOf([...text, factors].join('\n')).refusedIfNew.map(({ message }) => message);
  expect(said.map((message) => /^study "n{40}…": (.*?) has more than 200/.exec(message)?.[1])).toEqual([
    ...['its name', 'treatment 1', 'the name of factor 1', 'level 2 of factor 1'],
  ]);
  expect(said.join()).not.toMatch(/tt|ff|ll\b/);
  expect(onlyStudyOf(studyWith().replace('S:', '"S\u200b":')).refusedIfNew).toMatchObject([
    { message: expect.stringContaining('its name contains U+200B, which nobody sees') },
  ]);
});

const study = (more: object) =>
  JSON.stringify({
    S: {
      mode: 'test',
      treatments: ['A', 'B', 'C'],
      factors: { sex: ['F', 'M'], site: ['1', '2'], stage: ['x', 'y'] },
      ...more,
    },
  });

function read(method: object, more: object = {}) {
  const { configuration, parameters } = onlyStudyOf(study({ method, ...more }));
  return { method: 'method' in configuration ? configuration.method : undefined, parameters };
}

const refusals = (more: object) =>
  refusalsOf(study(more)).map((refusal) => refusal.replace(/^1: study "S": (.*?)(?: \(hint: .*)?$/s, '$1'));

const warnings = (more: object) => warningsOf(study(more)).join('\n');

describe('a method', () => {
  it.each([
    [{ name: 'urn' }, undefined, {}],
    [{ name: 'complete' }, { name: 'complete' }, {}],
    [
      { name: 'blocks', by: ['site', 'sex'], sizes: [9, 3, 6] },
      { name: 'blocks', by: ['sex', 'site'] },
      { blocks: { perSlot: [1, 2, 3] } },
    ],
    [{ name: 'blocks', by: [], sizes: [6] }, { name: 'blocks', by: [] }, { blocks: { perSlot: [2] } }],
    [{ name: 'list', by: ['site', 'sex'] }, { name: 'list', by: ['sex', 'site'] }, {}],
    [
      { name: 'minimization', p: 0.667, measure: 'variance', weights: { site: 3, stage: 1, sex: 2 } },
      { name: 'minimization' },
      { minimization: { measure: 'variance', pThousandths: 667, weights: [2, 3, 1] } },
    ],
    [
      { name: 'minimization', weights: { sex: 1, site: 1, stage: 1 } },
      { name: 'minimization' },
      { minimization: { measure: 'range', pThousandths: 800 } },
    ],
  ])('%j is read', (given, method, parameters) => {
    expect(read(given)).toEqual({ method, parameters });
  });

  it('has sizes by the slots of a ratio', () => {
    const blocks = { name: 'blocks', by: [], sizes: [4, 8] };
    expect(read(blocks, { ratio: [2, 1, 1] }).parameters).toEqual({ blocks: { perSlot: [1, 2] } });
  });

  it.each<[object, string[]]>([
    [{ method: 'blocks' }, ['method is not a mapping']],
    [{ method: { name: 'block' } }, ['method: there is no method "block"']],
    [{ method: { by: [] } }, ['method: it has no name']],
    [{ method: { name: ['blocks'] } }, ['method: it has no name']],
    [{ method: { name: 'blocks', by: [['sex']], sizes: [6] } }, ['method: by: a factor has no name']],
    [{ method: { name: 'complete', p: 0.8 } }, ['method: complete has no "p"']],
    [{ method: { name: 'blocks', sizes: [6] } }, ['method: blocks needs by']],
    [{ method: { name: 'blocks', by: [] } }, ['method: blocks needs sizes']],
    [{ method: { name: 'list', sizes: [6] } }, ['method: list has no "sizes"', 'method: list needs by']],
    [
      { factors: { treatment: ['x', 'y'] }, method: { name: 'list', by: ['treatment'] } },
      ['method: by: the column treatment of a list has the arms'],
    ],
    [
      { w: 1, ratio: [2, 1, 1], starting_seed: 7, method: { name: 'list', by: ['site'] } },
      [
        'w belongs to the urn, and this study has a list',
        'ratio: a list holds its own ratio',
        'starting_seed: from a list nothing is drawn',
      ],
    ],
    [
      { w: 3, D: 'range', method: { name: 'blocks', by: ['seks', 'sex', 'sex'], sizes: [5, 6, 6, 0] } },
      [
        'method: by: the study has no factor "seks"',
        'method: by: the factor "sex" is there twice',
        'method: sizes: 5 is not a multiple of 3, the number of slots',
        'method: sizes: 6 is there twice',
        'method: sizes: a size is below 1',
        'w belongs to the urn, and this study has blocks',
        'D belongs to the urn, and this study has blocks',
      ],
    ],
    [{ method: { name: 'blocks', by: [], sizes: [] } }, ['method: sizes must be 1 to 8 different numbers']],
    ...[0.549, 0.951, 0.8125, '0.8'].map((p): [object, string[]] => [
      { method: { name: 'minimization', p } },
      ['method: p must be from 0.55 to 0.95, with at most three decimals'],
    ]),
    [{ method: { name: 'minimization', measure: 'x' } }, ['method: measure must be range or variance']],
    ...[
      { sex: 2, site: 4, stage: 2 },
      { sex: 2, site: 3 },
    ].map((weights): [object, string[]] => [
      { method: { name: 'minimization', weights } },
      ['method: weights must be whole numbers from 1 to 100 for all factors, without a common divisor'],
    ]),
    [
      { method: { name: 'minimization', weights: { age: 1, sex: 101, site: 1, stage: 1 } } },
      ['method: weights has no "age"', 'method: the weight of "sex" is above 100'],
    ],
  ])('%j is refused, with all that is wrong', (more, expected) => {
    expect(refusals(more).toSorted()).toEqual(expected.toSorted());
  });
});

it.each([
  ['urn', 'w', 'write w beside method, not in it'],
  ['urn', 'sizes', 'leave it out'],
  ['blocks', 'bye', 'did you mean by?'],
])('a method %s with %s is told where it belongs', (name, key, hint) => {
  expect(refusalsOf(study({ method: { name, [key]: 2 } }))[0]).toContain(`(hint: ${hint})`);
});

describe('a method that sites could predict', () => {
  const blocks = (sizes: readonly number[], by: readonly string[] = ['site']) => ({
    method: { name: 'blocks', by, sizes },
  });

  it.each<[object, RegExp]>([
    [blocks([6, 9]), /has blocks and is open/],
    [{ ...blocks([6]), blinding: 'blinded' }, /all blocks have one size/],
    [{ ...blocks([3, 6]), blinding: 'blinded' }, /a single place for each slot/],
    [
      { ...blocks([6, 9], ['sex', 'site', 'stage']), blinding: 'blinded', target_enrollment: 60 },
      /^.*8 strata: the arms/,
    ],
    [{ method: { name: 'minimization', p: 0.901 } }, /p is above 0\.9/],
    [{ method: { name: 'minimization' }, policies: { void_counts: 'removed' } }, /can steer the next/],
    [{ method: { name: 'complete' }, mode: 'live', target_enrollment: 199 }, /199 participants/],
  ])('is warned about: %j', (more, expected) => {
    expect(warnings(more)).toMatch(expected);
  });

  it.each<[object]>([
    [{ ...blocks([6, 9]), blinding: 'blinded', target_enrollment: 600 }],
    [{ method: { name: 'minimization', p: 0.9 } }],
    [{ method: { name: 'complete' }, mode: 'live', target_enrollment: 200 }],
  ])('and %j is not', (more) => {
    expect(warnings(more)).toBe('');
  });

  it('is never named with its parameters', () => {
    expect(warnings(blocks([6]))).not.toMatch(/\b6\b/);
  });
});
