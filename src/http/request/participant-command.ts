/** Answers shared by all routes that write an event about one participant. */
import type { StudyOutcome } from '../../study/commands.ts';
import { ERRORS } from './operation.ts';
import { impossibleReply, limitedTo, noCodeReply, reusedReply } from './refused-reply.ts';
import { mayKnowOf, type StudyReply, type StudyRequest } from './study-request.ts';

const NO_PARTICIPANT = 'There is no such participant';

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

/** The answer when a command about a participant was refused; undefined if it was not. */
export function participantProblem(outcome: StudyOutcome, revision: number): StudyReply | undefined {
  switch (outcome.type) {
    case 'no-such-participant':
      return { status: 404, message: NO_PARTICIPANT, results: '[]', revision };
    case 'outside-limits':
      return {
        status: 403,
        message: `${limitedTo([outcome.limit])} (hint: the cause of a move to another site is transfer)`,
        results: '[]',
        revision,
      };
    case 'stale':
      return {
        status: 409,
        message: `Nothing was recorded: ${outcome.why}`,
        results: '[]',
        revision,
        refused: 'stale',
      };
    case 'refused':
      return {
        status: 409,
        message: 'A history is being imported into the study, and nobody is corrected until it is in',
        results: '[]',
        revision,
        refused: 'importing',
      };
    case 'amended-meanwhile':
      return {
        status: 409,
        message: 'The study was amended at this moment (send the request again)',
        results: '[]',
        revision,
        refused: 'stale',
      };
    case 'no-code':
      return noCodeReply(revision);
    case 'impossible':
      return impossibleReply(outcome, revision, '[]');
    case 'idempotency-key-reused':
      return reusedReply(revision);
    default:
      return undefined;
  }
}
