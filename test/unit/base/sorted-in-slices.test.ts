import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SORTED_AT_ONCE, sortedInSlices } from '../../../src/base/sorted-in-slices.ts';
import { check } from '../../support/property.ts';

interface Item {
  readonly n: number;
  /** Its place before sorting. */
  readonly place: number;
}

const compare = (a: Item, b: Item) => a.n - b.n;
const atOnce = async <R>(work: () => R) => work();
const itemsOf = (numbers: readonly number[]): Item[] => numbers.map((n, place) => ({ n, place }));

describe('sortedInSlices', () => {
  const sizes = [0, 1, SORTED_AT_ONCE, SORTED_AT_ONCE + 1, 3 * SORTED_AT_ONCE, 5 * SORTED_AT_ONCE + 7];

  it.each(sizes)('sorts %i items as toSorted does, and keeps the order of equal ones', async (size) => {
    await check(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 1e6 }),
        fc.integer({ min: 1, max: 50 }),
        async (by, kinds) => {
          const items = itemsOf(Array.from({ length: size }, (_, i) => (i * by) % kinds));
          expect(await sortedInSlices(items, compare, atOnce)).toEqual(items.toSorted(compare));
        },
      ),
      { numRuns: 10 },
    );
  });

  it('does not change the given list', async () => {
    const items = itemsOf([3, 1, 2]);
    await sortedInSlices(items, compare, atOnce);
    expect(items).toEqual(itemsOf([3, 1, 2]));
  });

  it('does at most one slice of the work per turn', async () => {
    const size = 8 * SORTED_AT_ONCE;
    const perTurn: number[] = [];
    let compared = 0;
    const counting = (a: Item, b: Item) => {
      compared++;
      return compare(a, b);
    };
    const turn = async <R>(work: () => R) => {
      compared = 0;
      const result = work();
      perTurn.push(compared);
      return result;
    };
    await sortedInSlices(itemsOf(Array.from({ length: size }, (_, i) => (i * 7919) % size)), counting, turn);
    // 8 runs, then three levels of merging.
    expect(perTurn).toHaveLength(8 + 3 * 8);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(SORTED_AT_ONCE * Math.log2(SORTED_AT_ONCE));
  });
});
