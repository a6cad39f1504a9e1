/**
 * The generator and the urn against the numpy of this machine, on data that is new in every run: seeds, operations and
 * whole studies. `FC_SEED` repeats a run; the seed is printed.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cumulative, indexAt, probabilities } from '../../src/core/methods/draw.ts';
import { Counts } from '../../src/core/methods/memory.ts';
import { allocate } from '../../src/core/methods/urn.ts';
import { boundedInteger, Pcg64 } from '../../src/core/random/pcg64.ts';
import { seed, studyWithParticipants, urn } from '../support/arbitrary-study.ts';
import { askNumpy, type Operation, requiredPython } from '../support/numpy.ts';
import { sample } from '../support/property.ts';
import { urnOf } from '../support/urn-study.ts';

const SEQUENCES = 150;
const HISTORIES = 60;
const PARTICIPANTS = { min: 30, max: 60 };
const TIME_LIMIT_MS = 60_000;

const bound = fc.oneof(
  fc.constantFrom(1, 2, 3, 2 ** 32, 2 ** 32 - 1),
  fc.constantFrom(2 ** 31 + 1, 3 * 2 ** 30, 2 ** 31 + 2 ** 30 + 1), // rejected in up to half of the cases
  fc.nat(32).map((exponent) => 2 ** exponent),
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 2 ** 32 }),
);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ op: fc.constantFrom('uint64' as const, 'random' as const, 'reload' as const) }),
  fc.record({ op: fc.constant('below' as const), n: bound }),
  fc.record({ op: fc.constant('choice' as const), balls: urn }),
);
const sequence = fc.record({
  seed: seed(400),
  operations: fc.array(operation, { minLength: 40, maxLength: 120 }),
});
const history = fc.record({
  seed: seed(400),
  study: studyWithParticipants(PARTICIPANTS.max, PARTICIPANTS.min),
});

function perform(generator: Pcg64, operation: Operation): number | string {
  switch (operation.op) {
    case 'uint64':
      return generator.nextUint64().toString();
    case 'random':
      return generator.nextUniform53();
    case 'below':
      return boundedInteger(generator, operation.n);
    case 'choice':
      return indexAt(cumulative(probabilities(operation.balls)), generator.nextUniform53());
    case 'reload':
      return 0;
  }
}

const python = requiredPython() ?? '';

describe.skipIf(python === '')('compared with numpy', () => {
  it('the generator makes the same numbers and states, operation by operation', {
    timeout: TIME_LIMIT_MS,
  }, () => {
    const sequences = sample(sequence, SEQUENCES);
    const answer = askNumpy(python, {
      sequences: sequences.map(({ seed, operations }) => ({ seed: seed.toString(), operations })),
      histories: [],
    });
    sequences.forEach(({ seed, operations }, i) => {
      let generator = Pcg64.fromSeed(seed);
      const start = generator.snapshot();
      const results = operations.map((operation) => {
        if (operation.op === 'reload') generator = Pcg64.restore(generator.snapshot());
        return { value: perform(generator, operation), state: generator.snapshot() };
      });
      expect({ start, results }).toEqual(answer.sequences[i]);
    });
  });

  it('the urn makes the same allocations with the same evidence, study by study', {
    timeout: TIME_LIMIT_MS,
  }, () => {
    const histories = sample(history, HISTORIES);
    const answer = askNumpy(python, {
      sequences: [],
      histories: histories.map(({ seed, study: { configuration, participants } }) => ({
        seed: seed.toString(),
        configuration,
        participants: participants.map((levels) =>
          levels.map((level, factor) => configuration.factors[factor]?.levels[level] ?? ''),
        ),
      })),
    });
    let lots = 0;
    histories.forEach(({ seed, study: { configuration, participants } }, i) => {
      const counts = new Counts(urnOf(configuration));
      const start = Pcg64.fromSeed(seed).snapshot();
      let state = start;
      const allocations = participants.map((levels) => {
        const allocation = allocate(urnOf(configuration), counts, levels, state);
        counts.add(levels, allocation.slot);
        const { draw, ...treatment } = allocation;
        state = draw.bgStateAfter;
        return { ...treatment, ...draw };
      });
      expect({ start, allocations }).toEqual(answer.histories[i]);
      lots += allocations.filter(({ candidates }) => candidates.length > 1).length;
    });
    // The data is worth something only if lots were cast and skipped: the number of each varies with the seed.
    expect(lots).toBeGreaterThan(HISTORIES);
  });
});
