/** Exact distributions of every method: all ways in which slots can be drawn, weighted by rational numbers; and what an urn's ratio promises. */
import { describe, expect, it } from 'vitest';
import type { MinimizationParameters, UrnConfiguration } from '../../../events/study.ts';
import { registeredDesign } from '../../../projections/design.ts';
import { PermutedBlocks } from '../../../src/core/methods/blocks/blocks.ts';
import { Complete } from '../../../src/core/methods/complete/complete.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import type { Memory, Method, OpenSlots } from '../../../src/core/methods/method.ts';
import { Minimization } from '../../../src/core/methods/minimization/minimization.ts';
import { isOpen, OpenBlocks } from '../../../src/core/methods/open-blocks.ts';
import { stratumOf } from '../../../src/core/methods/stratum.ts';
import { workOut } from '../../../src/core/methods/urn/allocate.ts';
import type { UrnDesign } from '../../../src/core/methods/urn/kernel.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { Fraction, sum } from '../../support/fraction.ts';
import { TrialRun } from '../../support/trial-run.ts';
import { urnDesignOf } from '../../support/urn-study.ts';

interface Weighted {
  readonly slots: readonly number[];
  readonly weight: Fraction;
}

interface Path extends Weighted {
  readonly memory: Memory;
}

interface Plan {
  readonly method: Method;
  /** Places per slot with which blocks begin, all equally likely; undefined of a method without blocks. */
  readonly sizes: (memory: Memory, levels: readonly number[]) => readonly (number | undefined)[];
}

const SEX = { name: 'sex', levels: ['F', 'M'] };
const SITE = { name: 'site', levels: ['1', '2', '3'] };
const FACTORS = [SEX, SITE];
const PEOPLE = 'F1 M1 F2 M3 F3 F1 M2 M2 F2 M1 F3 M3'
  .split(' ')
  .map((names) => FACTORS.map(({ levels }, factor) => levels.indexOf(names[factor] ?? '')));

const without = () => [undefined];

function minimization(open: OpenSlots, parameters: Partial<MinimizationParameters> = {}): Plan {
  const given = { measure: 'range', pThousandths: 800, ...parameters } as const;
  return { method: new Minimization({ ...open, factors: FACTORS, parameters: given }), sizes: without };
}

function blocks(open: OpenSlots, perSlot: readonly number[], by: readonly number[] = []): Plan {
  return {
    method: new PermutedBlocks({ ...open, by, perSlot }),
    sizes(memory, levels) {
      const latest = memory.blocks.latest(stratumOf({ by }, levels));
      return latest && isOpen(latest) ? [latest.perSlot] : perSlot;
    },
  };
}

/** Slots of arms in this ratio. */
function openIn(ratio: readonly number[]): OpenSlots {
  const slots = ratio.flatMap((share, arm) => Array<string>(share).fill('ABCD'[arm] ?? ''));
  return { slots, hasRatio: ratio.some((share) => share > 1) };
}

/** All paths of slots for the participants, each with its probability; after each of them. */
function* courses({ method, sizes }: Plan, people: readonly (readonly number[])[]): Generator<Path[]> {
  const slots = method.slots;
  const memory = { counts: new Counts({ slots, factors: FACTORS }), blocks: new OpenBlocks() };
  let all: Path[] = [{ slots: [], weight: new Fraction(1, 1), memory }];
  for (const levels of people) {
    all = all.flatMap((path) => {
      const given = sizes(path.memory, levels);
      return given.flatMap((perSlot) => drawn(method, path, levels, perSlot, given.length));
    });
    yield all;
  }
}

/** The path, longer by each slot that can be drawn. @param among how many sizes are equally likely */
function drawn(
  method: Method,
  { slots, weight, memory }: Path,
  levels: readonly number[],
  perSlot: number | undefined,
  among: number,
): Path[] {
  method.look(memory, levels);
  const generator = Pcg64.fromSeed(1n);
  method.draw(generator, perSlot);
  const { weights = [] } = method.evidence(generator.snapshot(), generator.snapshot()).pick ?? {};
  const total = weights.reduce((a, b) => a + b, 0);
  return weights.flatMap((own, slot) => {
    if (own === 0) return [];
    const then = { counts: memory.counts.fork(), blocks: memory.blocks.fork() };
    method.use?.(then, levels, slot, perSlot);
    then.counts.add(levels, slot);
    const chance = weight.times(new Fraction(own, total * among));
    return [{ slots: [...slots, slot], weight: chance, memory: then }];
  });
}

/** After all participants. */
const last = (plan: Plan, people: readonly (readonly number[])[]) => [...courses(plan, people)].at(-1) ?? [];

describe.each([[[2, 1]], [[1, 1, 1]]])('at every step of a study with the ratio %j', (ratio) => {
  const open = openIn(ratio);
  const plans: [string, Plan][] = [
    ['complete randomization', { method: new Complete(open), sizes: without }],
    ['blocks', blocks(open, [1, 2])],
    ['blocks by site', blocks(open, [1, 2], [1])],
    ['minimization', minimization(open)],
    ['minimization by variance', minimization(open, { measure: 'variance' })],
    ['minimization with weights', minimization(open, { weights: [2, 1] })],
  ];

  it.each(plans)('%s gives each arm its share', (_, plan) => {
    const shares = ratio.map((share) => `${new Fraction(share, open.slots.length)}`);
    for (const all of courses(plan, PEOPLE.slice(0, 5))) {
      const gets = ratio.map((_share, arm) => {
        const those = all.filter(({ slots }) => open.slots[slots.at(-1) ?? -1] === 'ABCD'[arm]);
        return `${sum(those.map(({ weight }) => weight))}`;
      });
      expect(gets).toEqual(shares);
    }
  });
});

describe('minimization', () => {
  it.each<[Partial<MinimizationParameters>, string]>([
    [{ measure: 'range' }, '108740553/195312500'],
    [{ measure: 'variance' }, '27776676/48828125'],
    [{ measure: 'range', weights: [2, 1] }, '29807556/48828125'],
    [{ measure: 'variance', weights: [2, 1] }, '29364276/48828125'],
  ])('with %j balances twelve participants with the exact probability', (parameters, expected) => {
    const all = last(minimization(openIn([1, 1]), parameters), PEOPLE);
    const balanced = all.filter(({ slots }) => slots.filter((slot) => slot === 0).length === 6);
    expect(`${sum(balanced.map(({ weight }) => weight))}`).toBe(expected);
  });
});

describe('of the ratio 2:1, after three and six participants alike, the variance of those on the first arm', () => {
  const alike = Array<number[]>(6).fill([0, 0]);

  function variances(plan: Plan): string[] {
    return [3, 6].map((people) => {
      const all = last(plan, alike.slice(0, people));
      const squares = all.map(({ slots, weight }) => {
        // The mean is two thirds of them.
        const difference = slots.filter((slot) => slot < 2).length - (2 * people) / 3;
        return weight.times(new Fraction(difference ** 2, 1));
      });
      return `${sum(squares)}`;
    });
  }

  it('is that of minimization', () => {
    expect(variances(minimization(openIn([2, 1])))).toEqual(['1/5', '1457/6250']);
  });

  it('is that of blocks of 3 and 6', () => {
    expect(variances(blocks(openIn([2, 1]), [1, 2]))).toEqual(['1/5', '1/10']);
  });
});

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
function paths(design: Design, people: readonly (readonly number[])[], seen = urnDesignOf(design)) {
  let all: Weighted[] = [{ slots: [], weight: new Fraction(1, 1) }];
  for (const levels of people)
    all = all.flatMap((path) => {
      const counts = new Counts(design);
      for (const [i, slot] of path.slots.entries()) counts.add(people[i] ?? [], slot);
      return nextInUrn(seen, counts, levels).map((weight, slot) => ({
        slots: [...path.slots, slot],
        weight: path.weight.times(weight),
      }));
    });
  expect(`${sum(all.map(({ weight }) => weight))}`).toBe('1/1');
  expect(all.every(({ slots }) => slots.length === people.length)).toBe(true);
  return all;
}

/** The probability of each slot, from the lot and the balls in the urn that the lot chooses. */
function nextInUrn(design: UrnDesign, counts: Counts, levels: readonly number[]): Fraction[] {
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
const lastGets = ({ slots }: Design, all: readonly Weighted[], treatment: string) =>
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
function taken({ slots, treatments }: Design, path: Weighted, arm: number): number {
  return path.slots.filter((slot) => slots[slot] === treatments[arm]).length;
}
