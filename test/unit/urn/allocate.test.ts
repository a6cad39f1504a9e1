import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { FactOf } from '../../../events/define.ts';
import type { ParticipantRandomized2, UrnConfiguration } from '../../../events/study.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import { allocate, type UrnAllocation } from '../../../src/core/methods/urn/allocate.ts';
import { balls } from '../../../src/core/methods/urn/balls.ts';
import { type BgState, Pcg64 } from '../../../src/core/random/pcg64.ts';
import { seed, studyWithParticipants } from '../../support/arbitrary-study.ts';
import { check } from '../../support/property.ts';
import { urnOf } from '../../support/urn-study.ts';
import { referenceHistories } from '../../support/vectors.ts';

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

const histories = referenceHistories();

describe('the histories of the reference implementation', () => {
  it('are 2,100 allocations in 14 studies', () => {
    expect(histories).toHaveLength(14);
    expect(histories.flatMap(({ participants }) => participants)).toHaveLength(2100);
  });

  it.each(histories.map((history) => ({ name: history.configuration.name, ...history })))(
    'are reproduced, treatments and states: $name',
    ({ configuration, seed, participants }) => {
      const steps = allocateAll(
        configuration,
        Pcg64.fromSeed(seed).snapshot(),
        participants.map((p) => p.levelIndexes),
      );
      expect(
        [...steps].map(({ allocation }) => [allocation.treatment, allocation.draw.bgStateAfter]),
      ).toEqual(participants.map(({ treatment, bgStateAfter }) => [treatment, bgStateAfter]));
    },
  );
});

describe('allocate', () => {
  it('returns the evidence that the event records', () => {
    type Draw = FactOf<typeof ParticipantRandomized2>['sections']['draw'];
    expectTypeOf<UrnAllocation['draw']>().toExtend<Draw>();
    expectTypeOf<keyof UrnAllocation['draw']>().toEqualTypeOf<keyof Draw>();
  });

  it('returns evidence from which the draw can be repeated', () => {
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
          before = draw.bgStateAfter;
        }
      }),
    );
  });

  it('only reads its arguments, and returns the same for the same arguments', () => {
    check(
      fc.property(scenario, ({ configuration, state, participants }) => {
        for (const { levelIndexes, counts, allocation } of allocateAll(configuration, state, participants)) {
          const before = structuredClone(allocation.draw.bgStateBefore);
          const rows = levelIndexes.map((level, factor) => counts.of(factor, level));
          expect(allocate(urnOf(configuration), counts, levelIndexes, before)).toEqual(allocation);
          expect(allocate(urnOf(configuration), counts.fork(), levelIndexes, before)).toEqual(allocation);
          expect(before).toEqual(allocation.draw.bgStateBefore);
          expect(levelIndexes.map((level, factor) => counts.of(factor, level))).toEqual(rows);
        }
      }),
    );
  });

  it('moves the generator by one output, and by one 32-bit half more if a lot was cast', () => {
    check(
      fc.property(scenario, ({ configuration, state, participants }) => {
        for (const { allocation } of allocateAll(configuration, state, participants)) {
          const generator = Pcg64.restore(allocation.draw.bgStateBefore);
          // The chance of a rejected half is below 20 / 2^32.
          if (allocation.draw.candidates.length > 1) generator.nextUint32();
          expect(generator.nextUniform53()).toBe(allocation.draw.uniform53);
          expect(allocation.draw.bgStateAfter).toEqual(generator.snapshot());
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
    const [history] = histories;
    if (history === undefined) throw new Error('no history');
    const urn = urnOf(history.configuration);
    const levels = history.configuration.factors.map(() => 0);
    const state = Pcg64.fromSeed(1n).snapshot();
    const counts = new Counts(urn);
    for (const wrong of [levels.slice(1), [...levels, 0], levels.with(0, -1), levels.with(0, 99)])
      expect(() => allocate(urn, counts, wrong, state)).toThrow(RangeError);
    const { treatments } = history.configuration;
    const other = urnOf({ ...history.configuration, treatments: [...treatments, 'one more'] });
    expect(() => allocate(urn, new Counts(other), levels, state)).toThrow(RangeError);
    const broken = { ...state, state: { ...state.state, inc: '0' } };
    expect(() => allocate(urn, counts, levels, broken)).toThrow(RangeError);
  });
});
