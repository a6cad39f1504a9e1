import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byCodePoint, compareCodePoints, largest } from '../../../src/core/methods/urn/selection.ts';
import { name } from '../../support/arbitrary-study.ts';
import { check } from '../../support/property.ts';

/** Few different values, so that ties are common. */
const urns = fc.uniqueArray(fc.record({ name, d: fc.constantFrom(0, 0.25, 0.5) }), {
  minLength: 1,
  maxLength: 20,
  selector: (urn) => urn.name,
});

/** The candidates among factors of these names and imbalances. */
function mostImbalanced(names: readonly string[], imbalances: readonly number[]): number[] {
  const candidates: number[] = [];
  expect(largest(imbalances, byCodePoint(names), candidates)).toBe(candidates.length);
  return candidates;
}

describe('the most imbalanced urns', () => {
  it('selects the one urn with the largest imbalance', () => {
    expect(mostImbalanced(['sex', 'site', 'age'], [0.1, 0.3, 0.2])).toEqual([1]);
  });

  it('selects all urns with the largest imbalance, sorted by name', () => {
    expect(mostImbalanced(['sex', 'site', 'age'], [0.3, 0.1, 0.3])).toEqual([2, 0]);
  });

  it('selects all urns if all are balanced', () => {
    expect(mostImbalanced(['b', 'a'], [0, 0])).toEqual([1, 0]);
  });

  it('distinguishes values that differ in the last bit', () => {
    expect(mostImbalanced(['a', 'b'], [0.1 + 0.2, 0.3])).toEqual([0]);
  });

  it('sorts by code point, not by UTF-16 unit', () => {
    const names = ['\u{1f600}', '\ufffd', '\u{10000}', '\ue000', 'é', 'z', 'Z'];
    expect(
      mostImbalanced(
        names,
        names.map(() => 0),
      ).map((index) => names[index]),
    ).toEqual(['Z', 'z', 'é', '\ue000', '\ufffd', '\u{10000}', '\u{1f600}']);
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

  it('selects the same urns in the same order however the factors are listed', () => {
    const shuffled = urns.chain((given) =>
      fc.shuffledSubarray(given, { minLength: given.length }).map((other) => [given, other] as const),
    );
    check(
      fc.property(shuffled, (orders) => {
        const [one, other] = orders.map((given) =>
          mostImbalanced(
            given.map((urn) => urn.name),
            given.map((urn) => urn.d),
          ).map((i) => given[i]?.name),
        );
        expect(one).toEqual(other);
      }),
    );
  });

  it('are not found in an empty list, or among values that are not numbers', () => {
    expect(() => mostImbalanced([], [])).toThrow(RangeError);
    expect(() => mostImbalanced(['a', 'b'], [0, Number.NaN])).toThrow(RangeError);
  });
});

describe('compareCodePoints', () => {
  const text = fc.oneof(name, fc.string({ unit: 'binary' }));

  it('orders strings as lists of code points', () => {
    check(
      fc.property(text, text, name, (a, b, prefix) => {
        for (const [left, right] of [
          [a, b],
          [prefix + a, prefix + b],
          [a, a + b],
        ] as const) {
          expect(Math.sign(compareCodePoints(left, right))).toBe(
            compareLists(codePoints(left), codePoints(right)),
          );
        }
      }),
    );
  });

  it('orders strings as their UTF-8 bytes', () => {
    check(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareCodePoints(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });
});

function codePoints(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  const i = a.findIndex((value, index) => value !== b[index]);
  if (i === -1) return Math.sign(a.length - b.length);
  return i >= b.length ? 1 : Math.sign((a[i] ?? 0) - (b[i] ?? 0));
}
