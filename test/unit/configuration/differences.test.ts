import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../../events/amendment.ts';
import type { StudyConfiguration } from '../../../events/study.ts';
import { amendedDesign, type Design, registeredDesign } from '../../../projections/design.ts';
import {
  compare,
  configurationDifferences,
  describeComparison,
  type RegisteredStudy,
  type StudyInFile,
} from '../../../src/core/configuration/differences.ts';

const configuration: StudyConfiguration = {
  name: 'S',
  mode: 'test',
  D: 'range',
  urnSelection: 'method1',
  w: 1,
  alpha: 0,
  beta: 1,
  treatments: ['A', 'B'],
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'site', levels: ['1', '2'] },
  ],
  idPattern: '[0-9]+',
  targetEnrollment: 300,
};
const drawn: RegisteredStudy = { configuration, seed: '4242', seedSource: 'drawn' };
const configured: RegisteredStudy = { configuration, seed: '4242', seedSource: 'configured' };

const fileWith = (
  change: Partial<StudyConfiguration> = {},
  more: Partial<StudyInFile> = {},
): StudyInFile => ({
  ...{ configuration: { ...configuration, ...change }, levelCounts: undefined, seed: undefined },
  ...more,
});
const differences = (registered: RegisteredStudy, file: StudyInFile) =>
  configurationDifferences(registered, registeredDesign(registered.configuration), file);
const whenFileHas = (change: Partial<StudyConfiguration>) => differences(drawn, fileWith(change));

const inWords = (found: ReturnType<typeof differences>) =>
  describeComparison({ standing: 'differs', differences: found }, { secrets: 'show' });

describe('a file that agrees with the registration', () => {
  it('has no differences', () => {
    expect(whenFileHas({})).toEqual([]);
    expect(describeComparison({ standing: 'agrees', differences: [] }, { secrets: 'show' })).toEqual([]);
  });

  it('may change or drop the target enrollment, which is for information only', () => {
    expect(whenFileHas({ targetEnrollment: 400 })).toEqual([]);
    const { targetEnrollment: _, ...without } = configuration;
    expect(differences(drawn, { ...fileWith(), configuration: without })).toEqual([]);
  });

  it('may omit the seed if the service drew it', () => {
    expect(differences(drawn, fileWith({}, { seed: undefined }))).toEqual([]);
  });

  it('may give the seed that is in use', () => {
    expect(differences(configured, fileWith({}, { seed: 4242n }))).toEqual([]);
    expect(differences(drawn, fileWith({}, { seed: 4242n }))).toEqual([]);
  });
});

describe('a file that disagrees with the registration', () => {
  const [sex, site] = configuration.factors as [
    StudyConfiguration['factors'][number],
    StudyConfiguration['factors'][number],
  ];

  it.each<[string, Partial<StudyConfiguration>, string, string]>([
    ['mode', { mode: 'live' }, 'test', 'live'],
    ['D', { D: 'chisquare' }, 'range', 'chisquare'],
    ['w', { w: 2 }, '1', '2'],
    ['alpha', { alpha: 1 }, '0', '1'],
    ['beta', { beta: 3 }, '1', '3'],
    ['id_pattern', { idPattern: '[a-z]+' }, '"[0-9]+"', '"[a-z]+"'],
    ['treatments', { treatments: ['A', 'C'] }, '["A", "B"]', '["A", "C"]'],
    ['treatments', { treatments: ['B', 'A'] }, '["A", "B"]', '["B", "A"]'],
    ['treatments', { treatments: ['A', 'B', 'C'] }, '["A", "B"]', '["A", "B", "C"]'],
    ['factors', { factors: [site, sex] }, '["sex", "site"]', '["site", "sex"]'],
    [
      'factors.sex',
      { factors: [{ name: 'sex', levels: ['Female', 'Male'] }, site] },
      '["Male", "Female"]',
      '["Female", "Male"]',
    ],
    ['factors.site', { factors: [sex, { name: 'site', levels: ['1, 2'] }] }, '["1", "2"]', '["1, 2"]'],
  ])('reports a difference in %s, with both values', (what, change, registered, file) => {
    expect(whenFileHas(change)).toEqual([{ what, inForce: registered, file }]);
  });

  it('reports a factor that was added or removed', () => {
    expect(whenFileHas({ factors: [{ name: 'age', levels: ['<18'] }, sex, site] })).toEqual([
      { what: 'factors.age', file: '["<18"]' },
    ]);
    expect(whenFileHas({ factors: [sex] })).toEqual([{ what: 'factors.site', inForce: '["1", "2"]' }]);
  });

  it('reports an id_pattern that was added or removed', () => {
    const { idPattern: _, ...without } = configuration;
    expect(differences(drawn, { ...fileWith(), configuration: without })).toEqual([
      { what: 'id_pattern', inForce: '"[0-9]+"' },
    ]);
    expect(differences({ ...drawn, configuration: without }, fileWith())).toEqual([
      { what: 'id_pattern', file: '"[0-9]+"' },
    ]);
  });

  it('reports a seed that was changed, added or removed, without showing it', () => {
    const cases = [
      differences(configured, fileWith({}, { seed: 4243n })),
      differences(drawn, fileWith({}, { seed: 4243n })),
      differences(configured, fileWith({}, { seed: undefined })),
    ];
    expect(cases.map((found) => inWords(found)[0])).toEqual([
      'starting_seed differs (in force: given in the file; file: a different one)',
      'starting_seed differs (in force: drawn by the service; file: given)',
      'starting_seed differs (in force: given in the file; file: removed)',
    ]);
    expect(JSON.stringify(cases)).not.toMatch(/424/);
  });

  it('reports all differences at once', () => {
    const found = differences(
      configured,
      fileWith({ mode: 'live', w: 3, treatments: ['X', 'Y'], factors: [site] }),
    );
    expect(found.map(({ what }) => what)).toEqual([
      'mode',
      'w',
      'treatments',
      'factors.sex',
      'starting_seed',
    ]);
  });
});

describe('the description of differences', () => {
  const found = whenFileHas({
    w: 2,
    treatments: ['A', 'Zulu'],
    factors: configuration.factors.slice(0, 1),
  });

  it('shows both values and ends with what to do', () => {
    expect(inWords(found)).toEqual([
      'w differs (in force: 1; file: 2)',
      'treatments differs (in force: ["A", "B"]; file: ["A", "Zulu"])',
      'factors.site differs (in force: ["1", "2"]; file: none)',
      expect.stringMatching(
        /^To continue: write the design in force into .* record the change with `urn studies amend`/,
      ),
    ]);
  });

  it('withholds only the treatments from logs', () => {
    const lines = describeComparison({ standing: 'differs', differences: found }, { secrets: 'withhold' });
    expect(lines.join()).not.toMatch(/Zulu|"A"|"B"/);
    expect(lines[1]).toMatch(/^treatments differs .*`urn studies check`/);
    expect(lines.toSpliced(1, 1)).toEqual(inWords(found).toSpliced(1, 1));
  });
});

/** The design at registration, then after each of these amendments. */
function designsAfter(
  amendments: readonly (readonly DesignChange[])[],
  registered: StudyConfiguration = configuration,
): readonly Design[] {
  const designs = [registeredDesign(registered)];
  for (const [i, changes] of amendments.entries())
    designs.push(
      amendedDesign(designs.at(-1) as Design, {
        amendment: i + 1,
        approvals: [],
        changes: [...changes],
        reason: 'x',
      }),
    );
  return designs;
}
const site = (levels: string[]) => ({
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'site', levels },
  ],
});
const change = (kind: 'level-added' | 'level-closed' | 'level-reopened', level: string): DesignChange => ({
  ...{ kind, factor: 'site', level },
});
const renaming: DesignChange = { kind: 'level-renamed', factor: 'site', level: '1', to: 'One' };

describe('the file of an amended study', () => {
  const standing = (amendments: DesignChange[][], file: Partial<StudyConfiguration>) =>
    compare(drawn, designsAfter(amendments), fileWith(file)).standing;

  it('agrees if it lists the open levels by their present names', () => {
    const added = [change('level-added', '3')];
    expect(standing([added], site(['1', '2', '3']))).toBe('agrees');
    expect(standing([added, [change('level-closed', '2')]], site(['1', '3']))).toBe('agrees');
    expect(standing([added, [renaming]], site(['One', '2', '3']))).toBe('agrees');
    expect(standing([added, [renaming]], site(['1', 'One', '2', '3']))).toBe('differs');
  });

  it('may list added levels anywhere, but must keep the order of the registered ones', () => {
    const added = [change('level-added', '3'), change('level-added', '4')];
    for (const levels of [
      ['1', '2', '3', '4'],
      ['4', '1', '3', '2'],
    ])
      expect(standing([added], site(levels))).toBe('agrees');
    expect(standing([added], site(['2', '1', '3', '4']))).toBe('differs');
    expect(standing([added, [renaming]], site(['2', 'One', '3', '4']))).toBe('differs');
  });

  it('is behind if it matches an earlier design, and differs if it matches none', () => {
    const amendments = [
      [change('level-added', '3')],
      [change('level-closed', '2')],
      [{ kind: 'id-pattern' } as const],
    ];
    expect(standing(amendments, site(['1', '2']))).toBe('behind');
    expect(standing(amendments, site(['1', '2', '3']))).toBe('behind');
    expect(standing(amendments, site(['1', '3']))).toBe('behind');
    expect(standing(amendments, { ...site(['1', '3']), w: 2 })).toBe('differs');
    expect(standing(amendments, site(['1', '2', '4']))).toBe('differs');
    expect(standing([], site(['1']))).toBe('differs');
  });

  const arm = (kind: 'arm-added' | 'arm-closed', treatment: string): DesignChange => ({ kind, treatment });

  it('lists the open arms: added ones anywhere, registered ones in their order', () => {
    const amendments = [[arm('arm-added', 'C')], [arm('arm-added', 'D')]];
    const treatments = (...names: string[]) => ({ treatments: names });
    expect(standing(amendments, treatments('A', 'B', 'C', 'D'))).toBe('agrees');
    expect(standing(amendments, treatments('D', 'A', 'C', 'B'))).toBe('agrees');
    expect(standing(amendments, treatments('B', 'A', 'C', 'D'))).toBe('differs');
    expect(standing(amendments, treatments('A', 'B', 'C'))).toBe('behind');
    const closed = [...amendments, [arm('arm-closed', 'A')]];
    expect(standing(closed, treatments('D', 'B', 'C'))).toBe('agrees');
    expect(standing(closed, treatments('A', 'B', 'C', 'D'))).toBe('behind');
  });

  it('gives the ratio of the open arms in any order, and a differing ratio is reported without naming arms', () => {
    const amendments: DesignChange[][] = [
      [{ kind: 'arm-added', treatment: 'C', ratio: 3 }],
      [{ kind: 'ratio', value: [2, 2, 3] }],
    ];
    const file = (treatments: string[], ratio?: number[]) => ({ treatments, ...(ratio && { ratio }) });
    expect(standing(amendments, file(['A', 'B', 'C'], [2, 2, 3]))).toBe('agrees');
    expect(standing(amendments, file(['C', 'A', 'B'], [3, 2, 2]))).toBe('agrees');
    expect(standing(amendments, file(['A', 'B', 'C'], [1, 1, 3]))).toBe('behind');
    expect(standing(amendments, file(['A', 'B', 'C'], [1, 2, 3]))).toBe('differs');
    const closed = [...amendments, [arm('arm-closed', 'C')]];
    expect(standing(closed, file(['A', 'B'], [2, 2]))).toBe('agrees');
    expect(standing(closed, file(['A', 'B'], [2, 1]))).toBe('differs');
    const comparison = compare(drawn, designsAfter(closed), fileWith(file(['A', 'B'], [2, 1])));
    expect(describeComparison(comparison, { secrets: 'withhold' })[0]).toBe(
      'ratio differs (in force: 2:2; file: 2:1)',
    );
    expect(compare(drawn, designsAfter(closed), fileWith()).differences).toEqual([
      { what: 'ratio', inForce: '2:2' },
    ]);
  });

  it('leaves out retired factors and their limits', () => {
    const limited = { ...configuration, limits: { levels: [{ factor: 'site', level: '1', max: 10 }] } };
    const designs = designsAfter([[{ kind: 'factor-retired', factor: 'site' }]], limited);
    const registered = { ...drawn, configuration: limited };
    const sex = { factors: configuration.factors.slice(0, 1) };
    expect(compare(registered, designs, fileWith(sex)).standing).toBe('agrees');
    expect(compare(registered, designs, fileWith({ limits: limited.limits }))).toMatchObject({
      standing: 'behind',
      differences: [{ what: 'factors.site', file: '["1", "2"]' }],
    });
  });

  it('gives the numbers of the urns in force', () => {
    const urn: DesignChange = { kind: 'urn', w: 2, D: 'variance' };
    expect(standing([[urn]], { w: 2, D: 'variance' })).toBe('agrees');
    expect(standing([[urn]], {})).toBe('behind');
    expect(standing([[urn]], { w: 2 })).toBe('differs');
  });

  it('gets a description of what it lacks, which says that the study continues', () => {
    const comparison = compare(drawn, designsAfter([[change('level-added', '3')]]), fileWith());
    expect(describeComparison(comparison, { secrets: 'withhold' })).toEqual([
      'factors.site differs (in force: ["1", "2", "3"]; file: ["1", "2"])',
      expect.stringMatching(/^The file describes an earlier design, and the study continues/),
    ]);
  });

  it('leaves out the limits of closed levels, and lists limits in any order', () => {
    const limit = (level: string, max: number) => ({ factor: 'site', level, max });
    const limited = { ...configuration, limits: { levels: [limit('1', 10), limit('2', 20)] } };
    const registered = { ...drawn, configuration: limited };
    const designs = designsAfter(
      [
        [change('level-added', '3')],
        [change('level-closed', '1')],
        [{ kind: 'limits', value: { levels: [limit('1', 10), limit('2', 20), limit('3', 30)] } }],
      ],
      limited,
    );
    const file = fileWith({ ...site(['3', '2']), limits: { levels: [limit('3', 30), limit('2', 20)] } });
    expect(compare(registered, designs, file).standing).toBe('agrees');
    const without = fileWith({ ...site(['3', '2']), limits: { levels: [limit('2', 25)] } });
    expect(compare(registered, designs, without)).toMatchObject({
      standing: 'differs',
      differences: [{ what: 'limits' }],
    });
  });

  it('may omit the protocol, which cannot be removed, but not give another one', () => {
    const version = (number: string) => ({ protocol: { version: number } });
    const designs = [
      registeredDesign(configuration),
      { ...registeredDesign(configuration), ...version('3.0') },
    ];
    expect(compare(drawn, designs, fileWith()).standing).toBe('agrees');
    expect(compare(drawn, designs, fileWith(version('3.0'))).standing).toBe('agrees');
    expect(compare(drawn, designs, fileWith(version('4.0'))).differences).toEqual([
      { what: 'protocol', inForce: '{"version":"3.0"}', file: '{"version":"4.0"}' },
    ]);
  });

  it('keeps the level_counts of the registration when the blinding changes, unless it gives another value', () => {
    const designs = designsAfter([[{ kind: 'blinding', value: 'blinded' }]]);
    const blinded = { blinding: 'blinded' } as const;
    expect(compare(drawn, designs, fileWith(blinded)).standing).toBe('agrees');
    expect(compare(drawn, designs, fileWith(blinded, { levelCounts: 'as-randomized' })).standing).toBe(
      'agrees',
    );
    expect(compare(drawn, designs, fileWith(blinded, { levelCounts: 'as-corrected' })).differences).toEqual([
      { what: 'policies.level_counts', inForce: 'as-randomized', file: 'as-corrected' },
    ]);
  });
});
