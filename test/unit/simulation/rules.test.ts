import { describe, expect, it } from 'vitest';
import { Counts } from '../../../src/core/methods/counts.ts';
import { probabilities } from '../../../src/core/methods/draw.ts';
import { workOut } from '../../../src/core/methods/urn/allocate.ts';
import { boundedInteger } from '../../../src/core/random/bounded.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import type { Comparator, ComparatorRule } from '../../../src/statistics/simulation/plan.ts';
import { comparatorProblem, ruleOf } from '../../../src/statistics/simulation/rules.ts';

const factors = [
  { name: 'site', levels: ['1', '2', '3'] },
  { name: 'age', levels: ['old', 'young'] },
  { name: 'sex', levels: ['F', 'M'] },
];

/** Participants who arrive with all combinations of levels in turn. */
function people(count: number) {
  const levels = Array.from({ length: count }, (_, i) => [
    (i * 7) % 3,
    (i >> 1) % 2,
    (i * i + i) % 4 === 0 ? 0 : 1,
  ]);
  return {
    rows: levels,
    participants: {
      levels: Int32Array.from(levels.flat()),
      factors,
      strata: (within: readonly number[]) =>
        Int32Array.from(levels, (row) => within.reduce((key, factor) => key * 3 + (row[factor] ?? 0), 0)),
    },
  };
}

interface Step {
  readonly levels: readonly number[];
  readonly chances: readonly number[];
  readonly arm: number;
}

/** What a rule does with the first `count` people; each seed gives other random numbers. */
function run(comparator: Comparator, ratio: readonly number[], count: number, seed = 7n): Step[] {
  const { rows, participants } = people(count);
  const rule = ruleOf(comparator, ratio, participants);
  const generator = Pcg64.fromSeed(seed);
  rule.restart();
  return rows.map((levels, i) => {
    const arm = rule.allocate(i, generator);
    return { levels, arm, chances: [...rule.chances] };
  });
}

function comparator(rule: ComparatorRule, within: readonly number[] = []): Comparator {
  return { name: '', rule, within };
}

const countsOf = (steps: readonly Step[], arms: number) =>
  Array.from({ length: arms }, (_, arm) => steps.filter((step) => step.arm === arm).length);

describe('the urns of a simulation', () => {
  it.each([
    { ratio: [1, 1, 1], within: [], D: 'chisquare' },
    { ratio: [1, 1], within: [], D: 'variance' },
    { ratio: [1, 3, 2], within: [], D: 'chisquare' },
    { ratio: [2, 1], within: [2, 0], D: 'range' },
  ] as const)('allocate as the service does: $ratio by $D, factors $within', ({ ratio, within, D }) => {
    const steps = run(comparator({ kind: 'urn', w: 2, alpha: 1, beta: 3, D }, within), ratio, 200);
    const arms = ratio.flatMap((share, arm) => Array<number>(share).fill(arm));
    const used = within.length > 0 ? within : [0, 1, 2];
    const design = {
      ...{ w: 2, alpha: 1, beta: 3, D },
      slots: arms.map(String),
      factors: used.map((factor) => factors[factor] ?? { name: '', levels: [] }),
      hasRatio: ratio.some((share) => share > 1),
    };
    const counts = new Counts(design);
    let state = Pcg64.fromSeed(7n).snapshot();
    let lots = 0;
    for (const { levels, arm, chances } of steps) {
      const seen = used.map((factor) => levels[factor] ?? 0);
      const { candidates, urns, slot, draw } = workOut(design, counts, seen, state);
      expect(arm).toBe(arms[slot]);
      // Before the lot: the mean over the urns that may be drawn from.
      const shares = candidates.map((factor) => probabilities(urns[factor]?.balls ?? []));
      const chance = (k: number) =>
        sumOf(shares.map((p) => sumOf(p.filter((_, slot) => arms[slot] === k)))) / shares.length;
      expect(chances).toEqual(ratio.map((_, k) => expect.closeTo(chance(k), 12)));
      if (candidates.length > 1) lots++;
      counts.add(seen, slot);
      state = draw.bgStateAfter;
    }
    expect(lots).toBeGreaterThan(1);
  });
});

describe('complete randomization', () => {
  it('follows only the ratio', () => {
    const steps = run(comparator({ kind: 'complete' }), [2, 1, 1], 4000);
    expect(new Set(steps.map(({ chances }) => chances.join()))).toEqual(new Set(['0.5,0.25,0.25']));
    const [first = 0] = countsOf(steps, 3);
    expect(Math.abs(first - 2000)).toBeLessThan(4 * Math.sqrt(4000 / 4));
  });
});

describe('permuted blocks', () => {
  const blocks = (sizes: number[], within: number[] = []) => comparator({ kind: 'block', sizes }, within);

  it('make every order of a block equally likely', () => {
    // A A B C has 12 orders. The chances are those of what follows the block so far.
    const orders = permutations([0, 0, 1, 2]);
    for (let seed = 1n; seed <= 40n; seed++) {
      const steps = run(blocks([4]), [2, 1, 1], 8, seed);
      steps.forEach(({ chances }, i) => {
        const soFar = steps.slice(i - (i % 4), i).map(({ arm }) => arm);
        const alike = orders.filter((order) => soFar.every((arm, place) => order[place] === arm));
        const next = [0, 1, 2].map(
          (arm) => alike.filter((order) => order[i % 4] === arm).length / alike.length,
        );
        expect(chances).toEqual(next.map((p) => expect.closeTo(p, 12)));
      });
    }
  });

  it('balance each stratum of the factors, and nothing else', () => {
    const steps = run(blocks([3], [0, 2]), [1, 1, 1], 600);
    for (const site of [0, 1, 2])
      for (const sex of [0, 1]) {
        const stratum = steps.filter(({ levels }) => levels[0] === site && levels[2] === sex);
        for (let end = 3; end <= stratum.length; end += 3)
          expect(new Set(countsOf(stratum.slice(0, end), 3)).size).toBe(1);
      }
    const young = countsOf(
      steps.filter(({ levels }) => levels[1] === 1),
      3,
    );
    expect(new Set(young).size).toBeGreaterThan(1);
  });

  it('of several sizes draw each block’s size by lot when it begins', () => {
    let small = 0;
    for (let seed = 1n; seed <= 400n; seed++) {
      const generator = Pcg64.fromSeed(seed);
      const isSmall = boundedInteger(generator, 2) === 0;
      const [first, second] = run(blocks([2, 6]), [1, 1], 2, seed);
      expect(first?.arm).toBe(generator.nextUniform53() < 2 ** 52 ? 0 : 1);
      const isCertain = Math.max(...(second?.chances ?? [])) === 1;
      expect(isCertain).toBe(isSmall);
      if (isSmall) small++;
    }
    expect(Math.abs(small - 200)).toBeLessThan(40);
  });
});

describe('minimization', () => {
  it('gives p to the best arm and shares the rest, averaged over the orders of tied arms', () => {
    const steps = run(comparator({ kind: 'minimization', p: 0.8 }), [1, 1, 1], 80);
    steps.forEach(({ levels, chances }, i) => {
      const sums = [0, 1, 2].map((arm) =>
        sumOf(
          levels.map((level, factor) => {
            const alike = steps.slice(0, i).filter((step) => step.levels[factor] === level);
            const counts = countsOf([...alike, { levels, chances, arm }], 3);
            return Math.max(...counts) - Math.min(...counts);
          }),
        ),
      );
      const orders = permutations([0, 1, 2]).filter((order) =>
        order.every((arm, place) => place === 0 || (sums[order[place - 1] ?? 0] ?? 0) <= (sums[arm] ?? 0)),
      );
      const chance = (arm: number) =>
        sumOf(orders.map((order) => (order[0] === arm ? 0.8 : 0.1))) / orders.length;
      expect(chances).toEqual([0, 1, 2].map((arm) => expect.closeTo(chance(arm), 12)));
    });
    expect(new Set(steps.map(({ chances }) => chances.join())).size).toBeGreaterThan(4);
  });

  it('considers only the named factors', () => {
    const steps = run(comparator({ kind: 'minimization', p: 1 }, [2]), [1, 1], 100);
    for (const sex of [0, 1]) {
      const [a = 0, b = 0] = countsOf(
        steps.filter(({ levels }) => levels[2] === sex),
        2,
      );
      expect(Math.abs(a - b)).toBeLessThanOrEqual(1);
    }
  });
});

describe('designs for two arms', () => {
  it.each([
    {
      name: "Efron's biased coin",
      rule: { kind: 'efron', p: 0.7 } as const,
      chance: (ahead: number) => (ahead === 0 ? 0.5 : ahead < 0 ? 0.7 : 0.3),
    },
    {
      name: 'the big stick',
      rule: { kind: 'bigstick', limit: 2 } as const,
      chance: (ahead: number) => (Math.abs(ahead) < 2 ? 0.5 : ahead < 0 ? 1 : 0),
    },
  ])('$name depends on the difference within the stratum', ({ rule, chance }) => {
    for (const within of [[], [0]]) {
      const steps = run(comparator(rule, within), [1, 1], 300);
      const seen = new Set<number>();
      steps.forEach(({ levels, chances }, i) => {
        const alike = steps
          .slice(0, i)
          .filter((step) => within.every((factor) => step.levels[factor] === levels[factor]));
        const [a = 0, b = 0] = countsOf(alike, 2);
        seen.add(a - b);
        expect(chances).toEqual([chance(a - b), 1 - chance(a - b)].map((p) => expect.closeTo(p, 12)));
      });
      expect(seen.size).toBeGreaterThanOrEqual(5);
    }
  });
});

describe('what fits a study', () => {
  const two = { ratio: [1, 1], factors };
  const three = { ratio: [1, 1, 1], factors };
  const unequal = { ratio: [2, 1], factors };
  const urn = { kind: 'urn', w: 1, alpha: 0, beta: 1, D: 'range' } as const;

  it.each([
    [two, comparator({ kind: 'efron', p: 0.5 })],
    [two, comparator({ kind: 'bigstick', limit: 1 }, [0])],
    [three, comparator({ kind: 'block', sizes: [3, 9] }, [0, 1])],
    [unequal, comparator({ kind: 'block', sizes: [3, 6] })],
    [unequal, comparator({ kind: 'complete' })],
    [unequal, comparator({ ...urn, w: 5 }, [1])],
    [three, comparator({ kind: 'minimization', p: 0.334 })],
    [unequal, comparator({ kind: 'minimization', p: 0.8, measure: 'variance' })],
    [three, comparator({ kind: 'minimization', p: 1 })],
  ] as const)('%#: %j', (study, one) => {
    expect(comparatorProblem(one, study)).toBeUndefined();
  });

  it.each([
    [three, comparator({ kind: 'efron', p: 0.7 }), 'it is for two arms, and the study has 3'],
    [three, comparator({ kind: 'bigstick', limit: 3 }), 'it is for two arms, and the study has 3'],
    [unequal, comparator({ kind: 'efron', p: 0.7 }), 'it is not for a study with a ratio'],
    [three, comparator({ kind: 'minimization', p: 1 / 3 }), 'p has at most three decimals'],
    [unequal, comparator({ kind: 'minimization', p: 0.3 }), 'p must be from 1/3 (the share of a slot) to 1'],
    [two, comparator({ kind: 'efron', p: 0.49 }), 'p must be from 0.5 to 1'],
    [two, comparator({ kind: 'efron', p: Number.NaN }), 'p must be from 0.5 to 1'],
    [three, comparator({ kind: 'minimization', p: 0.3 }), 'p must be from 1/3 (the share of an arm) to 1'],
    [three, comparator({ kind: 'minimization', p: 1.1 }), 'p must be from 1/3 (the share of an arm) to 1'],
    [
      two,
      comparator({ kind: 'bigstick', limit: 0 }),
      'the largest difference must be a whole number of at least 1',
    ],
    [
      three,
      comparator({ kind: 'block', sizes: [3, 4] }),
      'the size 4 is not a multiple of 3, the number of arms, up to 1000000',
    ],
    [
      unequal,
      comparator({ kind: 'block', sizes: [2] }),
      'the size 2 is not a multiple of 3, the sum of the ratio, up to 1000000',
    ],
    [two, comparator({ kind: 'block', sizes: [] }), 'it has no size'],
    [two, comparator({ ...urn, w: 0 }), 'w must be a whole number from 1 to 1000000'],
    [two, comparator({ ...urn, beta: 0.5 }), 'beta must be a whole number from 0 to 1000000'],
    [two, comparator({ kind: 'complete' }, [0]), 'it has no factors'],
    [two, comparator(urn, [0, 0]), 'a factor is named twice'],
    [two, comparator(urn, [3]), 'the study has no such factor'],
  ] as const)('not %#: %j', (study, one, problem) => {
    expect(comparatorProblem(one, study)).toBe(problem);
  });
});

/** All distinct permutations. */
function permutations(values: readonly number[]): number[][] {
  if (values.length === 0) return [[]];
  return [...new Set(values)].flatMap((first) => {
    const rest = [...values];
    rest.splice(rest.indexOf(first), 1);
    return permutations(rest).map((others) => [first, ...others]);
  });
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
