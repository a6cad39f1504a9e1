/** What holds of every method but the urn, whatever happened before. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../../events/record.ts';
import type { BgState } from '../../../events/study.ts';
import { PermutedBlocks } from '../../../src/core/methods/blocks/blocks.ts';
import { Complete } from '../../../src/core/methods/complete/complete.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import { allocate, type Memory, type Method, type OpenSlots } from '../../../src/core/methods/method.ts';
import { Minimization } from '../../../src/core/methods/minimization/minimization.ts';
import { isOpen, OpenBlocks } from '../../../src/core/methods/open-blocks.ts';
import { stratumOf } from '../../../src/core/methods/stratum.ts';
import { boundedInteger } from '../../../src/core/random/bounded.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { seed } from '../../support/arbitrary-study.ts';
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

const common = { slots, people, seed: seed(128) };
const trials: [string, fc.Arbitrary<Trial>][] = [
  [
    'complete randomization',
    fc.record({
      ...common,
      make: fc.constant<Make>((open) => new Complete(open)),
      sizes: fc.constant(() => 1),
    }),
  ],
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
    parameters.chain((given) =>
      fc.record({
        ...common,
        make: fc.constant<Make>((open) => new Minimization({ ...open, factors: FACTORS, parameters: given })),
        sizes: fc.constant(() => 1),
      }),
    ),
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
  it('gives some slot a weight, and draws only such slots, with the chances it told', () => {
    check(
      fc.property(trial, (given) => {
        for (const { pick } of enrolAll(methodOf(given), begun(), given)) {
          const total = pick.weights.reduce((sum, weight) => sum + weight, 0);
          expect(total).toBeGreaterThan(0);
          expect(pick.weights.every((weight) => Number.isSafeInteger(weight) && weight >= 0)).toBe(true);
          expect(pick.weights[given.slots.indexOf(pick.slot)]).toBeGreaterThan(0);
          expect(pick.chances).toEqual(pick.weights.map((weight) => weight / total));
        }
      }),
    );
  });

  it('draws one double, behind the lot of a block that begins', () => {
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
