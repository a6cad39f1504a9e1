/**
 * Packs of medication: which are free, which one a participant gets, and why a pack cannot be replaced or withdrawn. The
 * choice uses no random number of the study. Anybody who sees the lists can repeat it, and it reveals nothing to anybody
 * who does not.
 */
import { hash } from 'node:crypto';
import type { StudyFact } from '../../events/catalogue.ts';
import type { Level } from '../../events/study.ts';
import { askedLevel, type Design, levelNow } from '../../projections/design.ts';
import { currentLevels } from '../../projections/enrolled.ts';
import { impossible, type StudyOutcome } from './commands.ts';
import type { ForkableMap } from './forkable-map.ts';
import type { Allocated, Life } from './life.ts';

type Data<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>['data'];

/** A pack on a list. */
export interface Pack {
  readonly code: string;
  readonly treatment: string;
  /** Only participants with this level get it. The level has the name of that time. */
  readonly where?: Level | undefined;
  /** The key of its list, in hex. */
  readonly key: string;
}

/** What is known about the packs of a study. */
export interface Packs extends Pick<Life, 'given' | 'design'> {
  /** All packs that were ever registered, by code. */
  readonly packs: ForkableMap<string, Pack>;
  /** Codes that must not be given out. */
  readonly withdrawn: ForkableMap<string, true>;
}

/** How often a participant's pack can be replaced without somebody who sees which treatment packs hold. */
const REPLACEMENTS = 3;

export function isFree({ given, withdrawn }: Omit<Packs, 'packs' | 'design'>, code: string): boolean {
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

/** The packs that a participant with these levels can get, by treatment. */
export function freePacks(state: Packs, levels: readonly string[]): ReadonlyMap<string, readonly Pack[]> {
  const free = new Map<string, Pack[]>();
  for (const [code, pack] of state.packs.entries()) {
    if (!isFree(state, code) || !isFor(pack, state.design, levels)) continue;
    const same = free.get(pack.treatment);
    if (same) same.push(pack);
    else free.set(pack.treatment, [pack]);
  }
  return free;
}

/** The pack that the participant gets, among those of one treatment; undefined if there is none. @param id as randomized */
export function packFor(packs: readonly Pack[] = [], id: string): Pack | undefined {
  let [first] = packs;
  let least = first && orderOf(first, id);
  for (const pack of packs) {
    const order = orderOf(pack, id);
    if (least !== undefined && order < least) [first, least] = [pack, order];
  }
  return first;
}

/** Packs are given out in the order of SHA-256(key, 0, id, 0, code). In hex, texts compare like bytes. */
function orderOf({ key, code }: Pack, id: string): string {
  return hash('sha256', Buffer.concat([Buffer.from(key, 'hex'), Buffer.from(`\0${id}\0${code}`)]));
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

/** Why the pack cannot be replaced, as far as the clear part shows; undefined if it can. */
export function replacementProblem(
  { pack }: Allocated,
  { code, isSupply }: { readonly code: string; readonly isSupply: boolean },
): StudyOutcome | undefined {
  if (!pack) return { type: 'stale', why: 'the participant has no pack', field: 'code' };
  if (pack.code !== code)
    return { type: 'stale', why: `the participant has the pack ${pack.code} now`, field: 'code' };
  return !isSupply && pack.replacements >= REPLACEMENTS
    ? impossible(
        'code',
        `the packs of this participant were replaced ${pack.replacements} times (hint: ask for a key with the scope supply)`,
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

/**
 * The pack that a participant gets instead of theirs; undefined if there is none, or if somebody who may not know it could
 * find out that a treatment has none left.
 */
export function replacementFor(state: Packs, participant: Allocated, isSupply: boolean): string | undefined {
  const { treatments } = state.design;
  const free = freePacks(state, currentLevels(participant));
  if (!isSupply && treatments.some((treatment) => !free.has(treatment))) return undefined;
  return packFor(free.get(participant.pack?.treatment ?? ''), participant.participantId)?.code;
}
