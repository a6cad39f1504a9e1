import { describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { type Design, registeredDesign } from '../../../projections/design.ts';
import { changesTo } from '../../../src/core/configuration/changes.ts';
import { compare, type StudyInFile } from '../../../src/core/configuration/differences.ts';
import { onlyStudyOf, refusalsOf, studyWith } from './support.ts';

const visitsOf = (line: string) => onlyStudyOf(studyWith(line)).configuration.visits;
const quoted = (...visits: string[]) =>
  `visits: [${visits.map((visit) => JSON.stringify(visit)).join(', ')}]`;

describe('the visits of a study', () => {
  it('are taken as they are written, in their order', () => {
    expect(visitsOf('visits: [V3, V2, Week 12]')).toEqual(['V3', 'V2', 'Week 12']);
    expect(visitsOf('visits: [1, 1.0, 01, a_b-c.d]')).toEqual(['1', '1.0', '01', 'a_b-c.d']);
    expect(onlyStudyOf(studyWith()).configuration).not.toHaveProperty('visits');
  });

  it.each([
    ['one character', 'V'],
    ['20 characters', 'V'.repeat(20)],
    ['blanks within', 'Week  12'],
    ['a sign at the end', 'V2-'],
    ['a short name of an arm within it', 'V2 A'],
  ])('may have %s', (_, visit) => {
    expect(visitsOf(quoted(visit))).toEqual([visit]);
  });

  it.each([
    ['no character', ''],
    ['21 characters', 'V'.repeat(21)],
    ['a blank at the end', 'V2 '],
    ['a blank at the beginning', ' V2'],
    ['a sign at the beginning', '=V2'],
    ['a letter that is not of the English alphabet', 'Außen'],
    ['a comma', 'V2, V3'],
    ['a line feed', 'V2\n'],
  ])('cannot have %s', (_, visit) => {
    expect(refusalsOf(studyWith(quoted('V1', visit)))).toEqual([
      expect.stringMatching(/^4: study "S": visit 2 has not the form of a visit \(hint: write 1 to 20 /),
    ]);
  });

  it.each([
    ['visits:', 'visits has no value'],
    ['visits: V2', 'the visits are not a list'],
    ['visits: []', 'it has no visit (hint: leave visits out)'],
    ['visits: [V2, [V3]]', 'visit 2 has not the form of a visit'],
    ['visits: [V2, V3, v2]', 'visit 3 is the same as visit 1 (capital letters do not matter)'],
    ['visits: [V2, V2]', 'visit 2 is the same as visit 1'],
    ['visits: [V2, b]', 'visit 2 is, or contains, the name of an arm'],
  ])('are refused as %s', (line, message) => {
    expect(refusalsOf(studyWith(line))).toEqual([expect.stringContaining(`4: study "S": ${message}`)]);
  });

  it('are refused with the line of each, which is not named', () => {
    const refusals = refusalsOf(
      [
        'S:',
        '  treatments: [Zulu, B]',
        '  factors: {sex: [M, F]}',
        '  visits:',
        '    - V2',
        '    - after zulu',
        '    - v2',
        '    - ","',
      ].join('\n'),
    );
    expect(refusals).toEqual([
      expect.stringMatching(/^6: .* visit 2 is, or contains, the name of an arm/),
      expect.stringMatching(/^7: .* visit 3 is the same as visit 1/),
      expect.stringMatching(/^8: .* visit 4 has not the form/),
    ]);
    expect(refusals.join()).not.toMatch(/zulu/i);
  });

  it('are 100 at most', () => {
    const many = (count: number) => quoted(...Array.from({ length: count }, (_, i) => `V${i}`));
    expect(visitsOf(many(100))).toHaveLength(100);
    expect(refusalsOf(studyWith(many(101)))).toEqual([
      expect.stringContaining('it has 101 visits (hint: list at most 100)'),
    ]);
  });
});

describe('a file with other visits', () => {
  const configuration: StudyConfiguration = {
    ...{ name: 'S', mode: 'test', D: 'range', urnSelection: 'method1', w: 1, alpha: 0, beta: 1 },
    treatments: ['A', 'B'],
    factors: [{ name: 'sex', levels: ['Male', 'Female'] }],
    visits: ['V2', 'V3'],
  };
  const registered = { configuration, seed: '4242', seedSource: 'drawn' } as const;
  const design = registeredDesign(configuration);
  const fileWith = (visits?: string[], more: Partial<StudyConfiguration> = {}): StudyInFile => {
    const { visits: _, ...without } = configuration;
    return {
      ...{ configuration: { ...without, ...(visits && { visits }), ...more } },
      ...{ levelCounts: undefined, seed: undefined },
    };
  };
  const asked = (file: StudyInFile, from: Design = design) => changesTo(file, registered, from, []);

  it('differs in them, in their order and in their capital letters', () => {
    const differences = (visits?: string[]) => compare(registered, [design], fileWith(visits)).differences;
    const inForce = '["V2", "V3"]';
    expect(differences(['V2', 'V3'])).toEqual([]);
    expect(differences(['V3', 'V2'])).toEqual([{ what: 'visits', inForce, file: '["V3", "V2"]' }]);
    expect(differences(['v2', 'V3'])).toEqual([{ what: 'visits', inForce, file: '["v2", "V3"]' }]);
    expect(differences()).toEqual([{ what: 'visits', inForce }]);
  });

  it('asks for one change with all of them, or with none', () => {
    expect(asked(fileWith(['V2', 'V3']))).toEqual([]);
    expect(asked(fileWith(['V3', 'V2', 'V4']))).toEqual([{ kind: 'visits', value: ['V3', 'V2', 'V4'] }]);
    expect(asked(fileWith())).toEqual([{ kind: 'visits', value: [] }]);
  });

  it('asks for it before an arm with the name of a former visit', () => {
    expect(asked(fileWith(['V2'], { treatments: ['A', 'B', 'V3'] }))).toEqual([
      { kind: 'visits', value: ['V2'] },
      { kind: 'arm-added', treatment: 'V3' },
    ]);
  });
});
