/**
 * The known hazard of docs/methods.md, in its numbers: the chances from the service's own kernel, over every way that levels,
 * lots and arms can fall. Equal imbalances that differ in the last bit of a double give arms less or more than their share.
 */
import { describe, expect, it } from 'vitest';
import type { ImbalanceMeasure } from '../../../events/study.ts';
import { Counts } from '../../../src/core/methods/memory.ts';
import { UrnKernel } from '../../../src/core/methods/urn.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';

interface Trial {
  readonly slots: number;
  readonly D: ImbalanceMeasure;
  readonly hasRatio: boolean;
}

/** @returns from the level of each factor for each participant: the chance of each slot for the last one */
function lastOf({ slots, D, hasRatio }: Trial, factors: number) {
  const names = Array.from({ length: factors }, (_, factor) => ({ name: `factor ${factor + 10}` }));
  const arms = Array.from({ length: slots }, (_, slot) => `slot ${slot}`);
  const kernel = new UrnKernel({ slots: arms, factors: names, w: 1, alpha: 0, beta: 1, D, hasRatio });
  const shape = { slots: { length: slots }, factors: names.map(() => ({ levels: [...Array(4).keys()] })) };
  return (levels: readonly (readonly number[])[]): number[] => {
    const found = arms.map(() => 0);
    const walk = (drawn: readonly number[], weight: number): void => {
      const counts = new Counts(shape);
      for (const [i, slot] of drawn.entries()) counts.add(levels[i] as readonly number[], slot);
      kernel.look({ counts }, levels[drawn.length] as readonly number[]);
      for (const [slot, p] of [...kernel.chances].entries())
        if (drawn.length < levels.length - 1) walk([...drawn, slot], weight * p);
        else found[slot] = (found[slot] as number) + weight * p;
    };
    walk([], 1);
    return found;
  };
}

/** The third participant's chance of each slot, over all levels of the second and third. The first has level 0 of each. */
function thirdOfFewFactors(trial: Trial, levels: readonly number[]): number[] {
  const last = lastOf(trial, levels.length);
  const all = levels.reduce<number[][]>(
    (lists, count) => lists.flatMap((list) => Array.from({ length: count }, (_, level) => [...list, level])),
    [[]],
  );
  const found = Array.from({ length: trial.slots }, () => 0);
  const first = levels.map(() => 0);
  for (const second of all)
    for (const third of all)
      for (const [slot, p] of last([first, second, third]).entries())
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
  const last = lastOf(trial, factors);
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
    for (const [slot, p] of last(levels).entries()) found[slot] = (found[slot] as number) + weight * p;
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
  const names = Array.from({ length: 13 }, (_, factor) => ({ name: `factor ${factor + 10}` }));
  const shape = { slots: { length: 3 }, factors: names.map(() => ({ levels: [0, 1, 2] })) };

  it.each<[D: ImbalanceMeasure, what: string, expected: readonly number[]]>([
    ['chisquare', 'the third arm too often', [0.329, 0.327, 0.344]],
    ['range', 'each arm equally often', [1 / 3, 1 / 3, 1 / 3]],
  ])('gets by %s %s', (D, _, expected) => {
    const slots = ['A', 'B', 'C'];
    const kernel = new UrnKernel({ slots, factors: names, w: 1, alpha: 0, beta: 1, D, hasRatio: false });
    const generator = Pcg64.fromSeed(20260117n);
    const trials = 6000;
    const found = slots.map(() => 0);
    for (let trial = 0; trial < trials; trial++) {
      const counts = new Counts(shape);
      for (let participant = 1; participant <= 7; participant++) {
        const levels = names.map(() => Math.floor(3 * generator.nextUniform53() * 2 ** -53));
        kernel.look({ counts }, levels);
        if (participant < 7) counts.add(levels, kernel.draw(generator));
      }
      for (const [slot, p] of kernel.chances.entries()) found[slot] = (found[slot] as number) + p / trials;
    }
    // Four standard errors, of 0.0016 each with this many trials: little more than half of the third arm's excess.
    for (const [slot, mean] of found.entries())
      expect(Math.abs(mean - (expected[slot] as number)), `arm ${slot}`).toBeLessThan(0.0065);
  });
});
