/** The exact figures against closed formulas. */
import { describe, expect, it } from 'vitest';
import { exactly, exactProblem } from '../../../../src/statistics/simulation/exact/exactly.ts';
import type { DesignResult } from '../../../../src/statistics/simulation/result.ts';
import {
  bigStick,
  block,
  COMPLETE,
  comparator,
  exactOf,
  figureOf,
  layersFor,
  meanOfRange,
  minimization,
  planOf,
  TWO,
  urn,
} from './support.ts';

/** Probability of each count of the first of two arms after n participants. */
function countsOfA(n: number): number[] {
  const layers = layersFor(urn(1, 0, 1), TWO, n);
  let before = [1];
  for (const { ways } of layers) {
    if (!ways) break;
    const after = Array.from({ length: ways.reached }, () => 0);
    for (const [way, from] of ways.from.entries())
      after[ways.to[way] as number] =
        (after[ways.to[way] as number] as number) + (before[from] as number) * (ways.chance[way] as number);
    before = after;
  }
  const found: number[] = [];
  for (const [place, { counts }] of (layers.at(-1)?.states ?? []).entries())
    found[counts[0] as number] = before[place] as number;
  return found;
}

/** A(n, k), the number of orders of n things with k descents. */
function eulerian(n: number, k: number): number {
  if (n === 0) return k === 0 ? 1 : 0;
  if (k < 0 || k >= n) return 0;
  let row = [1];
  for (let m = 2; m <= n; m++)
    row = Array.from({ length: m }, (_, j) => (j + 1) * (row[j] ?? 0) + (m - j) * (row[j - 1] ?? 0));
  return row[k] as number;
}

/** Variance of n_k - n/K after n participants, step by step. */
function variance(arms: number, w: number, alpha: number, beta: number, n: number): number {
  let found = 0;
  for (let i = 0; i < n; i++)
    found =
      found * (1 - (2 * (beta - alpha)) / (arms * w + (alpha + (arms - 1) * beta) * i)) +
      (arms - 1) / arms ** 2;
  return found;
}

describe('one urn with two arms', () => {
  it('UD(1,0,1) has Eulerian numbers', () => {
    const four = [1 / 120, 13 / 60, 11 / 20, 13 / 60, 1 / 120];
    for (const [k, chance] of countsOfA(4).entries()) expect(chance).toBeCloseTo(four[k] as number, 12);
    for (let n = 1; n <= 24; n++) {
      const orders = Array.from({ length: n + 1 }, (_, i) => i + 1).reduce((product, i) => product * i, 1);
      for (const [k, chance] of countsOfA(n).entries())
        expect(chance).toBeCloseTo(eulerian(n + 1, k) / orders, 12);
    }
  });

  it('UD(1,0,1) has Var D = (n + 2)/3', () => {
    for (const n of [2, 7, 60])
      expect(figureOf(exactOf(urn(1, 0, 1), TWO, n), `difference.sd@${n}`) ** 2).toBeCloseTo((n + 2) / 3, 9);
  });

  it.each([
    [1, 0, 1],
    [1, 0, 5],
    [10, 0, 1],
    [2, 1, 3],
    [3, 2, 1],
  ])('UD(%i,%i,%i) has the variance of the recursion', (w, alpha, beta) => {
    const result = exactOf(urn(w, alpha, beta), TWO, 40);
    // D is twice as far from 0 as n_A is from n/2.
    expect(figureOf(result, 'difference.sd@40') ** 2).toBeCloseTo(4 * variance(2, w, alpha, beta, 40), 8);
  });

  it.each([
    [1, 0.59674, 0.57589],
    [5, 0.72691, 0.65084],
    [10, 0.821, 0.72289],
  ])('UD(%i,0,1) has the drift %d after 50 and %d after 100', (w, fifty, hundred) => {
    expect(figureOf(exactOf(urn(w, 0, 1), TWO, 50), 'drift')).toBeCloseTo(fifty, 5);
    expect(figureOf(exactOf(urn(w, 0, 1), TWO, 100), 'drift')).toBeCloseTo(hundred, 5);
  });

  it.each([
    ['UD(1,0,1)', urn(1, 0, 1), 0.2588, 0.0288],
    ['UD(2,0,1)', urn(2, 0, 1), 0.28, 0.032],
    ['UD(5,0,1)', urn(5, 0, 1), 0.329, 0.0418],
    ['UD(10,0,1)', urn(10, 0, 1), 0.3775, 0.0577],
    ['complete', COMPLETE, 0.5034, 0.2026],
  ])('%s: how often |D| is at least 20 %% of n', (_design, rule, twenty, fifty) => {
    for (const [n, expected] of [
      [20, twenty],
      [50, fifty],
    ] as const) {
      const share = meanOfRange(exactOf(rule, TWO, n), (range) => (5 * range >= n ? 1 : 0));
      expect(share).toBeCloseTo(expected, 4);
    }
  });
});

describe('three arms', () => {
  it('one urn has the variance of the recursion', () => {
    expect(variance(3, 1, 0, 1, 100)).toBeCloseTo(11.276949, 6);
    const layers = layersFor(urn(1, 0, 1), [1, 1, 1], 100);
    let before = Float64Array.of(1);
    for (const { ways } of layers) {
      if (!ways) break;
      const after = new Float64Array(ways.reached);
      for (const [way, from] of ways.from.entries()) {
        const to = ways.to[way] as number;
        after[to] = (after[to] as number) + (before[from] as number) * (ways.chance[way] as number);
      }
      before = after;
    }
    const states = layers.at(-1)?.states ?? [];
    const found = states.reduce(
      (total, { counts }, place) =>
        total + (before[place] as number) * ((counts[0] as number) - 100 / 3) ** 2,
      0,
    );
    expect(found).toBeCloseTo(11.276949, 6);
  });

  it('a range of 10 % after 100 is half as likely as with complete randomization, but not rare', () => {
    const comparators = [COMPLETE, urn(1, 0, 2)].map(comparator);
    const [study, complete, twice] = exactly(
      planOf([1, 1, 1], 100, { comparators }),
    ) as readonly DesignResult[] as readonly [DesignResult, DesignResult, DesignResult];
    expect(figureOf(complete, 'overall.range@100.ge10')).toBeCloseTo(0.4766, 4);
    expect(figureOf(study, 'overall.range@100.ge10')).toBeCloseTo(0.2316, 4);
    expect(figureOf(twice, 'overall.range@100.ge10')).toBeCloseTo(0.2291, 4);
    expect(figureOf(study, 'overall.range@100.mean')).toBeCloseTo(6.9475, 4);
  });
});

it('one urn with the ratio 2:1 has the variances given in docs/methods.md', () => {
  for (const [n, variance] of [
    [3, 10 / 21],
    [6, 32 / 39],
  ] as const)
    expect(figureOf(exactOf(urn(1, 0, 1), [2, 1], n), `difference.sd@${n}`) ** 2 / 4).toBeCloseTo(
      variance,
      12,
    );
});

describe('as n grows,', () => {
  it.each([
    [2, 0, 1, 1 / 3],
    [3, 0, 1, 1 / 2],
    [4, 0, 1, 3 / 5],
    [2, 1, 3, 1 / 2],
    [3, 1, 2, 1 / (1 + 2 / 5)],
  ])(
    'with %i arms and UD(w,%i,%i) the variance tends to %d of complete randomization',
    (arms, alpha, beta, limit) => {
      const n = 200_000;
      const complete = (n * (arms - 1)) / arms ** 2;
      expect(variance(arms, 2, alpha, beta, n) / complete).toBeCloseTo(limit, 3);
    },
  );

  it('guessing fades', () => {
    const guessed = [10, 40, 160].map((n) => figureOf(exactOf(urn(1, 0, 1), TWO, n), 'guess.known'));
    expect(guessed).toEqual([...guessed].sort((a, b) => b - a));
    expect(guessed.at(-1)).toBeLessThan(0.54);
  });
});

describe('blocks of two arms', () => {
  it.each([
    [2, 0.75],
    [4, 0.70833],
    [6, 0.68333],
    [8, 0.66607],
    [10, 0.65317],
  ])('of %i are guessed with probability %d', (size, expected) => {
    const b = size / 2;
    const closed = 1 / 2 + (2 ** (size - 1) / binomial(size, b) - 1 / 2) / size;
    expect(closed).toBeCloseTo(expected, 5);
    expect(figureOf(exactOf(block(size), TWO, 3 * size), 'guess.known')).toBeCloseTo(closed, 12);
  });

  it('of 4 or 6 by lot start with either size equally often', () => {
    // The last of a block is certain, and so is the one before it if both are alike: that is in 1 of 3 blocks of 4 ...
    const result = exactOf(block(4, 6), TWO, 4);
    // ... and in a block of 6 none of the first four is certain, unless the first three are on one arm: 2 of 20 orders.
    const ofFour = (1 + 1 / 3) / 4;
    const ofSix = 2 / 20 / 4;
    expect(figureOf(result, 'certain.100')).toBeCloseTo((ofFour + ofSix) / 2, 12);
  });
});

function binomial(n: number, k: number): number {
  let found = 1;
  for (let i = 1; i <= k; i++) found = (found * (n - k + i)) / i;
  return found;
}

describe('complete randomization', () => {
  it('loses one participant with two arms, and has the drift 1', () => {
    const result = exactOf(COMPLETE, TWO, 30);
    expect(figureOf(result, 'loss@30')).toBeCloseTo(1, 10);
    expect(figureOf(result, 'drift')).toBeCloseTo(1, 10);
    const unequal = exactOf(COMPLETE, [3, 1], 30);
    expect(figureOf(unequal, 'drift')).toBeCloseTo(1, 10);
    expect(figureOf(unequal, 'guess.known')).toBeCloseTo(3 / 4, 10);
  });
});

describe('each arm has its share at every step, with', () => {
  it.each([
    ['urn', urn(1, 0, 1), [2, 1]],
    ['urn of three arms', urn(2, 1, 3), [3, 2, 1]],
    ['blocks', block(6, 12), [3, 2, 1]],
    ['complete', COMPLETE, [3, 1]],
    ['minimization', minimization(0.8), [1, 1, 1]],
    ['big stick', bigStick(2), [1, 1]],
  ])('%s', (_design, rule, ratio) => {
    expect(figureOf(exactOf(rule, ratio, 20), 'share')).toBeLessThan(1e-12);
  });
});

describe('a plan that cannot be computed exactly', () => {
  it('is refused with a reason', () => {
    const { design } = planOf(TWO, 10);
    expect(exactProblem(planOf(TWO, 10))).toBeUndefined();
    for (const factors of [
      [{ name: 'sex', levels: ['F', 'M'] }],
      [
        { name: 'sex', levels: ['F'] },
        { name: 'site', levels: ['1'] },
      ],
    ])
      expect(exactProblem(planOf(TWO, 10, { design: { ...design, factors } }))).toBe(
        'exact figures are for a study of one factor with one level',
      );
    expect(exactProblem(planOf([1, 1, 1], 300))).toBeUndefined();
    const problem = exactProblem(planOf([1, 1, 1], 320));
    expect(problem).toBe(
      'exact figures of study need more than 5,000,000 states, with 320 participants and 3 arms',
    );
    expect(() => exactly(planOf([1, 1, 1], 320))).toThrow(problem);
    expect(
      exactProblem(
        planOf(
          Array.from({ length: 30 }, () => 1),
          10,
        ),
      ),
    ).toContain('5,000,000');
  });
});
