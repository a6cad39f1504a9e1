/** What the routes that write an event about one participant share. */
import { ERRORS } from './operation.ts';
import { mayKnowOf, type StudyRequest } from './study-request.ts';

/** For the OpenAPI document. */
export const NOT_FOUND = `${ERRORS[404]}. Or there is no such participant, or the key is limited to other participants`;

/** The participant's record as it is now and as the key's scopes show it, without generator states. */
export function recordFor(request: StudyRequest, id: string): string {
  const { participants, view, accepted } = request;
  const participant = participants.find(id);
  const scopes = accepted.key.scopes.filter((scope) => scope === 'read' || scope === 'blinded');
  const isShown = participant && scopes.length > 0 && mayKnowOf(request, participant);
  return isShown ? view().records([participant], scopes) : '[]';
}
