/** Generator states in participants' records: who sees them, and what is recorded when they are shown. */
import type { Scope } from '../../../../events/access.ts';
import type { Participant } from '../../../core/model/participants.ts';
import { BG_STATE } from './parameters.ts';
import type { StudyReply, StudyRequest } from './study-request.ts';

/**
 * The scopes for which records are rendered: those of the key, without `audit` when the request wants no states, or
 * when the study follows a list, which moves no generator. Any problem with the parameter is added to `problems`.
 */
export function scopesShown({ query, accepted, design }: StudyRequest, problems: string[]): readonly Scope[] {
  const { scopes } = accepted.key;
  const value = query.get(BG_STATE);
  if (value !== undefined && value !== 'omit') problems.push(`${BG_STATE} must be omit`);
  const hasStates = value === undefined && design().method.name !== 'list';
  return hasStates ? scopes : scopes.filter((scope) => scope !== 'audit');
}

/** The disclosure to record: with the scope `audit`, each record shows a state of the generator. */
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
