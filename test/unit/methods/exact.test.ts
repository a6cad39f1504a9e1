/** Exact distributions of every method: all ways in which slots can be drawn, weighted by rational numbers. */
import { describe, expect, it } from 'vitest';
import type { MinimizationParameters } from '../../../events/study.ts';
import { PermutedBlocks } from '../../../src/core/methods/blocks/blocks.ts';
import { Complete } from '../../../src/core/methods/complete/complete.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import type { Memory, Method, OpenSlots } from '../../../src/core/methods/method.ts';
import { Minimization } from '../../../src/core/methods/minimization/minimization.ts';
import { isOpen, OpenBlocks } from '../../../src/core/methods/open-blocks.ts';
import { stratumOf } from '../../../src/core/methods/stratum.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { Fraction, sum } from '../../support/fraction.ts';

interface Path {
  readonly slots: readonly number[];
  readonly weight: Fraction;
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

describe.each([[[1, 1]], [[2, 1]], [[3, 1]], [[1, 1, 1]]])(
  'at every step of a study with the ratio %j',
  (ratio) => {
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
  },
);

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
