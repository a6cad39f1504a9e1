import { describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import {
  configurationDifferences,
  describeDifferences,
  type RegisteredStudy,
} from '../../../src/configuration/differences.ts';

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

const whenFileHas = (change: Partial<StudyConfiguration>) =>
  configurationDifferences(drawn, { configuration: { ...configuration, ...change }, seed: undefined });

describe('a file that agrees with the registration', () => {
  it('has no differences', () => {
    expect(whenFileHas({})).toEqual([]);
    expect(describeDifferences([], { secrets: 'show' })).toEqual([]);
  });

  it('may change or drop the target enrollment, which is for information only', () => {
    expect(whenFileHas({ targetEnrollment: 400 })).toEqual([]);
    const { targetEnrollment: _, ...without } = configuration;
    expect(configurationDifferences(drawn, { configuration: without, seed: undefined })).toEqual([]);
  });

  it('may omit the seed if the service drew it', () => {
    expect(configurationDifferences(drawn, { configuration, seed: undefined })).toEqual([]);
  });

  it('may name the seed that is in use', () => {
    expect(configurationDifferences(configured, { configuration, seed: 4242n })).toEqual([]);
    expect(configurationDifferences(drawn, { configuration, seed: 4242n })).toEqual([]);
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
    expect(whenFileHas(change)).toEqual([{ what, registered, file }]);
  });

  it('reports a factor that was added or removed', () => {
    expect(whenFileHas({ factors: [{ name: 'age', levels: ['<18'] }, sex, site] })).toEqual([
      { what: 'factors.age', file: '["<18"]' },
    ]);
    expect(whenFileHas({ factors: [sex] })).toEqual([{ what: 'factors.site', registered: '["1", "2"]' }]);
  });

  it('reports an id_pattern that was added or removed', () => {
    const { idPattern: _, ...without } = configuration;
    expect(configurationDifferences(drawn, { configuration: without, seed: undefined })).toEqual([
      { what: 'id_pattern', registered: '"[0-9]+"' },
    ]);
    expect(
      configurationDifferences({ ...drawn, configuration: without }, { configuration, seed: undefined }),
    ).toEqual([{ what: 'id_pattern', file: '"[0-9]+"' }]);
  });

  it('reports a seed that was changed, added or removed, and shows no seed', () => {
    const cases = [
      configurationDifferences(configured, { configuration, seed: 4243n }),
      configurationDifferences(drawn, { configuration, seed: 4243n }),
      configurationDifferences(configured, { configuration, seed: undefined }),
    ];
    expect(cases.map((differences) => describeDifferences(differences, { secrets: 'show' })[0])).toEqual([
      'starting_seed differs (registered: given in the file; file: another one)',
      'starting_seed differs (registered: drawn by the service; file: given)',
      'starting_seed differs (registered: given in the file; file: removed)',
    ]);
    expect(JSON.stringify(cases)).not.toMatch(/424/);
  });

  it('reports all differences at once', () => {
    const differences = configurationDifferences(configured, {
      configuration: { ...configuration, mode: 'live', w: 3, treatments: ['X', 'Y'], factors: [site] },
      seed: undefined,
    });
    expect(differences.map(({ what }) => what)).toEqual([
      'mode',
      'w',
      'treatments',
      'factors.sex',
      'starting_seed',
    ]);
  });
});

describe('the description of differences', () => {
  const differences = whenFileHas({
    w: 2,
    treatments: ['A', 'Zulu'],
    factors: configuration.factors.slice(0, 1),
  });

  it('shows both values and ends with what to do', () => {
    expect(describeDifferences(differences, { secrets: 'show' })).toEqual([
      'w differs (registered: 1; file: 2)',
      'treatments differs (registered: ["A", "B"]; file: ["A", "Zulu"])',
      'factors.site differs (registered: ["1", "2"]; file: none)',
      expect.stringMatching(/restore the registered values .* new name; amendments are not supported yet\.$/),
    ]);
  });

  it('withholds only the treatments from logs', () => {
    const lines = describeDifferences(differences, { secrets: 'withhold' });
    expect(lines.join()).not.toMatch(/Zulu|"A"|"B"/);
    expect(lines[1]).toMatch(/^treatments differs .*`urn studies check`/);
    expect(lines.toSpliced(1, 1)).toEqual(
      describeDifferences(differences, { secrets: 'show' }).toSpliced(1, 1),
    );
  });
});
