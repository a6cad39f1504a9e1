/** Whether the arm can be told from the codes of packs: that it is found by what, and that it is seldom found by chance. */
import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tellingRule } from '../../../src/evidence/import/telling-codes.ts';
import { sample } from '../../support/property.ts';

const PACKS = 36;
/** Of four digits, in no order. */
const CODES = Array.from({ length: PACKS }, (_, i) => String(1000 + ((i * 3571 + 4242) % 8999)));
const sumOf = (code: string) => [...code].reduce((sum, digit) => sum + Number(digit), 0);

type Arm = (code: string, place: number) => string;
const judged = (codes: readonly string[], armOf: Arm, levelOf?: Arm) => {
  const rows = codes.map((code, i) => ({
    ...{ code, treatment: armOf(code, i) },
    where: levelOf && { factor: 'site', level: levelOf(code, i) },
  }));
  return tellingRule(rows, hash('sha256', JSON.stringify(rows)));
};
const either = (isFirst: unknown) => (isFirst ? 'A' : 'B');
/** Random, and not balanced in blocks. */
const ARMS = 'ABBABAAABBBABAABBBAAAABABBABAABBABAB';
const random: Arm = (_, i) => ARMS[i] ?? '';

describe('the arm can be told', () => {
  const numbered = CODES.map((_, i) => String(1001 + i));
  it.each<[by: string, codes: readonly string[], armOf: Arm]>([
    ['whether the number is odd or even', CODES, (code) => either(Number(code) % 2)],
    ['the remainder of the number divided by 3', CODES, (code) => 'ABC'[Number(code) % 3] ?? ''],
    ['the remainder of the number divided by 4', CODES, (code) => either(Number(code) % 4 < 2)],
    ['whether the last character is below 5', CODES, (code) => either(Number(code[3]) < 5)],
    ['whether character 2 is odd or even', CODES, (code) => either(Number(code[1]) % 2)],
    ['the first character', numbered.map((code, i) => (random(code, i) === 'A' ? 'X' : 'Y') + code), random],
    ['the last character', numbered.map((code, i) => code + (random(code, i) === 'A' ? 'x' : 'y')), random],
    ['character 2 from the end', CODES.map((code, i) => `${code}${ARMS[i]}1`), random],
    [
      'the length of the code',
      CODES.map((code, i) => (random(code, i) === 'A' ? code : `${code}${i % 10}`)),
      random,
    ],
    ['whether the sum of the digits of the number is odd or even', CODES, (code) => either(sumOf(code) % 2)],
    [
      'whether the check digit (Luhn) of the number is odd or even',
      CODES,
      (code) =>
        either(
          [...code].reduce(
            (sum, digit, i) =>
              sum + (i % 2 ? Math.floor(Number(digit) / 5) + 2 * Number(digit) : Number(digit)),
            0,
          ) % 2,
        ),
    ],
    [
      'which of 2 equal parts it is in, in the order of the numbers',
      numbered.toSorted((a, b) => sumOf(a) - sumOf(b)),
      (code) => either(Number(code) < 1001 + PACKS / 2),
    ],
    [
      'which 5 in a row it is among, in the order of the numbers',
      numbered.toReversed(),
      (code) => 'ABBABABB'[Math.floor((Number(code) - 1001) / 5)] ?? '',
    ],
    ['whether its place in the file is odd or even', CODES, (_, i) => either(i % 2)],
    ['the remainder of its place in the file divided by 4', CODES, (_, i) => either(i % 4 < 2)],
    ['which of 3 equal parts it is in, in the file', CODES, (_, i) => 'ABC'[Math.floor(i / 12)] ?? ''],
  ])('by %s', (by, codes, armOf) => {
    const found = judged(codes, armOf);
    expect(found).toMatchObject({
      by,
      of: PACKS,
      isOfFile: by.endsWith('in the file') || by.includes('place in the file'),
    });
  });

  it('with exceptions, of which it says how many there are', () => {
    const found = judged(CODES, (code, i) => either((Number(code) + Number(i % 12 === 0)) % 2));
    expect(found).toMatchObject({ by: 'whether the number is odd or even', right: 33, guessed: 18, of: 36 });
  });

  it('at each level on its own', () => {
    const level: Arm = (_, i) => (i % 3 === 0 ? 'North' : 'South');
    const found = judged(
      CODES,
      (code, i) => either((Number(code) + Number(level(code, i) === 'North')) % 2),
      level,
    );
    expect(found).toMatchObject({
      by: 'whether the number is odd or even, at each level of "site"',
      right: 36,
    });
  });

  it.each([
    [12, false],
    [60, true],
  ])('of %i packs, certain: %s', (packs, isCertain) => {
    const codes = Array.from({ length: packs }, (_, i) => String(1001 + i));
    expect(judged(codes, (code) => either(Number(code) % 2))).toMatchObject({ right: packs, isCertain });
  });

  it('of some of very many packs, in a time that does not grow with their number', () => {
    const codes = Array.from({ length: 20_000 }, (_, i) => String(10_000 + i));
    expect(judged(codes, (code) => either(Number(code) % 2))).toMatchObject({ right: 5000, of: 5000 });
  });
});

it('the arm cannot be told of a single arm, of arms that the level tells, or of a few packs', () => {
  expect(judged(CODES, () => 'A')).toBeUndefined();
  const level: Arm = (code) => (Number(code) % 2 ? 'North' : 'South');
  expect(judged(CODES, (code) => either(level(code, 0) === 'North'), level)).toBeUndefined();
  expect(judged(CODES.slice(0, 6), (code) => either(Number(code) % 2))).toBeUndefined();
  expect(judged(CODES, random)).toBeUndefined();
});

it('an honest file is seldom named, and never certain: with arms in any order, or in permuted blocks', () => {
  const file = fc.record({
    packs: fc.integer({ min: 8, max: 60 }),
    block: fc.constantFrom('AB', 'AABB', 'AAB', 'ABC', 'AAABBB', ''),
    form: fc.constantFrom<(i: number, key: string) => string>(
      (i) => String(1001 + i),
      (i) => `L${1 + Math.floor(i / 12)}-${String(i % 12).padStart(3, '0')}`,
      (_, key) => String(BigInt(`0x${key}`)).slice(0, 6),
      (_, key) => key.slice(0, 7).toUpperCase(),
    ),
    key: fc.string({ minLength: 12, maxLength: 12 }),
    isShuffled: fc.boolean(),
  });
  const draws = (key: string, what: string, i: number) => hash('sha256', `${key} ${what} ${i}`);
  const found = sample(file, 300).flatMap(({ packs, block, form, key, isShuffled }) => {
    const size = block === '' ? packs : block.length;
    const arms = Array.from({ length: packs }, (_, i) => ({
      arm: block === '' ? either(i % 2) : (block[i % size] ?? ''),
      order: `${String(Math.floor(i / size)).padStart(3, '0')} ${draws(key, 'arm', i)}`,
    })).toSorted((a, b) => (a.order < b.order ? -1 : 1));
    const rows = arms.map(({ arm }, i) => [form(i, draws(key, 'code', i)), arm] as const);
    if (isShuffled) rows.sort(([a], [b]) => (draws(key, a, 0) < draws(key, b, 0) ? -1 : 1));
    return (
      judged(
        rows.map(([code]) => code),
        (_, i) => rows[i]?.[1] ?? '',
      ) ?? []
    );
  });
  // At most 2 % by the rule, and 1.2 % in 3,600 files of other kinds: 15 of 300 would be very rare.
  expect(found.length).toBeLessThan(15);
  expect(found.filter(({ isCertain }) => isCertain)).toEqual([]);
});
