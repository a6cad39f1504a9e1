/** What a simulation cannot be told. What rules and arrivals do: test/integration/simulation-numpy.test.ts. */
import { describe, expect, it } from 'vitest';
import { levelSource } from '../../../src/statistics/simulation/arrivals.ts';
import type { ComparatorRule } from '../../../src/statistics/simulation/plan.ts';
import { comparatorProblem } from '../../../src/statistics/simulation/rules.ts';
import { Strata } from '../../../src/statistics/simulation/strata.ts';
import { bigStick, block, COMPLETE, efron, minimization, urn } from './exact/support.ts';

describe('what fits a study', () => {
  const studies = { two: [1, 1], three: [1, 1, 1], unequal: [2, 1] };
  const factors = ['site', 'age', 'sex'].map((name) => ({ name, levels: ['1', '2'] }));
  const problem = (study: keyof typeof studies, rule: ComparatorRule, within: readonly number[] = []) =>
    comparatorProblem({ rule, within }, { ratio: studies[study], factors });

  it.each<Parameters<typeof problem>>([
    ['two', efron(0.5)],
    ['two', bigStick(1), [0]],
    ['three', block(3, 9), [0, 1]],
    ['unequal', block(3, 6)],
    ['unequal', COMPLETE],
    ['unequal', urn(5, 0, 1), [1]],
    ['three', minimization(0.334)],
    ['unequal', { kind: 'minimization', p: 0.8, measure: 'variance' }],
    ['three', minimization(1)],
  ])('%s: %j', (...asked) => {
    expect(problem(...asked)).toBeUndefined();
  });

  it.each<[string, ...Parameters<typeof problem>]>([
    ['it is for two arms, and the study has 3', 'three', efron(0.7)],
    ['it is for two arms, and the study has 3', 'three', bigStick(3)],
    ['it is not for a study with a ratio', 'unequal', efron(0.7)],
    ['p has at most three decimals', 'three', minimization(1 / 3)],
    ['p must be from 1/3 (the share of a slot) to 1', 'unequal', minimization(0.3)],
    ['p must be from 0.5 to 1', 'two', efron(0.49)],
    ['p must be from 0.5 to 1', 'two', efron(Number.NaN)],
    ['p must be from 1/3 (the share of an arm) to 1', 'three', minimization(0.3)],
    ['p must be from 1/3 (the share of an arm) to 1', 'three', minimization(1.1)],
    ['the largest difference must be a whole number of at least 1', 'two', bigStick(0)],
    ['the size 4 is not a multiple of 3, the number of arms, up to 1000000', 'three', block(3, 4)],
    ['the size 2 is not a multiple of 3, the sum of the ratio, up to 1000000', 'unequal', block(2)],
    ['it has no size', 'two', block()],
    ['w must be a whole number from 1 to 1000000', 'two', urn(0, 0, 1)],
    ['beta must be a whole number from 0 to 1000000', 'two', urn(1, 0, 0.5)],
    ['it has no factors', 'two', COMPLETE, [0]],
    ['a factor is named twice', 'two', urn(1, 0, 1), [0, 0]],
    ['the study has no such factor', 'two', urn(1, 0, 1), [3]],
  ])('not %s: %s, %j', (why, ...asked) => {
    expect(problem(...asked)).toBe(why);
  });
});

describe('levels by shares', () => {
  it.each([
    { why: 'no positive share', shares: [[0, 0]], opens: [] },
    { why: 'a negative share', shares: [[2, -1]], opens: [] },
    { why: 'an infinite share', shares: [[Number.POSITIVE_INFINITY, 1]], opens: [] },
    { why: 'no level open at first', shares: [[1, 0]], opens: [{ factor: 0, level: 0, from: 2 }] },
  ])('are refused with $why', ({ shares, opens }) => {
    expect(() => levelSource({ kind: 'shares', shares, opens }, 10)).toThrow(RangeError);
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
