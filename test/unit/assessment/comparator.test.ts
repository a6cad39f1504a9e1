import { describe, expect, it } from 'vitest';
import { readComparator, usualComparators } from '../../../src/statistics/assessment/comparator.ts';
import type { SimulatedDesign } from '../../../src/statistics/simulation/plan.ts';

const DESIGN: SimulatedDesign = {
  treatments: ['A', 'B'],
  ratio: [1, 1],
  factors: [
    { name: 'sex', levels: ['F', 'M'] },
    { name: 'site', levels: ['1', '2'] },
    { name: 'age, "old"', levels: ['x'] },
  ],
  ...{ w: 2, alpha: 0, beta: 3, D: 'chisquare' },
};
const read = (text: string, more: Partial<SimulatedDesign> = {}) =>
  readComparator(text, { ...DESIGN, ...more });
const problem = (text: string, more: Partial<SimulatedDesign> = {}) => {
  try {
    read(text, more);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};

const MALFORMED =
  'block block:4+ block:-4 complete:1 minimization:high bigstick:1.5 urn:w=5,w=6 urn:W=5 urn:w=range urn:D=5 urn:'.split(
    ' ',
  );

describe('a comparator', () => {
  it.each([
    ['complete', { kind: 'complete' }, []],
    ['block:4', { kind: 'block', sizes: [4] }, []],
    ['block:4+6@site', { kind: 'block', sizes: [4, 6] }, [1]],
    ['block:2@site,sex', { kind: 'block', sizes: [2] }, [1, 0]],
    ['block:2@"age, ""old"""', { kind: 'block', sizes: [2] }, [2]],
    ['block:2@sex,"age, ""old""",site', { kind: 'block', sizes: [2] }, [0, 2, 1]],
    ['minimization:0.8', { kind: 'minimization', p: 0.8, measure: 'range' }, [0, 1, 2]],
    ['minimization:1@site', { kind: 'minimization', p: 1, measure: 'range' }, [1]],
    ['minimization:.75,variance', { kind: 'minimization', p: 0.75, measure: 'variance' }, [0, 1, 2]],
    ['efron:.667', { kind: 'efron', p: 0.667 }, []],
    ['bigstick:3@site', { kind: 'bigstick', limit: 3 }, [1]],
    ['urn', { kind: 'urn', w: 2, alpha: 0, beta: 3, D: 'chisquare' }, [0, 1, 2]],
    ['urn:w=5,D=range', { kind: 'urn', w: 5, alpha: 0, beta: 3, D: 'range' }, [0, 1, 2]],
    ['urn:beta=1,alpha=1@sex', { kind: 'urn', w: 2, alpha: 1, beta: 1, D: 'chisquare' }, [0]],
  ])('%s is read', (text, rule, within) => {
    expect(read(text)).toEqual({ name: text, rule, within });
  });

  it.each<readonly [string, RegExp]>([
    ['blok:4', /no comparator "blok", only urn, .* and bigstick \(hint: did you mean block\?\)/],
    ['', /no comparator ""/],
    ...MALFORMED.map((text) => [text, /not of the form/] as const),
    ['block:4@stie', /no factor "stie", only "sex", "site" and "age, \\"old\\""/],
    ...['block:4@', 'block:4@site,', 'block:4@"site'].map(
      (text) => [text, /followed by names of factors/] as const,
    ),
    ['block:4@site,site', /named twice/],
    ['block:5', /multiple of 2/],
    ['urn:w=0', /w must be a whole number from 1/],
  ])('%s is refused', (text, why) => {
    expect(problem(text)).toMatch(why);
    expect(problem(text)).toContain(JSON.stringify(text));
  });

  it('must fit the arms and the ratio', () => {
    expect(read('block:3', { ratio: [2, 1] }).rule).toEqual({ kind: 'block', sizes: [3] });
    expect(problem('efron:0.7', { treatments: ['A', 'B', 'C'], ratio: [1, 1, 1] })).toMatch(/two arms/);
  });
});

describe('the usual comparators', () => {
  it('are those of complete randomization, blocks within sites and minimization that fit the study', () => {
    expect(usualComparators(DESIGN, undefined)).toEqual(['complete', 'minimization:0.8']);
    expect(usualComparators(DESIGN, 1)).toEqual(['complete', 'block:4@site', 'minimization:0.8']);
    expect(usualComparators({ ...DESIGN, ratio: [2, 1] }, 2)).toEqual([
      'complete',
      'block:6@"age, ""old"""',
      'minimization:0.8',
    ]);
  });

  it('can be read', () => {
    for (const ratio of [DESIGN.ratio, [2, 1]])
      for (const site of [0, 1, 2])
        for (const text of usualComparators({ ...DESIGN, ratio }, site))
          expect(read(text, { ratio }).name).toBe(text);
  });
});
