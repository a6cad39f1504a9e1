/** Random studies and participants for property tests. */
import fc from 'fast-check';
import type { UrnConfiguration } from '../../events/study.ts';

/** Characters on both sides of the surrogates: sorting by UTF-16 units would put U+10000 before U+E000. */
const character = fc.constantFrom(...'aZ0 é–山\ue000\uffee\u{10000}\u{1f600}', 'e\u0301');

/** Short names, often prefixes of one another. */
export const name = fc
  .array(character, { minLength: 1, maxLength: 3 })
  .map((characters) => characters.join(''));

const names = (minLength: number, maxLength: number) => fc.uniqueArray(name, { minLength, maxLength });

/** Mostly the small weights that studies have. */
const weight = (min: number) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min, max: 4 }) },
    { weight: 1, arbitrary: fc.integer({ min, max: 1e9 }) },
  );

/** A study of 2 to 12 treatments and 1 to 20 factors of 1 to 4 levels, as the configuration's schema accepts it. */
export const study: fc.Arbitrary<UrnConfiguration> = fc.record({
  name,
  mode: fc.constant('test' as const),
  D: fc.constantFrom('range' as const, 'variance' as const, 'chisquare' as const),
  urnSelection: fc.constant('method1' as const),
  w: weight(1),
  alpha: weight(0),
  beta: weight(0),
  treatments: names(2, 12),
  factors: fc.uniqueArray(fc.record({ name, levels: names(1, 4) }), {
    minLength: 1,
    maxLength: 20,
    selector: (factor) => factor.name,
  }),
});

/** Level indexes of one participant of the study. */
export const participant = (configuration: UrnConfiguration): fc.Arbitrary<number[]> =>
  fc.tuple(...configuration.factors.map(({ levels }) => fc.nat(levels.length - 1)));

/** A study with its participants in order. */
export function studyWithParticipants(
  maxLength: number,
  minLength = 0,
): fc.Arbitrary<{ configuration: UrnConfiguration; participants: number[][] }> {
  return study.chain((configuration) =>
    fc
      .array(participant(configuration), { minLength, maxLength })
      .map((participants) => ({ configuration, participants })),
  );
}

/** A seed of a random size up to `maxBits`, sizes being equally likely; zero and exact powers of two included. */
export function seed(maxBits: number): fc.Arbitrary<bigint> {
  return fc
    .integer({ min: 0, max: maxBits })
    .chain((bits) =>
      fc.oneof(
        { weight: 5, arbitrary: fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n }) },
        { weight: 1, arbitrary: fc.constant(1n << BigInt(bits)) },
      ),
    );
}

/** An urn's balls: 2 to 12 treatments, some without a ball but not all. */
export const urn: fc.Arbitrary<number[]> = fc
  .array(fc.oneof(fc.nat(5), fc.nat(1000), fc.nat(1e12)), { minLength: 2, maxLength: 12 })
  .filter((balls) => balls.some((held) => held > 0));
