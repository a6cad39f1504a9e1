/** Requests that were answered before, by their idempotency keys. */
import { hash } from 'node:crypto';
import type { StudyFact } from '../../../events/catalogue.ts';
import { canonicalJson } from '../../../events/record.ts';
import { type Design, levelNow } from '../../../projections/design.ts';
import type { Repeatable } from './command-parts.ts';
import type { Model } from './model.ts';
import type { Members, StudyOutcome } from './outcomes.ts';

/**
 * What makes two requests the same, as a digest, which is shorter than a note.
 * @param asked an undefined member is left out
 */
export function digestOf(type: StudyFact['type'], asked: Members): string {
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  return hash('sha256', canonicalJson([type, Object.fromEntries(given)]));
}

/** The place of a level in its factor, which no amendment changes; -1 if there is none. */
export function placeOf(factor: string, level: string, { factors }: Pick<Design, 'factors'>): number {
  const known = factors.find(({ name }) => name === factor);
  return known?.levels.indexOf(levelNow(known, level)) ?? -1;
}

export function requestKey(user: string, idempotencyKey: string): string {
  return JSON.stringify([user, idempotencyKey]);
}

/** What the idempotency key was used for before; undefined if it was not. */
export function answeredBefore({ requests }: Pick<Model, 'requests'>, { user, idempotencyKey }: Repeatable) {
  return idempotencyKey === undefined ? undefined : requests.get(requestKey(user, idempotencyKey));
}

/** The answer to a request whose idempotency key was used before. @param digest of what is asked for now */
export function repeated(
  model: Pick<Model, 'requests'>,
  by: Repeatable,
  digest: () => string,
): StudyOutcome | undefined {
  const earlier = answeredBefore(model, by);
  if (!earlier) return undefined;
  return earlier.content === digest()
    ? { type: 'done-before', revision: earlier.revision, data: earlier.data ?? {} }
    : { type: 'idempotency-key-reused' };
}

/** The section of a fact that holds the idempotency key of its request. */
export function requestSection({ idempotencyKey }: Repeatable) {
  return idempotencyKey === undefined ? {} : { request: { idempotencyKey } };
}
