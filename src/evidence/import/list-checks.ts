/**
 * What an honest list seldom does: checks of the arms of a list, stratum by stratum, before it is registered. Each says how often
 * an honest list of the same size would do that by chance, and is measured so that it is no more than it says (docs/methods.md).
 *
 * A stratum is a text with one character for each entry, its arm. Chances are natural logarithms: those of a long list are
 * smaller than any number. All take about as long as reading the list.
 */
import { plural } from '../../base/wording.ts';

export interface Stratum {
  readonly name: string;
  readonly arms: string;
}

/** Something that is named. */
export interface Finding {
  readonly text: string;
  /** Whether a live study takes the list only with --yes. */
  readonly needsYes: boolean;
}

/** Named is what happens less often than this … */
const SELDOM = Math.log(1 / 100);
/** … and in a live study --yes is needed for what happens less often than this. */
const ALMOST_NEVER = Math.log(1 / 10_000);

/** @param strata those that have entries */
export function listFindings(strata: readonly Stratum[]): Finding[] {
  const shares = sharesOf(strata);
  const surprise = surpriseOf(shares);
  const longest = strata.reduce((most, { arms }) => Math.max(most, arms.length), strata.length);
  const logFactorials = logFactorialsTo(longest);
  const mixed = strata.filter(({ arms }) => new Set(arms).size > 1);
  return [
    ...missingArms(strata, shares),
    ...sorted(strata.length, mixed, logFactorials),
    ...repeating(strata.length, mixed, surprise),
    ...alike(strata.length, mixed, surprise, logFactorials),
  ];
}

function sharesOf(strata: readonly Stratum[]): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  let all = 0;
  for (const { arms } of strata)
    for (const arm of arms) {
      numbers.set(arm, (numbers.get(arm) ?? 0) + 1);
      all++;
    }
  return new Map([...numbers].map(([arm, number]) => [arm, number / all]));
}

/**
 * How surprising it is, at least, that two honest lists agree in an entry, in nats: half a bit, as in blocks of 2. An arm with
 * more than three quarters of the list makes it less: in blocks with a single other entry, or without blocks.
 */
function surpriseOf(shares: ReadonlyMap<string, number>): number {
  const others = Math.min(1 / 2, 1 - Math.max(...shares.values()));
  return Math.min(Math.LN2 / 2, -others * Math.log(others), -Math.log(others ** 2 + (1 - others) ** 2));
}

/** The logarithm of n!, by n. */
function logFactorialsTo(most: number): Float64Array {
  const table = new Float64Array(most + 1);
  for (let n = 2; n <= most; n++) table[n] = (table[n - 1] ?? 0) + Math.log(n);
  return table;
}

/** A stratum that may have some trait. */
interface Judged {
  readonly name: string;
  readonly has: boolean;
  /** Of its having the trait. */
  readonly chance: number;
  /** The same, where it stands alone: of exactly what it does, and of all that was tried. */
  readonly alone?: number;
}

interface Rare {
  readonly names: readonly string[];
  readonly chance: number;
}

/**
 * The strata whose trait is not easily chance: each that would be rare among so many, or all that have it, if so many are.
 * @param tried how many traits of the kind were tried
 */
function rare(judged: readonly Judged[], strata: number, tried = 1): Rare | undefined {
  const having = judged.filter(({ has }) => has);
  const together = chanceOfSoMany(judged, having.length) + Math.log(tried);
  const single = ({ alone, chance }: Judged) => (alone ?? chance) + Math.log(strata);
  const found = together < SELDOM ? having : having.filter((one) => single(one) < SELDOM);
  if (found.length === 0) return undefined;
  return {
    names: found.map(({ name }) => name),
    chance: found.reduce((least, one) => Math.min(least, single(one)), together),
  };
}

/** Of at least so many: if all have the trait, the product; otherwise Hoeffding's bound (1963, theorem 1). */
function chanceOfSoMany(judged: readonly Judged[], least: number): number {
  if (least === judged.length) return judged.reduce((sum, { chance }) => sum + chance, 0);
  const share = least / judged.length;
  const expected = judged.reduce((sum, { chance }) => sum + Math.exp(chance), 0) / judged.length;
  if (share <= expected) return 0;
  const divergence =
    share * Math.log(share / expected) + (1 - share) * Math.log((1 - share) / (1 - expected));
  return -judged.length * divergence;
}

function missingArms(strata: readonly Stratum[], shares: ReadonlyMap<string, number>): Finding[] {
  const judged = strata.map(({ name, arms }): Judged => {
    const own = new Set(arms);
    const lacking = [...shares].map(([arm, share]) => ({
      isMissing: !own.has(arm),
      chance: arms.length * Math.log1p(-share),
    }));
    const any = lacking.reduce((sum, { chance }) => sum + Math.exp(chance), 0);
    const missing = lacking.filter(({ isMissing }) => isMissing);
    return {
      ...{ name, has: missing.length > 0, chance: Math.log(Math.min(1, any)) },
      alone: missing.reduce((least, { chance }) => Math.min(least, chance), 0),
    };
  });
  return findings(
    rare(judged, strata.length),
    (lists) => `${lists} without an open arm: the stratum tells which arms come`,
    'was one column sorted without the others?',
  );
}

/** Shorter strata are easily sorted. */
const LEAST_SORTED = 4;

/** k arms in blocks, one for each: k! of n!/∏nₐ! orders. */
function sorted(strata: number, mixed: readonly Stratum[], logFactorials: Float64Array): Finding[] {
  const of = (n: number) => logFactorials[n] ?? 0;
  const judged = mixed
    .filter(({ arms }) => arms.length >= LEAST_SORTED)
    .map(({ name, arms }): Judged => {
      const numbers = new Map<string, number>();
      let runs = 0;
      for (const [i, arm] of [...arms].entries()) {
        numbers.set(arm, (numbers.get(arm) ?? 0) + 1);
        if (arm !== arms[i - 1]) runs++;
      }
      const within = [...numbers.values()].reduce((sum, number) => sum + of(number), 0);
      return { name, has: runs === numbers.size, chance: of(numbers.size) + within - of(arms.length) };
    });
  return findings(
    rare(judged, strata),
    (lists) => `${lists} sorted by arm: who has seen a few knows those that come`,
    'sort it as it was made, or ask whoever made it',
  );
}

/** ABAB…, AABB…, or a half or a third that was pasted again: each entry is the one that stands a period before it. */
function repeating(strata: number, mixed: readonly Stratum[], surprise: number): Finding[] {
  const periods = new Set(mixed.flatMap(({ arms }) => shortestPeriod(arms) ?? []));
  const longest = mixed.reduce((most, { arms }) => Math.max(most, arms.length), 0);
  const asked: ((n: number) => number)[] = [
    ...[...periods].map((period) => () => period),
    (n) => n / 2,
    (n) => n / 3,
  ];
  const found = asked.flatMap((periodOf) => {
    const judged = mixed.flatMap(({ name, arms }): Judged | [] => {
      const n = arms.length;
      const period = periodOf(n);
      if (period >= n) return [];
      const chance = -(n - period) * surprise;
      const has = hasPeriod(arms, period);
      return { name, has, chance, alone: chance + Math.log(Math.max(1, Math.floor(n / 2))) };
    });
    return rare(judged, strata, Math.max(1, Math.floor(longest / 2))) ?? [];
  });
  const [first] = found;
  const all = first && {
    names: [...new Set(found.flatMap(({ names }) => names))],
    chance: Math.min(...found.map(({ chance }) => chance)),
  };
  return findings(
    all,
    (lists) =>
      `${lists} in a pattern that repeats (ABAB…, AABB…, or a part pasted again): who sees it knows those that come`,
    'ask whoever made it',
  );
}

function shortestPeriod(arms: string): number | undefined {
  for (let period = 2; period <= arms.length / 2; period++) if (hasPeriod(arms, period)) return period;
  return undefined;
}

function hasPeriod(arms: string, period: number): boolean {
  return Number.isInteger(period) && arms.slice(period) === arms.slice(0, arms.length - period);
}

/** m strata with the same first n entries: the other m − 1 follow the first, in one of the ways to choose m of them. */
function alike(
  strata: number,
  mixed: readonly Stratum[],
  surprise: number,
  logFactorials: Float64Array,
): Finding[] {
  const chanceOf = (m: number, n: number) => {
    const of = (k: number) => logFactorials[k] ?? 0;
    const choices = of(strata) - of(m) - of(strata - m);
    return choices + (m > 2 ? Math.log(strata) : 0) - (m - 1) * n * surprise;
  };
  const groups: { members: readonly Stratum[]; n: number; chance: number }[] = [];
  // Each group agrees in its first n entries. It grows longer, and then falls apart.
  const open = [{ members: mixed, n: 0 }];
  for (let group = open.pop(); group; group = open.pop()) {
    const { members } = group;
    if (members.length < 2) continue;
    let { n } = group;
    const next = () => members[0]?.arms[n];
    while (next() !== undefined && members.every(({ arms }) => arms[n] === next())) n++;
    const chance = chanceOf(members.length, n);
    if (chance < SELDOM) groups.push({ members, n, chance });
    const apart = new Map<string, Stratum[]>();
    for (const one of members) {
      const arm = one.arms[n];
      if (arm === undefined) continue;
      const same = apart.get(arm);
      if (same) same.push(one);
      else apart.set(arm, [one]);
    }
    for (const parted of apart.values()) open.push({ members: parted, n });
  }
  const told = new Set<Stratum>();
  return groups
    .sort((a, b) => a.chance - b.chance)
    .flatMap(({ members, n, chance }) => {
      if (members.some((one) => told.has(one))) return [];
      for (const one of members) told.add(one);
      return findings(
        { names: members.map(({ name }) => name), chance },
        (lists) => `${lists} in the same order, in the first ${n} entries: who knows one knows the others`,
        'was the same seed used for each, or one copied?',
      );
    });
}

/** An entry of a list, in the order of the list. The stratum is a name that other studies use, too. */
interface Row {
  readonly stratum: string;
  readonly arm: string;
}

/** So many rows that are the same, in the same order, are the same file saved anew: in blocks of 4, chance does it once in 128. */
const LEAST_SAME = 10;

/**
 * Those of the earlier lists that are this list: in each stratum the entries of one begin those of the other, and there are
 * enough of them. Bytes, columns and the order of the strata do not matter.
 */
export function sameLists<T extends { readonly rows: readonly Row[] }>(
  rows: readonly Row[],
  earlier: readonly T[],
): T[] {
  const arms = new Map<string, string>();
  for (const { stratum, arm } of rows) arms.set(stratum, (arms.get(stratum) ?? '') + arm);
  const surprise = surpriseOf(sharesOf([...arms].map(([name, own]) => ({ name, arms: own }))));
  return earlier.filter((list) => {
    const agreeing = agreementOf(arms, list.rows);
    return (
      Math.log(earlier.length) - agreeing * surprise < SELDOM ||
      (agreeing >= LEAST_SAME && beginsAlike(rows, list.rows))
    );
  });
}

/** How many entries both have, all with the same arm; 0 if one has another. */
function agreementOf(arms: ReadonlyMap<string, string>, rows: readonly Row[]): number {
  const places = new Map<string, number>();
  let agreeing = 0;
  for (const { stratum, arm } of rows) {
    const place = places.get(stratum) ?? 0;
    places.set(stratum, place + 1);
    const own = arms.get(stratum)?.[place];
    if (own === undefined) continue;
    if (own !== arm) return 0;
    agreeing++;
  }
  return agreeing;
}

function beginsAlike(some: readonly Row[], others: readonly Row[]): boolean {
  const [fewer, more] = some.length < others.length ? [some, others] : [others, some];
  return fewer.every(({ stratum, arm }, i) => more[i]?.stratum === stratum && more[i].arm === arm);
}

/** What a sequence is called, and what is counted without being one. */
const SEQUENCE_NAME =
  /^#?$|(^|[^a-z])(seq|sequence|order|row|rownames|number|num|nr|no|id|index|rank|n)([^a-z]|$)/i;
const OTHER_NAME =
  /block|size|strat|site|cent(er|re)|group|arm|trea?t|kit|pack|medic|drug|bottle|code|seed|visit/i;

interface Cell {
  readonly stratum: string;
  readonly cell: string;
}

/** What is wrong with a column that numbers the entries; undefined if nothing is, or it numbers something else. */
export function sequenceProblem(name: string, cells: readonly Cell[]): string | undefined {
  if (OTHER_NAME.test(name)) return undefined;
  const strata = new Map<string, number[]>();
  for (const { stratum, cell } of cells) {
    const number = numberAtEnd(cell);
    if (number === undefined) return undefined;
    const own = strata.get(stratum);
    if (own) own.push(number);
    else strata.set(stratum, [number]);
  }
  const parts = [...strata.values()].map(spanOf);
  const all = [...strata.values()].flat();
  const whole = spanOf(all);
  const distinct = parts.reduce((sum, part) => sum + part.distinct, 0);
  const span = parts.reduce((sum, part) => sum + part.most - part.least + 1, 0);
  const isDense = Math.min(span / distinct, (whole.most - whole.least + 1) / whole.distinct) <= 2;
  const isCalledSo = SEQUENCE_NAME.test(name) && distinct >= cells.length / 2;
  if (!isCalledSo && (!isDense || distinct < 0.9 * cells.length)) return undefined;
  // Each stratum may have numbers of its own, or several share them: then no number is there more often than a smaller one.
  const times = new Map<number, number>();
  for (const number of all.sort((a, b) => a - b)) times.set(number, (times.get(number) ?? 0) + 1);
  const areFewer = [...times.values()].every((n, i, before) => n <= (before[i - 1] ?? n));
  const beginsAnew = parts.length > 1 && (areFewer || parts.every(({ least }) => least === whole.least));
  if (distinct < cells.length || (!beginsAnew && new Set(cells.map(({ cell }) => cell)).size < cells.length))
    return 'has numbers twice';
  const ascends = [...strata.values()].every((own) => own.every((n, i) => i === 0 || n > (own[i - 1] ?? 0)));
  // Numbers far apart may be drawn at random.
  return ascends || !(isDense || /seq|order/i.test(name)) ? undefined : 'does not ascend';
}

const LONGEST_NUMBER = 100;

/** `12`, `12.0`, `S12`, `11-012` are 12; `1.5` and dates are none. */
function numberAtEnd(cell: string): number | undefined {
  if (cell.length > LONGEST_NUMBER) return undefined;
  const [, whole, last] = /^\s*(?:(\d+)(?:\.0+)?|\D*(?:\d+[^\d.]+)?(\d+))\s*$/.exec(cell) ?? [];
  const digits = whole ?? last;
  return digits === undefined ? undefined : Number(digits);
}

function spanOf(numbers: readonly number[]) {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const number of numbers) {
    least = Math.min(least, number);
    most = Math.max(most, number);
  }
  return { least, most, distinct: new Set(numbers).size };
}

function findings(found: Rare | undefined, told: (lists: string) => string, hint: string): Finding[] {
  if (!found) return [];
  const { names, chance } = found;
  return [
    {
      text: `${told(listNames(names))}; an honest list of this size does that ${onceIn(chance)} (hint: ${hint})`,
      needsYes: chance < ALMOST_NEVER,
    },
  ];
}

const SHOWN = 20;

export function someNames(names: readonly string[]): string {
  const between = names.some((name) => name.includes(',')) ? '; ' : ', ';
  const shown = names.slice(0, SHOWN).join(between);
  return names.length > SHOWN ? `${shown} and ${names.length - SHOWN} more` : shown;
}

function listNames(names: readonly string[]): string {
  return `${plural(names.length, 'the list', 'the lists')} for ${someNames(names)} ${plural(names.length, 'is', 'are')}`;
}

/** @param chance its logarithm */
function onceIn(chance: number): string {
  const times = Math.exp(-chance);
  if (times > 1e9) return 'less than once in 1,000,000,000';
  return `about once in ${Number(times.toPrecision(2)).toLocaleString('en')}`;
}
