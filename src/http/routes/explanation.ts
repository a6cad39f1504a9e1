/** GET /explanation: why a participant got this arm. It gives arms and generator states away: for `audit` alone. */
import { explain } from '../../explain/explain.ts';
import { studyState } from '../../study/state.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import { ParticipantId } from '../request/schemas.ts';
import { type StudyRoutes, studyHandler, withinLimits } from '../request/study-request.ts';
import { explanationJson } from './explanation-result.ts';

const PARAMETERS = new Set(['api_key', 'study', 'id']);

export function getExplanation(routes: StudyRoutes) {
  return studyHandler(routes, ['audit'], async ({ query, accepted, study, participants }) => {
    const given = ParticipantId.safeParse(query.get('id'));
    refuseProblems([
      ...unknownParameters(query, PARAMETERS, 'explanation'),
      ...(given.error?.issues ?? []).map(({ message }) => message),
    ]);
    const id = given.data ?? '';
    const participant = participants.byId.get(id);
    // One outside the key's limits is told from one that does not exist by nothing.
    if (!participant || !withinLimits(accepted.key, study, participant.levels))
      throw new HttpProblem(404, `This study has no participant ${JSON.stringify(id)}`);
    const { states, next } = await routes.history.foldUntil(
      study.stream,
      { before: studyState },
      ({ revision }) => revision >= participant.revision,
    );
    if (states.before.status === 'unregistered' || next?.type !== 'ParticipantRandomized')
      throw new Error('a participant of the projection is not in the log');
    const results = explanationJson(explain(states.before, next));
    return {
      status: 200,
      message: SUCCESS,
      results,
      revision: participant.revision,
      discloses: { what: 'explanation', participant: id },
    };
  });
}
