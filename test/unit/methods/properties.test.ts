/** What holds of every method but the urn, whatever happened before; and exactly, over all ways in which slots can be drawn, what a ratio promises of each method and of the urn. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../../events/record.ts';
import type { BgState, MinimizationParameters } from '../../../events/study.ts';
import { PermutedBlocks } from '../../../src/core/methods/blocks.ts';
import { Complete } from '../../../src/core/methods/complete.ts';
import { Counts, isOpen, OpenBlocks } from '../../../src/core/methods/memory.ts';
import {
  allocate,
  type Memory,
  type Method,
  type OpenSlots,
  stratumOf,
} from '../../../src/core/methods/method.ts';
import { Minimization } from '../../../src/core/methods/minimization.ts';
import { balls } from '../../../src/core/methods/urn.ts';
import { boundedInteger, Pcg64 } from '../../../src/core/random/pcg64.ts';
import { seed } from '../../support/arbitrary-study.ts';
import { Fraction, sum } from '../../support/fraction.ts';
import { check } from '../../support/property.ts';

const FACTORS = [{ levels: ['F', 'M'] }, { levels: ['1', '2', '3'] }];
/** Of which some are closed. */
const SLOTS = 5;

type Levels = readonly number[];
type Make = (open: OpenSlots) => Method;

const byAndSizes = fc.record({
  by: fc.subarray([0, 1]),
  perSlot: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1 }),
});
const parameters = fc.record(
  {
    measure: fc.constantFrom('range' as const, 'variance' as const),
    pThousandths: fc.integer({ min: 550, max: 950 }),
    weights: fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 2, maxLength: 2 }),
  },
  { requiredKeys: ['measure', 'pThousandths'] },
);
const slots = fc.subarray([...Array(SLOTS).keys()], { minLength: 2 });
const people = fc.array(fc.tuple(fc.nat(1), fc.nat(2)), { minLength: 1, maxLength: 25 });

/** The lots before a draw are those of blocks of several sizes. */
interface Trial {
  readonly make: Make;
  readonly slots: readonly number[];
  readonly people: readonly Levels[];
  readonly seed: bigint;
  /** Whether this participant begins a block whose size is drawn, and among how many. */
  readonly sizes: (memory: Memory, levels: Levels) => number;
}

const common = { slots, people, seed: seed(128), sizes: fc.constant<Trial['sizes']>(() => 1) };
const trials: [string, fc.Arbitrary<Trial>][] = [
  ['complete randomization', fc.record({ ...common, make: fc.constant<Make>((open) => new Complete(open)) })],
  [
    'permuted blocks',
    byAndSizes.chain(({ by, perSlot }) =>
      fc.record({
        ...common,
        make: fc.constant<Make>((open) => new PermutedBlocks({ ...open, by, perSlot })),
        sizes: fc.constant(({ blocks }: Memory, levels: Levels) => {
          const latest = blocks.latest(stratumOf({ by }, levels));
          return latest && isOpen(latest) ? 1 : perSlot.length;
        }),
      }),
    ),
  ],
  [
    'minimization',
    fc.record({
      ...common,
      make: parameters.map(
        (given): Make =>
          (open) =>
            new Minimization({ ...open, factors: FACTORS, parameters: given }),
      ),
    }),
  ],
];

const methodOf = ({ make, slots }: Pick<Trial, 'make' | 'slots'>) =>
  make({ slots: slots.map((slot) => `arm ${slot}`), places: { slots, factors: [0, 1] }, hasRatio: true });

const begun = (): Memory => ({
  counts: new Counts({ slots: { length: SLOTS }, factors: FACTORS }),
  blocks: new OpenBlocks(),
});

const forked = ({ counts, blocks }: Memory): Memory => ({ counts: counts.fork(), blocks: blocks.fork() });

interface Past {
  readonly levels: Levels;
  readonly slot: number;
  readonly perSlot: number | undefined;
}

function remember(method: Method, memory: Memory, { levels, slot, perSlot }: Past): void {
  method.use?.(memory, levels, slot, perSlot);
  memory.counts.add(levels, slot);
}

/** What the next participant draws. The memory stays as it is. */
function next(method: Method, memory: Memory, levels: Levels, state: BgState) {
  const { slot, evidence } = allocate(method, memory, levels, state);
  if (!evidence.pick) throw new Error('nothing was picked');
  return { ...evidence.pick, slot, chances: [...method.chances] };
}

function enrol(method: Method, memory: Memory, levels: Levels, state: BgState) {
  const pick = next(method, memory, levels, state);
  const past = { levels, slot: pick.slot, perSlot: pick.block?.perSlot };
  remember(method, memory, past);
  return { pick, past };
}

/** All of them in order. */
function enrolAll(method: Method, memory: Memory, { people, seed }: Pick<Trial, 'people' | 'seed'>) {
  let state = Pcg64.fromSeed(seed).snapshot();
  return people.map((levels) => {
    const one = enrol(method, memory, levels, state);
    state = one.pick.bgStateAfter;
    return one;
  });
}

const START = Pcg64.fromSeed(2026n).snapshot();

describe.each(trials)('%s', (_, trial) => {
  it('draws one double, behind the lot of a block that begins, and a slot by the weights it told', () => {
    check(
      fc.property(trial, (given) => {
        const [method, memory] = [methodOf(given), begun()];
        const generator = Pcg64.fromSeed(given.seed);
        for (const levels of given.people) {
          const before = generator.snapshot();
          const sizes = given.sizes(memory, levels);
          if (sizes > 1) boundedInteger(generator, sizes);
          const uniform53 = generator.nextUniform53();
          const { pick } = enrol(method, memory, levels, before);
          expect([pick.uniform53, pick.bgStateAfter]).toEqual([uniform53, generator.snapshot()]);
          const total = pick.weights.reduce((sum, weight) => sum + weight, 0);
          expect(pick.weights.every((weight) => Number.isSafeInteger(weight) && weight >= 0)).toBe(true);
          expect(pick.weights[given.slots.indexOf(pick.slot)]).toBeGreaterThan(0);
          expect(pick.chances).toEqual(pick.weights.map((weight) => weight / total));
        }
      }),
    );
  });

  it('is recorded with members in canonical order, in which they are written fastest', () => {
    check(
      fc.property(trial, ({ people: [levels = []], ...given }) => {
        const { evidence } = allocate(methodOf(given), begun(), levels, START);
        expect(JSON.stringify(evidence)).toBe(canonicalJson(evidence));
      }),
    );
  });

  it('weighs slots by what they hold, not by where they stand', () => {
    const permuted = trial.chain((given) =>
      fc.record({
        given: fc.constant(given),
        order: fc.shuffledSubarray([...given.slots], { minLength: given.slots.length }),
      }),
    );
    check(
      fc.property(permuted, ({ given, order }) => {
        const [method, memory, mirror] = [methodOf(given), begun(), begun()];
        // Whoever has a slot here has the one at its place in the other order there.
        const other = (slot: number) => order[given.slots.indexOf(slot)] as number;
        for (const { past } of enrolAll(method, memory, given))
          remember(method, mirror, { ...past, slot: other(past.slot) });
        for (const levels of given.people) {
          const { weights } = next(method, memory, levels, START);
          const mirrored = next(method, mirror, levels, START).weights;
          expect(given.slots.map((slot) => mirrored[given.slots.indexOf(other(slot))])).toEqual(weights);
        }
      }),
    );
  });

  it('remembers on a fork what happened there, and nowhere else', () => {
    check(
      fc.property(trial, people, (given, later) => {
        const [method, memory] = [methodOf(given), begun()];
        enrolAll(method, memory, given);
        const seen = (of: Memory) => later.map((levels) => next(method, of, levels, START));
        const before = seen(memory);
        const fork = forked(memory);
        enrolAll(method, fork, { people: later, seed: 1n });
        expect(seen(memory)).toEqual(before);
        const onFork = seen(fork);
        enrolAll(method, memory, { people: later, seed: 2n });
        expect(seen(fork)).toEqual(onFork);
      }),
    );
  });

  it('goes on from what is recorded as from what it remembers', () => {
    check(
      fc.property(trial, people, (given, later) => {
        const [method, memory, again] = [methodOf(given), begun(), begun()];
        const past = enrolAll(method, memory, given);
        const replaying = methodOf(given);
        for (const one of past) remember(replaying, again, one.past);
        const then = { people: later, seed: 1n };
        expect(enrolAll(replaying, again, then)).toEqual(enrolAll(method, memory, then));
      }),
    );
  });

  it('does not notice who was counted and is no more', () => {
    check(
      fc.property(trial, people, (given, gone) => {
        const [method, memory] = [methodOf(given), begun()];
        enrolAll(method, memory, given);
        const seen = () => gone.map((levels) => next(method, memory, levels, START));
        const before = seen();
        for (const by of [1, -1] as const)
          for (const levels of gone) memory.counts.add(levels, given.slots[0] as number, by);
        expect(seen()).toEqual(before);
      }),
    );
  });
});

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
const SEX_AND_SITE = [SEX, SITE];
const PEOPLE = 'F1 M1 F2 M3 F3 F1 M2 M2 F2 M1 F3 M3'
  .split(' ')
  .map((names) => SEX_AND_SITE.map(({ levels }, factor) => levels.indexOf(names[factor] ?? '')));

const without = () => [undefined];

function minimization(open: OpenSlots, parameters: Partial<MinimizationParameters> = {}): Plan {
  const given = { measure: 'range', pThousandths: 800, ...parameters } as const;
  return { method: new Minimization({ ...open, factors: SEX_AND_SITE, parameters: given }), sizes: without };
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
  const memory = { counts: new Counts({ slots, factors: SEX_AND_SITE }), blocks: new OpenBlocks() };
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

/** All paths of slots in one urn, each with its probability. */
function inOneUrn(people: number, { slots }: OpenSlots): Weighted[] {
  let all: Weighted[] = [{ slots: [], weight: new Fraction(1, 1) }];
  for (let n = 0; n < people; n++)
    all = all.flatMap((path) => {
      const assigned = slots.map((_, slot) => path.slots.filter((one) => one === slot).length);
      const held = balls({ w: 1, alpha: 0, beta: 1 }, assigned);
      const total = held.reduce((a, b) => a + b, 0);
      return held.map((own, slot) => ({
        ...{ slots: [...path.slots, slot], weight: path.weight.times(new Fraction(own, total)) },
      }));
    });
  return all;
}

it.each([
  [3, '10/21'],
  [6, '32/39'],
] as const)(
  'a ratio of 2:1 is met by the expected number in one urn of %d participants, with the variance %s',
  (people, variance) => {
    const open = openIn([2, 1]);
    const all = inOneUrn(people, open);
    const taken = ({ slots }: Weighted) => slots.filter((slot) => open.slots[slot] === 'A').length;
    const mean = sum(all.map((path) => path.weight.times(new Fraction(taken(path), 1))));
    expect(`${mean}`).toBe(`${new Fraction(2 * people, 3)}`);
    const squares = all.map((path) => {
      const off = new Fraction(3 * taken(path) - 2 * people, 3);
      return path.weight.times(off).times(off);
    });
    expect(`${sum(squares)}`).toBe(variance);
  },
);
