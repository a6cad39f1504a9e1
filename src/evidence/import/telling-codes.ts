/**
 * Whether the arm of a pack can be told from its code, or from its place in the file, by a rule that somebody could find. Simple
 * rules of every kind are tried. Each says of a pack what most of the others say that have the same value, and the best rule
 * counts if that is rarely done by the best one of packs whose arms are shuffled.
 */
import type { Level } from '../../../events/study.ts';
import { quote } from '../../base/text.ts';
import { boundedInteger, Pcg64 } from '../../core/random/pcg64.ts';

interface Row {
  readonly code: string;
  readonly treatment: string;
  readonly where: Level | undefined;
}

interface TellingRule {
  /** What tells the arm, in words. */
  readonly by: string;
  /** Whether it is about the file, and not about the codes. */
  readonly isOfFile: boolean;
  /** Of how many packs it tells the arm. */
  readonly right: number;
  /** Of how many always guessing the commonest arm does, at each level. */
  readonly guessed: number;
  /** How many packs were judged. */
  readonly of: number;
  /** Whether that comes about by chance in less than one of 10,000 files. */
  readonly isCertain: boolean;
}

/** Of a larger file, so many are judged, drawn at random. That takes a second, and seldom ten. */
const MOST_JUDGED = 5000;
const SHUFFLES = 999;
/** The share of the shuffles that may do as well. */
const NAMED_BELOW = 0.02;
const CERTAIN_BELOW = 1 / 10_000;
/** A rule with so few values that is right for all of so many packs is always named. */
const [FEW_VALUES, ENOUGH_PACKS] = [3, 12];

/**
 * @param sha256 of the file: it seeds whatever is drawn, so that a file is always judged alike
 * @returns undefined if no rule does better than chance
 */
export function tellingRule(rows: readonly Row[], sha256: string): TellingRule | undefined {
  const generator = Pcg64.fromSeed(BigInt(`0x${sha256}`));
  const judged = placesJudged(rows.length, generator);
  const arms = grouped(judged, (i) => rows[i]?.treatment);
  const levels = grouped(judged, (i) => rows[i]?.where?.level);
  const { rules, orders } = rulesFor(rows, judged, levels);
  const best = bestOf(rules, arms);
  const guessed = commonest(levels, arms);
  if (best.right <= guessed || !best.rule) return undefined;
  const { rule, right } = best;
  const of = judged.length;
  const chances = { rules, arms, strata: exchangeable(orders, levels, arms) };
  const bound = boundOf({ rule, right }, chances);
  // If it is that small, shuffles show nothing.
  const chance = bound < CERTAIN_BELOW ? bound : shareAsGood(right, chances, generator);
  const isPerfect = right === of && of >= ENOUGH_PACKS && rule.count <= FEW_VALUES;
  if (chance > NAMED_BELOW && !isPerfect) return undefined;
  return { by: rule.by, isOfFile: rule.isOfFile, right, guessed, of, isCertain: bound < CERTAIN_BELOW };
}

/** The places of the packs that are judged, in order. */
function placesJudged(length: number, generator: Pcg64): number[] {
  const places = Array.from({ length }, (_, i) => i);
  if (length <= MOST_JUDGED) return places;
  shuffle(places, places.slice(), generator);
  return places.slice(0, MOST_JUDGED).toSorted((a, b) => a - b);
}

/** Shuffles what stands at these places (Fisher and Yates). */
function shuffle(values: { [place: number]: number }, places: readonly number[], generator: Pcg64): void {
  for (let i = places.length - 1; i > 0; i--) {
    const one = places[i] as number;
    const other = places[boundedInteger(generator, i + 1)] as number;
    const kept = values[one] as number;
    values[one] = values[other] as number;
    values[other] = kept;
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

// Packs with the same value

interface Groups {
  /** Of each pack, the number of its value: from 0, in the order in which they come up. */
  readonly of: Uint16Array;
  readonly count: number;
}

interface Rule extends Groups {
  readonly by: string;
  readonly isOfFile: boolean;
}

function grouped<T>(items: readonly T[], look: (item: T, place: number) => unknown): Groups {
  const numbers = new Map<unknown, number>();
  const of = new Uint16Array(items.length);
  for (const [i, item] of items.entries()) {
    const value = look(item, i);
    const number = numbers.get(value) ?? numbers.size;
    if (number === numbers.size) numbers.set(value, number);
    of[i] = number;
  }
  return { of, count: numbers.size };
}

/** How many packs have the commonest arm of their level. */
function commonest(levels: Groups, arms: Groups): number {
  const counted = counts(levels, arms);
  return sum(
    Array.from({ length: levels.count }, (_, i) =>
      Math.max(...counted.subarray(i * arms.count, (i + 1) * arms.count)),
    ),
  );
}

/** For each value, how many packs of each arm have it. */
function counts({ of, count }: Groups, arms: Groups): Int32Array {
  const counted = new Int32Array(count * arms.count);
  for (let i = 0; i < of.length; i++) {
    const cell = (of[i] as number) * arms.count + (arms.of[i] as number);
    counted[cell] = (counted[cell] as number) + 1;
  }
  return counted;
}

interface Best {
  readonly rule: Rule;
  readonly right: number;
}

/** Of several that are as good, the one with the fewest values. */
function bestOf(rules: readonly Rule[], arms: Groups): { rule?: Rule; right: number } {
  let best: { rule?: Rule; right: number } = { right: 0 };
  for (const rule of rules) {
    const right = rightBy(rule, arms);
    if (right > best.right || (right === best.right && rule.count < (best.rule?.count ?? 0)))
      best = { rule, right };
  }
  return best;
}

/** Of how many packs the arm is the one that most of the others with their value have. */
function rightBy(rule: Groups, arms: Groups): number {
  const counted = counts(rule, arms);
  let right = 0;
  for (let from = 0; from < counted.length; from += arms.count) {
    let [most, next] = [0, 0];
    for (let i = from; i < from + arms.count; i++) {
      const number = counted[i] as number;
      if (number > most) [most, next] = [number, most];
      else if (number > next) next = number;
    }
    // Without the pack that is judged, its arm must still be ahead.
    if (most > next + 1) right += most;
  }
  return right;
}

// What chance does

/** Longer blocks are hardly ever used. */
const LONGEST_BLOCK = 48;

/**
 * The packs whose arms could as well be exchanged: those of a level. Many lists are made in permuted blocks, each with the same
 * arms. Where one of the orders shows such blocks, only the arms of a block can be exchanged.
 */
function exchangeable(orders: readonly (readonly number[])[], levels: Groups, arms: Groups): number[][] {
  return Array.from({ length: levels.count }, (_, level) => level).flatMap((level) => {
    const own = orders.map((order) => order.filter((i) => levels.of[i] === level));
    const { length } = own[0] ?? [];
    for (let size = 2; size <= Math.min(length / 2, LONGEST_BLOCK); size++)
      for (const order of own) {
        const block = (i: number) => order.slice(i * size, (i + 1) * size);
        const text = (i: number) =>
          String(
            block(i)
              .map((place) => arms.of[place])
              .toSorted(),
          );
        const numbers = Array.from({ length: Math.ceil(length / size) }, (_, i) => i);
        const first = text(0);
        if (numbers.slice(0, Math.floor(length / size)).every((i) => text(i) === first))
          return numbers.map(block);
      }
    return own.slice(0, 1);
  });
}

interface Chances {
  readonly rules: readonly Rule[];
  readonly arms: Groups;
  /** Packs whose arms could as well be exchanged. */
  readonly strata: readonly (readonly number[])[];
}

/** In how many shuffles the best rule does as well; 1 as soon as that is too many. */
function shareAsGood(right: number, { rules, arms, strata }: Chances, generator: Pcg64): number {
  const shuffled = { of: Uint16Array.from(arms.of), count: arms.count };
  let asGood = 0;
  for (let i = 0; i < SHUFFLES; i++) {
    for (const places of strata) shuffle(shuffled.of, places, generator);
    if (bestOf(rules, shuffled).right >= right) asGood++;
    if (asGood > NAMED_BELOW * SHUFFLES) return 1;
  }
  return asGood / SHUFFLES;
}

/**
 * A bound of the chance that one of the rules is right so often: the number of rules, by that of the arrangements in which all
 * but so many packs have the arm of their value, by that of all arrangements.
 */
function boundOf({ rule, right }: Best, { rules, arms, strata }: Chances): number {
  const wrong = arms.of.length - right;
  const exceptions =
    logChoices([wrong, right]) + Math.log(wrong + 1) + wrong * Math.log(Math.max(1, arms.count - 1));
  const all = sum(strata.map((places) => logChoices(armsIn(places, arms))));
  return Math.exp(Math.log(rules.length) + rule.count * Math.log(arms.count) + exceptions - all);
}

/** How many packs each arm has. */
function armsIn(places: readonly number[], { of, count }: Groups): number[] {
  const numbers = new Array<number>(count).fill(0);
  for (const place of places) numbers[of[place] as number] = (numbers[of[place] as number] as number) + 1;
  return numbers;
}

/** The logarithm of the number of orders that things of these numbers can have. */
function logChoices(numbers: readonly number[]): number {
  return numbers.reduce((choices, number) => choices - logFactorial(number), logFactorial(sum(numbers)));
}

function logFactorial(n: number): number {
  let log = 0;
  for (let i = 2; i <= n; i++) log += Math.log(i);
  return log;
}

// The rules

/** How many packs a value has on average, for the others to say anything of one. */
const FEWEST_ALIKE = 3;

function rulesFor(rows: readonly Row[], judged: readonly number[], levels: Groups) {
  const rules: Rule[] = [];
  const seen = new Set<number>();
  const add = (by: string, isOfFile: boolean, groups: Groups) => {
    const print = fingerprint(groups);
    if (groups.count < 2 || groups.count > judged.length / FEWEST_ALIKE || seen.has(print)) return;
    seen.add(print);
    rules.push({ by, isOfFile, ...groups });
  };
  const isByLevel = levels.count > 1;
  const inEach = `, at each level of ${quote(rows.find(({ where }) => where)?.where?.factor ?? '')}`;
  const crossed = ({ of, count }: Groups) =>
    grouped(judged, (_, i) => (levels.of[i] as number) * count + (of[i] as number));
  const codes = rows.map(({ code }) => codedAs(code));
  for (const [by, look] of codeRules(
    codes.reduce((longest, { code }) => Math.max(longest, code.length), 0),
  )) {
    const groups = grouped(judged, (i) => look(codes[i] as Coded));
    add(by, false, groups);
    if (isByLevel) add(by + inEach, false, crossed(groups));
  }
  const orders = ordersOf(codes);
  for (const { name, isOfFile, order } of orders) {
    const whole = placesIn(order, () => '');
    for (const [by, look] of placeRules(name))
      add(
        by,
        isOfFile,
        grouped(judged, (i) => look(whole(i))),
      );
    if (!isByLevel) continue;
    const own = placesIn(order, (i) => rows[i]?.where?.level ?? '');
    for (const [by, look] of placeRules(name))
      add(by + inEach, isOfFile, crossed(grouped(judged, (i) => look(own(i)))));
  }
  const indexes = new Map(judged.map((place, i) => [place, i]));
  const ofJudged = orders.map(({ order }) => order.flatMap((place) => indexes.get(place) ?? []));
  return { rules, orders: ofJudged };
}

/** Rules that part the packs alike have the same. */
function fingerprint({ of }: Groups): number {
  let [a, b] = [0, 0];
  for (const number of of) {
    a = Math.imul(a ^ number, 0x9e3779b1) ^ (a >>> 15);
    b = (Math.imul(b, 31) + number) & 0x1fffff;
  }
  return (a >>> 0) * 2 ** 21 + b;
}

/** What rules look at in a code. */
interface Coded {
  readonly code: string;
  readonly digits: string;
  /** Its longest run of digits, the last of several. */
  readonly number: string;
}

function codedAs(code: string): Coded {
  const runs = code.match(/\d+/g) ?? [];
  const number = runs.reduce((longest, run) => (run.length >= longest.length ? run : longest), '');
  return { code, digits: runs.join(''), number };
}

type RuleOn<T> = readonly [by: string, look: (of: T) => unknown];

const DIVISORS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

/** Those first that people use: of several that are as good, the first is named. */
function codeRules(longest: number): RuleOn<Coded>[] {
  const numbers = [
    ['the number', ({ number }: Coded) => number],
    ['the number of all digits', ({ digits }: Coded) => digits],
    ['the number without its last digit', ({ digits }: Coded) => digits.slice(0, -1)],
  ] as const;
  return [
    [remainderText('the number', 2), ({ number }) => remainder(number, 2)],
    ...Array.from({ length: longest }, (_, i) => i).flatMap(characterRules),
    ['what stands before the first digit', ({ code }) => /^\D*/.exec(code)?.[0]],
    ['what stands behind the last digit', ({ code }) => /\D*$/.exec(code)?.[0]],
    ['the length of the code', ({ code }) => code.length],
    ['how many digits the code has', ({ digits }) => digits.length],
    [
      'where the code has digits, capitals and small letters',
      ({ code }) => code.replaceAll(/\d/g, '0').replaceAll(/[A-Z]/g, 'A').replaceAll(/[a-z]/g, 'a'),
    ],
    ...numbers.flatMap(([name, of]) =>
      DIVISORS.map((by): RuleOn<Coded> => [remainderText(name, by), (coded) => remainder(of(coded), by)]),
    ),
    ...numbers.flatMap(([name, of]) => digitRules(name, of)),
  ];
}

function digitRules(name: string, of: (coded: Coded) => string): RuleOn<Coded>[] {
  const digitSum = (coded: Coded) => sum([...of(coded)].map(Number));
  const sumName = `the sum of the digits of ${name}`;
  return [
    ...DIVISORS.map((by): RuleOn<Coded> => [remainderText(sumName, by), (coded) => digitSum(coded) % by]),
    [sumName, digitSum],
    ...CHECKS.flatMap(([scheme, modulus, weigh]): RuleOn<Coded>[] => {
      const rest = (coded: Coded, from: number) =>
        sum([...of(coded)].reverse().map((digit, i) => weigh(Number(digit), i + from))) % modulus;
      const checkDigit = (coded: Coded) => (modulus - rest(coded, 1)) % modulus;
      const next = `the check digit (${scheme}) of ${name}`;
      return [
        [`whether ${name} ends with its check digit (${scheme})`, (coded) => rest(coded, 0) === 0],
        [next, checkDigit],
        [`whether ${next} is odd or even`, (coded) => checkDigit(coded) % 2],
        [`whether ${next} is below 5`, (coded) => checkDigit(coded) < 5],
      ];
    }),
  ];
}

/** What a digit adds to the sum of a check, by its place from the end: 0 for the check digit itself. */
type Weigh = (digit: number, place: number) => number;
const CHECKS: readonly (readonly [scheme: string, modulus: number, weigh: Weigh])[] = [
  ['Luhn', 10, (digit, place) => (place % 2 === 0 ? digit : digit < 5 ? 2 * digit : 2 * digit - 9)],
  ['GS1', 10, (digit, place) => (place % 2 === 0 ? digit : 3 * digit)],
  ['modulo 11', 11, (digit, place) => digit * (place + 1)],
];

function characterRules(place: number): RuleOn<Coded>[] {
  const fromEnd = place === 0 ? 'the last character' : `character ${place + 1} from the end`;
  const first = place === 0 ? 'the first character' : `character ${place + 1}`;
  return [
    ...characterRulesOf(first, ({ code }) => code[place] ?? ''),
    ...characterRulesOf(fromEnd, ({ code }) => code.at(-1 - place) ?? ''),
    [`the first ${place + 1} characters`, ({ code }) => code.slice(0, place + 1)],
    [`the last ${place + 1} characters`, ({ code }) => code.slice(-1 - place)],
  ];
}

function characterRulesOf(name: string, at: (coded: Coded) => string): RuleOn<Coded>[] {
  const ofDigit = (value: (digit: number) => unknown) => (coded: Coded) => {
    const character = at(coded);
    return /\d/.test(character) ? value(Number(character)) : '';
  };
  return [
    [name, at],
    [`whether ${name} is odd or even`, ofDigit((digit) => digit % 2)],
    [`whether ${name} is below 5`, ofDigit((digit) => digit < 5)],
  ];
}

function remainderText(name: string, by: number): string {
  return by === 2 ? `whether ${name} is odd or even` : `the remainder of ${name} divided by ${by}`;
}

/** Of a number that may be too long to count. */
function remainder(digits: string, by: number): number {
  let rest = 0;
  for (const digit of digits) rest = (rest * 10 + Number(digit)) % by;
  return rest;
}

/** The orders that packs have, as the places of their rows. */
function ordersOf(codes: readonly Coded[]) {
  const rows = codes.map((_, i) => i);
  const numbers = codes.map(({ number }) => number.replace(/^0+/, ''));
  const inOrder = (length: (row: number) => number, text: (row: number) => string) =>
    rows.toSorted((a, b) => length(a) - length(b) || (text(a) < text(b) ? -1 : Number(text(a) > text(b))));
  const numberOf = (row: number) => numbers[row] ?? '';
  return [
    {
      ...{ name: 'in the order of the numbers', isOfFile: false },
      order: inOrder((row) => numberOf(row).length, numberOf),
    },
    {
      ...{ name: 'in the order of the codes', isOfFile: false },
      order: inOrder(
        () => 0,
        (row) => codes[row]?.code ?? '',
      ),
    },
    { name: 'in the file', isOfFile: true, order: rows },
  ];
}

interface Place {
  readonly place: number;
  readonly of: number;
}

/** For each row, its place in the order, among those with the same key. */
function placesIn(order: readonly number[], keyOf: (row: number) => string): (row: number) => Place {
  const numbers = new Map<string, number>();
  const places = new Int32Array(order.length);
  for (const row of order) {
    const place = numbers.get(keyOf(row)) ?? 0;
    numbers.set(keyOf(row), place + 1);
    places[row] = place;
  }
  return (row) => ({ place: places[row] as number, of: numbers.get(keyOf(row)) ?? 0 });
}

function placeRules(order: string): RuleOn<Place>[] {
  return [
    ...[2, 3, 4, 5, 6].map(
      (parts): RuleOn<Place> => [
        `which of ${parts} equal parts it is in, ${order}`,
        ({ place, of }) => Math.floor((place * parts) / of),
      ],
    ),
    ...DIVISORS.map(
      (by): RuleOn<Place> => [remainderText(`its place ${order}`, by), ({ place }) => place % by],
    ),
    ...[3, 4, 5, 6, 8, 10, 20, 25, 50, 100].map(
      (run): RuleOn<Place> => [
        `which ${run} in a row it is among, ${order}`,
        ({ place }) => Math.floor(place / run),
      ],
    ),
  ];
}
