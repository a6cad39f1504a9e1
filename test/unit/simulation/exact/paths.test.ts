/** The exact figures of small trials, against every sequence of arms possible in such a trial. */
import { describe, expect, it } from 'vitest';
import { exactly, exactProblem } from '../../../../src/statistics/simulation/exact/exactly.ts';
import { ruleOf, type State } from '../../../../src/statistics/simulation/exact/rules.ts';
import type { ComparatorRule } from '../../../../src/statistics/simulation/plan.ts';
import {
  bigStick,
  block,
  COMPLETE,
  efron,
  exactOf,
  figureOf,
  minimization,
  planOf,
  TWO,
  urn,
} from './support.ts';

interface Path {
  readonly weight: number;
  readonly arms: readonly number[];
  /** p_k before each allocation. */
  readonly chances: readonly (readonly number[])[];
}

function pathsOf(rule: ComparatorRule, ratio: readonly number[], n: number): Path[] {
  const { chances, after } = ruleOf(ratio, rule);
  const start: State = { counts: ratio.map(() => 0), block: 0, filled: 0 };
  let open: (Path & { state: State })[] = [{ weight: 1, arms: [], chances: [], state: start }];
  for (let step = 0; step < n; step++)
    open = open.flatMap(({ weight, arms, chances: seen, state }) => {
      const p = chances(state);
      return p.flatMap((chance, arm) =>
        after(state, arm).map((next, _, all) => ({
          weight: (weight * chance) / all.length,
          arms: [...arms, arm],
          chances: [...seen, p],
          state: next,
        })),
      );
    });
  return open.filter(({ weight }) => weight > 0);
}

const countsAfter = (arms: readonly number[], ratio: readonly number[], n: number): number[] =>
  ratio.map((_, k) => arms.slice(0, n).filter((arm) => arm === k).length);

function rangeAfter(arms: readonly number[], ratio: readonly number[], n: number): number {
  const all = ratio.reduce((a, b) => a + b, 0);
  const filled = countsAfter(arms, ratio, n).map((count, k) => count / (ratio[k] as number));
  return (all / ratio.length) * (Math.max(...filled) - Math.min(...filled));
}

/** The smallest of the values with a share of at least q at or below it. */
function quantile(values: readonly { readonly value: number; readonly weight: number }[], q: number): number {
  const sorted = [...values].sort((a, b) => a.value - b.value);
  let below = 0;
  for (const { value, weight } of sorted) {
    below += weight;
    if (below >= q - 1e-9) return value;
  }
  return Number.NaN;
}

describe.each([
  ['urn', urn(1, 0, 1), TWO, 9],
  ['urn with alpha', urn(2, 1, 3), TWO, 8],
  ['urn of three arms', urn(1, 0, 1), [1, 1, 1], 6],
  ['urn of 2:1', urn(1, 0, 1), [2, 1], 9],
  ['urn of 3:2:1', urn(1, 0, 2), [3, 2, 1], 6],
  ['mixed blocks', block(2, 4), TWO, 7],
  ['mixed blocks of 2:1', block(3, 6), [2, 1], 7],
  ['biased coin', efron(2 / 3), TWO, 8],
  ['big stick', bigStick(2), TWO, 8],
  ['minimization', minimization(0.7), [1, 1, 1], 6],
] as const)('%s', (_name, rule, ratio: readonly number[], n) => {
  const paths = pathsOf(rule, ratio, n);
  const all = ratio.reduce((a, b) => a + b, 0);
  const middle = Math.floor(n / 2);
  const result = exactOf(rule, ratio, n, { at: [middle, n], siteFactor: 0 });
  const mean = (of: (path: Path) => number): number =>
    paths.reduce((total, path) => total + path.weight * of(path), 0);
  const steps = Array.from({ length: n }, (_, i) => i);
  const meanOfSteps = (of: (chances: readonly number[], path: Path, before: number) => number): number =>
    mean((path) => path.chances.reduce((total, p, before) => total + of(p, path, before), 0) / n);
  const expectFigure = (name: string, value: number): void =>
    expect(figureOf(result, name), name).toBeCloseTo(value, 10);

  it('has the ranges of all paths', () => {
    const atN = (m: number) =>
      paths.map(({ arms, weight }) => ({ value: rangeAfter(arms, ratio, m), weight }));
    const course = paths.map(({ arms, weight }) => ({
      value: Math.max(...steps.map((step) => rangeAfter(arms, ratio, step + 1))),
      weight,
    }));
    for (const [name, ranges, m] of [
      [`overall.range@${middle}`, atN(middle), middle],
      [`overall.range@${n}`, atN(n), n],
      [`level.all.x.range@${n}`, atN(n), n],
      [`levels.range@${n}`, atN(n), n],
      [`strata.range@${n}`, atN(n), n],
      ['course.range', course, n],
    ] as const) {
      const shareOf = (most: number): number =>
        ranges.reduce((total, { value, weight }) => total + (value >= most - 1e-9 ? weight : 0), 0);
      expectFigure(
        `${name}.mean`,
        ranges.reduce((total, { value, weight }) => total + weight * value, 0),
      );
      for (const percent of ['05', '25', '50', '75', '95'])
        expectFigure(`${name}.p${percent}`, quantile(ranges, Number(percent) / 100));
      expectFigure(`${name}.ge5`, shareOf(m / 20));
      expectFigure(`${name}.ge10`, shareOf(m / 10));
    }
    expect(result.course.at(-1)?.p95).toBeCloseTo(quantile(atN(n), 0.95), 10);
    expect(result.course.map((point) => point.n)).toEqual(steps.map((step) => step + 1));
    for (const { range, share } of result.distribution)
      expect(share).toBeCloseTo(
        mean(({ arms }) => (Math.abs(rangeAfter(arms, ratio, n) - range) < 1e-9 ? 1 : 0)),
        10,
      );
  });

  it('has the guesses of all paths', () => {
    expectFigure('guess.blind', Math.max(...ratio) / all);
    expectFigure(
      'guess.known',
      meanOfSteps((p) => Math.max(...p)),
    );
    const naive = meanOfSteps((p, { arms }, before) => {
      const counts = countsAfter(arms, ratio, before);
      const filled = counts.map((count, k) => count / (ratio[k] as number));
      const least = ratio.map((_, k) => k).filter((k) => filled[k] === Math.min(...filled));
      const most = Math.max(...least.map((k) => ratio[k] as number));
      const guessed = least.filter((k) => ratio[k] === most);
      return guessed.reduce((total, k) => total + (p[k] as number), 0) / guessed.length;
    });
    expectFigure('guess.naive', naive);
    expectFigure('guess.site', naive);
    for (const [name, limit] of [
      ['80', 0.8],
      ['90', 0.9],
      ['100', 1],
    ] as const)
      expectFigure(
        `certain.${name}`,
        meanOfSteps((p) => (Math.max(...p) >= limit - 1e-12 ? 1 : 0)),
      );
    expectFigure(
      'entropy',
      meanOfSteps((p) => p.reduce((total, one) => total - (one > 0 ? one * Math.log(one) : 0), 0)),
    );
  });

  it('has the balance, fairness and drift of all paths', () => {
    expectFigure(
      'balanced',
      mean(({ arms }) => steps.filter((step) => rangeAfter(arms, ratio, step + 1) < 1e-9).length / n),
    );
    const furthest = steps.map((step) =>
      Math.max(
        ...ratio.map((share, k) =>
          Math.abs(mean(({ chances }) => chances[step]?.[k] as number) - share / all),
        ),
      ),
    );
    expectFigure('share', Math.max(...furthest));
    if (ratio.length > 2) {
      for (const name of ['drift', 'forcing', `loss@${n}`, `difference.sd@${n}`])
        expect(result.figures).not.toHaveProperty([name]);
      return;
    }
    const [a, b] = ratio.map((share) => share / all) as [number, number];
    expectFigure(
      'forcing',
      meanOfSteps(([p = 0]) => 4 * Math.abs(p - 0.5)),
    );
    const spread = steps.reduce((total, i) => total + (i - (n - 1) / 2) ** 2, 0);
    const drift = mean(({ arms }) =>
      [a, b].reduce((total, share, k) => {
        const sum = arms.reduce((one, arm, i) => one + ((arm === k ? 1 : 0) - share) * (i - (n - 1) / 2), 0);
        return total + sum * sum;
      }, 0),
    );
    expectFigure('drift', drift / ((1 - a * a - b * b) * spread));
    const differences = ({ arms }: Path): number => {
      const [first, second] = countsAfter(arms, ratio, n) as [number, number];
      return first - second;
    };
    const average = mean(differences);
    expectFigure(`difference.sd@${n}`, Math.sqrt(mean((path) => (differences(path) - average) ** 2)));
    // With only an intercept: T'(I - P)T is the sum of squares of the first arm's indicator about its mean.
    expectFigure(
      `loss@${n}`,
      mean(({ arms }) => {
        const [first] = countsAfter(arms, ratio, n) as [number];
        return n * (1 - (first - (first * first) / n) / (n * a * b));
      }),
    );
  });
});

describe('chances of minimization', () => {
  const { chances } = ruleOf([1, 1, 1], minimization(0.8));
  const at = (...counts: number[]): number[] => chances({ counts, block: 0, filled: 0 });

  it('are shared by the arms that leave the least range', () => {
    expect(at(2, 1, 0)).toEqual([expect.closeTo(0.1), expect.closeTo(0.1), expect.closeTo(0.8)]);
    // Either of the two comes first and gets 0.8, and the other gets 0.1: 0.45 each.
    expect(at(1, 0, 0)).toEqual([expect.closeTo(0.1), expect.closeTo(0.45), expect.closeTo(0.45)]);
    expect(at(4, 4, 4)).toEqual([expect.closeTo(1 / 3), expect.closeTo(1 / 3), expect.closeTo(1 / 3)]);
  });
});

describe('closed formulas', () => {
  it('of one urn with two arms: Eulerian numbers, and the drift', () => {
    const { distribution } = exactOf(urn(1, 0, 1), TWO, 4);
    const chances = [11 / 20, 26 / 60, 2 / 120].map((chance) => expect.closeTo(chance, 12));
    expect(distribution).toEqual(chances.map((share, i) => ({ range: 2 * i, share })));
    for (const [w, n, drift] of [
      [1, 50, 0.59674],
      [1, 100, 0.57589],
      [10, 100, 0.72289],
    ] as const)
      expect(figureOf(exactOf(urn(w, 0, 1), TWO, n), 'drift')).toBeCloseTo(drift, 5);
  });

  it('of complete randomization: one participant is lost with two arms, and the drift is 1', () => {
    const [equal, unequal] = [exactOf(COMPLETE, TWO, 30), exactOf(COMPLETE, [3, 1], 30)];
    for (const [result, name, expected] of [
      [equal, 'loss@30', 1],
      [equal, 'drift', 1],
      [unequal, 'drift', 1],
      [unequal, 'guess.known', 3 / 4],
    ] as const)
      expect(figureOf(result, name), name).toBeCloseTo(expected, 10);
  });
});

it('a plan that cannot be computed exactly is refused with a reason', () => {
  const { design } = planOf(TWO, 10);
  const [sex, site] = [
    { name: 'sex', levels: ['F', 'M'] },
    { name: 'site', levels: ['1'] },
  ] as const;
  for (const factors of [[sex], [site, site]])
    expect(exactProblem(planOf(TWO, 10, { design: { ...design, factors } }))).toBe(
      'exact figures are for a study of one factor with one level',
    );
  for (const fits of [planOf(TWO, 10), planOf([1, 1, 1], 300)]) expect(exactProblem(fits)).toBeUndefined();
  const problem = exactProblem(planOf([1, 1, 1], 320));
  expect(problem).toBe(
    'exact figures of study need more than 5,000,000 states, with 320 participants and 3 arms',
  );
  expect(() => exactly(planOf([1, 1, 1], 320))).toThrow(problem);
  expect(exactProblem(planOf(Array<number>(30).fill(1), 10))).toContain('5,000,000');
});
