import { describe, expect, it } from 'vitest';
import type {
  DesignChange,
  MethodParameters,
  StudyConfiguration,
  UrnConfiguration,
} from '../../../events/study.ts';
import {
  type Comparison,
  compare,
  configurationDifferences,
  describeComparison,
  type RegisteredConfiguration,
  type StudyInFile,
} from '../../../src/core/configuration/differences.ts';
import {
  amendedDesign,
  changedDesign,
  type Design,
  registeredDesign,
} from '../../../src/core/model/design.ts';
import { arm, levelsOf, retired } from '../../support/life.ts';
import { fileOf, sites } from './support.ts';

const configuration: StudyConfiguration = {
  ...{ name: 'S', mode: 'test', D: 'range', urnSelection: 'method1', w: 1, alpha: 0, beta: 1 },
  treatments: ['A', 'B'],
  ...sites('1', '2'),
  ...{ idPattern: '[0-9]+', targetEnrollment: 300 },
};
type Factor = StudyConfiguration['factors'][number];
const drawn: RegisteredConfiguration = { configuration, seed: '4242', seedSource: 'drawn' };
const configured: RegisteredConfiguration = { configuration, seed: '4242', seedSource: 'configured' };

const fileWith = fileOf(configuration);
const without = (member: 'idPattern' | 'targetEnrollment') => {
  const { [member]: _, ...others } = configuration;
  return others as StudyConfiguration;
};
const differences = (registered: RegisteredConfiguration, file: StudyInFile) =>
  configurationDifferences(registered, registeredDesign(registered.configuration), file);
const whenFileHas = (change: Partial<StudyConfiguration>) => differences(drawn, fileWith(change));

const inWords = (found: ReturnType<typeof differences>) =>
  describeComparison({ result: 'differs', differences: found }, { secrets: 'show' });

describe('a file that agrees with the registration', () => {
  it.each<[what: string, file: StudyInFile]>([
    ['is the same', fileWith()],
    ['has another target, which is for information only', fileWith({ targetEnrollment: 400 })],
    ['has no target', { ...fileWith(), configuration: without('targetEnrollment') }],
    ['gives the seed that was drawn', fileWith({}, { seed: 4242n })],
  ])('%s', (_, file) => {
    expect(differences(drawn, file)).toEqual([]);
  });

  it('gives the seed that it gave before, and is described in no lines', () => {
    expect(differences(configured, fileWith({}, { seed: 4242n }))).toEqual([]);
    expect(describeComparison({ result: 'agrees', differences: [] }, { secrets: 'show' })).toEqual([]);
  });
});

describe('a file that disagrees with the registration', () => {
  const [sex, site] = configuration.factors as [Factor, Factor];
  const women = { name: 'sex', levels: ['Female', 'Male'] };

  it.each<[string, Partial<StudyConfiguration>, string, string]>([
    ['mode', { mode: 'live' }, 'test', 'live'],
    ['D', { D: 'chisquare' }, 'range', 'chisquare'],
    ['w', { w: 2 }, '1', '2'],
    ['alpha', { alpha: 1 }, '0', '1'],
    ['beta', { beta: 3 }, '1', '3'],
    ['id_pattern', { idPattern: '[a-z]+' }, '"[0-9]+"', '"[a-z]+"'],
    ['treatments', { treatments: ['B', 'A'] }, '["A", "B"]', '["B", "A"]'],
    ['factors', { factors: [site, sex] }, '["sex", "site"]', '["site", "sex"]'],
    ['factors.sex', { factors: [women, site] }, '["Male", "Female"]', '["Female", "Male"]'],
    ['start', { start: 'paused' }, 'open', 'paused'],
    ['factors.site', { factors: [sex, { name: 'site', levels: ['1, 2'] }] }, '["1", "2"]', '["1, 2"]'],
  ])('reports a difference in %s, with both values', (what, change, registered, file) => {
    expect(whenFileHas(change)).toEqual([{ what, inForce: registered, file }]);
  });

  it('reports what was added or removed', () => {
    expect(whenFileHas({ factors: [{ name: 'age', levels: ['<18'] }, sex, site] })).toEqual([
      { what: 'factors.age', file: '["<18"]' },
    ]);
    expect(whenFileHas({ factors: [sex] })).toEqual([{ what: 'factors.site', inForce: '["1", "2"]' }]);
    const unpatterned = without('idPattern');
    const what = 'id_pattern';
    expect(differences(drawn, { ...fileWith(), configuration: unpatterned })).toEqual([
      { what, inForce: '"[0-9]+"' },
    ]);
    expect(differences({ ...drawn, configuration: unpatterned }, fileWith())).toEqual([
      { what, file: '"[0-9]+"' },
    ]);
  });

  it('reports visits in another order, in other capital letters, or none', () => {
    const visited = { ...drawn, configuration: { ...configuration, visits: ['V2', 'V3'] } };
    const reported = (more: Partial<StudyConfiguration>) => differences(visited, fileWith(more));
    const inForce = '["V2", "V3"]';
    expect(reported({ visits: ['V2', 'V3'] })).toEqual([]);
    for (const visits of [
      ['V3', 'V2'],
      ['v2', 'V3'],
    ])
      expect(reported({ visits })).toEqual([{ what: 'visits', inForce, file: `["${visits.join('", "')}"]` }]);
    expect(reported({})).toEqual([{ what: 'visits', inForce }]);
  });

  it('reports another method, and other parameters of it without their values', () => {
    const { D: _, urnSelection: __, w: ___, alpha, beta, ...study } = configuration as UrnConfiguration;
    const minimizing = { ...study, method: { name: 'minimization' } } as StudyConfiguration;
    const parameters = (more: object) =>
      ({ minimization: { measure: 'range', pThousandths: 800, ...more } }) as MethodParameters;
    const inLog = { ...drawn, configuration: minimizing, parameters: parameters({ weights: [2, 1] }) };
    const file = (more: object) => fileOf(minimizing)({}, { parameters: parameters(more) });
    expect(differences(inLog, file({ weights: [2, 1] }))).toEqual([]);
    for (const more of [{ weights: [2, 1], pThousandths: 617 }, {}])
      expect(differences(inLog, file(more))).toEqual([
        { what: 'method', inForce: 'other parameters', file: 'these parameters' },
      ]);
    expect(differences(inLog, fileWith())).toMatchObject([{ what: 'method', inForce: 'minimization' }]);
    // The weights of a retired factor are not in a file, and the others have no common divisor.
    const design = changedDesign(registeredDesign(minimizing), retired('site'));
    const without = { ...minimizing, factors: minimizing.factors.slice(0, 1) };
    expect(configurationDifferences(inLog, design, { ...file({}), configuration: without })).toEqual([]);
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
    const lines = describeComparison({ result: 'differs', differences: found }, { secrets: 'withhold' });
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
  for (const changes of amendments) {
    const amendment = { amendment: designs.length, approvals: [], changes: [...changes], reason: 'x' };
    designs.push(amendedDesign(designs.at(-1) as Design, amendment));
  }
  return designs;
}
const site = levelsOf('site');

describe('the file of an amended study', () => {
  const added = [site.added('3')];
  const twoAdded = [...added, site.added('4')];
  const closed = [site.closed('2')];
  const renamed: DesignChange[] = [{ kind: 'level-renamed', factor: 'site', level: '1', to: 'One' }];
  const three = [added, closed, [{ kind: 'id-pattern' } as const]];
  const fourArms = [[arm.added('C')], [arm.added('D')]];
  const withoutA = [...fourArms, [arm.closed('A')]];
  const inRatio: DesignChange[][] = [
    [{ kind: 'arm-added', treatment: 'C', ratio: 3 }],
    [{ kind: 'ratio', value: [2, 2, 3] }],
  ];
  const withoutC = [...inRatio, [arm.closed('C')]];
  const arms = (names: string, ...ratio: number[]) => ({
    treatments: [...names],
    ...(ratio.length > 0 && { ratio }),
  });
  const urn: DesignChange[] = [{ kind: 'urn', w: 2, D: 'variance' }];

  it.each<[string, Comparison['result'], DesignChange[][], Partial<StudyConfiguration>]>([
    ['lists the open levels', 'agrees', [added], sites('1', '2', '3')],
    ['lists no closed ones', 'agrees', [added, closed], sites('1', '3')],
    ['lists a level by its present name', 'agrees', [added, renamed], sites('One', '2', '3')],
    ['lists it by its former name, too', 'differs', [added, renamed], sites('1', 'One', '2', '3')],
    ['lists added levels anywhere', 'agrees', [twoAdded], sites('4', '1', '3', '2')],
    ['lists registered ones in another order', 'differs', [twoAdded], sites('2', '1', '3', '4')],
    ['does so under a new name', 'differs', [twoAdded, renamed], sites('2', 'One', '3', '4')],
    ['matches the registration', 'behind', three, sites('1', '2')],
    ['matches a later design', 'behind', three, sites('1', '3')],
    ['matches none in another setting', 'differs', three, { ...sites('1', '3'), w: 2 }],
    ['matches none', 'differs', three, sites('1', '2', '4')],
    ['matches no registration', 'differs', [], sites('1')],
    ['lists added arms anywhere', 'agrees', fourArms, arms('DACB')],
    ['lists registered arms in another order', 'differs', fourArms, arms('BACD')],
    ['lacks an added arm', 'behind', fourArms, arms('ABC')],
    ['lacks a closed arm', 'agrees', withoutA, arms('DBC')],
    ['has a closed arm', 'behind', withoutA, arms('ABCD')],
    ['has the ratio in its order', 'agrees', inRatio, arms('CAB', 3, 2, 2)],
    ['has an earlier ratio', 'behind', inRatio, arms('ABC', 1, 1, 3)],
    ['has another ratio', 'differs', inRatio, arms('ABC', 1, 2, 3)],
    ['has the ratio of the open arms', 'agrees', withoutC, arms('AB', 2, 2)],
    ['has another one of them', 'differs', withoutC, arms('AB', 2, 1)],
    ['gives the numbers of the urns', 'agrees', [urn], { w: 2, D: 'variance' }],
    ['gives earlier ones', 'behind', [urn], {}],
    ['gives some of them', 'differs', [urn], { w: 2 }],
  ])('%s: it %s', (_, result, amendments, file) => {
    expect(compare(drawn, designsAfter(amendments), fileWith(file)).result).toBe(result);
  });

  it('differs in its ratio, which is reported without naming arms', () => {
    const comparison = compare(drawn, designsAfter(withoutC), fileWith(arms('AB', 2, 1)));
    expect(describeComparison(comparison, { secrets: 'withhold' })[0]).toBe(
      'ratio differs (in force: 2:2; file: 2:1)',
    );
    expect(compare(drawn, designsAfter(withoutC), fileWith()).differences).toEqual([
      { what: 'ratio', inForce: '2:2' },
    ]);
  });

  it('gets a description of what it lacks, which says that the study continues', () => {
    const comparison = compare(drawn, designsAfter([added]), fileWith());
    expect(describeComparison(comparison, { secrets: 'withhold' })).toEqual([
      'factors.site differs (in force: ["1", "2", "3"]; file: ["1", "2"])',
      expect.stringMatching(/^The file describes an earlier design, and the study continues/),
    ]);
  });

  const limit = (level: string, max: number) => ({ factor: 'site', level, max });
  const limits = (...levels: ReturnType<typeof limit>[]) => ({ limits: { levels } });

  it('leaves out retired factors and their limits', () => {
    const limited = { ...configuration, ...limits(limit('1', 10)) };
    const designs = designsAfter([[retired('site')]], limited);
    const registered = { ...drawn, configuration: limited };
    const sex = { factors: configuration.factors.slice(0, 1) };
    expect(compare(registered, designs, fileWith(sex)).result).toBe('agrees');
    expect(compare(registered, designs, fileWith({ limits: limited.limits }))).toMatchObject({
      result: 'behind',
      differences: [{ what: 'factors.site', file: '["1", "2"]' }],
    });
  });

  it('leaves out the limits of closed levels, and lists limits in any order', () => {
    const limited = { ...configuration, ...limits(limit('1', 10), limit('2', 20)) };
    const { limits: value } = limits(limit('1', 10), limit('2', 20), limit('3', 30));
    const designs = designsAfter([added, [site.closed('1')], [{ kind: 'limits', value }]], limited);
    const result = (...of: ReturnType<typeof limit>[]) =>
      compare(
        { ...drawn, configuration: limited },
        designs,
        fileWith({ ...sites('3', '2'), ...limits(...of) }),
      );
    expect(result(limit('3', 30), limit('2', 20)).result).toBe('agrees');
    expect(result(limit('2', 25))).toMatchObject({
      result: 'differs',
      differences: [{ what: 'limits' }],
    });
  });

  it('may omit the protocol, which cannot be removed, but not give another one', () => {
    const version = (number: string) => ({ protocol: { version: number } });
    const design = registeredDesign(configuration);
    const of = (more: object) => compare(drawn, [design, { ...design, ...version('3.0') }], fileWith(more));
    for (const more of [{}, version('3.0')]) expect(of(more).result).toBe('agrees');
    expect(of(version('4.0')).differences).toEqual([
      { what: 'protocol', inForce: '{"version":"3.0"}', file: '{"version":"4.0"}' },
    ]);
  });

  it('keeps the level_counts of the registration when the blinding changes, unless it gives another value', () => {
    const designs = designsAfter([[{ kind: 'blinding', value: 'blinded' }]]);
    const of = (levelCounts?: 'as-randomized' | 'as-corrected') =>
      compare(drawn, designs, fileWith({ blinding: 'blinded' }, { levelCounts })).differences;
    expect([of(), of('as-randomized')]).toEqual([[], []]);
    expect(of('as-corrected')).toEqual([
      { what: 'policies.level_counts', inForce: 'as-randomized', file: 'as-corrected' },
    ]);
  });
});
