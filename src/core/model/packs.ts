/**
 * Packs of medication: which are free, which one a participant gets, whether a participant may get a pack, and what a list of
 * packs may hold. The choice uses no random number of the study. Anybody who sees the lists can repeat it, and it reveals
 * nothing to anybody who does not.
 *
 * What a request waits for takes as long for one arm as for another: otherwise the time of an answer would tell the arm.
 */
import { hash } from 'node:crypto';
import type { StudyFact } from '../../../events/catalogue.ts';
import type { Level } from '../../../events/study.ts';
import type { Occasion } from '../write/decider.ts';
import { askedLevel, type Design, levelNow } from './design.ts';
import type { ForkableMap } from './forkable-map.ts';
import { impossible, type StudyOutcome } from './outcomes.ts';

/** What the model of a study knows of its packs. */
export interface PackInventory {
  /** How many lists of packs there are. */
  lists: number;
  /** All packs that were ever registered, by code. */
  readonly packs: ForkableMap<string, Pack>;
  /** For every pack that was ever given out, by its code: the id, as randomized, of the participant; or `NOBODY`. */
  readonly given: ForkableMap<string, string>;
  /** Codes that must not be given out. */
  readonly withdrawn: ForkableMap<string, true>;
  readonly free: FreePacks;
}

/** Used in place of an id. */
export const NOBODY = '';

/** A pack on a list. */
export interface Pack {
  readonly code: string;
  readonly treatment: string;
  /** Only participants with this level get it. The level has the name of that time. */
  readonly where?: Level | undefined;
  /** What is hashed to choose among packs: the key of its list, the same object for all of them, and the code. */
  readonly keyBytes: Buffer;
  readonly codeBytes: Buffer;
}

/** Whether nobody was ever given the pack, and it is not withdrawn. */
export function isFree(
  { given, withdrawn }: Pick<PackInventory, 'given' | 'withdrawn'>,
  code: string,
): boolean {
  return given.get(code) === undefined && withdrawn.get(code) === undefined;
}

/** The id, as randomized, of the participant who has or had the pack. */
export function idByPack({ given }: Pick<PackInventory, 'given'>, code: string): string | undefined {
  return given.get(code) || undefined;
}

type Factors = Pick<Design, 'factors'>;

/** What a pack is chosen from. */
type FreeStock = Pick<PackInventory, 'free'> & { readonly design: Factors };

/**
 * The free pack of the arm that a participant gets; undefined if there is none. Packs are given out in the order of
 * SHA-256(key, 0, id, 0, code).
 *
 * The packs of every arm are hashed and compared, whatever the arm is: otherwise the time of an answer would tell the arm of
 * a participant to everybody who knows that one arm has more packs than another. A replay has nobody to hide it from.
 * @param id as randomized
 */
export function packFor(
  { free, design }: FreeStock,
  levels: readonly string[],
  treatment: string,
  id: string,
  mode: Occasion['mode'],
): string | undefined {
  const packs = free.for(levels, design);
  const hashed = mode === 'replay' ? packs.filter((pack) => pack.treatment === treatment) : packs;
  return leastOfEachArm(hashed, id).get(treatment)?.code;
}

/** Of each arm, the pack with the smallest hash. */
function leastOfEachArm(packs: readonly Pack[], id: string): ReadonlyMap<string, { code: string }> {
  const least = new Map<string, { readonly code: string; readonly order: string }>();
  const orderOf = orderingFor(id);
  for (const pack of packs) {
    const order = orderOf(pack);
    const first = least.get(pack.treatment);
    // In hex, texts compare like bytes.
    if (!first || order < first.order) least.set(pack.treatment, { code: pack.code, order });
  }
  return least;
}

/** In bytes. */
const LONGEST_CODE_BYTES = 64;

/** Writes what is hashed into the same bytes for each pack, which is twice as fast as joining them anew. */
function orderingFor(id: string): (pack: Pack) => string {
  const middle = Buffer.from(`\0${id}\0`);
  let bytes = Buffer.alloc(0);
  let key: Buffer | undefined;
  return ({ keyBytes, codeBytes }) => {
    const from = keyBytes.length + middle.length;
    const length = from + codeBytes.length;
    if (keyBytes !== key || bytes.length < length) {
      bytes = Buffer.concat([keyBytes, middle], from + Math.max(codeBytes.length, LONGEST_CODE_BYTES));
      key = keyBytes;
    }
    bytes.set(codeBytes, from);
    return hash('sha256', bytes.subarray(0, length));
  };
}

/**
 * Whether one of these arms has fewer free packs than needed for a participant with these levels. It counts the packs of
 * every arm, so that the time it takes does not tell which one has too few.
 */
export function lacksPacks(
  { free, design }: FreeStock,
  levels: readonly string[],
  arms: readonly string[],
  needed = 1,
): boolean {
  const numbers = new Map<string, number>();
  for (const { treatment } of free.for(levels, design))
    numbers.set(treatment, (numbers.get(treatment) ?? 0) + 1);
  return Math.min(...arms.map((arm) => numbers.get(arm) ?? 0)) < needed;
}

/** Whether a participant with these levels may get the pack. */
export function isFor(
  { where }: Pack,
  { factors }: Pick<Design, 'factors'>,
  levels: readonly string[],
): boolean {
  if (!where) return true;
  const index = factors.findIndex(({ name }) => name === where.factor);
  const factor = factors[index];
  return factor !== undefined && levelNow(factor, where.level) === levels[index];
}

/** Adds the packs of a list. */
export function addPacks(
  { packs, free, design, given, withdrawn }: Omit<PackInventory, 'lists'> & { readonly design: Factors },
  where: Pack['where'],
  { key, entries }: { readonly key: string; readonly entries: readonly Pick<Pack, 'code' | 'treatment'>[] },
): void {
  const keyBytes = Buffer.from(key, 'hex');
  const added = entries.map(({ code, treatment }) => {
    return { code, treatment, where, keyBytes, codeBytes: Buffer.from(code) };
  });
  for (const pack of added) packs.set(pack.code, pack);
  const unused = added.filter(({ code }) => isFree({ given, withdrawn }, code));
  free.add(unused, where, design);
}

/** Takes a pack from those that are free. No pack is ever free again. */
export function takePack(
  { packs, free, design }: FreeStock & Pick<PackInventory, 'packs'>,
  code: string,
): void {
  const pack = packs.get(code);
  if (pack) free.take(pack, design);
}

/**
 * The packs that nobody has, kept by the level they are for, so that no decision looks through every pack ever registered. It
 * is forked by copying the lists' places. The lists themselves are never changed.
 */
export class FreePacks {
  readonly #lists: Map<string, readonly Pack[]>;

  constructor(lists: Iterable<readonly [string, readonly Pack[]]> = []) {
    this.#lists = new Map(lists);
  }

  /** @param where of all of them */
  add(packs: readonly Pack[], where: Pack['where'], design: Factors): void {
    const place = placeOfLevel(where, design);
    this.#lists.set(place, [...(this.#lists.get(place) ?? []), ...packs]);
  }

  /** Takes the same time whichever arm the pack is of, and wherever it stands on its list. */
  take(pack: Pack, design: Factors): void {
    const place = placeOfLevel(pack.where, design);
    const left = this.#lists.get(place)?.filter((one) => one !== pack);
    if (left) this.#lists.set(place, left);
  }

  /** Those that a participant with these levels can get, of every arm. */
  for(levels: readonly string[], { factors }: Factors): readonly Pack[] {
    const places = levels.map((level, i) => placeInDesign(i, factors[i]?.levels.indexOf(level)));
    const [first = [], ...others] = [FOR_ALL, ...places].flatMap((place) => {
      const list = place === FOR_NOBODY ? [] : (this.#lists.get(place) ?? []);
      return list.length > 0 ? [list] : [];
    });
    return others.length === 0 ? first : first.concat(...others);
  }

  fork(): FreePacks {
    return new FreePacks(this.#lists);
  }
}

/** The place of the packs for all participants. */
const FOR_ALL = '';
/** Of packs for a level that the study does not have. */
const FOR_NOBODY = 'nowhere';

/** Where the packs of a level are kept. A level keeps its index when it is renamed. */
function placeOfLevel(where: Pack['where'], { factors }: Factors): string {
  if (!where) return FOR_ALL;
  const index = factors.findIndex(({ name }) => name === where.factor);
  const factor = factors[index];
  return placeInDesign(index, factor?.levels.indexOf(levelNow(factor, where.level)));
}

function placeInDesign(factor: number, level = -1): string {
  return level < 0 ? FOR_NOBODY : `${factor}.${level}`;
}

/** How much one record of a list may hold, of packs or of allocations. A longer file makes several lists. */
export const MAX_ENTRIES = 4000;
/** The same, of the entries as JSON in UTF-8. */
export const MAX_ENTRY_BYTES = 200_000;

type RegisteredList = Extract<StudyFact, { type: 'CodesRegistered' }>['data'];

/** Why the list is not possible, as far as the clear part shows; undefined if it is possible. */
export function listProblem(
  { design, lists }: Pick<PackInventory, 'lists'> & { readonly design: Factors },
  { count, list, where }: RegisteredList,
): StudyOutcome | undefined {
  if (list !== lists + 1)
    return { type: 'stale', why: `the next list is number ${lists + 1}`, field: 'list' };
  if (count > MAX_ENTRIES) return impossible('count', `a list has at most ${MAX_ENTRIES} codes`);
  if (!where) return undefined;
  const factor = design.factors.find(({ name }) => name === where.factor);
  if (!factor) return impossible('where.factor', 'the study has no such factor');
  if (factor.isRetired) return impossible('where.factor', 'the factor is retired');
  if (factor.levels.includes(where.level)) return undefined;
  const now = askedLevel(factor, where.level);
  const hint = now === undefined ? '' : ` (hint: it is called ${JSON.stringify(now)} now)`;
  return impossible('where.level', `the factor has no such level${hint}`);
}
