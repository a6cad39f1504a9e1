/**
 * The known hazard of docs/methods.md, in its numbers: the chances from the service's own kernel, over every way that levels,
 * lots and arms can fall. Equal imbalances that differ in the last bit of a double give arms less or more than their share.
 */
import { describe, expect, it } from 'vitest';
import type { ImbalanceMeasure } from '../../../events/study.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import { Kernel } from '../../../src/core/methods/urn/kernel.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';

interface Trial {
  readonly slots: number;
  readonly D: ImbalanceMeasure;
  readonly hasRatio: boolean;
}

class Tree {
  readonly #slots: number;
  readonly #kernel: Kernel;
  readonly #factors: readonly { readonly levels: readonly number[] }[];

  constructor({ slots, D, hasRatio }: Trial, factors: number) {
    this.#slots = slots;
    this.#kernel = new Kernel({
      slots: Array.from({ length: slots }, (_, slot) => `slot ${slot}`),
      factors: Array.from({ length: factors }, (_, factor) => ({
        name: `factor ${String(factor).padStart(2, '0')}`,
      })),
      ...{ w: 1, alpha: 0, beta: 1, D, hasRatio },
    });
    this.#factors = Array.from({ length: factors }, () => ({ levels: [...Array(4).keys()] }));
  }

  /**
   * @param levels for each participant, the level of each factor
   * @returns the chance of each slot for the last participant
   */
  ofLast(levels: readonly (readonly number[])[]): number[] {
    const found = Array.from({ length: this.#slots }, () => 0);
    const walk = (drawn: readonly number[], weight: number): void => {
      const chances = this.#chancesOf(levels, drawn);
      if (drawn.length === levels.length - 1)
        for (const [slot, p] of chances.entries()) found[slot] = (found[slot] as number) + weight * p;
      else for (const [slot, p] of chances.entries()) walk([...drawn, slot], weight * p);
    };
    walk([], 1);
    return found;
  }

  #chancesOf(levels: readonly (readonly number[])[], drawn: readonly number[]): number[] {
    const counts = new Counts({ slots: { length: this.#slots }, factors: this.#factors });
    for (const [participant, slot] of drawn.entries())
      counts.add(levels[participant] as readonly number[], slot);
    this.#kernel.look({ counts }, levels[drawn.length] as readonly number[]);
    return [...this.#kernel.chances];
  }
}

/** The third participant's chance of each slot, over all levels of the second and third. The first has level 0 of each. */
function thirdOfFewFactors(trial: Trial, levels: readonly number[]): number[] {
  const tree = new Tree(trial, levels.length);
  const all = levels.reduce<number[][]>(
    (lists, count) => lists.flatMap((list) => Array.from({ length: count }, (_, level) => [...list, level])),
    [[]],
  );
  const found = Array.from({ length: trial.slots }, () => 0);
  const first = levels.map(() => 0);
  for (const second of all)
    for (const third of all)
      for (const [slot, p] of tree.ofLast([first, second, third]).entries())
        found[slot] = (found[slot] as number) + p / all.length ** 2;
  return found;
}

/**
 * The same for many factors of three levels. Factors are alike, so only how many of them have each pattern counts: which of
 * the three participants share a level.
 */
function thirdOfManyFactors(trial: Trial, factors: number): number[] {
  const patterns = [
    { levels: [0, 0, 0], chance: 1 / 9 },
    { levels: [0, 0, 1], chance: 2 / 9 },
    { levels: [0, 1, 0], chance: 2 / 9 },
    { levels: [0, 1, 1], chance: 2 / 9 },
    { levels: [0, 1, 2], chance: 2 / 9 },
  ];
  const tree = new Tree(trial, factors);
  const found = Array.from({ length: trial.slots }, () => 0);
  for (const numbers of splits(factors, patterns.length)) {
    const chosen = patterns.flatMap(({ levels }, i) =>
      Array.from({ length: numbers[i] as number }, () => levels),
    );
    const weight = patterns.reduce(
      (product, { chance }, i) =>
        (product * chance ** (numbers[i] as number)) / factorial(numbers[i] as number),
      factorial(factors),
    );
    const levels = [0, 1, 2].map((participant) => chosen.map((pattern) => pattern[participant] as number));
    for (const [slot, p] of tree.ofLast(levels).entries()) found[slot] = (found[slot] as number) + weight * p;
  }
  return found;
}

/** All ways to write a whole number as an ordered sum of `terms` whole numbers. */
function splits(whole: number, terms: number): number[][] {
  if (terms === 1) return [[whole]];
  return Array.from({ length: whole + 1 }, (_, first) => first).flatMap((first) =>
    splits(whole - first, terms - 1).map((rest) => [first, ...rest]),
  );
}

const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));
const firstSlots = (chances: readonly number[], count: number): number =>
  chances.slice(0, count).reduce((total, p) => total + p, 0);

describe('the third participant, with factors of 2, 3 and 4 levels', () => {
  it('does not get the arms in the ratio with version 1 of the algorithm', () => {
    const threeToOne: Trial = { slots: 4, D: 'chisquare', hasRatio: false };
    expect(firstSlots(thirdOfFewFactors(threeToOne, [2, 3, 4]), 3)).toBeCloseTo(0.7457, 4);
    const twoToOne: Trial = { slots: 3, D: 'variance', hasRatio: false };
    expect(firstSlots(thirdOfFewFactors(twoToOne, [2, 3, 4]), 2)).toBeCloseTo(0.6776, 4);
  });

  it.each([
    [4, 'chisquare', true],
    [3, 'variance', true],
    [4, 'range', true],
    [4, 'range', false],
    [2, 'chisquare', false],
    [2, 'variance', false],
  ] as const)('gets each of %i slots equally often by %s, with a ratio: %s', (slots, D, hasRatio) => {
    for (const p of thirdOfFewFactors({ slots, D, hasRatio }, [2, 3, 4]))
      expect(p).toBeCloseTo(1 / slots, 12);
  });
});

describe('the third participant, with 13 factors of 3 levels and three arms', () => {
  it('gets the third arm too seldom by variance', () => {
    const found = thirdOfManyFactors({ slots: 3, D: 'variance', hasRatio: false }, 13);
    expect(found).toEqual([expect.closeTo(0.358, 3), expect.closeTo(0.358, 3), expect.closeTo(0.284, 3)]);
  });

  it('gets each arm equally often by range', () => {
    for (const p of thirdOfManyFactors({ slots: 3, D: 'range', hasRatio: false }, 13))
      expect(p).toBeCloseTo(1 / 3, 12);
  });
});

describe('the seventh participant, with 13 factors of 3 levels and three arms', () => {
  /** Mean chance of each arm over simulated trials, with its standard error. */
  function seventh(D: ImbalanceMeasure, trials: number): { mean: number; error: number }[] {
    const [slots, factors, levels] = [3, 13, 3];
    const names = Array.from({ length: factors }, (_, factor) => ({ name: `factor ${factor + 10}` }));
    const kernel = new Kernel({
      slots: ['A', 'B', 'C'],
      factors: names,
      ...{ w: 1, alpha: 0, beta: 1, D, hasRatio: false },
    });
    const shape = {
      slots: { length: slots },
      factors: names.map(() => ({ levels: [...Array(levels).keys()] })),
    };
    const generator = Pcg64.fromSeed(20260117n);
    const sums = Array.from({ length: slots }, () => ({ first: 0, second: 0 }));
    for (let trial = 0; trial < trials; trial++) {
      const counts = new Counts(shape);
      for (let participant = 1; participant <= 7; participant++) {
        const own = names.map(() => Math.floor(levels * generator.nextUniform53() * 2 ** -53));
        kernel.look({ counts }, own);
        if (participant < 7) counts.add(own, kernel.draw(generator));
      }
      for (const [slot, p] of kernel.chances.entries()) {
        const sum = sums[slot] as { first: number; second: number };
        sum.first += p;
        sum.second += p * p;
      }
    }
    return sums.map(({ first, second }) => {
      const mean = first / trials;
      return { mean, error: Math.sqrt((second / trials - mean * mean) / trials) };
    });
  }

  it('gets the third arm too often by chisquare, and equally often by range', () => {
    for (const [D, expected] of [
      ['chisquare', [0.329, 0.327, 0.344]],
      ['range', [1 / 3, 1 / 3, 1 / 3]],
    ] as const)
      for (const [slot, { mean, error }] of seventh(D, 6000).entries()) {
        // Far less than the third arm's excess.
        expect(error).toBeLessThan(0.002);
        expect(Math.abs(mean - (expected[slot] as number)), `${D}, arm ${slot}`).toBeLessThan(
          4 * error + 0.0005,
        );
      }
  });
});
