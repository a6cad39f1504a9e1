import { describe, expect, it } from 'vitest';
import {
  judge,
  judgedText,
  readRequirement,
  refuseUnknown,
} from '../../../src/statistics/assessment/requirement.ts';
import type { SimulatedDesign } from '../../../src/statistics/simulation/plan.ts';

const DESIGN: SimulatedDesign = {
  treatments: ['A', 'B'],
  ratio: [1, 1],
  factors: [{ name: 'site', levels: ['a <= 3', 'b'] }],
  ...{ w: 1, alpha: 0, beta: 1, D: 'range' },
};
const FIGURES = new Map([
  ['overall.range.p95', { value: 18, low: 18, high: 19 }],
  ['guess.known', { value: 0.55, low: 0.549, high: 0.551 }],
  ['level.site.a <= 3.range.mean', { value: 2, low: 1.9, high: 2.1 }],
  ['level.site.a <= 3.range.p95', { value: 3, low: 3, high: 3 }],
  ['level.site.b.range.mean', { value: 2, low: 1.9, high: 2.1 }],
]);
const judged = (text: string) => judge(readRequirement(text), FIGURES, DESIGN);

describe('a requirement', () => {
  it.each([
    ['overall.range.p95 <= 18', true],
    ['overall.range.p95 < 18', false],
    ['overall.range.p95>=18', true],
    ['overall.range.p95 > 18', false],
    ['  guess.known<.6 ', true],
    ['guess.known > 6e-1', false],
    ['level.site.a <= 3.range.mean <= 2', true],
  ])('%s: %s', (text, met) => {
    expect(judged(text).met).toBe(met);
  });

  it('says whether its number is within the error', () => {
    expect(judged('overall.range.p95 <= 19').withinError).toBe(true);
    expect(judged('overall.range.p95 <= 20').withinError).toBe(false);
    // An exact figure has no error, nor does one that all replicates agree on.
    expect(judged('level.site.a <= 3.range.p95 <= 3').withinError).toBe(false);
    expect(judgedText(judged('guess.known <= 0.5505'))).toBe(
      'met: guess.known <= 0.5505; it is 0.55 [0.549, 0.551]; the number is within the Monte Carlo error: use more --reps',
    );
    expect(judgedText(judged('guess.known <= 0.5'))).toBe(
      'NOT MET: guess.known <= 0.5; it is 0.55 [0.549, 0.551]',
    );
  });

  it.each(['overall.range.p95', 'overall.range.p95 = 3', '<= 3', 'a <= b', 'a <= 3 %'])(
    'cannot be %s',
    (text) => {
      expect(() => readRequirement(text)).toThrow(/NAME OP NUMBER/);
    },
  );

  it('for an unknown figure is refused with a list of the known ones, each kind once', () => {
    const refuse = () => refuseUnknown(readRequirement('gess.known < 1'), [...FIGURES.keys()], DESIGN);
    expect(refuse).toThrow(
      [
        'there is no figure "gess.known" of this design (hint: did you mean guess.known?); it has:',
        'guess.known',
        'level.<factor>.<level>.range.mean .p95',
        'overall.range.p95',
      ].join('\n  '),
    );
  });

  it('about urns is refused where there are none', () => {
    const blocks = { ...DESIGN, own: { rule: { kind: 'block', sizes: [4] }, within: [] } } as const;
    expect(() => refuseUnknown(readRequirement('drawn.site < 1'), [...FIGURES.keys()], blocks)).toThrow(
      'there is no figure "drawn.site" of this design, which has no urns; it has:',
    );
  });
});
