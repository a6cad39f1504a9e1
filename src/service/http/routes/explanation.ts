/** GET /explanation: why a participant got this arm. The answer reveals arms and generator states, so it needs `audit`. */
import { toJson } from '../../../base/json.ts';
import { ParticipantId } from '../../../core/model/members.ts';
import { participantEvents, studyState } from '../../../core/study/fold.ts';
import { explain, whyUndrawn } from '../../../evidence/explain/explain.ts';
import { Explanation } from '../../../evidence/explain/explanation.ts';
import { ERRORS, idParameter, MIN_REVISION, operation, ref, STUDY } from '../request/openapi-operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { checked, SUCCESS } from '../request/reply.ts';
import { mayKnowOf, type Services, studyHandler } from '../request/study-request.ts';

const PARAMETERS = new Set(['api_key', 'study', 'id']);

export const explanationOperation = operation(
  'Explain why a participant got this arm',
  'explanation',
  ['audit'],
  {
    parameters: [STUDY, idParameter(true), MIN_REVISION],
    result: ref('Explanation'),
    empty: [],
    errors: {
      ...ERRORS,
      404: `${ERRORS[404]}, or the study has no such participant within the limits of the key`,
      422: 'The service drew nothing: the participant was imported, or allocated outside the service and entered by hand',
    },
  },
);

export function getExplanation(services: Services) {
  return studyHandler(services, ['audit'], async (request) => {
    const { query, study, participants, turn } = request;
    const given = ParticipantId.safeParse(query.get('id'));
    refuseProblems([
      ...unknownParameters(query, PARAMETERS, 'explanation'),
      ...(given.error?.issues ?? []).map(({ message }) => message),
    ]);
    const id = given.data ?? '';
    const participant = participants.find(id);
    // A participant outside the key's limits must be indistinguishable from one that does not exist.
    if (!participant || !mayKnowOf(request, participant))
      throw new HttpProblem(404, `This study has no participant ${JSON.stringify(id)}`);
    const wanted = { before: studyState, events: participantEvents };
    const { states, next } = await turn.inOrder(() =>
      services.history.foldUntil(study.stream, wanted, ({ revision }) => revision >= participant.revision),
    );
    const undrawn = next && whyUndrawn(next);
    if (undrawn !== undefined) throw new HttpProblem(422, undrawn);
    if (states.before.status === 'unregistered' || next?.type !== 'ParticipantRandomized')
      throw new Error('a participant of the projection is not in the log');
    const explanation = explain(states.before, next, states.events.inOrder);
    return {
      status: 200,
      message: SUCCESS,
      results: toJson(checked(Explanation, explanation)),
      revision: participant.revision,
      discloses: { what: 'explanation', participant: participant.participantId },
    };
  });
}
