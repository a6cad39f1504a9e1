/** Checks that what a key is limited to exists: a key that is limited to something misspelt is useless. */
import type { LevelLimit } from '../../../events/access.ts';
import type { ApiKey } from '../../../projections/access.ts';
import { quote } from '../../base/text.ts';
import { nearestTo } from '../../base/wording.ts';
import { type Design, levelNow, openLevels } from '../model/design.ts';
import type { Grant } from './keys.ts';

type KeyLimits = Pick<Grant, 'studies' | 'where'>;
type Study = Pick<Design, 'name' | 'factors' | 'blinding'>;

interface LimitFindings {
  /** Why the key would be useless. */
  readonly problems: readonly string[];
  /** What may be intentional. */
  readonly warnings: readonly string[];
}

/** @param registered all registered studies; limits to other studies cannot be checked yet */
export function compareLimits({ studies, where }: KeyLimits, registered: readonly Study[]): LimitFindings {
  const names = registered.map(({ name }) => name);
  const unregistered = (studies ?? [])
    .filter((name) => !names.includes(name))
    .map(
      (name) =>
        `no study ${quote(name)} is registered yet${didYouMean(name, names)}; the key is limited to that name anyway`,
    );
  if (!where) return { problems: [], warnings: unregistered };
  const seen = registered.filter(({ name }) => studies?.includes(name) ?? true);
  if (seen.length === 0) {
    const unchecked = 'none of its studies is registered yet, so --where was not checked';
    return { problems: [], warnings: [...unregistered, unchecked] };
  }
  const problems = limitProblems(where, seen);
  const outOfReach = studies && problems.length === 0 ? seen.flatMap((study) => lacking(study, where)) : [];
  return { problems, warnings: [...unregistered, ...outOfReach] };
}

/** The blinded studies in which a key shows the arms to anyone who randomizes with it. */
export function unblindedBy(
  { scopes, studies }: Pick<Grant, 'scopes' | 'studies'>,
  registered: readonly Study[],
): string[] {
  if (!scopes.includes('read') || !scopes.includes('randomize')) return [];
  return registered
    .filter(({ name, blinding }) => blinding === 'blinded' && (studies?.includes(name) ?? true))
    .map(({ name }) => name);
}

export interface KeyLeftBehind {
  readonly keyId: string;
  readonly user: string;
  /** The limit that nobody new can have. */
  readonly limit: LevelLimit;
}

/** The keys that can enrol nobody once the design has changed: their levels are closed, or no longer asked for. */
export function keysLeftBehind(
  keys: readonly ApiKey[],
  before: Design,
  after: Design,
  now: string,
): KeyLeftBehind[] {
  return keys.flatMap(({ keyId, user, scopes, studies, where = [], expiresAt, revoked }) => {
    const isOver = revoked !== undefined || (expiresAt !== undefined && expiresAt <= now);
    const enters = scopes.includes('randomize') || scopes.includes('force');
    if (isOver || !enters || studies?.includes(before.name) === false) return [];
    if (!where.every((limit) => isEnterable(limit, before))) return [];
    const limit = where.find((one) => !isEnterable(one, after));
    return limit ? [{ keyId, user, limit }] : [];
  });
}

/** Whether a new participant can have one of the levels. */
function isEnterable({ factor: name, levels }: LevelLimit, { factors }: Design): boolean {
  const factor = factors.find((one) => one.name === name);
  if (!factor || factor.isRetired) return false;
  const open = openLevels(factor);
  return levels.some((level) => open.includes(levelNow(factor, level)));
}

function limitProblems(where: readonly LevelLimit[], studies: readonly Study[]): string[] {
  const factors = studies.flatMap((study) => study.factors);
  const problems = where.flatMap(({ factor, levels }) => {
    const found = factors.filter(({ name }) => name === factor);
    const known = found.flatMap((one) => one.levels);
    if (known.length === 0) {
      const names = factors.map(({ name }) => name);
      return [`no study has a factor ${quote(factor)}${didYouMean(factor, names) || choicesHint(names)}`];
    }
    return levels
      .filter((level) => !known.includes(level))
      .map(
        (level) =>
          `factor ${quote(factor)} has no level ${quote(level)}${calledNow(level, found) || didYouMean(level, known) || choicesHint(known)}`,
      );
  });
  if (problems.length > 0 || studies.some((study) => where.every((limit) => hasLevelWithin(study, limit))))
    return problems;
  return [`no single study has ${where.map(({ factor }) => quote(factor)).join(' and ')} with these levels`];
}

function hasLevelWithin({ factors }: Study, { factor, levels }: LevelLimit): boolean {
  const known = factors.find(({ name }) => name === factor);
  return known?.levels.some((level) => levels.includes(level)) ?? false;
}

function lacking({ name, factors }: Study, where: readonly LevelLimit[]): string[] {
  return where
    .filter(({ factor }) => !factors.some((known) => known.name === factor))
    .map(({ factor }) => `study ${quote(name)} has no factor ${quote(factor)}, so the key does not reach it`);
}

/** For a level that was renamed. */
function calledNow(level: string, factors: Design['factors']): string {
  const now = factors.map((factor) => levelNow(factor, level)).find((name) => name !== level);
  return now === undefined ? '' : ` (hint: it is called ${quote(now)} now)`;
}

function didYouMean(given: string, choices: readonly string[]): string {
  const nearest = nearestTo(given, choices);
  return nearest === undefined ? '' : ` (hint: did you mean ${quote(nearest)}?)`;
}

/** Choices that a message lists. */
const LISTED = 20;

function choicesHint(choices: readonly string[]): string {
  const different = [...new Set(choices)];
  const more = different.length - LISTED;
  const shown = different.slice(0, LISTED).map(quote).join(', ');
  return ` (hint: choose from ${shown}${more > 0 ? ` and ${more} more` : ''})`;
}
