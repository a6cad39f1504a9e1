/** Generator states in the records of participants: who sees them, and what is recorded of it. */
import type { Scope } from '../../../events/access.ts';
import type { Participant } from '../../../projections/participants.ts';
import { BG_STATE } from './parameters.ts';
import type { KeyRequest, StudyReply } from './study-request.ts';

/**
 * The scopes for which records are rendered: those of the key, without `audit` when its states are not wanted. What is
 * wrong with the parameter is added to the problems.
 */
export function scopesShown({ query, accepted }: KeyRequest, problems: string[]): readonly Scope[] {
  const { scopes } = accepted.key;
  const wish = query.get(BG_STATE);
  if (wish === undefined) return scopes;
  if (wish !== 'omit') problems.push(`${BG_STATE} takes omit, and nothing else`);
  return scopes.filter((scope) => scope !== 'audit');
}

/** With the scope `audit`, each record shows a state of the generator. */
export function statesIn(
  shown: readonly Participant[],
  scopes: readonly Scope[],
  toRevision: number,
): StudyReply['discloses'] {
  const [one] = shown;
  if (!scopes.includes('audit') || !one) return undefined;
  const participant = shown.length === 1 ? { participant: one.participantId } : {};
  return { what: 'generator-states', toRevision, ...participant };
}
