/**
 * Packs of medication: which are free, which one a participant gets, and why a pack cannot be replaced or withdrawn. The
 * choice uses no random number of the study. Anybody who sees the lists can repeat it, and it reveals nothing to anybody
 * who does not.
 */
import { hash } from 'node:crypto';
import type { StudyFact } from '../../events/catalogue.ts';
import type { VoidCause } from '../../events/corrections.ts';
import type { Level } from '../../events/study.ts';
import { askedLevel, type Design, levelNow } from '../../projections/design.ts';
import { counted } from '../base/counted.ts';
import { impossible, type ReplaceCode, type StudyOutcome } from './commands.ts';
import type { ForkableMap } from './forkable-map.ts';
import type { FreePacks } from './free-packs.ts';
import type { Allocated, Life } from './life.ts';

type Data<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>['data'];

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

/** What is known about the packs of a study. */
export interface Packs extends Pick<Life, 'given' | 'design'> {
  /** All packs that were ever registered, by code. */
  readonly packs: ForkableMap<string, Pack>;
  /** Codes that must not be given out. */
  readonly withdrawn: ForkableMap<string, true>;
  readonly free: FreePacks;
}

type Stock = Pick<Packs, 'free' | 'design'>;

/** In bytes. */
const LONGEST_CODE = 64;

/** How often a participant's pack can be replaced without somebody who sees which treatment packs hold. */
const REPLACEMENTS = 3;

export function isFree({ given, withdrawn }: Pick<Packs, 'given' | 'withdrawn'>, code: string): boolean {
  return given.get(code) === undefined && withdrawn.get(code) === undefined;
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

/**
 * Whether one of these arms has fewer free packs than needed for a participant with these levels. It counts the packs of
 * every arm, so that the time it takes does not tell which one has too few.
 */
export function lacksPacks(
  { free, design }: Stock,
  levels: readonly string[],
  arms: readonly string[],
  needed = 1,
): boolean {
  const numbers = new Map<string, number>();
  for (const { treatment } of free.for(levels, design))
    numbers.set(treatment, (numbers.get(treatment) ?? 0) + 1);
  return Math.min(...arms.map((arm) => numbers.get(arm) ?? 0)) < needed;
}

/**
 * The free pack of the arm that a participant gets; undefined if there is none. Packs are given out in the order of
 * SHA-256(key, 0, id, 0, code).
 *
 * The packs of every arm are hashed and compared, whatever the arm is: otherwise the time of an answer would tell the arm of
 * a participant to everybody who knows that one arm has more packs than another. A replay has nobody to hide it from.
 * @param id as randomized
 */
export function packFor(
  { free, design }: Stock,
  levels: readonly string[],
  treatment: string,
  id: string,
  isReplay = false,
): string | undefined {
  const packs = free.for(levels, design);
  const hashed = isReplay ? packs.filter((pack) => pack.treatment === treatment) : packs;
  return leastOfEachArm(hashed, id).get(treatment)?.code;
}

/** Of each arm, the pack with the smallest hash. */
function leastOfEachArm(packs: readonly Pack[], id: string): ReadonlyMap<string, { code: string }> {
  const least = new Map<string, { readonly code: string; readonly order: string }>();
  const orderOf = ordering(id);
  for (const pack of packs) {
    const order = orderOf(pack);
    const first = least.get(pack.treatment);
    // In hex, texts compare like bytes.
    if (!first || order < first.order) least.set(pack.treatment, { code: pack.code, order });
  }
  return least;
}

/** Writes what is hashed into the same bytes for each pack, which is twice as fast as joining them anew. */
function ordering(id: string): (pack: Pack) => string {
  const middle = Buffer.from(`\0${id}\0`);
  let bytes = Buffer.alloc(0);
  let key: Buffer | undefined;
  return ({ keyBytes, codeBytes }) => {
    const from = keyBytes.length + middle.length;
    const length = from + codeBytes.length;
    if (keyBytes !== key || bytes.length < length) {
      bytes = Buffer.concat([keyBytes, middle], from + Math.max(codeBytes.length, LONGEST_CODE));
      key = keyBytes;
    }
    bytes.set(codeBytes, from);
    return hash('sha256', bytes.subarray(0, length));
  };
}

/** The most codes that one record may hold. */
export const MAX_CODES = 4000;

/** Why the list is not possible, as far as the clear part shows; undefined if it is possible. */
export function listProblem(
  { design, lists }: Pick<Life, 'design' | 'lists'>,
  { count, list, where }: Data<'CodesRegistered'>,
): StudyOutcome | undefined {
  if (list !== lists + 1)
    return { type: 'stale', why: `the next list is number ${lists + 1}`, field: 'list' };
  if (count > MAX_CODES) return impossible('count', `a list has at most ${MAX_CODES} codes`);
  if (!where) return undefined;
  const factor = design.factors.find(({ name }) => name === where.factor);
  if (!factor) return impossible('where.factor', 'the study has no such factor');
  if (factor.isRetired) return impossible('where.factor', 'the factor is retired');
  if (factor.levels.includes(where.level)) return undefined;
  const now = askedLevel(factor, where.level);
  const hint = now === undefined ? '' : ` (hint: it is called ${JSON.stringify(now)} now)`;
  return impossible('where.level', `the factor has no such level${hint}`);
}

/** Of participants who get no more packs. */
const NO_PATIENTS: ReadonlySet<VoidCause> = new Set(['duplicate', 'never-enrolled', 'entry']);

/** Why the pack cannot be replaced, as far as the clear part shows; undefined if it can. */
export function replacementProblem(
  { pack, corrected }: Allocated,
  { code, isSupply, isRecorded, mayRead }: Pick<ReplaceCode, 'code' | 'isSupply' | 'isRecorded' | 'mayRead'>,
): StudyOutcome | undefined {
  if (!pack) return { type: 'stale', why: 'the participant has no pack', field: 'code' };
  if (pack.code !== code) {
    const now = mayRead ? `the pack ${pack.code} now` : 'another pack now';
    return { type: 'stale', why: `the participant has ${now}`, field: 'code' };
  }
  const cause = corrected?.voided?.cause;
  if (!isRecorded && cause && NO_PATIENTS.has(cause)) {
    const why = `the participant is voided${mayRead ? ` (${cause})` : ''} and gets no packs`;
    return { type: 'stale', why, field: 'participantId' };
  }
  return !isSupply && pack.replacements >= REPLACEMENTS
    ? impossible(
        'code',
        `the packs of this participant were replaced ${counted(pack.replacements, 'time')} (hint: ask for a key with the scope supply)`,
      )
    : undefined;
}

/** Why this pack cannot be the replacement, as far as the clear part shows. */
export function replacingProblem(
  { given }: Pick<Life, 'given'>,
  { by }: Data<'CodeReplaced'>,
): StudyOutcome | undefined {
  return given.get(by) === undefined ? undefined : impossible('by', 'this pack was given out before');
}
