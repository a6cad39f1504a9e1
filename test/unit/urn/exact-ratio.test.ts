/** Exact checks of what a ratio promises: every path of slots through the service's urns, weighted by rational numbers. */
import { describe, expect, it } from 'vitest';
import type { UrnConfiguration } from '../../../events/study.ts';
import { registeredDesign } from '../../../projections/design.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import { workOut } from '../../../src/core/methods/urn/allocate.ts';
import type { UrnDesign } from '../../../src/core/methods/urn/kernel.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { Fraction, sum } from '../../support/fraction.ts';
import { TrialRun } from '../../support/trial-run.ts';
import { urnDesignOf } from '../../support/urn-study.ts';

interface Path {
  readonly slots: readonly number[];
  readonly weight: Fraction;
}

const { bgState } = new TrialRun();

type Design = ReturnType<typeof registeredDesign>;

/** Slots A, A, B, unless another ratio is given. */
function designOf({
  D = 'variance',
  ratio = [2, 1],
}: {
  D?: UrnConfiguration['D'];
  ratio?: number[];
} = {}): Design {
  return registeredDesign({
    ...CONFIGURATION,
    ...{ D, w: 1, alpha: 0, beta: 1, ratio, treatments: ratio.map((_, arm) => `T${arm}`) },
    factors: ['x', 'y'].map((name) => ({ name, levels: ['1', '2'] })),
  });
}

/** All paths of slots for participants with these levels, each with its probability. */
function paths(design: Design, people: readonly (readonly number[])[], seen = urnDesignOf(design)): Path[] {
  let all: Path[] = [{ slots: [], weight: new Fraction(1, 1) }];
  for (const levels of people)
    all = all.flatMap((path) => {
      const counts = new Counts(design);
      for (const [i, slot] of path.slots.entries()) counts.add(people[i] ?? [], slot);
      return next(seen, counts, levels).map((weight, slot) => ({
        slots: [...path.slots, slot],
        weight: path.weight.times(weight),
      }));
    });
  expect(`${sum(all.map(({ weight }) => weight))}`).toBe('1/1');
  expect(all.every(({ slots }) => slots.length === people.length)).toBe(true);
  return all;
}

/** The probability of each slot, from the lot and the balls in the urn that the lot chooses. */
function next(design: UrnDesign, counts: Counts, levels: readonly number[]): Fraction[] {
  const { urns, candidates } = workOut(design, counts, levels, bgState);
  return design.slots.map((_, slot) =>
    sum(
      candidates.map((candidate) => {
        const { balls = [] } = urns[candidate] ?? {};
        const all = balls.reduce((a, b) => a + b, 0);
        return new Fraction(balls[slot] ?? 0, all * candidates.length);
      }),
    ),
  );
}

/** The probability that the last participant of the paths gets a treatment. */
const lastGets = ({ slots }: Design, all: readonly Path[], treatment: string) =>
  sum(
    all.filter((path) => slots[path.slots.at(-1) ?? -1] === treatment).map(({ weight }) => weight),
  ).toString();

const CROSSED = [
  [0, 0],
  [1, 1],
  [0, 1],
];

describe('a ratio', () => {
  it.each(['variance', 'chisquare', 'range'] as const)('is exact with two factors, by %s', (D) => {
    const design = designOf({ D });
    expect(lastGets(design, paths(design, CROSSED), 'T0')).toBe('2/3');
  });

  it('is not exact if the imbalance depends on the order of the slots', () => {
    const design = designOf();
    const all = paths(design, CROSSED, { ...urnDesignOf(design), hasRatio: false });
    // 0.7111…, because summing doubles from left to right makes some urns more imbalanced than their mirror images.
    expect(lastGets(design, all, 'T0')).toBe('32/45');
  });

  it.each([
    [2, 1],
    [3, 2, 1],
    [1, 1, 2],
  ])('is met by the expected numbers in one urn, for up to five participants of %s : %s', (...given) => {
    const ratio = given.filter((slots) => slots !== undefined);
    const design = designOf({ ratio });
    const slots = ratio.reduce((a, b) => a + b, 0);
    const most = slots > 4 ? 4 : 5;
    for (let people = 1; people <= most; people++) {
      const all = paths(
        design,
        Array.from({ length: people }, () => [0, 0]),
      );
      for (const [arm, own] of ratio.entries()) {
        const expected = sum(all.map((path) => path.weight.times(new Fraction(taken(design, path, arm), 1))));
        expect(`${expected}`).toBe(`${new Fraction(people * own, slots)}`);
      }
    }
  });

  it.each([
    [3, '10/21'],
    [6, '32/39'],
  ] as const)('of 2 : 1 varies in one urn of %d participants by %s', (people, variance) => {
    const design = designOf();
    const all = paths(
      design,
      Array.from({ length: people }, () => [0, 0]),
    );
    const mean = new Fraction(-2 * people, 3);
    const squares = all.map((path) => {
      const off = new Fraction(taken(design, path, 0), 1).plus(mean);
      return path.weight.times(off).times(off);
    });
    expect(`${sum(squares)}`).toBe(variance);
  });
});

/** How many get a treatment on a path. */
function taken({ slots, treatments }: Design, path: Path, arm: number): number {
  return path.slots.filter((slot) => slots[slot] === treatments[arm]).length;
}
