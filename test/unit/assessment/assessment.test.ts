/** What the assessment says about figures, made up here; what somebody writes about simulated designs, and how figures are written. */
import { describe, expect, it } from 'vitest';
import { quoted } from '../../../src/cli/simulate.ts';
import {
  assessmentOf,
  findingsOf,
  judge,
  judgedText,
  readRequirement,
  refuseUnknown,
} from '../../../src/statistics/assessment/assessment.ts';
import { readComparator, usualComparators } from '../../../src/statistics/assessment/comparator.ts';
import { pageOf } from '../../../src/statistics/assessment/page.tsx';
import { paragraphOf } from '../../../src/statistics/assessment/text.ts';
import { figureText, parted } from '../../../src/statistics/assessment/words.ts';
import type { Comparator, SimulatedDesign, SimulationPlan } from '../../../src/statistics/simulation/plan.ts';
import type { Figure } from '../../../src/statistics/simulation/summary.ts';
import { thrownBy } from '../../support/thrown.ts';
import { planOf } from '../simulation/support.ts';

const COMPLETE: Comparator = { name: 'complete', rule: { kind: 'complete' }, within: [] };

function assessment(
  own: Readonly<Record<string, Figure>>,
  other: Readonly<Record<string, Figure>> = {},
  more: Partial<SimulationPlan['design']> = {},
) {
  const { design: urns, ...others } = planOf([1, 1], 100, { reps: 1000, seed: 7n, comparators: [COMPLETE] });
  const factors = ['sex', 'age'].map((name) => ({ name, levels: ['x', 'y'] }));
  const plan = { ...others, design: { ...urns, factors, ...more } };
  const design = (name: string, figures: Readonly<Record<string, Figure>>) => ({
    ...{ name, figures, course: [], distribution: [] },
  });
  const designs = [design('study', own), design('complete', other)];
  return assessmentOf({ version: '1', plan, designs, isExact: false, judged: [], command: 'urn simulate' });
}
const figure = (value: number, error: number): Figure => ({ value, low: value - error, high: value + error });
const sentences = (...args: Parameters<typeof assessment>) =>
  findingsOf(assessment(...args)).flatMap((one) => one.sentences);

describe('a finding', () => {
  it('reports a difference only if it exceeds both errors', () => {
    const own = {
      'overall.range@100.mean': figure(5, 0.5),
      drift: figure(0.9, 0.05),
      'loss@100': figure(2, 1),
    };
    const other = {
      'overall.range@100.mean': figure(8, 0.5),
      drift: figure(0.7, 0.1),
      'loss@100': figure(3, 1),
    };
    expect(sentences(own, other).slice(-3)).toEqual([
      "Better with this study's urns: the difference of the arms (5.00 against 8.00).",
      'Worse: drift (0.900 against 0.700).',
      'No difference beyond the Monte Carlo error: loss of efficiency.',
    ]);
  });

  it('says no more about drift than its error allows', () => {
    expect(sentences({ drift: figure(0.9, 0.05) }).join()).toContain('the urns remove part of it, not all');
    expect(sentences({ drift: figure(0.99, 0.05) }).join()).toContain('no protection was found');
    expect(sentences({ drift: figure(1.2, 0.05) }).join()).toContain('the urns add to it');
  });

  it('is left out if the design does not have its figure', () => {
    expect(sentences({})).toEqual([]);
  });
});

describe('a warning', () => {
  const warnings = (...args: Parameters<typeof assessment>) => assessment(...args).warnings;

  it('says that one factor is drawn in most allocations, or with two factors, in nearly all', () => {
    const drawn = { 'drawn.age': figure(0.6, 0.01) };
    expect(warnings(drawn)).toEqual([]);
    const factors = ['sex', 'age', 'site'].map((name) => ({ name, levels: ['x', 'y'] }));
    expect(warnings(drawn, {}, { factors })).toEqual([expect.stringMatching(/^60\.00 % .* factor "age"/)]);
    expect(warnings({ 'drawn.age': figure(0.505, 0.01) }, {}, { factors })).toEqual([]);
    expect(warnings({ 'drawn.age': figure(0.9, 0.01) })).toHaveLength(1);
  });

  it('says that rounding favours an arm only if chance does not explain it', () => {
    // 1.96 standard errors on each side.
    expect(warnings({ share: figure(0.03, 0.0196) })).toEqual([]);
    expect(warnings({ share: figure(0.03, 0.00196) })).toEqual([expect.stringMatching(/3\.00 % away/)]);
    // An exact figure has no error, but this little does not matter.
    expect(warnings({ share: figure(1e-9, 0) })).toEqual([]);
    expect(warnings({ share: figure(0.02, 0) })).toHaveLength(1);
  });
});

it('the paragraph for a protocol says how a study with a ratio is drawn, and how three arms are compared', () => {
  const text = paragraphOf(assessment({}, {}, { treatments: ['A', 'B', 'C'], ratio: [2, 1, 1] }));
  expect(text).toContain('Arms: 2:1:1 ("A" 2, "B" 1, "C" 1).');
  expect(text).toContain('wei-urn-method1-pcg64, version 2');
  expect(text).toContain('--statistic F ');
  expect(text).toContain('1,000 simulated trials of 100 participants (seed 7)');
});

it('the page shows thirds of the range, which occur with a ratio, with two decimals', () => {
  const one = assessment({}, {}, { treatments: ['A', 'B', 'C'], ratio: [2, 1, 1] });
  const course = [1, 100].map((n) => ({ n, p05: 0, p25: 2 / 3, p50: 34 / 3, p75: 15, p95: 70 / 3 }));
  const page = pageOf({ ...one, designs: one.designs.map((design) => ({ ...design, course })) });
  expect(page).toContain('>11.33</text>');
  expect(page).toContain('>23.33</text>');
  expect(page).toContain('the median of the range is 11.33, and in 95 % of the trials it is at most 23.33');
  expect(page).not.toMatch(/>\d+\.\d{3,}<\/text>/);
});

const DESIGN: SimulatedDesign = {
  ...{ treatments: ['A', 'B'], ratio: [1, 1], w: 2, alpha: 0, beta: 3, D: 'chisquare' },
  factors: [
    { name: 'sex', levels: ['F', 'M'] },
    { name: 'site', levels: ['a <= 3', 'b'] },
    { name: 'age, "old"', levels: ['x'] },
  ],
};
const read = (text: string, more: Partial<SimulatedDesign> = {}) =>
  readComparator(text, { ...DESIGN, ...more });
const problem = (text: string, more: Partial<SimulatedDesign> = {}) =>
  thrownBy(() => read(text, more))?.message ?? '';

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
    const ofSites = { ...DESIGN, factors: DESIGN.factors.slice(1, 2) };
    const refuse = () => refuseUnknown(readRequirement('gess.known < 1'), [...FIGURES.keys()], ofSites);
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

it.each([
  ['overall.range@300.mean', 'overall.range.mean', 300],
  ['difference.sd@20', 'difference.sd', 20],
  ['loss@300', 'loss', 300],
  ['level.site.x@5.range@300.p95', 'level.site.x@5.range.p95', 300],
  ['course.range.mean', 'course.range.mean', undefined],
  ['guess.naive', 'guess.naive', undefined],
  ['drawn.site@5', 'drawn.site@5', undefined],
])('the name of the figure %s is split at the number of participants', (full, name, n) => {
  expect(parted(full)).toEqual({ name, n });
});

it.each([
  ['overall.range.mean', { value: 9.2384, low: 9.1, high: 9.3 }, '9.24 [9.10, 9.30]'],
  ['overall.range.p95', { value: 18, low: 18, high: 18 }, '18'],
  ['overall.range.p95', { value: 1.5, low: 0.75, high: 2.25 }, '1.5 [0.75, 2.25]'],
  ['guess.known', { value: 0.5512, low: 0.55, high: 0.5524 }, '55.12 % [55.00, 55.24]'],
  ['overall.range.ge10', { value: 0.25, low: 0.2, high: 0.3 }, '25.00 % [20.00, 30.00]'],
  ['certain.90', { value: 1e-7, low: -1e-7, high: 3e-7 }, '< 0.01 % [< 0.01, < 0.01]'],
  ['drift', { value: 1, low: 1, high: 1 }, '1.000'],
])('the figure %s is shown in a readable form', (name, figure, text) => {
  expect(figureText(name, figure)).toBe(text);
});

it.each([
  ['block:4+6@local_site', 'block:4+6@local_site'],
  ['CHS JCOIN', "'CHS JCOIN'"],
  ["St. Mary's", "'St. Mary'\\''s'"],
  ['', "''"],
])('a word on a command line is quoted if necessary: %s', (word, text) => {
  expect(quoted(word)).toBe(text);
});
