/** Warnings about the order of the rows in a file, from which somebody who sees it could learn which arm they are of. */
import type { Level } from '../../../events/study.ts';

interface Armed {
  readonly treatment: string;
}

interface Row extends Armed {
  readonly code: string;
  readonly where: Level | undefined;
}

/** The rows of one level, in an order. */
interface List<R extends Armed = Row> {
  readonly name: string;
  readonly rows: readonly R[];
}

export function orderWarnings(rows: readonly Row[]): string[] {
  const byLevel = new Map<string | undefined, Row[]>();
  for (const row of rows) {
    const own = byLevel.get(row.where?.level);
    if (own) own.push(row);
    else byLevel.set(row.where?.level, [row]);
  }
  const lists = [...byLevel.values()].map((own): List => ({ name: nameOf(own[0]?.where), rows: own }));
  const byCode = ({ name, rows: own }: List): List => {
    return { name, rows: own.toSorted((a, b) => (a.code < b.code ? -1 : 1)) };
  };
  const [inFile, inOrderOfCodes] = [inBlocks(lists), inBlocks(lists.map(byCode))];
  return [
    ...(inFile.length > 0
      ? [
          `${listNames(inFile)} sorted by arm: anyone who sees the file knows where each arm begins and ends (hint: shuffle the rows)`,
        ]
      : []),
    ...(inOrderOfCodes.length > 0
      ? [
          `sorted by code, ${listNames(inOrderOfCodes)} in blocks, one for each arm: anyone who learns what a few packs hold can guess the others (hint: have the codes assigned in random order)`,
        ]
      : []),
  ];
}

function nameOf(where: Level | undefined): string {
  return where ? `${where.factor} = ${where.level}` : 'all levels';
}

const SHOWN = 3;

function listNames(lists: readonly List<Armed>[]): string {
  const names = lists.slice(0, SHOWN).map(({ name }) => name);
  const more = lists.length > SHOWN ? ` and ${lists.length - SHOWN} more` : '';
  return lists.length === 1 ? `the list for ${names} is` : `the lists for ${names.join(', ')}${more} are`;
}

/** Warned about is what happens less often than this if packs are shuffled. */
const RARE = 1 / 8;

/** The lists in which each arm's packs stand together, unless chance does that to one, or to so many, of such lists. */
function inBlocks(lists: readonly List<Armed>[]): readonly List<Armed>[] {
  const chances = new Map(lists.map((list) => [list, chanceOfBlocks([...armsOf(list.rows).values()])]));
  const found = lists.filter(({ rows }) => {
    const arms = armsOf(rows).size;
    const runs = rows.filter(({ treatment }, i) => treatment !== rows[i - 1]?.treatment).length;
    return arms > 1 && runs === arms;
  });
  const rare = found.filter((list) => (chances.get(list) ?? 0) * lists.length < RARE);
  if (rare.length > 0) return rare;
  return chanceOfSoMany([...chances.values()], found.length) < RARE ? found : [];
}

/** How many packs each arm has. */
function armsOf(rows: readonly Armed[]): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  for (const { treatment } of rows) numbers.set(treatment, (numbers.get(treatment) ?? 0) + 1);
  return numbers;
}

/** How likely shuffled packs stand in one block for each arm: there are that many orders of the arms and within each arm. */
function chanceOfBlocks(numbers: readonly number[]): number {
  return numbers.length < 2 ? 0 : Math.exp(logFactorial(numbers.length) - logOrders(numbers));
}

/** The logarithm of the number of orders that packs can have, of which each arm has so many. */
function logOrders(numbers: readonly number[]): number {
  const all = numbers.reduce((sum, number) => sum + number, 0);
  return numbers.reduce((sum, number) => sum - logFactorial(number), logFactorial(all));
}

function logFactorial(n: number): number {
  let sum = 0;
  for (let i = 2; i <= n; i++) sum += Math.log(i);
  return sum;
}

/** The probability that at least so many of these independent events happen. */
function chanceOfSoMany(chances: readonly number[], least: number): number {
  let exactly = [1];
  for (const chance of chances)
    exactly = [...exactly, 0].map((same, n) => same * (1 - chance) + (exactly[n - 1] ?? 0) * chance);
  return exactly.slice(least).reduce((sum, one) => sum + one, 0);
}
