import { describe, expect, it } from 'vitest';
import { refuseNewStudies } from '../../../src/core/configuration/new-studies.ts';
import { onlyStudyOf, refusalsOf, studyWith, warningsOf } from './support.ts';

const ratioOf = (line: string) => onlyStudyOf(studyWith(line)).configuration.ratio;

describe('the ratio of a study', () => {
  it('has a number for each treatment, by name or by position', () => {
    expect(ratioOf('ratio: {A: 2, B: 1}')).toEqual([2, 1]);
    expect(ratioOf('ratio: {B: 1, A: 2}')).toEqual([2, 1]);
    expect(ratioOf('ratio: [3, 20]')).toEqual([3, 20]);
    expect(onlyStudyOf(studyWith()).configuration).not.toHaveProperty('ratio');
  });

  it.each([
    ['ratio: [1, 1]', '4: study "S": the ratio gives every treatment the same share (hint: leave it out)'],
    ['ratio: 2:1', '4: study "S": the ratio is neither a mapping nor a list'],
    ['ratio: [2]', '4: study "S": the ratio has 1 number for 2 treatments'],
    ['ratio: [2, 1, 1]', '4: study "S": the ratio has 3 numbers for 2 treatments'],
    ['ratio: {A: 2}', '4: study "S": the ratio leaves out treatment 2'],
    ['ratio: [2, 0]', '4: study "S": the ratio of treatment 2 is below 1'],
    ['ratio: [21, 1]', '4: study "S": the ratio of treatment 1 is above 20'],
    ['ratio: [1.5, 1]', '4: study "S": the ratio of treatment 1 is not a whole number'],
    ['ratio: {A: , B: 1}', '4: study "S": the ratio of treatment 1 has no value'],
    ['ratio:', '4: study "S": ratio has no value'],
  ])('is refused as %s', (line, message) => {
    expect(refusalsOf(studyWith(line))).toEqual([expect.stringContaining(message)]);
  });

  it('is refused with the line of each bad entry, which is not named', () => {
    const refusals = refusalsOf(studyWith('ratio:', '  A: 2', '  Zulu: 1', '  B: many'));
    expect(refusals).toEqual([
      expect.stringMatching(/^6: study "S": entry 2 of the ratio is not a treatment of the study/),
      expect.stringMatching(/^7: study "S": the ratio of treatment 2 is not a whole number/),
    ]);
    expect(refusals.join()).not.toContain('Zulu');
  });

  it.each([['[4, 2]', 'all its numbers can be divided by 2']])(
    '%s of a new study must be in its lowest terms',
    (ratio, why) => {
      const study = onlyStudyOf(studyWith(`ratio: ${ratio}`));
      expect(() => refuseNewStudies([study], () => true, [])).toThrow(
        `studies.yaml:4: study "S": the ratio is not possible: ${why}`,
      );
      // In a registered study it may be the ratio in force for the arms that are still open.
      expect(refuseNewStudies([study], () => false, [])).toEqual([]);
    },
  );

  it('of a new study has at most 40 slots', () => {
    const many = (ratio: string) =>
      onlyStudyOf(`S:\n  treatments: [A, B, C]\n  ratio: ${ratio}\n  factors: {sex: [M, F]}`);
    expect(() => refuseNewStudies([many('[20, 20, 1]')], () => true, [])).toThrow(
      'studies.yaml:3: study "S": the ratio is not possible: there would be 41 slots',
    );
    expect(refuseNewStudies([many('[20, 19, 1]')], () => true, [])).toEqual([]);
  });

  it('counts for the warning about a nearly certain draw', () => {
    expect(warningsOf(studyWith('beta: 9'))).toEqual([]);
    expect(warningsOf(studyWith('beta: 9', 'ratio: [2, 1]'))).toEqual([
      expect.stringMatching(/^4: .* balls \(K = 3 slots of the ratio/),
    ]);
  });
});
