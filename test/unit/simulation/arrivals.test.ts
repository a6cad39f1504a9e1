import { describe, expect, it } from 'vitest';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { levelSource } from '../../../src/statistics/simulation/arrivals.ts';
import type { Arrivals } from '../../../src/statistics/simulation/plan.ts';
import { Strata } from '../../../src/statistics/simulation/strata.ts';

/** The levels of the given number of participants, one row each. */
function arrive(arrivals: Arrivals, participants: number, factors: number): number[][] {
  const levels = new Int32Array(participants * factors);
  levelSource(arrivals, participants).fill(Pcg64.fromSeed(3n), levels);
  return Array.from({ length: participants }, (_, i) => [...levels.subarray(i * factors, (i + 1) * factors)]);
}

/** The share that a uniform number falls in. */
function firstBeyond(generator: Pcg64, shares: readonly number[]): number {
  const u = generator.nextUniform53() / 2 ** 53;
  const upTo = (end: number) => shares.slice(0, end).reduce((total, share) => total + share, 0);
  return shares.findIndex((_, i) => u < upTo(i + 1) / upTo(shares.length));
}

describe('levels by shares', () => {
  it('take one uniform number for each factor in order, even one with a single level', () => {
    const shares = [[1, 1], [5], [0.1, 0.3, 0.6]];
    const generator = Pcg64.fromSeed(3n);
    const expected = Array.from({ length: 50 }, () =>
      shares.map((ofFactor) => firstBeyond(generator, ofFactor)),
    );
    expect(arrive({ kind: 'shares', shares, opens: [] }, 50, 3)).toEqual(expected);
  });

  it('leave out a level before it opens, and always one without a share', () => {
    const opens = [
      { factor: 0, level: 2, from: 21 },
      { factor: 0, level: 0, from: 11 },
    ];
    const column = arrive({ kind: 'shares', shares: [[1, 1, 1, 0]], opens }, 400, 1).flat();
    expect(new Set(column.slice(0, 10))).toEqual(new Set([1]));
    expect(new Set(column.slice(10, 20))).toEqual(new Set([0, 1]));
    expect(column.indexOf(2)).toBeGreaterThanOrEqual(20);
    expect(new Set(column)).toEqual(new Set([0, 1, 2]));
    for (const level of [0, 1, 2])
      expect(Math.abs(column.slice(20).filter((one) => one === level).length - 380 / 3)).toBeLessThan(40);
  });

  it('may open at the first participant, or after the last', () => {
    const from = (from: number) => [{ factor: 0, level: 0, from }];
    expect(new Set(arrive({ kind: 'shares', shares: [[1, 1]], opens: from(1) }, 60, 1).flat()).size).toBe(2);
    expect(new Set(arrive({ kind: 'shares', shares: [[1, 1]], opens: from(61) }, 60, 1).flat())).toEqual(
      new Set([1]),
    );
  });

  it.each([
    { why: 'no positive share', shares: [[0, 0]], opens: [] },
    { why: 'a negative share', shares: [[2, -1]], opens: [] },
    { why: 'an infinite share', shares: [[Number.POSITIVE_INFINITY, 1]], opens: [] },
    { why: 'no level open at first', shares: [[1, 0]], opens: [{ factor: 0, level: 0, from: 2 }] },
  ])('are refused with $why', ({ shares, opens }) => {
    expect(() => levelSource({ kind: 'shares', shares, opens }, 10)).toThrow(RangeError);
  });
});

describe('levels of rows', () => {
  it('are drawn by weight, with one uniform number each', () => {
    const rows = Array.from({ length: 101 }, (_, i) => [i, 100 - i]);
    const weights = rows.map((_, i) => (i % 5 === 0 ? 0 : 1 + (i % 3)));
    const generator = Pcg64.fromSeed(3n);
    const expected = Array.from({ length: 300 }, () => rows[firstBeyond(generator, weights)]);
    expect(arrive({ kind: 'rows', rows, weights }, 300, 2)).toEqual(expected);
  });
});

describe('strata', () => {
  const factors = (...sizes: number[]) => sizes.map((size) => ({ levels: Array<string>(size).fill('') }));

  it('group participants alike in some factors, numbered in order of appearance', () => {
    const strata = new Strata(factors(3, 2, 2), [2, 0], 5);
    strata.assign(Int32Array.from([2, 0, 1, 0, 1, 1, 2, 1, 1, 0, 0, 0, 0, 0, 1]));
    expect([...strata.of]).toEqual([0, 1, 0, 2, 1]);
    strata.assign(Int32Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]));
    expect([...strata.of]).toEqual([0, 0, 0, 1, 0]);
  });

  it('are a single stratum without factors', () => {
    const strata = new Strata(factors(3), [], 3);
    strata.assign(Int32Array.from([0, 1, 2]));
    expect([...strata.of]).toEqual([0, 0, 0]);
  });

  it('are distinguished even among more combinations than a double can count', () => {
    const sizes = Array<number>(25).fill(40);
    const rows = [0, 1, 0, 2, 1].map((kind) =>
      sizes.map((_, i) => (i === 0 && kind === 1 ? 39 : i === 24 ? kind : 39)),
    );
    const strata = new Strata(factors(...sizes), [...sizes.keys()], rows.length);
    strata.assign(Int32Array.from(rows.flat()));
    expect([...strata.of]).toEqual([0, 1, 0, 2, 1]);
  });
});
