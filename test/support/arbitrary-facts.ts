/** Random facts that the catalogue's schemas accept. */
import fc from 'fast-check';
import type { Fact } from '../../events/catalogue.ts';
import type { BgState } from '../../events/study.ts';

type Said<T extends Fact['type']> = Extract<Fact, { type: T }>;

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const count = fc.nat(1_000_000);
/** Decimal, of 30 to 39 digits: never found anywhere by chance. */
const uint128 = fc.bigInt({ min: 10n ** 29n, max: 2n ** 128n - 1n }).map(String);

export const bgState: fc.Arbitrary<BgState> = fc.record({
  bit_generator: fc.constant('PCG64' as const),
  state: fc.record({ state: uint128, inc: uint128 }),
  has_uint32: fc.constantFrom(0 as const, 1 as const),
  uinteger: fc.integer({ min: 0x10000000, max: 0xffffffff }),
});

/** Everything that a `ParticipantRandomized` keeps under seal. */
export const sections: fc.Arbitrary<Said<'ParticipantRandomized'>['sections']> = fc
  .record({
    // A prefix that no other arbitrary text contains.
    treatment: text.map((name) => `arm:${name}`),
    bgStateBefore: bgState,
    bgStateAfter: bgState,
    selectedFactor: text,
    counts: fc.array(count, { minLength: 2, maxLength: 12 }),
    balls: fc.array(count, { minLength: 2, maxLength: 12 }),
    candidates: fc.array(text, { minLength: 1, maxLength: 4 }),
    uniform53: fc.integer({ min: 2 ** 40, max: 2 ** 53 - 1 }),
    idempotencyKey: fc.option(
      text.map((key) => `key:${key}`),
      { nil: undefined },
    ),
  })
  .map(({ treatment, idempotencyKey, ...draw }) => ({
    allocation: { treatment },
    draw,
    ...(idempotencyKey !== undefined && { request: { idempotencyKey } }),
  }));

export const randomizedFact: fc.Arbitrary<Said<'ParticipantRandomized'>> = fc.record({
  type: fc.constant('ParticipantRandomized' as const),
  data: fc.record({
    participantId: text,
    levels: fc.array(fc.record({ factor: text, level: text }), { minLength: 1, maxLength: 5 }),
  }),
  sections,
});
