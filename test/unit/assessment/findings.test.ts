/** What the assessment says about figures. The figures here are made up. */
import { describe, expect, it } from 'vitest';
import { assessmentOf } from '../../../src/statistics/assessment/assessment.ts';
import { findingsOf } from '../../../src/statistics/assessment/findings.ts';
import { pageOf } from '../../../src/statistics/assessment/page.tsx';
import { paragraphOf } from '../../../src/statistics/assessment/paragraph.ts';
import type { Comparator, SimulationPlan } from '../../../src/statistics/simulation/plan.ts';
import type { Figure } from '../../../src/statistics/simulation/result.ts';
import { planOf } from '../simulation/exact/support.ts';

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

describe('the paragraph for a protocol', () => {
  it('says how a study with a ratio is drawn, and how three arms are compared', () => {
    const text = paragraphOf(assessment({}, {}, { treatments: ['A', 'B', 'C'], ratio: [2, 1, 1] }));
    expect(text).toContain('Arms: 2:1:1 ("A" 2, "B" 1, "C" 1).');
    expect(text).toContain('wei-urn-method1-pcg64, version 2');
    expect(text).toContain('--statistic F ');
    expect(text).toContain('1,000 simulated trials of 100 participants (seed 7)');
  });
});

describe('the page', () => {
  it('shows thirds of the range, which occur with a ratio, with two decimals', () => {
    const one = assessment({}, {}, { treatments: ['A', 'B', 'C'], ratio: [2, 1, 1] });
    const course = [1, 100].map((n) => ({ n, p05: 0, p25: 2 / 3, p50: 34 / 3, p75: 15, p95: 70 / 3 }));
    const page = pageOf({ ...one, designs: one.designs.map((design) => ({ ...design, course })) });
    expect(page).toContain('>11.33</text>');
    expect(page).toContain('>23.33</text>');
    expect(page).toContain('the median of the range is 11.33, and in 95 % of the trials it is at most 23.33');
    expect(page).not.toMatch(/>\d+\.\d{3,}<\/text>/);
  });
});
