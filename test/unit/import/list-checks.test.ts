/** What an honest list seldom does: that it is found, with its chance, and that honest lists seldom do it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  listFindings,
  type Stratum,
  sameLists,
  sequenceProblem,
} from '../../../src/evidence/import/list-checks.ts';
import { sample } from '../../support/property.ts';

const named = (...arms: readonly string[]) => arms.map((one, i) => ({ name: `site ${i + 1}`, arms: one }));
/** What is found: its text, and ! if it needs --yes. */
const found = (...arms: readonly string[]) =>
  listFindings(named(...arms)).map(({ text, needsYes }) => `${text}${needsYes ? ' !' : ''}`);

/** Random, in blocks of 4. */
const [ONE, TWO, THREE] = [
  'ABBABAABBBAAABABABBAAABBBABABAABABBA',
  'BBAAABBAABABBAABBABAABBAABBABABABAAB',
  'ABABBBAAABBABABABAABABBABAABAABBABAB',
] as const;
const first = (n: number) => [ONE, TWO, THREE].map((arms) => arms.slice(0, n));

describe('a list that honest ones seldom resemble', () => {
  it.each<[string, readonly string[], RegExp]>([
    // (1/2)^10 × 2, and (1/2)^20 × 2; the others of ten small strata are rare together.
    [
      'an arm missing',
      [ONE.slice(0, 10), 'AAAAAAAAAA', 'BBBBBBBBBB'],
      /^the lists for site 2, site 3 are without an open arm: .* about once in /,
    ],
    [
      'an arm missing from one',
      [ONE.slice(0, 8), TWO.slice(0, 8), 'AAAAAAAABBBBBBBB'.slice(0, 8), 'BBBBBBBB'],
      /^the lists for site 3, site 4 are without/,
    ],
    [
      'an arm missing from many small ones',
      Array.from({ length: 10 }, (_, i) => 'AB'.charAt(i % 2).repeat(4)),
      /^the lists for site 1, .* without an open arm: .* !$/,
    ],
    // 2!·3!·3!/6! = 1/10 × 1; 2/252 × 1 = 1/126; 2/924 = 1/462; (1/35)^3.
    [
      'sorted by arm',
      ['AAAAABBBBB'],
      /^the list for site 1 is sorted by arm: .* about once in 130 \(hint: [^!]*$/,
    ],
    ['sorted, the last arm first', ['BBBBBBAAAAAA'], /sorted by arm: .* about once in 460 /],
    [
      'sorted in one of many',
      [...first(20), 'AAAAAAAAAABBBBBBBBBB'],
      /^the list for site 4 is sorted by arm: .* once in 23,000 .* !$/,
    ],
    [
      'every stratum sorted',
      ['AAAABBBB', 'BBBBAAAA', 'AAAABBBB'],
      /^the lists for site 1, site 2, site 3 are sorted by arm: .* once in 43,000 .* !$/,
    ],
    [
      'sorted, but for one',
      ['AABB', 'BBAA', 'AABB', 'AABB', 'BBAA', 'AABB', 'BBAA', 'AABB', 'BBAA', 'ABAB'],
      /are sorted by arm/,
    ],
    // 2^-((20 - 2)/2) × 1 × 10 = 1/51; 2^-14 × 15 = 1/1092; 2^-18 × 20 = 1/13107; 2^-(36/4) × 18.
    ['ABAB', ['AB'.repeat(15)], /^the list for site 1 is in a pattern that repeats .* about once in 1,100 /],
    ['AABB', [...first(36), 'AABB'.repeat(12)], /^the list for site 4 is in a pattern that repeats .* !$/],
    [
      'a half pasted again',
      [ONE + ONE],
      /^the list for site 1 is in a pattern that repeats .* about once in 7,300 /,
    ],
    [
      'ABAB in many small strata',
      Array.from({ length: 12 }, () => 'ABABAB'),
      /site 12 are in a pattern that repeats .* !$/,
    ],
    [
      'the halves of strata of all sizes pasted again',
      [4, 6, 10, 14, 20].map((n) => ONE.slice(0, n).repeat(2)),
      /^the lists for site 1, .*site 5 are in a pattern that repeats/,
    ],
    [
      'ABBA everywhere, and cut off',
      [9, 11, 14, 18].map((n) => 'ABBA'.repeat(9).slice(0, n)),
      /site 4 are in a pattern that repeats .* !$/,
    ],
    // 2^-(16/2) × 3 pairs; 2^-(32/2) × 3 pairs; 2^-(16/2) × 1 pair.
    [
      'two strata alike',
      [ONE.slice(0, 20), TWO.slice(0, 20), ONE.slice(0, 20)],
      /^the lists for site 1, site 3 are in the same order, in the first 20 entries: .* about once in 340 /,
    ],
    [
      'alike up to where one ends',
      [ONE.slice(0, 16), ONE],
      /are in the same order, in the first 16 entries: .* about once in 260 /,
    ],
    [
      'two long strata alike',
      [ONE, TWO, ONE],
      /^the lists for site 1, site 3 are in the same order, .* once in 87,000 .* !$/,
    ],
    [
      'one seed for all of many small strata',
      Array.from({ length: 22 }, () => 'ABBAB'),
      /site 20 and 2 more are in the same order, in the first 5 entries: .* !$/,
    ],
  ])('%s', (_, arms, said) => {
    expect(found(...arms)).toContainEqual(expect.stringMatching(said));
  });

  it.each<[string, readonly string[]]>([
    ['nothing of the kind', first(36)],
    ['few entries', ['AABB']],
    ['small strata that are sorted, without an arm, alike', ['AABB', 'ABAB', 'AA', 'B', 'BAB', 'AABB']],
    ['a rare arm', ['AAAAAAAAAB', 'AAABAAAAAA', 'AABAAAAAAAAAAAB', 'AAAAAA']],
  ])('or has %s, which is not named', (_, arms) => {
    expect(found(...arms)).toEqual([]);
  });

  it('may be less likely than any number says, if it is long', () => {
    const long = Array.from({ length: 500 }, () => (ONE + TWO + THREE).repeat(2).slice(0, 200));
    expect(found(...long, 'AB'.repeat(5000))).toContainEqual(
      expect.stringMatching(/same order, in the first 200 .* less than once in 1,000,000,000 .* !$/),
    );
  });
});

describe('honest lists', () => {
  type Random = () => number;
  /** mulberry32 */
  const randomOf = (seed: number): Random => {
    let state = seed;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let bits = Math.imul(state ^ (state >>> 15), state | 1);
      bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
      return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
    };
  };
  const between = (random: Random, least: number, most: number) =>
    least + Math.floor(random() * (most - least + 1));
  const shuffled = (arms: string, random: Random) => {
    const left = [...arms];
    return [...arms].map(() => left.splice(between(random, 0, left.length - 1), 1)[0]).join('');
  };
  const honestArms = (random: Random, length: number, arms: string, block: number) => {
    let made = '';
    while (made.length < length)
      made +=
        block === 0
          ? arms[between(random, 0, arms.length - 1)]
          : shuffled(arms.repeat(block / arms.length), random);
    return made.slice(0, length);
  };
  const DESIGNS = ['AB', 'ABC'].flatMap((arms) =>
    [0, 4, 6, 12].filter((block) => block % arms.length === 0).map((block) => ({ arms, block })),
  );
  const honestList = (random: Random): Stratum[] => {
    const { arms, block } = DESIGNS[between(random, 0, DESIGNS.length - 1)] ?? { arms: 'AB', block: 0 };
    const lengths = Array.from({ length: between(random, 1, 10) }, () => between(random, 4, 60));
    return named(...lengths.map((length) => honestArms(random, length, arms, block)));
  };
  const RULES = ['without an open arm', 'sorted by arm', 'in a pattern that repeats', 'in the same order'];
  const LISTS = 1000;
  const [seed = 0] = sample(fc.integer(), 1);

  it('are seldom named by any rule, and almost never need --yes', () => {
    const random = randomOf(seed);
    const said = Array.from({ length: LISTS }, () => listFindings(honestList(random)));
    for (const rule of RULES) {
      const by = said.map((all) => all.filter(({ text }) => text.includes(` ${rule}`)));
      expect(by.filter(({ length }) => length > 0).length, rule).toBeLessThanOrEqual(LISTS / 100);
      // Once in 10,000 would be three in a thousand only once in 6,000 runs, and it is far less.
      expect(by.filter((all) => all.some(({ needsYes }) => needsYes)).length, rule).toBeLessThan(3);
    }
  });

  it('are seldom taken for one another', () => {
    const random = randomOf(seed);
    const rows = () =>
      honestList(random).flatMap(({ name, arms }) => [...arms].map((arm) => ({ stratum: name, arm })));
    const taken = Array.from({ length: LISTS }, () => sameLists(rows(), [{ rows: rows() }]).length);
    expect(taken.filter((same) => same > 0).length).toBeLessThanOrEqual(LISTS / 100);
  });
});

describe('a list of another study', () => {
  const rowsOf = (text: string) =>
    text.split(' ').map((row) => ({ stratum: row.slice(0, -1), arm: row.slice(-1) }));
  const inStrata = (...strata: readonly Stratum[]) =>
    strata.flatMap(({ name, arms }) => [...arms].map((arm) => ({ stratum: name, arm })));
  const isSame = (some: ReturnType<typeof rowsOf>, other: ReturnType<typeof rowsOf>) =>
    [sameLists(some, [{ rows: other }]), sameLists(other, [{ rows: some }])].map(({ length }) => length);
  const TEN = '1A 1B 2B 2A 1B 2B 1A 2A 1A 2B';
  const [SOME, OTHERS] = [named(...first(20)), named(...first(30))];

  it.each([
    ['row for row', rowsOf(TEN), rowsOf(TEN)],
    ['with one more row', rowsOf(TEN), rowsOf(`${TEN} 1B 2A`)],
    ['with strata in another order, and longer ones', inStrata(...SOME), inStrata(...OTHERS.toReversed())],
    ['with a stratum more', inStrata(...SOME), inStrata(...OTHERS.slice(1))],
  ])('is the same: %s', (_, some, other) => {
    expect(isSame(some, other)).toEqual([1, 1]);
  });

  it.each([
    ['it is short, and chance does that', rowsOf('1A 1B 2B 2A 1B'), rowsOf('1A 1B 2B 2A 1B')],
    [
      'an entry differs',
      inStrata(...SOME),
      inStrata(...named(...first(20).map((arms, i) => (i === 2 ? `${arms.slice(0, 19)}C` : arms)))),
    ],
    ['no stratum is in both', rowsOf(TEN), rowsOf(TEN.replaceAll('1', '3').replaceAll('2', '4'))],
  ])('is another: %s', (_, some, other) => {
    expect(isSame(some, other)).toEqual([0, 0]);
  });
});

describe('a column that numbers the entries', () => {
  /** Entries of the strata 1 and 2 in turn, or as the strata say. */
  const problem = (name: string, cells: string, strata = '12'.repeat(50)) =>
    sequenceProblem(
      name,
      cells.split(' ').map((cell, i) => ({ cell, stratum: strata.charAt(i) })),
    );

  it.each([
    ['seq', '1 2 3 4 4 5 6 7', 'has numbers twice'],
    ['seq', '1 2 3 4 1 2 3 4', 'has numbers twice'],
    ['Sequence', '10 20 40 30 30 50 60', 'has numbers twice'],
    ['', '1 2 5 4 3 6', 'does not ascend'],
    ['id', 'S1 S3 S10 S2 S11 S12', 'does not ascend'],
    ['seq', '100 2000 50 30000 70 90', 'does not ascend'],
    ['Laufnummer', '1 2 3 10 5 6 7 8 9 4', 'does not ascend'],
    ['no', '11-001 30-002 11-003 30-002', 'has numbers twice'],
  ])('%j: %s', (name, cells, said) => {
    expect(problem(name, cells)).toBe(said);
  });

  it.each([
    ['seq', '1 2 3 4 5 6'],
    ['medication no', '4 2 3 1 6 5'],
    ['seq', '1.0 2.0 5.0 9.0'],
    ['seq', '1 1 2 2 3 3'],
    ['id', 'S01-1 S02-1 S01-2 S02-2'],
    ['id', '48213 1093 77120 55012 9 60031'],
    ['kit', '1004 1002 1003 1001'],
    ['block', '1 1 1 1 2 2 2 2'],
    ['block size', '4 4 4 4 2 2 6 6'],
    ['sequence within block', '1 2 3 4 1 2 3 4'],
    ['sequence', 'AB BA AB BA'],
    ['arm_no', '1 2 2 1 1 2'],
    ['when', '2026-01-02 2026-01-02 2026-01-01 2026-01-01'],
    ['seq', '1 2   4'],
  ])('%j is none, or right: %s', (name, cells) => {
    expect(problem(name, cells)).toBeUndefined();
  });

  it('may begin anew with each site, whose strata share its numbers', () => {
    expect(problem('seq', '1 2 3 4 5 1 2 3 4', 'aabab' + 'dcdc')).toBeUndefined();
    expect(problem('seq', '1 2 3 4 5 4 5 6', 'aabab' + 'dcd')).toBe('has numbers twice');
  });
});
