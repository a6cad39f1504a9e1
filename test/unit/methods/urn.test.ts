/** Allocation by urns, and what an urn is made of: counts, balls, imbalances, the choice of an urn, and the draw from it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UrnConfiguration } from '../../../events/study.ts';
import { cumulative, indexAt, probabilities } from '../../../src/core/methods/draw.ts';
import { Counts } from '../../../src/core/methods/memory.ts';
import {
  allocate,
  balls,
  byCodePoint,
  compareCodePoints,
  fillCandidates,
  imbalance,
  type UrnAllocation,
} from '../../../src/core/methods/urn.ts';
import { type BgState, Pcg64 } from '../../../src/core/random/pcg64.ts';
import { name, participant, seed, study, studyWithParticipants, urn } from '../../support/arbitrary-study.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { exactImbalance } from '../../support/fraction.ts';
import { check } from '../../support/property.ts';
import { urnOf } from '../../support/urn-study.ts';
import { numpyVectors } from '../../support/vectors.ts';

/** Every allocation of a study in order, each with the counts before it. */
function* allocateAll(
  configuration: UrnConfiguration,
  firstState: BgState,
  participants: Iterable<readonly number[]>,
): Generator<{ levelIndexes: readonly number[]; counts: Counts; allocation: UrnAllocation }> {
  const counts = new Counts(urnOf(configuration));
  let state = firstState;
  for (const levelIndexes of participants) {
    const allocation = allocate(urnOf(configuration), counts, levelIndexes, state);
    yield { levelIndexes, counts, allocation };
    counts.add(levelIndexes, allocation.slot);
    state = allocation.draw.bgStateAfter;
  }
}

const scenario = fc
  .record({ seed: seed(300), study: studyWithParticipants(25) })
  .map(({ seed: entropy, study }) => ({
    ...study,
    state: Pcg64.fromSeed(entropy).snapshot(),
  }));

/** That it reproduces the histories of the reference implementation: test/unit/explain/explain.test.ts. */
describe('allocate', () => {
  it('only reads its arguments, and returns evidence from which the draw can be repeated', () => {
    check(
      fc.property(scenario, ({ configuration, state, participants }) => {
        const names = configuration.factors.map(({ name }) => name);
        let before = state;
        for (const { levelIndexes, counts, allocation } of allocateAll(configuration, state, participants)) {
          const { draw } = allocation;
          const factor = names.indexOf(draw.selectedFactor);
          const row = counts.of(factor, levelIndexes[factor] ?? -1);
          expect(draw.candidates).toContain(draw.selectedFactor);
          const { bgStateBefore, counts: seen, balls: held } = draw;
          expect([bgStateBefore, seen, held, allocation.treatment]).toEqual([
            ...[before, row, balls(configuration, row), configuration.treatments[allocation.slot]],
          ]);

          const given = structuredClone(before);
          const rows = levelIndexes.map((level, factor) => counts.of(factor, level));
          for (const one of [counts, counts.fork()])
            expect(allocate(urnOf(configuration), one, levelIndexes, given)).toEqual(allocation);
          expect(given).toEqual(before);
          expect(levelIndexes.map((level, factor) => counts.of(factor, level))).toEqual(rows);

          const generator = Pcg64.restore(before);
          // One output, and one 32-bit half more if a lot was cast, rejected with a chance below 20 / 2^32.
          if (draw.candidates.length > 1) generator.nextUint32();
          expect(generator.nextUniform53()).toBe(draw.uniform53);
          expect(draw.bgStateAfter).toEqual(generator.snapshot());
          before = draw.bgStateAfter;
        }
      }),
    );
  });

  it('does not depend on the order of factors and levels', () => {
    const reordered = scenario.chain(({ configuration, state, participants }) => {
      const places = [...configuration.factors.keys()];
      return fc
        .shuffledSubarray(places, { minLength: places.length })
        .map((order) => ({ configuration, state, participants, order }));
    });
    check(
      fc.property(reordered, ({ configuration, state, participants, order }) => {
        const factors = order.flatMap((place) => configuration.factors[place] ?? []);
        const other = {
          ...configuration,
          factors: factors.map(({ name, levels }) => ({ name, levels: levels.toReversed() })),
        };
        const moved = participants.map((levels) =>
          order.map((place, i) => (factors[i]?.levels.length ?? 0) - 1 - (levels[place] ?? 0)),
        );
        const one = [...allocateAll(configuration, state, participants)].map(({ allocation }) => allocation);
        const two = [...allocateAll(other, state, moved)].map(({ allocation }) => allocation);
        expect(two).toEqual(one);
      }),
    );
  });

  it('refuses levels that are missing, too many or out of range, other counts, and a state that no generator has', () => {
    const urn = urnOf(CONFIGURATION);
    const levels = [0, 0];
    const state = Pcg64.fromSeed(1n).snapshot();
    const counts = new Counts(urn);
    for (const wrong of [levels.slice(1), [...levels, 0], levels.with(0, -1), levels.with(0, 99)])
      expect(() => allocate(urn, counts, wrong, state)).toThrow(RangeError);
    const other = urnOf({ ...CONFIGURATION, treatments: ['A', 'B', 'C', 'one more'] });
    expect(() => allocate(urn, new Counts(other), levels, state)).toThrow(RangeError);
    const broken = { ...state, state: { ...state.state, inc: '0' } };
    expect(() => allocate(urn, counts, levels, broken)).toThrow(RangeError);
  });
});

const shape = {
  slots: ['A', 'B', 'C'],
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'site', levels: ['1', '2', '3'] },
  ],
};

function table(counts: Counts, { factors }: Pick<UrnConfiguration, 'factors'>): number[][][] {
  return factors.map(({ levels }, factor) => levels.map((_, level) => [...counts.of(factor, level)]));
}

describe('Counts', () => {
  it('isolates every fork, and forks of forks, as if each were the only one counting', () => {
    const step = (configuration: UrnConfiguration) =>
      fc.record({
        fork: fc.boolean(),
        on: fc.nat(),
        levels: participant(configuration),
        treatment: fc.nat(configuration.treatments.length - 1),
      });
    const scenario = study.chain((configuration) =>
      fc.record({
        configuration: fc.constant(configuration),
        steps: fc.array(step(configuration), { maxLength: 40 }),
      }),
    );
    check(
      fc.property(scenario, ({ configuration, steps }) => {
        type Addition = readonly [readonly number[], number];
        const copies: { counts: Counts; additions: Addition[] }[] = [
          { counts: new Counts(urnOf(configuration)), additions: [] },
        ];
        for (const { fork, on, levels, treatment } of steps) {
          const copy = copies[on % copies.length];
          if (copy === undefined) throw new Error('there is always a copy');
          if (fork) copies.push({ counts: copy.counts.fork(), additions: [...copy.additions] });
          else {
            copy.counts.add(levels, treatment);
            copy.additions.push([levels, treatment]);
          }
        }
        for (const { counts, additions } of copies) {
          const alone = new Counts(urnOf(configuration));
          for (const [levels, treatment] of additions) alone.add(levels, treatment);
          expect(table(counts, configuration)).toEqual(table(alone, configuration));
          for (const rows of table(counts, configuration))
            expect(rows.flat().reduce((sum, n) => sum + n, 0)).toBe(additions.length);
        }
      }),
    );
  });

  it('does not slow down in a long chain of forks', () => {
    let counts = new Counts(shape);
    for (let i = 0; i < 100_000; i++) {
      counts = counts.fork();
      counts.add([i % 2, i % 3], 0);
    }
    expect(table(counts, shape)[0]).toEqual([
      [50_000, 0, 0],
      [50_000, 0, 0],
    ]);
  });

  it('refuses indexes that are out of range or missing, without counting anything', () => {
    const counts = new Counts(shape);
    for (const levels of [[0], [0, 0, 0], [2, 0], [0, 3], [0, -2], [0, 0.5], []]) {
      expect(() => counts.add(levels, 0)).toThrow(RangeError);
    }
    for (const slot of [-1, 3, 0.5]) expect(() => counts.add([0, 0], slot)).toThrow(RangeError);
    expect(() => counts.of(2, 0)).toThrow(RangeError);
    expect(() => counts.of(0, 2)).toThrow(RangeError);
    expect(table(counts, shape)).toEqual(table(new Counts(shape), shape));
  });
});

const weights = fc.record({ w: fc.integer({ min: 1, max: 1000 }), alpha: fc.nat(1000), beta: fc.nat(1000) });
const assignments = fc.array(fc.nat(1e6), { minLength: 2, maxLength: 12 });

describe('balls', () => {
  it('holds w and those that were added, for any weights and counts', () => {
    check(
      fc.property(weights, assignments, (given, assigned) => {
        const all = assigned.reduce((sum, value) => sum + value, 0);
        const { w, alpha, beta } = given;
        expect(balls(given, assigned)).toEqual(assigned.map((n) => w + alpha * n + beta * (all - n)));
      }),
    );
  });

  it('refuses an empty urn, a negative number of balls, and more balls than a double can count', () => {
    expect(() => balls({ w: 0, alpha: 0, beta: 1 }, [0, 0])).toThrow(RangeError);
    expect(() => balls({ w: -1, alpha: 0, beta: 1 }, [0, 5])).toThrow(RangeError);
    expect(() => balls({ w: 2 ** 52, alpha: 0, beta: 1 }, [0, 0])).toThrow(RangeError);
    expect(() => balls({ w: 1, alpha: 0, beta: 2 ** 52 }, [2, 1])).toThrow(RangeError);
    expect(() => balls({ w: Number.NaN, alpha: 0, beta: 1 }, [0, 0])).toThrow(RangeError);
  });
});

const measures = ['range', 'variance', 'chisquare'] as const;

describe('imbalance', () => {
  it.each(measures)('%s equals the exact value except for the last few bits', (measure) => {
    check(
      fc.property(urn, (balls) => {
        const exact = exactImbalance(measure, balls).toNumber();
        expect(Math.abs(imbalance(measure, balls) - exact)).toBeLessThan(1e-14 * balls.length);
      }),
    );
  });

  it('decides ties by the last bit, so that the order of operations is part of the algorithm: the known hazard', () => {
    // One rounding: 3/6 - 1/6 would be 0.33333333333333337.
    expect(imbalance('range', [1, 2, 3])).toBe(1 / 3);
    expect(imbalance('variance', [2, 2, 1])).toBe(0.013333333333333336);
    expect(imbalance('variance', [1, 2, 2])).toBe(0.013333333333333334);
    expect(imbalance('chisquare', [3, 4, 4, 4])).toBe(0.013333333333333329);
    expect(imbalance('chisquare', [4, 4, 3, 4])).toBe(0.013333333333333327);
    // Eight or more: sums run from left to right, not in numpy's pairwise blocks.
    expect(imbalance('chisquare', [2, 2, 2, 2, 2, 1, 2, 2])).toBe(0.03111111111111111);
    expect(imbalance('chisquare', [2, 2, 1, 2, 2, 2, 2, 2])).toBe(0.031111111111111107);
    expect(imbalance('variance', [2, 3, 3, 3, 3, 3, 3, 2, 3, 3, 3, 3])).toBe(0.0001310684701688162);
    expect(imbalance('variance', [3, 3, 3, 3, 2, 3, 3, 3, 3, 3, 3, 2])).toBe(0.00013106847016881623);
  });

  it('has no such hazard by range: equal rational numbers are equal doubles', () => {
    const [any, positive] = [fc.nat(1000), fc.integer({ min: 1, max: 1000 })];
    check(
      fc.property(any, positive, any, positive, (low, high, a, factor) => {
        const one = [low, low + high, low + (a % (high + 1))];
        const multiple = one.map((held) => held * factor);
        expect(imbalance('range', multiple)).toBe(imbalance('range', one));
      }),
    );
  });
});

/** Few different values, so that ties are common. */
const urns = fc.uniqueArray(fc.record({ name, d: fc.constantFrom(0, 0.25, 0.5) }), {
  minLength: 1,
  maxLength: 20,
  selector: (urn) => urn.name,
});

/** The candidates among factors of these names and imbalances. */
function mostImbalanced(names: readonly string[], imbalances: readonly number[]): number[] {
  const candidates: number[] = [];
  expect(fillCandidates(imbalances, byCodePoint(names), candidates)).toBe(candidates.length);
  return candidates;
}

describe('the most imbalanced urns', () => {
  it('distinguishes values that differ in the last bit', () => {
    expect(mostImbalanced(['a', 'b'], [0.1 + 0.2, 0.3])).toEqual([0]);
  });

  it('sorts by code point, not by UTF-16 unit', () => {
    const sorted = ['Z', 'z', 'é', '\ue000', '\ufffd', '\u{10000}', '\u{1f600}'];
    const names = sorted.toReversed();
    const candidates = mostImbalanced(
      names,
      names.map(() => 0),
    );
    expect(candidates.map((index) => names[index])).toEqual(sorted);
  });

  it('always selects at least one urn, and exactly those with the largest imbalance', () => {
    check(
      fc.property(urns, (given) => {
        const candidates = mostImbalanced(
          given.map((urn) => urn.name),
          given.map((urn) => urn.d),
        );
        const largest = Math.max(...given.map((urn) => urn.d));
        expect(candidates.length).toBeGreaterThan(0);
        expect(new Set(candidates)).toEqual(
          new Set([...given.keys()].filter((i) => given[i]?.d === largest)),
        );
      }),
    );
  });

  it('are not found in an empty list, or among values that are not numbers', () => {
    expect(() => mostImbalanced([], [])).toThrow(RangeError);
    expect(() => mostImbalanced(['a', 'b'], [0, Number.NaN])).toThrow(RangeError);
  });
});

const text = fc.oneof(name, fc.string({ unit: 'binary' }));

it('compareCodePoints orders strings as lists of code points', () => {
  check(
    fc.property(text, text, name, (a, b, prefix) => {
      for (const [left, right] of [
        [a, b],
        [prefix + a, prefix + b],
        [a, a + b],
      ] as const) {
        // UTF-8 keeps their order.
        const expected = Buffer.compare(Buffer.from(left), Buffer.from(right));
        expect(Math.sign(compareCodePoints(left, right))).toBe(expected);
      }
    }),
  );
});

const uniform53 = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 2 ** 52, 2 ** 53 - 1));

describe('draw', () => {
  it.each(numpyVectors.map((vector) => ({ ...vector, bits: vector.seed.toString(2).length })))(
    'makes the same choices as numpy from a seed of $bits bits',
    ({ seed, choice_p }) => {
      const generator = Pcg64.fromSeed(seed);
      for (const { p, index } of choice_p)
        expect(indexAt(cumulative(p), generator.nextUniform53())).toBe(index);
    },
  );

  it('has probabilities that sum to one, also in order, and falls on a treatment that has a ball', () => {
    check(
      fc.property(urn, uniform53, (held, k) => {
        const each = probabilities(held);
        expect(Math.abs(each.reduce((sum, p) => sum + p, 0) - 1)).toBeLessThan(1e-14);
        const cdf = cumulative(each);
        expect(cdf).toEqual(cdf.toSorted((a, b) => a - b));
        expect(cdf.at(-1)).toBe(1);
        expect(held[indexAt(cdf, k)]).toBeGreaterThan(0);
      }),
    );
  });

  it('gives each treatment the uniforms from the previous bound (inclusive) to its own (exclusive)', () => {
    const cdf = cumulative(probabilities([1, 0, 1, 2]));
    expect(cdf).toEqual([0.25, 0.25, 0.5, 1]);
    const quarter = 2 ** 51;
    const at = [0, quarter - 1, quarter, 2 * quarter - 1, 2 * quarter, 4 * quarter - 1];
    expect(at.map((k) => indexAt(cdf, k))).toEqual([0, 0, 2, 2, 3, 3]);
  });

  it('refuses an invalid uniform, and cumulative probabilities that end below it', () => {
    for (const k of [-1, 0.5, 2 ** 53, Number.NaN]) expect(() => indexAt([0.5, 1], k)).toThrow(RangeError);
    expect(() => indexAt([0.25, 0.5], 2 ** 52)).toThrow(RangeError);
    expect(() => indexAt(cumulative(probabilities([0, 0])), 0)).toThrow(RangeError);
  });
});
